"""The bandwidths of a sweep: whole multiples of one step.

Grids of multiples can be coarsened from each other. The step is as large as the bandwidths allow,
and a bandwidth that is not a multiple moves to the nearest one.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from meanshiftpp._support.checks import as_bandwidth
from meanshiftpp._support.text import format_bandwidth as text_of_bandwidth
from meanshiftpp.core.grid import Grid
from meanshiftpp.core.scale import (
    SAMPLE_SIZE,
    Scale,
    check_spread,
    gradient_reference,
    outlier_limits,
    sample_rows,
    scale_of_grid,
    scale_of_points,
)
from meanshiftpp.core.window import cells_per_bandwidth, window_width
from meanshiftpp.errors import InvalidInputError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

FINEST, COARSEST = 0.25, 4.0  # default bandwidths, in references for the gradient
DIVISIONS = 4  # default bandwidths are 4, 5, 6, 7, 8, 10, 12, 14, 16, ... steps
MAX_DIVISIONS = 8  # the largest n for which the step may be 1/n of the smallest bandwidth
MAX_MULTIPLE = 2**31 - 1  # the largest factor of Grid.coarsen


def plan_for_points(
    points: NDArray[np.generic],
    weight: NDArray[Any] | None,
    bandwidths: ArrayLike | None,
    step: float | ArrayLike | None,
) -> tuple[NDArray[np.float64], list[int]]:
    """Return the step of each feature, and the multiples of it."""
    d = points.shape[1]
    checked_step = None if step is None else as_bandwidth(step, d)
    if bandwidths is not None:
        sizes, unit = _as_bandwidths(bandwidths, d, checked_step)
        if checked_step is not None:
            return checked_step, _nearest_whole(sizes)
        common = _common_step(sizes)
        return unit * common, _nearest_whole(sizes / common)
    rows, row_weights = sample_rows(points, weight, SAMPLE_SIZE)
    scale = scale_of_points(rows, row_weights, outlier_limits(rows, row_weights))
    check_spread(scale, rows)
    n = float(len(points) if weight is None else weight.sum())
    if checked_step is None:
        checked_step = scale.bandwidth(FINEST / DIVISIONS * gradient_reference(d, n))
    reference = reference_in_steps(replace(scale, total=n), checked_step)
    return checked_step, _default_multiples(reference)


def plan_for_grid(
    grid: Grid,
    bandwidths: ArrayLike | None,
    step: float | ArrayLike | None,
    sample_weight: ArrayLike | None,
    resolution: int,
) -> tuple[NDArray[np.float64], list[int]]:
    """Return the step of a grid, which is its bandwidth, and the multiples of it."""
    if step is not None:
        raise InvalidInputError.for_parameter(
            "step", "None with a grid, whose bandwidth is the step", step
        )
    check_no_weights(sample_weight)
    # A bandwidth is a third of the window, as in `Modes.bandwidth`.
    unit = grid.bandwidth * cells_per_bandwidth(resolution)
    if len(grid) == 0 or bandwidths is None:
        multiples = _default_multiples(reference_in_steps(scale_of_grid(grid), unit))
    else:
        sizes, _ = _as_bandwidths(bandwidths, grid.n_features, unit)
        if sizes[0] < 0.5:
            raise InvalidInputError.for_parameter(
                "bandwidths",
                f"at least that of the grid, {format_bandwidth(unit)}",
                (sizes[0] * unit).tolist(),
                "a grid cannot be made finer: sweep the points",
            )
        multiples = _nearest_whole(sizes)
    # In a window of the whole period every cell is its own mode, so no default has one.
    spare = int(bandwidths is None)
    return unit, sorted({nearest_multiple(grid, k, resolution, spare) for k in multiples})


def check_no_weights(sample_weight: ArrayLike | None) -> None:
    """Raise if weights are passed with a grid."""
    if sample_weight is not None:
        raise InvalidInputError(
            "sample_weight must be None with a grid, which contains the weights",
            parameter="sample_weight",
        )


def nearest_multiple(grid: Grid, k: int, reach: int = 1, spare: int = 0) -> int:
    """Return the multiple nearest to k by which a grid can be coarsened.

    With periods, the multiple divides the cells in each of them, and a window of the coarse grid
    leaves at least `spare` cells of each.
    """
    periods = grid.cells_per_period[grid.cells_per_period > 0].tolist()
    if not periods:
        return k
    largest = (min(periods) - spare) // window_width(reach)
    common = math.gcd(*periods)
    divisors = [n for n in range(1, max(1, min(largest, common)) + 1) if common % n == 0]
    return min(divisors, key=lambda n: abs(math.log(n / k)))


def _as_bandwidths(
    bandwidths: ArrayLike, d: int, step: NDArray[np.float64] | None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Check bandwidths and return them, rising, as multiples of a unit, with the unit.

    The unit is the step, or the first bandwidth if there is no step.
    """
    try:
        values = np.asarray(bandwidths, np.float64)
    except (OverflowError, TypeError, ValueError):
        values = np.empty(())
    if values.ndim not in (1, 2) or values.size == 0 or (values.ndim == 2 and values.shape[1] != d):
        expected = "numbers" + (f", or rows of {d} numbers, one for each feature" if d > 1 else "")
        raise InvalidInputError.for_parameter("bandwidths", expected, bandwidths)
    bad = values[~(np.isfinite(values) & (values > 0))]
    if bad.size:
        raise InvalidInputError.for_parameter("bandwidths", "positive and finite", float(bad[0]))
    rows = values if values.ndim == 2 else np.repeat(values[:, None], d, axis=1)
    unit = rows[0] if step is None else step
    ratios = rows / unit
    if values.ndim == 1 and step is None:  # one number for all features
        return np.unique(ratios[:, 0]), unit
    in_proportion = np.isclose(ratios, ratios[:, :1], rtol=1e-6, atol=0).all(axis=1)
    if not in_proportion.all():
        raise InvalidInputError.for_parameter(
            "bandwidths",
            f"in one proportion across the features, here {format_bandwidth(unit)}",
            rows[~in_proportion][0].tolist(),
            "each bandwidth is a whole multiple of one step",
        )
    return np.unique(ratios[:, 0]), unit


