"""The automatic bandwidth held against the best there is, and what a sweep costs.

    python -m benchmarks.bandwidth FOLDER           # about ten minutes on two cores
    python -m benchmarks.bandwidth FOLDER --quick   # fewer bandwidths, smaller arrays

For every .csv and .csv.gz in the folder (a header; the last column is a label, which only the
scores see) it prints, and writes to bandwidth.md and bandwidth.json, ARI and AMI of

    automatic     MeanShiftPP()
    tuned         the best of many bandwidths for each score, one for all features, as in the paper
    proportional  the same with bandwidths in proportion to the features' spreads
    scikit-learn  MeanShift(); tables over 10,000 rows: fitted to 2,000 of them, the rest predicted
    paper         what it prints for MeanShift++ (Table 2)

then the same for generated mixtures, and times.
"""

from __future__ import annotations

import argparse
import gzip
import json
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.common import RESULTS, machine
from benchmarks.common.data import Data, draw
from meanshiftpp import Grid, MeanShiftPP, seek, select_bandwidth, sweep
from meanshiftpp.bandwidth.spread import gradient_reference, scale_of_points

PAPER = {
    "balance_scale": (0.0883, 0.2268),
    "confidence": (0.2080, 0.2455),
    "geyser": (0.1229, 0.2409),
    "iris": (0.5681, 0.7316),
    "lupus": (0.1827, 0.2134),
    "prnn_synth": (0.2093, 0.2912),
    "skin": (0.3270, 0.4240),
    "sleepdata": (0.1181, 0.1028),
    "slope": (0.2777, 0.3877),
    "transplant": (0.7687, 0.7175),
    "user_knowledge": (0.3398, 0.4086),
    "vinnie": (0.4594, 0.3666),
    "wall_robot": (0.1788, 0.3239),
}
CONTENDERS = ("automatic", "tuned", "proportional", "scikit-learn", "paper")
SMALL, LARGE = 2_000, 100_000  # rows: how many bandwidths can be tried
FINEST = 200  # parts of the widest feature
PEER_ROWS, PEER_SAMPLE, PEER_MIXTURE = 10_000, 2_000, 1_500

Score = tuple[float, float]  # ARI and AMI


@dataclass
class Line:
    """A data set, and the scores of all contenders."""

    name: str
    n: int
    d: int
    classes: int
    bandwidth: list[float]
    clusters: int
    scores: dict[str, Score | None] = field(default_factory=dict)

    def share(self, of: str, which: int = 0) -> float:
        """Part of another's score that the automatic choice reaches."""
        return self.scores["automatic"][which] / self.scores[of][which]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.bandwidth",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="where the tables are")
    parser.add_argument("--quick", action="store_true", help="to see that it runs")
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder for the results")
    given = parser.parse_args(arguments)
    files = (p for p in given.folder.glob("*.csv*") if p.name.endswith((".csv", ".csv.gz")))
    paths = sorted(files, key=lambda path: path.stat().st_size)  # news early
    if not paths:
        parser.error(f"{given.folder} has no .csv or .csv.gz")
    lines = [told(compare(path.name.partition(".")[0], *read(path), given.quick)) for path in paths]
    mixed = [mixture(seed) for seed in range(6 if given.quick else 36)]
    taken = times(1_000_000 if given.quick else 10_000_000, 5 if given.quick else 9)
    given.out.mkdir(parents=True, exist_ok=True)
    page = report(lines, mixed, taken)
    (given.out / "bandwidth.md").write_text(page, encoding="utf-8")
    facts = {"machine": machine.describe(), "tables": [asdict(line) for line in lines]}
    facts |= {"mixtures": mixed, "times": taken}
    (given.out / "bandwidth.json").write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")
    print(page)
    return 0


def told(line: Line) -> Line:
    scores = (f"{name} {_pair(line.scores[name])}" for name in CONTENDERS)
    print(f"{line.name}: {', '.join(scores)}", flush=True)
    return line


def read(path: Path) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """Read the features and the label."""
    unpacked = gzip.open if path.suffix == ".gz" else open
    with unpacked(path, "rt", encoding="utf-8") as file:
        features = file.readline().count(",")
        rows = [line.rstrip().rsplit(",", 1) for line in file]
    X = np.fromstring(",".join(row[0] for row in rows), sep=",").reshape(-1, features)
    return X, np.unique([row[1] for row in rows], return_inverse=True)[1]


# -- scores ------------------------------------------------------------------------------------


