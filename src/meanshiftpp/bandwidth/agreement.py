"""How alike two clusterings of a grid are, and whether one is worth comparing.

Cells stand for their points: the adjusted Rand index of all points is that of the cells, weighted
with their counts.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from meanshiftpp.core.grid import Grid
from meanshiftpp.core.modes import Modes

CRUMB, CLUSTER, MOST_CRUMBS = 0.01, 0.03, 0.3  # shares of the points, see `comparable`
TABLE = 1 << 22  # entries of a table that may be counted without sorting


def comparable(modes: Modes) -> bool:
    """Whether a clustering is one: two clusters that count, and not mostly crumbs."""
    return large(modes, CLUSTER) >= 2 and crumbs(modes) <= MOST_CRUMBS


def crumbs(modes: Modes) -> float:
    """Share of the points in clusters too small to count."""
    return 1 - float(modes.weights[: large(modes, CRUMB)].sum() / modes.weights.sum())


def large(modes: Modes, share: float) -> int:
    """Count the clusters of at least that share of the points."""
    return int((modes.weights >= share * modes.weights.sum()).sum())


def agreement(a: NDArray[np.int32], b: NDArray[np.int32], counts: NDArray[np.float64]) -> float:
    """Give the adjusted Rand index of two labellings of cells, in pairs of their points."""
    columns = int(b.max()) + 1
    shared = a.astype(np.int64) * columns + b
    if (int(a.max()) + 1) * columns > TABLE:
        shared = _renumbered(shared)

    def pairs(labels: NDArray[np.integer]) -> float:
        sizes = np.bincount(labels, counts)
        return float((sizes * (sizes - 1)).sum() / 2)

    both, ours, theirs = pairs(shared), pairs(a), pairs(b)
    n = float(counts.sum())
    chance = ours * theirs / max(n * (n - 1) / 2, 1.0)
    most = (ours + theirs) / 2
    return 1.0 if most == chance else (both - chance) / (most - chance)


def meet(
    labellings: list[NDArray[np.int32]], counts: NDArray[np.float64]
) -> tuple[list[NDArray[np.int32]], NDArray[np.float64]]:
    """Join the cells on which no two labellings differ: far fewer, and just as good to compare."""
    group = np.zeros(len(counts), np.int64)
    for labels in labellings:
        group = _renumbered(group * (int(labels.max()) + 1) + labels)
    one = np.empty(int(group.max()) + 1, np.intp)
    one[group] = np.arange(len(group))
    weights = np.bincount(group, counts).astype(np.float64)
    return [labels[one] for labels in labellings], weights


def _renumbered(codes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Give each distinct number its rank."""
    top = int(codes.max()) + 1
    if top > TABLE:
        return np.unique(codes, return_inverse=True)[1].astype(np.int64)
    seen = np.zeros(top, np.int64)
    seen[codes] = 1
    ranks: NDArray[np.int64] = (np.cumsum(seen) - 1)[codes]
    return ranks


def parents(fine: Grid, k: int, coarse: Grid) -> NDArray[np.int64]:
    """Give the index of the coarse cell that each fine one is in, k times as wide."""
    if k == 1:
        return np.arange(len(fine))
    cells, low = fine.cells // k, coarse.cells.min(axis=0)
    extent = [int(n) for n in coarse.cells.max(axis=0) - low + 1]
    if math.prod(extent) >= 2**62:
        return np.unique(cells, axis=0, return_inverse=True)[1].ravel()
    strides = np.array([math.prod(extent[j + 1 :]) for j in range(len(extent))])
    keys: NDArray[np.int64]
    known: NDArray[np.int64]
    keys, known = ((rows - low) @ strides for rows in (cells, coarse.cells))
    if math.prod(extent) > TABLE:
        return np.searchsorted(known, keys)  # cells are in lexicographic order, so are these
    table = np.zeros(math.prod(extent), np.int64)
    table[known] = np.arange(len(known))
    found: NDArray[np.int64] = table[keys]
    return found
