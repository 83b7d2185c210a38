"""MeanShift++ on Dask: a grid for each partition, a tree of ``+``, one search.

Only grids travel; the points stay where they are. A grid is the same whichever worker made it and
in whichever order it was added, so the result is that of one process, bit for bit, and a worker
that dies costs time and nothing else. Dask runs the tasks, on whatever client is active or, without
one, on the threads of this process; only its public interface is used.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from meanshiftpp._support.checks import as_bandwidth, as_points, thread_count
from meanshiftpp._support.devices import on_host
from meanshiftpp._support.extras import need
from meanshiftpp.bandwidth.choice import bandwidth_from_sample
from meanshiftpp.bandwidth.spread import SAMPLE, rows_of_sample
from meanshiftpp.core.chunk import Chunk
from meanshiftpp.core.grid import Grid, GridSum, bin_chunk
from meanshiftpp.core.modes import Modes, fine_cells, seek
from meanshiftpp.errors import InvalidInputError
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

    `fit` runs at once: it reads the data once to bin it. Where no bandwidth is given it reads the
    data before that, once to look at some rows, and once to count them where that is not known (of
    a data frame) or where there are weights. Labels are lazy and are computed block by block when
    they are asked for; reading the data a second time is cheaper than keeping a label for every
    point.

    Parameters
    ----------
    bandwidth : float or array-like of shape (n_features,), default=None
        Side of a grid cell. ``None`` chooses one for each feature by `select_bandwidth`, from the
        rows that it would look at if the data were in memory: the answer is the same.
    resolution, periodic, tol, max_iter
        As those of `meanshiftpp.MeanShiftPP`.
    cluster_all : bool, default=True
        What `predict` does with a point far from every occupied cell: the nearest mode's label, or
        -1 where this is false.
    min_cluster_size : float, default=1
        Clusters of smaller weight are noise, of label -1.
    n_jobs : int, default=None
        Threads of each task. ``None`` is 1, because Dask already runs a task on each thread of its
        workers: more of them would only wait for each other. Where workers have fewer threads than
        cores, give the cores of each task. The search, one task in this process, takes as many as
        given, by default all cores.

    Attributes
    ----------
    labels_ : dask.array.Array of shape (n_samples,), int32
        Label of each point, lazy, in the chunks of `X`; for a data frame in those of
        ``X.to_dask_array()``, which joins small files unless ``X`` comes of
        ``df.map_partitions(lambda part: part)``. A copy made by pickle has none.
    cluster_centers_, cluster_weights_, n_iter_, bandwidth_, grid_
        As those of `meanshiftpp.MeanShiftPP`: small, and in this process.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, where `X` is a data frame.

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

    @parameters_checked  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: object = None, sample_weight: Any = None) -> Self:
        """Find the modes of `X`. Runs on the active client, and waits for the result.

        Parameters
        ----------
        X : dask array or data frame of shape (n_samples, n_features)
            The points. Partitions of no rows are fine.
        y : ignored
            For scikit-learn's pipelines.
        sample_weight : dask array or series of shape (n_samples,), default=None
            Weights, partitioned as `X` is. Whole numbers are exact; others are rounded partition
            by partition.

        Returns
        -------
        self : MeanShiftPP
            The estimator.
        """
        points = self._lazy(X, reset=True)
        weight = _lazy_weight(sample_weight, points)
        bandwidth = self.bandwidth
        if bandwidth is None:
            bandwidth = _chosen(points, weight, threads_of(self.n_jobs))
        wanted = as_bandwidth(bandwidth, points.shape[1])
        fine, period = fine_cells(wanted, self.periodic, points.shape[1], self.resolution)
        grid = _reduced(
            *(_block_grid, _add, points, weight),
            bandwidth=fine,
            period=period,
            n_jobs=self.n_jobs,
            kind="blocks" if isinstance(X, da.Array) else "partitions",
            columns=tuple(getattr(self, "feature_names_in_", ())),
        )
        if not len(grid):
            raise InvalidInputError("X must have at least one row of some weight, got none")
        modes = seek(
            grid,
            resolution=self.resolution,
            tol=self.tol,
            max_iter=self.max_iter,
            n_threads=threads_of(self.n_jobs),
        )
        modes = modes.keep(self._least_weight())
        return self._keep(modes, self._labels(points, modes), wanted)

    def fit_predict(self, X: Any, y: object = None, sample_weight: Any = None) -> Any:
        """Fit to `X` and return `labels_`, lazy."""
        return self.fit(X, sample_weight=sample_weight).labels_

    def partial_fit(self, X: Any, y: object = None, sample_weight: Any = None) -> Self:
        """Not for Dask: a lazy collection of all the chunks is what `fit` takes."""
        raise InvalidInputError(
            "partial_fit is for chunks that come one by one; concatenate the collections and fit"
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
        return self._labels(points, self._modes)

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the labels: they hold the way to all the data, perhaps on a cluster."""
        state = dict(super().__getstate__())
        state.pop("labels_", None)
        return state

    def _lazy(self, X: Any, reset: bool) -> Any:
        """Check what is known without computing: kind, dimension, names; give a dask array."""
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
                'of one column, df[["x"]] is a frame; for data in memory there is '
                "meanshiftpp.MeanShiftPP"
            )
        checked_points(self, _empty_frame(X), reset=reset, ensure_min_samples=0)
        # Columns that may hold missing values are objects in an array; as floats they hold NaN.
        nullable = {name: "float64" for name, kind in X.dtypes.items() if not _plain(kind)}
        return (X.astype(nullable) if nullable else X).to_dask_array()

    def _labels(self, points: Any, modes: Modes) -> Any:
        # One node of the graph holds the modes, so that a worker gets them once. In the graph and
        # not scattered, because what was scattered is lost with its worker. A column is made and
        # then taken: Dask copies the blocks where a task drops an axis.
        column = points.map_blocks(
            _label_block,
            modes=dask.delayed(modes, traverse=False),
            cluster_all=self.cluster_all,
            n_jobs=self.n_jobs,
            chunks=(points.chunks[0], (1,)),
            dtype=np.int32,
            meta=np.empty((0, 0), np.int32),
        )
        return column[:, 0]