def compare(name: str, X: NDArray[Any], truth: NDArray[np.intp], quick: bool) -> Line:
    model = MeanShiftPP().fit(X)
    k, h = len(model.cluster_weights_), model.bandwidth_
    line = Line(name, *X.shape, int(truth.max()) + 1, h.tolist(), k)
    line.scores["automatic"] = scored(truth, model.labels_)
    many = 30 if quick else 300 if len(X) <= LARGE else 40
    line.scores["paper"] = PAPER.get(name)
    line.scores["tuned"] = tuned(X, truth, many, line.scores["paper"])
    reference = scale_of_points(X).bandwidth(gradient_reference(X.shape[1], len(X)))
    factors = np.geomspace(0.15 if len(X) <= LARGE else 0.3, 1.6, many)
    line.scores["proportional"] = best(X, truth, [h, *(factors[:, None] * reference)])
    line.scores["scikit-learn"] = scored(truth, peer(X))
    return line


def tuned(X: NDArray[Any], truth: NDArray[np.intp], many: int, goal: Score | None) -> Score:
    """Try one bandwidth for all features; more of them where they fall short of the paper."""
    widest = float(np.ptp(X, axis=0).max())
    found = best(X, truth, np.geomspace(widest / FINEST, widest, many))
    if goal and len(X) <= SMALL and any(a < b - 5e-5 for a, b in zip(found, goal, strict=True)):
        more = best(X, truth, np.geomspace(widest / FINEST, widest, 20 * many))
        found = max(found[0], more[0]), max(found[1], more[1])
    return found


def best(X: NDArray[Any], truth: NDArray[np.intp], bandwidths: Iterable[Any]) -> Score:
    """Try bandwidths; give the best ARI and the best AMI, which need not be of the same one."""
    seen: dict[bytes, Score] = {}
    threads = 1 if len(X) <= LARGE else None
    for h in bandwidths:
        labels = seek(Grid.from_points(X, h, n_threads=threads), n_threads=threads).label(X)
        key = labels.tobytes()
        if key not in seen:
            seen[key] = scored(truth, labels)
    return max(ari for ari, _ in seen.values()), max(ami for _, ami in seen.values())


