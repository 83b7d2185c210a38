"""Tables: one or more Parquet, CSV and Arrow files with the same columns, through pyarrow.

This module chooses the features, splits rows into chunks, and writes tables with a column of
labels. `formats` reads a single file.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from copy import copy
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from meanshiftpp._support.columns import (
    Memory,
    is_exact,
    is_long_integer,
    is_numeric,
    is_text,
    is_untyped,
)
from meanshiftpp._support.extras import need
from meanshiftpp._support.files import suffix_of
from meanshiftpp.core.chunk import Chunk, chunk_from_arrow
from meanshiftpp.errors import InvalidInputError
from meanshiftpp.io.selection import BOOLEANS, Condition
from meanshiftpp.io.sources import (
    LabelWriter,
    Source,
    find_columns,
    format_names,
    label_column_name,
    no_rows,
)
from meanshiftpp.io.tables.formats import Csv, TableFile, open_file

FORMATS = (".parquet", ".csv", ".arrow", ".feather")
READABLE = (*FORMATS, ".csv.gz")  # pyarrow decompresses it because of its suffix
_EXAMPLES = 12  # columns that are left out and described by a value
_PANDAS_INDEX = "__index_level_"  # the prefix of columns in which pandas stores unnamed indexes


class TableSource(Source):
    """The rows of tables that have the same columns."""

    def __init__(self, paths: list[Path], columns: Sequence[str] | None) -> None:
        super().__init__(paths)
        self._files = [open_file(path) for path in paths]
        names = self._files[0].names
        for file in self._files[1:]:
            if sorted(file.names) != sorted(names):
                raise InvalidInputError(
                    f"{str(file.path)!r} has the columns {format_names(file.names)}, "
                    f"but {str(paths[0])!r} has {format_names(names)}"
                )
        self._chosen_by_caller = columns is not None
        self.index = self._find_index() if columns is None else ()
        self.columns = self._numeric = self._choose(columns)
        sizes = [file.rows for file in self._files]
        self.rows = None if None in sizes else sum(sizes)  # type: ignore[arg-type]
        self.nbytes = sum(file.nbytes(self.columns) for file in self._files)

    def _find_index(self) -> tuple[str, ...]:
        """Return the columns in which pandas wrote an index; in a .csv they have no name."""
        names = [field.name for field in self.schema() if is_numeric(field.type)]
        index = {name for file in self._files for name in file.pandas_index()}
        index.update(name for name in names if not name or name.startswith(_PANDAS_INDEX))
        return tuple(dict.fromkeys(name for name in names if name in index))

    def _choose(self, columns: Sequence[str] | None) -> tuple[str, ...]:
        """Return the features: the given columns, or all that are numeric."""
        find_columns(columns or (), self._files[0].names, self.paths[0])
        schema = self.schema()
        if columns is None:
            names = [field.name for field in schema if is_numeric(field.type)]
            chosen = tuple(name for name in names if name not in self.index)
            for file in self._files:
                for name in {*file.names}.difference(chosen, self.index):
                    file.check_left_out(name)
        else:
            chosen = tuple(columns)
        for file in self._files:
            file.check_columns(chosen)
        if not chosen and all(file.rows == 0 for file in self._files):
            raise no_rows(self.name)
        if not chosen:
            raise InvalidInputError.for_file(
                self.name,
                f"has no column of numbers, only {format_names(schema.names)}; "
                "convert a column to numbers first",
            )
        return chosen

    @property
    def left_out(self) -> dict[str, str]:
        """Columns that are not numeric, and their content; empty if the caller chose columns."""
        if self._chosen_by_caller:
            return {}
        contents: dict[str, str] = {}
        used = {*self._numeric, *self.index}
        for name in self.schema().names:
            if name not in used:
                files = (file for file in self._files if not is_numeric(file.column_type(name)))
                file = next(files, self._files[0])
                # An example may take a pass over the file.
                example = len(contents) < _EXAMPLES
                contents[name] = (
                    file.describe_content(name) if example else str(file.column_type(name))
                )
        return contents

    def selecting(self, columns: Sequence[str]) -> TableSource:
        """Return the same tables with other features, without opening the files again."""
        source = copy(self)
        source.columns, source.rows_missing = tuple(columns), None
        source.nbytes = sum(file.nbytes(source._columns_read) for file in self._files)
        return source

    def inexact_columns(self) -> list[str]:
        """Return the features of whole numbers that float64 cannot hold, as in the first rows.

        Such columns can be read among themselves, but not beside a column of another type.
        """
        features = {*self.columns}
        types = {field.name: field.type for field in self.schema() if field.name in features}
        if len(set(types.values())) == 1:
            return []
        inexact: set[str] = set()
        for kind in filter(is_long_integer, set(types.values())):
            inexact.update(self._inexact([name for name, other in types.items() if other == kind]))
        return [name for name in self.columns if name in inexact]

    def _inexact(self, names: list[str]) -> list[str]:
        try:
            columns = self._reading(names).head().T
        except InvalidInputError:  # missing values of one column make the others real numbers too
            if len(names) == 1:
                raise
            return [name for each in names for name in self._inexact([each])]
        return [name for name, x in zip(names, columns, strict=True) if not is_exact(x)]

    def alone(self, column: str) -> TableSource:
        """Return the same tables with one feature, without weights and conditions."""
        return self._reading([column])

    def head(self) -> NDArray[Any]:
        """Return the points of the first chunk, with missing values."""
        with closing(self.raw_chunks()) as chunks:
            return next((chunk.points for chunk in chunks), np.empty((0, len(self.columns))))

    def _reading(self, columns: Sequence[str]) -> TableSource:
        others = {*columns}.difference(self.columns)
        for file in self._files:
            file.check_columns([name for name in columns if name in others])
        source = copy(self)
        source.weight = source.where = None
        return source.selecting(columns)

    def selected(self, where: str) -> Source:
        """Return the points that satisfy conditions."""
        source = super().selected(where)
        for file in self._files:
            for condition in source.where.conditions if source.where else ():
                if isinstance(condition.value, str):
                    find_columns([condition.column], file.names, file.path)
                    _check_text(file.column_type(condition.column), condition, where)
        return source

    def _types_of(self, columns: Sequence[str]) -> dict[str, np.dtype[Any]]:
        floating = need("pyarrow", "io").types.is_floating
        types = {field.name: field.type for field in self.schema() if floating(field.type)}
        return {name: np.dtype(types[name].to_pandas_dtype()) for name in columns if name in types}

    @property
    def compression(self) -> str:
        """The codec of the first file if it is Parquet, else pyarrow's default for Parquet."""
        return self._files[0].compression

    def schema(self, *, final: bool = False) -> Any:
        """Return the common schema of all files.

        The types of a .csv can still change until it has been read; `final` reads such files first.
        """
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
                    f"the columns of {str(file.path)!r} do not fit those of the files before it: "
                    f"{error}"
                ) from error
        return schema

    def csv_files(self) -> list[Path] | None:
        """Return the files if all are .csv files with the same header; None otherwise."""
        same = all(file.names == self._files[0].names for file in self._files)
        return self.paths if same and all(isinstance(file, Csv) for file in self._files) else None

    def check_fits(self, path: Path) -> None:
        """Raise InvalidInputError if a .csv cannot hold one of the columns."""
        arrow, csv = need("pyarrow", "io"), need("pyarrow.csv", "io")
        for field in self.schema() if suffix_of(path) == ".csv" else ():
            alone = arrow.schema([field])
            try:
                empty = arrow.Table.from_batches([], alone)  # `empty_table` imports pandas
                csv.write_csv(empty, arrow.BufferOutputStream())
            except arrow.ArrowInvalid as error:
                raise InvalidInputError.for_file(
                    path,
                    f"cannot be written: column {field.name!r} holds {field.type}, which "
                    "a .csv cannot hold; write a .parquet or .arrow file",
                ) from error

    def prepare_output(self, *, typed: bool) -> Any:
        """Return the schema of the output, and read rows with that schema from now on.

        Columns of .csv files that are not features are read as text, so they are written unchanged.
        For an output format with types, `typed`, this applies only to columns that would lose
        information as numbers.
        """
        arrow = need("pyarrow", "io")
        files = [file for file in self._files if isinstance(file, Csv)]
        for file in files:
            file.as_text = frozenset()
        schema = self.schema(final=True)
        if len(files) < len(self._files):  # the other files declare the types
            return schema
        read = {*self._columns_read}
        others = {field.name: field.type for field in schema if field.name not in read}
        if typed:
            numbers = {name: kind for name, kind in others.items() if is_numeric(kind)}
            as_text = frozenset[str]().union(*(file.find_lossy_columns(numbers) for file in files))
        else:
            as_text = frozenset(others)
        for file in files:
            file.as_text = as_text
        text = arrow.string()
        return arrow.schema([f.with_type(text) if f.name in as_text else f for f in schema])

    def _chunks(self, start: int, whole: bool) -> Iterator[Chunk]:
        before, memory, columns = 0, Memory(), self._columns_read
        for file in self._files:
            if file.rows is not None and before + file.rows <= start:
                before += file.rows
                continue
            row = skip = max(start - before, 0)
            for batch in file.batches(None if whole else columns, skip):
                end = row + batch.num_rows
                for name in columns:
                    file.check_numeric(name)
                points = batch.select(columns)
                data = batch if whole else None
                yield chunk_from_arrow(
                    points, str(file.path), row, memory=memory, data=data, end=before + end
                )
                row = end
            before += file.rows if file.rows is not None else row
        self.rows = before


