"""Single table files: Parquet, CSV and Arrow, read in batches of the required columns.

A CSV file does not declare types. They are inferred from the first block; if a later value does
not fit, the column is read with a wider type from that row on. Columns that are not features are
passed on as text, unchanged.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from meanshiftpp._support.checks import thread_count
from meanshiftpp._support.columns import is_numeric, is_untyped
from meanshiftpp._support.extras import need
from meanshiftpp._support.files import suffix_of
from meanshiftpp.errors import InvalidInputError
from meanshiftpp.io.sources import (
    find_columns,
    format_names,
    no_rows,
    reporting_damage,
    rows_per_chunk,
)

__all__ = ["Csv", "TableFile", "open_file", "open_parquet"]

_CSV_BLOCK = 1 << 23  # bytes that pyarrow parses at a time
_CSV_HEAD_BLOCK = 1 << 20  # bytes from which the types are inferred before reading
_COMPRESSION_RATIO = 4  # of a .csv.gz of numbers, about
_CODECS = ("NONE", "SNAPPY", "GZIP", "BROTLI", "LZ4", "ZSTD")  # those that pyarrow can write
_HEAD = 1 << 14  # bytes of a .csv in which the separator is looked for
_MAX_VALUE = 40  # characters of a value in a message
_MAX_ROW = 60  # characters of a row in a message
_BAD_ROW = re.compile(r"(?:Row #(\d+): )?Expected (\d+) columns, got (\d+): (.*)", re.DOTALL)
_NUMBER = re.compile(r"\s*[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?\s*", re.ASCII)
_LEADING_ZERO = r"^\s*[-+]?0\d"  # 007, which a number would turn into 7
_MANY_DIGITS = r"^\s*[-+]?\d{17}"  # more than float64 holds
_DECODING_CORES = 3  # with fewer, threads for decoding wait for those that bin or label
_READ_BUFFER = 1 << 20  # without a buffer, pyarrow reads a whole column of a row group at once


class TableFile(ABC):
    """A file with a schema and, if the format stores it, a number of rows."""

    path: Path
    rows: int | None
    types_are_known = True
    compression = "SNAPPY"  # pyarrow's default

    @property
    def schema(self) -> Any:
        """The Arrow schema."""
        return self._schema

    @schema.setter
    def schema(self, schema: Any) -> None:
        # pyarrow makes new lists at each access, which would be quadratic in the columns.
        self._schema, self.names = schema, schema.names
        self._type_of = dict(reversed([*zip(self.names, schema.types, strict=True)]))

    def nbytes(self, columns: Sequence[str]) -> int:
        """Estimate the bytes of memory that some columns take."""
        return (self.rows or 0) * self._row_bytes_of(columns)

    def _row_bytes_of(self, columns: Sequence[str]) -> int:
        return sum(_type_bytes(self._type_of[name]) for name in columns)

    def column_type(self, name: str) -> Any:
        """Return the Arrow type of the first column of that name."""
        return self._type_of[name]

    def pandas_index(self) -> list[str]:
        """Return the columns in which pandas stored the index of a data frame."""
        metadata = self.schema.pandas_metadata or {}
        return [name for name in metadata.get("index_columns", ()) if isinstance(name, str)]

    def describe_content(self, name: str) -> str:
        """Describe the content of a column that is not numeric."""
        return str(self.column_type(name))

    def check_numeric(self, name: str) -> None:
        """Raise InvalidInputError if a column is not numeric."""
        kind = self.column_type(name)
        if not (is_numeric(kind) or is_untyped(kind)):
            content = self.describe_content(name)
            example = "" if content == str(kind) else f": {content}"
            words, advice = _words_for(kind)
            raise InvalidInputError.for_file(
                self.path,
                f"cannot be used: column {name!r} holds {words}, not numbers{example}; {advice}",
            )

    def check_columns(self, names: Sequence[str]) -> None:
        """Raise InvalidInputError unless each column exists exactly once and is numeric."""
        find_columns(names, self.names, self.path)
        for name in names:
            self.check_numeric(name)

    def check_left_out(self, name: str) -> None:  # noqa: B027 - most formats declare their types
        """Raise InvalidInputError if a column is only left out because of wrong values."""

    @abstractmethod
    def batches(self, columns: Sequence[str] | None, skip: int) -> Iterator[Any]:
        """Yield record batches of about a chunk's size, after the first `skip` rows."""

    def _reading(self) -> AbstractContextManager[None]:
        kind = f"{suffix_of(self.path)} table"
        errors = (need("pyarrow", "io").ArrowException, OSError, UnicodeDecodeError)
        return reporting_damage(self.path, kind, *errors, describe=_describe_damage)