def scored(truth: NDArray[np.intp], labels: NDArray[Any]) -> Score:
    from sklearn.metrics import adjusted_mutual_info_score, adjusted_rand_score

    every = -(-len(truth) // LARGE)  # of large tables, so many rows tell enough
    truth, labels = truth[::every], labels[::every]
    ari = float(adjusted_rand_score(truth, labels))
    return ari, float(adjusted_mutual_info_score(truth, labels))


def peer(X: NDArray[Any]) -> NDArray[Any]:
    from sklearn.cluster import MeanShift

    rows = np.arange(len(X))
    if len(X) > PEER_ROWS:
        rows = np.random.default_rng(0).choice(len(X), PEER_SAMPLE, replace=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it warns of binning where it can do none
        return np.asarray(MeanShift().fit(X[rows]).predict(X))


def mixture(seed: int, many: int = 100) -> dict[str, float]:
    """Draw normal clusters with centres 4 to 9 standard deviations apart, and compare."""
    rng = np.random.default_rng([2021, seed])
    d, k, n = int(rng.integers(2, 6)), int(rng.integers(2, 9)), int(10 ** rng.uniform(2.5, 4.3))
    apart = rng.uniform(4, 9)
    box, centres = 1.2 * apart * k ** (1 / d), [np.zeros(d)]
    while len(centres) < k:
        place = rng.uniform(0, box, d)
        if np.linalg.norm(np.array(centres) - place, axis=1).min() > apart:
            centres.append(place)
        box *= 1.001  # there will be room
    truth = rng.choice(k, n, p=rng.dirichlet(np.full(k, 5.0)))
    X = np.array(centres)[truth] + rng.normal(size=(n, d)) * rng.uniform(0.7, 1.3, (k, d))[truth]
    X *= 10 ** rng.uniform(-2, 2, d)
    reference = scale_of_points(X).bandwidth(gradient_reference(d, n))
    tuned = best(X, truth, np.geomspace(0.15, 1.6, many)[:, None] * reference)
    found = {"n": n, "d": d, "classes": k, "tuned": tuned[0]}
    for method in ("auto", "stability", "lscv", "rule"):
        h = select_bandwidth(X, method=method)
        found[method] = scored(truth, seek(Grid.from_points(X, h)).label(X))[0]
    if n <= PEER_MIXTURE:
        found["scikit-learn"] = scored(truth, peer(X))[0]
    return found


# -- times -------------------------------------------------------------------------------------


def times(n: int, turns: int) -> dict[str, float]:
    """Take the times of a sweep and a choice, in turns with a fit."""
    from sklearn.cluster import estimate_bandwidth

    X, _ = draw(Data(n))
    step = 0.5
    fine = MeanShiftPP(step)
    sweeps = race(
        {
            "fit": lambda: MeanShiftPP(1.0).fit(X),
            "fit at the step": lambda: fine.fit(X),
            "sweep": lambda: sweep(X, step * np.arange(1, 51)),
        },
        turns,
    )
    few = X[:1_000_000]
    chosen = select_bandwidth(few)
    choices = race(
        {
            "fit of 1M": lambda: MeanShiftPP(chosen).fit(few),
            "select_bandwidth of 1M": lambda: select_bandwidth(few),
        },
        turns,
    )
    start = perf_counter()
    estimate_bandwidth(X[:20_000])
    return {"n": n, **sweeps, **choices, "estimate_bandwidth of 20k": perf_counter() - start}


def race(calls: dict[str, Callable[[], Any]], turns: int) -> dict[str, float]:
    taken: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(turns):
        for name, call in calls.items():
            start = perf_counter()
            call()
            taken[name].append(perf_counter() - start)
    return {name: median(values) for name, values in taken.items()}


# -- the page ----------------------------------------------------------------------------------


def report(lines: list[Line], mixed: list[dict[str, float]], taken: dict[str, float]) -> str:
    head = ("table", "n x d", "classes", "clusters", *CONTENDERS)
    page = [f"| {' | '.join(head)} |", "|" + "---|" * len(head)]
    for line in lines:
        size = (line.name, f"{line.n:,} x {line.d}", str(line.classes), f"{line.clusters:,}")
        page.append(f"| {' | '.join((*size, *(_pair(line.scores[c]) for c in CONTENDERS)))} |")
    page += ["", "ARI / AMI.", "", *_shares(lines), *_mixed(mixed), *_taken(taken)]
    return "\n".join(page) + "\n"


def _pair(score: Score | None) -> str:
    return "" if score is None else " / ".join(f"{value:.3f}" for value in score)


def _shares(lines: list[Line]) -> list[str]:
    def wins(which: int) -> int:
        scores = [line.scores for line in lines]
        return sum(s["automatic"][which] > s["scikit-learn"][which] for s in scores)

    def reached(which: int) -> list[str]:
        known = [line for line in lines if line.scores["paper"]]
        rounded = 5e-5  # the paper's digits
        return [
            line.name
            for line in known
            if line.scores["tuned"][which] < line.scores["paper"][which] - rounded
        ]

    shares = {of: np.mean([line.share(of) for line in lines]) for of in ("proportional", "tuned")}
    capped = np.mean([min(line.share("tuned"), 1.0) for line in lines])
    below = [f"{kind}: {', '.join(reached(i)) or 'none'}" for i, kind in enumerate(("ARI", "AMI"))]
    return [
        f"- Mean share of the proportional best ARI: {shares['proportional']:.2f}",
        f"- Mean share of the tuned ARI: {shares['tuned']:.2f} ({capped:.2f} counting none over 1)",
        f"- Above scikit-learn's default: {wins(0)} of {len(lines)} in ARI, {wins(1)} in AMI",
        f"- Tables on which the tuned score is below the paper's: {'; '.join(below)}",
    ]


def _mixed(mixed: list[dict[str, float]]) -> list[str]:
    said = []
    for method in ("auto", "stability", "lscv", "rule", "scikit-learn"):
        shares = [found[method] / found["tuned"] for found in mixed if method in found]
        if shares:
            said.append(f"{method} {np.mean(shares):.2f}")
    return [f"- {len(mixed)} mixtures, mean share of the best ARI: {', '.join(said)}"]


def _taken(taken: dict[str, float]) -> list[str]:
    n = f"{taken['n']:,} x 3"
    ratio = taken["sweep"] / taken["fit"]
    fine = taken["sweep"] / taken["fit at the step"]
    choice = taken["select_bandwidth of 1M"] / taken["fit of 1M"]
    return [
        f"- {n}: sweep of 50 {taken['sweep'] * 1e3:.0f} ms, {ratio:.1f} x a fit in the middle of "
        f"it and {fine:.1f} x a fit at its finest",
        f"- 1M x 3: select_bandwidth {taken['select_bandwidth of 1M'] * 1e3:.1f} ms, "
        f"{choice:.1f} x a fit; scikit-learn's estimate_bandwidth of 20k rows "
        f"{taken['estimate_bandwidth of 20k']:.1f} s",
    ]


if __name__ == "__main__":
    raise SystemExit(main())
