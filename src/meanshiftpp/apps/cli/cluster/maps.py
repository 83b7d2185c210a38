"""Clusters on a map: the .gpkg and .geojson files of `meanshiftpp cluster`.

Clusters of points become their centres or hulls, those of pixels become polygons.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from meanshiftpp._support.extras import need
from meanshiftpp._support.files import check_no_overwrite, check_writable, scratch_folder
from meanshiftpp._support.text import pluralize
from meanshiftpp.apps.cli.cluster.summary import Summary
from meanshiftpp.apps.cli.shared.console import print_stderr
from meanshiftpp.errors import InvalidInputError
from meanshiftpp.io.label_files import Labels, write_labels
from meanshiftpp.io.maps.hulls import ClusterMap
from meanshiftpp.io.maps.rasters import RasterSource
from meanshiftpp.io.maps.scenes import Scene, check_polygons, write_polygons
from meanshiftpp.io.sources import LabelPoints, Source


class MapOutput:
    """A map of the clusters of a source; making one checks that it can be written.

    `geographic`: whether two columns are longitude and latitude whatever their names.
    """

    def __init__(self, path: Path, source: Source, *, hulls: bool, geographic: bool) -> None:
        check_writable(path)
        check_no_overwrite([path], source.paths)
        self.path, self._hulls = path, hulls
        self._scene = Scene(source) if isinstance(source, RasterSource) else None
        if self._scene is None:
            self._clusters = ClusterMap.checked(path, source, geographic=geographic)
            if not (self._clusters.position.by_name or geographic):
                print_stderr(f"{', '.join(source.columns)} are taken as x, y")
            return
        check_polygons(path, self._scene)
        if hulls:
            raise InvalidInputError(
                "--hulls draws the clusters of points; those of a raster are polygons without it"
            )

    def write(self, summary: Summary, labels: Labels, label: LabelPoints) -> str:
        """Write the map, and return the number of its features in words."""
        if self._scene is not None:
            return pluralize(self._write_polygons(self._scene, labels), "polygon")
        centers = np.asarray(summary.centers, np.float64)
        centers = centers.reshape(summary.clusters, len(summary.columns))
        if not self._hulls:
            return pluralize(self._clusters.write_centers(centers, summary.sizes), "point")
        n = self._clusters.write_hulls(centers, summary.sizes, label)
        if n < summary.clusters:
            missing = pluralize(summary.clusters - n, "cluster")
            print_stderr(f"{missing} without a hull, because the points lie on one line")
        return pluralize(n, "hull")

    def _write_polygons(self, scene: Scene, labels: Labels) -> int:
        rasterio = need("rasterio", "maps")
        with scratch_folder(self.path) as folder:
            file = folder / "labels.tif"
            write_labels(file, scene.source, labels)
            with rasterio.open(file) as raster:
                return write_polygons(self.path, scene, lambda at: raster.read(1, window=at))
