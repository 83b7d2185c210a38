"""Axes and the names of lines, in the style of the package's pictures.

Lines carry their names at their ends instead of in a legend.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from matplotlib.patheffects import withStroke
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from benchmarks.common.shown import duration
from meanshiftpp.plot.style import LINE, PAPER

End = tuple[tuple[float, float], str, str]  # where a line ends, its name, its colour


def labelled(panel: Any, ends: Iterable[End], bold: str = "") -> None:
    """Write names beside the ends of lines, and those at one place under each other."""
    panel.autoscale_view()
    points = 72 / panel.figure.dpi  # of a pixel
    taken: dict[float, float] = {}  # the highest line of text so far, at each place along
    for end, name, colour in sorted(ends, key=lambda each: each[0][1]):
        here = panel.transData.transform(end)[1] * points
        there = max(here, taken.get(end[0], -1e9) + 11)
        taken[end[0]] = there
        panel.annotate(
            name,
            end,
            (9, there - here),
            textcoords="offset points",
            va="center",
            color=colour,
            size=9.5,
            weight="bold" if name == bold else "normal",
            annotation_clip=False,
            path_effects=[withStroke(linewidth=3.5, foreground=PAPER)],
            zorder=7,
        )


def frame(panel: Any) -> None:
    panel.grid(color=LINE, linewidth=0.7)
    panel.set_axisbelow(True)
    panel.tick_params(length=0)


def times(panel: Any) -> None:
    """Put readable times on a logarithmic axis."""
    frame(panel)
    panel.yaxis.set_major_locator(FixedLocator([10.0**i for i in range(-7, 4)]))
    panel.yaxis.set_minor_locator(NullLocator())
    panel.yaxis.set_major_formatter(FuncFormatter(lambda value, _: duration(value)))


def counts(axis: Any, values: Iterable[int]) -> None:
    axis.set_major_locator(FixedLocator(sorted(set(values))))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda value, _: short(value)))


def short(n: float) -> str:
    """Write 10,000,000 as 10M."""
    for unit, name in ((1_000_000, "M"), (1_000, "k")):
        if n >= unit:
            return f"{n / unit:g}{name}"
    return f"{n:g}"
