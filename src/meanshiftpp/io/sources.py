"""The interface of file formats: `Source` reads points in chunks, `LabelWriter` writes labels.

A source knows its columns and its approximate size. It reads chunks from the start, or from the
position at which an earlier chunk ended. A writer receives the same chunks in the same order, with
a label for each point.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from meanshiftpp._support.columns import check_exact
from meanshiftpp._support.read_ahead import read_ahead
from meanshiftpp._support.text import printable
from meanshiftpp.core.chunk import Chunk, relocate_errors
from meanshiftpp.errors import InvalidInputError
from meanshiftpp.io.identity import Identity
from meanshiftpp.io.rows import Missing, prepared
from meanshiftpp.io.selection import Where

CHUNK_BYTES = 1 << 24  # of the points of a chunk: small, but worth setting up tables of sums for
MIN_ROWS, MAX_ROWS = 1 << 12, 1 << 21  # of a chunk
LabelPoints = Callable[[NDArray[Any]], NDArray[np.int32]]  # the labels of points
Progress = Callable[[int], None]  # is called with the rows since its last call
_SAMPLE_POSITIONS = 32  # places in a large file from which a sample is read


class Source(ABC):
    """Points in one or more files, which can be read any number of times.

    Attributes
    ----------
    paths : list of Path
        The files.
    identities : list of Identity
        The identity of each file when it was opened.
    columns : tuple of str
        The features.
    rows : int or None
        The number of rows; None if it is unknown until the files have been read.
    nbytes : int
        Bytes of all points in memory; an estimate if the exact number is unknown.
    dtype : numpy.dtype or None
        The type of all points, if it is known before reading.
    unit : str
        The unit of a position. It includes the chunk layout where positions depend on it, because
        the same number means another place in another layout.
    left_out : dict of str
        Columns that are not features because they are not numeric, and their content.
    weight : str or None
        The column of weights.
    missing : str
        "error", "drop" or "label": whether a row with a missing value raises, is left out, or is
        left out of the points and labelled -1.
    where : Where or None
        Conditions on the rows that are points; the label of others is -1.
    rows_missing : int or None
        The number of rows that `missing` left out; None until the files have been read to the end.
    index : tuple of str
        Numeric columns that are not features because they only name the rows: an index of pandas,
        or a column of a .csv without a name.

    Examples
    --------
    >>> import numpy as np
    >>> from meanshiftpp.stream import open_points
    >>> np.save("a.npy", np.arange(6.0).reshape(3, 2))
    >>> source = open_points("a.npy")
    >>> source.columns, source.rows, source.nbytes
    (('x0', 'x1'), 3, 48)
    >>> [chunk.points.tolist() for chunk in source]
    [[[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]]
    """

    paths: list[Path]
    identities: list[Identity]
    columns: tuple[str, ...]
    rows: int | None
    nbytes: int
    dtype: np.dtype[Any] | None = None
    unit: str = "rows"
    index: tuple[str, ...] = ()
    weight: str | None = None
    missing: Missing = "error"
    where: Where | None = None
    rows_missing: int | None = None

    def __init__(self, paths: list[Path]) -> None:
        self.paths, self.identities = paths, [Identity.of(path) for path in paths]

    @abstractmethod
    def _chunks(self, start: int, whole: bool) -> Iterator[Chunk]:
        """Read the chunks from a position on, in the calling thread."""

    def chunks(self, start: int = 0, *, whole: bool = False) -> Generator[Chunk, None, None]:
        """Iterate over the chunks; a thread reads ahead.

        Parameters
        ----------
        start : int, default=0
            The position of the first chunk: the `end` of an earlier one.
        whole : bool, default=False
            Whether `Chunk.data` contains everything that a writer needs besides the points.
        """
        chunks = self._unchanged(self._chunks(start, whole or self._reads_texts))
        return read_ahead(self._points(chunks, complete=start == 0))

    def raw_chunks(self) -> Generator[Chunk, None, None]:
        """Iterate over the selected rows with weights and missing values."""
        return read_ahead(self._selected(self._unchanged(self._chunks(0, self._reads_texts))))

    def _unchanged(self, chunks: Iterator[Chunk]) -> Iterator[Chunk]:
        """Yield all chunks of a pass, and raise at its end if a file has changed."""
        yield from chunks
        self.check_unchanged()

    def check_unchanged(self) -> None:
        """Raise InvalidInputError if a file is not the one that was opened."""
        for path, identity in zip(self.paths, self.identities, strict=True):
            if difference := identity.difference(Identity.of(path)):
                problem = f"must not change while it is used, but {difference}; start again"
                raise InvalidInputError.for_file(path, problem)

    def _selected(self, chunks: Iterator[Chunk]) -> Iterator[Chunk]:
        """Take out rows that do not satisfy the conditions."""
        for chunk in chunks:
            if self.where is None:
                yield chunk
            else:
                yield self.where.select(chunk, self.columns, self.weight)

    def _points(self, chunks: Iterator[Chunk], *, complete: bool) -> Iterator[Chunk]:
        """Divide features from weights, and take out rows that are not points.

        `complete`: whether these are all chunks of the source, so that `rows_missing` is counted.
        """
        if self._uses_all_rows and self.weight is None:
            yield from chunks
            return
        rows_missing = 0
        for chunk in self._selected(chunks):
            points = prepared(
                chunk, self.columns, weighted=self.weight is not None, missing=self.missing
            )
            rows_missing += len(chunk) - len(points)
            yield points
        if complete:
            self.rows_missing = rows_missing

    @property
    def _columns_read(self) -> tuple[str, ...]:
        """The features, other columns of numbers in conditions, and the column of weights."""
        return self._columns_for(self.where)

    def _columns_for(self, where: Where | None) -> tuple[str, ...]:
        """Return the columns that are read if `where` are the conditions."""
        weight = () if self.weight is None else (self.weight,)
        numbers = () if where is None else where.numbers
        others = (name for name in numbers if name not in self.columns and name not in weight)
        return (*self.columns, *others, *weight)

    @property
    def _uses_all_rows(self) -> bool:
        return self.missing == "error" and self.where is None

    @property
    def _reads_texts(self) -> bool:
        return self.where is not None and bool(self.where.texts)

    def weighted(self, weight: str) -> Source:
        """Return the same points with a column of weights, which is not a feature."""
        features = [name for name in self.columns if name != weight]
        if not features:
            raise InvalidInputError.for_file(
                self.name, f"must have a column of numbers besides that of weights, {weight!r}"
            )
        source = self._reading([*features, weight])
        source.columns, source.weight = tuple(features), weight
        return source

    def selected(self, where: str) -> Source:
        """Return the points that satisfy conditions."""
        conditions = Where(where)
        if conditions.texts and not hasattr(self, "schema"):
            expected = "comparisons with numbers; only tables have columns of text"
            raise InvalidInputError.for_parameter("where", expected, where)
        source = self._reading(self._columns_for(conditions))
        source.columns, source.weight = self.columns, self.weight
        source.where = conditions.typed(source._types_of(conditions.numbers))
        return source

    def _types_of(self, columns: Sequence[str]) -> dict[str, np.dtype[Any]]:
        """Return the types of columns of numbers in the files, as far as they are known."""
        return {} if self.dtype is None else dict.fromkeys(columns, self.dtype)

    def _reading(self, columns: Sequence[str]) -> Source:
        """Return a source that reads these columns of the same files."""
        source = type(self)(self.paths, columns)  # type: ignore[call-arg]
        source.identities = self.identities
        return source

    def __iter__(self) -> Iterator[Chunk]:
        return self.chunks()

    @property
    def name(self) -> str:
        """The path, or the first path and the number of others."""
        more = f" and {len(self.paths) - 1} more" if len(self.paths) > 1 else ""
        return f"{self.paths[0]}{more}"

    @property
    def left_out(self) -> dict[str, str]:
        """Columns that are not numeric, and their content; empty if the caller chose columns."""
        return {}

    def read(self) -> NDArray[Any]:
        """Read all points into one array."""
        return self.read_weighted()[0]

    def read_weighted(self) -> tuple[NDArray[Any], NDArray[Any] | None]:
        """Read all points into one array, and their weights, if there is a column of weights."""
        chunks = [chunk for chunk in self.chunks() if len(chunk)]
        if not chunks:
            raise self.no_points()
        dtype = np.result_type(*(chunk.points.dtype for chunk in chunks))
        for chunk in chunks:  # a .csv column may be integer in one chunk and real in the next
            with chunk.locating_errors():
                for j in range(len(self.columns)):
                    check_exact(chunk.points[:, j], dtype, j)
        points = np.concatenate([chunk.points for chunk in chunks])
        if self.weight is None:
            return points, None
        weights = np.concatenate([np.asarray(chunk.weight) for chunk in chunks])
        if not weights.any():
            raise self.no_weight()
        return points, weights

    def count_points(self) -> int:
        """Return the number of points; this may take a pass over the files."""
        if self._uses_all_rows and self.rows is not None:
            return self.rows
        return sum(len(chunk) for chunk in self)

    def no_points(self) -> InvalidInputError:
        """Return the error of a source without points."""
        return no_rows(self.name, self.missing, self.where)

    def no_weight(self) -> InvalidInputError:
        """Return the error of a source whose weights are all zero."""
        expected = f"at least one positive weight in column {self.weight!r}"
        problem = f"must have {expected}, got none; choose another column of weights"
        return InvalidInputError.for_file(self.name, problem)

    def locating_errors(self) -> AbstractContextManager[None]:
        """Return a context that rewords errors about `read`: X[4, 1] becomes a place in a file."""
        return relocate_errors(self._relocate)

    def _relocate(self, error: InvalidInputError) -> InvalidInputError:
        if error.row is None or error.column is None:
            return error
        chunk, row = self._chunk_at(error.row)
        return chunk.locate(error, row, error.column)

    def _chunk_at(self, row: int) -> tuple[Chunk, int]:
        """Return the chunk of a row of the array that `read` returned, and its row there."""
        before = 0
        with closing(self.chunks()) as chunks:
            for chunk in chunks:
                if row < before + len(chunk):
                    return chunk, row - before
                before += len(chunk)
        return Chunk(np.empty((0, len(self.columns))), columns=self.columns), row

    def warn_of_no_data(self) -> None:  # noqa: B027 - only maps have such values
        """Warn of a value that may be "no data" although the file does not declare it."""

    def sample(self, size: int) -> NDArray[Any]:
        """Return about `size` points, evenly spaced over the data."""
        step, taken, seen, parts = 1, 0, 0, []
        for chunk in self._chunks_to_sample(size):
            parts.append(np.array(chunk.points[-seen % step :: step]))  # every step-th of all
            seen, taken = seen + len(chunk), taken + len(parts[-1])
            if taken > 2 * size:
                step, parts = 2 * step, [np.concatenate([part for part in parts if len(part)])[::2]]
                taken = len(parts[0])
        if not taken:
            raise self.no_points()
        return np.concatenate([part for part in parts if len(part)])

    def _sample_reads_all(self, size: int) -> bool:
        return self.rows is None or self.rows <= 4 * size

    def _chunks_to_sample(self, size: int) -> Iterator[Chunk]:
        """Yield all chunks of a small source, or chunks from evenly spaced positions."""
        if self._sample_reads_all(size):
            yield from self.chunks()
            return
        for k in range(_SAMPLE_POSITIONS):
            position = self._position_at(k / _SAMPLE_POSITIONS)
            chunks = self._chunks(position, whole=self._reads_texts)
            yield next(self._points(chunks, complete=False))

    def _position_at(self, share: float) -> int:
        """Return the position at a share, from 0 to 1, of the data."""
        return int(share * (self.rows or 0))


class LabelWriter(ABC):
    """A writer of labels, chunk by chunk; as a context manager it closes the file."""

    column: str | None = None

    @abstractmethod
    def write(self, chunk: Chunk, labels: NDArray[np.int32]) -> None:
        """Write the labels of a chunk's points."""

    @abstractmethod
    def close(self) -> None:
        """Finish the file."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            self.close()
        except Exception:
            if error is None:  # otherwise the first error is the one to report
                raise


def rows_per_chunk(row_bytes: float) -> int:
    """Return the number of rows that make a chunk of about `CHUNK_BYTES`."""
    return int(min(max(CHUNK_BYTES // max(row_bytes, 1), MIN_ROWS), MAX_ROWS))


def find_columns(wanted: Iterable[str], names: Sequence[str], path: Path) -> list[int]:
    """Return the indices of columns by their names, each of which must exist exactly once."""
    indices = {name: j for j, name in enumerate(names)}
    numbers = Counter(names) if len(indices) < len(names) else Counter[str]()
    found = []
    for name in wanted:
        if name not in indices:
            problem = f"has no column {name!r}, only {format_names(names)}"
            raise InvalidInputError.for_file(path, problem)
        if (n := numbers[name]) > 1:
            number = "two" if n == 2 else str(n)
            problem = f"has {number} columns named {name!r}; rename one"
            raise InvalidInputError.for_file(path, problem)
        found.append(indices[name])
    return found


def format_names(names: Sequence[str], limit: int = 12) -> str:
    """Format at most `limit` names, quoted and separated by commas."""
    text = ", ".join(map(repr, names[:limit]))
    return f"{text} and {len(names) - limit} more" if len(names) > limit else text


def label_column_name(names: Sequence[str]) -> str:
    """Return the first of `label`, `label_2`, `label_3`, ... that is not in `names`."""
    name, number = "label", 1
    while name in names:
        number += 1
        name = f"label_{number}"
    return name


def no_rows(
    name: str | Path, missing: Missing = "error", where: Where | None = None
) -> InvalidInputError:
    """Return the error of a source without points."""
    rows = "rows" if missing == "error" else "rows without missing values"
    suffix = "" if where is None else f" with {where.text}"
    return InvalidInputError.for_file(name, f"has no {rows}{suffix}")


@contextmanager
def reporting_damage(
    path: Path,
    kind: str,
    *errors: type[Exception],
    describe: Callable[[Exception], str] = str,
) -> Iterator[None]:
    """Turn the read errors of a library into an InvalidInputError that names the file.

    `describe` returns the text of an error; some of them quote the file.
    """
    try:
        yield
    except InvalidInputError:
        raise
    except errors as error:
        problem = f"is not a {kind}, or is damaged: {printable(describe(error))}"
        raise InvalidInputError.for_file(path, problem) from error


@contextmanager
def raising_os_errors(*errors: type[Exception]) -> Iterator[None]:
    """Turn the write errors of a library into OSError, which `atomic_path` reports with the path.

    The libraries' exceptions have no error number, so their text is all that can be passed on.
    """
    try:
        yield
    except errors as error:
        raise OSError(str(error.__cause__ or error)) from error


def check_source(source: object) -> None:
    """Raise InvalidInputError for anything but a source of points."""
    if not isinstance(source, Source):
        expected = "a source of points, as open_points returns it"
        got = type(source).__name__  # points themselves may be many
        raise InvalidInputError.for_parameter("source", expected, got)
