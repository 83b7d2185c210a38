"""The picture of a sweep: the number of clusters at each bandwidth, and their stability."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from meanshiftpp._support.extras import need
from meanshiftpp._support.text import pluralize
from meanshiftpp.plot.axes import axes_for
from meanshiftpp.plot.style import INK, LINE, PALETTE, SOFT, STYLE

COUNT_COLOUR, STABILITY_COLOUR = PALETTE[0], PALETTE[4]
SIZE = (8.4, 4.6)  # inches
FEATURES_SHOWN = 4
NOTE_HEIGHT = 16  # points above the axes for the note on the best: inside it could hide a curve


def draw(
    ax: Any,
    multiples: NDArray[np.int64],
    step: NDArray[np.float64],
    n_clusters: NDArray[np.int64],
    n_large: NDArray[np.int64],
    stability: NDArray[np.float64],
    best: int,
) -> Any:
    """Draw the curves of a sweep into `ax`, or into a new figure; see `Sweep.plot`."""
    matplotlib = need("matplotlib", "plot")
    with matplotlib.rc_context(STYLE):
        ax = axes_for(ax, SIZE)
        same_step = bool(np.allclose(step, step[0], rtol=1e-6, atol=0))
        h = multiples * step[0]
        _draw_counts(ax, h, n_clusters, n_large)
        right = ax.twinx()
        _draw_stability(right, h, stability)
        shown = step[: 1 if same_step else FEATURES_SHOWN]
        bandwidth = _numbers(multiples[best] * shown, ", ", len(step) if not same_step else 1)
        counts = _counts(n_clusters[best], n_large[best])
        _mark_best(ax, right, h, best, f"h = {bandwidth}: {counts}")
        if not same_step:  # a line of numbers for each feature
            formatter = need("matplotlib.ticker", "plot").FuncFormatter
            ax.xaxis.set_major_formatter(
                formatter(lambda x, _: _numbers(x * shown / step[0], "\n", len(step)))
            )
        ax.set_xlabel("bandwidth" if same_step else "bandwidth of each feature")
        title = "clusters and how long they last"
        ax.set_title(title, loc="left", size=11, color=INK, pad=6 + NOTE_HEIGHT)
        _draw_legend(ax, right)
    return ax


def _draw_counts(ax: Any, h: NDArray[Any], n_clusters: NDArray[Any], n_large: NDArray[Any]) -> None:
    ticker = need("matplotlib.ticker", "plot")
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.plot(h, n_clusters, color=COUNT_COLOUR, lw=1, alpha=0.45, label="all clusters")
    large = np.maximum(n_large, 1)  # a logarithmic scale has no zero
    ax.plot(h, large, color=COUNT_COLOUR, lw=2, marker="o", ms=3.5, label="of 1 % or more")
    ax.set_ylabel("clusters", color=COUNT_COLOUR)
    ax.set_ylim(0.8, max(12.0, 1.4 * float(n_clusters.max())))
    ax.grid(color=LINE, linewidth=0.6)
    ax.set_axisbelow(True)
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5), numticks=12))
        axis.set_major_formatter(ticker.FuncFormatter(lambda value, _: f"{value:g}"))
        axis.set_minor_locator(ticker.NullLocator())


def _draw_stability(right: Any, h: NDArray[Any], stability: NDArray[np.float64]) -> None:
    right.plot(h, stability, color=STABILITY_COLOUR, lw=1.6, marker="o", ms=3, label="stability")
    right.set_ylabel("stability", color=STABILITY_COLOUR)
    right.set_ylim(min(0.0, float(np.nanmin([0.0, *stability]))) - 0.02, 1.04)
    right.spines["top"].set_visible(False)


def _mark_best(ax: Any, right: Any, h: NDArray[Any], best: int, note: str) -> None:
    """Draw a line at the best bandwidth, with a note that stays within the width of the axes."""
    ax.axvline(h[best], color=INK, lw=1, ls=(0, (4, 3)), zorder=1.5)
    position = np.log(h[best] / h[0]) / np.log(h[-1] / h[0]) if len(h) > 1 else 0.5
    right.annotate(
        note,
        (h[best], 1),
        (0, 4),
        xycoords=("data", "axes fraction"),
        textcoords="offset points",
        ha="left" if position < 0.3 else "right" if position > 0.7 else "center",
        va="bottom",
        size=9,
        color=INK,
    )


def _draw_legend(ax: Any, right: Any) -> None:
    transforms = need("matplotlib.transforms", "plot")
    above = transforms.offset_copy(right.transAxes, right.figure, y=NOTE_HEIGHT, units="points")
    parts = [panel.get_legend_handles_labels() for panel in (ax, right)]
    handles, labels = (a + b for a, b in zip(*parts, strict=True))
    right.legend(
        handles,
        labels,
        loc="lower right",
        bbox_to_anchor=(1, 1),
        bbox_transform=above,
        ncols=3,
        frameon=False,
        fontsize=8.5,
        labelcolor=SOFT,
        borderaxespad=0.2,
    )


def _counts(n_clusters: int, n_large: int) -> str:
    return f"{pluralize(n_clusters, 'cluster')}, {n_large:,} of 1 % or more"


def _numbers(bandwidth: NDArray[np.float64], separator: str, n_features: int) -> str:
    """Return the bandwidths of the first of `n_features` features."""
    more = ["..."] * (n_features > len(bandwidth))
    return separator.join([f"{h:.3g}" for h in bandwidth] + more)
