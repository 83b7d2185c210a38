"""How wide the data is, and what a bell of that width would ask for.

The moments of a table or a grid, a sample of rows where all would be too many, and two reference
bandwidths: the ones that would be best if the data were one normal bump. Nobody clusters one bump;
they are the unit in which the choice of a bandwidth is made.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from meanshiftpp._support.devices import module_of, on_gpu, to_host
from meanshiftpp.core.grid import Grid

SAMPLE = 1 << 14  # rows that are looked at
TAIL = 0.01  # on either side: what may be far from all the rest
BLOCK = 1 << 16  # rows whose moments are taken at a time: no copy of the data is made


@dataclass(frozen=True)
class Scale:
    """Weight, mean and standard deviation of a data set; the last two for each feature."""

    total: float
    mean: NDArray[np.float64]
    spread: NDArray[np.float64]

    @property
    def varies(self) -> NDArray[np.bool_]:
        """Which features are not constant; in fewer than 2^40 parts of their magnitude, to be sure.

        The cells of a bandwidth near the spread can then be counted from zero.
        """
        return self.spread > np.ldexp(np.abs(self.mean), -40)

    def common(self) -> Scale:
        """Give all features the same spread, for features in the same unit: their quadratic mean.

        Constant ones do not count. Where all are, the largest in magnitude stands for them.
        """
        varying = self.spread[self.varies]
        if not varying.size:
            most = np.full_like(self.mean, np.abs(self.mean).max())
            return Scale(self.total, most, np.zeros_like(self.spread))
        alike = math.sqrt(float(np.mean(varying**2)))
        return Scale(self.total, self.mean, np.full_like(self.spread, alike))

    def bandwidth(self, factor: float) -> NDArray[np.float64]:
        """Give `factor` standard deviations of each feature, always positive and finite.

        A constant feature is in one cell at any bandwidth, and gets its magnitude, or 1. Rounded to
        24 bits, so that neither the order of the rows nor a weight written as repetition matters.
        """
        h = np.where(self.varies, factor * self.spread, np.abs(self.mean))
        h[~np.isfinite(h) | (h == 0)] = 1.0  # with NaN or infinity in X, the binning will say where
        mantissa, exponent = np.frexp(h)
        rounded: NDArray[np.float64] = np.ldexp(np.rint(np.ldexp(mantissa, 24)), exponent - 24)
        return rounded


def reach_of(X: NDArray[Any], weight: NDArray[Any] | None = None) -> NDArray[np.float64]:
    """Give the least and the greatest value of each feature that is not far from all the others.

    Far is what is beyond the middle 98 % by more than the range of these: in a normal feature,
    seven standard deviations. A standard deviation would be at the mercy of a single such value.
    No value is far in a feature that is mostly constant.
    """
    rows, w = sample_rows(X, weight, SAMPLE)
    if not len(rows):
        return np.outer([-np.inf, np.inf], np.ones(X.shape[1]))
    columns = np.asarray(to_host(rows), np.float64).T
    parts = np.array([TAIL, 1 - TAIL])
    if w is None:
        at = np.ceil(parts * len(rows)).astype(np.int64) - 1
        ends = np.partition(columns, at, axis=1)[:, at].T
    else:
        ends = np.stack([_weighted_quantiles(column, to_host(w), parts) for column in columns], 1)
    with np.errstate(all="ignore"):
        wide = ends[1] - ends[0]
        wide[~(wide > 0)] = np.inf
        return np.stack([ends[0] - wide, ends[1] + wide])


def _weighted_quantiles(
    values: NDArray[np.float64], weight: NDArray[Any], parts: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Give the least values up to which there are these parts of the weight."""
    order = np.argsort(values)
    upto = np.cumsum(weight[order])
    found: NDArray[np.float64] = values[order[np.searchsorted(upto, parts * upto[-1])]]
    return found


