"""The grids of several multiples of one step: binned from points, or coarsened from finer grids.

A grid of few cells is coarsened much faster than its points are binned again. A multiple that no
smaller one divides is binned, unless the grid of the step, from which all others follow, is cheaper
than those binnings together. The costs are measured in the time to bin one point.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from meanshiftpp.core.grid import Grid

POINT_COST = 2  # of a point in a binning to many cells
CELL_COST = 80  # of a cell in a binning, in addition to the points
COARSEN_COST = 5  # of a cell of the grid that is coarsened
LARGE = 1 << 20  # points from which the step is considered


def largest_divisor(k: int, multiples: Iterable[int]) -> int:
    """Return the largest of the multiples that divides k, or 0."""
    return max((m for m in multiples if k % m == 0), default=0)


def coarsen_all(base: Grid, multiples: list[int], n_threads: int) -> list[Grid]:
    """Return the grid of each multiple of the cells of a grid."""
    return _grids({1: base}, multiples, n_threads)


def bin_all(
    bin_multiple: Callable[[int], Grid],
    multiples: list[int],
    n_points: int,
    estimate_cells: Callable[[], float],
    n_threads: int,
) -> list[Grid]:
    """Return the grid of each multiple of the step, on the CPU.

    `bin_multiple` bins the points at a multiple; `estimate_cells` estimates the cells at the step.
    """
    grids: dict[int, Grid] = {}
    n_binned = sum(not largest_divisor(k, (m for m in multiples if m < k)) for k in multiples)
    if n_points >= LARGE and n_binned > POINT_COST:
        cost_per_cell = CELL_COST + n_binned * COARSEN_COST
        if cost_per_cell * estimate_cells() < (n_binned - POINT_COST) * n_points:
            grids[1] = bin_multiple(1)
    return _grids(grids, multiples, n_threads, bin_multiple, n_points / COARSEN_COST)


def _grids(
    grids: dict[int, Grid],
    multiples: list[int],
    n_threads: int,
    bin_multiple: Callable[[int], Grid] | None = None,
    max_cells: float = 0,
) -> list[Grid]:
    """Add the grid of each multiple, from fine to coarse, to those at hand.

    Each is coarsened from the coarsest grid that divides it. It is binned if there is none, or if
    that grid has more than `max_cells` cells.
    """
    for k in multiples:
        if k in grids:
            continue
        divisor = largest_divisor(k, grids)
        if bin_multiple and not (divisor and len(grids[divisor]) <= max_cells):
            grids[k] = bin_multiple(k)
        else:
            grids[k] = grids[divisor].coarsen(k // divisor, n_threads=n_threads)
    return [grids[k] for k in multiples]
