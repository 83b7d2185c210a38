"""The density of a grid, counts over total and volume: the estimator of the paper's theorem.

A fit is one pass over the data, in chunks if needed, and keeps only a grid. Everything before the
logarithm is a whole number, so the density integrates to 1 exactly and depends on neither the
number of threads nor the order of the points.
"""

from __future__ import annotations

import math
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from sklearn.base import DensityMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from meanshiftpp._kernel import MAX_REACH
from meanshiftpp._support.checks import (
    Periodic,
    Weights,
    as_bandwidth,
    as_periods,
    as_points,
    as_whole,
    check_window_fits,
    divide_periods,
    has_periods,
    is_number,
    thread_count,
)
from meanshiftpp._support.devices import device_of, module_of
from meanshiftpp.backends import backend_of
from meanshiftpp.core.grid import Grid
from meanshiftpp.core.periods import unwrapped
from meanshiftpp.core.scale import (
    check_spread,
    normal_reference,
    normal_root,
    outlier_limits,
    scale_of_points,
)
from meanshiftpp.core.window import window_width
from meanshiftpp.errors import InvalidInputError
from meanshiftpp.estimators.base import (
    CONSTRAINTS,
    Estimator,
    Interval,
    checked_points,
    checked_weight,
    columns_named,
    parameters_checked,
    threads_of,
)

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["GridDensity", "density_bandwidth"]


