"""Figure 2: time and quality on mixtures of Gaussians in the plane, by number of points."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import process_time
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from benchmarks.common.plots import STYLE, add_grid, label_lines, use_counts, use_durations
from benchmarks.common.result_cache import code_version
from benchmarks.common.synthetic import Data, draw
from benchmarks.paper import report
from benchmarks.paper.run import Run, duration_or_reason, mean_shift
from meanshiftpp import MeanShiftPP

SIZES = (1_000, 2_000, 4_000, 10_000, 100_000, 1_000_000, 10_000_000)
QUICK_SIZES = (100, 300)
BANDWIDTHS = (0.7, 1.0, 1.4, 2.0, 2.8)  # the best at the smallest size is used for all sizes
SCORED_ROWS = 100_000
OURS, PEER = "MeanShift++", "MeanShift"
COLOURS = {OURS: "#0072B2", PEER: "#D55E00"}

Fit = dict[str, Any]  # seconds and ari, or why there are none
Rows = dict[str, dict[int, Fit]]  # by method and number of points


def section(run: Run) -> report.Section:
    """Run both methods on mixtures of ten normal distributions of increasing size."""
    sizes = QUICK_SIZES if run.quick else SIZES
    chosen = {name: best_bandwidth(run, name, sizes[0]) for name in METHODS}
    rows: Rows = {name: {} for name in chosen}
    peer_stopped = False
    for n in sizes:
        rows[OURS][n] = cached_fit(run, OURS, n, chosen[OURS])
        if not peer_stopped:
            rows[PEER][n] = cached_fit(run, PEER, n, chosen[PEER])
            peer_stopped = "seconds" not in rows[PEER][n]
    draw_figure(rows, run.limit, run.out / "figure2.png")
    return report.Section(
        "figure2",
        "Figure 2: time and quality by n",
        "On two-dimensional mixtures of Gaussians MeanShift's time is quadratic in n and soon out "
        "of reach, that of MeanShift++ grows linearly; the clusterings are comparable.",
        [
            growth_note(rows),
            "Ten normal distributions of standard deviation 1 with centres spread over a square of "
            f"side 20. The bandwidths, {chosen[OURS]:g} for MeanShift++ and {chosen[PEER]:g} for "
            f"MeanShift, are those of {BANDWIDTHS} with the best ARI at n = {sizes[0]:,}; times "
            "are CPU times on one core.",
            f"MeanShift is scikit-learn's, every point a seed. A fit that takes {run.limit:g} s is "
            "stopped (DNF), and larger sizes are then not tried.",
        ],
        [sizes_table(rows, sizes)],
        [report.Figure("figure2.png", "On one core. Cross: stopped at the time limit.")],
    )


def best_bandwidth(run: Run, name: str, n: int) -> float:
    fits = {h: cached_fit(run, name, n, h) for h in BANDWIDTHS}
    return max(fits, key=lambda h: fits[h].get("ari", -1))


def cached_fit(run: Run, name: str, n: int, h: float) -> Fit:
    """Return the result of a fit, from the cache if it is there."""
    version = code_version() if name == OURS else ""
    key = ("figure 2", name, str(n), f"{h:g}", version)
    found = run.cached_attempt(*key, compute=lambda: METHODS[name](run, n, h))
    run.log(f"figure 2: {name} h={h:g} n={n:,}: {duration_or_reason(found)}")
    return found


def fit_ours(run: Run, n: int, h: float) -> Fit:
    X, truth = draw(Data(n, 2, "float64"))
    times = []
    for _ in range(5):
        begin = process_time()
        model = MeanShiftPP(h, n_jobs=1).fit(X)
        times.append(process_time() - begin)
    return {"seconds": median(times), "ari": agreement(truth, model.labels_)}


def fit_peer(run: Run, n: int, h: float) -> Fit:
    X, truth = draw(Data(n, 2, "float64"))
    answer, failure = run.call_peer(mean_shift, X, h)
    return failure or {"seconds": answer[1], "ari": agreement(truth, answer[0])}


METHODS: dict[str, Callable[[Run, int, float], Fit]] = {OURS: fit_ours, PEER: fit_peer}


def agreement(truth: NDArray[Any], labels: NDArray[Any]) -> float:
    from sklearn.metrics import adjusted_rand_score

    return float(adjusted_rand_score(truth[:SCORED_ROWS], labels[:SCORED_ROWS]))


def growth_note(rows: Rows) -> str:
    """Return a sentence with the exponents of the times, and the ratio at the largest common n."""
    exponents = []
    for name, by_n in rows.items():
        finished = [(n, row["seconds"]) for n, row in by_n.items() if "seconds" in row][-3:]
        if len(finished) > 1:
            n, seconds = np.log(np.array(finished).T)
            exponents.append(f"{name} as n^{np.polyfit(n, seconds, 1)[0]:.2f}")
    both = [
        (n, row["seconds"] / rows[OURS][n]["seconds"])
        for n, row in rows[PEER].items()
        if "seconds" in row
    ]
    ratio = f"; at n = {both[-1][0]:,} the ratio is {both[-1][1]:,.0f}" if both else ""
    return f"Over the largest three sizes that finished, times grow: {', '.join(exponents)}{ratio}."


def sizes_table(rows: Rows, sizes: tuple[int, ...]) -> report.Table:
    def cells(row: Fit | None) -> list[str]:
        if row is None:
            return ["", "not tried"]
        return [f"{row['ari']:.3f}" if "ari" in row else "", duration_or_reason(row)]

    body = [[f"{n:,}", *(c for name in rows for c in cells(rows[name].get(n)))] for n in sizes]
    header = ["n", "MS++ ARI", "MS++ time", "MS ARI", "MS time"]
    return report.Table("Mixtures of ten Gaussians in the plane", header, body)


def draw_figure(rows: Rows, limit: float, path: Path) -> None:
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(9.6, 4.4))
        time_panel, ari_panel = figure.subplots(1, 2)
        for panel, key in ((time_panel, "seconds"), (ari_panel, "ari")):
            panel.set(xscale="log", xlabel="points", yscale="log" if key == "seconds" else "linear")
            ends = draw_lines(panel, rows, key)
            if key == "seconds":  # the colours are the same in the other panel
                mark_stopped(panel, rows, limit)
                label_lines(panel, ends)
            add_grid(panel)
            use_counts(panel.xaxis, [n for n in rows[OURS] if str(n)[0] == "1"])
        use_durations(time_panel)
        ari_panel.set_ylim(0, 1.05)
        time_panel.set_title("Time of a fit", loc="left", size=12)
        ari_panel.set_title("ARI", loc="left", size=12)
        figure.subplots_adjust(0.08, 0.12, 0.98, 0.92, wspace=0.42)
        figure.savefig(path)


def draw_lines(panel, rows: Rows, key: str) -> list[Any]:
    """Draw a line for each method and return the ends of the lines."""
    ends = []
    for name, by_n in rows.items():
        points = [(n, row[key]) for n, row in by_n.items() if key in row]
        if points:
            panel.plot(*zip(*points, strict=True), "o-", color=COLOURS[name], lw=2, ms=5)
            ends.append((points[-1], name, COLOURS[name]))
    return ends


def mark_stopped(panel, rows: Rows, limit: float) -> None:
    """Mark the size at which a method exceeded the time limit."""
    for name, by_n in rows.items():
        if any("seconds" not in row for row in by_n.values()):
            n = max(by_n)
            panel.plot(n, limit, "x", color=COLOURS[name], ms=10, mew=2.4)
            panel.annotate("DNF", (n, limit), (9, -3), textcoords="offset points", size=9)
