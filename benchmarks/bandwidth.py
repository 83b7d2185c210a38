"""Compare the automatic bandwidth with the best possible one, and time a sweep.

    python -m benchmarks.bandwidth FOLDER           # about ten minutes on two cores
    python -m benchmarks.bandwidth FOLDER --quick   # fewer bandwidths, smaller arrays

For every .csv and .csv.gz in the folder (a header; the label, used only for scoring, in the last
column) it prints, and writes to bandwidth.md and bandwidth.json, ARI and AMI of

    automatic     MeanShiftPP(select_bandwidth(X))
    tuned         the best of many bandwidths for each score, one for all features, as in the paper
    proportional  the same with bandwidths in proportion to the spreads of the features
    scikit-learn  MeanShift(); tables over 10,000 rows: fitted to 2,000 rows, predicted for all
    paper         the paper's values for MeanShift++ (Table 2)

followed by the same for synthetic mixtures, and by times.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from benchmarks.common import machine
from benchmarks.common.command_line import add_output_option, command_parser
from benchmarks.common.csv_tables import find_tables, read_table, table_name
from benchmarks.common.reporting import markdown_table, write_report
from benchmarks.common.synthetic import Data, draw
from benchmarks.common.timing import median_times
from benchmarks.paper.published import TABLE as PUBLISHED
from meanshiftpp import Grid, MeanShiftPP, seek, select_bandwidth, sweep
from meanshiftpp.core.scale import gradient_reference, scale_of_points

PAPER = {row.name: (row.ari.value, row.ami.value) for row in PUBLISHED}
CONTENDERS = ("automatic", "tuned", "proportional", "scikit-learn", "paper")
METHODS = ("auto", "stability", "lscv", "rule")
SMALL, LARGE = 2_000, 100_000  # rows; they decide how many bandwidths are tried
FINEST = 200  # the smallest bandwidth is the widest feature divided by this
ROUNDING = 5e-5  # of the paper's four digits
MEAN_SHIFT_MAX_ROWS, MEAN_SHIFT_SAMPLE, MEAN_SHIFT_MAX_MIXTURE = 10_000, 2_000, 1_500

Score = tuple[float, float]  # ARI and AMI


@dataclass
class TableScores:
    """A data set and the scores of all contenders."""

    name: str
    n: int
    d: int
    classes: int
    bandwidth: list[float]
    clusters: int
    scores: dict[str, Score | None] = field(default_factory=dict)

    def share(self, contender: str, which: int = 0) -> float:
        """Return the score of the automatic bandwidth as a part of another contender's."""
        return self.scores["automatic"][which] / self.scores[contender][which]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = command_parser("bandwidth", __doc__)
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="folder with the tables")
    parser.add_argument("--quick", action="store_true", help="small, to check that it runs")
    add_output_option(parser)
    options = parser.parse_args(arguments)
    try:
        paths = find_tables(options.folder)
    except FileNotFoundError as error:
        parser.error(str(error))
    paths.sort(key=lambda path: path.stat().st_size)  # small tables first, for early output
    results = []
    for path in paths:
        results.append(compare(table_name(path), *read_table(path), options.quick))
        print(summary(results[-1]), flush=True)
    mixtures = [mixture(seed) for seed in range(6 if options.quick else 36)]
    times = measure_times(*((1_000_000, 5) if options.quick else (10_000_000, 9)))
    page = report(results, mixtures, times)
    facts = {"machine": machine.describe(), "tables": [asdict(result) for result in results]}
    facts |= {"mixtures": mixtures, "times": times}
    write_report(options.out, "bandwidth", page, facts)
    print(page)
    return 0


def summary(result: TableScores) -> str:
    scores = (f"{name} {_format_score(result.scores[name])}" for name in CONTENDERS)
    return f"{result.name}: {', '.join(scores)}"


# -- scores ----------------------------------------------------------------------------------------


def compare(name: str, X: NDArray[Any], truth: NDArray[np.intp], quick: bool) -> TableScores:
    """Score every contender on one table."""
    model = MeanShiftPP(select_bandwidth(X)).fit(X)
    clusters, h = len(model.cluster_weights_), model.bandwidth_
    result = TableScores(name, *X.shape, int(truth.max()) + 1, h.tolist(), clusters)
    result.scores["automatic"] = score(truth, model.labels_)
    count = 30 if quick else 300 if len(X) <= LARGE else 40
    result.scores["paper"] = PAPER.get(name)
    result.scores["tuned"] = tuned_score(X, truth, count, result.scores["paper"])
    reference = scale_of_points(X).bandwidth(gradient_reference(X.shape[1], len(X)))
    factors = np.geomspace(0.15 if len(X) <= LARGE else 0.3, 1.6, count)
    result.scores["proportional"] = best_score(X, truth, [h, *(factors[:, None] * reference)])
    result.scores["scikit-learn"] = score(truth, mean_shift_labels(X))
    return result


