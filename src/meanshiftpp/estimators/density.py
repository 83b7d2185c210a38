"""The density of a grid, counts over total and volume: the estimator of the paper's theorem.

Cells add up, so densities do: one pass over the data, chunk by chunk if need be, and what is kept
is a grid. Everything up to the logarithm is a whole number, so the density integrates to 1 exactly
and depends on neither threads nor order.
"""

from __future__ import annotations

import math
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from sklearn.base import DensityMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from meanshiftpp._support.checks import (
    MAX_RESOLUTION,
    as_bandwidth,
    as_periods,
    as_weights,
    as_whole,
    refuse_short_periods,
    snap,
    thread_count,
)
from meanshiftpp._support.devices import as_array, beside, device_of, module_of
from meanshiftpp.backends import backend_of
from meanshiftpp.bandwidth.spread import normal_reference, reach_of, scale_of_points
from meanshiftpp.core.grid import Grid, Periodic, bin_points
from meanshiftpp.errors import InvalidInputError
from meanshiftpp.estimators.base import (
    CONSTRAINTS,
    Estimator,
    Interval,
    checked_points,
    checked_weight,
    parameters_checked,
    threads_of,
)

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["GridDensity", "density_bandwidth"]


class GridDensity(DensityMixin, Estimator):  # type: ignore[misc]
    """Estimate a density by counting the points in the cells of a grid.

    The density at x is the share of the points (of the weight) that lie in the cell of x, divided
    by the volume of a cell. With a `resolution` of r the cell is a window of (2r+1) x (2r+1) x ...
    smaller cells, the one of x in the middle.

    Parameters
    ----------
    bandwidth : float or array-like of shape (n_features,), default=None
        Side of the window that points are counted in, one for all features or one for each.
        ``None`` takes `density_bandwidth` of the data.
    resolution : int, default=0
        The window is made of ``2 * resolution + 1`` cells along each feature. 0 is the paper's
        estimator, a histogram. More makes the estimate smoother and less dependent on where cells
        start, for more cells to keep.
    periodic : sequence of n_features periods, each a number or None, default=None
        After how much a feature comes back to where it was, in its own unit: 360 for an angle in
        degrees. The cells are changed to the nearest size of which a whole number fits.
    smoothness : float, default=1.0
        How smooth the density is thought to be, as exponent of its Hölder condition, above 0 and
        up to 1. Used only where `bandwidth` is ``None``.
    n_jobs : int, default=None
        Number of threads, as in `MeanShiftPP`; the result does not depend on it.

    Attributes
    ----------
    bandwidth_ : ndarray of shape (n_features,), float64
        Side of the window along each feature.
    resolution_ : int
        The resolution of the fit.
    grid_ : Grid
        All that is kept of the data: the cells, of side ``bandwidth_ / (2 * resolution_ + 1)``.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, where the input had names.

    See Also
    --------
    MeanShiftPP : climbs this density. Its windows are three bandwidths wide, so
        ``MeanShiftPP(h, resolution=r)`` climbs ``GridDensity(3 * h, resolution=r)``.

    Notes
    -----
    The estimator of the theorem of Jang and Jiang, *MeanShift++: Extremely Fast Mode-Seeking With
    Applications to Segmentation and Object Tracking* (CVPR 2021). Where no point is near, the
    density is 0 and its logarithm ``-inf``: there is no floor, for with one it would not integrate
    to 1.

    Examples
    --------
    >>> import numpy as np
    >>> from meanshiftpp import GridDensity
    >>> model = GridDensity(bandwidth=0.5).fit([[0.1], [0.2], [0.3], [0.9]])
    >>> np.exp(model.score_samples([[0.0], [0.7], [5.0]]))
    array([1.5, 0.5, 0. ])
    >>> model.sample(3, random_state=0).shape
    (3, 1)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **CONSTRAINTS,
        "resolution": [Interval(Integral, 0, MAX_RESOLUTION, closed="both")],
        "smoothness": [Interval(Real, 0, 1, closed="right")],
    }

    def __init__(
        self,
        bandwidth: float | ArrayLike | None = None,
        *,
        resolution: int = 0,
        periodic: Periodic = None,
        smoothness: float = 1.0,
        n_jobs: int | None = None,
    ) -> None:
        self.bandwidth = bandwidth
        self.resolution = resolution
        self.periodic = periodic
        self.smoothness = smoothness
        self.n_jobs = n_jobs

    @classmethod
    def from_grid(cls, grid: Grid, *, resolution: int = 0) -> Self:
        """Take the density of a grid that is there already: loaded, merged, or of another fit.

        Parameters
        ----------
        grid : Grid
            Not empty. Its cells are those of the window.
        resolution : int, default=0
            The window is ``2 * resolution + 1`` cells of the grid wide.

        Returns
        -------
        GridDensity
            Fitted, with the window's side as its `bandwidth`.

        Examples
        --------
        >>> import numpy as np
        >>> from meanshiftpp import Grid, GridDensity
        >>> a, b = (Grid.from_points(X, bandwidth=2.0) for X in ([[1.0], [3.0]], [[1.5]]))
        >>> np.exp(GridDensity.from_grid(a + b).score_samples([[0.0]])).round(6)
        array([0.333333])
        """
        if len(grid) == 0:
            raise InvalidInputError("an empty grid has no density: bin some points first")
        model = cls(resolution=resolution)
        model._validate_params()
        window, period = 2 * resolution + 1, grid.period
        refuse_short_periods(period, window, "take a lower resolution")
        model.bandwidth = grid.bandwidth * window
        if period.any():
            lengths = zip(period, grid.bandwidth, strict=True)
            model.periodic = [float(k * h) if k else None for k, h in lengths]
        model.n_features_in_ = grid.n_features
        return model._keep(grid)

    @parameters_checked  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: object = None, sample_weight: ArrayLike | None = None) -> Self:
        """Count the points of `X`.

        Parameters
        ----------
        X : array-like or table of shape (n_samples, n_features)
            Numbers of any width, in any memory order.
        y : ignored
            For scikit-learn's pipelines.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights, not negative. A whole weight counts as that many equal points, 0 as none.

        Returns
        -------
        self : GridDensity
            The fitted estimator.
        """
        X, weight = _weighted(checked_points(self, X, reset=True), sample_weight)
        return self._keep(self._binned(X, *self._cells(self._window(X, weight)), weight))

    @parameters_checked  # type: ignore[untyped-decorator]
    def partial_fit(self, X: Any, y: object = None, sample_weight: ArrayLike | None = None) -> Self:
        """Add a chunk of points to those counted so far.

        After the last chunk the density is exactly that of one `fit` to all of them, in any order,
        unless there are real weights, which are rounded chunk by chunk. A bandwidth of ``None`` is
        settled by the first chunk that has points.

        Parameters
        ----------
        X : array-like or table of shape (n_samples, n_features)
            The chunk. It may have no rows.
        y : ignored
            For scikit-learn's pipelines.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights, not negative.

        Returns
        -------
        self : GridDensity
            The estimator.
        """
        started = hasattr(self, "grid_")
        X = checked_points(self, X, reset=not started, ensure_min_samples=0)
        X, weight = _weighted(X, sample_weight, some=False)
        if len(X) == 0:
            return self
        settled = started and self.bandwidth is None
        side, period = self._cells(self.bandwidth_ if settled else self._window(X, weight))
        if not started:
            return self._keep(self._binned(X, side, period, weight))
        there = self.grid_.bandwidth
        if (np.abs(side - there) <= 2 * np.spacing(there)).all():
            side = there  # from the window to its cells, the last bit can differ
        return self._keep(self.grid_ + self._binned(X, side, period, weight))

    def score_samples(self, X: Any) -> NDArray[np.float64]:
        """Give the logarithm of the density at each point.

        Parameters
        ----------
        X : array-like or table of shape (n_samples, n_features)
            The points.

        Returns
        -------
        log_density : ndarray of shape (n_samples,), float64
            ``-inf`` where the window of a point is empty.
        """
        check_is_fitted(self, "grid_")
        X = checked_points(self, X, reset=False)
        grid, threads = self.grid_.to(device_of(X)), threads_of(self.n_jobs)
        xp = module_of(X)
        place = xp.empty(len(X), np.int32)
        seen, assignment = bin_points(
            X, grid.bandwidth, period=grid.period, ids=place, n_threads=threads
        )
        assignment.take(xp.arange(len(seen), dtype=np.int32), place, place)
        around = grid.period, self.resolution_, thread_count(threads)
        backend = backend_of(grid.cells)
        counts = backend.window_counts(grid.cells, grid.counts, seen.cells, *around)
        with np.errstate(divide="ignore"):
            log_counts = xp.log(counts)
        log_volume = np.log(self.bandwidth_).sum()
        log_density: NDArray[np.float64] = (
            log_counts - math.log(int(grid.counts.sum())) - log_volume
        )
        found: NDArray[np.float64] = log_density[place]
        return found

    def score(self, X: Any, y: object = None) -> float:
        """Give the log-likelihood of all points together: the sum of `score_samples`.

        Parameters
        ----------
        X : array-like or table of shape (n_samples, n_features)
            The points.
        y : ignored
            For scikit-learn's pipelines.

        Returns
        -------
        log_likelihood : float
            ``-inf`` if any point has a density of 0.
        """
        return float(self.score_samples(X).sum())

    def sample(self, n_samples: Any = 1, random_state: Any = None) -> NDArray[np.float64]:
        """Draw points from the density, exactly.

        A cell is drawn by its weight, then a place in the window around it, all equally likely.

        Parameters
        ----------
        n_samples : int, default=1
            How many.
        random_state : int, RandomState instance or None, default=None
            As everywhere in scikit-learn.

        Returns
        -------
        X : ndarray of shape (n_samples, n_features), float64
            The points.
        """
        check_is_fitted(self, "grid_")
        size = as_whole(n_samples, "n_samples", 0)
        random, reach = check_random_state(random_state), self.resolution_
        grid = self.grid_.to("cpu")
        upto = np.cumsum(grid.counts).astype(np.int64)
        drawn = random.randint(0, upto[-1], size, dtype=np.int64)
        cells = grid.cells[np.searchsorted(upto, drawn, side="right")]
        cells = cells + random.randint(-reach, reach + 1, cells.shape)
        cells = np.where(grid.period > 0, cells % np.maximum(grid.period, 1), cells)
        points: NDArray[np.float64] = (cells + random.random_sample(cells.shape)) * grid.bandwidth
        # Rounding can carry a point at an edge into the next cell, where there may be nothing.
        astray = np.floor(points / grid.bandwidth) != cells
        points[astray] = ((cells + 0.5) * grid.bandwidth)[astray]
        return points

    def _window(self, X: NDArray[Any], weight: NDArray[Any] | None) -> NDArray[np.float64]:
        if self.bandwidth is not None:
            return as_bandwidth(self.bandwidth, X.shape[1])
        h = density_bandwidth(X, weight, resolution=self.resolution, smoothness=self.smoothness)
        period = np.array(as_periods(self.periodic, X.shape[1]))
        return np.where(period > 0, np.minimum(h, period), h)

    def _cells(self, window: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Give the side of the cells a window is made of, and how many there are in each period."""
        cells = 2 * self.resolution + 1
        return snap(window / cells, self.periodic, len(window), window=cells)

    def _binned(
        self,
        X: NDArray[Any],
        side: NDArray[np.float64],
        period: NDArray[np.int64],
        weight: NDArray[Any] | None,
    ) -> Grid:
        threads = threads_of(self.n_jobs)
        return bin_points(X, side, period=period, sample_weight=weight, n_threads=threads)[0]

    def _keep(self, grid: Grid) -> Self:
        """Take the result over, all at once: what failed before leaves the last fit as it was."""
        self.grid_ = grid
        self.resolution_ = self.resolution
        self.bandwidth_ = grid.bandwidth * (2 * self.resolution + 1)
        return self


