"""MeanShift++ on Dask: a grid for each partition, a tree of ``+``, one search.

Only grids are transferred; the points stay on their workers. A grid does not depend on the worker
that made it or on the order of adding, so the result is that of one process, bit for bit, and a
lost worker costs only time. The tasks run on the active client or, without one, on the threads of
this process. Only `files` uses more than Dask's public interface.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from meanshiftpp._support.extras import need
from meanshiftpp.bandwidth.significant import complete_recipe
from meanshiftpp.core.grid import Grid
from meanshiftpp.core.labels import number_by_size
from meanshiftpp.core.modes import Modes
from meanshiftpp.core.recipe import CheckedRecipe, Recipe
from meanshiftpp.core.tree import Tree
from meanshiftpp.engines.dask import tasks
from meanshiftpp.engines.dask.files import find_scan
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

    `fit` runs immediately and reads the data once to bin them. Without a bandwidth it reads them
    before that: once to sample rows, and once to count them if the number of rows is unknown (in a
    data frame) or if there are weights. Labels are lazy and computed block by block on demand,
    because a second read is cheaper than storing a label for every point. The tasks of `fit` read
    local Parquet files themselves, if all columns have one type: that is faster than by pandas.

    Parameters
    ----------
    bandwidth : float or array-like of shape (n_features,), default=None
        A third of the window's width. ``None`` chooses one for each feature from 16,384 rows, and
        joins the modes by the tree of these rows. Up to that many rows, the result is that of one
        process; for more rows, the samples differ and borders between clusters may differ slightly.
        With ``join=False`` the choice is that of `select_bandwidth` for any number of rows.
    resolution, periodic, tol, max_iter, cluster_all, min_cluster_size, join, strictness
        As in `meanshiftpp.MeanShiftPP`. With a bandwidth, the tree of ``join=True`` is grown from
        the grid: the result is that of one process.
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
    cluster_centers_, cluster_weights_, n_iter_, bandwidth_, grid_
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
        """Find the modes of `X` on the active client, and wait for the result.

        Parameters
        ----------
        X : dask array or data frame of shape (n_samples, n_features)
            The points. Partitions may be empty.
        y : ignored
            For scikit-learn's pipelines.
        sample_weight : dask array or series of shape (n_samples,), default=None
            Weights, partitioned as `X` is. Whole numbers are exact; real numbers are rounded
            partition by partition.

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
        recipe = self._recipe(self.bandwidth)
        if self.bandwidth is None:
            recipe = complete_recipe(recipe, *_sample(points, weight), n_threads=n_threads)
        recipe = recipe.checked(points.shape[1])
        binning = replace(recipe, tree=None)  # it does not need the tree
        grid = _bin_files(X, binning, self.n_jobs) if weight is None else None
        if grid is None:
            grid = _reduce(
                *(tasks.bin_block, tasks.add, points, weight),
                recipe=binning,
                n_jobs=self.n_jobs,
                source=source,
            )
        if not len(grid):
            raise InvalidInputError("X must have at least one row of positive weight, got none")
        modes = recipe.search(grid, n_threads=n_threads)
        self._points, self._place = points, source
        return self._store(modes, self._lazy_labels(modes), recipe.bandwidth)

    def fit_predict(self, X: Any, y: object = None, sample_weight: Any = None) -> Any:
        """Fit to `X` and return `labels_`, lazy."""
        return self.fit(X, sample_weight=sample_weight).labels_

    def partial_fit(self, X: Any, y: object = None, sample_weight: Any = None) -> Self:
        """Raise: `fit` takes a lazy collection of all chunks."""
        raise InvalidInputError(
            "partial_fit is for chunks in memory; concatenate the Dask collections and call fit"
        )

    def predict(self, X: Any) -> Any:
        """Label points by the basin they lie in.

        Parameters
        ----------
        X : dask array or data frame of shape (n_samples, n_features)
            The points. An array or table in memory is labelled at once.

        Returns
        -------
        labels : dask array of shape (n_samples,), int32
            Lazy, in the chunks of `X`; for data in memory, an ndarray.
        """
        check_is_fitted(self, "grid_")
        if not dask.is_dask_collection(X):
            return super().predict(X)
        points = self._lazy(X, reset=False)
        return _lazy_labels(points, self._modes, self._labelling(), self.n_jobs, self._source(X))

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

    def _lazy_labels(self, modes: Modes) -> Any:
        """Return the labels of the points of `fit`."""
        return _lazy_labels(self._points, modes, self._labelling(), self.n_jobs, self._place)

    def _labels_of(self, tree: Tree) -> Any:
        """Return the labels of the points by a cut of the tree, lazy: those of their cells."""
        if not hasattr(self, "_points"):
            raise AttributeError("a stored model has no points to cut: call fit")
        modes = self._joined("cut")
        if (clusters := modes.joined_further(tree)) is not None:
            of_cells = np.append(clusters, -1)[modes.cell_labels]
        else:
            of_cells = tree.label_cells(modes.grid)
        cell_labels = number_by_size(of_cells, modes.grid.counts).labels
        return self._lazy_labels(replace(modes, cell_labels=cell_labels))

    def _labelling(self) -> Recipe:
        """Return the recipe of the labels; it needs no tree and fits models of older releases."""
        return Recipe(cluster_all=self.cluster_all)

    def _of_cells(self, values: NDArray[Any], none: float) -> NDArray[Any]:
        """Raise: the cells of the points stay on their workers."""
        raise AttributeError(
            "values of single points are not stored on Dask; use meanshiftpp.MeanShiftPP for data "
            "in memory"
        )

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