def _common_step(sizes: NDArray[np.float64]) -> float:
    """Return the largest fraction of the smallest size that divides all sizes, or a quarter."""
    divisions = np.arange(1, MAX_DIVISIONS + 1)
    multiples = sizes * (divisions / sizes[0])[:, None]
    whole = np.rint(multiples)
    divides_all = (np.abs(multiples - whole) <= 1e-9 * whole).all(axis=1)
    chosen = divisions[divides_all][0] if divides_all.any() else DIVISIONS
    return float(sizes[0] / chosen)


def _nearest_whole(sizes: NDArray[np.float64]) -> list[int]:
    """Return the distinct nearest whole numbers, at least 1, of sizes in steps."""
    if sizes[-1] > MAX_MULTIPLE:
        raise InvalidInputError.for_parameter(
            "bandwidths",
            "at most 2**31 - 1 times the step",
            float(sizes[-1]),
            "leave out the smallest bandwidth or use a larger step",
        )
    return sorted(set(np.maximum(np.rint(sizes), 1).astype(np.int64).tolist()))


def reference_in_steps(scale: Scale, step: NDArray[np.float64]) -> float:
    """Return the reference for the gradient in steps, in the geometric mean of the features."""
    h = scale.bandwidth(gradient_reference(len(step), scale.total))
    ratios = (h / step)[scale.varies]
    return float(np.exp(np.log(ratios).mean())) if ratios.size else 1.0


def _default_multiples(reference: float) -> list[int]:
    """Return whole numbers, four to a doubling: most are twice another, and cheap to make."""
    low, high = FINEST * reference * (1 - 1e-6), max(COARSEST * reference * (1 + 1e-6), 1.0)
    octaves = range(max(0, math.ceil(math.log2(high))) + 1)
    numbers = {k << octave for octave in octaves for k in range(DIVISIONS, 2 * DIVISIONS)}
    return sorted(k for k in numbers | {1, 2, 3} if low <= k <= high) or [1]


def format_bandwidth(h: NDArray[np.float64]) -> str:
    """Format a bandwidth for a message: one number, or one for each feature in parentheses."""
    text = text_of_bandwidth(np.atleast_1d(h))
    return f"({text})" if "," in text else text
