"""Which bandwidths a sweep takes: whole multiples of one step.

The step decides the cost, for all grids are made from that of the step. So it is as coarse as the
bandwidths allow, and where a number cannot be had it is moved to one that can.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from meanshiftpp._support.checks import as_bandwidth
from meanshiftpp._support.devices import as_array
from meanshiftpp.bandwidth.spread import (
    SAMPLE,
    Scale,
    gradient_reference,
    reach_of,
    sample_rows,
    scale_of_grid,
    scale_of_points,
)
from meanshiftpp.core.grid import Grid
from meanshiftpp.errors import InvalidInputError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

FINEST, COARSEST = 0.25, 4.0  # of the default bandwidths, in references for the gradient
PARTS = 4  # default bandwidths are multiples 4, 5, 6, 7, 8, 10, 12, 14, 16, ... of the step
EXACT = 8  # how many parts of the smallest bandwidth are tried as the step of all
MOST = 2**31 - 1  # times the step: the coarsest grid that can be made of it


def plan_for_points(
    points: NDArray[np.generic],
    sample_weight: ArrayLike | None,
    bandwidths: ArrayLike | None,
    step: float | ArrayLike | None,
) -> tuple[NDArray[np.float64], list[int]]:
    """Settle the step of each feature, and the multiples of it."""
    d = points.shape[1]
    unit = None if step is None else as_bandwidth(step, d)
    if bandwidths is not None:
        sides, direction = _wanted(bandwidths, d, unit)
        if unit is None:
            unit = direction * _common_step(sides)
            sides = sides / _common_step(sides)
        return unit, _snapped(sides)
    weight = None if sample_weight is None else as_array(sample_weight)
    rows, counted = sample_rows(points, weight, SAMPLE)
    scale = scale_of_points(rows, counted, reach_of(rows, counted))
    n = float(len(points) if weight is None else weight.sum())
    if unit is None:
        unit = scale.bandwidth(FINEST / PARTS * gradient_reference(d, n))
    return unit, _default_multiples(references(replace(scale, total=n), unit))


def plan_for_grid(
    grid: Grid,
    bandwidths: ArrayLike | None,
    step: float | ArrayLike | None,
    sample_weight: ArrayLike | None,
    r: int,
) -> tuple[Grid, NDArray[np.float64], list[int]]:
    """Settle the same for a grid, whose bandwidth is the step."""
    if step is not None or sample_weight is not None:
        raise InvalidInputError("a grid has its own step and weights: give neither with a grid")
    unit = grid.bandwidth * ((2 * r + 1) / 3) if r > 1 else grid.bandwidth
    if len(grid) == 0 or bandwidths is None:
        wanted = _default_multiples(references(scale_of_grid(grid), unit))
        return grid, unit, sorted({possible(grid, k, r) for k in wanted})
    sides, _ = _wanted(bandwidths, grid.n_features, unit)
    if sides[0] < 0.5:
        raise InvalidInputError(
            f"the bandwidth {shown(sides[0] * unit)} is finer than the grid's, {shown(unit)}; "
            "a grid can only be made coarser"
        )
    return grid, unit, sorted({possible(grid, k, r) for k in _snapped(sides)})


def possible(grid: Grid, k: int, reach: int = 1) -> int:
    """Give the multiple of a grid nearest to k: with periods, one that divides all of them.

    And leaves each as many cells as a window has.
    """
    periods = grid.cells_per_period[grid.cells_per_period > 0].tolist()
    if not periods:
        return k
    most = min(periods) // (2 * reach + 1)
    common = math.gcd(*periods)
    divisors = [n for n in range(1, max(1, min(most, common)) + 1) if common % n == 0]
    return min(divisors, key=lambda n: abs(math.log(n / k)))


def _wanted(
    bandwidths: ArrayLike, d: int, unit: NDArray[np.float64] | None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Check what was asked for; give the sizes, rising, and the bandwidth of size 1."""
    try:
        wanted = np.asarray(bandwidths, np.float64)
    except (TypeError, ValueError):
        wanted = np.empty(())
    if wanted.ndim not in (1, 2) or wanted.size == 0 or (wanted.ndim == 2 and wanted.shape[1] != d):
        raise InvalidInputError(
            f"bandwidths must be numbers, or rows of {d} numbers, one for each feature; "
            f"got {bandwidths!r}"
        )
    bad = wanted[~(np.isfinite(wanted) & (wanted > 0))]
    if bad.size:
        raise InvalidInputError(f"bandwidths must be positive and finite, got {bad[0]}")
    rows = wanted if wanted.ndim == 2 else np.repeat(wanted[:, None], d, axis=1)
    direction = rows[0] if unit is None else unit
    ratios = rows / direction
    if not np.allclose(ratios, ratios[:, :1], rtol=1e-6, atol=0):
        raise InvalidInputError(
            f"the features of all bandwidths must be in one proportion, here {shown(direction)}: "
            "each bandwidth is a whole multiple of one step"
        )
    return np.unique(ratios[:, 0]), direction


