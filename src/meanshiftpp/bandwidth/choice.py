"""The automatic choice of a bandwidth, by four methods.

    auto        the best separated clusters, among bandwidths that suit the number of points
    stability   the clustering that persists longest in a sweep over bandwidths
    lscv        the histogram nearest to the density, by least-squares cross-validation
    rule        the same for a normal density: one formula, no search

All methods work on cells, never on pairs of points. For large data, the spread and the multiple of
the reference (see `core.scale`) come from a sample of the rows; the reference depends on the number
of all points.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from meanshiftpp._kernel import OFFSET_BITS
from meanshiftpp._support.checks import Periodic, Weights, as_points, as_weights
from meanshiftpp._support.devices import to_host
from meanshiftpp.bandwidth.agreement import (
    MAX_IN_SMALL,
    SMALL,
    count_large,
    qualifies,
    share_in_small,
)
from meanshiftpp.bandwidth.multiples import (
    DIVISIONS,
    FINEST,
    check_no_weights,
    nearest_multiple,
)
from meanshiftpp.bandwidth.sweep import FALLBACK, compute_sweep
from meanshiftpp.core.grid import Grid
from meanshiftpp.core.modes import Modes
from meanshiftpp.core.periods import unwrapped
from meanshiftpp.core.recipe import Search
from meanshiftpp.core.scale import (
    SAMPLE_SIZE,
    Scale,
    check_spread,
    gradient_reference,
    normal_reference,
    outlier_limits,
    sample_rows,
    scale_of_grid,
    scale_of_points,
)
from meanshiftpp.errors import InvalidInputError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["bandwidth_from_sample", "bandwidth_of_points", "select_bandwidth"]

# In references for the gradient. Above 0.65, bumps merge. Below 0.45, noise has modes too, so the
# clusters must be several times better separated.
CANDIDATES = tuple(np.geomspace(0.65, 0.45, 12).tolist())
FINE_CANDIDATES = tuple(np.geomspace(0.41, 0.25, 6).tolist())
FINE_ADVANTAGE = 5.0
LSCV_CANDIDATES = tuple(np.geomspace(2.0, 0.1, 27).tolist())  # in normal references


def select_bandwidth(
    X: ArrayLike | Grid,
    *,
    method: str = "auto",
    per_feature: bool = True,
    sample_weight: ArrayLike | None = None,
    n_threads: int | None = None,
) -> NDArray[np.float64]:
    """Choose a bandwidth for `MeanShiftPP`.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features), or Grid
        The points, or a grid of them. For a grid, the result is a whole multiple of its bandwidth,
        in its proportions.
    method : {"auto", "stability", "lscv", "rule"}
        - "auto": of 12 bandwidths from 0.65 to 0.45 references, the one whose clusters are best
          separated by the criterion of Calinski and Harabasz; or one of 6 finer ones, down to 0.25,
          if it is five times as good. A reference is ``s (4 / ((d + 4) n))^(1 / (d + 6)) sqrt(d
          + 4) / 1.5``, best for the gradient of one normal bump of standard deviation s. Clusters
          under 1 % of the points are small and do not count. If no bandwidth gives two clusters of
          3 % with at most 30 % of the points in small ones, the result is 0.45 references.
        - "stability": of bandwidths from 0.25 to 4 references, the one whose clustering agrees best
          with all others (`Sweep.best`).
        - "lscv": the cells whose counts, as a histogram, are nearest to the unknown density by
          least-squares cross-validation.
        - "rule": the same for a normal density, ``s (12 (4 pi)^(d / 2) / n)^(1 / (2 + d))``. The
          rate is the paper's, n^(-1 / (2a + d)), with a = 1.
    per_feature : bool, default=True
        Whether each feature has its own spread s, so that columns need no scaler. Use False for
        features that share a unit, as pixels or coordinates do: all get one bandwidth, by the
        quadratic mean of the spreads. Ignored for a grid.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights, not negative. A whole number counts as that many rows. The bandwidth falls with the
        number of rows: weights that sum to 1 count as one row, so scale them up.
    n_threads : int, optional
        By default every core this process may use. The result does not depend on it.

    Returns
    -------
    bandwidth : ndarray of shape (n_features,), float64
        Always positive.

    Notes
    -----
    Up to 16,384 rows, the result depends neither on the order of the rows nor on whether weights
    are written as repetitions. With more rows, 16,384 are read: one fixed row from each of as many
    equal parts. Another order may then give another bandwidth, about as good. Values that lie
    outside the middle 98 % of a feature by more than the range of these are moved to that limit.

    Examples
    --------
    >>> import numpy as np
    >>> from meanshiftpp import MeanShiftPP, select_bandwidth
    >>> X = np.random.default_rng(0).normal([[0, 0]] * 500 + [[9, 90]] * 500, [1, 10])
    >>> h = select_bandwidth(X)
    >>> h.round(1)
    array([ 2. , 19.5])
    >>> MeanShiftPP(h).fit(X).cluster_weights_
    array([500., 500.])
    """
    if not isinstance(method, str) or method not in _METHODS:
        expected = f"one of {', '.join(map(repr, _METHODS))}"
        raise InvalidInputError.for_parameter("method", expected, method)
    if not isinstance(X, Grid):
        return _METHODS[method](_sample(as_points(X), sample_weight, per_feature, n_threads))
    check_no_weights(sample_weight)
    if len(X) == 0:
        raise InvalidInputError("an empty grid has no bandwidth: bin some points first")
    X = X.to("cpu")
    return _METHODS[method](_GridData(X, scale_of_grid(X), n_threads))


def bandwidth_of_points(
    points: NDArray[np.generic],
    sample_weight: Weights | None,
    periodic: Periodic,
    n_threads: int | None,
) -> NDArray[np.float64]:
    """Choose a bandwidth as `select_bandwidth` does, for points with periods."""
    return _auto(_sample(points, sample_weight, True, n_threads, periodic))


def bandwidth_from_sample(
    rows: NDArray[np.generic],
    total: float,
    *,
    sample_weight: NDArray[np.floating] | None = None,
    periodic: Periodic = None,
    n_threads: int | None = None,
) -> NDArray[np.float64]:
    """Choose a bandwidth as `select_bandwidth` does, from a sample of data of weight `total`.

    Return 1 if the sample is empty or contains a non-finite value; binning reports the location.
    """
    rows, weight = sample_rows(rows, sample_weight, SAMPLE_SIZE)
    if not len(rows) or not np.isfinite(rows).all():
        return np.ones(rows.shape[1])
    near = unwrapped(rows, weight, periodic)
    return _auto(_without_outliers(near, weight, total, True, n_threads))


# -- the data of a choice: `width` is a cell size in standard deviations -----------------------


@dataclass(frozen=True)
class _SampleData:
    """A sample of points, which can be binned at any cell size."""

    rows: NDArray[np.generic]
    weight: Weights | None
    scale: Scale  # of the sample
    total: float  # weight of all points
    n_threads: int | None

    def grid(self, width: float) -> Grid:
        """Return the grid of cells of a size."""
        cell_size = self.scale.bandwidth(width)
        return Grid.from_points(
            self.rows, cell_size, sample_weight=self.weight, n_threads=self.n_threads
        )

    def bandwidth(self, width: float) -> NDArray[np.float64]:
        """Return a size in data units."""
        return self.scale.bandwidth(width)

    def most_stable(self) -> NDArray[np.float64]:
        """Return the best bandwidth of a sweep over the sample, rescaled to all points."""
        d = len(self.scale.spread)
        fraction = FINEST / DIVISIONS
        step = self.scale.bandwidth(fraction * gradient_reference(d, self.scale.total))
        result = compute_sweep(
            self.rows,
            None,
            Search.checked(),
            step=step,
            sample_weight=self.weight,
            n_threads=self.n_threads,
        )
        references = float(result.multiples[result.best]) * fraction
        return self.bandwidth(references * gradient_reference(d, self.total))


@dataclass(frozen=True)
class _GridData:
    """A grid, which can only be coarsened by whole multiples."""

    base: Grid
    scale: Scale
    n_threads: int | None

    @property
    def total(self) -> float:
        """The weight of all points."""
        return self.scale.total

    def multiple(self, width: float) -> int:
        """Return the nearest multiple of a size, in the geometric mean of the features."""
        ratios = (self.scale.spread / self.base.bandwidth)[self.scale.varies]
        cells = width * float(np.exp(np.log(ratios).mean())) if ratios.size else 1.0
        return nearest_multiple(self.base, max(1, round(cells)))

    def grid(self, width: float) -> Grid:
        """Return the grid of cells near a size."""
        return self.base.coarsen(self.multiple(width), n_threads=self.n_threads)

    def bandwidth(self, width: float) -> NDArray[np.float64]:
        """Return the bandwidth of that grid."""
        return self.base.bandwidth * self.multiple(width)

    def most_stable(self) -> NDArray[np.float64]:
        """Return the best bandwidth of a sweep over the grid."""
        result = compute_sweep(self.base, None, Search.checked(), n_threads=self.n_threads)
        best: NDArray[np.float64] = result.bandwidths[result.best]
        return best


_Data = _SampleData | _GridData


def _sample(
    points: NDArray[np.generic],
    sample_weight: ArrayLike | None,
    per_feature: bool,
    n_threads: int | None,
    periodic: Periodic = None,
) -> _SampleData:
    """Sample the rows of positive weight, on the host."""
    weight, total = None, float(len(points))
    if sample_weight is not None:
        given = as_weights(sample_weight, points)
        weight = given.counts * given.unit
        total = float(weight.sum())
        if not (positive := weight > 0).all():
            points, weight = points[positive], weight[positive]
    if total == 0:
        raise InvalidInputError("X must have at least one row of positive weight, got none")
    rows, weight = sample_rows(points, weight, SAMPLE_SIZE)
    rows, weight = to_host(rows), None if weight is None else to_host(weight)
    if not np.isfinite(rows).all():
        Grid.from_points(points, 1.0, n_threads=n_threads)  # raises with the location of the value
    near = unwrapped(rows, weight, periodic)
    return _without_outliers(near, weight, total, per_feature, n_threads)


def _without_outliers(
    rows: NDArray[np.generic],
    weight: NDArray[np.floating] | None,
    total: float,
    per_feature: bool,
    n_threads: int | None,
) -> _SampleData:
    """Compute the spread of a sample, with outliers moved to the limits."""
    limits = outlier_limits(rows, weight)
    scale = scale_of_points(rows, weight, limits)
    check_spread(scale, rows)
    if (rows < limits[0]).any() or (rows > limits[1]).any():
        rows = np.clip(rows.astype(np.float64), *limits)
    weights = None if weight is None else as_weights(weight, rows)  # once, for all candidates
    return _SampleData(rows, weights, scale if per_feature else scale.common(), total, n_threads)


# -- the methods ------------------------------------------------------------------------------


def _auto(data: _Data) -> NDArray[np.float64]:
    d = len(data.scale.spread)
    reference = gradient_reference(d, data.scale.total)
    best, best_separation = FALLBACK, -math.inf
    search = Search.checked()
    for candidate in CANDIDATES + FINE_CANDIDATES:
        modes = search.modes(data.grid(candidate * reference), n_threads=data.n_threads)
        if share_in_small(modes) > MAX_IN_SMALL:
            break  # finer cells only move more points to small clusters
        if not qualifies(modes):
            continue
        separated = separation(modes) / (FINE_ADVANTAGE if candidate in FINE_CANDIDATES else 1)
        if separated > best_separation:
            best, best_separation = candidate, separated
    return data.bandwidth(best * gradient_reference(d, data.total))


def _stability(data: _Data) -> NDArray[np.float64]:
    return data.most_stable()


def _lscv(data: _Data) -> NDArray[np.float64]:
    d = len(data.scale.spread)
    reference = normal_reference(d, data.scale.total)
    grids = [data.grid(candidate * reference) for candidate in LSCV_CANDIDATES]
    losses = [_histogram_loss(grid, grids[0].bandwidth) for grid in grids]
    best = LSCV_CANDIDATES[int(np.argmin(losses))]
    return data.bandwidth(best * normal_reference(d, data.total))


def _rule(data: _Data) -> NDArray[np.float64]:
    return data.bandwidth(normal_reference(len(data.scale.spread), data.total))


_METHODS: dict[str, Callable[[_Data], NDArray[np.float64]]] = {
    "auto": _auto,
    "stability": _stability,
    "lscv": _lscv,
    "rule": _rule,
}


def separation(modes: Modes) -> float:
    """Compute the criterion of Calinski and Harabasz: how far apart clusters are, for their width.

    The points of a cell count as if they were all at their mean. Small clusters do not count.
    """
    grid, k = modes.grid, count_large(modes, SMALL)
    in_large = modes.cell_labels < k
    labels, weights = modes.cell_labels[in_large], grid.weights[in_large]
    positions = grid.cells - grid.cells[0] + grid.sums / grid.counts[:, None] * 2.0**-OFFSET_BITS
    positions = positions[in_large]  # in cells, because only ratios matter
    sizes = np.bincount(labels, weights)
    sums = np.stack([np.bincount(labels, weights * x) for x in positions.T], axis=1)
    centers = sums / sizes[:, None]
    middle = sums.sum(axis=0) / sizes.sum()
    between = float((sizes @ (centers - middle) ** 2).sum()) / (k - 1)
    within = float((weights @ (positions - centers[labels]) ** 2).sum())
    return between / within * max(sizes.sum() - k, 1.0) if within > 0 else math.inf


def _histogram_loss(grid: Grid, unit: NDArray[np.float64]) -> float:
    """Estimate the squared error of the histogram, up to a constant, by leaving one point out.

    The loss is per volume of a cell of size `unit`.
    """
    n = max(float(grid.total), 2.0)
    squares = float(np.square(grid.weights / n).sum())
    return (2 - (n + 1) * squares) / ((n - 1) * float(np.prod(grid.bandwidth / unit)))
