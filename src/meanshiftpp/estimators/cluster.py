"""MeanShift++ as a scikit-learn estimator.

The work is in `core`: with a bandwidth, `fit` follows a `Recipe` (grid -> modes -> labels); without
one, `Significant` (tally -> tree -> labels). This module fulfils scikit-learn's contract: declared
parameter constraints, fitted names that end in an underscore, tables as input.
"""

from __future__ import annotations

from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from sklearn.base import ClusterMixin
from sklearn.utils.validation import check_is_fitted

from meanshiftpp._kernel import MAX_REACH
from meanshiftpp._support.checks import (
    Periodic,
    has_periods,
)
from meanshiftpp._support.devices import module_of, to_device_of
from meanshiftpp._support.warnings import warn_user
from meanshiftpp.core.chunk import Chunk
from meanshiftpp.core.grid import Grid
from meanshiftpp.core.modes import Modes
from meanshiftpp.core.recipe import DEFAULT_MAX_ITER, DEFAULT_TOL, Recipe, min_weight_for
from meanshiftpp.core.tree.clusters import Clusters
from meanshiftpp.core.tree.significant import Significant
from meanshiftpp.core.tree.tally import Tally
from meanshiftpp.errors import InvalidInputError
from meanshiftpp.estimators.base import (
    CONSTRAINTS,
    Interval,
    checked_points,
    checked_weight,
    columns_named,
    parameters_checked,
    threads_of,
)
from meanshiftpp.estimators.condensed import CondensedTree
from meanshiftpp.estimators.evaluation import Evaluation

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["MeanShiftPP"]

# Fitted attributes of a fit with a bandwidth, and of one without.
_OF_SEARCH, _OF_TREE = ("bandwidth_", "grid_"), ("tree_", "_ids", "_tally")


class _MissingError(InvalidInputError, AttributeError):
    """An attribute or a method that this kind of fit does not have; `hasattr` returns False."""


