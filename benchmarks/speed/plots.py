"""Figures of the sweeps, in the style of the package's plots.

Lines are labelled at their ends instead of in a legend. A cross marks the last point of a
contender that would not finish the next size within the limit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from benchmarks.common import machine
from benchmarks.common.plots import (
    GREY,
    INK,
    LINE,
    SOFT,
    STYLE,
    LineEnd,
    add_grid,
    label_lines,
    short_number,
    use_counts,
    use_durations,
)
from benchmarks.common.reporting import duration
from benchmarks.speed.contenders import FLOOR, OURS
from benchmarks.speed.results import Measurement, Result

COLOURS = {
    OURS: "#0072B2",
    FLOOR: "#8A8F96",
    "KMeans": "#E69F00",
    "DBSCAN": "#009E73",
    "fast-hdbscan": "#CC79A7",
    "HDBSCAN": "#882255",
    "MeanShift": "#D55E00",
}
WIDTH, HEIGHT = 9.0, 5.6  # inches
Points = list[tuple[float, float]]


def draw(result: Result, folder: Path) -> bool:
    """Draw the figure of a benchmark; return False if it has none."""
    make_figure = FIGURES.get(result.name)
    if make_figure is None:
        return False
    folder.mkdir(parents=True, exist_ok=True)
    with mpl.rc_context(STYLE):
        make_figure(result).savefig(folder / f"{result.name}.png")
    return True


def time_by_n(result: Result) -> Figure:
    subtitle = f"3 dimensions, bandwidth 1; {cross_legend(result)}"
    figure, panel = new_figure("Time by number of points", subtitle)
    panel.set(xscale="log", yscale="log", xlabel="points")
    draw_lines(panel, result.rows, lambda row: row.case.data.n, lambda row: row.median)
    use_durations(panel)
    use_counts(panel.xaxis, (row.case.data.n for row in result.rows))
    return figure


def time_by_d(result: Result) -> Figure:
    n = result.rows[0].case.data.n
    figure, panel = new_figure("Time by dimension", f"{n:,} points, bandwidth 1")
    panel.set(yscale="log", xlabel="dimension")
    draw_lines(panel, result.rows, lambda row: row.case.data.d, lambda row: row.median)
    panel.xaxis.set_major_locator(FixedLocator(sorted({r.case.data.d for r in result.rows})))
    use_durations(panel)
    return figure


def time_by_h(result: Result) -> Figure:
    """Draw the time and, below it, the cells and steps that explain it."""
    ours = [row for row in result.rows if row.facts]
    n = ours[0].case.data.n
    figure, panel = new_figure("Time by bandwidth", f"{n:,} points, 3 dimensions", height=7.0)
    low, high = 0.6 / 7, 1 - 0.9 / 7
    edge = low + (high - low) * 0.42
    box = panel.get_position()
    panel.set_position((box.x0, edge, box.width, high - edge))
    below = figure.add_axes((box.x0, low, box.width, edge - low - 0.03), sharex=panel)
    panel.set(xscale="log", yscale="log")
    below.set(yscale="log", xlabel="bandwidth, in standard deviations of a cluster")
    draw_lines(panel, result.rows, lambda row: row.case.bandwidth, lambda row: row.median)
    panel.tick_params(labelbottom=False)
    use_durations(panel)
    ends: list[LineEnd] = []
    for name, colour in (("cells", "#009E73"), ("steps", "#D55E00")):
        points = [(row.case.bandwidth, (row.facts or {})[name]) for row in ours]
        draw_curve(below, points, colour)
        ends.append((points[-1], name, colour))
    label_lines(below, ends)
    add_grid(below)
    below.yaxis.set_minor_locator(NullLocator())
    below.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    below.xaxis.set_major_locator(FixedLocator([row.case.bandwidth for row in ours]))
    below.xaxis.set_minor_locator(NullLocator())
    below.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    return figure


def speedup_by_threads(result: Result) -> Figure:
    cores = machine.cores()
    figure, panel = new_figure("Speed-up by threads", f"3 dimensions, a machine of {cores} cores")
    thread_counts = sorted({row.case.threads or 0 for row in result.rows})
    most = thread_counts[-1]
    panel.set(xlabel="threads", ylabel="times as fast as one thread")
    panel.set(xlim=(0.9, most * 1.02), ylim=(0, cores * 1.15))
    panel.plot([1, cores, most], [1, cores, cores], "--", color=GREY, lw=1.3)
    ends: list[LineEnd] = [((most, cores), "ideal", SOFT)]
    cases = dict.fromkeys((row.case.data.n, row.case.bandwidth) for row in result.rows)
    for (n, h), colour in zip(cases, ("#0072B2", "#D55E00"), strict=True):
        rows = [r for r in result.rows if (r.case.data.n, r.case.bandwidth) == (n, h)]
        points = [(row.case.threads or 0, 1 / row.to_ours) for row in rows if row.to_ours]
        draw_curve(panel, points, colour)
        ends.append((points[-1], f"{short_number(n)} points, h={h:g}", colour))
    label_lines(panel, ends)
    panel.axvspan(cores, most * 1.02, color=LINE, alpha=0.45, lw=0)
    place = {"xycoords": ("data", "axes fraction"), "textcoords": "offset points"}
    panel.annotate("more threads than cores", (cores, 0), (6, 8), **place, color=SOFT, size=8.5)
    panel.xaxis.set_major_locator(FixedLocator(thread_counts))
    add_grid(panel)
    return figure


def memory(result: Result) -> Figure:
    subtitle = f"3 dimensions, bandwidth 1; below 1 MiB drawn at 1 MiB; {cross_legend(result)}"
    figure, panel = new_figure("Peak memory in addition to points and labels", subtitle)
    panel.set(xscale="log", yscale="log", xlabel="points")

    def drawn_bytes(row: Measurement) -> float | None:
        return None if row.bytes is None else max(row.bytes, 2**20)

    draw_lines(panel, result.rows, lambda row: row.case.data.n, drawn_bytes)
    add_grid(panel)
    panel.yaxis.set_major_locator(FixedLocator([2.0**20 * 4**i for i in range(9)]))
    panel.yaxis.set_minor_locator(NullLocator())
    panel.yaxis.set_major_formatter(FuncFormatter(lambda value, _: format_bytes(value)))
    use_counts(panel.xaxis, (row.case.data.n for row in result.rows))
    return figure


def startup(result: Result) -> Figure:
    subtitle = "medians; imports are the statement alone, the last two the whole process"
    figure, panel = new_figure("Start-up time", subtitle, height=4.2)
    box = panel.get_position()
    panel.set_position((2.9 / WIDTH, box.y0, (WIDTH - 4.0) / WIDTH, box.height))
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


FIGURES: dict[str, Callable[[Result], Figure]] = {
    "n": time_by_n,
    "d": time_by_d,
    "h": time_by_h,
    "threads": speedup_by_threads,
    "memory": memory,
    "startup": startup,
}


# -- shared parts ----------------------------------------------------------------------------------


def new_figure(title: str, subtitle: str, height: float = HEIGHT) -> tuple[Figure, Any]:
    """Return a figure with a heading and one panel, with room for line labels at the right."""
    figure = Figure(figsize=(WIDTH, height))
    left = 0.85
    figure.text(left / WIDTH, 1 - 0.2 / height, title, size=15, weight="bold", va="top")
    figure.text(left / WIDTH, 1 - 0.5 / height, subtitle, size=10, color=SOFT, va="top")
    low, high = 0.6 / height, 1 - 0.9 / height
    panel = figure.add_axes((left / WIDTH, low, (WIDTH - left - 1.5) / WIDTH, high - low))
    return figure, panel


def cross_legend(result: Result) -> str:
    return f"cross: stopped, the limit is {result.extra['limit']:g} s"


def draw_lines(
    panel: Any,
    rows: Iterable[Measurement],
    x: Callable[[Measurement], float],
    y: Callable[[Measurement], float | None],
) -> None:
    """Draw a labelled line for each contender, with a cross if it was stopped."""
    rows = list(rows)
    ends: list[LineEnd] = []
    for name in dict.fromkeys(row.contender for row in rows):
        own = [row for row in rows if row.contender == name]
        points = [(x(row), value) for row in own if (value := y(row)) is not None]
        if not points:
            continue
        colour = COLOURS[name]
        draw_curve(panel, points, colour, name)
        if any(row.note and y(row) is None for row in own):
            panel.plot(*points[-1], "x", color=colour, ms=9, mew=2, zorder=6)
        ends.append((points[-1], name, colour))
    label_lines(panel, ends, bold=OURS)


def draw_curve(panel: Any, points: Points, colour: str, name: str = "") -> None:
    style = "--" if name == FLOOR else "-"
    width = 2.8 if name == OURS else 1.6
    mark = "" if name == FLOOR else "o"
    panel.plot(*zip(*points, strict=True), style, marker=mark, color=colour, lw=width, ms=4.5)


def format_bytes(value: float) -> str:
    return f"{value / 2**30:g} GiB" if value >= 2**30 else f"{value / 2**20:g} MiB"
