"""Picture files of every kind: how they are read, and how `meanshiftpp segment` treats them."""

from __future__ import annotations

import importlib.util
import warnings

import numpy as np
import pytest
import tifffile
from PIL import Image
from tests.apps.cli.pictures import geotiff, image, run
from tests.images.svg import read_svg

from meanshiftpp import picture, segment
from meanshiftpp.errors import InvalidInputError


def test_a_photograph_is_read_upright(tmp_path):
    exif = Image.Exif()
    exif[0x112] = 6
    Image.fromarray(image()).save(tmp_path / "lying.jpg", exif=exif)
    assert picture.read(tmp_path / "lying.jpg").values.shape == (80, 60, 3)


def test_every_mode_of_pillow_is_read(tmp_path):
    whole = Image.fromarray(image())
    for mode, suffix, shape, dtype in [
        ("L", ".png", (60, 80), np.uint8),
        ("1", ".png", (60, 80), np.uint8),
        ("P", ".png", (60, 80, 3), np.uint8),
        ("P", ".gif", (60, 80, 3), np.uint8),
        ("LA", ".png", (60, 80, 4), np.uint8),
        ("RGBA", ".png", (60, 80, 4), np.uint8),
        ("CMYK", ".jpg", (60, 80, 3), np.uint8),
        ("F", ".tif", (60, 80), np.float32),
        ("I;16", ".png", (60, 80), np.uint16),
    ]:
        path = tmp_path / f"a{suffix}"
        if mode == "I;16":
            Image.fromarray(image()[..., 0].astype(np.uint16) * 257).save(path)
        elif mode in ("LA", "P", "RGBA", "CMYK", "1", "L", "F"):
            whole.convert("L" if mode == "F" else mode).convert(mode).save(path)
        read = picture.read(path)
        assert read.values.shape == shape, mode
        assert read.values.dtype == dtype, mode


def test_transparent_pixels_stay_transparent(tmp_path):
    rgba = np.dstack([image(), np.full((60, 80), 255, np.uint8)])
    rgba[:20, :20, 3] = 0
    Image.fromarray(rgba).save(tmp_path / "a.png")
    assert run(tmp_path / "a.png", "-o", tmp_path / "out.png")[0] == 0
    out = picture.read(tmp_path / "out.png").values
    assert np.array_equal(out[..., 3], rgba[..., 3])
    assert run(tmp_path / "a.png", "-o", tmp_path / "out.jpg")[0] == 0
    assert (picture.read(tmp_path / "out.jpg").values[:8, :8] > 240).all()
    assert run(tmp_path / "a.png", "-o", tmp_path / "labels.png", "--labels")[0] == 0
    labels = picture.read(tmp_path / "labels.png").values
    assert np.array_equal(labels == 0, rgba[..., 3] == 0)
    assert run(tmp_path / "a.png", "-o", tmp_path / "out.png", "--overlay")[0] == 0
    out = picture.read(tmp_path / "out.png").values
    assert np.array_equal(out[..., 3], rgba[..., 3])
    assert (out[rgba[..., 3] == 0] == 0).all(), "colours must not survive under the mask"
    assert run(tmp_path / "a.png", "-o", tmp_path / "out.jpg", "--overlay")[0] == 0
    assert (picture.read(tmp_path / "out.jpg").values[:8, :8] > 240).all()


@pytest.mark.parametrize("kind", [bool, np.uint8, np.uint16])
def test_a_scan_with_white_as_0_is_inverted(tmp_path, kind):
    ink = np.eye(40, dtype=bool).astype(kind) * kind(np.iinfo(kind).max if kind is not bool else 1)
    tifffile.imwrite(tmp_path / "scan.tif", ink, photometric="miniswhite")
    black = picture.read(tmp_path / "scan.tif").values == 0
    assert np.array_equal(black, np.eye(40, dtype=bool))


