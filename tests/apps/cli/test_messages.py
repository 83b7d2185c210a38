"""Messages about files that a command cannot use, or uses in a way the user may not expect."""

from __future__ import annotations

import numpy as np
import pytest
import rasterio
from PIL import Image
from tests.apps.cli.command_line import run


@pytest.fixture
def write(tmp_path):
    """Return a function that writes a file and returns its path."""

    def write(name: str, content: str | bytes):
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write


@pytest.fixture
def photo(tmp_path):
    Image.fromarray(np.zeros((8, 9, 3), np.uint8)).save(tmp_path / "photo.jpg")
    return tmp_path / "photo.jpg"


@pytest.fixture
def raster(tmp_path):
    """Return a function that writes a float raster of two bands, which does not declare NaN."""

    def write(name: str, values):
        bands = np.stack([np.asarray(values, "f4")] * 2)
        options = {"height": bands.shape[1], "width": bands.shape[2], "count": 2}
        options["transform"] = rasterio.Affine(10, 0, 0, 0, -10, 0)
        with rasterio.open(
            *(tmp_path / name, "w"), driver="GTiff", dtype="float32", crs="EPSG:32632", **options
        ) as file:
            file.write(bands)
        return tmp_path / name

    return write


BROKEN = {
    "two columns of a name": ("a,b,a\n1,2,3\n", "has two columns named 'a'; rename one"),
    "another encoding": ("größe,y\n1,2\n".encode("latin-1"), "not UTF-8; save it as UTF-8"),
    "an empty field": ("x,y\n1,2\n,4\n5,6\n", "row 2, column 'x' is empty or NaN; --missing drop"),
    "control characters": (
        "x,y\n1,2\n3,4,\x1b]0;title\x07" + "9" * 99 + "\n",
        r"row 2 has 3 columns instead of 2: '3,4,\x1b]0;title\x07" + "9" * 46 + "'",
    ),
}


@pytest.mark.parametrize("content", BROKEN)
def test_a_csv_that_cannot_be_used(write, content):
    text, expected = BROKEN[content]
    code, _, stderr = run("cluster", write("t.csv", text), "-b", 1)
    assert code == 1
    assert expected in stderr
    assert stderr.rstrip("\n").isprintable()


def test_control_characters_of_a_header_are_escaped(write):
    code, text, _ = run("cluster", write("t.csv", "x\x1b]0;t\x07,y\n1,2\n3,4\n"), "-b", 1)
    assert code == 0
    assert r"x\x1b]0;t\x07" in text
    assert "\x07" not in text


def test_an_array_that_cannot_be_read_is_not_to_be_loaded_unsafely(write):
    code, _, stderr = run("cluster", write("t.npy", "garbage, not an array"), "-b", 1)
    assert code == 1
    assert "save numbers with numpy.save" in stderr
    assert "unsafe" not in stderr


@pytest.mark.parametrize("options", [("-b", 1), (), ("-b", 1, "--stream"), ("--stream",)])
def test_weights_that_are_all_zero(write, options):
    file = write("t.csv", "x,y,w\n1,2,0\n3,4,0\n")
    code, _, stderr = run("cluster", file, "--weight", "w", *options)
    assert code == 1
    assert "at least one positive weight in column 'w', got none" in stderr


def test_a_command_names_the_other_one(write, photo, tmp_path):
    for command in ("cluster", "sweep"):
        code, _, stderr = run(command, photo)
        assert (code, "use meanshiftpp segment" in stderr) == (1, True)
    code, _, stderr = run("segment", write("t.csv", "x,y\n1,2\n"), "-o", tmp_path / "o.png")
    assert (code, "use meanshiftpp cluster" in stderr) == (1, True)


# -- outputs ---------------------------------------------------------------------------------------


def test_endings_are_those_that_the_input_can_have(write, photo, raster, tmp_path):
    code, _, stderr = run(
        "cluster", write("t.csv", "x,y\n1,2\n"), "-b", 1, "-o", tmp_path / "o.shp"
    )
    assert code == 1
    assert "must end in .parquet, .csv, .arrow, .feather, .npy, .gpkg or .geojson" in stderr
    file = raster("r.tif", [[1, 2], [3, 4]])
    code, _, stderr = run("cluster", file, "-b", 1, "-o", tmp_path / "o.csv")
    assert code == 1
    assert "must end in .tif, .tiff, .gpkg or .geojson" in stderr
    code, _, stderr = run("segment", photo, "-o", tmp_path / "o.gpkg")
    assert code == 1
    assert "photo.jpg' cannot become polygons, which need a GeoTIFF" in stderr


