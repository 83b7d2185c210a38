"""The spread of the data, and two reference bandwidths in proportion to it.

The moments of a table or a grid, a sample of the rows of large data, and the bandwidths that would
be best if the data were one normal bump. Data worth clustering is not one bump; the references are
the unit in which a bandwidth is chosen.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from meanshiftpp._support.devices import module_of, on_gpu, to_host
from meanshiftpp._support.warnings import warn_user
from meanshiftpp.core.grid import Grid
from meanshiftpp.errors import InvalidInputError

SAMPLE_SIZE = 1 << 14  # rows of large data from which a bandwidth is chosen
TAIL = 0.01  # share of the values on either side that may be outliers
# Rows whose moments are computed at a time, so that the data is not copied and Ctrl-C is answered.
BLOCK_ROWS = 1 << 16
LEAST_SPREAD = 2.0**-1000  # below it, cells and parts of them could be subnormal
_ROWS_AT_ONCE = 64  # taken at once: each may be on another page of a file


@dataclass(frozen=True)
class Scale:
    """Weight, mean and standard deviation of a data set; the last two for each feature."""

    total: float
    mean: NDArray[np.float64]
    spread: NDArray[np.float64]

    @property
    def varies(self) -> NDArray[np.bool_]:
        """Which features are not constant: their spread is above 2^-1000 and 2^-44 of their mean.

        Cells of a size near the spread can then be numbered from zero.
        """
        return self.spread > np.maximum(np.ldexp(np.abs(self.mean), -44), LEAST_SPREAD)

    def common(self) -> Scale:
        """Return the scale with one spread for all features, which must share a unit.

        The spread is the quadratic mean over the features that vary. If none varies, the largest
        magnitude stands for all means.
        """
        varying = self.spread[self.varies]
        if not varying.size:
            largest = np.full_like(self.mean, np.abs(self.mean).max())
            return Scale(self.total, largest, np.zeros_like(self.spread))
        unit = power_of_two(varying.max())
        quadratic_mean = unit * np.sqrt(np.mean((varying / unit) ** 2))
        return Scale(self.total, self.mean, np.full_like(self.spread, quadratic_mean))

    def bandwidth(self, factor: float) -> NDArray[np.float64]:
        """Return `factor` standard deviations of each feature, always positive and finite.

        A constant feature is in one cell at any bandwidth; it gets its magnitude, or 1. The result
        is rounded to 24 bits, so that it depends neither on the order of the rows nor on whether
        weights are written as repetitions.
        """
        magnitude = np.where(np.abs(self.mean) < LEAST_SPREAD, 1.0, np.abs(self.mean))
        h = np.where(self.varies, factor * self.spread, magnitude)
        h[~np.isfinite(h)] = 1.0  # binning reports the location of NaN or infinity
        mantissa, exponent = np.frexp(h)
        rounded: NDArray[np.float64] = np.ldexp(np.rint(np.ldexp(mantissa, 24)), exponent - 24)
        return rounded


def power_of_two(size: Any) -> NDArray[np.float64]:
    """Return powers of two near some sizes, whose reciprocals are finite too."""
    powers: NDArray[np.float64] = np.ldexp(1.0, np.clip(np.frexp(size)[1], -1000, 1000))
    return powers


def outlier_limits(X: NDArray[Any], weight: NDArray[Any] | None = None) -> NDArray[np.float64]:
    """Return the least and the greatest value of each feature that is not an outlier.

    An outlier is beyond the middle 98 % of the values by more than their range; in a normal
    feature, seven standard deviations from the mean. One such value would dominate the standard
    deviation. A feature that is mostly constant has no outliers.
    """
    rows, row_weights = sample_rows(X, weight, SAMPLE_SIZE)
    if not len(rows):
        return np.outer([-np.inf, np.inf], np.ones(X.shape[1]))
    columns = np.asarray(to_host(rows), np.float64).T
    shares = np.array([TAIL, 1 - TAIL])
    if row_weights is None:
        at = np.ceil(shares * len(rows)).astype(np.int64) - 1
        ends = np.partition(columns, at, axis=1)[:, at].T
    else:
        on_host = to_host(row_weights)
        ends = np.stack([_weighted_quantiles(column, on_host, shares) for column in columns], 1)
    with np.errstate(all="ignore"):
        width = ends[1] - ends[0]
        width[~(width > 0)] = np.inf
        return np.stack([ends[0] - width, ends[1] + width])


def _weighted_quantiles(
    values: NDArray[np.float64], weight: NDArray[Any], shares: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the least values up to which there are these shares of the weight."""
    order = np.argsort(values)
    cumulative = np.cumsum(weight[order])
    quantiles: NDArray[np.float64] = values[
        order[np.searchsorted(cumulative, shares * cumulative[-1])]
    ]
    return quantiles