def test_tiffs_with_bands_and_slices_are_segmented(tmp_path):
    bands = np.dstack([image(), image(1)])
    tifffile.imwrite(tmp_path / "bands.tif", bands, photometric="minisblack", planarconfig="contig")
    assert run(tmp_path / "bands.tif", "-o", tmp_path / "out.png")[0] == 0
    planar = np.moveaxis(image(), -1, 0)
    tifffile.imwrite(tmp_path / "planar.tif", planar, photometric="rgb", planarconfig="separate")
    assert run(tmp_path / "planar.tif", "-o", tmp_path / "out.tif", "--labels")[0] == 0
    assert np.array_equal(picture.read(tmp_path / "out.tif").values, segment(image()) + 1)
    volume = np.stack([image(seed)[..., 0] for seed in range(5)])
    tifffile.imwrite(tmp_path / "volume.tif", volume, photometric="minisblack")
    assert run(tmp_path / "volume.tif", "-o", tmp_path / "v.tif", "--labels")[0] == 0
    labels = picture.read(tmp_path / "v.tif").values
    assert np.array_equal(labels, segment(volume, channel_axis=None) + 1)
    code, _, stderr = run(tmp_path / "volume.tif", "-o", tmp_path / "v.png")
    assert code == 1
    assert "write its labels" in stderr


@pytest.mark.parametrize(
    ("dtype", "nodata"),
    [
        ("uint8", 0),
        ("int16", -9999),
        ("uint16", 65535),
        ("float32", -9999),
        ("float32", -3.4028234663852886e38),
        ("float32", "nan"),
        ("float64", "-1e+300"),
    ],
)
@pytest.mark.parametrize("bands", [1, 2, 3, 6])
def test_pixels_without_data_are_masked(tmp_path, dtype, nodata, bands):
    values = np.dstack([image(seed) for seed in range(2)])[..., :bands].clip(1, 255).astype(dtype)
    values = values / np.dtype(dtype).type(255) if dtype.startswith("f") else values
    values = values * 100 if dtype.endswith("16") else values
    has_data = np.ones((60, 80), bool)
    has_data[:20, :30] = has_data[50:, 70:] = False
    values[:20, :30] = values[50:, 70:, -1] = np.dtype(dtype).type(float(nodata))
    values = values[..., 0] if bands == 1 else values
    path = geotiff(tmp_path / "a.tif", values, nodata=nodata)
    assert np.array_equal(picture.read(path).mask, has_data)
    code, _, stderr = run(path, "-o", tmp_path / "out.tif", "--labels")
    assert (code, stderr) == (0, "")
    labels = picture.read(tmp_path / "out.tif").values
    assert np.array_equal(labels, segment(values, mask=has_data, start_label=1))
    assert np.array_equal(labels > 0, has_data)
    assert labels.max() > 1
    assert run(path, "-o", tmp_path / "out.png")[0] == 0
    drawn = picture.read(tmp_path / "out.png").values
    assert np.array_equal(drawn[..., 3] > 0, has_data)
    assert len(np.unique(drawn[has_data], axis=0)) > 2, "masked pixels must not count"


def test_12_bits_are_segmented_and_drawn_bright(tmp_path):
    values = image().astype(np.uint16) * 16
    path = geotiff(tmp_path / "a.tif", values, photometric="rgb")
    for limits, value_range in [((), None), (("--range", "0,4095"), (0, 4095))]:
        code, _, stderr = run(path, "-o", tmp_path / "out.tif", "--labels", *limits)
        assert (code, stderr) == (0, "")
        labels = picture.read(tmp_path / "out.tif").values
        assert np.array_equal(labels, segment(values, value_range=value_range) + 1)
        assert run(path, "-o", tmp_path / "out.png", *limits)[0] == 0
        drawn = picture.read(tmp_path / "out.png").values
        assert drawn.max() > 180
        assert drawn.min() < 60
    assert run(path, "-o", tmp_path / "out.tif", "--labels", "--range", "dtype")[0] == 0
    labels = picture.read(tmp_path / "out.tif").values
    assert np.array_equal(labels, segment(values, value_range="dtype") + 1)


def test_an_impossible_range_is_reported(tmp_path):
    path = geotiff(tmp_path / "a.tif", image().astype(np.float32) * 16, photometric="rgb")
    for text in ("4095", "9,3", "0,inf", "full"):
        code, _, stderr = run(path, "-o", tmp_path / "out.png", "--range", text)
        assert code == 2
        assert "0,4095" in stderr
    code, _, stderr = run(path, "-o", tmp_path / "out.png")
    assert code == 1
    assert "use --range image to scale them, or --space none" in stderr
    assert run(path, "-o", tmp_path / "out.png", "--range", "image")[0] == 0


