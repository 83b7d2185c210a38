"""MeanShift++ as a scikit-learn estimator.

Nothing is computed here. `fit` bins the points into a grid and searches it, `partial_fit` adds
another chunk's grid to the one it has, `predict` looks labels up; the work is in `grid` and
`modes`. What is left is scikit-learn's contract: parameters checked as declared, fitted names with
an underscore, tables in, and a bandwidth if none is given.
"""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from sklearn.base import ClusterMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from meanshiftpp._support.checks import MAX_RESOLUTION, as_bandwidth
from meanshiftpp._support.devices import module_of
from meanshiftpp.bandwidth.choice import select_bandwidth
from meanshiftpp.core.grid import Periodic, bin_points
from meanshiftpp.core.modes import Modes, fine_cells, fit_labels, seek
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

__all__ = ["MeanShiftPP"]


class MeanShiftPP(ClusterMixin, Estimator):  # type: ignore[misc]
    """Cluster by mode seeking on a grid, without choosing the number of clusters.

    Parameters
    ----------
    bandwidth : float or array-like of shape (n_features,), default=None
        Side of a grid cell, one for all features or one for each. A point is drawn to the mean of
        the 3 x 3 x ... cells around it, so a window is three bandwidths wide. ``None`` chooses
        one for each feature by `select_bandwidth`.
    resolution : int, default=1
        Cells the window reaches to every side. 1 is the paper's. With r, a cell is 3 / (2 r + 1) of
        the bandwidth and the window 2 r + 1 cells wide: still three bandwidths, but better centred
        on its points, so that less depends on where the cells begin. With 4, a fit takes 2 to 13
        times as long.
    periodic : sequence of n_features periods, each a number or None, default=None
        After how much a feature comes back to where it was: 360 for a longitude in degrees, 1 for
        a hue. The bandwidth is changed to the nearest that divides the period evenly, and centres
        are between 0 and the period.
    tol : float, default=1e-3
        Stop once the points together moved less than this in one step, in bandwidths.
    max_iter : int, default=300
        Largest number of steps. A search that needs more ends with a ``ConvergenceWarning``.
    cluster_all : bool, default=True
        What `predict` does with a point that is neither in an occupied cell nor next to one: the
        nearest mode's label, or -1 where this is false.
    min_cluster_size : float, default=1
        Clusters of smaller weight (fewer points, where there are no weights) are noise: label -1,
        and no mode. The default keeps every cluster, whatever its weight.
    n_jobs : int, default=None
        Number of threads. ``None`` takes all cores this process may use (``OMP_NUM_THREADS``
        lowers that): the result is the same for every number of them. Negative numbers count
        from the end, as in joblib: -1 is all cores, -2 leaves one free.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,), int32
        Label of each point of `fit`, or of the last chunk of `partial_fit`: 0 is the heaviest
        cluster, -1 is noise.
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        The modes.
    cluster_weights_ : ndarray of shape (n_clusters,)
        Weight of each cluster, which without weights is its number of points.
    n_iter_ : int
        Steps the search took.
    bandwidth_ : ndarray of shape (n_features,), float64
        The bandwidth of each feature: a third of the window's width.
    grid_ : Grid
        All that is kept of the data. Its cells are smaller than `bandwidth_` where `resolution` is
        more than 1.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, where the input had names.

    See Also
    --------
    Grid : the same in two steps, for data that comes in parts: add up grids, then `seek`.

    Notes
    -----
    This is Algorithm 2 of Jang and Jiang, *MeanShift++: Extremely Fast Mode-Seeking With
    Applications to Segmentation and Object Tracking* (CVPR 2021). An integer weight counts
    exactly as that many equal points. Numbers keep their type: nothing is copied or converted
    before the points are binned.

    Examples
    --------
    >>> from meanshiftpp import MeanShiftPP
    >>> X = [[1, 1], [1, 2], [2, 1], [8, 8], [9, 8]]
    >>> model = MeanShiftPP(bandwidth=2).fit(X)
    >>> model.labels_
    array([0, 0, 0, 1, 1], dtype=int32)
    >>> model.cluster_weights_
    array([3., 2.])
    >>> model.predict([[1.5, 1.5], [7, 9]])
    array([0, 1], dtype=int32)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **CONSTRAINTS,
        "resolution": [Interval(Integral, 1, MAX_RESOLUTION, closed="both")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "cluster_all": ["boolean"],
        "min_cluster_size": [Interval(Real, 1, None, closed="left")],
    }

    def __init__(
        self,
        bandwidth: float | ArrayLike | None = None,
        *,
        resolution: int = 1,
        periodic: Periodic = None,
        tol: float = 1e-3,
        max_iter: int = 300,
        cluster_all: bool = True,
        min_cluster_size: float = 1,
        n_jobs: int | None = None,
    ) -> None:
        self.bandwidth = bandwidth
        self.resolution = resolution
        self.periodic = periodic
        self.tol = tol
        self.max_iter = max_iter
        self.cluster_all = cluster_all
        self.min_cluster_size = min_cluster_size
        self.n_jobs = n_jobs

    @parameters_checked  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: object = None, sample_weight: ArrayLike | None = None) -> Self:
        """Find the modes of `X` and label its points.

        Parameters
        ----------
        X : array-like or table of shape (n_samples, n_features)
            Numbers of any width, in any memory order.
        y : ignored
            For scikit-learn's pipelines.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights, not negative. For an automatic bandwidth they count as numbers of points, so
            scale up weights that sum to 1.

        Returns
        -------
        self : MeanShiftPP
            The fitted estimator.
        """
        X = checked_points(self, X, reset=True)
        weight = checked_weight(sample_weight, len(X))
        bandwidth = self._bandwidth(X, weight)
        modes, labels = fit_labels(
            X,
            bandwidth,
            resolution=self.resolution,
            periodic=self.periodic,
            sample_weight=weight,
            tol=self.tol,
            max_iter=self.max_iter,
            min_weight=self._least_weight(),
            cluster_all=self.cluster_all,
            n_threads=threads_of(self.n_jobs),
        )
        return self._keep(modes, labels, bandwidth)

    @parameters_checked  # type: ignore[untyped-decorator]
    def partial_fit(self, X: Any, y: object = None, sample_weight: ArrayLike | None = None) -> Self:
        """Add a chunk of points and find the modes of all seen so far.

        The modes after the last chunk are exactly those of one `fit` to all of them, in any
        order. A bandwidth of ``None`` is settled by the first chunk that has points. A chunk of
        no points, or of points of no weight, changes nothing.

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
        self : MeanShiftPP
            The estimator; `labels_` are those of this chunk.
        """
        started = hasattr(self, "grid_")
        X = checked_points(self, X, reset=not started, ensure_min_samples=0)
        if len(X) == 0:
            self.labels_ = module_of(X).empty(0, np.int32)
            return self
        weight = checked_weight(sample_weight, len(X), some=False)
        threads = threads_of(self.n_jobs)
        if weight is not None and not weight.any():
            self.labels_ = self.predict(X) if started else module_of(X).full(len(X), -1, np.int32)
            return self
        settled = started and self.bandwidth is None
        bandwidth = self.bandwidth_ if settled else self._bandwidth(X, weight)
        fine, period = fine_cells(bandwidth, self.periodic, X.shape[1], self.resolution)
        grid, _ = bin_points(X, fine, period=period, sample_weight=weight, n_threads=threads)
        if started:
            grid = self.grid_ + grid
        modes = seek(
            grid,
            resolution=self.resolution,
            tol=self.tol,
            max_iter=self.max_iter,
            n_threads=threads,
        )
        modes = modes.keep(self._least_weight())
        labels = modes.label(X, cluster_all=self.cluster_all, n_threads=threads)
        return self._keep(modes, labels, bandwidth)

    def fit_predict(
        self, X: Any, y: object = None, sample_weight: ArrayLike | None = None
    ) -> NDArray[np.int32]:
        """Fit to `X` and return the labels of its points.

        Parameters
        ----------
        X : array-like or table of shape (n_samples, n_features)
            The points.
        y : ignored
            For scikit-learn's pipelines.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights, not negative.

        Returns
        -------
        labels : ndarray of shape (n_samples,), int32
            The same as `labels_`.
        """
        labels: NDArray[np.int32] = self.fit(X, sample_weight=sample_weight).labels_
        return labels

    def predict(self, X: Any) -> NDArray[np.int32]:
        """Label points by the basin they lie in.

        A point in an occupied cell gets that cell's label; next to occupied cells, that of the
        heaviest of them; elsewhere the nearest mode's, or -1 where `cluster_all` is false.

        Parameters
        ----------
        X : array-like or table of shape (n_samples, n_features)
            The points.

        Returns
        -------
        labels : ndarray of shape (n_samples,), int32
            The labels.
        """
        check_is_fitted(self, "grid_")
        points, threads = checked_points(self, X, reset=False), threads_of(self.n_jobs)
        return self._modes.label(points, cluster_all=self.cluster_all, n_threads=threads)

    def _bandwidth(self, X: NDArray[Any], weight: NDArray[Any] | None) -> NDArray[np.float64]:
        if self.bandwidth is not None:
            return as_bandwidth(self.bandwidth, X.shape[1])
        return select_bandwidth(X, sample_weight=weight, n_threads=threads_of(self.n_jobs))

    def _least_weight(self) -> float:
        """Give the weight under which a cluster is noise; by default none is."""
        return float(self.min_cluster_size) if self.min_cluster_size > 1 else 0.0

    def _keep(
        self, modes: Modes, labels: NDArray[np.int32], bandwidth: NDArray[np.float64]
    ) -> Self:
        """Take the result over, all at once: what failed before leaves the last fit as it was."""
        if not modes.converged:
            warnings.warn(
                f"MeanShiftPP still moved after {modes.n_iter} iterations. "
                f"Raise max_iter (now {self.max_iter}) or tol (now {self.tol}).",
                ConvergenceWarning,
                stacklevel=4,
            )
        self._modes = modes
        self.labels_ = labels
        self.cluster_centers_ = modes.centers
        self.cluster_weights_ = modes.weights
        self.n_iter_ = modes.n_iter
        self.grid_ = modes.grid
        self.bandwidth_ = np.where(modes.grid.period > 0, modes.bandwidth, bandwidth)
        return self
