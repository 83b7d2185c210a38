"""Longitude and latitude, with a bandwidth in metres.

Two ways, for two sizes of data:

- **A region**: keep the columns in degrees and give each its own bandwidth, `degrees` of the same
  number of metres at a latitude in the middle, and the longitude its period, `PERIODIC`. Exact at
  that latitude; elsewhere a cell is as much wider or narrower from west to east as the cosine
  of the latitude: 4% for a degree to the north at 65 degrees, 2% at 45.
- **The whole globe**: `to_xyz` puts the points where they are in space, three columns in metres,
  with the same bandwidth everywhere, no date line and no poles; `to_lonlat` brings centres back.
  A window is then a cube of three bandwidths. How much of the surface it cuts out depends on
  how the surface lies in it, from 9 to 12.7 squared bandwidths; straight distances through
  the Earth stand for those along it, which differ by 1% at 3,100 km.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from meanshiftpp.errors import InvalidInputError

__all__ = ["EARTH_RADIUS", "PERIODIC", "degrees", "signed", "to_lonlat", "to_xyz"]

EARTH_RADIUS = 6_371_008.8
"""Mean radius of the Earth in metres; taken as a ball, distances are right to 0.6%."""

PERIODIC = (360.0, None)
"""The `periodic` of a table with the columns longitude and latitude, in degrees."""


def degrees(metres: float, latitude: float) -> NDArray[np.float64]:
    """Give the bandwidths of longitude and latitude that are so many metres at a latitude.

    Parameters
    ----------
    metres : float
        The bandwidth on the ground.
    latitude : float
        Where, in degrees: the middle of the data.

    Returns
    -------
    ndarray of shape (2,)
        For a longitude and a latitude in degrees, in this order.

    Examples
    --------
    Two harbours, one of them on both sides of the date line:

    >>> from meanshiftpp import MeanShiftPP, geo
    >>> ships = [[179.9, -17.0], [-179.9, -17.1], [180.1, -17.0], [178.4, -18.1], [178.5, -18.2]]
    >>> model = MeanShiftPP(geo.degrees(30_000, latitude=-17.5), periodic=geo.PERIODIC).fit(ships)
    >>> model.labels_
    array([0, 0, 0, 1, 1], dtype=int32)
    >>> geo.signed(model.cluster_centers_).round(2)
    array([[-179.97,  -17.03],
           [ 178.45,  -18.15]])
    """
    if not (np.isfinite(metres) and metres > 0):
        raise InvalidInputError(f"a bandwidth in metres must be positive and finite, got {metres}")
    if not -90 <= latitude <= 90:
        raise InvalidInputError(f"a latitude must be from -90 to 90 degrees, got {latitude}")
    north = float(np.degrees(metres / EARTH_RADIUS))
    parallel = float(np.cos(np.radians(latitude)))  # its length, in equators
    if north > 120 * parallel:
        raise InvalidInputError(
            f"at the latitude {latitude} the whole parallel is shorter than three times {metres:g} "
            "metres; use to_xyz near the poles"
        )
    return np.array([north / parallel, north])


def signed(lonlat: ArrayLike) -> NDArray[np.float64]:
    """Write longitudes from 0 to 360 as from -180 to 180, west being negative.

    Parameters
    ----------
    lonlat : array-like of shape (n, 2)
        Longitude and latitude in degrees.

    Returns
    -------
    ndarray of shape (n, 2)
        The same places.

    Examples
    --------
    >>> from meanshiftpp import geo
    >>> geo.signed([[270.0, 5.0], [10.0, 5.0]])
    array([[-90.,   5.],
           [ 10.,   5.]])
    """
    places = _columns(lonlat, 2, "longitude and latitude").copy()
    places[:, 0] = (places[:, 0] + 180) % 360 - 180
    return places


def to_xyz(lonlat: ArrayLike) -> NDArray[np.float64]:
    """Put places on the globe into space.

    Parameters
    ----------
    lonlat : array-like of shape (n, 2)
        Longitude and latitude in degrees.

    Returns
    -------
    ndarray of shape (n, 3)
        Metres from the centre of the Earth: towards longitude 0 on the equator, longitude 90 on the
        equator, and the north pole.

    Examples
    --------
    Stations around the north pole, and one far away:

    >>> from meanshiftpp import MeanShiftPP, geo
    >>> stations = [[0.0, 89.5], [120.0, 89.6], [-110.0, 89.4], [15.0, 78.2]]
    >>> model = MeanShiftPP(bandwidth=100_000).fit(geo.to_xyz(stations))
    >>> model.labels_
    array([0, 0, 0, 1], dtype=int32)
    >>> geo.to_lonlat(model.cluster_centers_).round(1)[1]
    array([15. , 78.2])
    """
    places = _columns(lonlat, 2, "longitude and latitude")
    if (bad := np.flatnonzero(~(np.abs(places[:, 1]) <= 90))).size:
        raise InvalidInputError(
            f"a latitude must be from -90 to 90 degrees, got {places[bad[0], 1]} in row {bad[0]}; "
            "columns are longitude, latitude"
        )
    lon, lat = np.radians(places).T
    around = np.cos(lat)
    return EARTH_RADIUS * np.column_stack([around * np.cos(lon), around * np.sin(lon), np.sin(lat)])


def to_lonlat(xyz: ArrayLike) -> NDArray[np.float64]:
    """Bring places in space down (or up) to the globe; the inverse of `to_xyz`.

    Parameters
    ----------
    xyz : array-like of shape (n, 3)
        Metres from the centre of the Earth, at any height.

    Returns
    -------
    ndarray of shape (n, 2)
        Longitude from -180 to 180 and latitude, in degrees.

    Examples
    --------
    >>> from meanshiftpp import geo
    >>> geo.to_lonlat(geo.to_xyz([[-70.5, 19.25]])).round(9)
    array([[-70.5 ,  19.25]])
    """
    x, y, z = _columns(xyz, 3, "x, y and z").T
    radians = np.column_stack([np.arctan2(y, x), np.arctan2(z, np.hypot(x, y))])
    return np.asarray(np.degrees(radians), np.float64)


def _columns(table: ArrayLike, n: int, what: str) -> NDArray[np.float64]:
    values = np.asarray(table, np.float64)
    if values.ndim != 2 or values.shape[1] != n:
        raise InvalidInputError(f"expected {n} columns, {what}; got shape {values.shape}")
    return values
