"""Compare GridDensity with scikit-learn's KernelDensity: held-out likelihood and speed.

    python -m benchmarks.density [--quick]

Features are standardised with the training points, because KernelDensity has one bandwidth for all
of them. A histogram can assign density 0 to a held-out point, which makes the mean log-likelihood
infinite; every estimate, scikit-learn's too, is therefore mixed with 1% of a uniform density over
the bounding box of all points. "Tuned" is the best of nine bandwidths on a validation set. Fitting
and scoring are timed together, in turns, on one thread (KernelDensity supports no more); the
speed columns are ratios of medians, KernelDensity's time to that of GridDensity.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_iris
from sklearn.neighbors import KernelDensity

from benchmarks.common.command_line import command_parser
from benchmarks.common.reporting import markdown_row, markdown_table
from benchmarks.common.timing import median_times
from meanshiftpp import GridDensity

FACTORS = np.geomspace(0.25, 4, 9)
MIN_SECONDS = 0.05  # of one measurement: shorter calls are repeated
HELD_OUT = 2000  # points of the validation set, and of the test set
Reals = NDArray[np.float64]
Model = GridDensity | KernelDensity


def fit_grid(X: Reals, factor: float = 1.0, *, resolution: int | None) -> Model:
    model = GridDensity(resolution=resolution, n_jobs=1)
    if factor != 1:
        model.set_params(bandwidth=model.fit(X).bandwidth_ * factor)
    return model.fit(X)


def fit_kernel(X: Reals, factor: float = 1.0) -> Model:
    scott = len(X) ** (-1 / (X.shape[1] + 4))
    return KernelDensity(bandwidth=scott * factor).fit(X)


CONTENDERS: dict[str, Callable[..., Model]] = {
    "resolution=0": partial(fit_grid, resolution=0),
    "GridDensity()": partial(fit_grid, resolution=None),
    "KernelDensity": fit_kernel,
}


def mean_log_likelihood(model: Model, X: Reals, box: float) -> float:
    """Return the mean log-likelihood of points under a mixture with 1% of a uniform density."""
    return float(np.log(0.99 * np.exp(model.score_samples(X)) + 0.01 / box).mean())


def fit_tuned(fit: Callable[..., Model], train: Reals, validation: Reals, box: float) -> Model:
    """Return the model whose bandwidth is best on the validation set."""
    models = (fit(train, factor) for factor in FACTORS)
    return max(models, key=lambda model: mean_log_likelihood(model, validation, box))


def data_sets(n: int) -> Iterator[tuple[str, Reals]]:
    """Yield names and points, at most n for training and 4,000 held out."""
    random = np.random.default_rng(0)
    total = n + 2 * HELD_OUT
    for d in (1, 2, 3, 5):
        centres, spread = random.uniform(-6, 6, (5, d)), random.uniform(0.3, 1.5, 5)
        cluster = random.integers(0, 5, total)
        noise = random.normal(size=(total, d)) * spread[cluster, None]
        yield f"5 normal clusters, d={d}", centres[cluster] + noise
    yield "uniform in a square", random.uniform(0, 1, (total, 2))
    yield "exponential, d=2", random.exponential(1, (total, 2))
    from skimage.data import astronaut

    pixels = astronaut().reshape(-1, 3)
    yield "colours of a photograph", pixels[random.permutation(len(pixels))[:total]] * 1.0
    iris = load_iris().data
    yield "iris, d=4", iris[random.permutation(len(iris))]


def split(X: Reals) -> tuple[Reals, Reals, Reals, float]:
    """Return training, validation and test points, and the volume of the box around all."""
    few = min(HELD_OUT, len(X) // 5)
    train = X[2 * few :]
    X = (X - train.mean(axis=0)) / train.std(axis=0)
    return X[2 * few :], X[:few], X[few : 2 * few], float(np.prod(np.ptp(X, axis=0)))


def fit_and_score(fit: Callable[..., Model], train: Reals, test: Reals) -> None:
    fit(train).score_samples(test)


def row(name: str, X: Reals, rounds: int) -> str:
    """Return the row of a data set: likelihoods, tuned likelihoods and speeds."""
    train, validation, test, box = split(X)
    cells = [name, f"{len(train):,}"]
    cells += [f"{mean_log_likelihood(fit(train), test, box):.3f}" for fit in CONTENDERS.values()]
    tuned = (fit_tuned(fit, train, validation, box) for fit in CONTENDERS.values())
    cells += [f"{mean_log_likelihood(model, test, box):.3f}" for model in tuned]
    calls = {n: partial(fit_and_score, fit, train, test) for n, fit in CONTENDERS.items()}
    times = median_times(calls, rounds, min_seconds=MIN_SECONDS)
    kernel_time = times.pop("KernelDensity")
    cells += [f"{float(f'{kernel_time / time:.1e}'):,.0f}x" for time in times.values()]
    return markdown_row(cells)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = command_parser("density", __doc__)
    parser.add_argument("--quick", action="store_true", help="few points, to check that it runs")
    quick = parser.parse_args(arguments).quick
    header = ["data", "points", *CONTENDERS, *(f"{name}, tuned" for name in CONTENDERS)]
    header += [f"{name}, speed" for name in [*CONTENDERS][:2]]
    print("\n".join(markdown_table((header, []))), flush=True)
    for name, X in data_sets(500 if quick else 20_000):
        print(row(name, X, 1 if quick else 3), flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
