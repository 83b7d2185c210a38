"""Point clouds: LAS and LAZ, through laspy. Features are x, y and z unless others are named."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from meanshiftpp._support.extras import need
from meanshiftpp._support.files import check_readable
from meanshiftpp.core.chunk import Chunk
from meanshiftpp.errors import InvalidInputError
from meanshiftpp.io.sources import LabelWriter, Source, free_name, position, rows_at_a_time

FORMATS = (".las", ".laz")
PLACE = ("x", "y", "z")


class CloudSource(Source):
    """The points of LAS and LAZ files."""

    def __init__(self, paths: list[Path], columns: Sequence[str] | None) -> None:
        self.paths = paths
        self.columns = tuple(columns or PLACE)
        self.headers = []
        for path in paths:
            check_readable(path)
            with _reading(path), need("laspy", "lidar").open(path) as file:
                self.headers.append(file.header)
            names = [*PLACE, *self.headers[-1].point_format.dimension_names]
            for name in self.columns:
                position(name, names, path)
        self._lengths = [int(header.point_count) for header in self.headers]
        self.rows = sum(self._lengths)
        self.dtype = np.dtype(np.float64)
        self.nbytes = self.rows * 8 * len(self.columns)

    def _chunks(self, start: int, whole: bool) -> Iterator[Chunk]:
        before = 0
        for path, header, length in zip(self.paths, self.headers, self._lengths, strict=True):
            row = max(start - before, 0)
            if row < length:
                size = rows_at_a_time(max(header.point_format.size, 8 * len(self.columns)))
                with _reading(path), need("laspy", "lidar").open(path) as file:
                    file.seek(row)
                    for record in file.chunk_iterator(size):
                        end = row + len(record)
                        yield Chunk(
                            self._points(record),
                            source=str(path),
                            first=row,
                            columns=self.columns,
                            data=record if whole else None,
                            end=before + end,
                        )
                        row = end
                if row < length:
                    raise InvalidInputError(
                        f"{str(path)!r} is damaged: it ends after {row} of {length} points"
                    )
            before += length

    def _points(self, record: Any) -> NDArray[Any]:
        return np.stack([np.asarray(record[name], self.dtype) for name in self.columns]).T


class CloudLabels(LabelWriter):
    """Writes the points of the source with a label each, as an extra dimension."""

    def __init__(self, path: Path, source: CloudSource) -> None:
        laspy = need("laspy", "lidar")
        for other, header in zip(source.paths, source.headers, strict=True):
            if header.point_format != source.headers[0].point_format:
                raise InvalidInputError(
                    f"{str(other)!r} has another point format than {str(source.paths[0])!r}"
                )
        self._header = deepcopy(source.headers[0])
        self.column = free_name(list(self._header.point_format.dimension_names))
        what = laspy.ExtraBytesParams(self.column, np.int32, "cluster, -1 is noise")
        self._header.add_extra_dim(what)
        self._file = laspy.open(path, mode="w", header=self._header)

    def write(self, chunk: Chunk, labels: NDArray[np.int32]) -> None:
        """Write the points of a chunk."""
        laspy = need("laspy", "lidar")
        record = laspy.ScaleAwarePointRecord.zeros(len(labels), header=self._header)
        record.copy_fields_from(chunk.data)
        same = (chunk.data.scales == record.scales) & (chunk.data.offsets == record.offsets)
        if not same.all():  # a later file counts in other units: its raw integers mean other places
            for name in PLACE:
                record[name] = chunk.data[name]
        record[self.column] = labels
        with _writing():
            self._file.write_points(record)

    def close(self) -> None:
        """Finish the file."""
        with _writing():
            self._file.close()


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    laspy = need("laspy", "lidar")
    lazrs = need("lazrs", "lidar")
    try:
        yield
    except (laspy.errors.LaspyException, lazrs.LazrsError, OSError, EOFError, ValueError) as error:
        if isinstance(error, InvalidInputError):
            raise
        raise InvalidInputError(
            f"{str(path)!r} is no {path.suffix.lower()} point cloud, or is damaged: {error}"
        ) from error


@contextmanager
def _writing() -> Iterator[None]:
    """Make one class of all errors in writing, which the rest knows."""
    try:
        yield
    except (
        need("laspy", "lidar").errors.LaspyException,
        need("lazrs", "lidar").LazrsError,
    ) as error:
        raise OSError(str(error)) from error
