"""Scenes: regions and their polygons, whole and in tiles, in any place on Earth."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import geopandas
import numpy as np
import pytest
import rasterio
import shapely
from pyproj import Geod
from rasterio.features import rasterize

from meanshiftpp import segment
from meanshiftpp.errors import InvalidInputError
from meanshiftpp.io.maps.ground import Ground
from meanshiftpp.io.maps.rasters import RasterSource
from meanshiftpp.io.maps.scenes import Scene, write_polygons
from meanshiftpp.io.maps.tiles import RegionOptions, _label_file, scene_regions, tile_count

UTM = {"crs": "EPSG:32633", "transform": rasterio.Affine(10, 0, 500_000, 0, -10, 5_000_000)}
ROTATED = {"crs": "EPSG:32633", "transform": rasterio.Affine(8, 5, 5e5, 5, -8, 5e6)}
DEGREES = {"crs": "EPSG:4326", "transform": rasterio.Affine(0.01, 0, 12, 0, -0.01, 48)}


def bands(height: int = 90, width: int = 120, dtype: str = "uint16") -> np.ndarray:
    rng = np.random.default_rng(3)
    values = rng.normal(1000, 20, (4, height, width))
    values[1, :, width // 3 :] += 600
    values[2, height // 2 :, width // 2 :] += 800
    return values.round().astype(dtype)


def scene(path: Path, values: np.ndarray, **options: object) -> Scene:
    shape = {"count": len(values), "height": values.shape[1], "width": values.shape[2]}
    with rasterio.open(path, "w", "GTiff", dtype=values.dtype, **shape, **UTM | options) as file:
        file.write(values)
    return Scene(RasterSource([path], None))


def polygons(path: Path, place: Scene, **options: object) -> geopandas.GeoDataFrame:
    with scene_regions(place, RegionOptions(**options), path) as (labels, n):
        assert write_polygons(path, place, labels) >= n
    return geopandas.read_file(path)


@pytest.fixture
def small_tiles(monkeypatch):
    monkeypatch.setattr("meanshiftpp.io.maps.tiles.WHOLE_PIXELS", 1)
    monkeypatch.setattr("meanshiftpp.io.maps.tiles.TILE", 48)
    monkeypatch.setattr("meanshiftpp.io.maps.tiles.STRIP", 24)
    monkeypatch.setattr("meanshiftpp.io.maps.scenes.STRIPE_PIXELS", 1 << 10)


def test_polygons_are_the_regions_of_segment(tmp_path):
    values = bands()
    frame = polygons(tmp_path / "a.gpkg", scene(tmp_path / "a.tif", values))
    labels = segment(np.moveaxis(values, 0, -1), space=None, start_label=1)
    pairs = zip(frame.geometry, frame["label"])
    assert (rasterize(pairs, labels.shape, transform=UTM["transform"]) == labels).all()
    assert frame.is_valid.all()
    assert frame["label"].is_unique
    means = [values[1][labels == label].mean() for label in frame["label"]]
    assert frame["mean_band2"].to_numpy() == pytest.approx(means, rel=1e-12)
    assert frame["area"].tolist() == [100.0 * (labels == label).sum() for label in frame["label"]]
    assert frame.union_all().equals(shapely.box(500_000, 4_999_100, 501_200, 5_000_000))


@pytest.mark.parametrize("place", [UTM, ROTATED, DEGREES], ids=["utm", "rotated", "degrees"])
def test_a_scene_in_tiles_has_no_gaps_and_the_same_regions(tmp_path, small_tiles, place):
    values = bands()
    place = scene(tmp_path / "a.tif", values, **place)
    assert tile_count(place.shape) == 6
    frame = polygons(tmp_path / "a.gpkg", place)
    assert frame.crs == place.ground.crs
    assert frame.is_valid.all()
    corners = place.ground.coordinates(np.array([[0.0, 0], [120, 0], [120, 90], [0, 90]]))
    footprint = shapely.Polygon(corners)
    assert frame.union_all().symmetric_difference(footprint).area <= 1e-9 * footprint.area
    areas = shapely.area(frame.geometry.to_numpy())
    assert areas.sum() == pytest.approx(footprint.area, rel=1e-9)
    whole = segment(np.moveaxis(values, 0, -1), space=None, start_label=1)
    assert len(frame) == whole.max() == 3
    assert areas[np.argsort(frame["label"])] == pytest.approx(
        np.bincount(whole.ravel())[1:] * footprint.area / whole.size, rel=0.01
    )
    assert {each.name for each in tmp_path.iterdir()} == {"a.tif", "a.gpkg"}


def test_pixels_without_data_are_in_no_polygon(tmp_path, small_tiles):
    values = bands(dtype="float32")
    values[:, 20:60, 30:80] = np.nan
    values[2, :5] = -99
    values[0, 88, 3] = np.inf
    frame = polygons(tmp_path / "a.gpkg", scene(tmp_path / "a.tif", values, nodata=-99))
    inside = np.isfinite(values).all(axis=0) & (values[2] != -99)
    assert frame["area"].sum() == frame.area.sum() == 100 * inside.sum()


def test_the_memory_of_tiles_does_not_grow_with_the_scene(tmp_path, monkeypatch, small_tiles):
    monkeypatch.setattr("meanshiftpp.io.maps.tiles.SAMPLE", 1 << 12)
    monkeypatch.setattr("meanshiftpp.io.sources.MAX_ROWS", 1 << 12)
    peaks = []
    for height in (96, 384):
        place = scene(tmp_path / "a.tif", bands(height), tiled=True, blockxsize=48, blockysize=48)
        tracemalloc.start()
        polygons(tmp_path / "a.geojson", place)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 2 * peaks[0]


def test_options_reach_the_tiles(tmp_path, monkeypatch, small_tiles):
    monkeypatch.setattr("meanshiftpp.io.maps.tiles.CLOSE", -1)  # no regions are joined
    place = scene(tmp_path / "a.tif", bands())
    with scene_regions(place, RegionOptions(min_size=48**2), tmp_path / "a.gpkg") as (_, n):
        assert n == 6
    with scene_regions(place, RegionOptions(), tmp_path / "a.gpkg") as (_, n):
        assert n > 6
    expected = "regions must be left out for a scene of more than 1 pixels.*use detail"
    with (
        pytest.raises(InvalidInputError, match=expected),
        scene_regions(place, RegionOptions(regions=5), tmp_path / "a.gpkg"),
    ):
        pass


@pytest.mark.parametrize("value", [0, np.nan], ids=["no data", "NaN"])
@pytest.mark.parametrize("pixels", [1, 1 << 24], ids=["tiles", "whole"])
def test_a_scene_without_data(tmp_path, small_tiles, monkeypatch, value, pixels):
    monkeypatch.setattr("meanshiftpp.io.maps.tiles.WHOLE_PIXELS", pixels)
    place = scene(tmp_path / "a.tif", np.full((2, 60, 70), value, np.float32), nodata=0)
    with (
        pytest.raises(InvalidInputError, match="has no pixel with data"),
        scene_regions(place, RegionOptions(), tmp_path / "a.gpkg"),
    ):
        pass


def test_a_sample_without_data_does_not_hide_the_regions(tmp_path, small_tiles, monkeypatch):
    place = scene(tmp_path / "a.tif", bands())
    nothing = np.full((1, 4), np.nan)
    monkeypatch.setattr(place.source, "sample", lambda size: nothing)
    with scene_regions(place, RegionOptions(), tmp_path / "a.gpkg") as (_, n):
        assert n == 3


def test_a_label_file_that_cannot_be_opened_leaves_no_environment(tmp_path):
    place = scene(tmp_path / "a.tif", bands())
    with pytest.raises(rasterio.errors.RasterioIOError), _label_file(tmp_path / "b" / "c", place):
        pass
    assert not rasterio.env.hasenv()


def test_ground_control_points_are_an_error(tmp_path):
    points = [
        rasterio.control.GroundControlPoint(y, x, 10 * x, 10 * y) for x in (0, 9) for y in (0, 9)
    ]
    with rasterio.open(
        tmp_path / "a.tif", "w", "GTiff", width=9, height=9, count=1, dtype="uint8",
        gcps=points, crs="EPSG:32633",
    ) as file:  # fmt: skip
        file.write(np.ones((1, 9, 9), np.uint8))
    with pytest.raises(InvalidInputError, match=r"ground control points.*gdalwarp"):
        Scene(RasterSource([tmp_path / "a.tif"], None))


# -- areas -------------------------------------------------------------------------------------


def test_pixels_of_the_globe_add_up_to_its_surface():
    ground = Ground(rasterio.crs.CRS.from_epsg(4326), rasterio.Affine(1, 0, -180, 0, -1, 90))
    areas = np.broadcast_to(ground.pixel_areas(0, (180, 360)), (180, 360))
    assert areas.sum() == pytest.approx(510_065_621_724_000, rel=2e-5)
    geodesic, _ = Geod(ellps="WGS84").geometry_area_perimeter(shapely.box(7, 52, 8, 53))
    assert areas[37, 187] == pytest.approx(geodesic, rel=1e-3)


def test_areas_are_square_metres_in_feet_and_pixels_without_a_reference_system():
    transform = rasterio.Affine(2, 0, 0, 0, -3, 0)
    feet = Ground(rasterio.crs.CRS.from_epsg(2263), transform)
    assert feet.pixel_areas(0, (1, 1)) == pytest.approx(6 * (1200 / 3937) ** 2)
    assert Ground(None, transform).pixel_areas(0, (1, 1)) == 6
    turned = Ground(rasterio.crs.CRS.from_epsg(4326), rasterio.Affine(0, 1, 0, 1, 0, 60))
    areas = turned.pixel_areas(0, (3, 2))
    assert np.broadcast_to(areas, (3, 2))[0, 0] > np.broadcast_to(areas, (3, 2))[0, 1]
