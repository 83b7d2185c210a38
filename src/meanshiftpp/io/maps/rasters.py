"""Rasters: GeoTIFF files, read in windows through rasterio. A pixel is a point, a band a feature.

A window consists of whole blocks of the file. All windows share one grid, so the labels have no
seams between windows. Pixels without data, and those with NaN, are not points.

The labels are read back after writing: GDAL writes the last part of a file when it is closed, and
rasterio does not report errors at that time.
"""

from __future__ import annotations

import warnings
import zlib
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from meanshiftpp._support.extras import need
from meanshiftpp._support.warnings import warn_user
from meanshiftpp.core.chunk import Chunk
from meanshiftpp.errors import InvalidInputError
from meanshiftpp.images.no_data import SAMPLE, undeclared_no_data
from meanshiftpp.images.picture import PictureWarning
from meanshiftpp.io.rows import NO_LABEL
from meanshiftpp.io.sources import (
    LabelWriter,
    Source,
    find_columns,
    raising_os_errors,
    reporting_damage,
    rows_per_chunk,
)

FORMATS = (".tif", ".tiff")
CACHE_MB = 64  # of blocks that GDAL keeps; its default grows with the memory of the machine
_WINDOWS_EXAMINED = 4  # for values that may be "no data"


class PixelChunk(Chunk):
    """The pixels of a window."""

    def place(self, row: int, column: int) -> str:
        """Return the place of a value in its image; pixels and lines count from 1."""
        window = self.data
        pixel = row if self.mask is None else int(np.flatnonzero(self.mask)[row])
        y, x = divmod(pixel, window.width)
        line, across = window.row_off + y + 1, window.col_off + x + 1
        return f"{self.source}, pixel {across} of line {line}, {self.columns[column]}"