class MeanShiftPP(ClusterMixin, Evaluation):  # type: ignore[misc]
    """Cluster without choosing the number of clusters.

    Without a bandwidth, the clusters are the significant ones: parts of the data separated by
    valleys of the density that are deeper than chance produces, at any scale. Every row counts.
    With a bandwidth, every mode is a cluster: MeanShift++ as in the paper.

    Parameters
    ----------
    bandwidth : float or array-like of shape (n_features,), default=None
        A third of the window's width, one for all features or one for each: a point moves to the
        mean of the points in the window around its cell. ``None`` finds the significant clusters
        instead, and `resolution`, `tol` and `max_iter` have no effect.
    resolution : int, default=1
        Cells from the centre of the window to its border. 1 is the paper's. At r, a cell is
        3 / (2 r + 1) bandwidths and the window 2 r + 1 cells wide: still three bandwidths, but
        better centred on its points, so the result depends less on the origin of the cells. At
        4, a fit takes 2 to 13 times as long.
    periodic : float or sequence of n_features periods, each a number or None, default=None
        The period of all features or of each: 360 for a longitude in degrees, 1 for a hue. The
        bandwidth is changed to the nearest value that divides the period, and centres are between 0
        and the period.
    tol : float, default=1e-3
        After 64 steps, a cell that would move by at most this many bandwidths stays; the limit
        doubles every 8 steps, so every search ends. With 0, a cell rests only at its mean.
    max_iter : int, default=10_000
        Largest number of steps. A search that needs more ends with a ``ConvergenceWarning``; with
        the default of `tol`, none needs more than 168.
    cluster_all : bool, default=True
        Whether every point gets a label. If false, points that are far from all others get -1:
        with a bandwidth, those without occupied cells in their window; without one, those in
        surroundings less dense than every valley around their cluster.
    min_cluster_size : float, default=1
        The least weight of a cluster (number of points, without weights). With a bandwidth, smaller
        clusters are noise, of label -1. Without one, they join their neighbour across the densest
        saddle; the noise around a cluster, labelled -1 if `cluster_all` is false, counts too.
    strictness : float, default=1.0
        Multiplies the required depth of a valley that divides significant clusters: below 1 there
        are more clusters, and more false ones; above 1 fewer of both.
    n_jobs : int, default=None
        Number of threads. ``None`` uses all cores this process may use (``OMP_NUM_THREADS``
        lowers that). The result does not depend on it. Negative numbers count from the end, as in
        joblib: -1 is all cores, -2 leaves one free.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,), int32
        Label of each point of `fit`, or of the last chunk of `partial_fit`: 0 is the heaviest
        cluster, -1 is noise.
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        With a bandwidth, the modes. Without one, the mean of the densest part of each cluster, or
        the densest place of a ring or a crescent.
    cluster_weights_ : ndarray of shape (n_clusters,)
        Weight of each cluster: its number of points, without weights.
    n_iter_ : int
        Number of steps of the search; without a bandwidth, number of scales of the tree.
    bandwidth_ : ndarray of shape (n_features,), float64
        The bandwidth of each feature: a third of the window's width. Only with a bandwidth.
    grid_ : Grid
        The grid of the data; the points themselves are not stored. Its cells are smaller than
        `bandwidth_` if `resolution` is more than 1. Only with a bandwidth.
    tree_ : Tree
        The tree of significant clusters, with the leaves that label points. Only without a
        bandwidth.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, if the input has names.

    See Also
    --------
    Grid : a search in two steps, for data that arrives in parts: add up grids, then `seek`.

    Notes
    -----
    A fit with a bandwidth is Algorithm 2 of Jang and Jiang, *MeanShift++: Extremely Fast
    Mode-Seeking With Applications to Segmentation and Object Tracking* (CVPR 2021). An integer
    weight counts exactly as that many equal points. Points are binned in the type they have,
    without a copy.

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
        "resolution": [Interval(Integral, 1, MAX_REACH, closed="both")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "cluster_all": ["boolean"],
        "min_cluster_size": [Interval(Real, 1, None, closed="left")],
        "strictness": [Interval(Real, 0, None, closed="neither")],
    }

    def __init__(
        self,
        bandwidth: float | ArrayLike | None = None,
        *,
        resolution: int = 1,
        periodic: Periodic = None,
        tol: float = DEFAULT_TOL,
        max_iter: int = DEFAULT_MAX_ITER,
        cluster_all: bool = True,
        min_cluster_size: float = 1,
        strictness: float = 1.0,
        n_jobs: int | None = None,
    ) -> None:
        self.bandwidth = bandwidth
        self.resolution = resolution
        self.periodic = periodic
        self.tol = tol
        self.max_iter = max_iter
        self.cluster_all = cluster_all
        self.min_cluster_size = min_cluster_size
        self.strictness = strictness
        self.n_jobs = n_jobs

    @parameters_checked
    def fit(self, X: Any, y: object = None, sample_weight: ArrayLike | None = None) -> Self:
        """Find the modes of `X` and label its points.

        Parameters
        ----------
        X : array-like or table of shape (n_samples, n_features)
            Numbers of any width, in any memory order.
        y : ignored
            For scikit-learn's pipelines.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights, not negative. A whole number counts as that many points.

        Returns
        -------
        self : MeanShiftPP
            The fitted estimator.
        """
        X = checked_points(self, X, reset=True)
        weight = checked_weight(sample_weight, X)
        n_threads = threads_of(self.n_jobs)
        recipe = self._recipe().checked(X.shape[1])
        if isinstance(recipe, Significant):
            clusters, ids, labels = recipe.fit(X, weight, n_threads=n_threads)
            return self._store_tree(clusters, to_device_of(X, labels), _ids=ids)
        modes, labels = recipe.fit(X, weight, n_threads=n_threads)
        return self._store(modes, labels, recipe.bandwidth)

    @parameters_checked
    def partial_fit(self, X: Any, y: object = None, sample_weight: ArrayLike | None = None) -> Self:
        """Add a chunk of points and find the clusters of all seen so far.

        The clusters after the last chunk are exactly those of one `fit` to all chunks, in any
        order. Without a bandwidth, the rows are kept until there are 2**24, and then their cells;
        each call grows the tree of all of them, so use few, large chunks. A chunk without points,
        or with points of zero weight only, changes nothing.

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
        recipe = self._recipe()
        started = self._has_started(recipe)
        X = checked_points(self, X, reset=not started, ensure_min_samples=0)
        if len(X) == 0:
            self.labels_ = module_of(X).empty(0, np.int32)
            return self
        weight = checked_weight(sample_weight, X, allow_zero=True)
        if weight is not None and not weight.counts.any():
            self.labels_ = self.predict(X) if started else module_of(X).full(len(X), -1, np.int32)
            return self
        n_threads, checked = threads_of(self.n_jobs), recipe.checked(X.shape[1])
        chunk = Chunk(X, weight)
        if isinstance(checked, Significant):
            part = checked.bin(chunk, n_threads=n_threads)
            tally: Tally = self._tally + part if started else part
            clusters = checked.search(tally, n_threads=n_threads)
            labels = checked.label(clusters, X, n_threads=n_threads)
            return self._store_tree(clusters, labels, _tally=tally)
        binned = checked.bin(chunk, n_threads=n_threads)
        grid: Grid = self.grid_ + binned if started else binned
        modes = checked.search(grid, n_threads=n_threads)
        labels = checked.label(modes, X, n_threads=n_threads)
        return self._store(modes, labels, checked.bandwidth)

    def _has_started(self, recipe: Recipe | Significant) -> bool:
        """Return whether there is a fit to continue; one that kept no rows cannot be continued."""
        if isinstance(recipe, Recipe):
            return hasattr(self, "grid_")
        if hasattr(self, "tree_") and not hasattr(self, "_tally"):
            warn_user(
                UserWarning(
                    "partial_fit begins anew: the fit before kept the leaves of its rows, not the "
                    "rows; use partial_fit for all chunks, or pass a bandwidth"
                )
            )
        return hasattr(self, "_tally")

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

    @columns_named
    def predict(self, X: Any) -> NDArray[np.int32]:
        """Label points by the basin or the leaf they lie in.

        With a bandwidth, a point in an occupied cell gets that cell's label. A point in an empty
        cell gets the label of the heaviest occupied cell in its window. If there is none, the point
        gets the label of the nearest mode, or -1 if `cluster_all` is false. Without a bandwidth, a
        point gets the label of its leaf, or of the nearest one.

        Parameters
        ----------
        X : array-like or table of shape (n_samples, n_features)
            The points.

        Returns
        -------
        labels : ndarray of shape (n_samples,), int32
            The labels.
        """
        check_is_fitted(self, "cluster_centers_")
        points = checked_points(self, X, reset=False)
        n_threads = threads_of(self.n_jobs)
        found: Modes | Clusters = self._modes
        if isinstance(found, Clusters):
            return found.label(points, n_threads=n_threads)
        return found.label(points, cluster_all=self.cluster_all, n_threads=n_threads)

    # -- the tree of significant clusters -----------------------------------------------------

    @property
    def condensed_tree_(self) -> CondensedTree:
        """The splits of significant clusters: `to_pandas`, `plot`."""
        return CondensedTree(self._clusters("condensed_tree_"))

    @property
    def cluster_persistence_(self) -> NDArray[np.float64]:
        """For each cluster, the part of its peak that stands above the saddle, from 0 to 1."""
        return CondensedTree(self._clusters("cluster_persistence_")).persistence()

    @property
    def probabilities_(self) -> NDArray[np.float64]:
        """How dense the surroundings of each point of `fit` are: 1 at the peak of its cluster."""
        fitted = self._snapshot()
        clusters = fitted._clusters("probabilities_")
        return fitted._of_leaves(clusters.strengths(), 0)

    @property
    def outlier_scores_(self) -> NDArray[np.float64]:
        """How sparse the surroundings of each point of `fit` are: one minus `probabilities_`."""
        return 1.0 - self.probabilities_

    def explain(self, label: int | None = None) -> str:
        """Return the valleys that separate a cluster from the others, one per line.

        Parameters
        ----------
        label : int, default=None
            A label of a cluster; ``None`` explains all clusters.

        Returns
        -------
        text : str
            For each valley its depth, z against the critical value, and the scale. If there is
            none, the best candidates and the strictness that would accept them.
        """
        tree = CondensedTree(self._clusters("explain"))
        return tree.explain(label, threads_of(self.n_jobs))

    def cut(
        self,
        n_clusters: int | None = None,
        persistence: float | None = None,
        min_cluster_size: float | None = None,
    ) -> Self:
        """Return a model of coarser or finer clusters; this one does not change.

        All cuts come from one tree, so they are nested: a cut undoes splits or adds looser ones,
        and moves no other border.

        Parameters
        ----------
        n_clusters : int, default=None
            The number of clusters. The least significant splits are undone; if there are too few
            clusters, they are divided at looser and looser valleys. If the data has fewer peaks, a
            warning states how many clusters there are.
        persistence : float, default=None
            The least persistence of a cluster, from 0 to 1; those below it join their neighbour.
        min_cluster_size : float, default=None
            The least weight of a cluster; the smallest joins its neighbour across the densest
            saddle, until all are large enough.

        Returns
        -------
        model : MeanShiftPP
            A fitted model; its `labels_` are those of the points of `fit`.
        """
        fitted = self._snapshot()
        n_threads = threads_of(self.n_jobs)
        clusters = fitted._clusters("cut").cut(
            n_clusters, persistence, min_cluster_size, n_threads=n_threads
        )
        return fitted._recut(clusters)

    def _recut(self, clusters: Clusters) -> Self:
        """Store another cut of the tree in this copy."""
        labels = to_device_of(self.labels_, self._of_leaves(clusters.leaf_labels, -1))
        return self._store_tree(clusters, labels, _ids=self._ids)

    @columns_named
    def membership_vector(self, X: Any) -> NDArray[np.float64]:
        """Return for each point and cluster the share of the window's weight in that cluster.

        Parameters
        ----------
        X : array-like or table of shape (n_samples, n_features)
            The points.

        Returns
        -------
        shares : ndarray of shape (n_samples, n_clusters)
            They sum to 1, or are all 0 for a point without clusters around it. The array takes 8
            bytes for each point and cluster, in Fortran order: pass many points in parts.
        """
        check_is_fitted(self, "cluster_centers_")
        points = checked_points(self, X, reset=False)
        found: Modes | Clusters = self._modes
        if isinstance(found, Clusters):
            return found.shares(points)
        return found.shares(points, n_threads=threads_of(self.n_jobs))

    def _clusters(self, name: str) -> Clusters:
        check_is_fitted(self, "cluster_centers_")
        if not isinstance(self._modes, Clusters):
            raise _MissingError(f"{name} needs significant clusters; fit without a bandwidth")
        return self._modes

    def _of_leaves(self, values: NDArray[Any], none: float) -> NDArray[Any]:
        """Return the value of each point's leaf, or `none`."""
        if not hasattr(self, "_ids"):
            raise _MissingError("the points of a partial_fit are not stored; use fit")
        of_leaf = np.append(values, values.dtype.type(none))
        of_points: NDArray[Any] = module_of(self._ids).asarray(of_leaf)[self._ids]
        return of_points

    def _recipe(self) -> Recipe | Significant:
        if self.bandwidth is None:
            return Significant(
                self.periodic,
                strictness=self.strictness,
                min_weight=min_weight_for(self.min_cluster_size),
                cluster_all=self.cluster_all,
            )
        return Recipe(
            self.bandwidth,
            resolution=self.resolution,
            periodic=self.periodic,
            tol=self.tol,
            max_iter=self.max_iter,
            min_weight=min_weight_for(self.min_cluster_size),
            cluster_all=self.cluster_all,
        )

    def _store(self, modes: Modes, labels: Any, bandwidth: Any) -> Self:
        if has_periods(modes.grid.cells_per_period):
            bandwidth = np.where(modes.grid.cells_per_period > 0, modes.bandwidth, bandwidth)
        fitted = {"n_iter_": modes.n_iter, "grid_": modes.grid, "bandwidth_": bandwidth}
        return self._replace_fit(modes, labels, fitted, _OF_TREE)

    def _store_tree(self, clusters: Clusters, labels: Any, **kept: Any) -> Self:
        fitted = {"n_iter_": clusters.tree.n_levels, "tree_": clusters.tree, **kept}
        return self._replace_fit(clusters, labels, fitted, _OF_SEARCH)

    def _replace_fit(
        self, found: Modes | Clusters, labels: Any, fitted: dict[str, Any], gone: tuple[str, ...]
    ) -> Self:
        """Store all fitted attributes at once, so a failed fit leaves the previous one intact."""
        fitted |= {
            "_modes": found,
            "labels_": labels,
            "cluster_centers_": found.centers,
            "cluster_weights_": found.weights,
        }
        replaced = self._snapshot()  # freeing an old value between the new ones runs other threads
        self.__dict__.update(fitted)
        for name in (*gone, *(set(_OF_TREE) - set(fitted))):
            self.__dict__.pop(name, None)
        del replaced
        return self
