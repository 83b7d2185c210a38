"""MeanShift++ as a scikit-learn estimator.

The work is in `core`: `fit` follows a `Recipe`, `partial_fit` adds the grid of another chunk,
`predict` looks labels up. This module fulfils scikit-learn's contract: declared parameter
constraints, fitted names that end in an underscore, tables as input, and an automatic bandwidth.
"""

from __future__ import annotations

from dataclasses import replace
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from sklearn.base import ClusterMixin
from sklearn.utils.validation import check_is_fitted

from meanshiftpp._kernel import MAX_REACH
from meanshiftpp._support.checks import Periodic, Weights, as_not_negative, as_whole, has_periods
from meanshiftpp._support.devices import module_of, on_gpu, to_host
from meanshiftpp._support.warnings import warn_user
from meanshiftpp.bandwidth.choice import bandwidth_of_points
from meanshiftpp.bandwidth.significant import complete_recipe, within_periods
from meanshiftpp.core.chunk import Chunk
from meanshiftpp.core.labels import number_by_size
from meanshiftpp.core.modes import Modes
from meanshiftpp.core.recipe import DEFAULT_MAX_ITER, DEFAULT_TOL, Recipe, min_weight_for
from meanshiftpp.core.tree import JoinedModes, Tree
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


class _MissingError(InvalidInputError, AttributeError):
    """An attribute or a method that this kind of fit does not have; `hasattr` returns False."""