class GridDensity(DensityMixin, Estimator):  # type: ignore[misc]
    """Estimate a density by counting the points in the cells of a grid.

    The density at x is the share of the points (of the weight) that lie in the cell of x, divided
    by the volume of a cell. At a `resolution` of r a window of (2r+1) x (2r+1) x ... smaller cells,
    with the cell of x in the middle, replaces the cell. The paper's estimator is
    ``GridDensity(resolution=0)``.

    Parameters
    ----------
    bandwidth : float or array-like of shape (n_features,), default=None
        Width of the window in which points are counted, one for all features or one for each.
        ``None`` computes `density_bandwidth` from the data.
    resolution : int, default=None
        The window consists of ``2 * resolution + 1`` cells along each feature. 0 is the paper's
        estimator, a histogram. A higher resolution makes the estimate smoother and less dependent
        on the origin of the cells, and keeps more cells. ``None`` is 16, 8 and 4 for one, two and
        three features, 2 for four and five, and 1 for more.
    periodic : float or sequence of n_features periods, each a number or None, default=None
        The period of all features or of each, in their unit: 360 for an angle in degrees. The cell
        size is changed to the nearest value that divides the period.
    smoothness : float, default=1.0
        Assumed smoothness of the density, as exponent of its Hölder condition, above 0 and up to
        1. Used only if `bandwidth` is ``None``.
    n_jobs : int, default=None
        Number of threads, as in `MeanShiftPP`. The result does not depend on it.

    Attributes
    ----------
    bandwidth_ : ndarray of shape (n_features,), float64
        Width of the window along each feature.
    resolution_ : int
        The resolution of the fit.
    grid_ : Grid
        The grid of the data; the points themselves are not stored. Its cells have the size
        ``bandwidth_ / (2 * resolution_ + 1)``.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, if the input has names.

    See Also
    --------
    MeanShiftPP : climbs this density. Its windows are three bandwidths wide, so
        ``MeanShiftPP(h, resolution=r)`` climbs ``GridDensity(3 * h, resolution=r)``.

    Notes
    -----
    The estimator of the theorem of Jang and Jiang, *MeanShift++: Extremely Fast Mode-Seeking With
    Applications to Segmentation and Object Tracking* (CVPR 2021). Where the window is empty, the
    density is 0 and its logarithm ``-inf``; with a floor it would not integrate to 1.

    Examples
    --------
    >>> import numpy as np
    >>> from meanshiftpp import GridDensity
    >>> X = [[0.1], [0.2], [0.3], [0.9]]
    >>> model = GridDensity(bandwidth=0.5).fit(X)
    >>> np.exp(model.score_samples([[0.0], [0.6], [5.0]]))
    array([1., 0., 0.])
    >>> histogram = GridDensity(bandwidth=0.5, resolution=0).fit(X)
    >>> np.exp(histogram.score_samples([[0.0], [0.6], [5.0]]))
    array([1.5, 0.5, 0. ])
    >>> model.sample(3, random_state=0).shape
    (3, 1)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **CONSTRAINTS,
        "resolution": [Interval(Integral, 0, MAX_REACH, closed="both"), None],
        "smoothness": [Interval(Real, 0, 1, closed="right")],
    }

    def __init__(
        self,
        bandwidth: float | ArrayLike | None = None,
        *,
        resolution: int | None = None,
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
        """Return the density of an existing grid: loaded, merged, or of another fit.

        Parameters
        ----------
        grid : Grid
            A grid that is not empty.
        resolution : int, default=0
            The window is ``2 * resolution + 1`` cells of the grid wide.

        Returns
        -------
        GridDensity
            Fitted, with the window's width as its `bandwidth`.

        Examples
        --------
        >>> import numpy as np
        >>> from meanshiftpp import Grid, GridDensity
        >>> a, b = (Grid.from_points(X, bandwidth=2.0) for X in ([[1.0], [3.0]], [[1.5]]))
        >>> np.exp(GridDensity.from_grid(a + b).score_samples([[0.0]])).round(6)
        array([0.333333])
        """
        if not isinstance(grid, Grid):
            raise InvalidInputError.for_parameter(
                "grid", "a Grid", grid, "GridDensity().fit(X) takes points"
            )
        if len(grid) == 0:
            raise InvalidInputError("an empty grid has no density: bin some points first")
        model = cls(resolution=resolution)
        model._validate_params()
        window = window_width(resolution)
        check_window_fits(grid.cells_per_period, window, "use a lower resolution")
        model.bandwidth = grid.bandwidth * window
        if has_periods(grid.cells_per_period):
            model.periodic = grid.periods
        model.n_features_in_ = grid.n_features
        return model._store(grid)

    @parameters_checked
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
        return self._store(self._binned(X, self._empty(self._window(X, weight)), weight))

    @parameters_checked
    def partial_fit(self, X: Any, y: object = None, sample_weight: ArrayLike | None = None) -> Self:
        """Add a chunk of points to those counted so far.

        After the last chunk the density is exactly that of one `fit` to all chunks, in any order,
        except with real weights, which are rounded chunk by chunk. The first chunk with points
        determines the bandwidth if it is ``None``.

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
        X, weight = _weighted(X, sample_weight, allow_zero=True)
        if len(X) == 0:
            return self
        keep_bandwidth = started and self.bandwidth is None
        empty = self._empty(self.bandwidth_ if keep_bandwidth else self._window(X, weight))
        if not started:
            return self._store(self._binned(X, empty, weight))
        cell_size = self.grid_.bandwidth
        # Dividing the window by its number of cells can change the last bit of the cell size.
        if (np.abs(empty.bandwidth - cell_size) <= 2 * np.spacing(cell_size)).all():
            empty = Grid.of_cells(cell_size, empty.cells_per_period)
        return self._store(self.grid_ + self._binned(X, empty, weight))

    @columns_named
    def score_samples(self, X: Any) -> NDArray[np.float64]:
        """Return the logarithm of the density at each point.

        Parameters
        ----------
        X : array-like or table of shape (n_samples, n_features)
            The points.

        Returns
        -------
        log_density : ndarray of shape (n_samples,), float64
            ``-inf`` if the window of a point is empty.
        """
        check_is_fitted(self, "grid_")
        X = checked_points(self, X, reset=False)
        grid, n_threads = self.grid_.to(device_of(X)), thread_count(threads_of(self.n_jobs))
        xp = module_of(X)
        cell = xp.empty(len(X), np.int32)
        binned, assignment = grid.bin(X, ids=cell, n_threads=n_threads)
        assignment.take(xp.arange(len(binned), dtype=np.int32), cell, cell)
        counts = backend_of(grid.cells).window_counts(
            grid.cells,
            grid.counts,
            binned.cells,
            grid.cells_per_period,
            self.resolution_,
            n_threads,
        )
        with np.errstate(divide="ignore"):
            log_counts = xp.log(counts)
        log_volume = np.log(self.bandwidth_).sum()
        log_density: NDArray[np.float64] = (
            log_counts - math.log(int(grid.counts.sum())) - log_volume
        )
        log_density_of_points: NDArray[np.float64] = log_density[cell]
        return log_density_of_points

    def score(self, X: Any, y: object = None) -> float:
        """Return the log-likelihood of all points together: the sum of `score_samples`.

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

        A cell is drawn by its weight, then a position in the window around it, uniformly.

        Parameters
        ----------
        n_samples : int, default=1
            Number of points.
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
        cumulative = np.cumsum(grid.counts).astype(np.int64)
        drawn = random.randint(0, cumulative[-1], size, dtype=np.int64)
        cells = grid.cells[np.searchsorted(cumulative, drawn, side="right")]
        cells = cells + random.randint(-reach, reach + 1, cells.shape)
        modulus = np.maximum(grid.cells_per_period, 1)
        cells = np.where(grid.cells_per_period > 0, cells % modulus, cells)
        points: NDArray[np.float64] = (cells + random.random_sample(cells.shape)) * grid.bandwidth
        # Rounding can carry a point at an edge into the next cell, which may be empty.
        misplaced = np.floor(points / grid.bandwidth) != cells
        points[misplaced] = ((cells + 0.5) * grid.bandwidth)[misplaced]
        return points

    def _window(self, X: NDArray[Any], weight: Weights | None) -> NDArray[np.float64]:
        if self.bandwidth is not None:
            return as_bandwidth(self.bandwidth, X.shape[1])
        periods = np.array(as_periods(self.periodic, X.shape[1]))
        near = unwrapped(X, weight.values if weight else None, self.periodic)
        h = density_bandwidth(near, weight, resolution=self.resolution, smoothness=self.smoothness)
        return np.where(periods > 0, np.minimum(h, periods), h)

    def _empty(self, window: NDArray[np.float64]) -> Grid:
        """Return the empty grid whose cells make up windows of this width."""
        cells = window_width(_resolution_for(self.resolution, len(window)))
        return Grid.of_cells(*divide_periods(window / cells, self.periodic, cells, 1))

    def _binned(self, X: NDArray[Any], empty: Grid, weight: Weights | None) -> Grid:
        return empty.bin(X, sample_weight=weight, n_threads=threads_of(self.n_jobs))[0]

    def _store(self, grid: Grid) -> Self:
        """Store all fitted attributes at once, so a failed fit leaves the previous one intact."""
        self.grid_ = grid
        self.resolution_ = _resolution_for(self.resolution, grid.n_features)
        self.bandwidth_ = grid.bandwidth * window_width(self.resolution_)
        return self


def density_bandwidth(
    X: ArrayLike,
    sample_weight: ArrayLike | None = None,
    *,
    resolution: int | None = None,
    smoothness: float = 1.0,
) -> NDArray[np.float64]:
    """Return a window width for each feature by a rule of thumb, for `GridDensity`.

    With n points (or their total weight) in d features, feature j of standard deviation s_j gets::

        s_j (12 (2r + 1)^2 (4 pi)^(d/2))^(1 / (2 + d)) n^(-1 / (2a + d))

    with the resolution r and the smoothness a, but at most::

        s_j (576 / (d + 2) (4 pi)^(d/2) / n)^(1 / (4 + d))

    The rate in n is that of the paper's theorem, which does not determine the constant. This
    constant minimises the mean squared error for a normal density: the first line balances the
    variance with the error from points that are not in the middle of the window, the second with
    the error from the width of the window.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        The points.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights, not negative.
    resolution : int, default=None
        The resolution of the density; ``None`` is the default of `GridDensity`.
    smoothness : float, default=1.0
        The Hölder exponent of the density, above 0 and up to 1.

    Returns
    -------
    bandwidth : ndarray of shape (n_features,), float64
        Always positive. A feature that does not vary gets its own magnitude, or 1.

    Examples
    --------
    >>> import numpy as np
    >>> from meanshiftpp import density_bandwidth
    >>> X = np.random.default_rng(0).normal(0, [1, 10], (10_000, 2))
    >>> density_bandwidth(X).round(2)
    array([0.75, 7.5 ])
    >>> density_bandwidth(X, resolution=0).round(2)
    array([0.35, 3.49])
    """
    if not is_number(smoothness) or not 0 < smoothness <= 1:
        raise InvalidInputError.for_parameter(
            "smoothness", "a number above 0 and up to 1", smoothness
        )
    if resolution is not None:
        resolution = as_whole(resolution, "resolution", 0, MAX_REACH)
    points, weight = _weighted(as_points(X), sample_weight)
    values = weight.values if weight else None
    scale = scale_of_points(points, values, outlier_limits(points, values))
    check_spread(scale, points)
    d, n = points.shape[1], max(scale.total, 1.0)
    finer = window_width(_resolution_for(resolution, d)) ** (2 / (2 + d))
    factor = normal_reference(d, 1) * finer * n ** (-1 / (2 * smoothness + d))
    at_most = normal_root(576 / (d + 2), d, n, 4 + d)
    return scale.bandwidth(min(factor, at_most))


def _resolution_for(resolution: int | None, n_features: int) -> int:
    """Return the resolution of a density, by default that for its number of features.

    The defaults reach the error of a kernel estimate within about 10 %; twice the resolution would
    gain at most 5 %. More than 4096 cells in a window would take too long, and the GPU passes such
    windows to the CPU.
    """
    if resolution is not None:
        return resolution
    return {1: 16, 2: 8, 3: 4, 4: 2, 5: 2}.get(n_features, 1)


def _weighted(
    X: NDArray[Any], sample_weight: ArrayLike | None, *, allow_zero: bool = False
) -> tuple[NDArray[Any], Weights | None]:
    """Check weights and leave out the points of zero weight."""
    weight = checked_weight(sample_weight, X, allow_zero=allow_zero)
    if weight is None or (positive := weight.counts > 0).all():
        return X, weight
    return X[positive], weight.take(positive)
