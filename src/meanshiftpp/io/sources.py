"""What files are to the rest: a `Source` of chunks, and a `LabelWriter` for what comes out.

A source knows its columns and about how large it is, and gives its points chunk after chunk, from
the start or from a position that an earlier chunk ended at. A writer gets the same chunks with a
label for each point, in the same order.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator, Iterator, Sequence
from contextlib import AbstractContextManager, closing
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from meanshiftpp._support.columns import check_exact
from meanshiftpp._support.read_ahead import read_ahead
from meanshiftpp.core.chunk import Chunk, relocate_errors
from meanshiftpp.errors import InvalidInputError

CHUNK_BYTES = 1 << 24  # of the points of a chunk: small, but worth setting up tables of sums for
LEAST_ROWS, MOST_ROWS = 1 << 12, 1 << 21
_JUMPS = 32  # places of a large file that a sample is taken from


class Source(ABC):
    """Points in a file or several, to be read as often as needed.

    Attributes
    ----------
    paths : list of Path
        The files.
    columns : tuple of str
        The features.
    rows : int or None
        How many there are; None where only reading tells.
    nbytes : int
        Of all points in memory, as far as can be known before.
    dtype : numpy.dtype or None
        The type of all points, where it is known before.
    unit : str
        What a position counts. Where that depends on how chunks are cut, it says so: a position in
        other chunks would be another place.
    left_out : dict of str
        Columns that were not taken because they hold no numbers, and what they hold.
    index : tuple of str
        Columns of numbers that were not taken because they only name the rows: an index of pandas,
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
    columns: tuple[str, ...]
    rows: int | None
    nbytes: int
    dtype: np.dtype[Any] | None = None
    unit: str = "rows"
    index: tuple[str, ...] = ()

    @abstractmethod
    def _chunks(self, start: int, whole: bool) -> Iterator[Chunk]:
        """Read chunk after chunk, in this thread."""

    def chunks(self, start: int = 0, *, whole: bool = False) -> Generator[Chunk, None, None]:
        """Iterate over the points, reading ahead in a thread.

        Parameters
        ----------
        start : int, default=0
            Where to start: the `end` of an earlier chunk.
        whole : bool, default=False
            Whether chunks carry in `data` what a writer needs besides the points.
        """
        return read_ahead(self._chunks(start, whole))

    def __iter__(self) -> Iterator[Chunk]:
        return self.chunks()

    @property
    def name(self) -> str:
        """The file, or the first one of several and how many there are."""
        more = f" and {len(self.paths) - 1} more" if len(self.paths) > 1 else ""
        return f"{self.paths[0]}{more}"

    @property
    def left_out(self) -> dict[str, str]:
        """Columns that hold no numbers, and what they hold; none where columns were asked for."""
        return {}

    def identity(self) -> list[list[Any]]:
        """Say which data this is: name, size and time of last change of each file."""
        files = [(path, path.stat()) for path in self.paths]
        return [[path.name, stat.st_size, stat.st_mtime_ns] for path, stat in files]

    def read(self) -> NDArray[Any]:
        """Read all points into one array."""
        chunks = [chunk for chunk in self.chunks() if len(chunk)]
        if not chunks:
            raise InvalidInputError(f"{self.name!r} has no rows")
        kind = np.result_type(*(chunk.points.dtype for chunk in chunks))
        for chunk in chunks:  # a column of a .csv may begin with whole numbers
            with chunk.locating_errors():
                for j in range(len(self.columns)):
                    check_exact(chunk.points[:, j], kind, j)
        return np.concatenate([chunk.points for chunk in chunks])

    def named(self) -> AbstractContextManager[None]:
        """Turn the X[4, 1] of an error about what `read` gave into the place in its file."""
        return relocate_errors(self._where)

    def _where(self, row: int, column: int) -> str:
        before = 0
        with closing(self.chunks()) as chunks:
            for chunk in chunks:
                if row < before + len(chunk):
                    return chunk.place(row - before, column)
                before += len(chunk)
        return f"X[{row}, {column}]"

    def sample(self, size: int) -> tuple[NDArray[Any], int]:
        """Take about `size` points, evenly over all the data, and say how many there are."""
        step, taken, seen, parts = 1, 0, 0, []
        for chunk in self._spread(size):
            parts.append(np.array(chunk.points[-seen % step :: step]))  # every step-th of all
            seen += len(chunk)
            taken += len(parts[-1])
            if taken > 2 * size:
                step, parts = 2 * step, [np.concatenate([part for part in parts if len(part)])[::2]]
                taken = len(parts[0])
        if not taken:
            raise InvalidInputError(f"{self.name!r} has no rows")
        sampled = np.concatenate([part for part in parts if len(part)])
        return sampled, seen if self._is_read_whole(size) else self.rows or 0

    def _is_read_whole(self, size: int) -> bool:
        return self.rows is None or self.rows <= 4 * size

    def _spread(self, size: int) -> Iterator[Chunk]:
        """Give chunks that stand for all: every one, or some from places all over a large file."""
        if self._is_read_whole(size):
            yield from self.chunks()
            return
        for k in range(_JUMPS):
            yield next(self._chunks(self._start(k / _JUMPS), whole=False))

    def _start(self, share: float) -> int:
        """Say which position is that share of the way through the data."""
        return int(share * (self.rows or 0))


class LabelWriter(ABC):
    """Writes labels as they come. It is closed in the end whatever happened."""

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
        at: TracebackType | None,
    ) -> None:
        try:
            self.close()
        except Exception:
            if error is None:  # else what went wrong first is what counts
                raise


def rows_at_a_time(row_bytes: float) -> int:
    """Say how many rows make a chunk of the right size."""
    return int(min(max(CHUNK_BYTES // max(row_bytes, 1), LEAST_ROWS), MOST_ROWS))


def position(name: str, names: Sequence[str], path: Path) -> int:
    """Find a column by its name, which must be there once."""
    found = [j for j, other in enumerate(names) if other == name]
    if len(found) != 1:
        how = "no column" if not found else f"{len(found)} columns"
        raise InvalidInputError(f"{str(path)!r} has {how} {name!r}, only {listed(names)}")
    return found[0]


def listed(names: Sequence[str], most: int = 12) -> str:
    """Write a list of names, not too long."""
    shown = ", ".join(map(repr, names[:most]))
    return f"{shown} and {len(names) - most} more" if len(names) > most else shown


def free_name(names: Sequence[str]) -> str:
    """Name the column of labels: `label`, or `label_2` and so on where that is taken."""
    name, number = "label", 1
    while name in names:
        number += 1
        name = f"label_{number}"
    return name
