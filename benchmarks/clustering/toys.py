"""Score clusterings of scikit-learn's toy data: `python -m benchmarks.clustering.toys`.

The data are 1,500 points of blobs, stretched blobs, moons and circles; each seed draws new ones.
The table shows the mean ARI over the seeds. The centres of blobs are random, so blobs may overlap
beyond recognition. The row `true model` shows what can be reached: it labels each point with the
blob of the highest density. Seed 170 draws the stretched and the varied blobs of scikit-learn's
comparison of clustering algorithms. Scores are kept in a file, as for the benchmark suite.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from rich.console import Console

from benchmarks.clustering.__main__ import SCORE_LIMIT, add_method_option
from benchmarks.clustering.evaluation import Outcome, run
from benchmarks.clustering.methods import METHODS
from benchmarks.clustering.scoring import score
from benchmarks.clustering.suite import REPORT, DataSet
from benchmarks.common.command_line import add_output_option, command_parser
from benchmarks.common.reporting import Table, print_tables, progress_bar

N_POINTS, SEEDS = 1_500, range(5)
MIN_POINTS = 100
STRETCH = ((0.6, -0.6), (-0.4, 0.8))  # of scikit-learn's comparison of clustering algorithms

TRUE_MODEL = "true model"


class Sample(NamedTuple):
    """Points, the labels that drew them, and the labels that the true model gives to them."""

    X: NDArray[np.float64]
    truth: NDArray[np.integer]
    model: NDArray[np.integer]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run from the command line and return the exit status."""
    parser = command_parser("clustering.toys", __doc__)
    parser.add_argument(
        "--seeds", type=int, nargs="+", default=SEEDS, help="a set of each kind for each (0 to 4)"
    )
    parser.add_argument("--points", type=int, default=N_POINTS, help=f"of a set ({N_POINTS})")
    add_method_option(parser)
    add_output_option(parser)
    options = parser.parse_args(arguments)
    if min(options.seeds) < 0 or options.points < MIN_POINTS:
        parser.error(f"--seeds must not be negative, and --points at least {MIN_POINTS}")
    samples = {
        f"{kind}/{seed}": draw(options.points, seed)
        for kind, draw in TOYS.items()
        for seed in options.seeds
    }
    sets = [as_data_set(name, sample) for name, sample in samples.items()]
    methods = [METHODS[key] for key in options.methods]
    with progress_bar() as bar:
        outcome = run(sets, methods, options.out, SCORE_LIMIT, bar)
    outcome.scores[TRUE_MODEL] = {
        each.name: score(samples[each.name].model + 1, each.references) for each in sets
    }
    tables = [toys_table(outcome, "without k", outcome.titles(knows_count=False))]
    tables += [toys_table(outcome, "with k", [*outcome.titles(knows_count=True), TRUE_MODEL])]
    print_tables(tables, console := Console())
    for title, reason in outcome.absent.items():
        console.print(f"- {title}: {reason}", markup=False, highlight=False)
    return 0


def toys_table(outcome: Outcome, corner: str, titles: Sequence[str]) -> Table:
    """Return the mean ARI of methods on every kind, the mean of the kinds and the worst of them."""
    rows = []
    for title in titles:
        scores = outcome.scores[title].items()
        means = [
            float(np.mean([each.ari for name, each in scores if name.startswith(f"{kind}/")]))
            for kind in TOYS
        ]
        rows.append([title, *(f"{value:.3f}" for value in (*means, np.mean(means), min(means)))])
    return [corner, *TOYS, "mean", "worst"], rows


def as_data_set(name: str, sample: Sample) -> DataSet:
    """Wrap a sample; its labels count from 1, because 0 is noise in a reference."""
    return DataSet(name, REPORT, sample.X, (sample.truth + 1,))


def blobs(n: int, seed: int, centers: int = 3, std: Sequence[float] = (0.6,)) -> Sample:
    from sklearn.datasets import make_blobs

    spread = np.broadcast_to(std, centers)
    X, truth, places = make_blobs(
        n, centers=centers, cluster_std=spread, random_state=seed, return_centers=True
    )
    squares = ((X[:, None] - places) ** 2).sum(axis=2)
    density = -squares / (2 * spread**2) - X.shape[1] * np.log(spread)
    return Sample(X, truth, density.argmax(axis=1))


def anisotropic(n: int, seed: int) -> Sample:
    sample = blobs(n, seed, std=(1.0,))
    return sample._replace(X=sample.X @ np.array(STRETCH))


def moons(n: int, seed: int) -> Sample:
    from sklearn.datasets import make_moons

    X, truth = make_moons(n, noise=0.05, random_state=seed)
    return Sample(X, truth, truth)


def circles(n: int, seed: int) -> Sample:
    from sklearn.datasets import make_circles

    X, truth = make_circles(n, factor=0.5, noise=0.05, random_state=seed)
    return Sample(X, truth, truth)


TOYS: dict[str, Callable[[int, int], Sample]] = {
    "blobs 3": blobs,
    "blobs 10": lambda n, seed: blobs(n, seed, centers=10),
    "varied": lambda n, seed: blobs(n, seed, std=(1.0, 2.5, 0.5)),
    "anisotropic": anisotropic,
    "moons": moons,
    "circles": circles,
}


if __name__ == "__main__":
    raise SystemExit(main())
