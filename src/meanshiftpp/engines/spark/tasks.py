"""The tasks that run on Spark's executors: bin a partition or files, add up, label rows.

They are separate from `estimator`, so that the Python workers of a cluster import only the parts
that a task needs. Tasks receive Arrow batches. A task of `fit` returns one row with a grid, a tally
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
from meanshiftpp.core.chunk import Chunk, chunk_from_arrow
from meanshiftpp.engines.sums import Total, add_up, bin_chunks
from meanshiftpp.errors import InvalidInputError, MeanShiftPPError
from meanshiftpp.io.sources import rows_per_chunk
from meanshiftpp.io.tables.formats import open_parquet

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from meanshiftpp.core.recipe import Recipe
    from meanshiftpp.core.tree.significant import Significant

pa = need("pyarrow", "spark")

PARTIAL = "part int, total binary, error binary"  # schema of the result of a task of `fit`
WEIGHT = "__weight__"  # name of the column of weights
MAX_BYTES = (1 << 31) - 1  # of a value in Spark
ROWS = 1 << 19  # per call: Spark's batches of 10,000 rows are too small


class Part(NamedTuple):
    """A part of the row groups of a Parquet file: part `number` of `n_parts`."""

    path: str
    size: int  # bytes of the file
    number: int
    n_parts: int


class OtherFileError(MeanShiftPPError):
    """A file is not what the driver expected; Spark decides whether this is an error."""


def bin_task(
    recipe: Recipe | Significant, names: tuple[str, ...]
) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """Return the task that bins a partition."""

    def task(batches: Iterator[Any]) -> Iterator[Any]:
        number, cores = _task_context()
        tables = (pa.Table.from_batches(group) for group in _gather(batches))
        yield from _bin(_chunks(tables, f"partition {number}", names), recipe, number, cores)

    return task


def bin_files_task(
    recipe: Recipe | Significant,
    columns: Sequence[Any],
    tasks: Sequence[Sequence[Part]],
    names: tuple[str, ...],
) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """Return the task that bins parts of Parquet files; its rows are numbers of `tasks`."""

    def task(batches: Iterator[Any]) -> Iterator[Any]:
        number, cores = _task_context()
        parts = [part for batch in batches for k in batch["id"].to_pylist() for part in tasks[k]]
        chunks = chain.from_iterable(_file_chunks(part, columns, names, cores) for part in parts)
        yield from _bin(chunks, recipe, number, cores)

    return task


def _bin(
    chunks: Iterator[Chunk], recipe: Recipe | Significant, number: int, cores: int
) -> Iterator[Any]:
    """Yield the row with the sum of all chunks, or with the error; nothing without chunks."""
    try:
        first = next(chunks, None)
        if first is None:
            return
        # The length of vectors is known only here.
        checked = recipe.checked(first.points.shape[1])
        row = _row(number, bin_chunks(chain([first], chunks), checked, cores))
    except MeanShiftPPError as error:
        row = _row(number, error=error)
    yield row


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
    """Add up the totals in a partition of rows: the task of each level of the tree."""
    rows = (row for batch in batches for row in batch.to_pylist())
    first = next(rows, None)
    if first is not None:
        part = first["part"]
        try:
            row = _row(part, add_rows(chain([first], rows)))
        except MeanShiftPPError as error:
            row = _row(part, error=error)
        yield row


def add_rows(rows: Iterable[Mapping[str, Any]]) -> Total | None:
    """Return the sum of the totals in rows; raise the error of the lowest partition with one."""
    failed: list[Mapping[str, Any]] = []

    def totals() -> Iterator[tuple[str, Total]]:
        for row in rows:
            if row["error"] is not None:
                failed.append(row)
            elif not failed:
                yield f"partition {row['part']}", pickle.loads(row["total"])

    total = add_up(totals())
    if failed:
        raise pickle.loads(min(failed, key=lambda row: row["part"])["error"])
    return total


def label_task(
    label: Callable[..., NDArray[np.int32]], names: tuple[str, ...]
) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """Return the task that labels rows; Spark broadcasts it with its modes if it is large."""

    def task(arrays: Iterator[Any]) -> Iterator[Any]:
        number, cores = _task_context()
        tables = (_table(group) for group in _gather(arrays))
        for chunk in _chunks(tables, f"partition {number}", names):
            with chunk.locating_errors():
                labels = label(chunk.points, n_threads=cores)
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


def _row(part: int, total: Total | None = None, error: MeanShiftPPError | None = None) -> Any:
    data = _pickled(total)
    if data is not None and len(data) > MAX_BYTES:
        raise InvalidInputError(
            f"partition {part} has {len(data):,} bytes of rows, but Spark's values have at most "
            f"{MAX_BYTES:,}; set a bandwidth, select fewer columns or divide the data frame"
        )
    columns = [pa.array([part], pa.int32())]
    columns += [pa.array([value], pa.binary()) for value in (data, _pickled(error))]
    return pa.RecordBatch.from_arrays(columns, names=["part", "total", "error"])


def _pickled(value: object) -> bytes | None:
    return None if value is None else pickle.dumps(value, protocol=5)
