"""Tables: Parquet, CSV and Arrow files, one or many with the same columns, through pyarrow.

Which columns are features, what the rows are as they go to chunks, and the labels beside them. How
one file is read is in `tablefiles`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from meanshiftpp._support.columns import is_numeric
from meanshiftpp._support.extras import need
from meanshiftpp._support.files import suffix_of
from meanshiftpp.core.chunk import Chunk, chunk_from_arrow
from meanshiftpp.errors import InvalidInputError
from meanshiftpp.io.sources import (
    LabelWriter,
    Source,
    free_name,
    listed,
    position,
)
from meanshiftpp.io.table_files import Csv, TableFile, open_file

FORMATS = (".parquet", ".csv", ".arrow", ".feather")
READABLE = (*FORMATS, ".csv.gz")  # pyarrow unpacks by the name
_PANDAS_INDEX = "__index_level_"  # row numbers and the like, which pandas stores as a column


class TableSource(Source):
    """The rows of tables that have the same columns."""

    def __init__(self, paths: list[Path], columns: Sequence[str] | None) -> None:
        self.paths = paths
        self._files = [open_file(path) for path in paths]
        names = self._files[0].schema.names
        for file in self._files[1:]:
            if sorted(file.schema.names) != sorted(names):
                raise InvalidInputError(
                    f"{str(file.path)!r} has the columns {listed(file.schema.names)}, "
                    f"but {str(paths[0])!r} has {listed(names)}"
                )
        self._all_asked_for = columns is None
        self.index = self._row_names() if columns is None else ()
        self.columns = self._chosen(columns)
        sizes = [file.rows for file in self._files]
        self.rows = None if None in sizes else sum(sizes)  # type: ignore[arg-type]
        self.nbytes = sum(file.nbytes(self.columns) for file in self._files)

    def _row_names(self) -> tuple[str, ...]:
        """Find the columns that pandas writes for the names of rows, in a .csv without a name."""
        names = [field.name for field in self.schema() if is_numeric(field.type)]
        index = {name for file in self._files for name in file.pandas_index()}
        index.update(name for name in names if not name or name.startswith(_PANDAS_INDEX))
        return tuple(dict.fromkeys(name for name in names if name in index))

    def _chosen(self, columns: Sequence[str] | None) -> tuple[str, ...]:
        for name in columns or ():
            position(name, self._files[0].schema.names, self.paths[0])
        schema = self.schema()
        if columns is None:
            names = [field.name for field in schema if is_numeric(field.type)]
            chosen = tuple(name for name in names if name not in self.index)
        else:
            chosen = tuple(columns)
        for name in chosen:
            for file in self._files:
                position(name, file.schema.names, file.path)
                file.refuse_text(name)
        if not chosen and all(file.rows == 0 for file in self._files):
            raise InvalidInputError(f"{self.name!r} has no rows")
        if not chosen:
            there = listed(schema.names)
            raise InvalidInputError(f"{self.name!r} has no column of numbers, only {there}")
        return chosen

    @property
    def left_out(self) -> dict[str, str]:
        """Columns that hold no numbers, and what they hold; none where columns were asked for."""
        if not self._all_asked_for:
            return {}
        found: dict[str, str] = {}
        for name in self.schema().names:
            if name not in self.columns and name not in self.index:
                file = next(
                    (f for f in self._files if not is_numeric(f.kind(name))), self._files[0]
                )
                found[name] = file.holds(name)
        return found

    @property
    def compression(self) -> str:
        """How the first file's columns are compressed, or would be in Parquet."""
        return self._files[0].compression

    def schema(self, *, final: bool = False) -> Any:
        """Return the schema that holds the rows of all files; `final` reads what has to be read."""
        arrow = need("pyarrow", "io")
        for file in self._files:
            if final and not file.types_are_known:
                for _ in file.batches(None, 0):
                    pass
        schema = self._files[0].schema
        for file in self._files[1:]:
            both = [schema, file.schema]
            try:
                schema = arrow.unify_schemas(both, promote_options="permissive")
            except arrow.ArrowException as error:
                raise InvalidInputError(
                    f"the columns of {str(file.path)!r} do not fit those before: {error}"
                ) from error
        return schema

    def check_fits(self, path: Path) -> None:
        """Refuse columns that a .csv has no place for: before the work, and by name."""
        arrow, csv = need("pyarrow", "io"), need("pyarrow.csv", "io")
        for field in self.schema() if suffix_of(path) == ".csv" else ():
            alone = arrow.schema([field])
            try:
                csv.write_csv(alone.empty_table(), arrow.BufferOutputStream())
            except arrow.ArrowInvalid as error:
                raise InvalidInputError(
                    f"cannot write {str(path)!r}: column {field.name!r} holds {field.type}, which "
                    "has no place in a .csv; .parquet and .arrow hold it"
                ) from error

    def settled(self, *, typed: bool) -> Any:
        """Return the schema of the rows as they are to be written, and read them so from now on.

        Columns of .csv files that are no features are read as text. For a format that has types,
        `typed`, only those are whose text says more than their numbers would.
        """
        arrow = need("pyarrow", "io")
        files = [file for file in self._files if isinstance(file, Csv)]
        for file in files:
            file.as_text = frozenset()
        schema = self.schema(final=True)
        if len(files) < len(self._files):  # others know the types
            return schema
        others = {field.name: field.type for field in schema if field.name not in self.columns}
        if typed:
            numbers = {name: kind for name, kind in others.items() if is_numeric(kind)}
            as_text = frozenset[str]().union(*(file.saying_more(numbers) for file in files))
        else:
            as_text = frozenset(others)
        for file in files:
            file.as_text = as_text
        text = arrow.string()
        return arrow.schema([f.with_type(text) if f.name in as_text else f for f in schema])

    def _chunks(self, start: int, whole: bool) -> Iterator[Chunk]:
        before = 0
        for file in self._files:
            if file.rows is not None and before + file.rows <= start:
                before += file.rows
                continue
            row = skip = max(start - before, 0)
            for batch in file.batches(None if whole else self.columns, skip):
                end = row + batch.num_rows
                for name in self.columns:
                    file.refuse_text(name)
                points = batch.select(self.columns)
                more = {"data": batch if whole else None, "end": before + end}
                yield chunk_from_arrow(points, str(file.path), row, **more)
                row = end
            before += file.rows if file.rows is not None else row
        self.rows = before