def scale_of_points(
    X: NDArray[Any],
    weight: NDArray[Any] | None = None,
    within: NDArray[np.float64] | None = None,
) -> Scale:
    """Take the moments of points in one pass, block by block; as if none were beyond `within`."""
    if weight is not None and not (counted := weight > 0).all():
        X, weight = X[counted], weight[counted]
    with np.errstate(all="ignore"):
        # From the least value on: far from zero, rounding would depend on the order of the rows.
        low = np.asarray(to_host(X.min(axis=0)), np.float64) if len(X) else np.zeros(X.shape[1])
        block = BLOCK << 6 if on_gpu(X) else BLOCK
        blocks = [slice(start, start + block) for start in range(0, len(X), block)]
        if within is not None:
            low = np.maximum(low, within[0])
        parts = [
            _block_scale(X[b], None if weight is None else weight[b], low, within) for b in blocks
        ]
        found = merged_scale(parts or [Scale(0.0, np.zeros_like(low), np.zeros_like(low))])
        return Scale(found.total, found.mean + low, found.spread)


def _block_scale(
    X: NDArray[Any],
    weight: NDArray[Any] | None,
    low: NDArray[np.float64],
    within: NDArray[np.float64] | None,
) -> Scale:
    xp = module_of(X)
    rows = xp.array(X.T, np.float64, order="C")
    if within is not None:
        least, most = xp.asarray(within)[..., None]
        rows = xp.clip(rows, least, most)
    rows -= xp.asarray(low)[:, None]
    w = xp.ones(rows.shape[1]) if weight is None else weight
    total = float(w.sum())
    mean = (rows * w).sum(axis=1) / total
    squares = (xp.square(rows - mean[:, None]) * w).sum(axis=1)
    return Scale(total, to_host(mean), to_host(xp.sqrt(squares / total)))


def merged_scale(parts: Sequence[Scale]) -> Scale:
    """Combine the moments of parts into those of the whole."""
    total, mean, squares = 0.0, np.zeros_like(parts[0].mean), np.zeros_like(parts[0].mean)
    with np.errstate(all="ignore"):  # of NaN and infinity the binning will say where they are
        for part in parts:
            if part.total > 0:
                total += part.total
                step = part.mean - mean
                mean = mean + step * (part.total / total)
                squares = squares + part.spread**2 * part.total
                squares += step**2 * (part.total * (total - part.total) / total)
        return Scale(total, mean, np.sqrt(squares / total) if total > 0 else squares)


def scale_of_grid(grid: Grid) -> Scale:
    """Take the moments of a grid's cells, each as if its points were all at their mean."""
    means, weights = grid.means, grid.weights
    found = scale_of_points(means, weights, reach_of(means, weights))
    return Scale(grid.total, found.mean, found.spread)


def normal_reference(d: int, n: float) -> float:
    """Give the cell, in standard deviations, whose counts estimate a normal density best.

    The rate is the paper's n^(-1 / (2a + d)) for a density of bounded slope, a = 1; the constant,
    which a theorem cannot give, is that of the least mean squared error.
    """
    return float((12 * (4 * math.pi) ** (d / 2) / max(n, 1.0)) ** (1 / (d + 2)))


def gradient_reference(d: int, n: float) -> float:
    """Give the cell, in standard deviations, whose window of three is best for the gradient.

    Modes are where the gradient of the density is zero. This is the bandwidth with the least error
    of a normal density's gradient, converted to a window of three cells.
    """
    return float((4 / ((d + 4) * max(n, 1.0))) ** (1 / (d + 6)) * math.sqrt(d + 4) / 1.5)


def sample_rows(
    X: NDArray[Any], weight: NDArray[Any] | None, limit: int
) -> tuple[NDArray[Any], NDArray[Any] | None]:
    """Take some rows and their weights: all, or where there are more than `limit`, a sample."""
    if len(X) <= limit:
        return X, weight
    rows = rows_of_sample(len(X), limit)
    return X[rows], None if weight is None else weight[rows]


def rows_of_sample(n: int, limit: int) -> NDArray[np.int64]:
    """Name one row in each of `limit` equal parts, always the same; all where there are fewer.

    Not the first or the middle of each part: rows may repeat with a period, as those of images do.
    """
    if n <= limit:
        return np.arange(n)
    edges = np.arange(limit + 1) * n // limit
    return edges[:-1] + (np.random.default_rng(0).random(limit) * np.diff(edges)).astype(np.int64)
