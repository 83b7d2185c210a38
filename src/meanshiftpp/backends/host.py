"""The backend for NumPy arrays: the native kernel, and SciPy's k-d tree for the nearest mode."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from meanshiftpp import _kernel
from meanshiftpp._kernel import Lattice, find_cells, find_leaves, marginals, window_counts
from meanshiftpp._support.checks import has_periods
from meanshiftpp.backends.protocol import (
    Binned,
    BuiltLeaves,
    Cells,
    Coarse,
    Counts,
    Floats,
    FoundModes,
    Integers,
    Labels,
    Merged,
    Periods,
    Points,
    Sums,
)

_MAX_DISTANCES = 1 << 22  # held in memory at a time
_MIN_QUERIES, _MAX_QUERIES = 1 << 8, 1 << 16  # of a tree at once: SciPy does not answer Ctrl-C

__all__ = [
    "bin_points",
    "build_leaves",
    "coarsen_cells",
    "find_cells",
    "find_leaves",
    "marginals",
    "merge_cells",
    "nearest_modes",
    "nearest_points",
    "seek_modes",
    "window_counts",
]


def bin_points(
    points: Points,
    cell_size: Floats,
    weights: Counts | None,
    ids: Labels | None,
    n_threads: int,
) -> Binned:
    """Bin points by the strategy that suits the box they lie in."""
    return Binned(*_kernel.bin_points(points, cell_size, weights, ids, n_threads))


def merge_cells(cells: Cells, counts: Counts, sums: Sums) -> Merged:
    """Sort rows and add up the rows of the same cell."""
    return Merged(*_kernel.merge_cells(cells, counts, sums))


def coarsen_cells(cells: Cells, counts: Counts, sums: Sums, factor: int, n_threads: int) -> Coarse:
    """Merge `factor` cells along each axis to one."""
    return Coarse(*_kernel.coarsen_cells(cells, counts, sums, factor, n_threads))


def seek_modes(
    cells: Cells,
    counts: Counts,
    sums: Sums,
    cells_per_period: Integers,
    reach: int,
    tol: float,
    max_iter: int,
    n_threads: int,
) -> FoundModes:
    """Search a grid for its modes."""
    labels, at, fractions, weights, n_iter, converged = _kernel.seek_modes(
        cells, counts, sums, cells_per_period, reach, tol, max_iter, n_threads
    )
    return FoundModes(labels, at, fractions, weights.astype(np.float64), n_iter, converged)


class PlacedRows(NamedTuple):
    """The rows of the points along the curve; those of leaf k are rows[first[k] : first[k + 1]]."""

    rows: NDArray[np.uint32]
    first: NDArray[np.uint32]
    squares: float  # sum of the squared counts of points with equal coordinates

    @property
    def n_inside(self) -> int:
        """The number of points that are in a leaf."""
        return len(self.rows)

    def take(self, values: Labels, labels: Labels, n_threads: int) -> None:
        """OUT labels[i] = values[leaf of point i]; points in no leaf keep their label."""
        _kernel.take_leaves(self.rows, self.first, values, labels, n_threads)


def build_leaves(
    points: Points, counts: Counts | None, lattice: Lattice, limit: int, n_threads: int
) -> BuiltLeaves:
    """Divide points into the largest boxes of at most `limit` counts."""
    arrays, rows, first, squares = _kernel.build_leaves(points, counts, lattice, limit, n_threads)
    return BuiltLeaves(arrays, PlacedRows(rows, first, squares))


def nearest_modes(positions: Floats, modes: Floats, cells_per_period: Periods) -> Labels:
    """Return the nearest mode of each position; both in cells, and within the period."""
    from scipy.spatial import KDTree  # slow to import, and seldom needed

    if len(modes) == 1:
        return np.zeros(len(positions), np.int32)
    box = cells_per_period.astype(np.float64) if has_periods(cells_per_period) else None
    tree = KDTree(modes, boxsize=box)
    nearest: Labels = np.empty(len(positions), np.int32)
    is_tied = np.empty(len(positions), bool)
    size = min(max(_MAX_DISTANCES // len(modes), _MIN_QUERIES), _MAX_QUERIES)
    for start in range(0, len(positions), size):
        part = slice(start, start + size)
        distance, found = tree.query(positions[part], k=2)
        nearest[part] = found[:, 0]
        # The tree does not define which of equal modes it returns, and rounding can part equals.
        is_tied[part] = distance[:, 1] <= distance[:, 0] * (1 + 1e-9)
    tied = np.flatnonzero(is_tied)
    for rows in np.array_split(tied, -(-len(tied) * len(modes) // _MAX_DISTANCES) or 1):
        nearest[rows] = _first_nearest(positions[rows], modes, cells_per_period)
    return nearest


def nearest_points(positions: Floats, points: Floats, k: int, period: Floats) -> NDArray[np.intp]:
    """Return the k nearest points of each position, nearest first; a period of 0 means none."""
    from scipy.spatial import KDTree  # slow to import, and seldom needed

    wraps = period > 0
    inside = np.where(wraps, points % np.where(wraps, period, 1.0), points)
    found = KDTree(inside, boxsize=period if wraps.any() else None).query(positions, k=k)[1]
    nearest: NDArray[np.intp] = np.reshape(found, (len(positions), k))
    return nearest


def _first_nearest(positions: Floats, modes: Floats, cells_per_period: Periods) -> NDArray[np.intp]:
    """Compare each position with each mode; of equal distances the first counts."""
    squares = np.zeros((len(positions), len(modes)))
    for j, length in enumerate(cells_per_period):
        delta = np.abs(positions[:, j, None] - modes[:, j])
        if length:
            delta = np.minimum(delta, length - delta)
        squares += delta * delta
    first: NDArray[np.intp] = squares.argmin(axis=1)
    return first
