"""Colours, fonts and matplotlib settings that all pictures of the package share."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from meanshiftpp._support.extras import need
from meanshiftpp._support.files import atomic_path

# The colours of Okabe and Ito, which people with any colour vision can distinguish, without the
# yellow that is hard to see on white, followed by three dark colours of Paul Tol.
PALETTE = (
    "#0072B2",
    "#E69F00",
    "#009E73",
    "#CC79A7",
    "#D55E00",
    "#56B4E9",
    "#332288",
    "#999933",
    "#882255",
)
# Background; text; secondary text; axes and grid lines; noise and small clusters.
PAPER, INK, SOFT, LINE, GREY = "#FCFCFA", "#22252A", "#70757D", "#E4E4DF", "#B9BCBE"
STYLE = {
    "figure.facecolor": PAPER,
    "axes.facecolor": PAPER,
    "savefig.facecolor": PAPER,
    "axes.edgecolor": LINE,
    "axes.labelcolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 1.0,
    "axes.labelsize": 10,
    "text.color": INK,
    "xtick.color": LINE,
    "ytick.color": LINE,
    "xtick.labelcolor": SOFT,
    "ytick.labelcolor": SOFT,
    "xtick.labelsize": 8.5,
    "ytick.labelsize": 8.5,
    "axes.formatter.limits": (-3, 8),
    "axes.formatter.useoffset": False,  # so that coordinates can be read without an addition
    "font.family": "sans-serif",
    "font.size": 10,
    "figure.dpi": 160,
    "svg.fonttype": "none",
}
# Column names may be in any script; matplotlib falls back to those of these that are installed.
FALLBACK_FONTS = (
    *("Noto Sans CJK JP", "Noto Sans CJK SC", "PingFang SC", "Hiragino Sans", "Microsoft YaHei"),
    *("Yu Gothic", "Malgun Gothic", "WenQuanYi Micro Hei", "Arial Unicode MS", "Noto Sans"),
)


def font_families() -> list[str]:
    """Return the default font, then the installed fonts for other scripts."""
    installed = set(need("matplotlib.font_manager", "plot").get_font_names())
    return ["sans-serif", *(name for name in FALLBACK_FONTS if name in installed)]


def save(figure: Any, path: str | os.PathLike[str]) -> None:
    """Write a figure to a file in the format of its suffix, whole or not at all."""
    # matplotlib would leave a file that it opened itself open after an error.
    with atomic_path(path) as target, target.open("wb") as file:
        figure.savefig(file, format=Path(path).suffix[1:].lower())
