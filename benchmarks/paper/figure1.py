"""Figure 1: one step of one point, by MeanShift and by MeanShift++."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Circle, Rectangle
from numpy.typing import NDArray

from benchmarks.common.plots import GREY, LINE, STYLE
from benchmarks.paper import report
from benchmarks.paper.run import Run
from meanshiftpp import Grid

OURS, MEAN_SHIFT, RED = "#0072B2", "#D55E00", "#C1272D"
RADIUS = 1.5  # of the ball; cells have size 1

Reals = NDArray[np.float64]


def section(run: Run) -> report.Section:
    """Draw one step of one point: the ball of MeanShift and the nine cells of MeanShift++."""
    X, start = make_points()
    in_ball = np.linalg.norm(X - start, axis=1) <= RADIUS
    in_window = (np.abs(np.floor(X) - np.floor(start)) <= 1).all(axis=1)
    means = X[in_ball].mean(axis=0), X[in_window].mean(axis=0)
    draw(X, start, (in_ball, in_window), means, run.out / "figure1.png")
    grid = Grid.from_points(X, 1.0)
    return report.Section(
        "figure1",
        "Figure 1: one step",
        "MeanShift searches n points for the neighbours of one; MeanShift++ reads the 3^d cells "
        "around it. Both move the point to the mean of the points found.",
        [
            f"{len(X)} points in {len(grid)} cells. The ball of radius {RADIUS} contains "
            f"{int(in_ball.sum())} of them, the nine cells of size 1 contain "
            f"{int(in_window.sum())}; the distance between the two means is "
            f"{np.linalg.norm(means[0] - means[1]):.2f}.",
        ],
        figures=[
            report.Figure("figure1.png", "The point (circle) and its next position (triangle).")
        ],
    )


def make_points() -> tuple[Reals, Reals]:
    """Return points of two clusters, and the point that moves."""
    rng = np.random.default_rng(4)
    X = np.concatenate(
        [rng.normal((3.4, 3.3), 0.75, (70, 2)), rng.normal((0.9, 1.0), 0.6, (25, 2))]
    )
    return X, np.array([2.35, 2.4])


def draw(
    X: Reals,
    start: Reals,
    neighbours: tuple[NDArray[np.bool_], NDArray[np.bool_]],
    means: tuple[Reals, Reals],
    path: Path,
) -> None:
    titles = ("MeanShift: a ball, O(n)", "MeanShift++: nine cells, O(3ᵈ)")
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(9.0, 4.9))
        panels = figure.subplots(1, 2, sharex=True, sharey=True)
        for panel, title, colour, taken, mean in zip(
            panels, titles, (MEAN_SHIFT, OURS), neighbours, means, strict=True
        ):
            panel.set(xlim=(0, 5), ylim=(0, 5), aspect="equal")
            panel.set_title(title, loc="left", size=12, color=colour, weight="bold")
            panel.scatter(*X[~taken].T, s=16, color=GREY, linewidths=0)
            panel.scatter(*X[taken].T, s=20, color=colour, linewidths=0)
            panel.plot(*start, "o", ms=10, color=RED, mec="white", mew=1.2, zorder=5)
            panel.annotate("", mean, start, arrowprops={"arrowstyle": "-", "color": RED, "lw": 1.6})
            panel.plot(*mean, "^", ms=12, color=RED, mec="white", mew=1.2, zorder=6)
            panel.set_xticks(range(6), [])
            panel.set_yticks(range(6), [])
            panel.tick_params(length=0)
        panels[0].add_patch(Circle(start, RADIUS, fc=f"{MEAN_SHIFT}18", ec=MEAN_SHIFT, lw=1.4))
        corner = np.floor(start) - 1
        panels[1].add_patch(Rectangle(corner, 3, 3, fc=f"{OURS}18", ec=OURS, lw=1.4))
        panels[1].grid(color=LINE)
        panels[1].set_axisbelow(True)
        figure.tight_layout(w_pad=2)
        figure.savefig(path)
