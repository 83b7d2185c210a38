"""The number of cells that points would occupy, estimated from a sample of them.

The number bounds the bandwidths of a sweep: bandwidths that were passed must not need more cells
than the limit, and the default ones are those that do not.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from meanshiftpp._support.checks import Weights
from meanshiftpp._support.devices import to_host
from meanshiftpp.bandwidth.multiples import MAX_MULTIPLE, format_bandwidth
from meanshiftpp.core.grid import Grid
from meanshiftpp.core.scale import sample_indices, take_rows
from meanshiftpp.errors import InvalidInputError

SAMPLE_ROWS = 1 << 16
CELLS_PER_POINT = 1 / 3  # of default bandwidths; below, most cells hold single points
FREE_CELLS = 1 << 14  # cells that a default bandwidth may always have
MOST_CELLS = 1 << 20  # most cells of a default bandwidth: a search takes about a second


def default_limit(total: float, max_cells: int) -> float:
    """Return the largest number of cells of a default bandwidth for points of a total weight."""
    return min(max_cells, MOST_CELLS, max(FREE_CELLS, total * CELLS_PER_POINT))


@dataclass(frozen=True, eq=False)
class PointSample:
    """All points, or a fixed sample of them, copied to the host."""

    rows: NDArray[np.generic]
    weights: NDArray[np.float64]
    n_points: int
    total: float  # weight of all points

    @classmethod
    def of(cls, points: NDArray[np.generic], weights: Weights | None) -> PointSample:
        """Sample points."""
        at = sample_indices(len(points), SAMPLE_ROWS)
        rows = to_host(take_rows(points, at))
        if weights is None:
            return cls(rows, np.broadcast_to(1.0, len(rows)), len(points), len(points))
        row_weights = to_host(weights.counts[at]).astype(np.float64)
        return cls(rows, row_weights, len(points), weights.total)

    def estimate_cells(self, cell_size: NDArray[np.float64]) -> float:
        """Estimate the number of cells that all points occupy.

        The cells of the sample, of half of it and of a quarter show how the number grows when the
        points double, and how this growth declines. It is taken to decline further at that rate.
        """
        try:
            counted, half, quarter = self._count_cells(cell_size)
        except InvalidInputError:
            return 0.0  # binning all points reports the location of the bad value
        doublings = math.log2(max(self.n_points / max(len(self.rows), 1), 1.0))
        growth, before = math.log(counted / half), math.log(half / quarter)
        decline = min(growth / before, 1.0) if before > 0 else 1.0
        total = doublings if decline == 1 else decline * (1 - decline**doublings) / (1 - decline)
        return min(counted * math.exp(growth * total), float(self.n_points))

    def _count_cells(self, cell_size: NDArray[np.float64]) -> list[int]:
        """Return the cells of the sample, of half of it and of a quarter; at least 1 each."""
        cell = np.empty(len(self.rows), np.int32)
        grid, assignment = Grid.empty(cell_size).bin(self.rows, ids=cell, n_threads=1)
        every = np.arange(len(grid), dtype=np.int32)
        assignment.take(every, cell, cell)
        counts = []
        for share in (1, 2, 4):
            occupied = np.zeros(len(grid), bool)
            occupied[cell[::share]] = True
            counts.append(max(int(np.count_nonzero(occupied)), 1))
        return counts

    def bound(
        self, cell_size: NDArray[np.float64], multiples: list[int], max_cells: int
    ) -> list[int]:
        """Drop the finest multiples that need too many cells for a default, but not the last."""
        limit = default_limit(self.total, max_cells)
        if self.n_points <= limit:
            return multiples

        def fits(i: int) -> bool:
            return self.estimate_cells(cell_size * multiples[i]) <= limit

        return multiples[bisect_left(range(len(multiples) - 1), True, key=fits) :]

    def check(
        self, cell_size: NDArray[np.float64], smallest: NDArray[np.float64], max_cells: int
    ) -> None:
        """Raise if cells of that size, at the smallest bandwidth, are more than `max_cells`."""
        if self.n_points <= max_cells:
            return
        cells = self.estimate_cells(cell_size)
        if cells <= max_cells:
            return
        multiple, tried = self._smallest_multiple_that_fits(cell_size, max_cells)
        if multiple is not None:
            advice = f"the smallest that fits is about {format_bandwidth(smallest * multiple)}"
        elif self._all_touch_zero(cell_size * tried):
            least = f"{len(Grid.from_points(self.rows, cell_size * tried)):,} cells"
            advice = f"no bandwidth fits: points on both sides of 0 occupy at least {least}"
        else:
            advice = f"no bandwidth up to {format_bandwidth(smallest * tried)} fits"
        raise InvalidInputError(
            f"a grid must have at most max_cells={max_cells:,} cells, but the smallest bandwidth, "
            f"{format_bandwidth(smallest)}, needs about {cells:,.0f}; {advice}"
        )

    def _smallest_multiple_that_fits(
        self, cell_size: NDArray[np.float64], max_cells: int
    ) -> tuple[int | None, int]:
        """Return the smallest multiple with few enough cells, or None, and the largest tried."""

        def fits(k: int) -> bool:
            return self.estimate_cells(cell_size * k) <= max_cells

        low, high = 1, 2
        while not fits(high):
            if high == MAX_MULTIPLE or self._all_touch_zero(cell_size * high):
                return None, high
            low, high = high, min(2 * high, MAX_MULTIPLE)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if fits(middle) else (middle, high)
        return high, high

    def _all_touch_zero(self, cell_size: NDArray[np.float64]) -> bool:
        """Return whether all cells of that size touch 0: no larger cells are fewer."""
        return bool((np.abs(self.rows) < cell_size).all())