def _common_step(sides: NDArray[np.float64]) -> float:
    """Find the largest part of the smallest of which all are multiples, or take a quarter."""
    for parts in range(1, EXACT + 1):
        multiples = sides * (parts / sides[0])
        if np.allclose(multiples, np.rint(multiples), rtol=1e-9, atol=0):
            return float(sides[0]) / parts
    return float(sides[0]) / PARTS


def _snapped(sides: NDArray[np.float64]) -> list[int]:
    """Give the nearest whole numbers, at least 1, each once."""
    if sides[-1] > MOST:
        raise InvalidInputError(
            f"the largest bandwidth is {sides[-1]:.3g} times the step; 2**31 - 1 is the most"
        )
    return sorted(set(np.maximum(np.rint(sides), 1).astype(np.int64).tolist()))


def references(scale: Scale, unit: NDArray[np.float64]) -> float:
    """How many steps a reference for the gradient is, in the geometric mean of the features."""
    d = len(unit)
    h = scale.bandwidth(gradient_reference(d, scale.total))
    ratios = (h / unit)[scale.varies]
    return float(np.exp(np.log(ratios).mean())) if ratios.size else 1.0


def _default_multiples(reference: float) -> list[int]:
    """Give whole numbers, four to a doubling: most are twice another, and cheap to make."""
    low, high = FINEST * reference * (1 - 1e-6), max(COARSEST * reference * (1 + 1e-6), 1.0)
    octaves = range(max(0, math.ceil(math.log2(high))) + 1)
    numbers = {1, 2, 3} | {part << octave for octave in octaves for part in range(PARTS, 2 * PARTS)}
    return sorted(k for k in numbers if low <= k <= high) or [1]


def refuse_too_fine(
    points: NDArray[np.generic],
    cell: NDArray[np.float64],
    smallest: NDArray[np.float64],
    max_cells: int,
) -> None:
    """Estimate how many cells there will be, before there are too many."""
    n = len(points)
    if n <= max_cells:
        return
    sample, _ = sample_rows(points, None, SAMPLE)
    grid = Grid.from_points(sample, cell)
    cells = _estimated_cells(grid, n)
    if cells <= max_cells:
        return
    fits, tried = _least_that_fits(grid, n, max_cells)
    if fits is not None:
        advice = (
            f"what has to fit is the step they are multiples of, {shown(cell)}: with all of them "
            f"{fits} times as large, the nearest that fits is about {shown(smallest * fits)}"
        )
    elif _all_around_zero(grid, tried):
        least = len(grid.coarsen(tried))
        advice = f"none fits: points on both sides of 0 are never in fewer than {least:,} cells"
    else:
        advice = f"no bandwidth up to {shown(smallest * tried)} fits"
    raise InvalidInputError(
        f"the smallest bandwidth {shown(smallest)} needs a grid of about {cells:,.0f} cells, more "
        f"than max_cells={max_cells:,}; {advice}"
    )


def _least_that_fits(grid: Grid, n: int, max_cells: int) -> tuple[int | None, int]:
    """Find the least multiple with few enough cells, if there is one, and the largest tried."""

    def fits(k: int) -> bool:
        return _estimated_cells(grid.coarsen(k), n) <= max_cells

    low, high = 1, 2
    while not fits(high):
        if high == MOST or _all_around_zero(grid, high):
            return None, high
        low, high = high, min(2 * high, MOST)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if fits(middle) else (middle, high)
    return high, high


def _all_around_zero(grid: Grid, k: int) -> bool:
    """Whether all cells of that multiple touch 0, where cells begin: no larger one has fewer."""
    return bool(((grid.cells >= -k) & (grid.cells < k)).all())


def _estimated_cells(grid: Grid, n: int) -> float:
    """Estimate the cells of all n points from those of a sample (Chao's lower bound).

    Cells that hold one point of the sample tell how many hold none.
    """
    seen = len(grid)
    if grid.total >= n:
        return seen
    once, twice = (int((grid.counts == k).sum()) for k in (1, 2))
    return min(seen + once * (once - 1) / (2 * (twice + 1)), n)


def shown(h: NDArray[np.float64]) -> str:
    """Write a bandwidth: one number, or one for each feature."""
    values = [f"{side:.4g}" for side in np.atleast_1d(h)]
    return values[0] if len(set(values)) == 1 else f"({', '.join(values)})"