def bandwidths_of_range(X: NDArray[Any], count: int) -> NDArray[np.float64]:
    """Return bandwidths between 1/200 of the widest feature and the whole of it."""
    widest = float(np.ptp(X, axis=0).max())
    return np.geomspace(widest / FINEST, widest, count)


def tuned_score(X: NDArray[Any], truth: NDArray[np.intp], count: int, goal: Score | None) -> Score:
    """Try one bandwidth for all features; try 20 times as many if the paper's score is missed."""
    found = best_score(X, truth, bandwidths_of_range(X, count))
    missed = goal and any(a < b - ROUNDING for a, b in zip(found, goal, strict=True))
    if missed and len(X) <= SMALL:
        more = best_score(X, truth, bandwidths_of_range(X, 20 * count))
        found = max(found[0], more[0]), max(found[1], more[1])
    return found


def best_score(X: NDArray[Any], truth: NDArray[np.intp], bandwidths: Iterable[Any]) -> Score:
    """Return the best ARI and the best AMI over bandwidths, possibly of different ones."""
    seen: dict[bytes, Score] = {}
    threads = 1 if len(X) <= LARGE else None
    for h in bandwidths:
        labels = cluster(X, h, threads)
        key = labels.tobytes()
        if key not in seen:
            seen[key] = score(truth, labels)
    return max(ari for ari, _ in seen.values()), max(ami for _, ami in seen.values())


