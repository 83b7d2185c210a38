"""Axes and line labels in the style of the package's plots.

Lines are labelled at their ends instead of in a legend.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from matplotlib.patheffects import withStroke
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from benchmarks.common.reporting import duration
from meanshiftpp.plot.style import GREY, INK, LINE, PAPER, SOFT, STYLE

__all__ = [
    "GREY",
    "INK",
    "LINE",
    "SOFT",
    "STYLE",
    "LineEnd",
    "add_grid",
    "label_lines",
    "short_number",
    "use_counts",
    "use_durations",
]

LineEnd = tuple[tuple[float, float], str, str]  # the last point of a line, its label, its colour
LINE_HEIGHT = 11  # points between two labels


def label_lines(panel: Any, ends: Iterable[LineEnd], bold: str = "") -> None:
    """Write labels at the ends of lines; labels that end at the same x are moved apart."""
    panel.autoscale_view()
    points_per_pixel = 72 / panel.figure.dpi
    highest: dict[float, float] = {}  # the topmost label so far at each x
    for end, name, colour in sorted(ends, key=lambda each: each[0][1]):
        line_y = panel.transData.transform(end)[1] * points_per_pixel
        label_y = max(line_y, highest.get(end[0], -1e9) + LINE_HEIGHT)
        highest[end[0]] = label_y
        panel.annotate(
            name,
            end,
            (9, label_y - line_y),
            textcoords="offset points",
            va="center",
            color=colour,
            size=9.5,
            weight="bold" if name == bold else "normal",
            annotation_clip=False,
            path_effects=[withStroke(linewidth=3.5, foreground=PAPER)],
            zorder=7,
        )


def add_grid(panel: Any) -> None:
    """Draw grid lines behind the data and hide the tick marks."""
    panel.grid(color=LINE, linewidth=0.7)
    panel.set_axisbelow(True)
    panel.tick_params(length=0)


def use_durations(panel: Any) -> None:
    """Label a logarithmic y axis with durations such as "10 ms"."""
    add_grid(panel)
    panel.yaxis.set_major_locator(FixedLocator([10.0**i for i in range(-7, 4)]))
    panel.yaxis.set_minor_locator(NullLocator())
    panel.yaxis.set_major_formatter(FuncFormatter(lambda value, _: duration(value)))


def use_counts(axis: Any, values: Iterable[int]) -> None:
    """Put the ticks of an axis at the given counts, labelled such as "10M"."""
    axis.set_major_locator(FixedLocator(sorted(set(values))))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda value, _: short_number(value)))


def short_number(n: float) -> str:
    """Format 10,000,000 as 10M."""
    for unit, name in ((1_000_000, "M"), (1_000, "k")):
        if n >= unit:
            return f"{n / unit:g}{name}"
    return f"{n:g}"
