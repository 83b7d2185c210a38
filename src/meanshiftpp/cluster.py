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
from joblib import effective_n_jobs
from sklearn.base import BaseEstimator, ClusterMixin, _fit_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted, validate_data

from meanshiftpp.errors import InvalidInputError
from meanshiftpp.grid import Grid
from meanshiftpp.modes import Modes, fit_labels, seek

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["MeanShiftPP", "normal_reference"]

BLOCK = 1 << 16  # rows whose moments are taken at a time: the rule makes no copy of the data


class MeanShiftPP(ClusterMixin, BaseEstimator):  # type: ignore[misc]
    """Cluster by mode seeking on a grid, without choosing the number of clusters.

    Parameters
    ----------
    bandwidth : float or array-like of shape (n_features,), default=None
        Side of a grid cell, one for all features or one for each. A point is drawn to the mean of
        the 3 x 3 x ... cells around it, so a window is three bandwidths wide. ``None`` takes
        `normal_reference` of the data: a fair start for features that are roughly bell-shaped
        within a cluster, no more.
    tol : float, default=1e-3
        Stop once the points together moved less than this in one step, in cells.
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
        The bandwidth of each feature.
    grid_ : Grid
        All that is kept of the data.
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
        "bandwidth": [Interval(Real, 0, None, closed="neither"), "array-like", None],
        "tol": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "cluster_all": ["boolean"],
        "min_cluster_size": [Interval(Real, 1, None, closed="left")],
        "n_jobs": [
            Interval(Integral, 1, None, closed="left"),
            Interval(Integral, None, -1, closed="right"),
            None,
        ],
    }

    def __init__(
        self,
        bandwidth: float | ArrayLike | None = None,
        *,
        tol: float = 1e-3,
        max_iter: int = 300,
        cluster_all: bool = True,
        min_cluster_size: float = 1,
        n_jobs: int | None = None,
    ) -> None:
        self.bandwidth = bandwidth
        self.tol = tol
        self.max_iter = max_iter
        self.cluster_all = cluster_all
        self.min_cluster_size = min_cluster_size
        self.n_jobs = n_jobs

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: object = None, sample_weight: ArrayLike | None = None) -> Self:
        """Find the modes of `X` and label its points.

        Parameters
        ----------
        X : array-like or table of shape (n_samples, n_features)
            Numbers of any width, in any memory order.
        y : ignored
            For scikit-learn's pipelines.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights, not negative.

        Returns
        -------
        self : MeanShiftPP
            The fitted estimator.
        """
        X = self._checked(X, reset=True)
        weight = _checked_weight(sample_weight, len(X))
        modes, labels = fit_labels(
            X,
            self._bandwidth(X, weight),
            sample_weight=weight,
            tol=self.tol,
            max_iter=self.max_iter,
            n_threads=self._threads(),
        )
        if weight is not None and not self.cluster_all:
            idle = np.flatnonzero(weight == 0)  # these made no cell: they are as new points
            if idle.size:
                labels[idle] = modes.label(X[idle], cluster_all=False)
        return self._keep(modes, labels)

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def partial_fit(self, X: Any, y: object = None, sample_weight: ArrayLike | None = None) -> Self:
        """Add a chunk of points and find the modes of all seen so far.

        The modes after the last chunk are exactly those of one `fit` to all of them, in any
        order. A bandwidth of ``None`` is settled by the first chunk that has points. A chunk of
        no points changes nothing.

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
        X = self._checked(X, reset=not started, ensure_min_samples=0)
        if len(X) == 0:
            self.labels_ = np.empty(0, np.int32)
            return self
        weight, threads = _checked_weight(sample_weight, len(X)), self._threads()
        settled = started and self.bandwidth is None
        bandwidth = self.bandwidth_ if settled else self._bandwidth(X, weight)
        grid = Grid.from_points(X, bandwidth, sample_weight=weight, n_threads=threads)
        if started:
            grid = self.grid_ + grid
        modes = seek(grid, tol=self.tol, max_iter=self.max_iter, n_threads=threads)
        return self._keep(modes, modes.label(X, cluster_all=self.cluster_all, n_threads=threads))

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
        self.fit(X, sample_weight=sample_weight)
        return self.labels_

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
        X = self._checked(X, reset=False)
        return self._modes.label(X, cluster_all=self.cluster_all, n_threads=self._threads())

    def _checked(self, X: Any, **how: Any) -> NDArray[Any]:
        """Check shape, names and type; NaN and infinity the kernel finds in the pass it makes."""
        checked: NDArray[Any] = validate_data(self, X, ensure_all_finite=False, **how)
        return checked

    def _bandwidth(self, X: NDArray[Any], weight: NDArray[Any] | None) -> Any:
        return normal_reference(X, weight) if self.bandwidth is None else self.bandwidth

    def _threads(self) -> int | None:
        return None if self.n_jobs is None else int(effective_n_jobs(self.n_jobs))

    def _keep(self, modes: Modes, labels: NDArray[np.int32]) -> Self:
        """Take the result over, all at once: what failed before leaves the last fit as it was."""
        if not modes.converged:
            warnings.warn(
                f"MeanShiftPP still moved after {modes.n_iter} iterations. "
                f"Raise max_iter (now {self.max_iter}) or tol (now {self.tol}).",
                ConvergenceWarning,
                stacklevel=4,
            )
        if self.min_cluster_size > 1:
            modes = modes.keep(self.min_cluster_size)
            labels[labels >= len(modes.centers)] = -1  # labels are ordered by weight
        self._modes = modes
        self.labels_ = labels
        self.cluster_centers_ = modes.centers
        self.cluster_weights_ = modes.weights
        self.n_iter_ = modes.n_iter
        self.grid_ = modes.grid
        self.bandwidth_ = modes.grid.bandwidth
        return self