class Parquet(TableFile):
    """A Parquet file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with self._reading(), open_parquet(path) as file:
            self.schema = file.schema_arrow
            self.rows = file.metadata.num_rows
            groups = [file.metadata.row_group(k) for k in range(file.num_row_groups)]
            self._group_rows = [group.num_rows for group in groups]
            self._row_bytes = sum(group.total_byte_size for group in groups) / max(self.rows, 1)
            if groups and len(self.schema):
                codec = groups[0].column(0).compression.replace("UNCOMPRESSED", "NONE")
                self.compression = codec if codec in _CODECS else self.compression

    def batches(self, columns: Sequence[str] | None, skip: int) -> Iterator[Any]:
        """Yield record batches, without reading row groups that are skipped."""
        first = 0
        while first < len(self._group_rows) and skip >= self._group_rows[first]:
            skip -= self._group_rows[first]
            first += 1
        row_bytes = self._row_bytes if columns is None else self._row_bytes_of(columns)
        options = {
            "batch_size": rows_per_chunk(row_bytes),
            "columns": columns,
            "use_threads": thread_count(None) >= _DECODING_CORES,
        }
        with self._reading(), open_parquet(self.path) as file:
            groups = range(first, file.num_row_groups)
            for batch in file.iter_batches(row_groups=groups, **options):
                yield from _skip_rows(batch, skip)
                skip = max(skip - batch.num_rows, 0)


class Ipc(TableFile):
    """An Arrow IPC file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with self._reading(), self._open() as file:
            self.schema = file.schema
            table = need("pyarrow.dataset", "io").dataset(path, format="ipc")
            self.rows = table.count_rows()  # reads the headers of the batches only

    def _open(self) -> Any:
        arrow = need("pyarrow", "io")
        return need("pyarrow.ipc", "io").open_file(arrow.memory_map(str(self.path)))

    def batches(self, columns: Sequence[str] | None, skip: int) -> Iterator[Any]:
        """Yield slices of the stored batches."""
        size = rows_per_chunk(sum(map(_type_bytes, self.schema.types)))
        with self._reading(), self._open() as file:
            for k in range(file.num_record_batches):
                batch = file.get_batch(k)
                batch = batch if columns is None else batch.select(columns)
                for first in range(skip, batch.num_rows, size):
                    yield batch.slice(first, size)
                skip = max(skip - batch.num_rows, 0)