def scale_of_points(
    X: NDArray[Any],
    weight: NDArray[Any] | None = None,
    limits: NDArray[np.float64] | None = None,
) -> Scale:
    """Compute the moments of points in one pass, block by block.

    Values beyond `limits`, as `outlier_limits` returns them, count as the nearest limit. Moments
    are computed in units of a power of two near the range of each feature, so that no square
    overflows or vanishes.
    """
    if weight is not None and not (positive := weight > 0).all():
        X, weight = X[positive], weight[positive]
    with np.errstate(all="ignore"):
        size = BLOCK_ROWS << 6 if on_gpu(X) else BLOCK_ROWS
        blocks = [slice(start, start + size) for start in range(0, len(X), size)]
        # Relative to the minimum: far from zero, rounding would depend on the order of the rows.
        low, high = _ends(X, blocks)
        if limits is not None:
            low, high = np.maximum(low, limits[0]), np.minimum(high, limits[1])
        unit = power_of_two(high - low)
        parts = [
            _scale_of_block(X[b], None if weight is None else weight[b], low, unit, limits)
            for b in blocks
        ]
        relative = _merge(parts or [Scale(0.0, np.zeros_like(low), np.zeros_like(low))])
        return Scale(relative.total, relative.mean * unit + low, relative.spread * unit)


