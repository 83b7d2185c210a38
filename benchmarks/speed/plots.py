"""Pictures of the sweeps, in the style of the package's own.

Lines carry their names at their ends instead of in a legend; where a contender stops, a cross
stands for why: it would not have ended within the limit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from benchmarks.common import machine
from benchmarks.common.plots import End, counts, frame, labelled, short, times
from benchmarks.common.shown import duration
from benchmarks.speed.contenders import FLOOR, OURS
from benchmarks.speed.lanes import Row
from benchmarks.speed.suite import Result
from meanshiftpp.plot.style import GREY, INK, LINE, SOFT, STYLE

COLOURS = {
    OURS: "#0072B2",
    FLOOR: "#8A8F96",
    "KMeans": "#E69F00",
    "DBSCAN": "#009E73",
    "fast-hdbscan": "#CC79A7",
    "HDBSCAN": "#882255",
    "MeanShift": "#D55E00",
}
WIDE, TALL = 9.0, 5.6  # inches
Points = list[tuple[float, float]]


def draw(result: Result, folder: Path) -> bool:
    """Draw a benchmark if it is one to draw; say whether it was."""
    drawing = DRAWINGS.get(result.name)
    if drawing is None:
        return False
    folder.mkdir(parents=True, exist_ok=True)
    with mpl.rc_context(STYLE):
        drawing(result).savefig(folder / f"{result.name}.png")
    return True


def against_n(result: Result) -> Figure:
    subtitle = f"3 dimensions, bandwidth 1; {crosses(result)}"
    figure, panel = page("Time against the number of points", subtitle)
    panel.set(xscale="log", yscale="log", xlabel="points")
    lines(panel, result.rows, lambda row: row.case.data.n, lambda row: row.median)
    times(panel)
    counts(panel.xaxis, (row.case.data.n for row in result.rows))
    return figure


def against_d(result: Result) -> Figure:
    n = result.rows[0].case.data.n
    figure, panel = page("Time against the dimension", f"{n:,} points, bandwidth 1")
    panel.set(yscale="log", xlabel="dimension")
    lines(panel, result.rows, lambda row: row.case.data.d, lambda row: row.median)
    panel.xaxis.set_major_locator(FixedLocator(sorted({r.case.data.d for r in result.rows})))
    times(panel)
    return figure


def against_h(result: Result) -> Figure:
    """Draw the time, and below it what explains it: cells and steps."""
    mine = [row for row in result.rows if row.facts]
    n = mine[0].case.data.n
    figure, panel = page("Time against the bandwidth", f"{n:,} points, 3 dimensions", tall=7.0)
    low, high = 0.6 / 7, 1 - 0.9 / 7
    edge = low + (high - low) * 0.42
    box = panel.get_position()
    panel.set_position((box.x0, edge, box.width, high - edge))
    below = figure.add_axes((box.x0, low, box.width, edge - low - 0.03), sharex=panel)
    panel.set(xscale="log", yscale="log")
    below.set(yscale="log", xlabel="bandwidth, in standard deviations of a cluster")
    lines(panel, result.rows, lambda row: row.case.bandwidth, lambda row: row.median)
    panel.tick_params(labelbottom=False)
    times(panel)
    ends: list[End] = []
    for name, colour in (("cells", "#009E73"), ("steps", "#D55E00")):
        points = [(row.case.bandwidth, (row.facts or {})[name]) for row in mine]
        curve(below, points, colour)
        ends.append((points[-1], name, colour))
    labelled(below, ends)
    frame(below)
    below.yaxis.set_minor_locator(NullLocator())
    below.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    below.xaxis.set_major_locator(FixedLocator([row.case.bandwidth for row in mine]))
    below.xaxis.set_minor_locator(NullLocator())
    below.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    return figure


def against_threads(result: Result) -> Figure:
    cores = machine.cores()
    figure, panel = page("Speed-up by threads", f"3 dimensions, a machine of {cores} cores")
    counted = sorted({row.case.threads or 0 for row in result.rows})
    most = counted[-1]
    panel.set(xlabel="threads", ylabel="times as fast as one thread")
    panel.set(xlim=(0.9, most * 1.02), ylim=(0, cores * 1.15))
    panel.plot([1, cores, most], [1, cores, cores], "--", color=GREY, lw=1.3)
    ends: list[End] = [((most, cores), "ideal", SOFT)]
    cases = dict.fromkeys((row.case.data.n, row.case.bandwidth) for row in result.rows)
    for (n, h), colour in zip(cases, ("#0072B2", "#D55E00"), strict=True):
        rows = [r for r in result.rows if (r.case.data.n, r.case.bandwidth) == (n, h)]
        points = [(row.case.threads or 0, 1 / row.to_ours) for row in rows if row.to_ours]
        curve(panel, points, colour)
        ends.append((points[-1], f"{short(n)} points, h={h:g}", colour))
    labelled(panel, ends)
    panel.axvspan(cores, most * 1.02, color=LINE, alpha=0.45, lw=0)
    place = {"xycoords": ("data", "axes fraction"), "textcoords": "offset points"}
    panel.annotate("more threads than cores", (cores, 0), (6, 8), **place, color=SOFT, size=8.5)
    panel.xaxis.set_major_locator(FixedLocator(counted))
    frame(panel)
    return figure


def memory(result: Result) -> Figure:
    subtitle = f"3 dimensions, bandwidth 1; under 1 MiB drawn as that; {crosses(result)}"
    figure, panel = page("Peak memory beyond points and labels", subtitle)
    panel.set(xscale="log", yscale="log", xlabel="points")

    def height(row: Row) -> float | None:
        return None if row.bytes is None else max(row.bytes, 2**20)

    lines(panel, result.rows, lambda row: row.case.data.n, height)
    frame(panel)
    panel.yaxis.set_major_locator(FixedLocator([2.0**20 * 4**i for i in range(9)]))
    panel.yaxis.set_minor_locator(NullLocator())
    panel.yaxis.set_major_formatter(FuncFormatter(lambda value, _: size(value)))
    counts(panel.xaxis, (row.case.data.n for row in result.rows))
    return figure


def startup(result: Result) -> Figure:
    subtitle = "medians; imports are the statement alone, the last two the whole process"
    figure, panel = page("Until it starts", subtitle, tall=4.2)
    box = panel.get_position()
    panel.set_position((2.9 / WIDE, box.y0, (WIDE - 4.0) / WIDE, box.height))
    for place, row in enumerate(result.rows):
        own = "meanshiftpp" in row.contender
        value = row.median or 0
        panel.barh(place, value, height=0.58, color=COLOURS[OURS] if own else GREY)
        panel.annotate(
            duration(value), (value, place), (5, 0), textcoords="offset points", va="center", size=9
        )
    panel.set_yticks(range(len(result.rows)), [row.contender for row in result.rows])
    panel.tick_params(axis="y", length=0, labelcolor=INK, labelsize=9)
    panel.set(xticks=[], ylim=(len(result.rows) - 0.4, -0.6))
    panel.spines[["left", "bottom"]].set_visible(False)
    return figure


DRAWINGS: dict[str, Callable[[Result], Figure]] = {
    "n": against_n,
    "d": against_d,
    "h": against_h,
    "threads": against_threads,
    "memory": memory,
    "startup": startup,
}


# -- what they share ------------------------------------------------------------------------------


def page(title: str, subtitle: str, tall: float = TALL) -> tuple[Figure, Any]:
    """Make a figure with a heading and one panel that leaves room for names at the right."""
    figure = Figure(figsize=(WIDE, tall))
    left = 0.85
    figure.text(left / WIDE, 1 - 0.2 / tall, title, size=15, weight="bold", va="top")
    figure.text(left / WIDE, 1 - 0.5 / tall, subtitle, size=10, color=SOFT, va="top")
    low, high = 0.6 / tall, 1 - 0.9 / tall
    panel = figure.add_axes((left / WIDE, low, (WIDE - left - 1.5) / WIDE, high - low))
    return figure, panel


def crosses(result: Result) -> str:
    return f"a cross: not run further, the limit is {result.extra['limit']:g} s"


def lines(
    panel: Any,
    rows: Iterable[Row],
    across: Callable[[Row], float],
    up: Callable[[Row], float | None],
) -> None:
    """Draw a line for each contender, its name at the end, a cross where it was stopped."""
    rows = list(rows)
    ends: list[End] = []
    for name in dict.fromkeys(row.contender for row in rows):
        own = [row for row in rows if row.contender == name]
        points = [(across(row), value) for row in own if (value := up(row)) is not None]
        if not points:
            continue
        colour = COLOURS[name]
        curve(panel, points, colour, name)
        if any(row.note and up(row) is None for row in own):
            panel.plot(*points[-1], "x", color=colour, ms=9, mew=2, zorder=6)
        ends.append((points[-1], name, colour))
    labelled(panel, ends, bold=OURS)


def curve(panel: Any, points: Points, colour: str, name: str = "") -> None:
    style = "--" if name == FLOOR else "-"
    width = 2.8 if name == OURS else 1.6
    mark = "" if name == FLOOR else "o"
    panel.plot(*zip(*points, strict=True), style, marker=mark, color=colour, lw=width, ms=4.5)


def size(value: float) -> str:
    return f"{value / 2**30:g} GiB" if value >= 2**30 else f"{value / 2**20:g} MiB"