# -- labels ----------------------------------------------------------------------------------------


class TableLabels(LabelWriter):
    """Writes all columns of the source, and one more with the labels.

    Points that come from no table are written as columns themselves.
    """

    def __init__(self, path: Path, final: Path, source: Source) -> None:
        arrow = need("pyarrow", "io")
        self._final, self._suffix = final, path.suffix.lower()
        self._from_table, self._compression = isinstance(source, TableSource), TableFile.compression
        if isinstance(source, TableSource):
            schema = source.settled(typed=self._suffix != ".csv")
            self._compression = source.compression
        else:
            assert source.dtype is not None  # only a table can have columns of several types
            kind = arrow.from_numpy_dtype(source.dtype.newbyteorder("="))
            schema = arrow.schema([(name, kind) for name in source.columns])
        self.column = free_name(schema.names)
        self._source_schema = schema
        self._schema = schema.append(arrow.field(self.column, arrow.int32()))
        with self._writing():
            self._writer = self._open(path)

    def _open(self, path: Path) -> Any:
        if self._suffix == ".csv":
            return need("pyarrow.csv", "io").CSVWriter(path, self._schema)
        if self._suffix == ".parquet":
            # A dictionary of measurements, which hardly ever repeat, costs time and space.
            floating = need("pyarrow", "io").types.is_floating
            repeating = [field.name for field in self._schema if not floating(field.type)]
            options = {"use_dictionary": repeating, "compression": self._compression}
            return need("pyarrow.parquet", "io").ParquetWriter(path, self._schema, **options)
        return need("pyarrow.ipc", "io").new_file(str(path), self._schema)

    def write(self, chunk: Chunk, labels: NDArray[np.int32]) -> None:
        """Write the labels beside the columns."""
        arrow = need("pyarrow", "io")
        batch = chunk.data
        if not self._from_table:
            kinds = [kind.to_pandas_dtype() for kind in self._source_schema.types]
            columns = [
                np.ascontiguousarray(*pair) for pair in zip(chunk.points.T, kinds, strict=True)
            ]
            batch = arrow.record_batch(columns, schema=self._source_schema)
        with self._writing():
            names = self._source_schema.names
            table = arrow.Table.from_batches([batch]).select(names).cast(self._source_schema)
            table = table.append_column(self._schema.field(-1), [labels])
            self._writer.write_table(table, max(table.num_rows, 1))

    def close(self) -> None:
        """Finish the file."""
        with self._writing():
            self._writer.close()

    @contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except need("pyarrow", "io").ArrowException as error:
            if isinstance(error, OSError):
                raise
            raise InvalidInputError(f"cannot write {str(self._final)!r}: {error}") from error