def cluster(X: NDArray[Any], h: Any, n_threads: int | None = None) -> NDArray[np.int32]:
    """Label points; a search that reaches the limit of steps counts as well."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        modes = seek(Grid.from_points(X, h, n_threads=n_threads), n_threads=n_threads)
    return modes.label(X)


def score(truth: NDArray[np.intp], labels: NDArray[Any]) -> Score:
    """Return ARI and AMI, of evenly spaced rows if there are more than 100,000."""
    from sklearn.metrics import adjusted_mutual_info_score, adjusted_rand_score

    step = -(-len(truth) // LARGE)
    truth, labels = truth[::step], labels[::step]
    ari = float(adjusted_rand_score(truth, labels))
    return ari, float(adjusted_mutual_info_score(truth, labels))


def mean_shift_labels(X: NDArray[Any]) -> NDArray[Any]:
    """Cluster with scikit-learn's defaults; a large table is fitted to a sample."""
    from sklearn.cluster import MeanShift

    rows = np.arange(len(X))
    if len(X) > MEAN_SHIFT_MAX_ROWS:
        rows = np.random.default_rng(0).choice(len(X), MEAN_SHIFT_SAMPLE, replace=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # scikit-learn warns if binning has no effect
        return np.asarray(MeanShift().fit(X[rows]).predict(X))


def mixture(seed: int, count: int = 100) -> dict[str, float]:
    """Draw normal clusters with centres 4 to 9 standard deviations apart, and compare."""
    rng = np.random.default_rng([2021, seed])
    d, k, n = int(rng.integers(2, 6)), int(rng.integers(2, 9)), int(10 ** rng.uniform(2.5, 4.3))
    distance = rng.uniform(4, 9)
    box, centres = 1.2 * distance * k ** (1 / d), [np.zeros(d)]
    while len(centres) < k:
        candidate = rng.uniform(0, box, d)
        if np.linalg.norm(np.array(centres) - candidate, axis=1).min() > distance:
            centres.append(candidate)
        box *= 1.001  # ensures that there will be room
    truth = rng.choice(k, n, p=rng.dirichlet(np.full(k, 5.0)))
    X = np.array(centres)[truth] + rng.normal(size=(n, d)) * rng.uniform(0.7, 1.3, (k, d))[truth]
    X *= 10 ** rng.uniform(-2, 2, d)
    reference = scale_of_points(X).bandwidth(gradient_reference(d, n))
    tuned = best_score(X, truth, np.geomspace(0.15, 1.6, count)[:, None] * reference)
    found = {"n": n, "d": d, "classes": k, "tuned": tuned[0]}
    for method in METHODS:
        h = select_bandwidth(X, method=method)
        found[method] = score(truth, cluster(X, h))[0]
    if n <= MEAN_SHIFT_MAX_MIXTURE:
        found["scikit-learn"] = score(truth, mean_shift_labels(X))[0]
    return found


# -- times -----------------------------------------------------------------------------------------


def measure_times(n: int, rounds: int) -> dict[str, float]:
    """Time a sweep and a choice of the bandwidth, each in turns with a fit."""
    from sklearn.cluster import estimate_bandwidth

    X, _ = draw(Data(n))
    step = 0.5
    fine = MeanShiftPP(step)
    sweeps = median_times(
        {
            "fit": lambda: MeanShiftPP(1.0).fit(X),
            "fit at the step": lambda: fine.fit(X),
            "sweep": lambda: sweep(X, step * np.arange(1, 51)),
        },
        rounds,
    )
    million = X[:1_000_000]
    chosen = select_bandwidth(million)
    choices = median_times(
        {
            "fit of 1M": lambda: MeanShiftPP(chosen).fit(million),
            "select_bandwidth of 1M": lambda: select_bandwidth(million),
        },
        rounds,
    )
    start = perf_counter()
    estimate_bandwidth(X[:20_000])
    return {"n": n, **sweeps, **choices, "estimate_bandwidth of 20k": perf_counter() - start}


# -- the report ------------------------------------------------------------------------------------


def report(
    results: list[TableScores], mixtures: list[dict[str, float]], times: dict[str, float]
) -> str:
    """Return the report as Markdown."""
    header = ["table", "n x d", "classes", "clusters", *CONTENDERS]
    rows = []
    for result in results:
        size = f"{result.n:,} x {result.d}"
        scores = (_format_score(result.scores[name]) for name in CONTENDERS)
        rows.append([result.name, size, str(result.classes), f"{result.clusters:,}", *scores])
    page = [*markdown_table((header, rows)), "", "Scores: ARI / AMI.", ""]
    page += [*_share_lines(results), *_mixture_lines(mixtures), *_time_lines(times)]
    return "\n".join(page) + "\n"


def _format_score(score: Score | None) -> str:
    return "" if score is None else " / ".join(f"{value:.3f}" for value in score)


def _share_lines(results: list[TableScores]) -> list[str]:
    scores = [result.scores for result in results]
    wins = [sum(s["automatic"][k] > s["scikit-learn"][k] for s in scores) for k in (0, 1)]
    known = [result for result in results if result.scores["paper"]]
    below = []
    for k, kind in enumerate(("ARI", "AMI")):
        names = [
            result.name
            for result in known
            if result.scores["tuned"][k] < result.scores["paper"][k] - ROUNDING
        ]
        below.append(f"{kind}: {', '.join(names) or 'none'}")
    proportional = np.mean([result.share("proportional") for result in results])
    tuned = np.array([result.share("tuned") for result in results])
    return [
        f"- Mean share of the proportional best ARI: {proportional:.2f}",
        f"- Mean share of the tuned ARI: {tuned.mean():.2f} "
        f"({np.minimum(tuned, 1).mean():.2f} if each share is capped at 1)",
        f"- Above scikit-learn's default: {wins[0]} of {len(results)} in ARI, {wins[1]} in AMI",
        f"- Tables on which the tuned score is below the paper's: {'; '.join(below)}",
    ]


def _mixture_lines(mixtures: list[dict[str, float]]) -> list[str]:
    texts = []
    for method in (*METHODS, "scikit-learn"):
        shares = [found[method] / found["tuned"] for found in mixtures if method in found]
        if shares:
            texts.append(f"{method} {np.mean(shares):.2f}")
    return [f"- {len(mixtures)} mixtures, mean share of the best ARI: {', '.join(texts)}"]


def _time_lines(times: dict[str, float]) -> list[str]:
    coarse_ratio = times["sweep"] / times["fit"]
    fine_ratio = times["sweep"] / times["fit at the step"]
    choice_ratio = times["select_bandwidth of 1M"] / times["fit of 1M"]
    return [
        f"- {times['n']:,} x 3: sweep over 50 bandwidths {times['sweep'] * 1e3:.0f} ms, "
        f"{coarse_ratio:.1f} x a fit at h=1 and {fine_ratio:.1f} x a fit at the smallest bandwidth",
        f"- 1M x 3: select_bandwidth {times['select_bandwidth of 1M'] * 1e3:.1f} ms, "
        f"{choice_ratio:.1f} x a fit; scikit-learn's estimate_bandwidth of 20k rows "
        f"{times['estimate_bandwidth of 20k']:.1f} s",
    ]


if __name__ == "__main__":
    raise SystemExit(main())