# What is known without computing


def _plain(kind: Any) -> bool:
    return isinstance(kind, np.dtype)


def _empty_frame(X: Any) -> Any:
    """Give a table of no rows with the names of a dask data frame, whose types must be numbers."""
    pandas = need("pandas", "dask")
    for name, kind in X.dtypes.items():
        if not pandas.api.types.is_numeric_dtype(kind):
            raise InvalidInputError(
                f"column {name!r} holds {kind}, not numbers; select the columns to cluster"
            )
    return pandas.DataFrame(np.empty((0, len(X.columns))), columns=list(X.columns))


def _lazy_weight(sample_weight: Any, points: Any) -> Any:
    """Give weights as a dask array in the blocks of the points, or None."""
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
    rows, given = points.shape[0], weight.shape[0]
    if rows == given:  # never true of sizes that are not known: those are NaN
        return weight.rechunk((points.chunks[0],))
    if np.isnan(rows) and np.isnan(given) and points.numblocks[0] == weight.numblocks[0]:
        return weight
    raise InvalidInputError(
        f"sample_weight must be partitioned as X is, {rows} rows in {points.numblocks[0]} "
        f"partitions; got {given} rows in {weight.numblocks[0]}"
    )


# The tasks and their tree


def _reduced(
    task: Callable[..., Any],
    combine: Callable[[Sequence[Any]], Any],
    points: Any,
    weight: Any,
    **how: Any,
) -> Any:
    """Do a task with each block of rows and combine the results in a tree, now.

    A result is boxed in an array, because that is what Dask reduces; it fuses the task with what
    made the block, so that no block waits in memory.
    """
    boxes = da.map_blocks(
        _boxed,
        *([points] if weight is None else [points, weight[:, None]]),
        task=task,
        **how,
        dtype=object,
        chunks=((1,) * points.numblocks[0], (1,)),
        meta=np.empty((0, 0), object),
    )
    tree = da.reduction(
        boxes,
        chunk=_as_it_is,
        aggregate=partial(_combined, combine),
        axis=0,
        keepdims=True,
        concatenate=False,
        split_every=SPLIT_EVERY,
        dtype=object,
        meta=np.empty((0, 0), object),
    )
    return tree.compute().item()


