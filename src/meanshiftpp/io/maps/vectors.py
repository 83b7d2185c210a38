"""Write features, geometries with columns, to GeoPackage and GeoJSON files.

Geometries are shapely's. A GeoPackage is written through GDAL, by pyogrio, in batches. A GeoJSON
file is text and is written directly. Its coordinates are longitude and latitude unless the member
`crs` names another reference system, which GDAL, QGIS and GeoPandas read.
"""

from __future__ import annotations

import json
import os
import shutil
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from meanshiftpp._support.extras import need
from meanshiftpp._support.files import atomic_path, known_suffix, scratch_folder
from meanshiftpp._support.warnings import warn_user
from meanshiftpp.errors import InvalidInputError
from meanshiftpp.io.sources import raising_os_errors

FORMATS = (".gpkg", ".geojson")
BATCH = 4096  # features that are written at once


class MapWarning(UserWarning):
    """A warning about the reference system of a map."""


@dataclass(frozen=True)
class Features:
    """Geometries and their columns."""

    geometries: NDArray[Any]
    columns: Mapping[str, NDArray[Any]]

    def __len__(self) -> int:
        return len(self.geometries)


def write_features(
    path: str | os.PathLike[str], batches: Iterable[Features], *, kind: str, crs: Any = None
) -> int:
    """Write features and return their number.

    Parameters
    ----------
    path : path
        A .gpkg or .geojson file. A partially written file never has this name.
    batches : iterable of Features
        At least one batch, all with the same columns.
    kind : {"Point", "Polygon"}
        The type of all geometries.
    crs : rasterio.crs.CRS, optional
        The reference system.
    """
    _check_format(path, crs)
    write = _write_geojson if known_suffix(path, FORMATS) == ".geojson" else _write_geopackage
    with atomic_path(path) as target, _writing():
        return write(target, Path(path).stem, batches, kind, crs)


def check_vectors(path: str | os.PathLike[str], crs: Any = None) -> None:
    """Check before a long computation that features can be written in a reference system.

    It warns about an unknown reference system, which `write_features` does not repeat.
    """
    _check_format(path, crs)
    if crs is None and known_suffix(path, FORMATS) == ".geojson":
        warn_user(
            MapWarning(
                f"{str(path)!r}: the reference system is unknown, and programs read a .geojson as "
                "longitude and latitude; write a .gpkg to leave it open"
            )
        )


def _check_format(path: str | os.PathLike[str], crs: Any) -> None:
    """Raise if features cannot be written in a reference system."""
    suffix = known_suffix(path, FORMATS)
    need("shapely", "maps")
    if suffix == ".gpkg":
        need("pyogrio", "maps")
    elif crs is not None and _epsg(crs) is None:
        raise InvalidInputError.for_file(
            path,
            "cannot name the reference system, which has no EPSG code; write a .gpkg",
        )


def _write_geopackage(
    target: Path, layer: str, batches: Iterable[Features], kind: str, crs: Any
) -> int:
    shapely, pyogrio = need("shapely", "maps"), need("pyogrio", "maps")
    n = 0
    with scratch_folder(target) as folder:  # GDAL deletes the empty file, and its lock with it
        file = folder / "features.gpkg"
        for batch in batches:
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", "'crs' was not provided")
                pyogrio.raw.write(
                    str(file),
                    shapely.to_wkb(batch.geometries),
                    list(batch.columns.values()),
                    list(batch.columns),
                    layer=layer,
                    driver="GPKG",
                    geometry_type=kind,
                    crs=None if crs is None else crs.to_wkt(),
                    append=file.exists(),
                )
            n += len(batch)
        shutil.copyfile(file, target)  # keeps the owner and mode of the target
    return n


def _write_geojson(
    target: Path, layer: str, batches: Iterable[Features], kind: str, crs: Any
) -> int:
    shapely = need("shapely", "maps")
    head: dict[str, Any] = {"type": "FeatureCollection", "name": layer}
    if crs is not None and (code := _epsg(crs)) != 4326:
        head["crs"] = {"type": "name", "properties": {"name": f"urn:ogc:def:crs:EPSG::{code}"}}
    n = 0
    with target.open("w", encoding="utf-8") as file:
        file.write(json.dumps(head)[:-1] + ', "features": [')
        for batch in batches:
            geometries = shapely.to_geojson(batch.geometries)
            columns = [column.tolist() for column in batch.columns.values()]
            for geometry, *values in zip(geometries, *columns, strict=True):
                properties = json.dumps(dict(zip(batch.columns, values, strict=True)))
                file.write(",\n" if n else "\n")
                file.write(
                    f'{{"type": "Feature", "properties": {properties}, "geometry": {geometry}}}'
                )
                n += 1
        file.write("\n]}\n")
    return n


def _epsg(crs: Any) -> int | None:
    code = crs.to_epsg()
    return None if code is None else int(code)


@contextmanager
def _writing() -> Iterator[None]:
    """Turn the errors of GDAL into OSError; pyogrio raises subclasses of RuntimeError."""
    with raising_os_errors(RuntimeError):
        yield
