"""A bandwidth from the data, in four ways.

    auto        the clusters that stand apart best, of bandwidths that suit the number of points
    stability   the clustering that lasts longest in a sweep over bandwidths
    lscv        the cells whose counts are the best density, by least-squares cross-validation
    rule        the same for a normal density: no search, one formula

All of them look at cells, never at pairs of points. Large data is judged by a sample of its rows:
that tells the spread and how many references to take (see `spread`); a reference depends on the
number of all the points.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from meanshiftpp._kernel import OFFSET_BITS
from meanshiftpp._support.checks import as_points, as_weights
from meanshiftpp._support.devices import to_device_of, to_host
from meanshiftpp.bandwidth.agreement import CRUMB, MOST_CRUMBS, comparable, crumbs, large
from meanshiftpp.bandwidth.multiples import FINEST, PARTS, possible
from meanshiftpp.bandwidth.spread import (
    SAMPLE,
    Scale,
    gradient_reference,
    normal_reference,
    reach_of,
    sample_rows,
    scale_of_grid,
    scale_of_points,
)
from meanshiftpp.bandwidth.sweep import FALLBACK, compute_sweep
from meanshiftpp.core.grid import Grid
from meanshiftpp.core.modes import Modes
from meanshiftpp.core.recipe import Recipe
from meanshiftpp.errors import InvalidInputError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["bandwidth_from_sample", "select_bandwidth"]

# In references for the gradient. Above 0.65 bumps merge; below 0.45 noise has modes of its own, and
# clusters must stand apart so much better to be believed.
CANDIDATES = tuple(np.geomspace(0.65, 0.45, 12).tolist())
FINE_CANDIDATES, BETTER = tuple(np.geomspace(0.41, 0.25, 6).tolist()), 5.0
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
        The points; or a grid of them, and then the answer is a whole multiple of its bandwidth, in
        its proportions.
    method : {"auto", "stability", "lscv", "rule"}
        - "auto": of 12 bandwidths from 0.65 to 0.45 references, the one whose clusters stand apart
          best by the criterion of Calinski and Harabasz; or one of 6 finer ones, down to 0.25,
          if it is five times as good. A reference is ``s (4 / ((d + 4) n))^(1 / (d + 6)) sqrt(d
          + 4) / 1.5``, best for the gradient of one normal bump of standard deviation s. Clusters
          under 1 % of the points do not count. Where no bandwidth gives two clusters of 3 %, and
          at most 30 % of the points in uncounted ones: 0.45 references.
        - "stability": of bandwidths from 0.25 to 4 references, the one whose clustering agrees best
          with all others (`Sweep.best`).
        - "lscv": the cells whose counts, as a histogram, are nearest to the unknown density by
          least-squares cross-validation.
        - "rule": the same if the density were normal, ``s (12 (4 pi)^(d / 2) / n)^(1 / (2 + d))``.
          The rate is the paper's, n^(-1 / (2a + d)), with a = 1.
    per_feature : bool, default=True
        Whether each feature has its own spread s, so that columns need no scaler. False is for
        features in one unit, as pixels or coordinates: one bandwidth for all, by the quadratic
        mean of the spreads. Not used with a grid.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights, not negative; a whole number counts as that many rows. The more rows, the smaller
        the bandwidth: weights that sum to 1 stand for one row, so scale them up.
    n_threads : int, optional
        By default every core this process may use. The result does not depend on it.

    Returns
    -------
    bandwidth : ndarray of shape (n_features,), float64
        Always positive.

    Notes
    -----
    Up to 16,384 rows, neither the order of the rows nor weights written as repetitions change the
    answer. Of more rows, 16,384 are looked at, one in each of as many equal parts, always the
    same: another order may then give another, about as good, bandwidth. Values far from all others
    count as if they were nearer: those beyond the middle 98 % of a feature by more than its range.

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
    if method not in _METHODS:
        names = ", ".join(repr(name) for name in _METHODS)
        raise InvalidInputError(f"method must be one of {names}; got {method!r}")
    if not isinstance(X, Grid):
        return _METHODS[method](_read(as_points(X), sample_weight, per_feature, n_threads))
    if sample_weight is not None:
        raise InvalidInputError("a grid has its own weights: give no sample_weight with a grid")
    if len(X) == 0:
        raise InvalidInputError("an empty grid has no bandwidth: bin some points first")
    X = X.to("cpu")
    return _METHODS[method](_Cells(X, scale_of_grid(X), n_threads))


def bandwidth_from_sample(
    rows: NDArray[np.generic],
    total: float,
    *,
    sample_weight: NDArray[np.floating] | None = None,
    n_threads: int | None = None,
) -> NDArray[np.float64]:
    """Choose as `select_bandwidth` does, for data of weight `total` of which this is a sample.

    Of no rows, or of one that is not finite, the answer is 1: whoever bins the data will say where
    it is.
    """
    rows, weight = sample_rows(rows, sample_weight, SAMPLE)
    if not len(rows) or not np.isfinite(rows).all():
        return np.ones(rows.shape[1])
    return _auto(_looked_at(rows, weight, total, True, n_threads))


# -- what the methods look at: bandwidths are in standard deviations --------------------------


@dataclass(frozen=True)
class _Points:
    """A sample of points."""

    rows: NDArray[np.generic]
    weight: NDArray[np.floating] | None
    scale: Scale  # of the sample
    total: float  # weight of all points
    n_threads: int | None

    def grid(self, h: float) -> Grid:
        side = self.scale.bandwidth(h)
        return Grid.from_points(
            self.rows, side, sample_weight=self.weight, n_threads=self.n_threads
        )

    def answer(self, h: float) -> NDArray[np.float64]:
        return self.scale.bandwidth(h)

    def most_stable(self) -> NDArray[np.float64]:
        d = len(self.scale.spread)
        part = FINEST / PARTS
        step = self.scale.bandwidth(part * gradient_reference(d, self.scale.total))
        found = compute_sweep(
            self.rows,
            None,
            Recipe(),
            step=step,
            sample_weight=self.weight,
            n_threads=self.n_threads,
        )
        chosen = float(found.multiples[found.best]) * part
        return self.answer(chosen * gradient_reference(d, self.total))


@dataclass(frozen=True)
class _Cells:
    """A grid, which comes in whole multiples only."""

    base: Grid
    scale: Scale
    n_threads: int | None

    @property
    def total(self) -> float:
        return self.scale.total

    def multiple(self, h: float) -> int:
        """Give the cells in so many standard deviations, in the geometric mean of the features."""
        ratios = (self.scale.spread / self.base.bandwidth)[self.scale.varies]
        many = h * float(np.exp(np.log(ratios).mean())) if ratios.size else 1.0
        return possible(self.base, max(1, round(many)))

    def grid(self, h: float) -> Grid:
        return self.base.coarsen(self.multiple(h))

    def answer(self, h: float) -> NDArray[np.float64]:
        return self.base.bandwidth * self.multiple(h)

    def most_stable(self) -> NDArray[np.float64]:
        found = compute_sweep(self.base, None, Recipe(), n_threads=self.n_threads)
        chosen: NDArray[np.float64] = found.bandwidths[found.best]
        return chosen


def _read(
    points: NDArray[np.generic],
    sample_weight: ArrayLike | None,
    per_feature: bool,
    n_threads: int | None,
) -> _Points:
    weight, total = None, float(len(points))
    if sample_weight is not None:
        counts, unit = as_weights(to_device_of(points, sample_weight), len(points))
        weight = counts * unit
        total = float(weight.sum())
        if not (counted := weight > 0).all():  # rows of no weight have no say
            points, weight = points[counted], weight[counted]
    if total == 0:
        raise InvalidInputError("a bandwidth needs points: there are none, or none with a weight")
    rows, weight = sample_rows(points, weight, SAMPLE)
    rows, weight = to_host(rows), None if weight is None else to_host(weight)
    if not np.isfinite(rows).all():
        Grid.from_points(points, 1.0, n_threads=n_threads)  # which says where the bad value is
    return _looked_at(rows, weight, total, per_feature, n_threads)


def _looked_at(
    rows: NDArray[np.generic],
    weight: NDArray[np.floating] | None,
    total: float,
    per_feature: bool,
    n_threads: int | None,
) -> _Points:
    """Take the spread of a sample, with the values that are far from all others brought nearer."""
    within = reach_of(rows, weight)
    scale = scale_of_points(rows, weight, within)
    if not np.isfinite(scale.spread).all():
        raise InvalidInputError(
            f"X has values up to {np.abs(rows).max():g}, too large for a bandwidth to be chosen; "
            "give one, or scale the data down"
        )
    if (rows < within[0]).any() or (rows > within[1]).any():
        rows = np.clip(rows.astype(np.float64), *within)
    return _Points(rows, weight, scale if per_feature else scale.common(), total, n_threads)


_Data = _Points | _Cells


# -- the methods ------------------------------------------------------------------------------


def _auto(data: _Data) -> NDArray[np.float64]:
    d = len(data.scale.spread)
    reference = gradient_reference(d, data.scale.total)
    chosen, most = FALLBACK, -math.inf
    for candidate in CANDIDATES + FINE_CANDIDATES:
        grid = data.grid(candidate * reference)
        modes = Recipe().search_quietly(grid, n_threads=data.n_threads)
        if crumbs(modes) > MOST_CRUMBS:
            break  # smaller cells only leave more of them
        if not comparable(modes):
            continue
        apart = separation(modes) / (BETTER if candidate in FINE_CANDIDATES else 1)
        if apart > most:
            chosen, most = candidate, apart
    return data.answer(chosen * gradient_reference(d, data.total))


def _stability(data: _Data) -> NDArray[np.float64]:
    return data.most_stable()


def _lscv(data: _Data) -> NDArray[np.float64]:
    d = len(data.scale.spread)
    reference = normal_reference(d, data.scale.total)
    grids = [data.grid(h * reference) for h in LSCV_CANDIDATES]
    losses = [_histogram_loss(grid, grids[0].bandwidth) for grid in grids]
    return data.answer(LSCV_CANDIDATES[int(np.argmin(losses))] * normal_reference(d, data.total))


def _rule(data: _Data) -> NDArray[np.float64]:
    return data.answer(normal_reference(len(data.scale.spread), data.total))


_METHODS: dict[str, Callable[[_Data], NDArray[np.float64]]] = {
    "auto": _auto,
    "stability": _stability,
    "lscv": _lscv,
    "rule": _rule,
}


def separation(modes: Modes) -> float:
    """How far apart clusters are, for their width: the criterion of Calinski and Harabasz.

    Cells count as if their points were all at their mean; crumbs do not count.
    """
    grid, k = modes.grid, large(modes, CRUMB)
    counted = modes.cell_labels < k
    labels, weights = modes.cell_labels[counted], grid.weights[counted]
    places = grid.cells - grid.cells[0] + grid.sums / grid.counts[:, None] * 2.0**-OFFSET_BITS
    places = places[counted]  # in cells: only ratios matter
    sizes = np.bincount(labels, weights)
    sums = np.stack([np.bincount(labels, weights * x) for x in places.T], axis=1)
    centres = sums / sizes[:, None]
    middle = sums.sum(axis=0) / sizes.sum()
    between = float((sizes @ (centres - middle) ** 2).sum()) / (k - 1)
    within = float((weights @ (places - centres[labels]) ** 2).sum())
    return between / within * max(sizes.sum() - k, 1.0) if within > 0 else math.inf


def _histogram_loss(grid: Grid, side: NDArray[np.float64]) -> float:
    """Estimate the squared error of the counts as a density, up to a constant, leaving one out.

    Per volume of a cell of sides `side`.
    """
    n = max(float(grid.total), 2.0)
    squares = float(np.square(grid.weights / n).sum())
    return (2 - (n + 1) * squares) / ((n - 1) * float(np.prod(grid.bandwidth / side)))
