"""Point clouds: LAS and LAZ files, through laspy. The features are x, y and z by default."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from meanshiftpp._support.extras import need
from meanshiftpp._support.warnings import warn_user
from meanshiftpp.core.chunk import Chunk
from meanshiftpp.errors import InvalidInputError
from meanshiftpp.io.clouds.checks import Decoding, check_chunks, check_records
from meanshiftpp.io.sources import (
    LabelWriter,
    Source,
    find_columns,
    label_column_name,
    raising_os_errors,
    reporting_damage,
    rows_per_chunk,
)

FORMATS = (".las", ".laz")
COORDINATES = ("x", "y", "z")
_BOX_MARGIN = 0.01  # of the box in the header, by which programs that round it may be wrong


class CloudWarning(UserWarning):
    """A point cloud whose points contradict its header."""


class CloudSource(Source):
    """The points of LAS and LAZ files."""

    def __init__(self, paths: list[Path], columns: Sequence[str] | None) -> None:
        super().__init__(paths)
        self.columns = tuple(columns or COORDINATES)
        self.headers = []
        self._decodings = []
        self._doubtful: set[Path] = set()
        for path in paths:
            with _reading(path), _open(path) as file:
                self._decodings.append(_check_size(path, file.header))
                self.headers.append(file.header)
            names = [*COORDINATES, *self.headers[-1].point_format.dimension_names]
            find_columns(self.columns, names, path)
        self._lengths = [int(header.point_count) for header in self.headers]
        self.rows = sum(self._lengths)
        self.dtype = np.dtype(np.float64)
        self.nbytes = self.rows * 8 * len(self.columns)

    def _chunks(self, start: int, whole: bool) -> Iterator[Chunk]:
        before = 0
        files = zip(self.paths, self.headers, self._lengths, self._decodings, strict=True)
        for path, header, length, decoding in files:
            row = max(start - before, 0)
            if row < length:
                size = rows_per_chunk(max(header.point_format.size, 8 * len(self._columns_read)))
                with _reading(path), _open(path, decoding) as file:
                    _skip(file, row, size, decoding)
                    for record in file.chunk_iterator(size):
                        end = row + len(record)
                        self._check_box(path, header, record, row)
                        yield Chunk(
                            self._values(record),
                            source=str(path),
                            first=row,
                            columns=self._columns_read,
                            data=record if whole else None,
                            end=before + end,
                        )
                        row = end
                if row < length:
                    raise InvalidInputError(
                        f"{str(path)!r} is damaged: it ends after {row} of {length} points"
                    )
            before += length

    def _check_box(self, path: Path, header: Any, record: Any, first: int) -> None:
        """Warn of points outside the box of the header: a file has no checksum.

        After a damaged byte, the decoder returns random points until the next chunk.
        """
        low, high = np.array(header.mins), np.array(header.maxs)
        if path in self._doubtful or not len(record) or not (low < high).any():
            return  # an empty box was never set
        margin = _BOX_MARGIN * (high - low) + header.scales
        low, high = low - margin, high + margin
        for j, name in enumerate(COORDINATES):
            values = np.asarray(record[name])
            if values.min() >= low[j] and values.max() <= high[j]:
                continue
            row = int(np.argmax((values < low[j]) | (values > high[j])))
            self._doubtful.add(path)
            warn_user(
                CloudWarning(
                    f"{str(path)!r}, row {first + row + 1}: {name} is {values[row]:.10g}, outside "
                    f"the {header.mins[j]:.10g} to {header.maxs[j]:.10g} of the file's header; the "
                    "file is damaged or its header is wrong, so compare it with its source"
                )
            )
            return

    def _types_of(self, columns: Sequence[str]) -> dict[str, np.dtype[Any]]:
        dimensions = (
            (name, header.point_format.dimension_by_name(name))
            for header in self.headers
            for name in columns
            if name not in COORDINATES
        )
        types: dict[str, np.dtype[Any]] = {}
        for name, dimension in dimensions:
            if dimension.dtype is not None and not dimension.is_scaled:
                types[name] = np.result_type(types.get(name, dimension.dtype), dimension.dtype)
        return types

    def _sample_reads_all(self, size: int) -> bool:
        """Return whether a sample takes one pass, as it must if the decoder cannot seek."""
        return super()._sample_reads_all(size) or not all(d.seekable for d in self._decodings)

    def _values(self, record: Any) -> NDArray[Any]:
        return np.stack([np.asarray(record[name], self.dtype) for name in self._columns_read]).T


class CloudLabels(LabelWriter):
    """A writer of the points of the source, with their labels in an extra dimension."""

    def __init__(self, path: Path, source: CloudSource) -> None:
        laspy = need("laspy", "lidar")
        for other, header in zip(source.paths, source.headers, strict=True):
            if header.point_format != source.headers[0].point_format:
                raise InvalidInputError(
                    f"files must have one point format to be written to one file, but that of "
                    f"{str(other)!r} differs from that of {str(source.paths[0])!r}"
                )
        self._header = deepcopy(source.headers[0])
        self.column = label_column_name(list(self._header.point_format.dimension_names))
        dimension = laspy.ExtraBytesParams(self.column, np.int32, "cluster, -1 is noise")
        self._header.add_extra_dim(dimension)
        # laspy would leave a file that it opened itself open after an error.
        with ExitStack() as stack:
            self._stream = stack.enter_context(path.open("wb+"))
            with _writing():
                self._file = laspy.open(
                    self._stream,
                    mode="w",
                    header=self._header,
                    do_compress=path.suffix.lower() == ".laz",
                    closefd=False,
                )
            stack.pop_all()

    def write(self, chunk: Chunk, labels: NDArray[np.int32]) -> None:
        """Write the points of a chunk with their labels."""
        laspy = need("laspy", "lidar")
        record = laspy.ScaleAwarePointRecord.zeros(len(labels), header=self._header)
        record.copy_fields_from(chunk.data)
        same = (chunk.data.scales == record.scales) & (chunk.data.offsets == record.offsets)
        if not same.all():  # raw integers of a file with another scale or offset must be converted
            for name in COORDINATES:
                record[name] = chunk.data[name]
        record[self.column] = labels
        with _writing():
            self._file.write_points(record)

    def close(self) -> None:
        """Finish the file."""
        with self._stream, _writing():
            self._file.close()


def _open(path: Path, decoding: Decoding | None = None) -> Any:
    """Open a file; `decoding` is needed to read its points."""
    check_records(path)
    laspy = need("laspy", "lidar")
    sequential = decoding is not None and not decoding.parallel
    return laspy.open(path, laz_backend=laspy.LazBackend.Lazrs if sequential else None)


def _skip(file: Any, row: int, size: int, decoding: Decoding) -> None:
    """Move to a row; up to `size` points are decoded at once if the decoder cannot seek."""
    if decoding.seekable:
        file.seek(row)
        return
    while row:
        row -= len(file.read_points(min(row, size)))


def _check_size(path: Path, header: Any) -> Decoding:
    """Return how to decode a file; raise InvalidInputError if it is too small for its points."""
    if header.are_points_compressed:
        return check_chunks(path, header)
    n_bytes = header.point_count * header.point_format.size
    present = path.stat().st_size - int(header.offset_to_point_data)
    if n_bytes > present:
        row = max(present, 0) // header.point_format.size
        raise InvalidInputError(
            f"{str(path)!r} is damaged: it ends after {row} of {header.point_count} points"
        )
    return Decoding()


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    """Turn the errors of laspy and its decoder into an InvalidInputError that names the file."""
    kind = f"{path.suffix.lower()} point cloud"
    errors = (OSError, EOFError, ValueError, OverflowError, IndexError, struct.error)
    try:
        with reporting_damage(path, kind, *_library_errors(), *errors):
            yield
    except BaseException as error:
        # A panic of the decoder, written in Rust, is neither an Exception nor importable.
        if type(error).__name__ != "PanicException":
            raise
        raise InvalidInputError.for_file(path, f"is damaged: {error}") from error


def _writing() -> AbstractContextManager[None]:
    return raising_os_errors(*_library_errors())


def _library_errors() -> tuple[type[Exception], type[Exception]]:
    """Return the base exceptions of laspy and of its LAZ decoder."""
    return need("laspy", "lidar").errors.LaspyException, need("lazrs", "lidar").LazrsError
