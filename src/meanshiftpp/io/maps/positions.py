"""The columns that are a position on a map, and their reference system."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from meanshiftpp._support.extras import need
from meanshiftpp.io.clouds.source import CloudSource
from meanshiftpp.io.sources import Source

# A name, or a part of a name between other characters: pickup_longitude, start.lng, GPS Lat.
_LONGITUDE = re.compile(r"(?:.*[^a-z])?(?:lon|lng|long|longitude)(?:[^a-z].*)?", re.IGNORECASE)
_LATITUDE = re.compile(r"(?:.*[^a-z])?(?:lat|latitude)(?:[^a-z].*)?", re.IGNORECASE)
_PLANE = (("x", "y"), ("easting", "northing"), ("east", "north"))
_WGS_84 = 4326
_PROJECTED, _GEOGRAPHIC, _USER_DEFINED = 3072, 2048, 32767  # keys of GeoTIFF, and a value


@dataclass(frozen=True)
class Position:
    """The indices of two columns, from west to east and from south to north."""

    x: int
    y: int
    is_geographic: bool  # longitude and latitude, by their names
    by_name: bool = True  # not by their order


def find_position(columns: Sequence[str]) -> Position | None:
    """Return the columns that are a position: by name, or the only two; None if there are none.

    Examples
    --------
    >>> from meanshiftpp.io.maps.positions import find_position
    >>> find_position(["fare", "pickup_latitude", "pickup_longitude"])
    Position(x=2, y=1, is_geographic=True, by_name=True)
    >>> find_position(["x", "y", "z"])
    Position(x=0, y=1, is_geographic=False, by_name=True)
    """
    east = [j for j, name in enumerate(columns) if _LONGITUDE.fullmatch(name)]
    north = [j for j, name in enumerate(columns) if _LATITUDE.fullmatch(name)]
    if len(east) == len(north) == 1:
        return Position(east[0], north[0], is_geographic=True)
    names = [name.lower() for name in columns]
    for x, y in _PLANE:
        if names.count(x) == names.count(y) == 1:
            return Position(names.index(x), names.index(y), is_geographic=False)
    return Position(0, 1, is_geographic=False, by_name=False) if len(columns) == 2 else None


def reference_system(source: Source, position: Position) -> Any:
    """Return the reference system of points, a rasterio.crs.CRS, or None if it is unknown."""
    if isinstance(source, CloudSource):
        return _cloud_reference(source.headers[0])
    crs = need("rasterio.crs", "maps").CRS
    return crs.from_epsg(_WGS_84) if position.is_geographic else None


def _cloud_reference(header: Any) -> Any:
    crs = need("rasterio.crs", "maps").CRS
    keys: dict[int, int] = {}
    try:
        for record in header.vlrs:
            if text := getattr(record, "string", None):  # well-known text
                return crs.from_wkt(text)
            keys |= {key.id: key.value_offset for key in getattr(record, "geo_keys", None) or ()}
        code = keys.get(_PROJECTED) or keys.get(_GEOGRAPHIC)
        return crs.from_epsg(code) if code and code != _USER_DEFINED else None
    except need("rasterio.errors", "maps").CRSError:  # a code or a text that GDAL does not know
        return None
