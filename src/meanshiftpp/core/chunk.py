"""Chunks: parts of the points, each with the place it comes from.

A chunk is an array, a table or a `Chunk`. Sums over chunks are exact, so a result never depends on
how the data was divided. A `Chunk` knows its file and first row, so that an error can state the
place of a bad value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from meanshiftpp._support.checks import Weights
from meanshiftpp._support.columns import (
    Memory,
    array_from_arrow,
    array_from_frame,
    is_numeric,
    is_untyped,
)
from meanshiftpp._support.devices import as_array
from meanshiftpp.errors import InvalidInputError

__all__ = ["Chunk", "as_chunk", "as_chunks", "chunk_from_arrow", "relocate_errors"]


@dataclass(frozen=True)
class Chunk:
    """A part of the points, and the place it comes from.

    Attributes
    ----------
    points : ndarray of shape (n, d)
        The points.
    weight : ndarray of shape (n,), Weights or None
        Their weights; `Weights` are not checked again.
    source : str
        Name of the file or of the part of the data; empty for a part of the caller's array.
    first : int
        Row of `source`, counted from 0, of the first point.
    columns : tuple of str
        Names of the features.
    mask : ndarray of bool or None
        True for the rows of `data` that are points; None if all are.
    rows : ndarray or None
        All rows of the chunk, if the mask leaves out rows with missing values.
    data : object
        The rows that the points were taken from, for a writer that adds labels to them.
    end : int
        Position of the next chunk, in the terms of the `Source` that made this one.

    Examples
    --------
    >>> import numpy as np
    >>> from meanshiftpp import Grid
    >>> from meanshiftpp.stream import Chunk
    >>> bad = Chunk(np.array([[1.0], [np.nan]]), source="b.csv", first=70, columns=("height",))
    >>> Grid.from_chunks([np.zeros((3, 1)), bad], bandwidth=1)
    Traceback (most recent call last):
        ...
    meanshiftpp.errors.InvalidInputError: b.csv, row 72, column 'height' is NaN: every coordinate
    must be a finite number
    """

    points: NDArray[Any]
    weight: NDArray[Any] | Weights | None = None
    source: str = ""
    first: int = 0
    columns: tuple[str, ...] = ()
    mask: NDArray[np.bool_] | None = None
    rows: NDArray[Any] | None = None
    data: Any = None
    end: int = 0

    @property
    def size(self) -> int:
        """Number of rows of the file in this chunk, including rows that are not points."""
        return len(self.points) if self.mask is None else len(self.mask)

    def __len__(self) -> int:
        return len(self.points)

    def place(self, row: int, column: int) -> str:
        """Return the place of a value: in its file, with rows from 1, or in the caller's array."""
        row = row if self.mask is None else int(np.flatnonzero(self.mask)[row])
        if not self.source:
            return f"X[{self.first + row}, {column}]"
        name = repr(self.columns[column]) if self.columns else str(column + 1)
        return f"{self.source}, row {self.first + row + 1}, column {name}"

    def locating_errors(self) -> AbstractContextManager[None]:
        """Return a context that words errors about a value with its `place` in the source.

        Other errors are prefixed with the source. The row of an error counts from the first chunk.
        """
        return relocate_errors(self._relocate)

    def _relocate(self, error: InvalidInputError) -> InvalidInputError:
        if error.row is not None and error.column is not None:
            moved = self.locate(error, error.row, error.column)
            moved.row = self.first + error.row
            return moved
        if not self.source:
            return error
        moved = error.at(f"{self.source}:")
        moved.source = self.source
        return moved

    def locate(self, error: InvalidInputError, row: int, column: int) -> InvalidInputError:
        """Return an error about a value of this chunk, with its place in the source."""
        moved = error.at(self.place(row, column))
        moved.source = self.source or None
        # Points may not be read yet.
        moved.got = self.points[row, column].item() if row < len(self.points) else None
        return moved


@contextmanager
def relocate_errors(
    relocate: Callable[[InvalidInputError], InvalidInputError],
) -> Iterator[None]:
    """Replace each InvalidInputError of the block by what `relocate` returns for it."""
    try:
        yield
    except InvalidInputError as error:
        moved = relocate(error)
        if moved is error:
            raise
        raise moved from error


def as_chunk(item: Any, number: int = 0) -> Chunk:
    """Convert an array, a table or a pair (X, weights) to a `Chunk`.

    Parameters
    ----------
    item : array-like, Arrow batch or table, data frame, pair or Chunk
        The points. A tuple of two is (X, weights).
    number : int, default=0
        Number of the chunk, for error messages.

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
        return chunk_from_arrow(item, source)
    if hasattr(item, "columns") and hasattr(item, "dtypes"):
        names = tuple(map(str, item.columns))
        chunk = Chunk(np.empty((0, len(names))), source=source, columns=names)
        with chunk.locating_errors():
            return replace(chunk, points=array_from_frame(item)) if len(item) else chunk
    points = as_array(item)
    if np.ndim(points) == 0:
        raise InvalidInputError(
            f"{source} must be an array of shape (n, n_features) or a table, got {item!r:.60}"
        )
    return Chunk(points, source=source)


def as_chunks(items: Iterable[Any]) -> Iterator[Chunk]:
    """Convert each item to a `Chunk`; all must have the same column names in the same order."""
    if not hasattr(items, "__iter__"):
        raise InvalidInputError(
            f"chunks must be an iterable of arrays or tables, got {items!r:.60}"
        )
    names: tuple[str, ...] = ()
    for number, item in enumerate(items):
        chunk = as_chunk(item, number)
        if len(chunk.columns) == len(names) and chunk.columns != names:
            raise InvalidInputError(
                f"{chunk.source} has the columns {', '.join(chunk.columns)}, "
                f"but the chunks before it have {', '.join(names)}"
            )
        names = names or chunk.columns
        yield chunk


def chunk_from_arrow(
    table: Any, source: str, first: int = 0, *, memory: Memory | None = None, **fields: Any
) -> Chunk:
    """Convert an Arrow table or batch to a `Chunk`; each column must hold numbers.

    The points may be a view of `memory`. `fields` are further fields of the chunk.
    """
    no_points = np.empty((0, table.num_columns))
    names = tuple(table.column_names)
    chunk = Chunk(no_points, source=source, first=first, columns=names, **fields)
    for field in table.schema:
        if not (is_numeric(field.type) or is_untyped(field.type)):
            raise InvalidInputError(
                f"{source}: column {field.name!r} holds {field.type}, not numbers"
            )
    if not table.num_rows:
        return chunk
    with chunk.locating_errors():
        return replace(chunk, points=array_from_arrow(table, memory))