def density_bandwidth(
    X: ArrayLike,
    sample_weight: ArrayLike | None = None,
    *,
    resolution: int = 0,
    smoothness: float = 1.0,
) -> NDArray[np.float64]:
    """Give the side of a window for each feature by a rule of thumb, for `GridDensity`.

    With n points (or their total weight) in d features, feature j of standard deviation s_j gets::

        s_j (12 (2r + 1)^2 (4 pi)^(d/2))^(1 / (2 + d)) n^(-1 / (2a + d))

    where r is the resolution and a the smoothness, but at most::

        s_j (576 / (d + 2) (4 pi)^(d/2) / n)^(1 / (4 + d))

    The rate in n is that of the paper's theorem. The constant, which a theorem cannot give, is the
    one with the least mean squared error for a normal density: the first line balances the
    variance with the error from not being in the middle of the window, the second with that of
    the window's width.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        The points.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights, not negative.
    resolution : int, default=0
        That of the density.
    smoothness : float, default=1.0
        The Hölder exponent of the density, above 0 and up to 1.

    Returns
    -------
    bandwidth : ndarray of shape (n_features,), float64
        Always positive. A feature that does not vary gets its own magnitude, or 1.

    Examples
    --------
    >>> import numpy as np
    >>> from meanshiftpp.estimators.density import density_bandwidth
    >>> density_bandwidth(np.random.default_rng(0).normal(0, [1, 10], (10_000, 2))).round(2)
    array([0.35, 3.49])
    """
    points, weight = _weighted(as_array(X), sample_weight)
    scale = scale_of_points(points, weight, reach_of(points, weight))
    d, n = points.shape[1], max(scale.total, 1.0)
    finer = (2 * resolution + 1) ** (2 / (2 + d))
    factor = normal_reference(d, 1) * finer * n ** (-1 / (2 * smoothness + d))
    at_most = (576 / (d + 2) * (4 * math.pi) ** (d / 2) / n) ** (1 / (4 + d))
    return scale.bandwidth(min(factor, at_most))


def _weighted(
    X: NDArray[Any], sample_weight: ArrayLike | None, *, some: bool = True
) -> tuple[NDArray[Any], NDArray[Any] | None]:
    """Check weights, and leave out the points of no weight: they are as if not there."""
    weight = checked_weight(sample_weight, len(X), some=some)
    if weight is None:
        return X, None
    weight = beside(X, weight)
    as_weights(weight, len(X))
    counted = weight > 0
    return (X, weight) if counted.all() else (X[counted], weight[counted])
