"""Rasters in windows: the labels of the whole image, georeferenced, without seams."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

rasterio = pytest.importorskip("rasterio")

from tests.helpers import fit_labels  # noqa: E402

from meanshiftpp import seek  # noqa: E402
from meanshiftpp.errors import GridMismatchError, InvalidInputError  # noqa: E402
from meanshiftpp.stream import build_grid, open_points, write_labels  # noqa: E402

GEO = {
    "crs": "EPSG:32633",
    "transform": rasterio.Affine(10, 0, 500_000, 0, -10, 5_000_000),
}


def image(dtype: str = "uint16") -> np.ndarray:
    rng = np.random.default_rng(1)
    values = rng.normal(100, 12, (3, 150, 230))
    values[:, 40:90, 30:200] += 80
    values[0, 100:, 120:] += 50
    return values.astype(dtype)


def write(path: Path, values: np.ndarray, **options: object) -> Path:
    shape = {"count": len(values), "height": values.shape[1], "width": values.shape[2]}
    with rasterio.open(path, "w", "GTiff", dtype=values.dtype, **shape, **GEO | options) as file:
        file.write(values)
    return path


LAYOUTS = {
    "tiles": {"tiled": True, "blockxsize": 32, "blockysize": 16},
    "large tiles": {"tiled": True, "blockxsize": 128, "blockysize": 128, "compress": "deflate"},
    "strips": {"blockysize": 7},
    "one block": {"blockysize": 150},
}


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
@pytest.mark.parametrize("dtype", ["uint8", "uint16", "float32"])
def test_labels_in_windows_equal_those_of_the_whole_image(tmp_path, monkeypatch, layout, dtype):
    monkeypatch.setattr("meanshiftpp.io.sources.MAX_ROWS", 1500)
    values = image(dtype)
    source = open_points(write(tmp_path / "in.tif", values, **layout))
    assert source.columns == ("band1", "band2", "band3")
    chunks = list(source)
    assert len(chunks) > 4
    assert sum(map(len, chunks)) == source.rows == values[0].size
    modes, labels = fit_labels(values.reshape(3, -1).T, 9)
    grid = build_grid(source, 9)
    assert grid == modes.grid
    write_labels(tmp_path / "out.tif", source, seek(grid).label)
    with rasterio.open(tmp_path / "out.tif") as out:
        assert np.array_equal(out.read(1), labels.reshape(values[0].shape))
        assert out.crs == GEO["crs"]
        assert out.transform == GEO["transform"]
        assert (out.count, out.dtypes, out.nodata) == (1, ("int32",), -1)
    assert labels.max() > 1


def test_pixels_without_data_are_not_points(tmp_path, monkeypatch):
    monkeypatch.setattr("meanshiftpp.io.sources.MAX_ROWS", 1500)
    values = image("float32")
    values[1, 20:60, :50] = -9999
    values[2, 140:, :] = -9999
    there = (values != -9999).all(axis=0)
    source = open_points(write(tmp_path / "in.tif", values, nodata=-9999))
    grid = build_grid(source, 9)
    modes, labels = fit_labels(values.reshape(3, -1).T[there.ravel()], 9)
    assert grid == modes.grid
    assert source.read().shape == (there.sum(), 3)
    for given in (modes.label, labels):  # an array has labels for the pixels with data only
        write_labels(tmp_path / "out.tif", source, given)
        with rasterio.open(tmp_path / "out.tif") as out:
            assert np.array_equal(out.read(1)[there], labels)
            assert (out.read(1)[~there] == -1).all()


def test_bands_have_names_and_alpha_is_a_mask(tmp_path):
    values = image("uint8")
    alpha = np.full((1, *values.shape[1:]), 255, np.uint8)
    alpha[0, :10] = 0
    path = write(
        tmp_path / "in.tif", np.concatenate([values, alpha]), photometric="RGB", alpha="YES"
    )
    with rasterio.open(path, "r+") as file:
        file.set_band_description(1, "red")
    source = open_points(path)
    assert source.columns == ("red", "band2", "band3")
    assert len(source.read()) == values[0, 10:].size
    assert np.array_equal(open_points(path, ["band3"]).read()[:, 0], values[2, 10:].ravel())
    with pytest.raises(InvalidInputError, match="no column 'nir', only 'red', 'band2'"):
        open_points(path, ["nir"])


def test_the_error_of_an_infinite_value_names_its_pixel(tmp_path, monkeypatch):
    monkeypatch.setattr("meanshiftpp.io.sources.MAX_ROWS", 1500)
    values = image("float32")
    values[1, 71, 200] = np.inf
    values[:, 71, 190] = -1  # pixels without data shift the row of the point
    source = open_points(write(tmp_path / "in.tif", values, nodata=-1, **LAYOUTS["tiles"]))
    with pytest.raises(InvalidInputError, match=r"in.tif, pixel 201 of line 72, band2 is inf"):
        build_grid(source, 9)


def test_a_run_continues_from_its_checkpoint(tmp_path, monkeypatch):
    monkeypatch.setattr("meanshiftpp.io.sources.MAX_ROWS", 1500)
    path = write(tmp_path / "in.tif", image(), **LAYOUTS["tiles"])
    seen: list[int] = []

    def stop(rows: int) -> None:
        seen.append(rows)
        if len(seen) > 5:
            raise KeyboardInterrupt

    options = {"checkpoint": tmp_path / "c", "every": 0}
    with pytest.raises(KeyboardInterrupt):
        build_grid(open_points(path), 9, **options, progress=stop)
    assert (tmp_path / "c").exists()
    grid = build_grid(open_points(path), 9, **options)
    assert grid == build_grid(open_points(path), 9)


def test_a_checkpoint_of_other_windows_is_an_error(tmp_path, monkeypatch):
    """The position is the number of a window, which means another place with other windows."""
    monkeypatch.setattr("meanshiftpp.io.sources.MAX_ROWS", 1500)
    path = write(tmp_path / "in.tif", image(), **LAYOUTS["tiles"])

    def stop(rows: int) -> None:
        if rows:
            raise KeyboardInterrupt

    options = {"checkpoint": tmp_path / "c", "every": 0}
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            build_grid(open_points(path), 9, **options, progress=stop)
    build_grid(open_points(path), 9, **options)
    monkeypatch.setattr("meanshiftpp.io.sources.MAX_ROWS", 3000)
    message = "counts windows of 64 x 16 pixels, not windows of 160 x 16 pixels"
    with pytest.raises(GridMismatchError, match=message):
        build_grid(open_points(path), 9, **options)


def test_invalid_rasters_and_outputs_are_errors(tmp_path):
    (tmp_path / "no.tif").write_bytes(b"II*\0 and no more")
    with pytest.raises(InvalidInputError, match=r"no.tif' is not a raster, or is damaged"):
        open_points(tmp_path / "no.tif")
    path = write(tmp_path / "in.tif", image())
    with pytest.raises(InvalidInputError, match="expected one raster, got 2"):
        open_points([path, path])
    with pytest.raises(InvalidInputError, match="missing must be 'error' or 'label' for a raster"):
        open_points(path, missing="drop")
    with pytest.raises(InvalidInputError, match=r"must end in .tif or .tiff"):
        write_labels(tmp_path / "o.npy", open_points(path), len)
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])
    with pytest.raises(InvalidInputError, match=r"in.tif' is not a raster, or is damaged"):
        build_grid(open_points(path), 9)


def test_an_image_without_a_georeference_is_valid(tmp_path):
    from PIL import Image

    pixels = np.moveaxis(image("uint8"), 0, -1)
    Image.fromarray(pixels).save(tmp_path / "photo.tif")
    source = open_points(tmp_path / "photo.tif")
    write_labels(tmp_path / "o.tif", source, seek(build_grid(source, 9)).label)
    _, labels = fit_labels(pixels.reshape(-1, 3), 9)
    assert np.array_equal(np.asarray(Image.open(tmp_path / "o.tif")), labels.reshape(150, 230))


FULL_DISK = """
import resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[4]),) * 2)
from meanshiftpp import seek
from meanshiftpp.errors import FileAccessError
from meanshiftpp.stream import build_grid, open_points, write_labels
source = open_points(sys.argv[1])
try:
    write_labels(sys.argv[2], source, seek(build_grid(source, float(sys.argv[3]))).label)
except FileAccessError as error:
    sys.exit(str(error))
"""


@pytest.mark.parametrize("share", [0, 0.5, 0.99])
@pytest.mark.parametrize("bandwidth", [1, 9])
def test_a_full_disk_is_an_error_and_leaves_the_old_file(tmp_path, bandwidth, share):
    """GDAL writes the last part of a file when it is closed; rasterio ignores errors then."""
    pytest.importorskip("resource", reason="a limit on file sizes simulates a full disk")
    path, out = write(tmp_path / "in.tif", image()), tmp_path / "out.tif"
    source = open_points(path)
    write_labels(out, source, seek(build_grid(source, bandwidth)).label)
    room = int(out.stat().st_size * share)
    out.write_bytes(b"old")
    command = [sys.executable, "-c", FULL_DISK, path, out, str(bandwidth), str(room)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stderr
    assert f"cannot write '{out}': " in done.stderr
    assert "Traceback" not in done.stderr
    if bandwidth == 9:  # small enough to be written only on close
        assert "the written labels cannot be read back; is the disk full?" in done.stderr
    assert out.read_bytes() == b"old"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["in.tif", "out.tif"]
