"""A raster as a scene: its pixels in windows, and the polygons of its labels."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from meanshiftpp._support.columns import unique_names
from meanshiftpp._support.extras import need
from meanshiftpp.errors import InvalidInputError
from meanshiftpp.io.maps.ground import Ground
from meanshiftpp.io.maps.polygons import STRIPE_PIXELS, Piece, Stripe, trace
from meanshiftpp.io.maps.rasters import RasterSource, reading_raster
from meanshiftpp.io.maps.vectors import BATCH, Features, check_vectors, write_features

WindowLabels = Callable[[Any], NDArray[np.int32]]  # of the pixels in a window; negative for none


class Scene:
    """The pixels of a raster in windows, and its place on the ground.

    Attributes
    ----------
    source : RasterSource
        The raster.
    ground : Ground
        Its reference system and transform.
    shape : tuple of int
        Height and width.
    """

    def __init__(self, source: RasterSource) -> None:
        self.source, raster = source, source.raster
        if raster.gcps[0] and raster.transform.is_identity:
            raise InvalidInputError.for_file(
                source.paths[0],
                "is placed by ground control points, which polygons cannot follow; "
                "transform it first, such as with gdalwarp",
            )
        self.ground = Ground(raster.crs, raster.transform)
        self.shape = (int(raster.height), int(raster.width))

    def pixels(self, metres: float) -> float:
        """Return a length in the middle of the scene in sides of pixels."""
        crs, (height, width) = self.ground.crs, self.shape
        if crs is None or not (crs.is_projected or crs.is_geographic):
            raise InvalidInputError.for_file(
                self.source.paths[0],
                "has no reference system, so a length in metres is unknown; give it in pixels",
            )
        areas = self.ground.pixel_areas(height // 2, (1, width))
        return metres / math.sqrt(float(np.median(areas)))

    def window(self, rows: tuple[int, int], columns: tuple[int, int]) -> Any:
        """Return the window of a range of rows and a range of columns."""
        window = need("rasterio.windows", "maps").Window
        return window(columns[0], rows[0], columns[1] - columns[0], rows[1] - rows[0])

    def read(self, window: Any) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        """Return the bands of a window, with channels last, and where all have data."""
        with reading_raster(self.source.paths[0]):
            values, mask = self.source.read_window(window)
        inside = np.ones(len(values), bool) if mask is None else mask
        if values.dtype.kind == "f":
            inside = inside & np.isfinite(values).all(axis=1)
        values = values[:, : len(self.source.columns)]  # without columns of conditions and weights
        shape = (window.height, window.width)
        return values.reshape(*shape, -1), inside.reshape(shape)

    def stripes(self) -> Iterator[Any]:
        """Yield windows of whole rows that cover the scene."""
        height, width = self.shape
        step = max(STRIPE_PIXELS // width, 1)
        for row in range(0, height, step):
            yield self.window((row, min(row + step, height)), (0, width))


def write_polygons(path: Path, scene: Scene, labels: WindowLabels) -> int:
    """Write a polygon for each connected piece of a label, and return their number.

    The columns are `label`, `area` and the mean of each band, `mean_` and its name. The area is in
    square metres if the scene has a reference system.
    """
    pieces = trace(_labelled_stripes(scene, labels))
    names = unique_names(f"mean_{name}" for name in scene.source.columns)
    batches = _features(pieces, names, scene.ground)
    return write_features(path, batches, kind="Polygon", crs=scene.ground.crs)


def check_polygons(path: Path, scene: Scene) -> None:
    """Check before a long computation that polygons of a scene can be written."""
    need("rasterio", "maps")
    check_vectors(path, scene.ground.crs)


def _labelled_stripes(scene: Scene, labels: WindowLabels) -> Iterator[Stripe]:
    for window in scene.stripes():
        values, inside = scene.read(window)
        areas = scene.ground.pixel_areas(window.row_off, inside.shape)
        yield Stripe(np.where(inside, labels(window), np.int32(-1)), values, areas)


def _features(pieces: Iterator[Piece], names: list[str], ground: Ground) -> Iterator[Features]:
    """Yield batches of polygons with their columns; an empty one if there are no pieces."""
    shapely = need("shapely", "maps")
    written = False
    while (batch := list(islice(pieces, BATCH))) or not written:
        written = True
        outlines = np.array([piece.polygon for piece in batch], object)
        outlines = shapely.transform(outlines, ground.coordinates)
        means = np.array([piece.means for piece in batch]).reshape(len(batch), len(names))
        yield Features(
            shapely.orient_polygons(outlines),
            {
                "label": np.array([piece.label for piece in batch], np.int32),
                "area": np.array([piece.area for piece in batch], np.float64),
                **dict(zip(names, means.T.copy(), strict=True)),
            },
        )