class MeanShiftPP(ClusterMixin, Evaluation):  # type: ignore[misc]
    """Cluster by mode seeking on a grid, without choosing the number of clusters.

    Without parameters, the clusters are the significant ones: parts of the data separated by
    valleys deeper than chance produces, at any scale. With a bandwidth, every mode is a cluster, as
    in the paper.

    Parameters
    ----------
    bandwidth : float or array-like of shape (n_features,), default=None
        A third of the window's width, one for all features or one for each: a point moves to the
        mean of the points in the window around its cell. ``None`` takes the largest bandwidth
        whose basins follow the significant clusters; with ``join=False``, that of
        `select_bandwidth`.
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
        Stop after a step in which all points together moved less than this, in bandwidths.
    max_iter : int, default=10_000
        Largest number of steps. A search that needs more ends with a ``ConvergenceWarning``.
    cluster_all : bool, default=True
        Whether `predict` gives a point without occupied cells in its window the label of the
        nearest mode. If false, it gets -1; joined clusters then also leave out their sparse
        surroundings, which are less dense than every valley around them.
    min_cluster_size : float, default=1
        Clusters of smaller weight (fewer points, without weights) are noise: they get the label
        -1 and have no centre. The default keeps clusters of any weight.
    join : bool, default=None
        Whether modes are joined across every valley that noise could have made. ``None`` joins
        only without a bandwidth.
    strictness : float, default=1.0
        Factor of the least depth of a valley that divides clusters: below 1 there are more
        clusters, and more false ones; above 1 fewer of both.
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
        The modes. A cluster of joined modes is where its heaviest mode is if that has three
        quarters of its weight; otherwise where its rows are densest, seen through a window that
        holds half of them, unless they form a curve.
    cluster_weights_ : ndarray of shape (n_clusters,)
        Weight of each cluster: its number of points, without weights.
    n_iter_ : int
        Number of steps of the search.
    bandwidth_ : ndarray of shape (n_features,), float64
        The bandwidth of each feature: a third of the window's width.
    grid_ : Grid
        The grid of the data; the points themselves are not stored. Its cells are smaller than
        `bandwidth_` if `resolution` is more than 1.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, if the input has names.

    See Also
    --------
    Grid : the same in two steps, for data that arrives in parts: add up grids, then `seek`.

    Notes
    -----
    This is Algorithm 2 of Jang and Jiang, *MeanShift++: Extremely Fast Mode-Seeking With
    Applications to Segmentation and Object Tracking* (CVPR 2021). An integer weight counts
    exactly as that many equal points. Points are binned in the type they have, without a copy.

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
        "join": ["boolean", None],
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
        join: bool | None = None,
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
        self.join = join
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
            Weights, not negative. An automatic bandwidth takes them as numbers of points, so
            scale up weights that sum to 1.

        Returns
        -------
        self : MeanShiftPP
            The fitted estimator.
        """
        X = checked_points(self, X, reset=True)
        weight = checked_weight(sample_weight, X)
        recipe = self._complete(X, weight).checked(X.shape[1])
        cells = module_of(X).empty(len(X), np.int32) if recipe.join else None
        n_threads = threads_of(self.n_jobs)
        modes, labels = recipe.fit(X, weight, cells=cells, n_threads=n_threads)
        rows = recipe.tree.find(X, n_threads=n_threads) if recipe.tree else None
        return self._store(modes, labels, recipe.bandwidth, cells, rows)

    @parameters_checked
    def partial_fit(self, X: Any, y: object = None, sample_weight: ArrayLike | None = None) -> Self:
        """Add a chunk of points and find the modes of all seen so far.

        With a bandwidth, the modes after the last chunk are exactly those of one `fit` to all
        chunks, in any order. Without one, the first chunk with points determines it. A chunk
        without points, or with points of zero weight only, changes nothing.

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
        weight = checked_weight(sample_weight, X, allow_zero=True)
        if weight is not None and not weight.counts.any():
            self.labels_ = self.predict(X) if started else module_of(X).full(len(X), -1, np.int32)
            return self
        keep_bandwidth = started and self.bandwidth is None
        recipe = self._recipe(self.bandwidth_) if keep_bandwidth else self._complete(X, weight)
        recipe = replace(recipe, tree=None).checked(X.shape[1])  # the tree of all chunks so far
        n_threads = threads_of(self.n_jobs)
        grid = recipe.bin(Chunk(X, weight), n_threads=n_threads)
        modes = recipe.search(self.grid_ + grid if started else grid, n_threads=n_threads)
        labels = recipe.label(modes, X, n_threads=n_threads)
        return self._store(modes, labels, recipe.bandwidth)

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
        """Label points by the basin they lie in.

        A point in an occupied cell gets that cell's label. A point in an empty cell gets the label
        of the heaviest occupied cell in its window. If there is none, the point gets the label of
        the nearest mode, or -1 if `cluster_all` is false.

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
        points = checked_points(self, X, reset=False)
        return self._modes.label(
            points, cluster_all=self.cluster_all, n_threads=threads_of(self.n_jobs)
        )

    # -- the tree of joined clusters ----------------------------------------------------------

    @property
    def condensed_tree_(self) -> CondensedTree:
        """The splits of joined clusters: `to_pandas`, `plot`."""
        return CondensedTree(self._joined("condensed_tree_"))

    @property
    def cluster_persistence_(self) -> NDArray[np.float64]:
        """For each cluster, the part of its peak that stands above the saddle, from 0 to 1."""
        return CondensedTree(self._joined("cluster_persistence_")).persistence()

    @property
    def probabilities_(self) -> NDArray[np.float64]:
        """How dense the surroundings of each point of `fit` are: 1 at the peak of its cluster."""
        fitted = self._snapshot()
        modes = fitted._joined("probabilities_")
        return fitted._of_cells(modes.strengths(threads_of(fitted.n_jobs)), 0.0)

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
        modes = self._joined("explain")
        if not len(modes):
            raise InvalidInputError("explain needs a cluster, got a fit in which all is noise")
        every = label is None
        labels = range(len(modes)) if every else [as_whole(label, "label", 0, len(modes) - 1)]
        tree, n_threads = CondensedTree(modes), threads_of(self.n_jobs)
        return "\n".join(tree.explain(label, n_threads) for label in labels)

    def cut(
        self, n_clusters: int | None = None, persistence: float | None = None
    ) -> NDArray[np.int32]:
        """Label the points of `fit` by another cut of the tree; the estimator does not change.

        Parameters
        ----------
        n_clusters : int, default=None
            The number of clusters: the strictness is changed until there are as many. Every point
            then belongs to a cluster. If the data has fewer peaks, a warning states how many
            clusters there are.
        persistence : float, default=None
            The least persistence of a cluster, from 0 to 1; those below it join their neighbour.

        Returns
        -------
        labels : ndarray of shape (n_samples,), int32
            The labels, 0 for the largest cluster; a NumPy array.
        """
        fitted = self._snapshot()
        modes = fitted._joined("cut")
        if (n_clusters is None) == (persistence is None):
            raise InvalidInputError("cut needs either n_clusters or persistence, and not both")
        if n_clusters is not None:
            tree = fitted._cut_tree(as_whole(n_clusters, "n_clusters", 1))
        elif as_not_negative(persistence, "persistence") <= 1:
            tree = modes.tree.cut(persistence=persistence)
        else:
            expected = "a number from 0 to 1"
            raise InvalidInputError.for_parameter("persistence", expected, persistence)
        return fitted._labels_of(tree)

    def _cut_tree(self, n_clusters: int) -> Tree:
        tree = self._joined("cut").tree.cut(n_clusters, n_threads=threads_of(self.n_jobs))
        if tree.n_clusters < n_clusters:
            warn_user(UserWarning(f"expected {n_clusters} clusters, found {tree.n_clusters} peaks"))
        return tree

    def _labels_of(self, tree: Tree) -> NDArray[np.int32]:
        """Return the labels of the points by a cut of the tree.

        A cut that only joins clusters joins their labels; any other labels each point by itself.
        """
        modes = self._joined("cut")
        if (clusters := modes.joined_further(tree)) is not None:
            return number_by_size(np.append(clusters, -1)[to_host(self.labels_)]).labels
        if self._rows is not None:
            return number_by_size(tree.labels[self._rows]).labels
        return number_by_size(self._of_cells(tree.label_cells(modes.grid), -1)).labels

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
            They sum to 1, or are all 0 for a point without clusters in its window. The array takes
            8 bytes for each point and cluster, in Fortran order: pass many points in parts.
        """
        check_is_fitted(self, "grid_")
        points = checked_points(self, X, reset=False)
        return self._modes.shares(points, n_threads=threads_of(self.n_jobs))

    def _joined(self, name: str) -> JoinedModes:
        check_is_fitted(self, "grid_")
        if not isinstance(self._modes, JoinedModes):
            raise _MissingError(f"{name} needs joined clusters; fit with join=True")
        return self._modes

    def _of_cells(self, values: NDArray[Any], none: float) -> NDArray[Any]:
        """Return the value of each point's cell; `none` for points outside of all cells."""
        if self._cells is None:
            raise _MissingError("the points of a partial_fit are not stored; use fit")
        xp = module_of(values)
        cells = self._cells if on_gpu(values) else to_host(self._cells)
        of_points: NDArray[Any] = xp.append(values, xp.asarray(none, values.dtype))[cells]
        return of_points

    def _recipe(self, bandwidth: Any) -> Recipe:
        return Recipe(
            bandwidth,
            resolution=self.resolution,
            periodic=self.periodic,
            tol=self.tol,
            max_iter=self.max_iter,
            min_weight=min_weight_for(self.min_cluster_size),
            cluster_all=self.cluster_all,
            join=self.bandwidth is None if self.join is None else self.join,
            strictness=self.strictness,
        )

    def _complete(self, X: NDArray[Any], weight: Weights | None) -> Recipe:
        """Return the recipe of the parameters, with a bandwidth for `X`."""
        recipe, n_threads = self._recipe(self.bandwidth), threads_of(self.n_jobs)
        if self.bandwidth is None and not recipe.join:
            bandwidth = bandwidth_of_points(X, weight, self.periodic, n_threads)
            return replace(recipe, bandwidth=within_periods(bandwidth, self.periodic))
        total = weight.total if weight else len(X)
        return complete_recipe(recipe, X, total, weight, n_threads=n_threads)

    def _store(
        self,
        modes: Modes,
        labels: NDArray[np.int32],
        bandwidth: Any,
        cells: NDArray[np.int32] | None = None,
        rows: NDArray[np.int64] | None = None,
    ) -> Self:
        """Store all fitted attributes at once, so a failed fit leaves the previous one intact."""
        if has_periods(modes.grid.cells_per_period):
            bandwidth = np.where(modes.grid.cells_per_period > 0, modes.bandwidth, bandwidth)
        fitted = {
            "_modes": modes,
            "_cells": cells,
            "_rows": rows,
            "labels_": labels,
            "cluster_centers_": modes.centers,
            "cluster_weights_": modes.weights,
            "n_iter_": modes.n_iter,
            "grid_": modes.grid,
            "bandwidth_": bandwidth,
        }
        replaced = self._snapshot()  # freeing an old value between the new ones runs other threads
        self.__dict__.update(fitted)
        del replaced
        return self
