"""Rasters: GeoTIFF in windows, through rasterio. A pixel is a point, a band a feature.

Windows are whole blocks of the file. The grid of all windows is the grid of the image, so labels
know nothing of windows: there are no seams. Pixels without data take no part.

What was written is read back before it counts: GDAL writes the last part of a file when it is
closed, and rasterio does not say whether that went well.
"""

from __future__ import annotations

import warnings
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from meanshiftpp._support.extras import need
from meanshiftpp._support.files import check_readable
from meanshiftpp.core.chunk import Chunk
from meanshiftpp.errors import InvalidInputError
from meanshiftpp.io.sources import LabelWriter, Source, position, rows_at_a_time

FORMATS = (".tif", ".tiff")
NO_LABEL = -1
_CACHE = 64  # MB that GDAL may keep of blocks it has read; its own default grows with the machine


class PixelChunk(Chunk):
    """The pixels of a window."""

    def where(self, row: int, column: int) -> str:
        """Say which pixel a value is of; pixels count from 1."""
        window = self.data
        place = row if self.kept is None else int(np.flatnonzero(self.kept)[row])
        y, x = divmod(place, window.width)
        line, across = window.row_off + y + 1, window.col_off + x + 1
        return f"{self.source}, pixel {across} of line {line}, {self.columns[column]}"


class RasterSource(Source):
    """The pixels of one GeoTIFF."""

    def __init__(self, paths: list[Path], columns: Sequence[str] | None) -> None:
        if len(paths) > 1:
            raise InvalidInputError(
                f"one raster at a time, got {len(paths)}; build a grid of each and merge them"
            )
        self.paths = paths
        check_readable(paths[0])
        rasterio = need("rasterio", "raster")
        with _reading(paths[0]), _quiet():
            self.raster = rasterio.open(paths[0])
        names = [name or f"band{j + 1}" for j, name in enumerate(self.raster.descriptions)]
        alpha = rasterio.enums.ColorInterp.alpha
        colours = [n for n, c in zip(names, self.raster.colorinterp, strict=True) if c != alpha]
        self.columns = tuple(columns or colours)
        self._bands = [position(name, names, paths[0]) + 1 for name in self.columns]
        self.rows = self.raster.width * self.raster.height
        types = [np.dtype(self.raster.dtypes[band - 1]) for band in self._bands]
        self._pixel_bytes = np.result_type(*types).itemsize * len(types)
        self.nbytes = self.rows * self._pixel_bytes
        flags = need("rasterio", "raster").enums.MaskFlags.all_valid
        self._complete = all(flags in self.raster.mask_flag_enums[b - 1] for b in self._bands)
        self._cut = self._window_size()
        self.unit = "windows of {} x {} pixels".format(*self._cut)

    def _window_size(self) -> tuple[int, int]:
        """Say how wide and high a group of blocks is that is about a chunk's size."""
        width, height = self.raster.width, self.raster.height
        tall, wide = self.raster.block_shapes[0]
        pixels = rows_at_a_time(self._pixel_bytes)
        across = min(max(pixels // (tall * wide), 1) * wide, width)
        down = max(pixels // across, 1)
        return across, min(down // tall * tall if down >= tall else down, height)

    def _windows(self) -> list[Any]:
        """Cut the image into groups of blocks."""
        window = need("rasterio.windows", "raster").Window
        (across, down), width, height = self._cut, self.raster.width, self.raster.height
        return [
            window(x, y, min(across, width - x), min(down, height - y))
            for y in range(0, height, down)
            for x in range(0, width, across)
        ]

    def _chunks(self, start: int, whole: bool) -> Iterator[Chunk]:
        path = self.paths[0]
        windows = self._windows()
        with need("rasterio", "raster").Env(GDAL_CACHEMAX=_CACHE):
            for number in range(start, len(windows)):
                with _reading(path):
                    values, kept = self._read(windows[number])
                points = values if kept is None else values[kept]
                place = {"data": windows[number], "end": number + 1}
                yield PixelChunk(points, None, str(path), 0, self.columns, kept, **place)

    def _start(self, share: float) -> int:
        return int(share * len(self._windows()))

    def _read(self, window: Any) -> tuple[NDArray[Any], NDArray[np.bool_] | None]:
        values = self.raster.read(self._bands, window=window)
        values = values.reshape(len(values), -1).T
        if self._complete:
            return values, None
        masks = self.raster.read_masks(self._bands, window=window)
        return values, (masks.min(axis=0) > 0).ravel()


class RasterLabels(LabelWriter):
    """Writes labels as a GeoTIFF in the place of the source; -1, its "no data", has no label."""

    def __init__(self, path: Path, source: RasterSource) -> None:
        self._path = path
        self._sums: list[tuple[Any, int]] = []  # each window that was written, and its checksum
        raster = source.raster
        tall, wide = raster.block_shapes[0]
        tiled = wide < raster.width and not (tall % 16 or wide % 16)
        layout = {"blockxsize": wide, "blockysize": tall} if tiled else {}
        with _writing(), _quiet():
            self._raster = need("rasterio", "raster").open(
                path,
                "w",
                driver="GTiff",
                width=raster.width,
                height=raster.height,
                count=1,
                dtype="int32",
                nodata=NO_LABEL,
                crs=raster.crs,
                transform=raster.transform,
                tiled=tiled,
                compress="deflate",
                bigtiff="if_safer",
                **layout,
            )
            gcps, crs = raster.gcps
            if gcps:
                self._raster.gcps = (gcps, crs)

    def write(self, chunk: Chunk, labels: NDArray[np.int32]) -> None:
        """Write the labels of a window."""
        if chunk.kept is not None:
            there = labels
            labels = np.full(len(chunk.kept), NO_LABEL, np.int32)
            labels[chunk.kept] = there
        self._sums.append((chunk.data, zlib.crc32(labels.data)))
        with _writing():
            window = chunk.data
            self._raster.write(labels.reshape(window.height, window.width), 1, window=window)

    def close(self) -> None:
        """Finish the file, and read it back: an error if what is there is not what was written."""
        with _writing(), _quiet():
            self._raster.close()
            if not self._is_there():
                raise OSError("what was written cannot be read back; is the disk full?")

    def _is_there(self) -> bool:
        try:
            with need("rasterio", "raster").open(self._path) as written:
                return all(zlib.crc32(written.read(1, window=w)) == s for w, s in self._sums)
        except _gdal_errors():
            return False


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep quiet about an image without a georeference: it is fine here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", need("rasterio.errors", "raster").NotGeoreferencedWarning)
        yield


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    try:
        yield
    except (*_gdal_errors(), OSError) as error:
        raise InvalidInputError(f"{str(path)!r} is no raster, or is damaged: {error}") from error


@contextmanager
def _writing() -> Iterator[None]:
    """Make one class of all errors in writing, which the rest knows."""
    try:
        yield
    except _gdal_errors() as error:
        raise OSError(str(error.__cause__ or error)) from error


def _gdal_errors() -> tuple[type[Exception], type[Exception]]:
    """Name the errors of rasterio, and those of GDAL that it lets through as they are."""
    rasterio = need("rasterio.errors", "raster").RasterioError
    return rasterio, need("rasterio._err", "raster").CPLE_BaseError
