"""What pictures can be like: how they are read, and what `meanshiftpp segment` makes of them."""

from __future__ import annotations

import importlib.util
import warnings

import numpy as np
import pytest
import tifffile
from PIL import Image
from tests.apps.cli.pictures import geotiff, image, run

from meanshiftpp import picture, segment
from meanshiftpp.errors import InvalidInputError


def test_a_photograph_is_turned_upright(tmp_path):
    exif = Image.Exif()
    exif[0x112] = 6
    Image.fromarray(image()).save(tmp_path / "lying.jpg", exif=exif)
    assert picture.read(tmp_path / "lying.jpg").values.shape == (80, 60, 3)


def test_modes_of_pictures(tmp_path):
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
    assert (out[rgba[..., 3] == 0] == 0).all(), "not even under the mask"
    assert run(tmp_path / "a.png", "-o", tmp_path / "out.jpg", "--overlay")[0] == 0
    assert (picture.read(tmp_path / "out.jpg").values[:8, :8] > 240).all()


@pytest.mark.parametrize("kind", [bool, np.uint8, np.uint16])
def test_a_scan_in_which_0_is_white_is_no_negative(tmp_path, kind):
    ink = np.eye(40, dtype=bool).astype(kind) * kind(np.iinfo(kind).max if kind is not bool else 1)
    tifffile.imwrite(tmp_path / "scan.tif", ink, photometric="miniswhite")
    black = picture.read(tmp_path / "scan.tif").values == 0
    assert np.array_equal(black, np.eye(40, dtype=bool))


def test_tiffs_with_bands_and_slices(tmp_path):
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
    code, _, words = run(tmp_path / "volume.tif", "-o", tmp_path / "v.png")
    assert code == 1
    assert "write its labels" in words


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
    there = np.ones((60, 80), bool)
    there[:20, :30] = there[50:, 70:] = False
    values[:20, :30] = values[50:, 70:, -1] = np.dtype(dtype).type(float(nodata))
    values = values[..., 0] if bands == 1 else values
    path = geotiff(tmp_path / "a.tif", values, nodata=nodata)
    assert np.array_equal(picture.read(path).mask, there)
    code, _, words = run(path, "-o", tmp_path / "out.tif", "--labels")
    assert (code, words) == (0, "")
    labels = picture.read(tmp_path / "out.tif").values
    assert np.array_equal(labels, segment(values, mask=there, start_label=1))
    assert np.array_equal(labels > 0, there)
    assert labels.max() > 1
    assert run(path, "-o", tmp_path / "out.png")[0] == 0
    shown = picture.read(tmp_path / "out.png").values
    assert np.array_equal(shown[..., 3] > 0, there)
    assert len(np.unique(shown[there], axis=0)) > 2, "what is masked has no part in the stretch"


def test_12_bits_are_said_to_be_dark_and_shown_bright(tmp_path):
    path = geotiff(tmp_path / "a.tif", image().astype(np.uint16) * 16, photometric="rgb")
    code, _, words = run(path, "-o", tmp_path / "out.png")
    assert code == 0
    assert words.startswith(f"{path}: the image's values go up to ")
    assert words.endswith("or take --space none\n")
    assert words.count("\n") == 1
    code, _, words = run(path, "-o", tmp_path / "out.png", "--space", "none")
    assert (code, words) == (0, "")
    shown = picture.read(tmp_path / "out.png").values
    assert shown.max() > 200
    assert shown.min() < 60


def test_a_mask_in_the_file_and_no_data_among_coded_colours(tmp_path):
    there = np.ones((60, 80), bool)
    there[:20, :30] = False
    with tifffile.TiffWriter(tmp_path / "mask.tif") as file:
        file.write(image(), photometric="rgb", metadata=None)
        file.write(there, photometric="mask", subfiletype=4, metadata=None)
    codes = np.where(there, image()[..., 0] // 32 + 1, 0).astype(np.uint8)
    colours = np.zeros((3, 256), np.uint16)
    colours[:, 1:9] = np.linspace(0, 65535, 8)  # code 1 is as black as "no data"
    geotiff(tmp_path / "codes.tif", codes, nodata=0, photometric="palette", colormap=colours)
    for name in ("mask.tif", "codes.tif"):
        photo = picture.read(tmp_path / name)
        assert photo.values.shape == (60, 80, 3)
        assert np.array_equal(photo.mask, there)


def test_what_is_no_data_of_the_file_is_not_looked_for(tmp_path):
    for nodata in ("-9999", "300", "nan", "1e30", "none of it"):
        path = geotiff(tmp_path / "a.tif", image(), nodata=nodata)
        assert picture.read(path).mask is None, nodata
    assert picture.read(geotiff(tmp_path / "a.tif", image())).mask is None


@pytest.mark.parametrize("planar", ["contig", "separate"])
def test_a_fourth_band_is_alpha_only_if_the_file_says_so(tmp_path, planar):
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


def test_alpha_beside_any_number_of_bands_is_a_mask(tmp_path):
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


def test_a_packing_that_would_lose_a_band_is_refused(tmp_path):
    """Without imagecodecs tifffile knows no LZW; Pillow does, but not for four bands."""
    rasterio = pytest.importorskip("rasterio", reason="writes LZW")
    if importlib.util.find_spec("imagecodecs"):
        pytest.skip("imagecodecs is here, and reads all bands")
    from rasterio.errors import NotGeoreferencedWarning

    for dtype, photometric in (("uint8", "RGB"), ("uint16", "MINISBLACK")):
        values = np.moveaxis(np.dstack([image(), image(1)])[..., :4], -1, 0).astype(dtype)
        shape = {"count": 4, "height": 60, "width": 80, "dtype": dtype, "compress": "lzw"}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NotGeoreferencedWarning)
            path = tmp_path / "a.tif"
            with rasterio.open(path, "w", "GTiff", **shape, photometric=photometric) as file:
                file.write(values)
        with pytest.raises(InvalidInputError, match=r"packed with LZW.* pip install imagecodecs"):
            picture.read(path)


@pytest.mark.parametrize("by", ["transform", "points"])
def test_labels_lie_where_the_raster_lies(tmp_path, by):
    rasterio = pytest.importorskip("rasterio", reason="reads the place back")
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


def test_nan_is_masked_and_said(tmp_path):
    values = (image() / 255).astype(np.float32)
    values[:20, :30, 1] = np.nan
    values[40, 40] = np.inf
    path = geotiff(tmp_path / "a.tif", values, photometric="rgb")
    code, _, words = run(path, "-o", tmp_path / "out.png", "--labels")
    assert code == 0
    assert words == f"{path}: 601 of 4,800 pixels are NaN or infinite, and masked\n"
    labels = picture.read(tmp_path / "out.png").values
    there = np.isfinite(values).all(axis=2)
    assert np.array_equal(labels, segment(values, mask=there, start_label=1))
    with pytest.warns(UserWarning, match="601 of 4,800 pixels are NaN or infinite"):
        picture.read(path)
    for nodata in ("nan", 7):
        path = geotiff(tmp_path / "b.tif", np.full_like(values, float(nodata)), nodata=nodata)
        code, _, words = run(path, "-o", tmp_path / "none.png")
        assert code == 1
        assert (
            words == f"error: {str(path)!r} has no pixel with data: there is nothing to segment\n"
        )
        assert not (tmp_path / "none.png").exists()
