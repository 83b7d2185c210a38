"""Arrays: memory-mapped .npy files and zarr arrays. A row is a point, a column is a feature."""

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
from meanshiftpp.io.sources import (
    LabelWriter,
    Source,
    find_columns,
    reporting_damage,
    rows_per_chunk,
)

FORMATS = (".npy", ".zarr")


class ArraySource(Source):
    """The rows of one or more arrays with the same number of columns."""

    def __init__(self, paths: list[Path], columns: Sequence[str] | None) -> None:
        super().__init__(paths)
        arrays = [self._open(path) for path in paths]
        for path, array in zip(paths, arrays, strict=True):
            _check_array(path, array)
        width = arrays[0].shape[1]
        for path, array in zip(paths, arrays, strict=True):
            if array.shape[1] != width:
                raise InvalidInputError(
                    f"{str(path)!r} has {array.shape[1]} columns, but {str(paths[0])!r} has {width}"
                )
        names = [f"x{j}" for j in range(width)]
        self.columns = tuple(columns or names)
        chosen = find_columns(self.columns, names, paths[0])
        self._chosen = None if chosen == list(range(width)) else chosen
        self.dtype = np.result_type(*(array.dtype for array in arrays))
        self._lengths = [int(array.shape[0]) for array in arrays]
        self.rows = sum(self._lengths)
        self.nbytes = self.rows * len(self.columns) * self.dtype.itemsize

    @abstractmethod
    def _open(self, path: Path) -> Any:
        """Open an array without reading it."""

    def _rows_per_chunk(self, array: Any) -> int:
        return rows_per_chunk(array.dtype.itemsize * array.shape[1])

    def _chunks(self, start: int, whole: bool) -> Iterator[Chunk]:
        before = 0
        for path, length in zip(self.paths, self._lengths, strict=True):
            first = max(start - before, 0)
            while first < length:
                # The array is opened for each chunk, so that the pages of earlier chunks are freed.
                array = self._open(path)
                step = self._rows_per_chunk(array)
                end = min((first // step + 1) * step, length)
                points = np.asarray(array[first:end])
                points = points if self._chosen is None else points[:, self._chosen]
                yield Chunk(points, None, str(path), first, self._columns_read, end=before + end)
                first = end
            before += length


def _check_array(path: Path, array: Any) -> None:
    if not hasattr(array, "ndim") or array.ndim != 2 or array.dtype.kind not in "fiu":
        is_array = hasattr(array, "shape")
        got = f"{array.dtype} of shape {array.shape}" if is_array else type(array).__name__
        raise InvalidInputError.for_file(path, f"must hold a 2-D array of numbers, got {got}")
    if array.shape[1] == 0:
        raise InvalidInputError.for_file(path, "has no columns")


class NpySource(ArraySource):
    """The rows of .npy files."""

    def _open(self, path: Path) -> Any:
        check_readable(path)
        # A damaged header can raise many kinds of exceptions, of Python's tokenizer too.
        kind = ".npy array of numbers"
        with reporting_damage(path, kind, Exception, describe=_describe_damage):
            return np.load(path, mmap_mode="r", allow_pickle=False)

    def read_weighted(self) -> tuple[NDArray[Any], NDArray[Any] | None]:
        """Return all points; a single file is mapped into memory instead of read."""
        mapped: NDArray[Any] = self._open(self.paths[0])
        plain = self._chosen is None and self.weight is None and self._uses_all_rows
        if plain and len(self.paths) == 1 and self.rows:
            return mapped, None
        return super().read_weighted()


def _describe_damage(error: Exception) -> str:
    """Return the text of a read error, without NumPy's advice to load the file unsafely."""
    if "pickle" in str(error):
        return "it holds Python objects or another format; save numbers with numpy.save"
    return str(error)


class ZarrSource(ArraySource):
    """The rows of zarr arrays."""

    def _open(self, path: Path) -> Any:
        zarr = need("zarr", "zarr")
        try:
            array = zarr.open_array(str(path), mode="r")
            _check_codecs(array.metadata)
            return array
        except Exception as error:  # zarr and its stores raise unrelated exception classes
            raise InvalidInputError(
                f"{str(path)!r} is not a zarr array: {error}; for a group, name one of its arrays"
            ) from error

    def _rows_per_chunk(self, array: Any) -> int:
        tile = int(array.chunks[0])  # zarr decodes whole tiles, so chunks consist of whole tiles
        return max(super()._rows_per_chunk(array) // tile, 1) * tile


def _check_codecs(metadata: Any) -> None:
    """Raise for an array of zarr's version 2 that is stored as pickles, which can run any code."""
    codecs = (*(getattr(metadata, "filters", None) or ()), getattr(metadata, "compressor", None))
    if any(getattr(codec, "codec_id", None) == "pickle" for codec in codecs):
        raise ValueError("it is stored as pickles, which are not read because they can run code")


def is_zarr(path: Path) -> bool:
    """Return whether a folder is a zarr store."""
    return path.suffix.lower() == ".zarr" or any(
        (path / name).exists() for name in ("zarr.json", ".zarray", ".zgroup")
    )


class NpyLabels(LabelWriter):
    """A writer of labels to an .npy file."""

    def __init__(self, path: Path, rows: int) -> None:
        self._file = path.open("wb")
        header = {"descr": "<i4", "fortran_order": False, "shape": (rows,)}
        np.lib.format.write_array_header_1_0(self._file, header)

    def write(self, chunk: Chunk, labels: NDArray[np.int32]) -> None:
        """Append the labels of a chunk."""
        self._file.write(labels.astype("<i4", copy=False).data)

    def close(self) -> None:
        """Finish the file."""
        self._file.close()