def _reduce(
    task: Callable[..., Any],
    combine: Callable[[Sequence[Any]], Any],
    points: Any,
    weight: Any,
    **options: Any,
) -> Any:
    """Run a task on each block of rows and combine the results in a tree, immediately.

    Dask fuses the task with the creation of its block, so no block waits in memory.
    """
    boxes = da.map_blocks(
        tasks.boxed,
        *([points] if weight is None else [points, weight[:, None]]),
        task=task,
        **options,
        dtype=object,
        chunks=((1,) * points.numblocks[0], (1,)),
        meta=np.empty((0, 0), object),
    )
    tree = da.reduction(
        boxes,
        chunk=tasks.identity,
        aggregate=partial(tasks.combined, combine),
        axis=0,
        keepdims=True,
        concatenate=False,
        split_every=SPLIT_EVERY,
        dtype=object,
        meta=np.empty((0, 0), object),
    )
    return tree.compute().item()


def _bin_files(X: Any, recipe: CheckedRecipe, n_jobs: int | None) -> Grid | None:
    """Bin the Parquet files of a data frame; None if they, or the workers, do not allow it."""
    scan = None if isinstance(X, da.Array) else find_scan(X)
    if scan is None or not scan.tasks:
        return None
    options: dict[str, Any] = {"recipe": recipe, "n_jobs": n_jobs}
    options |= {"columns": scan.columns, "kind": scan.kind}
    # Delayed functions instead of arrays: workers need not import dask.array, which needs SciPy.
    grids = [dask.delayed(partial(tasks.bin_parts, parts, **options))() for parts in scan.tasks]
    while len(grids) > 1:
        groups = (grids[k : k + SPLIT_EVERY] for k in range(0, len(grids), SPLIT_EVERY))
        grids = [dask.delayed(tasks.add)(group) for group in groups]
    unreadable = MeanShiftPPError, OSError, ImportError, need("pyarrow", "dask").ArrowException
    try:
        grid: Grid = grids[0].compute()
    except unreadable:  # Dask reads the rows again and reports the error with its place
        return None
    return grid


def _map(task: Callable[..., Any], points: Any, weight: Any, **options: Any) -> list[Any]:
    """Run a task on each block of rows and return the results in order."""
    results: list[Any] = _reduce(task, tasks.join_lists, points, weight, **options)
    return results


def _sample(points: Any, weight: Any) -> tuple[NDArray[Any], float, NDArray[np.float64] | None]:
    """Return the rows that `select_bandwidth` samples, the weight of all rows, and of each."""
    known = weight is None and not np.isnan(points.shape[0])
    sizes = [(n, n) for n in points.chunks[0]] if known else _map(tasks.block_size, points, weight)
    counts, totals = zip(*sizes, strict=True)
    starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    sampled = _map(tasks.sample_block, points, weight, starts=starts)
    rows, row_weights = zip(*sampled, strict=True)
    sample_weight = None if weight is None else np.concatenate(row_weights)
    return np.concatenate(rows), sum(totals), sample_weight


def _lazy_labels(
    points: Any, modes: Modes, recipe: Recipe, n_jobs: int | None, source: tasks.Source
) -> Any:
    # One node of the graph holds the modes, so that each worker receives them once. Scattered
    # data would be lost with its worker. Labels are made as a column, from which the axis is then
    # dropped, because Dask copies the blocks where a task itself drops an axis.
    column = points.map_blocks(
        tasks.label_block,
        modes=dask.delayed(modes, traverse=False),
        recipe=recipe,
        n_jobs=n_jobs,
        source=source,
        chunks=(points.chunks[0], (1,)),
        dtype=np.int32,
        meta=np.empty((0, 0), np.int32),
    )
    return column[:, 0]
