"""Maps: polygons of rasters, clusters of points, and bandwidths in metres."""

from __future__ import annotations

import json
from pathlib import Path

import geopandas
import laspy
import numpy as np
import pytest
import rasterio
import shapely
from sklearn.metrics import adjusted_rand_score
from tests.apps.cli.command_line import run

from meanshiftpp import geo, picture
from meanshiftpp.io.maps.rasters import RasterSource
from meanshiftpp.io.maps.scenes import Scene

TRANSFORM = rasterio.Affine(10, 0, 500_000, 0, -10, 5_000_000)


def raster(path: Path, n_bands: int = 6, dtype: str = "uint8", **options: object) -> Path:
    rng = np.random.default_rng(2)
    values = rng.normal(80, 3, (n_bands, 80, 120))
    values[:, :, 40:] += 60
    values[0, 40:, 80:] += 50
    place = {"crs": "EPSG:32633", "transform": TRANSFORM, "width": 120, "height": 80}
    with rasterio.open(
        path, "w", "GTiff", count=n_bands, dtype=dtype, **place | options
    ) as file:  # fmt: skip
        file.write(values.astype(dtype))
    return path


def towns(path: Path, shift: float = 0.0) -> np.ndarray:
    """Write longitudes and latitudes of points in four towns, and return them."""
    rng = np.random.default_rng(1)
    centers = np.array([[2.35, 48.85], [2.36, 48.87], [2.30, 48.86], [2.40, 48.84]])
    points = centers[np.arange(800) % 4] + rng.normal(0, [0.0015, 0.001], (800, 2))
    points[:, 0] = (points[:, 0] + shift + 180) % 360 - 180
    points = points.round(7)
    np.savetxt(path, points, delimiter=",", header="lon,lat", comments="", fmt="%.7f")
    return points


# -- polygons ----------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", [".gpkg", ".geojson"])
def test_segment_writes_polygons(tmp_path, suffix):
    path = raster(tmp_path / "scene.tif")
    status, out, err = run("segment", path, "-o", tmp_path / f"fields{suffix}", "--json")
    assert (status, err) == (0, "")
    result = json.loads(out)["files"][0]
    assert (result["what"], result["found"], result["size"]) == ("polygons", 3, [120, 80])
    frame = geopandas.read_file(tmp_path / f"fields{suffix}")
    assert frame.crs.to_epsg() == 32633
    assert frame.is_valid.all()
    assert frame.union_all().equals(shapely.box(500_000, 4_999_200, 501_200, 5_000_000))
    assert list(frame.columns[:3]) == ["label", "area", "mean_band1"]
    assert sorted(frame["area"]) == [100.0 * n for n in (1600, 3200, 4800)]
    assert run("segment", path, "--labels", "-o", tmp_path / "labels.tif")[0] == 0
    with rasterio.open(tmp_path / "labels.tif") as file:
        labels = file.read(1)
    assert (np.bincount(labels.ravel())[1:] * 100.0).tolist() == sorted(frame["area"])[::-1]


@pytest.mark.parametrize(("n", "dtype"), [(255, "uint8"), (256, "uint16"), (65_536, "uint32")])
def test_a_label_geotiff_has_a_colour_table(tmp_path, n, dtype):
    place = picture.read(raster(tmp_path / "scene.tif")).place
    picture.write_labels(tmp_path / "labels.tif", np.arange(n + 1)[None], place)
    with rasterio.open(tmp_path / "labels.tif") as file:
        assert file.dtypes == (dtype,)
        assert (file.nodata, file.crs.to_epsg()) == (0, 32633)
        assert (file.read(1) == np.arange(n + 1)).all()
        if dtype != "uint32":  # TIFF has colour tables of at most 16 bits
            table = file.colormap(1)
            assert len({table[label] for label in range(n + 1)}) > 0.99 * n


