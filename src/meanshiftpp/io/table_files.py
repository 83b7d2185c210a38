"""One file of a table, Parquet, CSV or Arrow: read batch by batch, only the columns needed.

CSV files do not say their types: these are guessed from the first block, and a column that turns
out to be wider is read on from that row with a wider type. What is not a feature is passed on as
text, as it stands.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from meanshiftpp._support.columns import is_numeric, is_untyped
from meanshiftpp._support.extras import need
from meanshiftpp._support.files import check_readable, suffix_of
from meanshiftpp.errors import InvalidInputError
from meanshiftpp.io.sources import listed, rows_at_a_time

__all__ = ["Csv", "TableFile", "open_file"]

_CSV_BLOCK = 1 << 23
_PACKED = 4  # how many times smaller a table of numbers is when compressed, about
_CODECS = ("NONE", "SNAPPY", "GZIP", "BROTLI", "LZ4", "ZSTD")  # what pyarrow writes
_HEAD = 1 << 14  # bytes of a .csv to see by what its columns are separated
_VALUE_SHOWN = 40  # characters of a value that is no number
_LEADING_ZERO = r"^\s*[-+]?0\d"  # 007 is no 7
_MANY_DIGITS = r"^\s*[-+]?\d{17}"  # more than a floating number holds
_READ_BUFFER = 1 << 20  # without one, pyarrow reads a whole column of a row group at once


class TableFile(ABC):
    """A file, its schema and, where it says, its rows."""

    path: Path
    schema: Any
    rows: int | None
    types_are_known = True
    compression = "SNAPPY"  # pyarrow's own choice

    def nbytes(self, columns: Sequence[str]) -> int:
        """Say how much memory some columns take, about."""
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
        if not (is_numeric(kind) or is_untyped(kind)):
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


class Parquet(TableFile):
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


class Ipc(TableFile):
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


class Csv(TableFile):
    """A file that says nothing of its types and its rows."""

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
        """Say how much memory the whole file takes, about."""
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
        narrow = is_untyped(field.type) or arrow.types.is_integer(field.type)
        self._types[field.name] = arrow.float64() if narrow else arrow.string()


def open_file(path: Path) -> TableFile:
    """Open a file by its name, without reading its rows."""
    check_readable(path)
    kinds: dict[str, type[Parquet | Csv]] = {
        ".parquet": Parquet,
        ".csv": Csv,
        ".csv.gz": Csv,
    }
    return kinds.get(suffix_of(path), Ipc)(path)


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