def _boxed(points: Any, *weight: Any, task: Any, block_id: Any, **how: Any) -> NDArray[Any]:
    return _box(task(points, weight[0][:, 0] if weight else None, block_id[0], **how))


def _as_it_is(box: NDArray[Any], **_: Any) -> NDArray[Any]:
    return box


def _combined(combine: Callable[[Sequence[Any]], Any], boxes: Any, **_: Any) -> NDArray[Any]:
    boxes = boxes if isinstance(boxes, list) else [boxes]
    return _box(combine([box.item() for box in boxes]))


def _box(value: Any) -> NDArray[Any]:
    box = np.empty((1, 1), object)
    box[0, 0] = value
    return box


def _block_grid(
    points: NDArray[Any],
    weight: NDArray[Any] | None,
    number: int,
    *,
    bandwidth: NDArray[np.float64],
    period: NDArray[np.int64],
    n_jobs: int | None,
    kind: str,
    columns: tuple[str, ...],
) -> Grid:
    chunk = Chunk(points, weight, source=f"X.{kind}[{number}]", columns=columns)
    return bin_chunk(chunk, bandwidth, period=period, n_threads=_task_threads(n_jobs))


def _add(grids: Sequence[Grid]) -> Grid:
    total = GridSum(grids[0])
    for grid in grids[1:]:
        total.add(grid)
    return total.grid()


def _chosen(points: Any, weight: Any, threads: int | None) -> NDArray[np.float64]:
    """Choose a bandwidth from the rows that would be looked at in memory."""
    known = weight is None and not np.isnan(points.shape[0])
    sizes = [(n, n) for n in points.chunks[0]] if known else _each(_block_size, points, weight)
    counts, weights = zip(*sizes, strict=True)
    starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    rows, of_rows = zip(*_each(_block_sample, points, weight, starts=starts), strict=True)
    each = None if weight is None else np.concatenate(of_rows)
    sample = np.concatenate(rows)
    return bandwidth_from_sample(sample, sum(weights), sample_weight=each, n_threads=threads)


def _each(task: Callable[..., Any], points: Any, weight: Any, **how: Any) -> list[Any]:
    """Do a task with each block of rows, and give the results in order."""
    found: list[Any] = _reduced(task, _joined, points, weight, **how)
    return found


def _joined(lists: Sequence[list[Any]]) -> list[Any]:
    return [item for each in lists for item in each]


def _block_size(
    points: NDArray[Any], weight: NDArray[Any] | None, number: int
) -> list[tuple[int, float]]:
    """Count the rows that have a say, and their weight. What is wrong, binning will say."""
    if weight is None:
        return [(len(points), len(points))]
    counted = weight[weight > 0]
    return [(len(counted), float(counted.sum()))]


def _block_sample(
    points: NDArray[Any], weight: NDArray[Any] | None, number: int, *, starts: NDArray[np.int64]
) -> list[tuple[NDArray[Any], NDArray[np.float64] | None]]:
    points = as_points(points)
    if weight is not None:
        points, weight = points[weight > 0], weight[weight > 0]
    rows = rows_of_sample(int(starts[-1]), SAMPLE)
    mine = rows[(rows >= starts[number]) & (rows < starts[number + 1])] - starts[number]
    of_rows = None if weight is None else on_host(weight[mine]).astype(np.float64)
    return [(on_host(points[mine]), of_rows)]


def _label_block(
    points: NDArray[Any],
    *,
    modes: Modes,
    cluster_all: bool,
    n_jobs: int | None,
) -> NDArray[np.int32]:
    labels = modes.label(points, cluster_all=cluster_all, n_threads=_task_threads(n_jobs))
    return labels[:, None]


def _task_threads(n_jobs: int | None) -> int:
    """Resolve the threads of a task where it runs; negative numbers count from all cores."""
    if n_jobs is None:
        return 1
    return n_jobs if n_jobs > 0 else max(1, thread_count(None) + 1 + n_jobs)