def test_columns_that_are_not_coordinates_by_name_are_stated(write, tmp_path):
    rows = "1,2\n3,4\n50,60\n"
    out = tmp_path / "o.gpkg"
    _, _, stderr = run("cluster", write("t.csv", f"spend,age\n{rows}"), "-b", 9, "-o", out)
    assert "spend, age are taken as x, y" in stderr
    _, _, stderr = run("cluster", write("t.csv", f"x,y\n{rows}"), "-b", 9, "-o", out)
    assert "are taken as" not in stderr


# -- degrees ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("header", "bandwidth", "advice"),
    [
        ("lon,lat", "200", "200 degrees; for metres write -b 200m\n"),
        ("lat,lon", "100,200", "200 and 100 degrees; for metres write -b 100m,200m\n"),
        ("lon,lat", "0.001", ""),
        ("lon,lat", "0.5", ""),  # larger than the range, but not metres
        ("a,b", "200", ""),
    ],
)
def test_a_bandwidth_of_many_degrees_gets_advice(write, header, bandwidth, advice):
    rows = "\n".join(f"{8.5 + k / 1000},{47 + k / 500}" for k in range(40))
    code, _, stderr = run("cluster", write("t.csv", f"{header}\n{rows}\n"), "-b", bandwidth)
    assert code == 0
    assert stderr == advice or not (advice or "degrees" in stderr)


def test_a_bandwidth_of_a_few_degrees_suits_the_globe(write):
    rows = "\n".join(f"{x},{y}" for x in range(-170, 180, 20) for y in range(-80, 90, 20))
    _, _, stderr = run("cluster", write("t.csv", f"lon,lat\n{rows}\n"), "-b", 30)
    assert "metres" not in stderr


# -- rasters ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [(), ("--stream",)])
def test_nan_of_a_raster_is_no_data(raster, tmp_path, options):
    file, out = raster("r.tif", [[1, np.nan, 1], [np.nan, 9, 9]]), tmp_path / "o.tif"
    code, text, stderr = run("cluster", file, "-b", 2, "-o", out, *options)
    assert (code, stderr) == (0, "")
    assert "4 in band1, band2" in text
    with rasterio.open(out) as labels:
        assert labels.read(1).tolist() == [[0, -1, 0], [-1, 1, 1]]


@pytest.mark.parametrize("options", [("-b", 2), (), ("-b", 2, "--stream")])
def test_a_raster_without_data(raster, options):
    code, _, stderr = run("cluster", raster("r.tif", [[np.nan, np.nan]]), *options)
    assert code == 1
    assert "has no pixel with data, so there is nothing to cluster" in stderr


def test_dates_are_named_with_what_to_do(tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    (tmp_path / "days.csv").write_text("day,x\n2024-01-01,1\n2024-01-02,2\n")
    (tmp_path / "only.csv").write_text("day\n2024-01-01\n2024-01-02\n")
    day = pa.array([0, 1], pa.timestamp("us"))
    pq.write_table(pa.table({"day": day, "x": [1, 2]}), tmp_path / "days.parquet")
    advice = "convert it to numbers, such as days since the first, or select others"
    for name, example in (("days.csv", ": '2024-01-01' in row 1"), ("days.parquet", "")):
        for option in ("--columns", "--weight"):
            code, _, err = run("cluster", tmp_path / name, "-b", 1, option, "day")
            assert code == 1
            assert f"column 'day' holds dates, not numbers{example}; {advice}" in err
    _, _, err = run("cluster", tmp_path / "only.csv")
    assert "has no column of numbers, only 'day'; convert a column to numbers first" in err


def test_tiffs_of_too_many_dimensions_and_damaged_ones_state_what_to_do(tmp_path):
    tifffile = pytest.importorskip("tifffile")
    stack, cut = tmp_path / "stack.tif", tmp_path / "cut.tif"
    options = {"metadata": {"axes": "TZCYX"}, "photometric": "minisblack"}
    tifffile.imwrite(stack, np.ones((2, 3, 4, 30, 40), np.uint8), **options)
    _, _, err = run("segment", stack, "-o", tmp_path / "a.png")
    expected = "must have two or three dimensions besides its channels, got 4 (axes TZYX); "
    assert expected + "save each image along T as a file" in err
    tifffile.imwrite(cut, np.ones((30, 40, 3), np.uint8))
    content = cut.read_bytes()
    for length in range(1, len(content), 97):
        cut.write_bytes(content[:length])
        code, _, err = run("segment", cut, "-o", tmp_path / "a.png")
        assert code == 1
        assert err.startswith("error: ")
        assert "is damaged: " in err
        assert "; copy or export it again" in err
        assert "buffer" not in err