@pytest.mark.parametrize(("n_bands", "dtype"), [(1, "float32"), (3, "uint16"), (4, "uint8")])
def test_maps_of_any_bands_need_no_option(tmp_path, n_bands, dtype):
    path = raster(tmp_path / "scene.tif", n_bands, dtype)
    status, _, err = run("segment", path, "-o", tmp_path / "a.gpkg")
    assert (status, err) == (0, "")
    assert len(geopandas.read_file(tmp_path / "a.gpkg")) == 3


def test_cluster_writes_polygons_of_a_raster(tmp_path):
    path = raster(tmp_path / "scene.tif")
    status, out, _ = run("cluster", path, "-b", 25, "-o", tmp_path / "a.gpkg", "--json")
    assert status == 0
    assert json.loads(out)["map"] == "3 polygons"
    frame = geopandas.read_file(tmp_path / "a.gpkg")
    assert sorted(frame["label"]) == [0, 1, 2]
    assert frame["area"].sum() == 100 * 80 * 120
    assert "without it" in run("cluster", path, "-b", 25, "-o", tmp_path / "b.gpkg", "--hulls")[2]


@pytest.mark.parametrize("option", ["--weight", "--where"])
def test_columns_that_are_not_features_are_not_in_the_map(tmp_path, option):
    path = raster(tmp_path / "scene.tif")
    value = "band4" if option == "--weight" else "band4 > 100"
    arguments = ["--columns", "band1,band2", "-b", 25, option, value, "-o", tmp_path / "a.gpkg"]
    assert run("cluster", path, *arguments)[0] == 0
    frame = geopandas.read_file(tmp_path / "a.gpkg")
    assert list(frame.columns) == ["label", "area", "mean_band1", "mean_band2", "geometry"]
    assert frame["area"].sum() == 100 * 80 * (120 if option == "--weight" else 80)


def test_a_damaged_raster_does_not_end_the_batch(tmp_path):
    whole = raster(tmp_path / "a.tif")
    (tmp_path / "cut.tif").write_bytes(whole.read_bytes()[:20_000])
    (tmp_path / "o").mkdir()
    files = [tmp_path / "cut.tif", whole]
    status, out, err = run("segment", *files, "-o", tmp_path / "o" / "{name}.gpkg", "--json")
    assert status == 1
    assert "cut.tif' is not a raster, or is damaged" in " ".join(err.split())
    assert [Path(each["file"]).name for each in json.loads(out)["files"]] == ["a.tif"]
    assert [each.name for each in (tmp_path / "o").iterdir()] == ["a.gpkg"]


def test_options_that_polygons_cannot_have(tmp_path):
    path, out = raster(tmp_path / "scene.tif"), tmp_path / "a.gpkg"
    (tmp_path / "photo.png").write_bytes(b"")
    for arguments, expected in [
        ([path, "--labels"], "polygons need a .gpkg or .geojson without --labels"),
        ([path, "--clusters"], "use meanshiftpp cluster, which writes them too"),
        ([path, "--space", "lab"], "--space lab has no effect on polygons"),
        ([path, "--range", "dtype"], "--range has no effect on polygons; leave it out"),
        ([path, "--measure", tmp_path / "m.csv"], "--measure has no effect on polygons"),
        ([tmp_path / "photo.png"], "polygons, which need a GeoTIFF (.tif) as input"),
    ]:
        status, _, err = run("segment", *arguments, "-o", out)
        assert status == 1
        assert expected in " ".join(err.split())
    assert not out.exists()
    assert not (tmp_path / "m.csv").exists()


def test_a_raster_without_a_reference_system(tmp_path):
    path = raster(tmp_path / "scene.tif", crs=None)
    assert run("segment", path, "-o", tmp_path / "a.gpkg")[::2] == (0, "")
    assert geopandas.read_file(tmp_path / "a.gpkg").crs is None
    status, _, err = run("segment", path, "-o", tmp_path / "a.geojson")
    assert status == 0
    assert err.count("the reference system is unknown") == 1
    (tmp_path / "a.csv").write_text("x,y\n0.5,0.5\n1.5,0.5\n9.5,9.5\n")
    status, _, err = run("cluster", tmp_path / "a.csv", "-b", 2, "-o", tmp_path / "a.geojson")
    assert status == 0
    assert err.count("the reference system is unknown") == 1