class RasterSource(Source):
    """The pixels of one GeoTIFF."""

    def __init__(self, paths: list[Path], columns: Sequence[str] | None) -> None:
        if len(paths) > 1:
            raise InvalidInputError(
                f"expected one raster, got {len(paths)}; build a grid of each and merge the grids"
            )
        super().__init__(paths)
        rasterio = need("rasterio", "raster")
        with reading_raster(paths[0]), allowing_no_georeference():
            # Other drivers can read any file or address that a file names.
            self.raster = rasterio.open(paths[0], driver="GTiff")
        names = [name or f"band{j + 1}" for j, name in enumerate(self.raster.descriptions)]
        alpha = rasterio.enums.ColorInterp.alpha
        colours = [n for n, c in zip(names, self.raster.colorinterp, strict=True) if c != alpha]
        self.columns = tuple(columns or colours)
        self._bands = [j + 1 for j in find_columns(self.columns, names, paths[0])]
        self.rows = self.raster.width * self.raster.height
        types = [np.dtype(self.raster.dtypes[band - 1]) for band in self._bands]
        self._pixel_bytes = np.result_type(*types).itemsize * len(types)
        self.nbytes = self.rows * self._pixel_bytes
        all_valid = rasterio.enums.MaskFlags.all_valid
        flags = self.raster.mask_flag_enums
        self._is_complete = all(all_valid in flags[band - 1] for band in self._bands)
        self._window_size = self._choose_window_size()
        self.unit = "windows of {} x {} pixels".format(*self._window_size)

    def _choose_window_size(self) -> tuple[int, int]:
        """Return the width and height of a group of blocks of about the size of a chunk."""
        width, height = self.raster.width, self.raster.height
        tall, wide = self.raster.block_shapes[0]
        pixels = rows_per_chunk(self._pixel_bytes)
        across = min(max(pixels // (tall * wide), 1) * wide, width)
        down = max(pixels // across, 1)
        return across, min(down // tall * tall if down >= tall else down, height)

    def _windows(self) -> list[Any]:
        """Split the image into windows."""
        window = need("rasterio.windows", "raster").Window
        (across, down), width, height = self._window_size, self.raster.width, self.raster.height
        return [
            window(x, y, min(across, width - x), min(down, height - y))
            for y in range(0, height, down)
            for x in range(0, width, across)
        ]

    def _chunks(self, start: int, whole: bool) -> Iterator[Chunk]:
        path = self.paths[0]
        windows = self._windows()
        with need("rasterio", "raster").Env(GDAL_CACHEMAX=CACHE_MB):
            for number in range(start, len(windows)):
                with reading_raster(path):
                    values, mask = self.read_window(windows[number])
                points = values if mask is None else values[mask]
                yield PixelChunk(
                    points,
                    source=str(path),
                    columns=self._columns_read,
                    mask=mask,
                    data=windows[number],
                    end=number + 1,
                )

    def _types_of(self, columns: Sequence[str]) -> dict[str, np.dtype[Any]]:
        types = {np.dtype(self.raster.dtypes[band - 1]) for band in self._bands}
        return dict.fromkeys(columns, np.result_type(*types))  # a GeoTIFF has one type

    def _position_at(self, share: float) -> int:
        return int(share * len(self._windows()))

    def read_window(self, window: Any) -> tuple[NDArray[Any], NDArray[np.bool_] | None]:
        """Return all pixels of a window and which of them have data; None if all have.

        NaN means "no data", also in a file that does not declare it.
        """
        values = self.raster.read(self._bands, window=window)
        values = values.reshape(len(values), -1).T
        mask: NDArray[np.bool_] | None = None
        if values.dtype.kind == "f" and not (known := ~np.isnan(values).any(axis=1)).all():
            mask = known
        if self._is_complete:
            return values, mask
        masks = (self.raster.read_masks(self._bands, window=window).min(axis=0) > 0).ravel()
        return values, masks if mask is None else masks & mask

    def warn_of_no_data(self) -> None:
        """Warn of a value that may be "no data" although the file does not declare it."""
        path, windows, parts = self.paths[0], self._windows(), []
        for window in windows[:: -(-len(windows) // _WINDOWS_EXAMINED)]:
            with reading_raster(path):
                values, mask = self.read_window(window)
            values = values if mask is None else values[mask]
            parts.append(values[:: max(_WINDOWS_EXAMINED * len(values) // SAMPLE, 1)])
        if text := undeclared_no_data(path, np.concatenate(parts)):
            warn_user(PictureWarning(text))

    def no_points(self) -> InvalidInputError:
        """Return the error of a raster without data."""
        if self.missing != "error" or self.where is not None:
            return super().no_points()
        problem = "has no pixel with data, so there is nothing to cluster"
        return InvalidInputError.for_file(self.paths[0], problem)


class RasterLabels(LabelWriter):
    """A writer of labels to a GeoTIFF with the georeference of the source; -1 means "no data"."""

    def __init__(self, path: Path, source: RasterSource) -> None:
        self._path = path
        self._checksums: list[tuple[Any, int]] = []  # of each window that was written
        raster = source.raster
        tall, wide = raster.block_shapes[0]
        tiled = wide < raster.width and not (tall % 16 or wide % 16)
        layout = {"blockxsize": wide, "blockysize": tall} if tiled else {}
        with _writing(), allowing_no_georeference():
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
        if chunk.mask is not None:
            point_labels = labels
            labels = np.full(len(chunk.mask), NO_LABEL, np.int32)
            labels[chunk.mask] = point_labels
        self._checksums.append((chunk.data, zlib.crc32(labels.data)))
        with _writing():
            window = chunk.data
            self._raster.write(labels.reshape(window.height, window.width), 1, window=window)

    def close(self) -> None:
        """Finish the file, and raise an error if its content differs from the labels written."""
        with _writing(), allowing_no_georeference():
            self._raster.close()
            if not self._is_intact():
                raise OSError("the written labels cannot be read back; is the disk full?")

    def _is_intact(self) -> bool:
        try:
            with need("rasterio", "raster").open(self._path) as written:
                return all(
                    zlib.crc32(written.read(1, window=window)) == checksum
                    for window, checksum in self._checksums
                )
        except _gdal_errors():
            return False


@contextmanager
def allowing_no_georeference() -> Iterator[None]:
    """Silence rasterio's warning about images without a georeference."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", need("rasterio.errors", "raster").NotGeoreferencedWarning)
        yield


def reading_raster(path: Path) -> AbstractContextManager[None]:
    """Return a context in which errors of rasterio become InvalidInputError."""
    return reporting_damage(path, "raster", *_gdal_errors(), OSError)


def _writing() -> AbstractContextManager[None]:
    return raising_os_errors(*_gdal_errors())


def _gdal_errors() -> tuple[type[Exception], type[Exception]]:
    """Return the base exceptions of rasterio and of GDAL, which rasterio does not always wrap."""
    rasterio = need("rasterio.errors", "raster").RasterioError
    return rasterio, need("rasterio._err", "raster").CPLE_BaseError
