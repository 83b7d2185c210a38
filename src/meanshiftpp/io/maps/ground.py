"""The place of a raster on the ground: from pixels to coordinates, and the area of pixels."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

_EQUATOR = 6_378_137.0  # equatorial radius of WGS 84 in metres
_FLATTENING = 1 / 298.257223563
_E2 = _FLATTENING * (2 - _FLATTENING)  # squared eccentricity


@dataclass(frozen=True)
class Ground:
    """The reference system and the transform of a raster.

    Attributes
    ----------
    crs : rasterio.crs.CRS or None
        The reference system.
    transform : affine.Affine
        From columns and rows to coordinates.
    """

    crs: Any
    transform: Any

    def coordinates(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Convert columns and rows, an array of shape (n, 2), to coordinates.

        The result for a corner depends on the corner alone, so neighbours share their borders.
        """
        t, (column, row) = self.transform, points.T
        x, y = t.a * column + t.b * row + t.c, t.d * column + t.e * row + t.f
        return np.stack([x, y], axis=1)

    def pixel_areas(self, first_row: int, shape: tuple[int, int]) -> NDArray[np.float64]:
        """Return the areas of pixels, as an array that broadcasts to `shape`.

        They are square metres; in longitude and latitude, on the ellipsoid of WGS 84. Without a
        reference system, they are in squared units of the coordinates.
        """
        t = self.transform
        size = abs(t.a * t.e - t.b * t.d)
        if self.crs is None or not self.crs.is_geographic:
            return np.full((1, 1), size * square_units(self.crs))
        n_rows, n_columns = shape
        rows = first_row + 0.5 + np.arange(n_rows)[:, None]
        columns = 0.5 + (np.arange(n_columns)[None] if t.d else np.zeros((1, 1)))
        return np.asarray(size * square_units(self.crs, t.d * columns + t.e * rows + t.f))


def square_units(crs: Any, latitude: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
    """Return the square metres of a squared unit of the coordinates; 1 if the unit is unknown.

    In longitude and latitude, they depend on the `latitude`.
    """
    if crs is not None and crs.is_projected:
        return np.array(float(crs.linear_units_factor[1]) ** 2)
    if crs is not None and crs.is_geographic and latitude is not None:
        return _square_degree(latitude)
    return np.array(1.0)


def _square_degree(latitude: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the area of a square degree in square metres."""
    sine = np.sin(np.radians(latitude))
    radii = _EQUATOR**2 * (1 - _E2) / (1 - _E2 * sine**2) ** 2  # product of both radii of curvature
    area: NDArray[np.float64] = math.radians(1) ** 2 * radii * np.cos(np.radians(latitude))
    return np.abs(area)
