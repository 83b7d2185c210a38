"""MeanShift++ on Dask: a grid or a tally for each partition, a tree of ``+``, one search.

With a bandwidth, only grids are transferred; without one, tallies: the rows, or the cells of many
rows. Neither depends on the worker that made it or on the order of adding, so the result is that of
one process, bit for bit, and a lost worker costs only time. The tasks run on the active client or,
without one, on the threads of this process. Only `files` uses more than Dask's public interface.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from meanshiftpp._support.extras import need
from meanshiftpp.core.modes import Modes
from meanshiftpp.core.recipe import CheckedRecipe
from meanshiftpp.core.tree import Clusters
from meanshiftpp.core.tree.significant import Significant
from meanshiftpp.engines.dask import tasks
from meanshiftpp.engines.dask.files import find_scan
from meanshiftpp.engines.sums import Total
from meanshiftpp.errors import InvalidInputError, MeanShiftPPError
from meanshiftpp.estimators import cluster
from meanshiftpp.estimators.base import checked_points, parameters_checked, threads_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

dask = need("dask", "dask")
da = need("dask.array", "dask")

__all__ = ["MeanShiftPP"]

SPLIT_EVERY = 8  # results that one task of the tree combines


class MeanShiftPP(cluster.MeanShiftPP):
    """`meanshiftpp.MeanShiftPP` for Dask arrays and data frames.

    `fit` runs immediately and reads the data once. Its result is that of one process, exactly.
    Labels are lazy and computed block by block on demand, because a second read is cheaper than
    storing a label for every point. The tasks of `fit` read local Parquet files themselves, if all
    columns have one type: that is faster than by pandas.

    Parameters
    ----------
    bandwidth : float or array-like of shape (n_features,), default=None
        A third of the window's width; only grids then leave the workers. ``None`` finds the
        significant clusters of all rows: the rows are sent to this process or, if there are more
        than 2**24, at most 2**22 cells of them, for which the data is rarely read a second time.
    resolution, periodic, tol, max_iter, cluster_all, min_cluster_size, strictness
        As in `meanshiftpp.MeanShiftPP`.
    n_jobs : int, default=None
        Threads of each task. ``None`` means 1, because Dask already runs a task on each thread of
        its workers. If workers have fewer threads than cores, set the cores of each task. The
        search, one task in this process, uses the given number, by default all cores.

    Attributes
    ----------
    labels_ : dask.array.Array of shape (n_samples,), int32
        Label of each point, lazy, in the chunks of `X`; for a data frame in those of
        ``X.to_dask_array()``, which joins small files unless ``X`` is the result of
        ``df.map_partitions(lambda part: part)``. Pickling leaves the labels out.
    probabilities_, outlier_scores_ : dask.array.Array of shape (n_samples,), float64
        As in `meanshiftpp.MeanShiftPP`; lazy, as the labels are.
    cluster_centers_, cluster_weights_, n_iter_, bandwidth_, grid_, tree_
        As in `meanshiftpp.MeanShiftPP`: small, and in this process.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, if `X` is a data frame.

    Examples
    --------
    >>> import dask.array as da
    >>> from meanshiftpp.dask import MeanShiftPP
    >>> X = da.random.default_rng(0).normal(size=(100_000, 2), chunks=(30_000, 2))
    >>> X = da.concatenate([X, X + 20])
    >>> model = MeanShiftPP(bandwidth=1.0, min_cluster_size=100).fit(X)
    >>> abs(model.cluster_centers_).round().tolist()
    [[0.0, 0.0], [20.0, 20.0]]
    >>> model.labels_.chunks == (X.chunks[0],)
    True
    >>> model.labels_[[0, 100_000]].compute()
    array([0, 1], dtype=int32)
    """

    @parameters_checked
    def fit(self, X: Any, y: object = None, sample_weight: Any = None) -> Self:
        """Find the clusters of `X` on the active client, and wait for the result.

        Parameters
        ----------
        X : dask array or data frame of shape (n_samples, n_features)
            The points. Partitions may be empty.
        y : ignored
            For scikit-learn's pipelines.
        sample_weight : dask array or series of shape (n_samples,), default=None
            Weights, partitioned as `X` is. Whole numbers are exact; with a bandwidth, real
            numbers are rounded partition by partition.

        Returns
        -------
        self : MeanShiftPP
            The estimator.
        """
        points = self._lazy(X, reset=True)
        if (joined := _joined(X, sample_weight)) is not None:
            rows = _lazy_array(joined)
            points, weight = rows[:, :-1], rows[:, -1]
        else:
            weight = _lazy_weight(sample_weight, points)
        n_threads, source = threads_of(self.n_jobs), self._source(X)
        recipe = self._recipe().checked(points.shape[1])

        def read(recipe: Any) -> Any:
            total = _bin_files(X, recipe, self.n_jobs) if weight is None else None
            if total is None:
                total = _bin_blocks(points, weight, recipe, self.n_jobs, source)
            return total

        total: Any = recipe.gather(read)
        if not len(total):
            raise InvalidInputError("X must have at least one row of positive weight, got none")
        found = recipe.search(total, n_threads=n_threads)
        self._points, self._place = points, source
        labels = self._lazy_labels(found)
        if isinstance(found, Clusters):
            return self._store_tree(found, labels)
        return self._store(found, labels, recipe.bandwidth)

    def fit_predict(self, X: Any, y: object = None, sample_weight: Any = None) -> Any:
        """Fit to `X` and return `labels_`, lazy."""
        return self.fit(X, sample_weight=sample_weight).labels_

    def partial_fit(self, X: Any, y: object = None, sample_weight: Any = None) -> Self:
        """Raise: `fit` takes a lazy collection of all chunks."""
        raise InvalidInputError(
            "partial_fit is for chunks in memory; concatenate the Dask collections and call fit"
        )

    def predict(self, X: Any) -> Any:
        """Label points by the basin or the leaf they lie in.

        Parameters
        ----------
        X : dask array or data frame of shape (n_samples, n_features)
            The points. An array or table in memory is labelled at once.

        Returns
        -------
        labels : dask array of shape (n_samples,), int32
            Lazy, in the chunks of `X`; for data in memory, an ndarray.
        """
        check_is_fitted(self, "cluster_centers_")
        if not dask.is_dask_collection(X):
            return super().predict(X)
        points = self._lazy(X, reset=False)
        label = self._labelling(self._modes)
        return _lazy_column(points, label, np.int32, self.n_jobs, self._source(X))

    def score(self, X: Any, y: object = None, sample_weight: Any = None) -> float:
        """Return the mean log density at points in memory, as `meanshiftpp.MeanShiftPP` does."""
        _check_in_memory(X, sample_weight)
        return float(super().score(X, y, sample_weight))

    def describe(self, X: Any, sample_weight: Any = None) -> Any:
        """Describe the clusters of points in memory, as `meanshiftpp.MeanShiftPP` does."""
        _check_in_memory(X, sample_weight)
        return super().describe(X, sample_weight)

    def membership_vector(self, X: Any) -> NDArray[np.float64]:
        """Return the shares of clusters around points in memory, as `meanshiftpp.MeanShiftPP`."""
        _check_in_memory(X)
        shares: NDArray[np.float64] = super().membership_vector(X)
        return shares

    def __getstate__(self) -> dict[str, Any]:
        """Leave out points and labels, whose graphs refer to all the data, perhaps on a cluster."""
        state = dict(super().__getstate__())
        for name in ("labels_", "_points"):
            state.pop(name, None)
        return state

    def _recut(self, clusters: Clusters) -> Self:
        """Store another cut of the tree in this copy; a model that was stored has no labels."""
        if hasattr(self, "_points"):
            return self._store_tree(clusters, self._lazy_labels(clusters))
        cut = self._store_tree(clusters, None)
        del cut.labels_
        return cut

    def _lazy_labels(self, found: Modes | Clusters) -> Any:
        """Return the labels of the points of `fit`."""
        label = self._labelling(found)
        return _lazy_column(self._points, label, np.int32, self.n_jobs, self._place)

    def _labelling(self, found: Modes | Clusters) -> Callable[..., NDArray[np.int32]]:
        """Return the function that labels points."""
        if isinstance(found, Clusters):
            return found.label
        return partial(found.label, cluster_all=self.cluster_all)

    def _of_leaves(self, values: NDArray[Any], none: float) -> Any:
        """Return the value of the leaf of each point of `fit`, or `none`, lazy."""
        if not hasattr(self, "_points"):
            raise AttributeError("a stored model does not have the points of fit: call fit")
        values = np.append(values, values.dtype.type(none))
        of_points = partial(tasks.leaf_values, self._clusters("probabilities_"), values)
        return _lazy_column(self._points, of_points, values.dtype, self.n_jobs, self._place)

    def _source(self, X: Any) -> tasks.Source:
        """Return the words for the place of a bad value in `X`."""
        kind = "blocks" if isinstance(X, da.Array) else "partitions"
        return kind, tuple(getattr(self, "feature_names_in_", ()))

    def _lazy(self, X: Any, reset: bool) -> Any:
        """Check type, dimension and names without computing; return a dask array."""
        if isinstance(X, da.Array):
            if X.ndim != 2:
                raise InvalidInputError(
                    f"X must have 2 dimensions (samples, features), got {X.ndim}"
                )
            checked_points(self, np.empty((0, X.shape[1])), reset=reset, ensure_min_samples=0)
            return X if X.numblocks[1] == 1 else X.rechunk({1: -1})
        if not (dask.is_dask_collection(X) and hasattr(X, "columns") and X.ndim == 2):
            raise InvalidInputError(
                f"X must be a dask array or data frame of 2 dimensions, got {type(X).__name__}; "
                'select one column as df[["x"]]; use meanshiftpp.MeanShiftPP for data in memory'
            )
        checked_points(self, _empty_frame(X), reset=reset, ensure_min_samples=0)
        return _lazy_array(X)


# -- metadata, without computing --------------------------------------------------------------


def _check_in_memory(*collections: Any) -> None:
    """Raise InvalidInputError for Dask collections."""
    if any(map(dask.is_dask_collection, collections)):
        raise InvalidInputError(
            "score, describe and membership_vector need points in memory, got a Dask collection; "
            "pass X.compute()"
        )


def _lazy_array(X: Any) -> Any:
    """Return the columns of a data frame as a dask array."""
    # In an array, nullable columns would become objects; as floats they hold NaN.
    nullable = {
        name: "float64" for name, kind in X.dtypes.items() if not isinstance(kind, np.dtype)
    }
    return (X.astype(nullable) if nullable else X).to_dask_array()


def _empty_frame(X: Any) -> Any:
    """Return an empty table with the columns of a dask data frame, which must hold numbers."""
    pandas = need("pandas", "dask")
    for name, kind in X.dtypes.items():
        if not pandas.api.types.is_numeric_dtype(kind):
            raise InvalidInputError(
                f"column {name!r} holds {kind}, not numbers; select the columns to cluster"
            )
    return pandas.DataFrame(np.empty((0, len(X.columns))), columns=list(X.columns))


def _joined(X: Any, sample_weight: Any) -> Any:
    """Return a data frame with the weights as its last column; None if they are not columns.

    Dask joins small files when it reads them, and apart it may do so in different ways for the
    points and the weights.
    """
    series = dask.is_dask_collection(sample_weight) and hasattr(sample_weight, "to_frame")
    if isinstance(X, da.Array) or not series or sample_weight.npartitions != X.npartitions:
        return None
    name = max(map(str, X.columns), key=len) + "_"  # not a column of X
    try:
        return X.assign(**{name: sample_weight})
    except ValueError:  # frames whose rows Dask cannot align
        return None


def _lazy_weight(sample_weight: Any, points: Any) -> Any:
    """Return weights as a dask array in the blocks of the points, or None."""
    if sample_weight is None:
        return None
    weight = sample_weight
    if dask.is_dask_collection(weight) and hasattr(weight, "to_dask_array"):
        weight = weight.to_dask_array()
    if not isinstance(weight, da.Array) or weight.ndim != 1:
        raise InvalidInputError(
            "sample_weight must be a dask array or series with one number for each row of X, "
            f"got {type(sample_weight).__name__}"
        )
    rows, n_weights = points.shape[0], weight.shape[0]
    if rows == n_weights:  # unknown sizes are NaN, which never compare equal
        return weight.rechunk((points.chunks[0],))
    if np.isnan(rows) and np.isnan(n_weights) and points.numblocks[0] == weight.numblocks[0]:
        return weight
    raise InvalidInputError(
        f"sample_weight must be partitioned as X is, {rows} rows in {points.numblocks[0]} "
        f"partitions; got {n_weights} rows in {weight.numblocks[0]}"
    )


# -- graphs of tasks --------------------------------------------------------------------------


def _bin_blocks(
    points: Any,
    weight: Any,
    recipe: CheckedRecipe | Significant,
    n_jobs: int | None,
    source: tasks.Source,
) -> Total:
    """Bin each block of rows and add up the results in a tree, immediately.

    Dask fuses the task with the creation of its block, so no block waits in memory.
    """
    boxes = da.map_blocks(
        tasks.bin_block,
        *([points] if weight is None else [points, weight[:, None]]),
        recipe=recipe,
        n_jobs=n_jobs,
        source=source,
        dtype=object,
        chunks=((1,) * points.numblocks[0], (1,)),
        meta=np.empty((0, 0), object),
    )
    tree = da.reduction(
        boxes,
        chunk=tasks.identity,
        aggregate=tasks.added,
        axis=0,
        keepdims=True,
        concatenate=False,
        split_every=SPLIT_EVERY,
        dtype=object,
        meta=np.empty((0, 0), object),
    )
    total: Total = tree.compute().item()
    return total


def _bin_files(X: Any, recipe: CheckedRecipe | Significant, n_jobs: int | None) -> Total | None:
    """Bin the Parquet files of a data frame; None if they, or the workers, do not allow it."""
    scan = None if isinstance(X, da.Array) else find_scan(X)
    if scan is None or not scan.tasks:
        return None
    options: dict[str, Any] = {"recipe": recipe, "n_jobs": n_jobs}
    options |= {"columns": scan.columns, "kind": scan.kind}
    # Delayed functions instead of arrays: workers need not import dask.array, which needs SciPy.
    totals = [dask.delayed(partial(tasks.bin_parts, parts, **options))() for parts in scan.tasks]
    while len(totals) > 1:
        groups = (totals[k : k + SPLIT_EVERY] for k in range(0, len(totals), SPLIT_EVERY))
        totals = [dask.delayed(tasks.add)(group) for group in groups]
    unreadable = MeanShiftPPError, OSError, ImportError, need("pyarrow", "dask").ArrowException
    try:
        total: Total = totals[0].compute()
    except unreadable:  # Dask reads the rows again and reports the error with its place
        return None
    return total


def _lazy_column(
    points: Any,
    label: Callable[..., NDArray[Any]],
    dtype: Any,
    n_jobs: int | None,
    source: tasks.Source,
) -> Any:
    """Return the labels of points, or other values, lazy."""
    # One node of the graph holds the modes, so that each worker receives them once. Scattered
    # data would be lost with its worker. Labels are made as a column, from which the axis is then
    # dropped, because Dask copies the blocks where a task itself drops an axis.
    column = points.map_blocks(
        tasks.label_block,
        label=dask.delayed(label, traverse=False),
        n_jobs=n_jobs,
        source=source,
        chunks=(points.chunks[0], (1,)),
        dtype=dtype,
        meta=np.empty((0, 0), dtype),
    )
    return column[:, 0]
