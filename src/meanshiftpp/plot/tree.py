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
LABEL_SIZE = (0.2, 0.16)  # inches that a label takes


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
        tops = [_top(node, nodes, base, dimension) for node in nodes]
        for node, x, low, top in zip(nodes, left, base, tops, strict=True):
            colour = colours[node.label % len(colours)] if node.label >= 0 else GREY
            ax.bar(
                x,
                top - low,
                node.child_size,
                low,
                align="edge",
                color=colour,
                edgecolor=matplotlib.rcParams["axes.facecolor"],
                linewidth=0.8,
            )
        _draw_labels(ax, nodes, left, tops)
        leaves = sum(node.label >= 0 for node in nodes)
        ax.set_title(pluralize(leaves, "significant cluster"), loc="left", size=11, color=INK)
        ax.set_ylabel("density above the lowest saddle (log2)")
        ax.set_xlabel("weight in the sample" if weighted else "rows of the sample", color=SOFT)
        ax.grid(axis="y", color=LINE, linewidth=0.6)
        ax.set_axisbelow(True)
        ax.margins(x=0.01, y=0.08)
    return ax


def _draw_labels(
    ax: Any, nodes: Sequence[Any], left: Sequence[float], tops: Sequence[float]
) -> None:
    """Write the label of each cluster above its bar, the largest first; none covers another."""
    width, height = size_in_inches(ax)
    across, up = width / nodes[0].child_size, height / (max(tops) + ROOT_HEIGHT)
    placed: list[tuple[float, float]] = []
    for node in sorted(nodes, key=lambda node: node.label):
        middle, top = left[node.child] + node.child_size / 2, tops[node.child]
        at = middle * across, top * up
        if node.label < 0 or any(
            abs(at[0] - x) < LABEL_SIZE[0] and abs(at[1] - y) < LABEL_SIZE[1] for x, y in placed
        ):
            continue
        placed.append(at)
        ax.annotate(
            str(node.label),
            (middle, top),
            (0, 3),
            textcoords="offset points",
            ha="center",
            size=9,
            color=INK,
        )


def _density(split: Any, radius: float, dimension: float) -> float:
    """Return log2 of the density of a window of this log2 radius."""
    return float(np.log2(split.window) - dimension * radius)


def _bases(nodes: Sequence[Any], dimension: float) -> list[float]:
    """Return the density at which each node begins; a part never begins below its parent."""
    saddles = [_density(node.split, node.split.saddle, dimension) for node in nodes[1:]]
    lowest = min(saddles, default=0.0)
    bases = [-ROOT_HEIGHT]
    for node, saddle in zip(nodes[1:], saddles, strict=True):
        bases.append(max(saddle - lowest, bases[node.parent]))
    return bases


def _top(node: Any, nodes: Sequence[Any], base: Sequence[float], dimension: float) -> float:
    """Return the density at which a node divides, or that of its peak."""
    children = [base[other.child] for other in nodes if other.parent == node.child]
    if children:
        top: float = min(children)
    elif node.split is None:
        top = base[0] + ROOT_HEIGHT
    else:
        height = dimension * (node.split.saddle - node.split.peak)
        top = base[node.child] + max(height, MIN_HEIGHT)
    return top


def _places(nodes: Sequence[Any]) -> list[float]:
    """Return the left edge of each node: parts lie side by side within their parent."""
    left = [0.0] * len(nodes)
    used = [0.0] * len(nodes)
    for node in nodes[1:]:
        left[node.child] = left[node.parent] + used[node.parent]
        used[node.parent] += node.child_size
    return left
