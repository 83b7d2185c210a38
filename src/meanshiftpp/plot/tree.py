"""The picture of a tree of clusters: where each part begins, how dense it gets, how large it is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from meanshiftpp._support.extras import need
from meanshiftpp._support.text import pluralize
from meanshiftpp.plot.axes import axes_for, size_in_inches
from meanshiftpp.plot.style import GREY, INK, LINE, PALETTE, SOFT, STYLE

SIZE = (7.2, 4.2)  # inches
ROOT_HEIGHT = 1.0  # doublings of density that are drawn below the lowest saddle
MIN_HEIGHT = 0.1
DIGIT, LABEL_HEIGHT = 0.09, 0.16  # inches that a digit of a label and a label take
MIN_LABELLED = 0.06  # inches: narrower bars of many have no label
FEW = 30  # clusters, all of which may have a label
EDGE = 0.8  # points: the line between bars, at most a quarter of a bar


def draw_tree(
    tree: Any, ax: Any = None, colours: Sequence[Any] = PALETTE, *, weighted: bool = False
) -> Any:
    """Draw a `CondensedTree` into `ax`, or into a new figure, and return the axes.

    Every part of the data is a bar. It begins at the density of the saddle that divides it from
    its neighbour and ends where it divides again, or at the lower of the two peaks. Its width is
    its number of rows, which are drawn in proportion to their weight, and named so if `weighted`.
    Clusters have the colours of their labels, which start again after the last one.
    """
    matplotlib = need("matplotlib", "plot")
    with matplotlib.rc_context(STYLE):
        ax = axes_for(ax, SIZE)
        nodes = tree.nodes
        splits = [node.split for node in nodes[1:]]
        dimension = float(np.median([split.dimension for split in splits])) if splits else 1.0
        left, base = _places(nodes), _bases(nodes, dimension)
        tops = _tops(nodes, base, dimension)
        colour_of = [colours[n.label % len(colours)] if n.label >= 0 else GREY for n in nodes]
        widths = np.array([node.child_size for node in nodes], float)
        heights = np.subtract(tops, base)
        across, up = _inches(ax, nodes, tops)
        ax.bar(
            left,
            heights,
            widths,
            base,
            align="edge",
            color=colour_of,
            edgecolor=matplotlib.rcParams["axes.facecolor"],
            linewidth=np.minimum(EDGE, 18 * np.minimum(across * widths, up * heights)),
        )
        _draw_labels(ax, nodes, left, tops)
        leaves = sum(node.label >= 0 for node in nodes)
        name = "cluster" if any(split.stage for split in splits) else "significant cluster"
        ax.set_title(pluralize(leaves, name), loc="left", size=11, color=INK)
        ax.set_ylabel("density above the lowest saddle (log2)")
        ax.set_xlabel("weight" if weighted else "rows", color=SOFT)
        ax.grid(axis="y", color=LINE, linewidth=0.6)
        ax.set_axisbelow(True)
        ax.margins(x=0.01, y=0.08)
        ax.locator_params(axis="x", nbins=4)
        ax.xaxis.set_major_formatter("{x:,.6g}")
    return ax


def _inches(ax: Any, nodes: Sequence[Any], tops: Sequence[float]) -> tuple[float, float]:
    """Return the length of a row and of a doubling of density in inches."""
    width, height = size_in_inches(ax)
    return width / max(nodes[0].child_size, 1), height / (max(tops) + ROOT_HEIGHT)


def _draw_labels(
    ax: Any, nodes: Sequence[Any], left: Sequence[float], tops: Sequence[float]
) -> None:
    """Write the label of each cluster above its bar, the largest first; none covers another."""
    across, up = _inches(ax, nodes, tops)
    clusters = sorted((node for node in nodes if node.label >= 0), key=lambda node: node.label)
    placed: list[tuple[float, float, float]] = []
    for node in clusters:
        middle, top = left[node.child] + node.child_size / 2, tops[node.child]
        x, y, room = middle * across, top * up, DIGIT * (len(str(node.label)) + 1)
        narrow = len(clusters) > FEW and node.child_size * across < MIN_LABELLED
        if narrow or any(
            abs(x - other) < (room + more) / 2 and abs(y - high) < LABEL_HEIGHT
            for other, high, more in placed
        ):
            continue
        placed.append((x, y, room))
        ax.annotate(
            str(node.label),
            (middle, top),
            (0, 3),
            textcoords="offset points",
            ha="center",
            size=9,
            color=INK,
        )


def _bases(nodes: Sequence[Any], dimension: float) -> list[float]:
    """Return the density at which each node begins; a part never begins below its parent."""
    saddles = [dimension * float(np.log2(node.lambda_val)) for node in nodes[1:]]
    lowest = min(saddles, default=0.0)
    bases = [-ROOT_HEIGHT]
    for node, saddle in zip(nodes[1:], saddles, strict=True):
        bases.append(max(saddle - lowest, bases[node.parent]))
    return bases


def _tops(nodes: Sequence[Any], base: Sequence[float], dimension: float) -> list[float]:
    """Return the density at which each node divides, or that of its peak."""
    tops = [base[0] + ROOT_HEIGHT]
    for node in nodes[1:]:
        height = dimension * (node.split.saddle - node.split.peak)
        tops.append(base[node.child] + max(height, MIN_HEIGHT))
    for node in reversed(nodes[1:]):  # a node that divides ends where its parts begin
        tops[node.parent] = base[node.child]
    return tops


def _places(nodes: Sequence[Any]) -> list[float]:
    """Return the left edge of each node: parts lie side by side within their parent."""
    left = [0.0] * len(nodes)
    used = [0.0] * len(nodes)
    for node in nodes[1:]:
        left[node.child] = left[node.parent] + used[node.parent]
        used[node.parent] += node.child_size
    return left