def test_mask_pages_and_no_data_in_colour_maps_are_masked(tmp_path):
    has_data = np.ones((60, 80), bool)
    has_data[:20, :30] = False
    with tifffile.TiffWriter(tmp_path / "mask.tif") as file:
        file.write(image(), photometric="rgb", metadata=None)
        file.write(has_data, photometric="mask", subfiletype=4, metadata=None)
    codes = np.where(has_data, image()[..., 0] // 32 + 1, 0).astype(np.uint8)
    colours = np.zeros((3, 256), np.uint16)
    colours[:, 1:9] = np.linspace(0, 65535, 8)  # index 1 is as black as "no data"
    geotiff(tmp_path / "codes.tif", codes, nodata=0, photometric="palette", colormap=colours)
    for name in ("mask.tif", "codes.tif"):
        photo = picture.read(tmp_path / name)
        assert photo.values.shape == (60, 80, 3)
        assert np.array_equal(photo.mask, has_data)


def test_no_data_values_outside_the_type_are_ignored(tmp_path):
    for nodata in ("-9999", "300", "nan", "1e30", "none of it"):
        path = geotiff(tmp_path / "a.tif", image(), nodata=nodata)
        assert picture.read(path).mask is None, nodata
    assert picture.read(geotiff(tmp_path / "a.tif", image())).mask is None


@pytest.mark.parametrize("planar", ["contig", "separate"])
def test_a_fourth_band_is_alpha_only_if_the_file_declares_it(tmp_path, planar):
    nir = np.where(np.arange(80) < 40, 0, 200).astype(np.uint8)
    four = np.dstack([image(), np.broadcast_to(nir, (60, 80))])
    stored = four if planar == "contig" else np.moveaxis(four, -1, 0)
    expected = {
        "unspecified": segment(four, space=None) + 1,
        "unassalpha": segment(four) + 1,
        "assocalpha": segment(four) + 1,
    }
    for kind, labels in expected.items():
        path, layout = tmp_path / f"{kind}.tif", {"photometric": "rgb", "planarconfig": planar}
        tifffile.imwrite(path, stored, extrasamples=[kind], **layout)
        assert run(path, "-o", tmp_path / "out.png", "--labels")[0] == 0
        assert np.array_equal(picture.read(tmp_path / "out.png").values, labels), kind
        assert run(path, "-o", tmp_path / "out.png")[0] == 0
        assert run(path, "-o", tmp_path / "out.png", "--palette")[0] == 0
    assert expected["unspecified"].min() == 1


def test_alpha_next_to_any_number_of_bands_is_a_mask(tmp_path):
    alpha = np.full((60, 80, 1), 255, np.uint8)
    alpha[:20, :30] = 0
    for bands, kinds in [(1, ["unassalpha"]), (4, ["unspecified", "unassalpha"])]:
        values = np.dstack([image(), image(1)])[..., :bands]
        path = tmp_path / f"{bands}.tif"
        options = {"photometric": "rgb" if bands > 1 else "minisblack", "planarconfig": "contig"}
        tifffile.imwrite(path, np.dstack([values, alpha]), extrasamples=kinds, **options)
        read = picture.read(path)
        assert np.array_equal(read.values, values)
        assert np.array_equal(read.mask, alpha[..., 0] > 0)
        assert run(path, "-o", tmp_path / "out.png", "--labels")[0] == 0
        space = {"space": None} if bands == 4 else {}
        expected = segment(values, mask=read.mask, start_label=1, **space)
        assert np.array_equal(picture.read(tmp_path / "out.png").values, expected)


def test_a_compression_that_would_lose_a_band_raises(tmp_path):
    """Without imagecodecs tifffile cannot read LZW; Pillow can, but not with four bands."""
    rasterio = pytest.importorskip("rasterio", reason="rasterio writes LZW")
    if importlib.util.find_spec("imagecodecs"):
        pytest.skip("imagecodecs is installed and reads all bands")
    from rasterio.errors import NotGeoreferencedWarning

    for dtype, photometric in (("uint8", "RGB"), ("uint16", "MINISBLACK")):
        values = np.moveaxis(np.dstack([image(), image(1)])[..., :4], -1, 0).astype(dtype)
        shape = {"count": 4, "height": 60, "width": 80, "dtype": dtype, "compress": "lzw"}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NotGeoreferencedWarning)
            path = tmp_path / "a.tif"
            with rasterio.open(path, "w", "GTiff", **shape, photometric=photometric) as file:
                file.write(values)
        with pytest.raises(
            InvalidInputError, match=r"compressed with LZW.* pip install imagecodecs"
        ):
            picture.read(path)