class Csv(TableFile):
    """A CSV file, whose types and number of rows are unknown until it has been read."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.rows = None
        self.types_are_known = False
        self.as_text: frozenset[str] = frozenset()  # columns that are read as text
        self._types: dict[str, Any] = {}
        self._mixed: set[str] = set()  # columns of the first block with text and numbers
        with self._reading():
            self._size = path.stat().st_size
            self._check_head()
            self._read_types()
            names = self.names
        if all(map(_is_numeral, names)) and names != [*map(str, range(len(names)))]:
            raise InvalidInputError.for_file(
                path, f"must name its columns in the first line, got {format_names(names)}"
            )

    def _read_types(self) -> None:
        """Infer the types from a small block, or from a large one if a column begins empty."""
        for block_size in (_CSV_HEAD_BLOCK, _CSV_BLOCK):
            with self._open_as({}, (), block_size=block_size, use_threads=False) as reader:
                self.schema = reader.schema
                first = next(iter(reader), None)
            if not any(map(is_untyped, self.schema.types)):
                break
        if first is None or not first.num_rows:
            self.rows, self.types_are_known = 0, True
        else:
            self._mixed = _mixed_columns(first)

    def _check_head(self) -> None:
        """Check for three common mistakes that pyarrow reports in a misleading way."""
        # pyarrow decompresses a .csv.gz because of its suffix.
        with need("pyarrow", "io").input_stream(str(self.path)) as file:
            head = file.read(_HEAD)
        if head.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):
            problem = "must be text in UTF-8, got UTF-16; save it as UTF-8"
            raise InvalidInputError.for_file(self.path, problem)
        lines = head.splitlines()[:2]
        if len(head) < _HEAD and lines == [head]:  # one line without a line end
            raise no_rows(self.path)
        for separator in b";", b"\t", b"|":
            if lines and b"," not in lines[0] and all(separator in line for line in lines):
                first = lines[0].decode(errors="replace")[:_MAX_VALUE]
                raise InvalidInputError.for_file(
                    self.path,
                    "must separate its columns with commas, but seems to use "
                    f"{separator.decode()!r}: it begins with {first!r}",
                )

    def nbytes(self, columns: Sequence[str]) -> int:
        """Return the size of the text: a number takes about as many bytes as its digits."""
        compressed = suffix_of(self.path) == ".csv.gz"
        return self._size * (_COMPRESSION_RATIO if compressed else 1)

    def _open(self, columns: Sequence[str] | None) -> Any:
        only = columns if self.types_are_known else None
        return self._open_as(self._types, self.as_text, only, block_size=_CSV_BLOCK)

    def _open_as(
        self,
        types: dict[str, Any],
        as_text: Iterable[str],
        only: Sequence[str] | None = None,
        **reading: Any,
    ) -> Any:
        arrow, csv = need("pyarrow", "io"), need("pyarrow.csv", "io")
        texts = dict.fromkeys(as_text, arrow.string())  # in any encoding
        return csv.open_csv(
            self.path,
            read_options=csv.ReadOptions(**reading),
            convert_options=csv.ConvertOptions(
                column_types={**types, **texts},
                include_columns=list(only or ()),
                check_utf8=not texts,
            ),
        )

    def find_lossy_columns(self, numbers: dict[str, Any]) -> set[str]:
        """Return the columns that would lose information as numbers of these types, as 007 would.

        Parameters
        ----------
        numbers : dict of str
            Columns and their numeric Arrow types.
        """
        lossy: set[str] = set()
        if not numbers:
            return lossy
        arrow, compute = need("pyarrow", "io"), need("pyarrow.compute", "io")
        with self._reading(), self._open_as({}, self.names, block_size=_CSV_BLOCK) as reader:
            for batch in reader:
                for name, column in zip(batch.schema.names, batch.columns, strict=True):
                    if name in lossy or name not in numbers:
                        continue
                    real = arrow.types.is_floating(numbers[name])
                    pattern = f"{_LEADING_ZERO}|{_MANY_DIGITS}" if real else _LEADING_ZERO
                    if compute.any(compute.match_substring_regex(column, pattern)).as_py():
                        lossy.add(name)
        return lossy

    def describe_content(self, name: str) -> str:
        """Return the first value that is not a number, and its row."""
        rejected = self._first_text(name)
        return "{!r} in row {}".format(*rejected) if rejected else super().describe_content(name)

    def check_numeric(self, name: str) -> None:
        """Raise InvalidInputError for the first value of a column that is not a number."""
        if need("pyarrow", "io").types.is_string(self.column_type(name)):
            rejected = self._first_text(name)
            if rejected:
                value, row = rejected
                raise InvalidInputError(
                    f"is {value!r}, not a number; correct it, or select the columns to use",
                    place=f"{self.path}, row {row}, column {name!r}",
                )
        super().check_numeric(name)

    def check_left_out(self, name: str) -> None:
        """Raise InvalidInputError for a column with text and numbers: a value may be a mistake."""
        if name in self._mixed:
            self.check_numeric(name)

    def _first_text(self, name: str) -> tuple[str, int] | None:
        """Return the first value that is not a number, and its row; None if there is none."""
        arrow, csv = need("pyarrow", "io"), need("pyarrow.csv", "io")
        options = {"column_types": {name: arrow.float64()}, "include_columns": [name]}
        try:
            with csv.open_csv(
                self.path,
                # Without threads, pyarrow's errors include the row.
                read_options=csv.ReadOptions(block_size=_CSV_HEAD_BLOCK, use_threads=False),
                convert_options=csv.ConvertOptions(**options),
            ) as reader:
                for _ in reader:
                    pass
        except arrow.ArrowInvalid as error:
            return _rejected_value(error)
        return None

    def batches(self, columns: Sequence[str] | None, skip: int) -> Iterator[Any]:
        """Yield record batches; the first pass converts all columns and determines their types."""
        arrow = need("pyarrow", "io")
        row = 0
        while True:
            with self._reading():
                try:
                    for batch in self._batches_from_start(columns):
                        rest = [*_skip_rows(batch, skip - row)]
                        row += batch.num_rows
                        yield from (b if columns is None else b.select(columns) for b in rest)
                    self.rows, self.types_are_known = row, True
                    return
                except arrow.ArrowInvalid as error:
                    self._widen_type(error)
            skip, row = max(skip, row), 0

    def _batches_from_start(self, columns: Sequence[str] | None) -> Iterator[Any]:
        with self._open(columns) as reader:
            if not self.types_are_known:
                self.schema = reader.schema
            yield from reader

    def _widen_type(self, error: Exception) -> None:
        """Choose a wider type for the column that could not be converted, or raise the error."""
        arrow = need("pyarrow", "io")
        column = _unconverted_column(error)
        if column is None:
            raise error
        field = self.schema.field(column)
        if field.type == arrow.string():
            raise error
        narrow = is_untyped(field.type) or arrow.types.is_integer(field.type)
        self._types[field.name] = arrow.float64() if narrow else arrow.string()


def open_parquet(path: Path) -> Any:
    """Open a Parquet file for reading it in batches."""
    parquet = need("pyarrow.parquet", "io")
    # With pre_buffer, pyarrow keeps everything it has fetched, in the end the whole file.
    return parquet.ParquetFile(path, pre_buffer=False, buffer_size=_READ_BUFFER)


def open_file(path: Path) -> TableFile:
    """Open a readable table by its suffix, without reading its rows."""
    kinds: dict[str, type[Parquet | Csv]] = {
        ".parquet": Parquet,
        ".csv": Csv,
        ".csv.gz": Csv,
    }
    return kinds.get(suffix_of(path), Ipc)(path)


def _mixed_columns(batch: Any) -> set[str]:
    """Return the columns of text in which some values are numbers."""
    # `pyarrow.compute` could do this, but its import takes longer than reading a small file.
    is_text = need("pyarrow", "io").types.is_string
    return {
        name
        for name, column in zip(batch.schema.names, batch.columns, strict=True)
        if is_text(column.type)
        and any(_NUMBER.fullmatch(each or "") for each in column.to_pylist())
    }


def _describe_damage(error: Exception) -> str:
    """Return the text of a read error; rows are quoted, because they can hold any character."""
    text = str(error)
    if isinstance(error, UnicodeDecodeError) or "invalid UTF8" in text:
        return "its text is not UTF-8; save it as UTF-8"
    match = _BAD_ROW.search(text)
    if match is None:
        return text
    row = f"row {int(match[1]) - 1}" if match[1] else "a row"
    return f"{row} has {match[3]} columns instead of {match[2]}: {match[4][:_MAX_ROW]!r}"


def _rejected_value(error: Exception) -> tuple[str, int] | None:
    """Return the value and row of a CSV conversion error, or None if it has none."""
    # pyarrow's ArrowInvalid has no attributes: the value and the row are in its text only.
    match = re.search(r"Row #(\d+): .*invalid value '(.*)'", str(error), re.DOTALL)
    return (match[2][:_MAX_VALUE], int(match[1]) - 1) if match else None


def _unconverted_column(error: Exception) -> int | None:
    """Return the index of the column of a CSV conversion error, or None for other errors."""
    # pyarrow's ArrowInvalid has no attributes: the column is in its text only.
    match = re.search(r"In CSV column #(\d+): CSV conversion error", str(error))
    return int(match[1]) if match else None


def _skip_rows(batch: Any, skip: int) -> Iterator[Any]:
    """Yield the batch without its first `skip` rows, or nothing if it has no others."""
    if skip < batch.num_rows:
        yield batch.slice(skip) if skip > 0 else batch


def _words_for(kind: Any) -> tuple[str, str]:
    """Return what values of an Arrow type are called, and what to do with them."""
    types = need("pyarrow", "io").types
    advice = "convert it to numbers, or select other columns"
    if types.is_date(kind) or types.is_timestamp(kind):
        return "dates", "convert it to numbers, such as days since the first, or select others"
    if types.is_time(kind):
        return "times of day", "convert it to numbers, such as hours, or select others"
    return ("durations" if types.is_duration(kind) else str(kind)), advice


def _type_bytes(kind: Any) -> int:
    """Return the bytes of a value of an Arrow type; an estimate for types of variable width."""
    try:
        return max(int(kind.bit_width) // 8, 1)
    except ValueError:
        return 32


def _is_numeral(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
