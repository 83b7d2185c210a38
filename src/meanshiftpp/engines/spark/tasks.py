"""The tasks that run on Spark's executors: bin a partition or files, add up grids, label rows.

They are separate from `estimator`, so that the Python workers of a cluster import only the parts
that a task needs. Tasks receive Arrow batches. A task of `fit` returns one row with a partial grid
or an error. Bad data must not fail a task, because Spark would run it again with the same result;
the error is returned to the driver, which raises it.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from meanshiftpp._support.columns import array_from_arrow
from meanshiftpp._support.extras import need
from meanshiftpp.core.accumulate import GridSum
from meanshiftpp.core.chunk import Chunk, chunk_from_arrow
from meanshiftpp.core.grid import Grid
from meanshiftpp.errors import InvalidInputError, MeanShiftPPError
from meanshiftpp.io.sources import rows_per_chunk
from meanshiftpp.io.tables.formats import open_parquet

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from meanshiftpp.core.modes import Modes
    from meanshiftpp.core.recipe import Recipe

pa = need("pyarrow", "spark")

PARTIAL = "part int, grid binary, error binary"  # schema of the result of a task of `fit`
WEIGHT = "__weight__"  # name of the column of weights
ROWS = 1 << 19  # per call: Spark's batches of 10,000 rows are too small


class Part(NamedTuple):
    """A part of the row groups of a Parquet file: part `number` of `n_parts`."""

    path: str
    size: int  # bytes of the file
    number: int
    n_parts: int


class OtherFileError(MeanShiftPPError):
    """A file is not what the driver expected; Spark decides whether this is an error."""


def bin_task(recipe: Recipe, names: tuple[str, ...]) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """Return the task that bins a partition."""

    def task(batches: Iterator[Any]) -> Iterator[Any]:
        number, cores = _task_context()
        tables = (pa.Table.from_batches(group) for group in _gather(batches))
        yield from _bin(_chunks(tables, f"partition {number}", names), recipe, number, cores)

    return task


def bin_files_task(
    recipe: Recipe, columns: Sequence[Any], tasks: Sequence[Sequence[Part]], names: tuple[str, ...]
) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """Return the task that bins parts of Parquet files; its rows are numbers of `tasks`."""

    def task(batches: Iterator[Any]) -> Iterator[Any]:
        number, cores = _task_context()
        parts = [part for batch in batches for k in batch["id"].to_pylist() for part in tasks[k]]
        chunks = chain.from_iterable(_file_chunks(part, columns, names, cores) for part in parts)
        yield from _bin(chunks, recipe, number, cores)

    return task


def _bin(chunks: Iterator[Chunk], recipe: Recipe, number: int, cores: int) -> Iterator[Any]:
    """Yield the row with the grid of all chunks, or with the error; nothing without chunks."""
    try:
        first = next(chunks, None)
        if first is None:
            return
        # The length of vectors is known only here.
        total = GridSum(recipe.checked(first.points.shape[1]).empty())
        for chunk in chain([first], chunks):
            total.add_chunk(chunk, n_threads=cores)
        grid = total.grid()
    except MeanShiftPPError as error:
        yield _row(number, None, error)
    else:
        yield _row(number, grid, None)


def _file_chunks(
    part: Part, columns: Sequence[Any], names: tuple[str, ...], cores: int
) -> Iterator[Chunk]:
    """Read the chunks of a part of a file, which must have these columns of these types."""
    try:
        if Path(part.path).stat().st_size != part.size:
            raise OtherFileError(f"{part.path} has changed")
        with open_parquet(Path(part.path)) as file:
            _check_columns(file.schema_arrow, columns, part.path)
            groups = [file.metadata.row_group(k).num_rows for k in range(file.num_row_groups)]
            start, end = (len(groups) * k // part.n_parts for k in (part.number, part.number + 1))
            batches = file.iter_batches(
                rows_per_chunk(sum(_bytes_of(column.kind) for column in columns)),
                row_groups=range(start, end),
                columns=[column.name for column in columns],
                use_threads=cores > 1,
            )
            selected = (batch.select([column.name for column in columns]) for batch in batches)
            outputs = [column.output for column in columns]
            tables = (pa.table(batch.columns, outputs) for batch in selected)
            yield from _chunks(tables, part.path, names, sum(groups[:start]))
    except (pa.ArrowException, OSError) as error:
        raise OtherFileError(f"{part.path} cannot be read: {error}") from error


def _check_columns(schema: Any, columns: Sequence[Any], path: str) -> None:
    """Raise unless the file has each column once, in any case of letters, in the given type."""
    found = [name.lower() for name in schema.names]
    for column in columns:
        same = column.name in schema.names and found.count(column.name.lower()) == 1
        if not same or str(schema.field(column.name).type) != str(_arrow_type(column.kind)):
            raise OtherFileError(f"{path} has other columns than the data frame")


def _arrow_type(kind: str) -> Any:
    return pa.type_for_alias(kind)


def _bytes_of(kind: str) -> int:
    return int(_arrow_type(kind).bit_width) // 8


def add_task(batches: Iterator[Any]) -> Iterator[Any]:
    """Add up the grids in a partition of rows: the task of each level of the tree."""
    rows = (row for batch in batches for row in batch.to_pylist())
    first = next(rows, None)
    if first is not None:
        part = first["part"]
        try:
            yield _row(part, add_rows(chain([first], rows)), None)
        except MeanShiftPPError as error:
            yield _row(part, None, error)


def add_rows(rows: Iterable[Mapping[str, Any]]) -> Grid | None:
    """Return the sum of the grids in rows; raise the error of the lowest partition with one."""
    total: GridSum[Grid] | None = None
    failed: Mapping[str, Any] | None = None
    for row in rows:
        if row["error"] is not None:
            failed = min(failed or row, row, key=lambda each: each["part"])
        elif failed is None:
            grid = pickle.loads(row["grid"])
            if total is None:
                total = GridSum(Grid.of_cells(grid.bandwidth, grid.cells_per_period))
            total.add(grid, f"partition {row['part']}")
    if failed is not None:
        raise pickle.loads(failed["error"])
    return total.grid() if total else None


def label_task(
    modes: Modes, recipe: Recipe, names: tuple[str, ...]
) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """Return the task that labels rows; Spark broadcasts it with its modes if it is large."""

    def task(arrays: Iterator[Any]) -> Iterator[Any]:
        number, cores = _task_context()
        tables = (_table(group) for group in _gather(arrays))
        for chunk in _chunks(tables, f"partition {number}", names):
            with chunk.locating_errors():
                labels = recipe.label(modes, chunk.points, n_threads=cores)
            yield pa.array(labels)

    batches = Iterator.__class_getitem__(pa.Array)  # type: ignore[attr-defined]
    task.__annotations__ = {"arrays": batches, "return": batches}  # Spark reads the types from here
    return task


def _task_context() -> tuple[int, int]:
    """Return the partition of this task and the number of its cores."""
    context = need("pyspark", "spark").TaskContext.get()
    return context.partitionId(), context.cpus()


def _gather(batches: Iterator[Any]) -> Iterator[list[Any]]:
    """Collect batches until they have enough rows."""
    waiting: list[Any] = []
    for batch in batches:
        waiting.append(batch)
        if sum(map(len, waiting)) >= ROWS:
            yield waiting
            waiting = []
    if waiting:
        yield waiting


def _table(arrays: list[Any]) -> Any:
    """Return arrays as a table: structs have several columns, other types one."""
    chunked = pa.chunked_array(arrays)
    if pa.types.is_struct(chunked.type):
        return pa.Table.from_struct_array(chunked)
    return pa.table([chunked], names=["x"])


def _chunks(
    tables: Iterator[Any], source: str, names: tuple[str, ...], first: int = 0
) -> Iterator[Chunk]:
    for table in tables:
        if table.num_rows == 0:  # vectors without rows have no length
            continue
        weight = None
        if WEIGHT in table.column_names:
            weight = array_from_arrow(table.select([WEIGHT]))[:, 0]
            table = table.drop_columns(WEIGHT)
        column = table.column(0)
        if pa.types.is_list(column.type) or pa.types.is_large_list(column.type):
            chunk = _vectors(column.combine_chunks(), source, first)
        else:
            chunk = chunk_from_arrow(table, source, first)
        yield replace(chunk, weight=weight, columns=names)
        first += table.num_rows


def _vectors(column: Any, source: str, first: int) -> Chunk:
    """Convert a column of at least one vector, which must all have one length, to a chunk."""
    lengths = column.value_lengths().fill_null(-1).to_numpy(zero_copy_only=False)
    bad = np.flatnonzero((lengths != lengths[0]) | (lengths < 1))
    if bad.size:
        row = int(bad[0])
        received = f"{lengths[row]} numbers" if lengths[row] >= 0 else "no vector"
        raise InvalidInputError(
            f"{source}, row {first + row + 1} has {received}; "
            "every row must hold a vector of the same length, at least 1"
        )
    values: NDArray[Any] = column.flatten().to_numpy(zero_copy_only=False)
    return Chunk(values.reshape(len(column), -1), source=source, first=first)


def _row(part: int, grid: Grid | None, error: MeanShiftPPError | None) -> Any:
    def pickled(value: object) -> Any:
        return pa.array([None if value is None else pickle.dumps(value, protocol=5)], pa.binary())

    return pa.RecordBatch.from_arrays(
        [pa.array([part], pa.int32()), pickled(grid), pickled(error)],
        names=["part", "grid", "error"],
    )