def _check_text(kind: Any, condition: Condition, where: str) -> None:
    """Raise InvalidInputError if a column cannot be compared with the text of a condition."""
    name = condition.column
    if need("pyarrow", "io").types.is_boolean(kind):
        if condition.value in BOOLEANS:
            return
        expected = f"true or false to compare with column {name!r}"
        raise InvalidInputError.for_parameter("where", expected, where)
    if is_numeric(kind):
        expected = f"a number to compare with column {name!r}"
        raise InvalidInputError.for_parameter("where", expected, where)
    if not (is_text(kind) or is_untyped(kind)):
        expected, advice = "a column of text", f"column {name!r} holds {kind}; convert it to text"
        raise InvalidInputError.for_parameter("where", expected, where, advice)


# -- labels ----------------------------------------------------------------------------------------


class TableLabels(LabelWriter):
    """A writer of all columns of the source and a column of labels.

    If the source is not a table, its features are the columns.
    """

    def __init__(self, path: Path, final: Path, source: Source) -> None:
        arrow = need("pyarrow", "io")
        self._final, self._suffix = final, path.suffix.lower()
        self._from_table, self._compression = isinstance(source, TableSource), TableFile.compression
        if isinstance(source, TableSource):
            schema = source.prepare_output(typed=self._suffix != ".csv")
            self._compression = source.compression
        else:
            assert source.dtype is not None  # only tables have columns of several types
            kind = arrow.from_numpy_dtype(source.dtype.newbyteorder("="))
            schema = arrow.schema([(name, kind) for name in source.columns])
        self.column = label_column_name(schema.names)
        self._source_schema = schema
        self._schema = schema.append(arrow.field(self.column, arrow.int32()))
        with self._writing():
            self._writer = self._open(path)

    def _open(self, path: Path) -> Any:
        if self._suffix == ".csv":
            return need("pyarrow.csv", "io").CSVWriter(path, self._schema)
        if self._suffix == ".parquet":
            # Dictionary encoding of measurements, which rarely repeat, costs time and space.
            floating = need("pyarrow", "io").types.is_floating
            repeating = [field.name for field in self._schema if not floating(field.type)]
            options = {"use_dictionary": repeating, "compression": self._compression}
            return need("pyarrow.parquet", "io").ParquetWriter(path, self._schema, **options)
        return need("pyarrow.ipc", "io").new_file(str(path), self._schema)

    def write(self, chunk: Chunk, labels: NDArray[np.int32]) -> None:
        """Write the rows of a chunk with their labels."""
        arrow = need("pyarrow", "io")
        batch = chunk.data
        if not self._from_table:
            points = chunk.points if chunk.rows is None else chunk.rows
            kinds = [kind.to_pandas_dtype() for kind in self._source_schema.types]
            columns = [np.ascontiguousarray(*pair) for pair in zip(points.T, kinds, strict=True)]
            arrays = map(_as_arrow, columns, self._source_schema.types)
            batch = arrow.record_batch([*arrays], schema=self._source_schema)
        with self._writing():
            names = self._source_schema.names
            table = arrow.Table.from_batches([batch]).select(names)
            if table.schema != self._source_schema:
                table = table.cast(self._source_schema)
            table = table.append_column(self._schema.field(-1), _as_arrow(labels, arrow.int32()))
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
            problem = f"cannot be written: {error}"
            raise InvalidInputError.for_file(self._final, problem) from error


def _as_arrow(values: NDArray[Any], kind: Any) -> Any:
    """Return a contiguous array as an Arrow array; `pyarrow.array` would import pandas."""
    arrow = need("pyarrow", "io")
    return arrow.Array.from_buffers(kind, len(values), [None, arrow.py_buffer(values)])