@pytest.mark.parametrize(
    ("place", "pixels"),
    [
        ({}, 300 / TRANSFORM.a),
        # At 60 degrees north, 0.0002 degrees are 22.28 m to the north and 11.16 m to the east.
        ({"crs": "EPSG:4326", "transform": rasterio.Affine(2e-4, 0, 10, 0, -2e-4, 60.008)}, 19.02),
    ],
    ids=["metres", "degrees"],
)
def test_the_size_of_a_spatial_cell_in_metres(tmp_path, place, pixels):
    path = raster(tmp_path / "scene.tif", **place)
    assert Scene(RasterSource([path], None)).pixels(300) == pytest.approx(pixels, rel=1e-3)
    for spatial, out in [("0.3km", "a"), (Scene(RasterSource([path], None)).pixels(300), "b")]:
        arguments = ["--labels", "-o", tmp_path / f"{out}.tif"]
        assert run("segment", path, "--spatial", spatial, *arguments)[0] == 0
    labels = [picture.read(tmp_path / f"{out}.tif").values for out in "ab"]
    assert np.array_equal(*labels)


def test_metres_need_a_place_on_the_ground(tmp_path):
    (tmp_path / "photo.png").touch()
    nowhere = raster(tmp_path / "scene.tif", crs=None)
    for source, size, expected in [
        (tmp_path / "photo.png", "200m", "is not a GeoTIFF, so a length in metres is unknown"),
        (nowhere, "200m", "has no reference system, so a length in metres is unknown"),
        (nowhere, "0m", "or a length in m or km, such as 200m; got '0m'"),
        (nowhere, "wide", "or a length in m or km, such as 200m; got 'wide'"),
    ]:
        status, _, err = run("segment", source, "--spatial", size, "-o", tmp_path / "out.png")
        assert status != 0
        assert expected in " ".join(err.split())


# -- clusters of points ------------------------------------------------------------------------


@pytest.mark.parametrize("shift", [0.0, 177.63], ids=["Paris", "date line"])
def test_hotspots_with_a_bandwidth_in_metres(tmp_path, shift):
    points = towns(tmp_path / "a.csv", shift)
    assert (np.abs(np.diff(points[:, 0])).max() > 300) == (shift > 0)
    status, _, err = run("cluster", tmp_path / "a.csv", "-b", "200m", "-o", tmp_path / "a.geojson")
    assert status == 0
    lon, lat = geo.degrees(200, float(np.median(points[:, 1]))).tolist()
    assert f"-b {lon!r},{lat!r} --periodic 360,-" in err
    frame = geopandas.read_file(tmp_path / "a.geojson")
    assert frame.crs.to_epsg() == 4326
    assert frame["size"].tolist() == [200] * 4
    assert (frame.geometry.x == frame["lon"]).all()
    assert frame.geometry.x.between(-180, 180).all()
    arguments = ["-b", "0.2km", "--hulls", "-o", tmp_path / "a.gpkg"]
    assert run("cluster", tmp_path / "a.csv", *arguments)[0] == 0
    hulls = geopandas.read_file(tmp_path / "a.gpkg")
    assert hulls.is_valid.all()
    assert (shapely.area(hulls.geometry.to_numpy()) < 1e-3).all()
    assert hulls["area"].between(1e5, 1e6).all()  # square metres
    centers = shapely.points(frame.geometry.x.to_numpy() % 360, frame.geometry.y.to_numpy())
    around = shapely.transform(hulls.geometry.to_numpy(), lambda p: p % [360, 360])
    assert shapely.contains(around, centers).all()