def normal_reference(X: ArrayLike, sample_weight: ArrayLike | None = None) -> NDArray[np.float64]:
    """Give a bandwidth for each feature by a rule of thumb.

    With n points (or their total weight) in d features, feature j of standard deviation s_j gets::

        0.45 s_j (4 / ((d + 4) n))^(1 / (d + 6)) sqrt(d + 4) / 1.5

    That is the bandwidth best for the gradient of a normal density, converted to a window of
    three cells, and narrowed by 0.45, because data worth clustering is not one normal bump. The
    choice is rounded to 24 bits, so that neither the order of the rows nor a weight written as
    repetition changes it.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        The points.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights, not negative.

    Returns
    -------
    bandwidth : ndarray of shape (n_features,), float64
        Always positive. A feature that does not vary is in one cell at any bandwidth, and gets
        its own magnitude, or 1.

    Examples
    --------
    >>> import numpy as np
    >>> from meanshiftpp.cluster import normal_reference
    >>> normal_reference(np.random.default_rng(0).normal([0, 50], [1, 10], (10_000, 2))).round(2)
    array([0.22, 2.2 ])
    """
    X = np.asarray(X)
    weight = None if sample_weight is None else np.asarray(sample_weight)
    return reference_bandwidth(*moments(X, weight))


def reference_bandwidth(
    total: float, mean: NDArray[np.float64], spread: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Apply the rule of `normal_reference` to the moments of data that is elsewhere."""
    d = len(mean)
    shrink = (4 / ((d + 4) * max(total, 1.0))) ** (1 / (d + 6))
    magnitude = np.abs(mean)
    varies = spread > np.ldexp(magnitude, -40)  # else 2^51 cells might not reach back to zero
    h = np.where(varies, 0.45 * shrink * np.sqrt(d + 4) / 1.5 * spread, magnitude)
    h[~np.isfinite(h) | (h == 0)] = 1.0  # with NaN or infinity in X, the binning will say where
    mantissa, exponent = np.frexp(h)
    rounded: NDArray[np.float64] = np.ldexp(np.rint(np.ldexp(mantissa, 24)), exponent - 24)
    return rounded


def moments(
    X: NDArray[Any], weight: NDArray[Any] | None
) -> tuple[float, NDArray[np.float64], NDArray[np.float64]]:
    """Return the total weight, and mean and standard deviation of each column."""
    total, mean, squares = 0.0, np.zeros(X.shape[1]), np.zeros(X.shape[1])
    with np.errstate(all="ignore"):
        # From the least value on: far from zero, rounding would depend on the order of the rows.
        low = np.asarray(X.min(axis=0), np.float64) if len(X) else mean
        for start in range(0, len(X), BLOCK):
            rows = np.array(X[start : start + BLOCK].T, np.float64, order="C") - low[:, None]
            w = np.ones(rows.shape[1]) if weight is None else weight[start : start + BLOCK]
            batch = float(np.sum(w))
            if batch > 0:
                centre = (rows * w).sum(axis=1) / batch
                total += batch
                step = centre - mean
                mean += step * (batch / total)
                squares += (np.square(rows - centre[:, None]) * w).sum(axis=1)
                squares += step**2 * (batch * (total - batch) / total)
        return total, mean + low, np.sqrt(squares / total) if total > 0 else squares


def _checked_weight(sample_weight: ArrayLike | None, n: int) -> NDArray[Any] | None:
    """Check what the bandwidth rule relies on; sign and NaN are for the kernel to find."""
    if sample_weight is None:
        return None
    weight = np.asarray(sample_weight)
    if weight.shape != (n,) or weight.dtype.kind not in "biuf":
        raise InvalidInputError(
            f"sample_weight must have one number for each of the {n} rows, "
            f"got shape {weight.shape} of {weight.dtype}"
        )
    if not weight.any():
        raise InvalidInputError("sample_weight must have a weight above zero, but all are zero")
    return weight
