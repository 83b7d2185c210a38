"""Draw samples that do not depend on the row order: points by hash, grids by cell.

A sample stands for the data as if that many rows had been observed. It has about `limit` rows, and
all rows if there are no more than that.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from meanshiftpp import _kernel
from meanshiftpp._kernel import OFFSET_BITS
from meanshiftpp._support.checks import Weights, thread_count
from meanshiftpp._support.devices import module_of, on_gpu, to_host
from meanshiftpp.core.grid import Grid
from meanshiftpp.core.scale import take_rows

_GOLDEN = 0x9E3779B97F4A7C15
_FEW_REPEATS = 0.9  # share of distinct rows above which repeated rows need not be counted


class Sample(NamedTuple):
    """Rows, how often each counts, and a hash that places repeated rows apart."""

    rows: NDArray[np.float64]
    counts: NDArray[np.int64]
    hashes: NDArray[np.uint64]

    def repeated(self) -> Sample:
        """Return the sample with every row as often as it counts, each with a hash of its own."""
        at = np.repeat(np.arange(len(self.counts)), self.counts)
        first = np.cumsum(self.counts) - self.counts
        number = (np.arange(len(at)) - first[at]).astype(np.uint64)
        hashes = _mix(self.hashes[at] + number * np.uint64(_GOLDEN))
        return Sample(self.rows[at], np.ones(len(at), np.int64), hashes)


def sample_points(
    points: NDArray[np.generic],
    weights: Weights | None,
    limit: int,
    *,
    n_threads: int | None = None,
) -> Sample:
    """Draw rows in proportion to their weight; the same for any order of the points.

    Equal rows are one row that counts more often.
    """
    at, counts, hashes, share = _drawn(points, weights, limit, n_threads)
    xp = module_of(at)
    distinct, first, group = xp.unique(hashes, return_index=True, return_inverse=True)
    total = float(len(points)) if weights is None else float(weights.counts.sum(dtype=np.float64))
    missed = abs(float(counts.sum()) - share * total) > 6 * math.sqrt(share * total)
    whole = weights is None or weights.whole
    copies = float(counts.sum()) if whole else len(at)
    if share < 1 and (missed or len(distinct) < _FEW_REPEATS * copies):
        return _sample_of_repeats(points, weights, share, n_threads)
    counts, at = xp.bincount(group.ravel(), counts).astype(np.int64), at[first]
    rows = np.asarray(to_host(take_rows(points, at)), np.float64)
    return Sample(rows, to_host(counts), to_host(distinct))


def _drawn(
    points: NDArray[np.generic], weights: Weights | None, limit: int, n_threads: int | None
) -> tuple[Any, Any, Any, float]:
    """Return the rows of the highest hashes, how often each counts, their hashes and the share.

    A whole weight is that many copies of a row, so all are drawn or none. Real weights are drawn
    row by row.
    """
    if weights is None:
        share = min(1.0, limit / max(len(points), 1))
        at, hashes = hash_rows(points, share, n_threads)
        return at, module_of(at).ones(len(at), np.int64), hashes, share
    weight = weights.counts.astype(np.float64)
    share = _share(weight, weights.whole, limit)
    if weights.whole:
        at, hashes = hash_rows(points, min(share, 1.0), n_threads)
        counts = weights.counts[at].astype(np.int64)
        positive = counts > 0
        return at[positive], counts[positive], hashes[positive], share
    at, hashes = hash_rows(points, 1.0, n_threads)
    k, counts = _thinned(hashes, weight, share)
    return at[k], counts, hashes[k], share


def _sample_of_repeats(
    points: NDArray[np.generic], weights: Weights | None, share: float, n_threads: int | None
) -> Sample:
    """Draw rows of which many are equal: their copies are counted before they are drawn."""
    _, hashes = hash_rows(points, 1.0, n_threads)
    xp = module_of(hashes)
    distinct, first, group = xp.unique(hashes, return_index=True, return_inverse=True)
    weight = None if weights is None else weights.counts.astype(np.float64)
    k, counts = _thinned(distinct, xp.bincount(group.ravel(), weight).astype(float), share)
    rows = np.asarray(to_host(take_rows(points, first[k])), np.float64)
    return Sample(rows, to_host(counts), to_host(distinct[k]))


def sample_grid(grid: Grid, limit: int) -> Sample:
    """Draw rows from a grid, in units of a cell: spread over their cell, denser towards its mean.

    A point that is alone in its cell stays where it is.
    """
    grid = grid.to("cpu")
    cells = grid.cells.astype(np.float64)
    _, hashes = hash_rows(cells, 1.0, None)
    weight = grid.counts.astype(np.float64)
    share = _share(weight, grid.whole, limit)
    at, counts = _thinned(hashes, weight, share)
    drawn = Sample(cells[at], counts, hashes[at]).repeated()
    at = np.repeat(at, counts)
    mean = grid.sums[at] / grid.counts[at, None] * 2.0**-OFFSET_BITS
    spread = _tilted(uniform(drawn.hashes, grid.n_features), mean)
    offset = np.where(grid.counts[at, None] > 1, spread, mean)
    return Sample(drawn.rows + offset, drawn.counts, drawn.hashes)


def _tilted(u: NDArray[np.float64], mean: NDArray[np.float64]) -> NDArray[np.float64]:
    """Turn uniform numbers into ones of a linear density on [0, 1] with about this mean."""
    tilt = np.clip(6 * (mean - 0.5), -1.0, 1.0)
    tilt = np.where(np.abs(tilt) < 1e-6, 1e-6, tilt)  # the density is 1 + tilt (2 x - 1)
    values: NDArray[np.float64] = (tilt - 1 + np.sqrt((1 - tilt) ** 2 + 4 * tilt * u)) / (2 * tilt)
    return np.clip(values, 0.0, np.nextafter(1.0, 0.0))


def hash_rows(
    points: NDArray[np.generic], share: float, n_threads: int | None
) -> tuple[NDArray[np.int64], NDArray[np.uint64]]:
    """Return the share of the points with the highest hashes, and the hashes; on any device."""
    least = 0 if share >= 1 else int((1 - share) * 2.0**64)
    if not on_gpu(points):
        return _kernel.hash_rows(points, least, thread_count(n_threads))
    xp = module_of(points)
    hashes: NDArray[np.uint64] = xp.zeros(len(points), np.uint64)
    for j in range(points.shape[1]):
        value = (points[:, j].astype(np.float64) + 0.0).view(np.uint64)
        hashes = _mix((hashes ^ value) + np.uint64(_GOLDEN))
    at = xp.flatnonzero(hashes >= np.uint64(least))
    return at, hashes[at]


def uniform(hashes: NDArray[np.uint64], n_features: int) -> NDArray[np.float64]:
    """Return numbers from 0 to 1 for each hash and feature."""
    columns = [_mix(hashes + np.uint64((j + 1) * _GOLDEN % 2**64)) for j in range(n_features)]
    return np.stack([(column >> np.uint64(11)) * 2.0**-53 for column in columns], axis=1)


def observed_rows(weight: Any, whole: bool) -> float:
    """Return the number of rows that weights are worth.

    A whole weight is that many rows. Real weights are worth as many rows as equal weights of the
    same relative error: the square of their sum by the sum of their squares (Kish 1965).
    """
    total = float(weight.sum())
    return total if whole or total == 0 else total**2 / float((weight**2).sum())


def _share(weight: Any, whole: bool, limit: int) -> float:
    """Return the rows of a sample per unit of weight."""
    total = float(weight.sum())
    return min(observed_rows(weight, whole), limit) / total if total > 0 else 0.0


def _thinned(hashes: Any, weight: Any, share: float) -> tuple[Any, Any]:
    """Return the rows that stay, and how often each counts: on average its share of the weight."""
    xp = module_of(hashes)
    chance = (hashes >> np.uint64(11)) * 2.0**-53
    counts = xp.floor(weight * share + chance).astype(np.int64)
    at = xp.flatnonzero(counts)
    return at, counts[at]


def _mix(x: Any) -> Any:
    """Mix the bits of integers, as `mix_bits` of the kernel does."""
    with np.errstate(over="ignore"):
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return x ^ (x >> np.uint64(31))