def test_hulls_do_not_depend_on_streaming(tmp_path, monkeypatch):
    monkeypatch.setattr("meanshiftpp.io.sources.MAX_ROWS", 100)
    monkeypatch.setattr("meanshiftpp.io.tables.formats._CSV_BLOCK", 1 << 11)
    towns(tmp_path / "a.csv")
    hulls = []
    for option in ("--stream", "--no-stream"):
        arguments = ["-b", "200m", option, "--hulls", "-o", tmp_path / "a.gpkg"]
        assert run("cluster", tmp_path / "a.csv", *arguments)[0] == 0
        hulls.append(geopandas.read_file(tmp_path / "a.gpkg"))
    assert hulls[0].geometry.geom_equals(hulls[1].geometry).all()


def test_a_grid_labels_the_clusters_of_a_map(tmp_path):
    towns(tmp_path / "a.csv")
    run("grid", "build", tmp_path / "a.csv", "-b", 0.002, "-o", tmp_path / "a.grid")
    arguments = ["--grid", tmp_path / "a.grid", "-o", tmp_path / "a.gpkg"]
    for hulls in ([], ["--hulls"]):
        assert run("cluster", tmp_path / "a.csv", *arguments, *hulls)[0] == 0
        assert geopandas.read_file(tmp_path / "a.gpkg")["size"].sum() == 800


def test_clusters_without_a_hull_are_counted(tmp_path):
    (tmp_path / "a.csv").write_text("x,y\n0,0\n1,0\n0,1\n9,9\n20,20\n21,21\n")
    arguments = ["-b", 2, "--hulls", "-o", tmp_path / "a.gpkg"]
    status, out, err = run("cluster", tmp_path / "a.csv", *arguments)
    assert status == 0
    assert "1 hull" in out
    assert "2 clusters without a hull" in err
    assert geopandas.read_file(tmp_path / "a.gpkg")["area"].tolist() == [0.5]


@pytest.mark.parametrize("hulls", [[], ["--hulls"]], ids=["centers", "hulls"])
def test_a_map_without_clusters_is_empty(tmp_path, hulls):
    towns(tmp_path / "a.csv")
    arguments = ["-b", "200m", "--min-cluster-size", 100_000, *hulls, "-o", tmp_path / "a.gpkg"]
    assert run("cluster", tmp_path / "a.csv", *arguments)[0] == 0
    frame = geopandas.read_file(tmp_path / "a.gpkg")
    assert len(frame) == 0
    assert [*frame.columns[:4]] == ["label", "size", "lon", "lat"]


@pytest.mark.parametrize(
    ("header", "bandwidth", "expected"),
    [
        ("lon,lat", "200m", "the columns look swapped: correct their names"),
        ("a,b", "200m", "the columns look swapped: use --columns b,a"),
        (
            "lat,lon",
            "200m,3",
            "expected lengths in m or km for longitude and latitude, and for them only",
        ),
        ("a,b", "200m,2km,3", "expected one value for each of the columns a, b"),
        ("a,b", "200 miles", "expected one or more positive numbers"),
        ("a,b,c", "200m", "needs columns of longitude and latitude, got a, b, c"),
        ("lon,lat,c", "200m", "expected one value for each of the columns lon, lat, c"),
        ("lon,lat,c", "200m,200m,0", "expected positive numbers"),
    ],
)
def test_bandwidths_in_metres_that_cannot_be(tmp_path, header, bandwidth, expected):
    rows = [[48.1, 102.5, 3.5], [48.5, 102.1, 4.5], [48.6, 102.0, 2.5]]
    if header == "lon,lat,c":  # not swapped
        rows = [[y, x, c] for x, y, c in rows]
    lines = [",".join(map(str, row[: header.count(",") + 1])) for row in rows]
    (tmp_path / "a.csv").write_text("\n".join([header, *lines]) + "\n")
    status, _, err = run("cluster", tmp_path / "a.csv", "-b", bandwidth)
    assert status != 0
    assert expected in " ".join(err.split())


