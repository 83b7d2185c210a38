"""Binning: from points to the rows of a grid, on the device where the points are."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from meanshiftpp._support.checks import has_periods
from meanshiftpp.backends import backend_of
from meanshiftpp.backends.protocol import Assignment
from meanshiftpp.core.rows import Rows, check_counts


class PeriodicAssignment:
    """An assignment to cells that were numbered modulo the period afterwards."""

    def __init__(self, assignment: Assignment, position: NDArray[np.uint32]) -> None:
        self._assignment, self._position = assignment, position

    def take(
        self, values: NDArray[np.int32], ids: NDArray[np.int32], labels: NDArray[np.int32]
    ) -> None:
        """OUT labels, as `Assignment.take`."""
        self._assignment.take(values[self._position], ids, labels)


def bin_rows(
    points: NDArray[np.generic],
    cell_size: NDArray[np.float64],
    cells_per_period: NDArray[np.int64],
    *,
    counts: NDArray[np.uint64] | None = None,
    ids: NDArray[np.int32] | None = None,
    n_threads: int,
) -> tuple[Rows, Assignment]:
    """Bin checked points.

    Parameters
    ----------
    points : array of shape (n, d)
        As `as_points` returns them.
    cell_size, cells_per_period : arrays of shape (d,)
        As `divide_periods` returns them.
    counts : array of shape (n,), default=None
        Weight of each point, in whole multiples of a unit.
    ids : array of shape (n,), int32, default=None
        OUT: identifies the cell of each point for `Assignment.take`.
    n_threads : int
        Number of threads. The result does not depend on it.

    Returns
    -------
    rows : Rows
        The occupied cells.
    assignment : Assignment
        The cell of each point.
    """
    backend = backend_of(points)
    binned = backend.bin_points(points, cell_size, counts, ids, n_threads)
    if not has_periods(cells_per_period):
        return Rows(binned.cells, binned.counts, binned.sums), binned.assignment
    cells = binned.cells
    for j in np.flatnonzero(cells_per_period):
        cells[:, j] %= cells_per_period[j]
    merged = backend.merge_cells(cells, binned.counts, binned.sums)
    check_counts(merged.counts, "the grid")
    rows = Rows(merged.cells, merged.counts, merged.sums)
    return rows, PeriodicAssignment(binned.assignment, merged.position)