def _ends(X: NDArray[Any], blocks: list[slice]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the least and the greatest value of each feature; zeros without rows."""
    low, high = np.zeros((2, X.shape[1]))
    for k, block in enumerate(blocks):
        least, greatest = to_host(X[block].min(axis=0)), to_host(X[block].max(axis=0))
        low = np.minimum(low, least) if k else np.asarray(least, np.float64)
        high = np.maximum(high, greatest) if k else np.asarray(greatest, np.float64)
    return low, high


def check_spread(scale: Scale, rows: NDArray[Any]) -> None:
    """Raise if the range overflows; warn if a spread is too small, but not mere rounding.

    Binning reports the location of NaN or infinity.
    """
    if not np.isfinite(scale.spread).all():
        if not np.isfinite(rows).all():
            return
        low, high = float(rows.min()), float(rows.max())
        raise InvalidInputError(
            "an automatic bandwidth needs features whose range is finite, got values from "
            f"{low:g} to {high:g}; set a bandwidth or scale the data down"
        )
    rounding = np.ldexp(np.abs(scale.mean), -49)
    for j in np.flatnonzero((scale.spread > rounding) & ~scale.varies)[:1]:
        tiny = scale.spread[j] <= LEAST_SPREAD
        reason = "float64" if tiny else "cells numbered from zero"
        remedy = "multiply the data by a power of ten" if tiny else "subtract an offset"
        warn_user(
            UserWarning(
                f"feature {j} counts as constant: it varies by {scale.spread[j]:.3g} around "
                f"{scale.mean[j]:.3g}, too little for {reason}; {remedy} first"
            )
        )


def _scale_of_block(
    X: NDArray[Any],
    weight: NDArray[Any] | None,
    low: NDArray[np.float64],
    unit: NDArray[np.float64],
    limits: NDArray[np.float64] | None,
) -> Scale:
    """Compute the moments of a block relative to `low`, in a unit of each feature."""
    xp = module_of(X)
    columns = xp.array(X.T, np.float64, order="C")
    if limits is not None:
        lowest, highest = xp.asarray(limits)[..., None]
        columns = xp.clip(columns, lowest, highest)
    columns -= xp.asarray(low)[:, None]
    columns /= xp.asarray(unit)[:, None]
    w = xp.ones(columns.shape[1]) if weight is None else weight
    total = float(w.sum())
    mean = (columns * w).sum(axis=1) / total
    squares = (xp.square(columns - mean[:, None]) * w).sum(axis=1)
    return Scale(total, to_host(mean), to_host(xp.sqrt(squares / total)))


def _merge(parts: Sequence[Scale]) -> Scale:
    """Combine the moments of parts into those of all points."""
    total, mean, squares = 0.0, np.zeros_like(parts[0].mean), np.zeros_like(parts[0].mean)
    with np.errstate(all="ignore"):  # binning reports the location of NaN or infinity
        for part in parts:
            if part.total > 0:
                total += part.total
                shift = part.mean - mean
                mean = mean + shift * (part.total / total)
                squares = squares + part.spread**2 * part.total
                squares += shift**2 * (part.total * (total - part.total) / total)
        return Scale(total, mean, np.sqrt(squares / total) if total > 0 else squares)


def scale_of_grid(grid: Grid) -> Scale:
    """Compute the moments of a grid, as if the points of a cell were all at their mean."""
    means, weights = grid.means, grid.weights
    scale = scale_of_points(means, weights, outlier_limits(means, weights))
    check_spread(scale, means)
    return Scale(grid.total, scale.mean, scale.spread)


def observed_rows(weight: Any, whole: bool) -> float:
    """Return the number of rows that weights are worth.

    A whole weight is that many rows. Real weights are worth as many rows as equal weights of the
    same relative error: the square of their sum by the sum of their squares (Kish 1965).
    """
    total = float(weight.sum())
    return total if whole or total == 0 else total**2 / float((weight**2).sum())


def normal_reference(d: int, n: float) -> float:
    """Return the cell size, in standard deviations, of the best histogram of a normal density.

    The rate is the paper's n^(-1 / (2a + d)) for a density of bounded slope, a = 1. The theorem
    does not determine the constant; this one has the least mean squared error.
    """
    return normal_root(12, d, max(n, 1.0), d + 2)


def normal_root(factor: float, d: int, n: float, power: int) -> float:
    """Return the root of ``factor * (4 pi)^(d / 2) / n`` of a degree; any d."""
    if d <= 500:
        return float((factor * (4 * math.pi) ** (d / 2) / n) ** (1 / power))
    logarithm = math.log(factor) + d / 2 * math.log(4 * math.pi) - math.log(n)
    return math.exp(logarithm / power)  # the number itself would overflow


def gradient_reference(d: int, n: float) -> float:
    """Return the cell size, in standard deviations, of the best window for the gradient.

    Modes are at the zeros of the density's gradient. This is the bandwidth with the least error for
    the gradient of a normal density, converted to a window of three cells.
    """
    return float((4 / ((d + 4) * max(n, 1.0))) ** (1 / (d + 6)) * math.sqrt(d + 4) / 1.5)


def sample_rows(
    X: NDArray[Any], weight: NDArray[Any] | None, limit: int
) -> tuple[NDArray[Any], NDArray[Any] | None]:
    """Return all rows and weights, or a sample of `limit` rows if there are more."""
    if len(X) <= limit:
        return X, weight
    rows = sample_indices(len(X), limit)
    return take_rows(X, rows), None if weight is None else weight[rows]


def take_rows(X: NDArray[Any], rows: NDArray[np.int64]) -> NDArray[Any]:
    """Return some rows. NumPy does not answer Ctrl-C while it reads pages of a file for them."""
    if on_gpu(X):
        return X[rows]
    taken = np.empty((len(rows), X.shape[1]), X.dtype)
    size = _ROWS_AT_ONCE if _is_mapped(X) else max(len(rows), 1)
    for start in range(0, len(rows), size):
        part = slice(start, start + size)
        # `take` is several times faster, but copies all rows if they are not contiguous.
        taken[part] = X.take(rows[part], axis=0) if X.flags.c_contiguous else X[rows[part]]
    return taken


def _is_mapped(X: Any) -> bool:
    """Return whether an array or the one that it is a view of is mapped from a file."""
    while isinstance(X, np.ndarray) and not isinstance(X, np.memmap):
        X = X.base
    return isinstance(X, np.memmap)


@lru_cache(maxsize=4)  # one data set is sampled again and again
def sample_indices(n: int, limit: int) -> NDArray[np.int64]:
    """Return one fixed row of each of `limit` equal parts, or all rows if there are fewer.

    The row is random within its part, because rows may repeat with a period, as in images.
    """
    if n <= limit:
        rows = np.arange(n)
    else:
        edges = np.arange(limit + 1) * n // limit
        within = np.random.default_rng(0).random(limit) * np.diff(edges)
        rows = edges[:-1] + within.astype(np.int64)
    rows.flags.writeable = False
    return rows
