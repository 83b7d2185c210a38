"""Clusters as features of a map: their centres, or the convex hulls of their points."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from meanshiftpp._support.columns import unique_names
from meanshiftpp._support.extras import need
from meanshiftpp.errors import InvalidInputError
from meanshiftpp.io.maps.ground import square_units
from meanshiftpp.io.maps.positions import Position, find_position, reference_system
from meanshiftpp.io.maps.vectors import Features, check_vectors, write_features
from meanshiftpp.io.sources import LabelPoints, Source


@dataclass(frozen=True)
class ClusterMap:
    """A file of clusters on a map.

    Attributes
    ----------
    path : Path
        The .gpkg or .geojson file.
    source : Source
        The points.
    position : Position
        The features that are coordinates.
    crs : rasterio.crs.CRS or None
        Their reference system.
    """

    path: Path
    source: Source
    position: Position
    crs: Any

    @classmethod
    def checked(cls, path: Path, source: Source, *, geographic: bool = False) -> ClusterMap:
        """Check before a long computation that the clusters have a place on a map.

        Coordinates are longitude and latitude if their names tell so, or if `geographic`.
        """
        position = find_position(source.columns)
        if position is None:
            raise InvalidInputError(
                f"expected two columns of coordinates for {str(path)!r}, such as x,y or "
                f"longitude,latitude; got {', '.join(source.columns)}",
            )
        position = replace(position, is_geographic=geographic or position.is_geographic)
        crs = reference_system(source, position)
        check_vectors(path, crs)
        return cls(path, source, position, crs)

    def write_centers(self, centers: NDArray[np.float64], sizes: Sequence[float]) -> int:
        """Write a point for each cluster."""
        columns = self._columns(centers, sizes)
        x, y = centers[:, self.position.x], centers[:, self.position.y]
        points = need("shapely", "maps").points(self._signed(x), y)
        return self._write("Point", points, columns)

    def write_hulls(
        self, centers: NDArray[np.float64], sizes: Sequence[float], label: LabelPoints
    ) -> int:
        """Write the convex hull of each cluster's points; return how many have one.

        A cluster whose points are all on one line has none. `label` returns the labels of points;
        they are read once more, in chunks.
        """
        shapely = need("shapely", "maps")
        hulls = np.full(len(centers), None, object)
        with closing(self.source.chunks()) as chunks:
            for chunk in chunks:
                if len(chunk):
                    self._grow(hulls, centers, chunk.points, label(chunk.points))
        has_area = shapely.area(hulls) > 0
        columns = self._columns(centers, sizes)
        area = unique_names(["area"], columns)[0]
        columns = {**columns, area: self._areas(hulls)}
        columns = {name: values[has_area] for name, values in columns.items()}
        return self._write("Polygon", shapely.orient_polygons(hulls[has_area]), columns)

    def _grow(
        self,
        hulls: NDArray[Any],
        centers: NDArray[np.float64],
        points: NDArray[Any],
        labels: NDArray[np.int32],
    ) -> None:
        """Extend the hulls by more points."""
        shapely = need("shapely", "maps")
        order = np.argsort(labels, kind="stable")
        order = order[labels[order] >= 0]
        found, indices = np.unique(labels[order], return_inverse=True)
        at = points[order][:, [self.position.x, self.position.y]].astype(np.float64)
        if self.position.is_geographic:  # clusters may span the date line
            middle = self._signed(centers[labels[order], self.position.x])
            at[:, 0] = middle + self._signed(at[:, 0] - middle)
        new = shapely.multipoints(at, indices=indices)
        both = np.stack([hulls[found], shapely.convex_hull(new)], axis=1)
        hulls[found] = shapely.convex_hull(shapely.geometrycollections(both))

    def _columns(
        self, centers: NDArray[np.float64], sizes: Sequence[float]
    ) -> dict[str, NDArray[Any]]:
        """Return label, size and centre of the clusters."""
        columns: dict[str, NDArray[Any]] = {
            "label": np.arange(len(centers), dtype=np.int32),
            "size": np.asarray(sizes, np.float64 if _has_fractions(sizes) else np.int64),
        }
        values = centers.copy()
        values[:, self.position.x] = self._signed(values[:, self.position.x])
        names = unique_names(self.source.columns, columns)
        return columns | {name: values[:, j].copy() for j, name in enumerate(names)}

    def _signed(self, longitude: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return longitudes from -180 to 180; other coordinates unchanged."""
        if not self.position.is_geographic:
            return longitude
        return np.asarray((longitude + 180) % 360 - 180)

    def _areas(self, hulls: NDArray[Any]) -> NDArray[np.float64]:
        """Return areas in square metres, or in squared units without a reference system."""
        shapely = need("shapely", "maps")
        latitude = shapely.get_y(shapely.centroid(hulls))
        return np.asarray(shapely.area(hulls) * square_units(self.crs, latitude))

    def _write(self, kind: str, geometries: NDArray[Any], columns: dict[str, NDArray[Any]]) -> int:
        features = Features(geometries, columns)
        return write_features(self.path, [features], kind=kind, crs=self.crs)


def _has_fractions(sizes: Sequence[float]) -> bool:
    return any(float(size) != int(size) for size in sizes)
