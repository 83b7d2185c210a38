"""Chunks: points that come in parts, each knowing where it is from.

A chunk is an array, a table or a `Chunk`. Sums over chunks are exact, so how the data was cut never
shows in a result; where a bad value is must show, so a `Chunk` carries its file and first row.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from queue import Empty, Full, Queue
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from meanshiftpp._support.devices import as_array
from meanshiftpp.errors import InvalidInputError

__all__ = ["Chunk", "as_chunk", "chunk_of_arrow", "is_number", "read_ahead"]

T = TypeVar("T")
CHUNK_BYTES = (
    1 << 24
)  # of one chunk's points: small, and large enough to be worth setting tables up for
_POLL = 0.1  # seconds after which a waiting thread looks whether it is still wanted


@dataclass(frozen=True)
class Chunk:
    """Some of the points, and where they are from.

    Attributes
    ----------
    points : ndarray of shape (n, d)
        The points.
    weight : ndarray of shape (n,) or None
        Their weights.
    source : str
        The file, or another name for the part of the data they are from.
    first : int
        The row of `source`, from 0, that the first point is from.
    columns : tuple of str
        The names of the features.
    kept : ndarray of bool or None
        Which of the rows of `data` are points; None says that all are.
    data : object
        What the points were taken from, for a writer to put labels beside.
    end : int
        Where the next chunk starts, in the terms of the `Source` that gave this one.

    Examples
    --------
    >>> import numpy as np
    >>> from meanshiftpp import Grid
    >>> from meanshiftpp.core.chunk import Chunk
    >>> bad = Chunk(np.array([[1.0], [np.nan]]), source="b.csv", first=70, columns=("height",))
    >>> Grid.from_chunks([np.zeros((3, 1)), bad], bandwidth=1)
    Traceback (most recent call last):
        ...
    meanshiftpp.errors.InvalidInputError: b.csv, row 72, column 'height' is NaN: every coordinate
    must be a finite number
    """

    points: NDArray[Any]
    weight: NDArray[Any] | None = None
    source: str = ""
    first: int = 0
    columns: tuple[str, ...] = ()
    kept: NDArray[np.bool_] | None = None
    data: Any = None
    end: int = 0

    @property
    def size(self) -> int:
        """Rows of the file that this chunk stands for, points or not."""
        return len(self.points) if self.kept is None else len(self.kept)

    def __len__(self) -> int:
        return len(self.points)

    def where(self, row: int, column: int) -> str:
        """Say where a value is, in the words of its file: rows count from 1."""
        name = repr(self.columns[column]) if self.columns else str(column + 1)
        return f"{self.source}, row {self.first + row + 1}, column {name}"

    def named(self) -> AbstractContextManager[None]:
        """Turn the X[4, 1] of an error into the place in the file."""
        return placed(self.where, self.source)

    def counted(self) -> AbstractContextManager[None]:
        """Turn the X[4, 1] of an error into the row of the array that the chunk was cut from."""
        return placed(lambda row, column: f"X[{self.first + row}, {column}]")


@contextmanager
def placed(where: Callable[[int, int], str], source: str = "") -> Iterator[None]:
    """Turn the X[4, 1] that an error begins with into what `where` says of row and column.

    Other errors about the points get the name of their source in front, if there is one.
    """
    try:
        yield
    except InvalidInputError as error:
        place = re.match(r"X\[(\d+), (\d+)\]", str(error))
        if place:
            name = where(int(place[1]), int(place[2]))
            raise InvalidInputError(name + str(error)[place.end() :]) from error
        if source:
            raise InvalidInputError(f"{source}: {error}") from error
        raise


def as_chunk(item: Any, number: int = 0) -> Chunk:
    """Make a `Chunk` of what an iterator gave: an array, a table, or a pair (X, weights).

    Parameters
    ----------
    item : array-like, Arrow batch or table, data frame, pair or Chunk
        The points. A tuple of two is (X, weights).
    number : int, default=0
        Which of the chunks this is, to name it in errors.

    Returns
    -------
    Chunk

    Examples
    --------
    >>> import pyarrow as pa
    >>> from meanshiftpp.core.chunk import as_chunk
    >>> as_chunk(pa.table({"x": [1.5, 2.5], "n": [1, 2]})).points
    array([[1.5, 1. ],
           [2.5, 2. ]])
    """
    if isinstance(item, Chunk):
        return item
    if isinstance(item, tuple) and len(item) == 2:
        return replace(as_chunk(item[0], number), weight=as_array(item[1]))
    source = f"chunk {number + 1}"
    if hasattr(item, "column_names"):
        return chunk_of_arrow(item, source)
    if hasattr(item, "columns") and hasattr(item, "dtypes"):
        names = tuple(map(str, item.columns))
        chunk = Chunk(np.empty((0, len(names))), source=source, columns=names)
        with chunk.named():
            return replace(chunk, points=_of_frame(item)) if len(item) else chunk
    points = as_array(item)
    if np.ndim(points) == 0:
        raise InvalidInputError(
            f"{source} must be an array of shape (n, n_features) or a table, got {item!r:.60}"
        )
    return Chunk(points, source=source)


def as_chunks(items: Iterable[Any]) -> Iterator[Chunk]:
    """Make a `Chunk` of each item; columns that have names must have the same, in one order."""
    names: tuple[str, ...] = ()
    if not hasattr(items, "__iter__"):
        raise InvalidInputError(
            f"chunks must be an iterable of arrays or tables, got {items!r:.60}"
        )
    for number, item in enumerate(items):
        chunk = as_chunk(item, number)
        if len(chunk.columns) == len(names) and chunk.columns != names:
            raise InvalidInputError(
                f"{chunk.source} has the columns {', '.join(chunk.columns)}, "
                f"others have {', '.join(names)}"
            )
        names = names or chunk.columns
        yield chunk


def chunk_of_arrow(table: Any, source: str, first: int = 0, **more: Any) -> Chunk:
    """Make a `Chunk` of an Arrow table or batch; each of its columns must hold numbers."""
    nothing = np.empty((0, table.num_columns))
    names = tuple(table.column_names)
    chunk = Chunk(nothing, source=source, first=first, columns=names, **more)
    for field in table.schema:
        if not (is_number(field.type) or is_unknown(field.type)):
            raise InvalidInputError(
                f"{source}: column {field.name!r} holds {field.type}, not numbers"
            )
    if not table.num_rows:
        return chunk
    with chunk.named():
        return replace(chunk, points=_side_by_side([_numbers(column) for column in table.columns]))


def is_number(kind: Any) -> bool:
    """Whether an Arrow type holds numbers."""
    from pyarrow import types

    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind))


def read_ahead(items: Iterable[T], depth: int = 2) -> Generator[T, None, None]:
    """Iterate in a thread of its own, `depth` items ahead: reading goes on while others work.

    What the iterator raises is raised here, in its turn. When this iterator is closed, by an error
    in the caller's loop too, the thread ends.

    Examples
    --------
    >>> from meanshiftpp.core.chunk import read_ahead
    >>> list(read_ahead(range(5)))
    [0, 1, 2, 3, 4]
    """
    queue: Queue[tuple[str, Any]] = Queue(depth)
    done = threading.Event()

    def put(what: str, value: Any) -> bool:
        while not done.is_set():
            try:
                queue.put((what, value), timeout=_POLL)
                return True
            except Full:
                pass
        return False

    def work() -> None:
        iterator: Any = None
        try:
            iterator = iter(items)
            for item in iterator:
                if not put("item", item):
                    return
            put("end", None)
        except BaseException as error:
            put("error", error)
        finally:
            if hasattr(iterator, "close"):
                iterator.close()

    thread = threading.Thread(target=work, name="meanshiftpp reader", daemon=True)
    thread.start()
    try:
        while True:
            what, value = _get(queue, thread)
            if what == "end":
                return
            if what == "error":
                raise value
            yield value
    finally:
        done.set()
        thread.join()


def _get(queue: Queue[tuple[str, Any]], thread: threading.Thread) -> tuple[str, Any]:
    while True:  # with a timeout, so that Ctrl-C comes through on every system
        try:
            return queue.get(timeout=_POLL)
        except Empty:
            if not thread.is_alive() and queue.empty():  # asked in this order: it may just have put
                raise RuntimeError("the reader's thread ended without a word") from None


def is_unknown(kind: Any) -> bool:
    """Whether a column's Arrow type says nothing: all its values are missing, or there are none."""
    from pyarrow import types

    return bool(types.is_null(kind))


