"""Score clusterings of scikit-learn's toy data: `python -m benchmarks.clustering.toys`.

The data are 1,500 points of blobs, stretched blobs, moons and circles; each seed draws new ones.
The centres of blobs are random, so some of them overlap and not every set can be solved; the scores
of GaussianMixture, which is told the number of clusters, show how many can. The table shows the
mean ARI over the seeds. Scores are kept in a file, as for the benchmark suite.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from rich.console import Console

from benchmarks.clustering.__main__ import SCORE_LIMIT, add_method_option
from benchmarks.clustering.evaluation import Outcome, run
from benchmarks.clustering.methods import METHODS
from benchmarks.clustering.suite import REPORT, DataSet
from benchmarks.common.command_line import add_output_option, command_parser
from benchmarks.common.reporting import Table, print_tables, progress_bar

N_POINTS, SEEDS = 1_500, 5
STRETCH = ((0.6, -0.6), (-0.4, 0.8))  # of scikit-learn's comparison of clustering algorithms

Sample = tuple[np.ndarray, np.ndarray]  # points and true labels


def main(arguments: Sequence[str] | None = None) -> int:
    """Run from the command line and return the exit status."""
    parser = command_parser("clustering.toys", __doc__)
    parser.add_argument("--seeds", type=int, default=SEEDS, help=f"sets of each kind ({SEEDS})")
    parser.add_argument("--points", type=int, default=N_POINTS, help=f"of a set ({N_POINTS})")
    add_method_option(parser)
    add_output_option(parser)
    options = parser.parse_args(arguments)
    if options.seeds < 1 or options.points < 100:
        parser.error("--seeds must be at least 1 and --points at least 100")
    sets = [toy(name, options.points, seed) for name in TOYS for seed in range(options.seeds)]
    methods = [METHODS[key] for key in options.methods]
    with progress_bar() as bar:
        outcome = run(sets, methods, options.out, SCORE_LIMIT, bar)
    print_tables([toys_table(outcome, told) for told in (False, True)], console := Console())
    for title, reason in outcome.absent.items():
        console.print(f"- {title}: {reason}", markup=False, highlight=False)
    return 0


def toys_table(outcome: Outcome, knows_count: bool) -> Table:
    """Return the mean ARI of every method on every kind, the mean and the smallest of them."""
    rows = []
    for title in outcome.titles(knows_count=knows_count):
        scores = outcome.scores[title]
        means = [
            float(np.mean([each.ari for name, each in scores.items() if name.startswith(f"{kind}/")]))
            for kind in TOYS
        ]
        rows.append([title, *(f"{value:.3f}" for value in (*means, np.mean(means), min(means)))])
    return ["with k" if knows_count else "without k", *TOYS, "mean", "worst"], rows


def toy(kind: str, n: int, seed: int) -> DataSet:
    """Draw a toy set; its labels count from 1, because 0 is noise in a reference."""
    X, truth = TOYS[kind](n, seed)
    return DataSet(f"{kind}/{seed}", REPORT, X, (truth + 1,))


def blobs(n: int, seed: int, centers: int = 3, std: float | Sequence[float] = 0.6) -> Sample:
    from sklearn.datasets import make_blobs

    X, truth = make_blobs(n, centers=centers, cluster_std=std, random_state=seed)
    return X, truth


def anisotropic(n: int, seed: int) -> Sample:
    X, truth = blobs(n, seed, std=1.0)
    return X @ np.array(STRETCH), truth


def moons(n: int, seed: int) -> Sample:
    from sklearn.datasets import make_moons

    return make_moons(n, noise=0.05, random_state=seed)


def circles(n: int, seed: int) -> Sample:
    from sklearn.datasets import make_circles

    return make_circles(n, factor=0.5, noise=0.05, random_state=seed)


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
