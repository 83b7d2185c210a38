"""Figures 1 and 2: the difference on a plane, and mixtures of ever more points."""

from __future__ import annotations

from pathlib import Path
from statistics import median
from time import process_time
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from benchmarks.common.data import Data, draw
from benchmarks.common.notes import own_code
from benchmarks.common.plots import counts, frame, labelled, times
from benchmarks.paper import page
from benchmarks.paper.setting import Run, mean_shift, told
from meanshiftpp import Grid, MeanShiftPP
from meanshiftpp.plot.style import GREY, LINE, STYLE

OURS, THEIRS, RED = "#0072B2", "#D55E00", "#C1272D"

# -- Figure 1 --------------------------------------------------------------------------------------


def illustration(run: Run) -> page.Section:
    """Draw one step of one point: the ball of MeanShift, the nine cells of MeanShift++."""
    X, start = _scene()
    ball = X[np.linalg.norm(X - start, axis=1) <= 1.5].mean(axis=0)
    cells, centre = np.floor(X), np.floor(start)
    inside = (np.abs(cells - centre) <= 1).all(axis=1)
    shifted = X[inside].mean(axis=0)
    _illustrate(X, start, ball, shifted, inside, run.out / "figure1.png")
    grid = Grid.from_points(X, 1.0)
    return page.Section(
        "figure1",
        "Figure 1: one step",
        "MeanShift looks through n points for the neighbours of one; MeanShift++ looks at the 3^d "
        "cells around it. Both move the point to the mean of what they find.",
        [
            f"{len(X)} points in {len(grid)} cells. The ball of radius 1.5 holds "
            f"{int((np.linalg.norm(X - start, axis=1) <= 1.5).sum())} of them, the nine cells of "
            f"side 1 hold {int(inside.sum())}; the two means are "
            f"{np.linalg.norm(ball - shifted):.2f} apart.",
        ],
        figures=[page.Figure("figure1.png", "The point (circle) and where it goes (triangle).")],
    )


def _scene() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    rng = np.random.default_rng(4)
    X = np.concatenate(
        [rng.normal((3.4, 3.3), 0.75, (70, 2)), rng.normal((0.9, 1.0), 0.6, (25, 2))]
    )
    return X, np.array([2.35, 2.4])


def _illustrate(X, start, ball, shifted, inside, path: Path) -> None:
    from matplotlib.patches import Circle, Rectangle

    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(9.0, 4.9))
        panels = figure.subplots(1, 2, sharex=True, sharey=True)
        near = np.linalg.norm(X - start, axis=1) <= 1.5
        for panel, title, colour, taken, goal in (
            (panels[0], "MeanShift: a ball, O(n)", THEIRS, near, ball),
            (panels[1], "MeanShift++: nine cells, O(3ᵈ)", OURS, inside, shifted),
        ):
            panel.set(xlim=(0, 5), ylim=(0, 5), aspect="equal")
            panel.set_title(title, loc="left", size=12, color=colour, weight="bold")
            panel.scatter(*X[~taken].T, s=16, color=GREY, linewidths=0)
            panel.scatter(*X[taken].T, s=20, color=colour, linewidths=0)
            panel.plot(*start, "o", ms=10, color=RED, mec="white", mew=1.2, zorder=5)
            panel.annotate("", goal, start, arrowprops={"arrowstyle": "-", "color": RED, "lw": 1.6})
            panel.plot(*goal, "^", ms=12, color=RED, mec="white", mew=1.2, zorder=6)
            panel.set_xticks(range(6), [])
            panel.set_yticks(range(6), [])
            panel.tick_params(length=0)
        panels[0].add_patch(Circle(start, 1.5, fc="#D55E0018", ec=THEIRS, lw=1.4))
        corner = np.floor(start) - 1
        panels[1].add_patch(Rectangle(corner, 3, 3, fc="#0072B218", ec=OURS, lw=1.4))
        panels[1].grid(color=LINE)
        panels[1].set_axisbelow(True)
        figure.tight_layout(w_pad=2)
        figure.savefig(path)


# -- Figure 2 --------------------------------------------------------------------------------------

SIZES = (1_000, 2_000, 4_000, 10_000, 100_000, 1_000_000, 10_000_000)  # tuned on the first
QUICK = (100, 300)
BANDWIDTHS = (0.7, 1.0, 1.4, 2.0, 2.8)
SCORED = 100_000  # rows tell the agreement


