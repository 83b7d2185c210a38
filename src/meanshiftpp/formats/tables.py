"""Tables: Parquet, CSV and Arrow files, one or many, through pyarrow.

A file is read batch by batch, only the columns that are needed. CSV files do not say their types:
these are guessed from the first block, and a column that turns out to be wider is read on from
that row with a wider type. What is not a feature is passed on as text, as it stands.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from meanshiftpp.chunks import Chunk, chunk_of_arrow, is_number, is_unknown
from meanshiftpp.errors import InvalidInputError, need
from meanshiftpp.files import check_readable, suffix_of
from meanshiftpp.formats.sources import (
    LabelWriter,
    Source,
    free_name,
    listed,
    position,
    rows_at_a_time,
)

FORMATS = (".parquet", ".csv", ".arrow", ".feather")
READABLE = (*FORMATS, ".csv.gz")  # pyarrow unpacks by the name
_CSV_BLOCK = 1 << 23
_PACKED = 4  # how many times smaller a table of numbers is when compressed, about
_CODECS = ("NONE", "SNAPPY", "GZIP", "BROTLI", "LZ4", "ZSTD")  # what pyarrow writes
_PANDAS_INDEX = "__index_level_"  # row numbers and the like, which pandas stores as a column
_HEAD = 1 << 14  # bytes of a .csv to see by what its columns are separated
_VALUE_SHOWN = 40  # characters of a value that is no number
_LEADING_ZERO = r"^\s*[-+]?0\d"  # 007 is no 7
_MANY_DIGITS = r"^\s*[-+]?\d{17}"  # more than a floating number holds
_READ_BUFFER = 1 << 20  # without one, pyarrow reads a whole column of a row group at once


class TableSource(Source):
    """The rows of tables that have the same columns."""

    def __init__(self, paths: list[Path], columns: Sequence[str] | None) -> None:
        self.paths = paths
        self._files = [_open(path) for path in paths]
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
        names = [field.name for field in self.schema() if is_number(field.type)]
        index = {name for file in self._files for name in file.pandas_index()}
        index.update(name for name in names if not name or name.startswith(_PANDAS_INDEX))
        return tuple(dict.fromkeys(name for name in names if name in index))

    def _chosen(self, columns: Sequence[str] | None) -> tuple[str, ...]:
        for name in columns or ():
            position(name, self._files[0].schema.names, self.paths[0])
        schema = self.schema()
        if columns is None:
            names = [field.name for field in schema if is_number(field.type)]
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
                file = next((f for f in self._files if not is_number(f.kind(name))), self._files[0])
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
        files = [file for file in self._files if isinstance(file, _Csv)]
        for file in files:
            file.as_text = frozenset()
        schema = self.schema(final=True)
        if len(files) < len(self._files):  # others know the types
            return schema
        others = {field.name: field.type for field in schema if field.name not in self.columns}
        if typed:
            numbers = {name: kind for name, kind in others.items() if is_number(kind)}
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
                yield chunk_of_arrow(points, str(file.path), row, **more)
                row = end
            before += file.rows if file.rows is not None else row
        self.rows = before


# -- one file --------------------------------------------------------------------------------------


class _File(ABC):
    path: Path
    schema: Any
    rows: int | None
    types_are_known = True
    compression = "SNAPPY"  # pyarrow's own choice

    def nbytes(self, columns: Sequence[str]) -> int:
        width = sum(_width(self.schema.field(name).type) for name in columns)
        return (self.rows or 0) * width

    def kind(self, name: str) -> Any:
        """Return the type of a column, the first of that name."""
        return self.schema.types[self.schema.names.index(name)]

    def pandas_index(self) -> list[str]:
        """Name the columns that pandas has written as the names of rows."""
        known = self.schema.pandas_metadata or {}
        return [name for name in known.get("index_columns", ()) if isinstance(name, str)]

    def holds(self, name: str) -> str:
        """Say what a column holds instead of numbers."""
        return str(self.kind(name))

    def refuse_text(self, name: str) -> None:
        """Refuse a column that holds anything but numbers."""
        kind = self.kind(name)
        if not (is_number(kind) or is_unknown(kind)):
            what = self.holds(name)
            more = "" if what == str(kind) else f": {what}"
            raise InvalidInputError(
                f"{str(self.path)!r}: column {name!r} holds {kind}, not numbers{more}"
            )

    @abstractmethod
    def batches(self, columns: Sequence[str] | None, skip: int) -> Iterator[Any]:
        """Give record batches of a fair size after the first `skip` rows."""

    @contextmanager
    def _reading(self) -> Iterator[None]:
        arrow = need("pyarrow", "io")
        try:
            yield
        except (arrow.ArrowException, OSError, UnicodeDecodeError) as error:
            raise InvalidInputError(
                f"{str(self.path)!r} is no {suffix_of(self.path)} table, or is damaged: {error}"
            ) from error


class _Parquet(_File):
    def __init__(self, path: Path) -> None:
        self.path = path
        with self._reading(), self._open() as file:
            self.schema = file.schema_arrow
            self.rows = file.metadata.num_rows
            groups = [file.metadata.row_group(k) for k in range(file.num_row_groups)]
            self._group_rows = [group.num_rows for group in groups]
            self._row_bytes = sum(group.total_byte_size for group in groups) / max(self.rows, 1)
            if groups and len(self.schema):
                codec = groups[0].column(0).compression.replace("UNCOMPRESSED", "NONE")
                self.compression = codec if codec in _CODECS else self.compression

    def _open(self) -> Any:
        parquet = need("pyarrow.parquet", "io")
        # Fetching in advance, pyarrow keeps all it has fetched: in the end the whole file.
        return parquet.ParquetFile(self.path, pre_buffer=False, buffer_size=_READ_BUFFER)

    def batches(self, columns: Sequence[str] | None, skip: int) -> Iterator[Any]:
        first = 0
        while first < len(self._group_rows) and skip >= self._group_rows[first]:
            skip -= self._group_rows[first]
            first += 1
        if columns is None:
            size = rows_at_a_time(self._row_bytes)
        else:
            size = rows_at_a_time(sum(_width(self.schema.field(name).type) for name in columns))
        with self._reading(), self._open() as file:
            groups = range(first, file.num_row_groups)
            for batch in file.iter_batches(size, row_groups=groups, columns=columns):
                yield from _after(batch, skip)
                skip = max(skip - batch.num_rows, 0)


class _Ipc(_File):
    def __init__(self, path: Path) -> None:
        self.path = path
        with self._reading(), self._open() as file:
            self.schema = file.schema
            table = need("pyarrow.dataset", "io").dataset(path, format="ipc")
            self.rows = table.count_rows()  # from the batches' heads

    def _open(self) -> Any:
        arrow = need("pyarrow", "io")
        return need("pyarrow.ipc", "io").open_file(arrow.memory_map(str(self.path)))

    def batches(self, columns: Sequence[str] | None, skip: int) -> Iterator[Any]:
        size = rows_at_a_time(sum(map(_width, self.schema.types)))
        with self._reading(), self._open() as file:
            for k in range(file.num_record_batches):
                batch = file.get_batch(k)
                batch = batch if columns is None else batch.select(columns)
                for first in range(skip, batch.num_rows, size):
                    yield batch.slice(first, size)
                skip = max(skip - batch.num_rows, 0)


class _Csv(_File):
    def __init__(self, path: Path) -> None:
        self.path = path
        self.rows = None
        self.types_are_known = False
        self.as_text: frozenset[str] = frozenset()  # columns that are read as they stand
        self._types: dict[str, Any] = {}
        with self._reading():
            self._size = path.stat().st_size
            self._look_at_the_head()
            with self._open() as reader:
                self.schema = reader.schema
                if not next(iter(reader), self.schema.empty_table()).num_rows:
                    self.rows, self.types_are_known = 0, True
            names = self.schema.names  # fails here if they are in another encoding than UTF-8
        if all(map(_reads_as_number, names)) and names != [*map(str, range(len(names)))]:
            raise InvalidInputError(
                f"the first line of {str(path)!r} must name its columns, but holds {listed(names)}"
            )

    def _look_at_the_head(self) -> None:
        """Refuse what pyarrow would in words that do not help."""
        with need("pyarrow", "io").input_stream(str(self.path)) as file:  # unpacks by the name
            head = file.read(_HEAD)
        lines = head.splitlines()[:2]
        if len(head) < _HEAD and lines == [head]:  # not even the end of a line
            raise InvalidInputError(f"{str(self.path)!r} has no rows")
        for separator in b";", b"\t", b"|":
            if lines and b"," not in lines[0] and all(separator in line for line in lines):
                first = lines[0].decode(errors="replace")[:_VALUE_SHOWN]
                raise InvalidInputError(
                    f"commas must separate the columns of {str(self.path)!r}, but "
                    f"{separator.decode()!r} seems to: it begins with {first!r}"
                )

    def nbytes(self, columns: Sequence[str]) -> int:
        packed = suffix_of(self.path) == ".csv.gz"
        return self._size * (_PACKED if packed else 1)  # a number takes about as much as its text

    def _open(self) -> Any:
        return self._open_as(self._types, self.as_text)

    def _open_as(self, types: dict[str, Any], as_text: Iterable[str]) -> Any:
        arrow, csv = need("pyarrow", "io"), need("pyarrow.csv", "io")
        texts = dict.fromkeys(as_text, arrow.string())  # of any encoding
        return csv.open_csv(
            self.path,
            read_options=csv.ReadOptions(block_size=_CSV_BLOCK),
            convert_options=csv.ConvertOptions(
                column_types={**types, **texts}, check_utf8=not texts
            ),
        )

    def saying_more(self, numbers: dict[str, Any]) -> set[str]:
        """Name the columns, of these types, whose text says more than a number: 007."""
        arrow, compute = need("pyarrow", "io"), need("pyarrow.compute", "io")
        found: set[str] = set()
        if not numbers:
            return found
        with self._reading(), self._open_as({}, self.schema.names) as reader:
            for batch in reader:
                for name, column in zip(batch.schema.names, batch.columns, strict=True):
                    if name in found or name not in numbers:
                        continue
                    real = arrow.types.is_floating(numbers[name])
                    pattern = f"{_LEADING_ZERO}|{_MANY_DIGITS}" if real else _LEADING_ZERO
                    if compute.any(compute.match_substring_regex(column, pattern)).as_py():
                        found.add(name)
        return found

    def holds(self, name: str) -> str:
        """Find the first value that is no number: in a column of numbers it may be a slip."""
        arrow, csv = need("pyarrow", "io"), need("pyarrow.csv", "io")
        options = {"column_types": {name: arrow.float64()}, "include_columns": [name]}
        try:
            with csv.open_csv(
                self.path,  # without threads, errors have the line
                read_options=csv.ReadOptions(block_size=_CSV_BLOCK, use_threads=False),
                convert_options=csv.ConvertOptions(**options),
            ) as reader:
                for _ in reader:
                    pass
        except arrow.ArrowInvalid as error:
            place = re.search(r"Row #(\d+): .*invalid value '(.*)'", str(error), re.DOTALL)
            if place:
                return f"{place[2][:_VALUE_SHOWN]!r} in row {int(place[1]) - 1}"
        return super().holds(name)

    def batches(self, columns: Sequence[str] | None, skip: int) -> Iterator[Any]:
        """Read all columns, whatever is asked for: so their types are known after one pass."""
        arrow = need("pyarrow", "io")
        row = 0
        while True:
            with self._reading():
                try:
                    for batch in self._from_the_top():
                        rest = [*_after(batch, skip - row)]
                        row += batch.num_rows
                        yield from (b if columns is None else b.select(columns) for b in rest)
                    self.rows, self.types_are_known = row, True
                    return
                except arrow.ArrowInvalid as error:
                    self._widen(error)
            skip, row = max(skip, row), 0

    def _from_the_top(self) -> Iterator[Any]:
        with self._open() as reader:
            if not self.types_are_known:
                self.schema = reader.schema
            yield from reader

    def _widen(self, error: Exception) -> None:
        """Give the column that the error is about a wider type, or pass the error on."""
        arrow = need("pyarrow", "io")
        place = re.search(r"In CSV column #(\d+): CSV conversion error", str(error))
        if not place:
            raise error
        field = self.schema.field(int(place[1]))
        if field.type == arrow.string():
            raise error
        narrow = is_unknown(field.type) or arrow.types.is_integer(field.type)
        self._types[field.name] = arrow.float64() if narrow else arrow.string()


def _open(path: Path) -> _File:
    check_readable(path)
    kinds: dict[str, type[_Parquet | _Csv]] = {
        ".parquet": _Parquet,
        ".csv": _Csv,
        ".csv.gz": _Csv,
    }
    return kinds.get(suffix_of(path), _Ipc)(path)


def _after(batch: Any, skip: int) -> Iterator[Any]:
    if skip < batch.num_rows:
        yield batch.slice(skip) if skip > 0 else batch


def _width(kind: Any) -> int:
    try:
        return max(int(kind.bit_width) // 8, 1)
    except ValueError:  # text and the like: no fixed width
        return 32


def _reads_as_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


# -- labels ----------------------------------------------------------------------------------------


class TableLabels(LabelWriter):
    """Writes all columns of the source, and one more with the labels.

    Points that come from no table are written as columns themselves.
    """

    def __init__(self, path: Path, final: Path, source: Source) -> None:
        arrow = need("pyarrow", "io")
        self._final, self._suffix = final, path.suffix.lower()
        self._from_table, self._compression = isinstance(source, TableSource), _File.compression
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