def test_metres_of_no_finite_position_leave_the_error_to_binning(tmp_path):
    (tmp_path / "a.csv").write_text("lon,lat\nnan,48\n11,inf\n")
    status, _, err = run("cluster", tmp_path / "a.csv", "-b", "200m")
    assert status == 1
    assert "row 1, column 'lon' is empty or NaN" in " ".join(err.split())


def test_metres_next_to_another_unit_and_a_wide_range(tmp_path):
    lines = ["lat,hour,lng", "10,1.5,5", "10,2.5,5.01", "65,9,5"]
    (tmp_path / "a.csv").write_text("\n".join(lines) + "\n")
    status, out, err = run("cluster", tmp_path / "a.csv", "-b", "5km,2,5km")
    assert status == 0
    assert "--periodic -,-,360" in err
    assert "warning: latitudes reach from 10 to 65" in err
    assert "clusters    2" in out


def test_columns_that_are_not_coordinates(tmp_path):
    (tmp_path / "a.csv").write_text("a,b,c\n0.5,1.5,2\n1.5,2,2.5\n")
    status, _, err = run("cluster", tmp_path / "a.csv", "-b", 1, "-o", tmp_path / "a.gpkg")
    assert status == 1
    assert "expected two columns of coordinates" in err
    status, _, err = run("cluster", tmp_path / "a.csv", "-b", 1, "--hulls")
    assert status == 2
    assert "--hulls needs a map" in err


# -- single trees ------------------------------------------------------------------------------


def test_single_trees_and_their_crowns(tmp_path):
    rng = np.random.default_rng(4)
    stems = np.stack(np.meshgrid(np.arange(0, 30, 6), np.arange(0, 30, 6)), -1).reshape(-1, 2)
    stems = stems + rng.uniform(-1, 1, stems.shape)
    tree = np.repeat(np.arange(25), 300)
    radius = 2.6 * np.sqrt(rng.random(7500))
    angle = rng.uniform(0, 2 * np.pi, 7500)
    xy = stems[tree] + (radius * [np.cos(angle), np.sin(angle)]).T
    z = 20 - 5 * radius
    ground = rng.uniform(-3, 28, (2000, 2))
    las = laspy.create(point_format=0)
    las.header.scales = [0.001] * 3
    las.header.vlrs.append(_utm_keys())
    las.x, las.y = np.concatenate([xy, ground]).T
    las.z = np.concatenate([z, np.zeros(2000)])
    las.classification = np.repeat([5, 2], [7500, 2000]).astype(np.uint8)
    las.write(tmp_path / "forest.laz")
    recipe = ["--columns", "x,y", "--weight", "z", "--where", "classification != 2"]
    recipe += ["-b", 1.2, "--resolution", 3]
    assert run("cluster", tmp_path / "forest.laz", *recipe, "-o", tmp_path / "trees.laz")[0] == 0
    labels = np.asarray(laspy.read(tmp_path / "trees.laz").label)
    assert adjusted_rand_score(tree, labels[:7500]) > 0.9
    assert (labels[7500:] == -1).all()
    status, out, _ = run(
        "cluster", tmp_path / "forest.laz", *recipe, "--hulls", "-o", tmp_path / "crowns.gpkg"
    )
    assert status == 0
    crowns = geopandas.read_file(tmp_path / "crowns.gpkg")
    assert crowns.crs.to_epsg() == 32633
    assert f"{len(crowns)} hulls" in out
    assert np.median(crowns["area"]) == pytest.approx(np.pi * 2.6**2, rel=0.15)


def _utm_keys() -> laspy.VLR:
    from laspy.vlrs.known import GeoKeyDirectoryVlr

    record = GeoKeyDirectoryVlr()
    record.parse_record_data(np.array([1, 1, 0, 1, 3072, 0, 1, 32633], "<u2").tobytes())
    return record
