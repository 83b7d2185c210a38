"""Agreement of two clusterings of a grid, and whether a clustering qualifies for a comparison.

A cell counts by the number of its points: the adjusted Rand index of all points is that of the
cells, weighted by their counts.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from meanshiftpp.core.grid import Grid
from meanshiftpp.core.modes import Modes

SMALL = 0.01  # a cluster with less than this share of the points is small
QUALIFYING = 0.03  # a clustering qualifies only with two clusters of at least this share
MAX_IN_SMALL = 0.3  # and with at most this share of the points in small clusters
MAX_TABLE = 1 << 22  # entries of a lookup table; larger problems are sorted


def qualifies(modes: Modes) -> bool:
    """Return whether a clustering has two clusters of 3 % and few points in small clusters."""
    return count_large(modes, QUALIFYING) >= 2 and share_in_small(modes) <= MAX_IN_SMALL


def share_in_small(modes: Modes) -> float:
    """Return the share of the points in small clusters."""
    return 1 - float(modes.weights[: count_large(modes, SMALL)].sum() / modes.weights.sum())


def count_large(modes: Modes, min_share: float) -> int:
    """Count the clusters with at least this share of the points."""
    return int((modes.weights >= min_share * modes.weights.sum()).sum())


def adjusted_rand_index(
    a: NDArray[np.int32], b: NDArray[np.int32], counts: NDArray[np.float64]
) -> float:
    """Compute the adjusted Rand index of two labellings of cells, over pairs of their points."""
    n_columns = int(b.max()) + 1
    joint = a.astype(np.int64) * n_columns + b
    if (int(a.max()) + 1) * n_columns > MAX_TABLE:
        joint = _ranks(joint)

    def pairs(labels: NDArray[np.integer]) -> float:
        sizes = np.bincount(labels, counts)
        return float((sizes * (sizes - 1)).sum() / 2)

    in_both, in_a, in_b = pairs(joint), pairs(a), pairs(b)
    n = float(counts.sum())
    expected = in_a * in_b / max(n * (n - 1) / 2, 1.0)
    maximum = (in_a + in_b) / 2
    return 1.0 if maximum == expected else (in_both - expected) / (maximum - expected)


def common_refinement(
    labellings: list[NDArray[np.int32]], counts: NDArray[np.float64]
) -> tuple[list[NDArray[np.int32]], NDArray[np.float64]]:
    """Join the cells that have the same label in every labelling.

    The adjusted Rand indices stay the same, and far fewer cells remain to be compared.
    """
    group = np.zeros(len(counts), np.int64)
    for labels in labellings:
        group = _ranks(group * (int(labels.max()) + 1) + labels)
    member = np.empty(int(group.max()) + 1, np.intp)
    member[group] = np.arange(len(group))
    group_counts = np.bincount(group, counts).astype(np.float64)
    return [labels[member] for labels in labellings], group_counts


def _ranks(codes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Replace each number by its rank among the distinct numbers."""
    limit = int(codes.max()) + 1
    if limit > MAX_TABLE:
        return np.unique(codes, return_inverse=True)[1].astype(np.int64)
    present = np.zeros(limit, np.int64)
    present[codes] = 1
    ranks: NDArray[np.int64] = (np.cumsum(present) - 1)[codes]
    return ranks


def parent_cells(fine: Grid, k: int, coarse: Grid) -> NDArray[np.int64]:
    """Return the index of the cell of `coarse`, k times as wide, that contains each fine cell."""
    if k == 1:
        return np.arange(len(fine))
    cells, low = fine.cells // k, coarse.cells.min(axis=0)
    extent = [int(n) for n in coarse.cells.max(axis=0) - low + 1]
    if math.prod(extent) >= 2**62:
        return np.unique(cells, axis=0, return_inverse=True)[1].ravel()
    strides = np.array([math.prod(extent[j + 1 :]) for j in range(len(extent))])
    keys: NDArray[np.int64]
    coarse_keys: NDArray[np.int64]
    keys, coarse_keys = ((rows - low) @ strides for rows in (cells, coarse.cells))
    if math.prod(extent) > MAX_TABLE:
        return np.searchsorted(coarse_keys, keys)  # cells, and so their keys, are sorted
    table = np.zeros(math.prod(extent), np.int64)
    table[coarse_keys] = np.arange(len(coarse_keys))
    parents: NDArray[np.int64] = table[keys]
    return parents