def _side_by_side(arrays: list[NDArray[Any]]) -> NDArray[Any]:
    """Make one array of columns, in the type that holds them all; what it cannot hold is refused.

    The result is stored column after column, since copying a column is much faster than spreading
    it over rows, and the kernel reads both.
    """
    if len(arrays) == 1:
        return arrays[0][:, None]
    points = np.empty((len(arrays), len(arrays[0])), np.result_type(*arrays))
    for j, array in enumerate(arrays):
        points[j] = array
        refuse_rounding(array, points.dtype, j)
    return points.T


def _of_frame(frame: Any) -> NDArray[Any]:
    """Read a data frame column by column: at once, large whole numbers would be rounded unseen."""
    arrays = []
    for j, name in enumerate(frame.columns):
        column = frame.iloc[:, j] if hasattr(frame, "iloc") else frame[name]
        array = np.asarray(column)
        if hasattr(column.dtype, "numpy_dtype"):  # pandas' types for missing values: NaN, if any is
            kind = np.dtype(np.float64) if column.hasnans else column.dtype.numpy_dtype
            array = column.to_numpy(kind, na_value=np.nan) if column.hasnans else array.astype(kind)
        if array.dtype.kind not in "biuf":
            raise InvalidInputError(
                f"column {name!r} holds {column.dtype}, not numbers; select the columns to cluster"
            )
        arrays.append(array)
    return _side_by_side(arrays) if arrays else np.empty((len(frame), 0))


def refuse_rounding(array: NDArray[Any], kind: np.dtype[Any], column: int) -> None:
    """Refuse whole numbers that are about to become others on the way to a floating type."""
    if kind.kind == "f" and array.dtype.kind in "iu" and array.dtype.itemsize == 8:
        bad = np.flatnonzero(np.abs(array.astype(kind)) >= 2**53)
        if bad.size:
            raise InvalidInputError(
                f"X[{bad[0]}, {column}] is {array[bad[0]]}, which float64 cannot be relied on to "
                "hold; leave the column out or subtract an offset"
            )


def _numbers(column: Any) -> NDArray[Any]:
    from pyarrow import float64, types

    # A missing value becomes NaN, for the binning to find and name.
    if types.is_decimal(column.type) or types.is_null(column.type):
        column = column.cast(float64())
    chunked = hasattr(column, "num_chunks")
    numbers: NDArray[Any] = column.to_numpy() if chunked else column.to_numpy(zero_copy_only=False)
    return numbers
