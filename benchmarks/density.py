"""GridDensity against scikit-learn's KernelDensity: how likely are points held out, and how fast.

    python -m benchmarks.density [--quick]

Features are standardised with the training points, because KernelDensity has one bandwidth for
all. A histogram may give a point held out a density of 0, and then there is no likelihood to
average: so every estimate, scikit-learn's too, is mixed with 1% of a uniform density over the box
of all points. "Tuned" is the best of nine bandwidths on a third set of points. Fitting and scoring
are timed together, in turns on one thread (KernelDensity has no more): how many times as fast as
KernelDensity, by medians.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Callable, Iterator, Sequence
from time import perf_counter

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_iris
from sklearn.neighbors import KernelDensity

from meanshiftpp import GridDensity

FACTORS = np.geomspace(0.25, 4, 9)
Reals = NDArray[np.float64]
Model = GridDensity | KernelDensity


def grid(X: Reals, resolution: int, factor: float = 1.0) -> Model:
    model = GridDensity(resolution=resolution, n_jobs=1)
    if factor != 1:
        model.set_params(bandwidth=model.fit(X).bandwidth_ * factor)
    return model.fit(X)


def kernel(X: Reals, factor: float = 1.0) -> Model:
    scott = len(X) ** (-1 / (X.shape[1] + 4))
    return KernelDensity(bandwidth=scott * factor).fit(X)


CONTENDERS: dict[str, Callable[..., Model]] = {
    "GridDensity()": lambda X, factor=1.0: grid(X, 0, factor),
    "resolution=2": lambda X, factor=1.0: grid(X, 2, factor),
    "KernelDensity": kernel,
}


def likelihood(model: Model, X: Reals, box: float) -> float:
    """Give the mean log-likelihood of points, 1% of it from a uniform density."""
    return float(np.log(0.99 * np.exp(model.score_samples(X)) + 0.01 / box).mean())


def tuned(fit: Callable[..., Model], train: Reals, check: Reals, box: float) -> Model:
    return max((fit(train, f) for f in FACTORS), key=lambda m: likelihood(m, check, box))


def data(n: int) -> Iterator[tuple[str, Reals]]:
    """Give the sets, each of up to n + 4,000 points."""
    random = np.random.default_rng(0)
    for d in (1, 2, 3, 5):
        centres, spread = random.uniform(-6, 6, (5, d)), random.uniform(0.3, 1.5, 5)
        which = random.integers(0, 5, n + 4000)
        noise = random.normal(size=(n + 4000, d)) * spread[which, None]
        yield f"5 normal clusters, d={d}", centres[which] + noise
    yield "uniform in a square", random.uniform(0, 1, (n + 4000, 2))
    yield "exponential, d=2", random.exponential(1, (n + 4000, 2))
    from skimage.data import astronaut

    pixels = astronaut().reshape(-1, 3)
    yield "colours of a photograph", pixels[random.permutation(len(pixels))[: n + 4000]] * 1.0
    iris = load_iris().data
    yield "iris, d=4", iris[random.permutation(len(iris))]


def split(X: Reals) -> tuple[Reals, Reals, Reals, float]:
    """Give training, checking and test points, and the volume of the box around all."""
    few = min(2000, len(X) // 5)
    train = X[2 * few :]
    X = (X - train.mean(axis=0)) / train.std(axis=0)
    return X[2 * few :], X[:few], X[few : 2 * few], float(np.prod(np.ptp(X, axis=0)))


def times(train: Reals, test: Reals, rounds: int) -> dict[str, float]:
    taken: dict[str, list[float]] = {name: [] for name in CONTENDERS}
    for _ in range(rounds):
        for name, fit in CONTENDERS.items():
            start, calls = perf_counter(), 0
            while not calls or perf_counter() - start < 0.05:  # a short call is repeated
                fit(train).score_samples(test)
                calls += 1
            taken[name].append((perf_counter() - start) / calls)
    return {name: statistics.median(those) for name, those in taken.items()}


def row(name: str, X: Reals, rounds: int) -> str:
    train, check, test, box = split(X)
    cells = [name, f"{len(train):,}"]
    cells += [f"{likelihood(fit(train), test, box):.3f}" for fit in CONTENDERS.values()]
    best = (tuned(fit, train, check, box) for fit in CONTENDERS.values())
    cells += [f"{likelihood(model, test, box):.3f}" for model in best]
    taken = times(train, test, rounds)
    slow = taken.pop("KernelDensity")
    cells += [f"{float(f'{slow / time:.1e}'):,.0f}x" for time in taken.values()]
    return f"| {' | '.join(cells)} |"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.density", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few points, to see that it runs")
    quick = parser.parse_args(arguments).quick
    heads = [*CONTENDERS, *(f"{name}, tuned" for name in CONTENDERS)]
    heads += [f"{name}, speed" for name in [*CONTENDERS][:2]]
    print(
        f"| data | points | {' | '.join(heads)} |\n" + "|---" * (len(heads) + 2) + "|", flush=True
    )
    for name, X in data(500 if quick else 20_000):
        print(row(name, X, 1 if quick else 3), flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
