"""What Spark's tasks do: bin a partition, add up grids, label rows.

Apart from `spark`, so that the Python workers of a cluster load no more than they need. Tasks get
Arrow batches. Those of `fit` give one row: the partial grid, or the words of an error. Bad data is
the same at every try, so it does not fail a task, which Spark would repeat; it reaches the driver
as a result and is raised there.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from meanshiftpp._support.extras import need
from meanshiftpp.core.chunk import Chunk, chunk_of_arrow
from meanshiftpp.core.grid import Grid, GridSum
from meanshiftpp.errors import InvalidInputError, MeanShiftPPError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from meanshiftpp.core.modes import Modes

pa = need("pyarrow", "spark")

PARTIAL = "part int, grid binary, error string"  # the row that a task of `fit` gives
WEIGHT = "__weight__"  # the column of weights, if there is one
ROWS = 1 << 19  # at a time: Spark's batches, of 10,000 rows, are too small to be worth a call each


def binning(
    bandwidth: ArrayLike, names: tuple[str, ...]
) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """Make the task that turns a partition into a row with its grid."""

    def task(batches: Iterator[Any]) -> Iterator[Any]:
        number, cores = _here()
        tables = (pa.Table.from_batches(some) for some in _gathered(batches))
        chunks = _chunks(tables, f"partition {number}", names)
        try:
            first = next(chunks, None)
            if first is None:
                return
            grid = Grid.from_chunks(chain([first], chunks), bandwidth, n_threads=cores)
        except MeanShiftPPError as error:
            yield _row(number, None, str(error))
        else:
            yield _row(number, grid, None)

    return task


def adding(batches: Iterator[Any]) -> Iterator[Any]:
    """Add up the grids in a partition of rows; the task of each level of the tree."""
    rows = (row for batch in batches for row in batch.to_pylist())
    first = next(rows, None)
    if first is not None:
        yield _row(first["part"], *add_up(chain([first], rows)))


def add_up(rows: Iterable[Mapping[str, Any]]) -> tuple[Grid | None, str | None]:
    """Return the sum of the grids in rows, or the error of the lowest partition that has one."""
    total: GridSum | None = None
    errors: list[tuple[int, str]] = []
    try:
        for row in rows:
            if row["error"] is not None:
                errors.append((row["part"], row["error"]))
            elif not errors:
                grid = pickle.loads(row["grid"])
                total = total or GridSum(Grid.empty(grid.bandwidth))
                total.add(grid, f"partition {row['part']}")
        if errors:
            return None, min(errors)[1]
        return (total.grid() if total else None), None
    except MeanShiftPPError as error:  # vectors of another length, a cell too full to be exact
        return None, str(error)


def labelling(
    modes: Modes, cluster_all: bool, names: tuple[str, ...]
) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """Make the task that labels rows. Spark broadcasts it, modes and all, where it is large."""

    def task(arrays: Iterator[Any]) -> Iterator[Any]:
        number, cores = _here()
        tables = (_table(some) for some in _gathered(arrays))
        for chunk in _chunks(tables, f"partition {number}", names):
            with chunk.named():
                labels = modes.label(chunk.points, cluster_all=cluster_all, n_threads=cores)
            yield pa.array(labels)

    batches = Iterator.__class_getitem__(pa.Array)  # type: ignore[attr-defined]
    task.__annotations__ = {"arrays": batches, "return": batches}  # Spark asks for them
    return task


def _here() -> tuple[int, int]:
    """Return the number of this task's partition, and of the cores it was given."""
    context = need("pyspark", "spark").TaskContext.get()
    return context.partitionId(), context.cpus()


def _gathered(batches: Iterator[Any]) -> Iterator[list[Any]]:
    """Put batches together until they have enough rows."""
    waiting: list[Any] = []
    for batch in batches:
        waiting.append(batch)
        if sum(map(len, waiting)) >= ROWS:
            yield waiting
            waiting = []
    if waiting:
        yield waiting


def _table(arrays: list[Any]) -> Any:
    """Make a table of arrays: structs of numbers have several columns, others are one."""
    chunked = pa.chunked_array(arrays)
    if pa.types.is_struct(chunked.type):
        return pa.Table.from_struct_array(chunked)
    return pa.table([chunked], names=["x"])


def _chunks(tables: Iterator[Any], source: str, names: tuple[str, ...]) -> Iterator[Chunk]:
    first = 0
    for table in tables:
        weight = None
        if WEIGHT in table.column_names:
            weight = table.column(WEIGHT).to_numpy()
            table = table.drop_columns(WEIGHT)
        column = table.column(0)
        if pa.types.is_list(column.type) or pa.types.is_large_list(column.type):
            chunk = _vectors(column.combine_chunks(), source, first)
        else:
            chunk = chunk_of_arrow(table, source, first)
        if len(chunk):
            yield replace(chunk, weight=weight, columns=names)
        first += table.num_rows


def _vectors(column: Any, source: str, first: int) -> Chunk:
    """Make a chunk of a column of vectors, which must all have one length."""
    lengths = column.value_lengths().fill_null(-1).to_numpy(zero_copy_only=False)
    bad = np.flatnonzero(lengths != (lengths[0] if len(lengths) else 0))
    if len(lengths) and lengths[0] < 1:
        bad = np.array([0])
    if bad.size:
        row = int(bad[0])
        what = f"{lengths[row]} numbers" if lengths[row] >= 0 else "no vector"
        raise InvalidInputError(
            f"{source}, row {first + row + 1} has {what}; "
            "every row must have a vector of one length, of 1 at least"
        )
    values: NDArray[Any] = column.flatten().to_numpy(zero_copy_only=False)
    return Chunk(values.reshape(len(column), -1), source=source, first=first)


def _row(part: int, grid: Grid | None, error: str | None) -> Any:
    return pa.RecordBatch.from_arrays(
        [
            pa.array([part], pa.int32()),
            pa.array([None if grid is None else pickle.dumps(grid, protocol=5)], pa.binary()),
            pa.array([error], pa.string()),
        ],
        names=["part", "grid", "error"],
    )
