"""Arrays: .npy files, mapped into memory, and zarr arrays. A row is a point, a column a feature."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from meanshiftpp._support.extras import need
from meanshiftpp._support.files import check_readable
from meanshiftpp.core.chunk import Chunk
from meanshiftpp.errors import InvalidInputError
from meanshiftpp.io.sources import LabelWriter, Source, position, rows_at_a_time

FORMATS = (".npy", ".zarr")


class ArraySource(Source):
    """The rows of arrays of one width, one array after the other."""

    def __init__(self, paths: list[Path], columns: Sequence[str] | None) -> None:
        self.paths = paths
        arrays = [self._open(path) for path in paths]
        for path, array in zip(paths, arrays, strict=True):
            self._check(path, array)
        width = arrays[0].shape[1]
        for path, array in zip(paths, arrays, strict=True):
            if array.shape[1] != width:
                raise InvalidInputError(
                    f"{str(path)!r} has {array.shape[1]} columns, but {str(paths[0])!r} has {width}"
                )
        names = [f"x{j}" for j in range(width)]
        self.columns = tuple(columns or names)
        chosen = [position(name, names, paths[0]) for name in self.columns]
        self._chosen = None if chosen == list(range(width)) else chosen
        self.dtype = np.result_type(*(array.dtype for array in arrays))
        self._lengths = [int(array.shape[0]) for array in arrays]
        self.rows = sum(self._lengths)
        self.nbytes = self.rows * len(self.columns) * self.dtype.itemsize

    @abstractmethod
    def _open(self, path: Path) -> Any:
        """Open an array without reading it."""

    def _step(self, array: Any) -> int:
        """Say how many rows to take at a time."""
        return rows_at_a_time(array.dtype.itemsize * array.shape[1])

    def _chunks(self, start: int, whole: bool) -> Iterator[Chunk]:
        before = 0
        for path, length in zip(self.paths, self._lengths, strict=True):
            first = max(start - before, 0)
            while first < length:
                # Opened anew each time: what was mapped does not stay in memory.
                array = self._open(path)
                step = self._step(array)
                end = min((first // step + 1) * step, length)
                points = np.asarray(array[first:end])
                points = points if self._chosen is None else points[:, self._chosen]
                yield Chunk(points, None, str(path), first, self.columns, end=before + end)
                first = end
            before += length

    def _check(self, path: Path, array: Any) -> None:
        if not hasattr(array, "ndim") or array.ndim != 2 or array.dtype.kind not in "fiu":
            has_shape = hasattr(array, "shape")
            what = f"{array.dtype} of shape {array.shape}" if has_shape else type(array).__name__
            raise InvalidInputError(f"{str(path)!r} must hold a 2-D array of numbers, not {what}")
        if array.shape[1] == 0:
            raise InvalidInputError(f"{str(path)!r} has no columns")


class NpySource(ArraySource):
    """The rows of .npy files."""

    def _open(self, path: Path) -> Any:
        check_readable(path)
        try:
            return np.load(path, mmap_mode="r", allow_pickle=False)
        except (ValueError, EOFError, OSError) as error:
            message = f"{str(path)!r} is no .npy array of numbers: {error}"
            raise InvalidInputError(message) from error

    def read(self) -> NDArray[Any]:
        """Map the array into memory, if it is one."""
        if len(self.paths) > 1 or self._chosen is not None or not self.rows:
            return super().read()
        mapped: NDArray[Any] = self._open(self.paths[0])
        return mapped


class ZarrSource(ArraySource):
    """The rows of zarr arrays."""

    def _open(self, path: Path) -> Any:
        zarr = need("zarr", "zarr")
        try:
            return zarr.open_array(str(path), mode="r")
        except Exception as error:  # a store can be wrong in many ways, each with its own class
            raise InvalidInputError(
                f"{str(path)!r} is no zarr array (name the array in a group): {error}"
            ) from error

    def _step(self, array: Any) -> int:
        tile = int(array.chunks[0])  # stored pieces are decoded whole: take whole ones
        return max(super()._step(array) // tile, 1) * tile

    def identity(self) -> list[list[Any]]:
        """Say which data this is: the stored pieces, their size and last change."""
        answer = []
        for path in self.paths:
            pieces = [piece.stat() for piece in path.rglob("*") if piece.is_file()]
            newest = max((piece.st_mtime_ns for piece in pieces), default=0)
            answer.append([path.name, sum(piece.st_size for piece in pieces), newest])
        return answer


def is_zarr(path: Path) -> bool:
    """Whether a folder is a zarr store."""
    return path.suffix.lower() == ".zarr" or any(
        (path / name).exists() for name in ("zarr.json", ".zarray", ".zgroup")
    )


class NpyLabels(LabelWriter):
    """Writes labels alone, as an .npy array."""

    def __init__(self, path: Path, rows: int) -> None:
        self._file = path.open("wb")
        header = {"descr": "<i4", "fortran_order": False, "shape": (rows,)}
        np.lib.format.write_array_header_1_0(self._file, header)

    def write(self, chunk: Chunk, labels: NDArray[np.int32]) -> None:
        """Write the labels of a chunk after those before."""
        self._file.write(labels.astype("<i4", copy=False).data)

    def close(self) -> None:
        """Finish the file."""
        self._file.close()