@pytest.mark.parametrize("by", ["transform", "points"])
def test_labels_have_the_position_of_the_raster(tmp_path, by):
    rasterio = pytest.importorskip("rasterio", reason="rasterio reads the position")
    from rasterio.control import GroundControlPoint

    place = {"crs": "EPSG:32633"}
    if by == "transform":
        place["transform"] = rasterio.Affine(10, 0, 500_000, 0, -10, 5_000_000)
    else:
        corners = ((0, 0, 5e5, 5e6), (0, 80, 5.1e5, 5e6), (60, 0, 5e5, 4.9e6))
        place["gcps"] = [GroundControlPoint(*corner) for corner in corners]
    values = np.moveaxis(image(), -1, 0).copy()
    values[:, :20, :30] = 0
    shape = {"count": 3, "height": 60, "width": 80, "dtype": "uint8", "nodata": 0}
    path = tmp_path / "a.tif"
    with rasterio.open(path, "w", "GTiff", **shape, **place) as file:
        file.write(values)
    assert run(path, "-o", tmp_path / "one.tif", "--labels")[0] == 0
    assert run(path, "-o", f"{tmp_path}/out/", "--labels")[0] == 0
    for target in (tmp_path / "one.tif", tmp_path / "out" / "a.tif"):
        with rasterio.open(path) as given, rasterio.open(target) as labels:
            assert labels.crs == given.crs
            assert labels.transform == given.transform
            assert labels.gcps[1] == given.gcps[1]
            assert [p.asdict() | {"id": ""} for p in labels.gcps[0]] == [
                p.asdict() | {"id": ""} for p in given.gcps[0]
            ]
            assert labels.nodata == 0
            assert np.array_equal(labels.read(1) > 0, given.read_masks(1) > 0)


def test_nan_is_masked_with_a_warning(tmp_path):
    values = (image() / 255).astype(np.float32)
    values[:20, :30, 1] = np.nan
    values[40, 40] = np.inf
    path = geotiff(tmp_path / "a.tif", values, photometric="rgb")
    code, _, stderr = run(path, "-o", tmp_path / "out.png", "--labels")
    assert code == 0
    assert stderr == f"{path}: masked 601 of 4,800 pixels, which are NaN or infinite\n"
    labels = picture.read(tmp_path / "out.png").values
    has_data = np.isfinite(values).all(axis=2)
    assert np.array_equal(labels, segment(values, mask=has_data, start_label=1))
    with pytest.warns(UserWarning, match="601 of 4,800 pixels, which are NaN or infinite"):
        picture.read(path)
    for nodata in ("nan", 7):
        path = geotiff(tmp_path / "b.tif", np.full_like(values, float(nodata)), nodata=nodata)
        code, _, stderr = run(path, "-o", tmp_path / "none.png")
        assert code == 1
        expected = f"{str(path)!r} has no pixel with data, so there is nothing to segment"
        assert stderr == f"error: {expected}\n"
        assert not (tmp_path / "none.png").exists()


def test_values_out_of_range_name_the_option(tmp_path):
    path = geotiff(tmp_path / "a.tif", image() / np.float32(100), photometric="rgb")
    code, _, stderr = run(path, "-o", tmp_path / "out.png")
    assert code == 1
    assert stderr.startswith(f"error: {path}: values must be between 0 and 1 for floats")
    assert stderr.endswith("or --space none for raw values\n")
    assert run(path, "-o", tmp_path / "out.png", "--space", "none")[0] == 0


def test_regions_are_written_as_a_drawing(tmp_path):
    path = tmp_path / "a.png"
    Image.fromarray(image()).save(path)
    assert run(path, "-o", tmp_path / "out.svg")[0] == 0
    labels = segment(image())
    assert np.array_equal(read_svg(tmp_path / "out.svg", labels.shape)[0], labels)
    code, _, stderr = run(path, "-o", tmp_path / "lines.svg", "--overlay")
    assert code == 1
    assert "must end in .png" in stderr
