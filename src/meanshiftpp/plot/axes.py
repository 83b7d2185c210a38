"""Axes of a panel: their length in inches, the numbers on them, and the room these need."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from meanshiftpp._support.extras import need
from meanshiftpp.errors import InvalidInputError
from meanshiftpp.plot.scene import Scene

DIGIT_WIDTH = 0.075  # inches
SHORT_NUMBER = 6  # digits; longer numbers keep away from the ends of their axis


def axes_for(ax: Any, size: tuple[float, float]) -> Any:
    """Check axes to draw into; None makes a figure of a size in inches."""
    if ax is None:
        figure = need("matplotlib.figure", "plot").Figure(figsize=size, layout="constrained")
        return figure.add_subplot()
    if not isinstance(ax, need("matplotlib.axes", "plot").Axes):
        raise InvalidInputError.for_parameter("ax", "matplotlib axes or None", ax)
    return ax


def size_in_inches(panel: Any) -> tuple[float, float]:
    """Return the width and height of a panel."""
    box, figure = panel.get_position(), panel.figure
    return float(box.width * figure.get_figwidth()), float(box.height * figure.get_figheight())


def label_axes(panel: Any, x: str, y: str = "") -> None:
    """Label the axes with column names; a dollar sign in them does not start mathematics."""
    panel.set_xlabel(x, parse_math=False)
    panel.set_ylabel(y, parse_math=False)


def set_ticks(panel: Any, x: tuple[float, float], y: tuple[float, float] | None = None) -> None:
    """Place the ticks for these limits of the axes; without `y`, only those of the x axis."""
    panel.set_xticks(_separate_ticks(panel, x))
    if y is not None:
        panel.set_yticks(_ticks(y, _max_steps(panel)))


def left_margin(scene: Scene, minimum: float) -> float:
    """Return the inches that numbers and names to the left of all panels need."""
    longest = max((_longest(_ticks(limits, 6)) for limits in scene.limits[1:]), default=0)
    return max(longest * DIGIT_WIDTH + 0.34, minimum)


def _max_steps(panel: Any) -> int:
    return int(np.clip(size_in_inches(panel)[0] / 0.6, 3, 6))


def _ticks(limits: tuple[float, float], max_steps: int) -> NDArray[np.float64]:
    """Return round numbers between the limits."""
    options: Any = {"steps": [1, 2, 2.5, 5, 10], "min_n_ticks": min(max_steps, 2)}
    locator = need("matplotlib.ticker", "plot").MaxNLocator(max_steps, **options)
    ticks = np.asarray(locator.tick_values(*limits), float)
    return ticks[(ticks >= limits[0]) & (ticks <= limits[1])]


def _longest(ticks: NDArray[np.float64]) -> int:
    """Count the characters of the longest number."""
    return max((len(f"{tick:.10g}") for tick in ticks), default=0)


def _separate_ticks(panel: Any, limits: tuple[float, float]) -> NDArray[np.float64]:
    """Return ticks whose numbers overlap neither each other nor those of the next panel."""
    low, high = limits
    scale = size_in_inches(panel)[0] / (high - low)
    for max_steps in range(_max_steps(panel), 0, -1):
        ticks = _ticks(limits, max_steps)
        width = _longest(ticks) * DIGIT_WIDTH
        if len(ticks) < 2 or (ticks[1] - ticks[0]) * scale > width + 0.12:
            break
    if width <= SHORT_NUMBER * DIGIT_WIDTH:
        return ticks
    inside = np.minimum(ticks - low, high - ticks) * scale > width / 2 - 0.05
    return ticks[inside] if inside.any() else ticks[:1]
