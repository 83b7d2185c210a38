"""Files of features, as GeoPandas reads them."""

from __future__ import annotations

import json

import geopandas
import numpy as np
import pytest
import shapely
from rasterio.crs import CRS

from meanshiftpp._support.columns import unique_names
from meanshiftpp.errors import FileAccessError, InvalidInputError
from meanshiftpp.io.maps.vectors import FORMATS, Features, MapWarning, check_vectors, write_features

LOCAL = CRS.from_wkt(
    'PROJCS["mine",GEOGCS["WGS 84",DATUM["WGS_1984",SPHEROID["WGS 84",6378137,298.257223563]],'
    'PRIMEM["Greenwich",0],UNIT["degree",0.0174532925199433]],PROJECTION["Transverse_Mercator"],'
    'PARAMETER["central_meridian",7.3],PARAMETER["scale_factor",1],UNIT["metre",1]]'
)


def batches(n: int = 3) -> list[Features]:
    boxes = shapely.box(np.arange(6.0), 0, np.arange(6.0) + 1, 1 / 3)
    columns = {"label": np.arange(6, dtype=np.int32), "mean_a": np.arange(6) / 7}
    step = 6 // n
    return [
        Features(boxes[i : i + step], {name: c[i : i + step] for name, c in columns.items()})
        for i in range(0, 6, step)
    ]


@pytest.mark.parametrize("code", [4326, 31985])
@pytest.mark.parametrize("suffix", FORMATS)
def test_geopandas_reads_what_was_written(tmp_path, suffix, code):
    path = tmp_path / f"fields{suffix}"
    path.write_text("replaced")
    assert write_features(path, batches(), kind="Polygon", crs=CRS.from_epsg(code)) == 6
    frame = geopandas.read_file(path)
    assert frame.crs.to_epsg() == code
    assert frame.geometry.tolist() == [b for batch in batches() for b in batch.geometries]
    assert frame["label"].tolist() == list(range(6))
    assert frame["mean_a"].tolist() == (np.arange(6) / 7).tolist()
    assert [each.name for each in tmp_path.iterdir()] == [path.name]


def test_longitude_and_latitude_need_no_member_crs(tmp_path):
    path = tmp_path / "a.geojson"
    write_features(path, batches(1), kind="Polygon", crs=CRS.from_epsg(4326))
    assert "crs" not in json.loads(path.read_text())


def test_an_unknown_reference_system_stays_unknown_in_a_geopackage(tmp_path):
    write_features(tmp_path / "a.gpkg", batches(), kind="Polygon")
    assert geopandas.read_file(tmp_path / "a.gpkg").crs is None
    with pytest.warns(MapWarning, match=r"reference system is unknown.*write a \.gpkg") as found:
        check_vectors(tmp_path / "a.geojson")
    assert found[0].filename == __file__
    write_features(tmp_path / "a.geojson", batches(), kind="Polygon")  # does not warn again


def test_a_reference_system_without_a_code(tmp_path):
    write_features(tmp_path / "a.gpkg", batches(), kind="Polygon", crs=LOCAL)
    assert geopandas.read_file(tmp_path / "a.gpkg").crs.is_projected
    with pytest.raises(InvalidInputError, match=r"no EPSG code; write a \.gpkg"):
        write_features(tmp_path / "a.geojson", batches(), kind="Polygon", crs=LOCAL)


@pytest.mark.parametrize("suffix", FORMATS)
def test_no_features(tmp_path, suffix):
    empty = Features(np.empty(0, object), {"label": np.empty(0, np.int32)})
    path = tmp_path / f"a{suffix}"
    assert write_features(path, [empty], kind="Polygon", crs=CRS.from_epsg(4326)) == 0
    assert len(geopandas.read_file(path)) == 0


@pytest.mark.parametrize("suffix", FORMATS)
def test_an_error_leaves_the_old_file(tmp_path, suffix):
    path = tmp_path / f"a{suffix}"
    path.write_text("old")

    def failing():
        yield batches()[0]
        raise OSError("disk full")

    with pytest.raises(FileAccessError, match="disk full"):
        write_features(path, failing(), kind="Polygon", crs=CRS.from_epsg(4326))
    assert path.read_text() == "old"
    assert [each.name for each in tmp_path.iterdir()] == [path.name]


def test_names_of_columns_differ_in_more_than_case():
    assert unique_names(["a", "A", "a"], ["label"]) == ["a", "A_2", "a_3"]
    assert unique_names(["Label", "size"], ["label", "size"]) == ["Label_2", "size_2"]