def gaussians(run: Run) -> page.Section:
    """Run both on mixtures of ten normal distributions in the plane, larger and larger."""
    sizes = QUICK if run.quick else SIZES
    few = sizes[0]
    chosen = {"MeanShift++": _best(run, _ours, few), "MeanShift": _best(run, _theirs, few)}
    rows: dict[str, dict[int, dict[str, Any]]] = {name: {} for name in chosen}
    stopped = None
    for n in sizes:
        rows["MeanShift++"][n] = _noted(run, _ours, n, chosen["MeanShift++"])
        if stopped is None:
            rows["MeanShift"][n] = _noted(run, _theirs, n, chosen["MeanShift"])
            if "seconds" not in rows["MeanShift"][n]:
                stopped = n
    _draw(rows, run.limit, run.out / "figure2.png")
    return page.Section(
        "figure2",
        "Figure 2: time and quality against n",
        "On two-dimensional mixtures of Gaussians MeanShift's time is quadratic in n and soon out "
        "of reach, that of MeanShift++ grows linearly; the clusterings are comparable.",
        [
            _growth(rows),
            "Ten normal distributions of standard deviation 1 with centres spread over a square of "
            f"side 20. The bandwidths, {chosen['MeanShift++']:g} for MeanShift++ and "
            f"{chosen['MeanShift']:g} for MeanShift, are those of {BANDWIDTHS} with the best ARI "
            f"at n = {few:,}; times are the processor's, on one core.",
            f"MeanShift is scikit-learn's, every point a seed, stopped after {run.limit:g} s (DNF) "
            "and not tried on more points then.",
        ],
        [_sizes_table(rows, sizes)],
        [page.Figure("figure2.png", "On one core; a cross: stopped at the limit.")],
    )


def _best(run: Run, method, n: int) -> float:
    rows = {h: _noted(run, method, n, h) for h in BANDWIDTHS}
    return max(rows, key=lambda h: rows[h].get("ari", -1))


def _noted(run: Run, method, n: int, h: float) -> dict[str, Any]:
    name, made_of = ("MeanShift++", own_code()) if method is _ours else ("MeanShift", "")
    found = run.tried(
        *("figure 2", name, str(n), f"{h:g}", made_of), make=lambda: method(run, n, h)
    )
    run.say(f"figure 2: {name} h={h:g} n={n:,}: {told(found)}")
    return found


def _ours(run: Run, n: int, h: float) -> dict[str, Any]:
    X, truth = draw(Data(n, 2, "float64"))
    taken = []
    for _ in range(5):
        begin = process_time()
        model = MeanShiftPP(h, n_jobs=1).fit(X)
        taken.append(process_time() - begin)
    return {"seconds": median(taken), "ari": _agreement(truth, model.labels_)}


def _theirs(run: Run, n: int, h: float) -> dict[str, Any]:
    X, truth = draw(Data(n, 2, "float64"))
    answer, why = run.ask(mean_shift, X, h)
    return why or {"seconds": answer[1], "ari": _agreement(truth, answer[0])}


def _agreement(truth: NDArray[Any], labels: NDArray[Any]) -> float:
    from sklearn.metrics import adjusted_rand_score

    return float(adjusted_rand_score(truth[:SCORED], labels[:SCORED]))


def _growth(rows: dict[str, dict[int, dict[str, Any]]]) -> str:
    said = []
    for name, by_n in rows.items():
        done = [(n, row["seconds"]) for n, row in by_n.items() if "seconds" in row][-3:]
        if len(done) > 1:
            n, seconds = np.log(np.array(done).T)
            said.append(f"{name} as n^{np.polyfit(n, seconds, 1)[0]:.2f}")
    both = [
        (n, row["seconds"] / rows["MeanShift++"][n]["seconds"])
        for n, row in rows["MeanShift"].items()
        if "seconds" in row
    ]
    last = f"; at n = {both[-1][0]:,} the ratio is {both[-1][1]:,.0f}" if both else ""
    return f"Over the largest three sizes that finished, times grow: {', '.join(said)}{last}."


def _sizes_table(rows, sizes) -> page.Table:
    def cells(row: dict[str, Any] | None) -> list[str]:
        if row is None:
            return ["", "not tried"]
        return [f"{row['ari']:.3f}" if "ari" in row else "", told(row)]

    body = [[f"{n:,}", *(c for name in rows for c in cells(rows[name].get(n)))] for n in sizes]
    header = ["n", "MS++ ARI", "MS++ time", "MS ARI", "MS time"]
    return page.Table("Mixtures of ten Gaussians in the plane", header, body)


def _draw(rows, limit: float, path: Path) -> None:
    colours = {"MeanShift++": OURS, "MeanShift": THEIRS}
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(9.6, 4.4))
        time, quality = figure.subplots(1, 2)
        for panel, key in ((time, "seconds"), (quality, "ari")):
            ends = []
            panel.set(xscale="log", xlabel="points", yscale="log" if key == "seconds" else "linear")
            for name, by_n in rows.items():
                points = [(n, row[key]) for n, row in by_n.items() if key in row]
                if points:
                    panel.plot(*zip(*points, strict=True), "o-", color=colours[name], lw=2, ms=5)
                    ends.append((points[-1], name, colours[name]))
                if key == "seconds" and len(points) < len(by_n):
                    n = max(by_n)
                    panel.plot(n, limit, "x", color=colours[name], ms=10, mew=2.4)
                    panel.annotate("DNF", (n, limit), (9, -3), textcoords="offset points", size=9)
            if key == "seconds":  # the colours say the rest
                labelled(panel, ends)
            frame(panel)
            counts(panel.xaxis, [n for n in rows["MeanShift++"] if str(n)[0] == "1"])
        times(time)
        quality.set_ylim(0, 1.05)
        time.set_title("Time of a fit", loc="left", size=12)
        quality.set_title("ARI", loc="left", size=12)
        figure.subplots_adjust(0.08, 0.12, 0.98, 0.92, wspace=0.42)
        figure.savefig(path)
