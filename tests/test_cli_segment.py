"""`meanshiftpp segment`: every output, many files, and what happens to the bad ones."""

from __future__ import annotations

import importlib.util
import json
import struct
import subprocess
import sys
import warnings
import zlib
from pathlib import Path

import numpy as np
import pytest
import tifffile
from PIL import Image
from typer.testing import CliRunner

from meanshiftpp import palette, picture, segment
from meanshiftpp.cli.app import app
from meanshiftpp.draw import fill, overlay, region_colors
from meanshiftpp.errors import InvalidInputError


def run(*arguments: object) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, ["segment", *(str(argument) for argument in arguments)])
    return result.exit_code, result.stdout, result.stderr


def image(seed: int = 0) -> np.ndarray:
    values = np.full((60, 80, 3), (190.0, 200.0, 180.0))
    values[36:] = 70, 60, 50
    values[15:45, 12:36] = 180, 40, 30
    values += np.random.default_rng(seed).normal(0, 5, values.shape)
    return values.clip(0, 255).round().astype(np.uint8)


@pytest.fixture
def photo(tmp_path) -> Path:
    Image.fromarray(image()).save(tmp_path / "photo.png")
    return tmp_path / "photo.png"


@pytest.fixture
def bad(tmp_path) -> dict[str, Path]:
    """Files that are no pictures, by what is wrong with them."""
    Image.fromarray(image()).save(tmp_path / "whole.jpg")
    whole = (tmp_path / "whole.jpg").read_bytes()
    tifffile.imwrite(tmp_path / "whole.tif", image())
    contents = {
        "truncated.jpg": whole[: len(whole) // 2],
        "truncated.tif": (tmp_path / "whole.tif").read_bytes()[:5000],
        "text.jpg": b"no picture at all",
        "empty.png": b"",
        "unknown.xyz": b"?" * 100,
        "bomb.png": bomb(),
        "broken.mp4": b"\0" * 500,
    }
    (tmp_path / "whole.jpg").unlink()
    (tmp_path / "whole.tif").unlink()
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
    return {name: tmp_path / name for name in contents}


def bomb() -> bytes:
    """A small .png that says it is 50,000 pixels wide and high."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        check = struct.pack(">I", zlib.crc32(kind + data))
        return struct.pack(">I", len(data)) + kind + data + check

    head = struct.pack(">IIBBBBB", 50_000, 50_000, 8, 2, 0, 0, 0)
    body = zlib.compress(bytes(1000))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", body) + chunk(b"IEND", b"")


def left_over(folder: Path) -> list[str]:
    return [p.name for p in folder.rglob(".*")]


# -- one photograph --------------------------------------------------------------------------------


def test_regions_in_their_mean_colour(tmp_path, photo):
    code, text, _ = run(photo, "-o", tmp_path / "out.png")
    assert code == 0
    labels = segment(image())
    expected = fill(labels, region_colors(image(), labels))
    assert np.array_equal(picture.read(tmp_path / "out.png").values, expected)
    assert "photo.png" in text
    assert f"{labels.max() + 1} regions" in text
    assert "80 x 60" in text
    assert left_over(tmp_path) == []


def test_outlines_on_the_photograph(tmp_path, photo):
    assert run(photo, "-o", tmp_path / "out.png", "--overlay")[0] == 0
    expected = overlay(image(), segment(image()))
    assert np.array_equal(picture.read(tmp_path / "out.png").values, expected)


@pytest.mark.parametrize("suffix", [".png", ".tif"])
def test_label_images_have_16_bits(tmp_path, photo, suffix):
    assert run(photo, "-o", tmp_path / f"out{suffix}", "--labels")[0] == 0
    labels = picture.read(tmp_path / f"out{suffix}").values
    assert labels.dtype == np.uint16
    assert np.array_equal(labels, segment(image(), start_label=1))


def test_more_labels_than_16_bits(tmp_path):
    y, x = np.mgrid[:300, :300]
    labels = y * 300 + x + 1
    picture.write_labels(tmp_path / "many.tif", labels)
    back = picture.read(tmp_path / "many.tif").values
    assert back.dtype == np.uint32
    assert np.array_equal(back, labels)
    with pytest.raises(InvalidInputError, match=r"65,535 labels, these are 90,000: write a \.tif"):
        picture.write_labels(tmp_path / "many.png", labels)
    assert not (tmp_path / "many.png").exists()


def test_a_folder_of_labels_takes_the_format_they_need(tmp_path):
    """Every pixel its own cluster: more than a .png holds."""
    rng = np.random.default_rng(0)
    noise = rng.integers(0, 2**16, (270, 270, 3)).astype(np.uint16)
    tifffile.imwrite(tmp_path / "noise.tif", noise)
    options = ("--clusters", "--space", "none", "--bandwidth", "1", "--labels")
    assert run(tmp_path / "noise.tif", "-o", f"{tmp_path}/out/", *options)[0] == 0
    labels = picture.read(tmp_path / "out" / "noise.tif").values
    assert labels.dtype == np.uint32
    assert labels.max() > 65_535
    code, _, words = run(tmp_path / "noise.tif", "-o", tmp_path / "out.png", *options)
    assert code == 1
    assert "write a .tif" in words
    code, _, words = run(tmp_path / "noise.tif", "-o", f"{tmp_path}/", *options)
    assert code == 1
    assert "would be written over" in words
    assert np.array_equal(tifffile.imread(tmp_path / "noise.tif"), noise)


def test_the_palette_as_a_strip_and_as_json(tmp_path, photo):
    code, text, _ = run(photo, "-o", tmp_path / "out.png", "--palette", "--json")
    assert code == 0
    found = palette(image())
    (said,) = json.loads(text)["files"]
    assert (said["what"], said["found"]) == ("colors", len(found))
    assert [each["values"] for each in said["palette"]] == found.colors.tolist()
    assert [each["share"] for each in said["palette"]] == found.shares.tolist()
    first = said["palette"][0]["color"]
    assert first == "#" + bytes(found.colors[0].tolist()).hex()
    strip = picture.read(tmp_path / "out.png").values
    assert strip[5, 5].tolist() == found.colors[0].tolist()
    wide = (strip[5] == found.colors[0]).all(axis=1).mean()
    assert wide == pytest.approx(found.shares[0], abs=0.01)
    assert first in run(photo, "-o", tmp_path / "out.png", "--palette")[1]


@pytest.mark.parametrize("dtype", ["uint16", "int32", "float32"])
@pytest.mark.parametrize("bands", [1, 3, 6])
def test_the_palette_of_a_raster_is_stretched_as_its_picture(tmp_path, dtype, bands):
    """By the image, where hardly a pixel is bright: not by the few colours of the palette."""
    values = np.full((60, 80, bands), 300, dtype)
    values[:, 40:] = 500
    values[:4, :4] = 7000
    values[50:, :10] = -9999 if dtype != "uint16" else 65535
    values = values[..., 0] if bands == 1 else values
    path = geotiff(tmp_path / "a.tif", values, nodata=values.flat[50 * 80 * bands])
    options = ("--palette", "--space", "none", "-b", "20", "--json")
    code, text, _ = run(path, "-o", tmp_path / "out.png", *options)
    assert code == 0
    found = json.loads(text)["files"][0]["palette"]
    assert [each["color"] for each in found] == ["#ffffff", "#000000", "#ffffff"]
    assert run(path, "-o", tmp_path / "out.png", "--clusters", *options[1:])[0] == 0
    shown = picture.read(tmp_path / "out.png").values
    assert shown[30, 20].tolist() == [0, 0, 0, 255]
    assert shown[30, 60].tolist() == [255, 255, 255, 255]


def test_json_is_one_object(tmp_path, photo):
    code, text, words = run(photo, "-o", tmp_path / "out.png", "--json", "--threads", 1)
    assert code == 0
    assert words == ""
    said = json.loads(text)
    assert said["failed"] == []
    (file,) = said["files"]
    assert file["file"] == str(photo)
    assert file["output"] == str(tmp_path / "out.png")
    assert file["size"] == [80, 60]
    assert file["found"] == segment(image()).max() + 1
    assert file["seconds"] > 0


def test_options_reach_the_function(tmp_path, photo):
    for arguments, options in [
        (("--detail", "8"), {"detail": 8.0}),
        (("--detail", "8", "--min-size", "60"), {"detail": 8.0, "min_size": 60}),
        (("--space", "luv", "-b", "5"), {"space": "luv", "bandwidth": 5.0}),
        (("--space", "none"), {"space": None}),
        (("--clusters",), {"regions": False}),
        (
            ("--clusters", "--space", "rgb", "--spatial", "20"),
            {"regions": False, "space": "rgb", "spatial": 20.0},
        ),
    ]:
        assert run(photo, "-o", tmp_path / "out.png", "--labels", *arguments)[0] == 0
        labels = picture.read(tmp_path / "out.png").values
        assert np.array_equal(labels, segment(image(), start_label=1, **options)), arguments


@pytest.mark.parametrize("suffix", [".jpg", ".webp", ".bmp", ".tif"])
def test_other_formats_out(tmp_path, photo, suffix):
    assert run(photo, "-o", tmp_path / f"out{suffix}")[0] == 0
    assert picture.read(tmp_path / f"out{suffix}").values.shape == (60, 80, 3)


# -- what pictures can be like ---------------------------------------------------------------------


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


def geotiff(path: Path, values: np.ndarray, **tags: object) -> Path:
    """A .tif of bands (channels last) with the "no data" that GDAL writes."""
    extra = [(42113, "s", 0, str(tags.pop("nodata")), True)] if "nodata" in tags else []
    layout = {"photometric": "minisblack", "planarconfig": "contig"} if values.ndim == 3 else {}
    tifffile.imwrite(path, values, extratags=extra, metadata=None, **layout | tags)
    return path


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


# -- many files ------------------------------------------------------------------------------------


def test_many_go_to_a_folder_or_by_a_pattern(tmp_path):
    for i in range(3):
        Image.fromarray(image(i)).save(tmp_path / f"p{i}.jpg")
    files = [tmp_path / f"p{i}.jpg" for i in range(3)]
    assert run(*files, "-o", tmp_path / "new" / "out")[0] == 0
    assert sorted(p.name for p in (tmp_path / "new" / "out").iterdir()) == [
        "p0.png",
        "p1.png",
        "p2.png",
    ]
    assert run(*files, "-o", tmp_path / "{name}-labels.tif", "--labels")[0] == 0
    assert (tmp_path / "p2-labels.tif").exists()
    assert run(*files, "-o", tmp_path / "made" / "{name}" / "{name}-fine.png")[0] == 0
    assert (tmp_path / "made" / "p2" / "p2-fine.png").exists()
    (tmp_path / "photos").mkdir()
    for file in files:
        file.rename(tmp_path / "photos" / file.name)
    code, text, _ = run(tmp_path / "photos", "-o", tmp_path / "again", "--json")
    assert code == 0
    assert len(json.loads(text)["files"]) == 3


def test_a_batch_goes_on_and_reports_what_failed(tmp_path, photo, bad):
    Image.fromarray(image(5)).save(tmp_path / "zebra.png")
    (tmp_path / "bare").mkdir()
    (tmp_path / "bare" / "notes.txt").write_text("no picture")
    names = [photo, *bad.values(), tmp_path / "none.jpg", tmp_path / "bare", tmp_path / "zebra.png"]
    code, text, words = run(*names, "-o", tmp_path / "out", "--json")
    assert code == 1
    said = json.loads(text)
    assert [Path(each["file"]).name for each in said["files"]] == ["photo.png", "zebra.png"]
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == ["photo.png", "zebra.png"]
    errors = {Path(each["file"]).name: each["error"] for each in said["failed"]}
    for name, expected in {
        "truncated.jpg": "is damaged: image file is truncated",
        "truncated.tif": "is damaged",
        "text.jpg": "is no picture in a format known here",
        "empty.png": "is empty",
        "unknown.xyz": "is no picture in a format known here",
        "bomb.png": "2,500,000,000 pixels would be unpacked, and Pillow's limit is",
        "broken.mp4": "is no video, or is damaged",
        "none.jpg": "No such file",
        "bare": "no pictures in folder",
    }.items():
        assert expected in errors.pop(name)
    assert errors == {}
    for each in said["failed"]:
        assert f"error: {each['error']}" in words
        assert each["file"] in each["error"]
    assert "9 of 11 files failed" in words
    assert "Traceback" not in words
    assert left_over(tmp_path) == []


@pytest.mark.parametrize("name", ["truncated.jpg", "bomb.png", "broken.mp4"])
def test_one_bad_file_is_one_line_and_1(tmp_path, bad, name):
    suffix = ".mp4" if name.endswith("mp4") else ".png"
    (tmp_path / f"out{suffix}").write_bytes(b"what was there")
    code, text, words = run(bad[name], "-o", tmp_path / f"out{suffix}")
    assert code == 1
    assert text == ""
    assert words.startswith("error: ")
    assert len(words.splitlines()) == 1
    assert (tmp_path / f"out{suffix}").read_bytes() == b"what was there"
    assert left_over(tmp_path) == []


def test_no_file_is_written_over_an_input_or_another_result(tmp_path, photo):
    before = photo.read_bytes()
    code, _, words = run(photo, "-o", f"{tmp_path}/")
    assert code == 1
    assert "would be written over" in words
    assert photo.read_bytes() == before
    (tmp_path / "other").mkdir()
    Image.fromarray(image(7)).save(tmp_path / "other" / "photo.jpg")
    code, text, words = run(photo, tmp_path / "other", "-o", tmp_path / "out", "--json")
    assert code == 1
    assert "over the result of" in words
    assert len(json.loads(text)["files"]) == 1


def test_wrong_usage_is_2(tmp_path, photo):
    out = tmp_path / "out.png"
    for arguments in [
        (photo,),
        ("-o", out),
        (photo, "-o", out, "--overlay", "--labels"),
        (photo, "-o", out, "--palette", "--detail", "2"),
        (photo, "-o", out, "--palette", "--spatial", "2"),
        (photo, "-o", out, "--clusters", "--min-size", "20"),
        (photo, "-o", out, "--bandwidth", "0"),
        (photo, "-o", out, "--bandwidth", "nan"),
        (photo, "-o", out, "--detail", "-1"),
        (photo, "-o", out, "--spatial", "0"),
        (photo, "-o", out, "--min-size", "0"),
        (photo, "-o", out, "--space", "cmyk"),
        (photo, "-o", out, "--threads", "0"),
        (photo, photo, "-o", out),
    ]:
        code, text, _ = run(*arguments)
        assert code == 2, arguments
        assert text == ""
    assert not out.exists()


def test_outputs_that_cannot_be(tmp_path, photo):
    (tmp_path / "file").write_text("")
    (tmp_path / "empty").mkdir()
    for arguments, expected in [
        ((photo, "-o", tmp_path / "gone" / "out.png"), "no folder"),
        ((photo, "-o", tmp_path / "out.xyz"), "must end in .png"),
        ((photo, "-o", tmp_path / "out.jpg", "--labels"), "must end in .png, .tif or .tiff"),
        ((photo, "-o", tmp_path / "out"), "must end in"),
        ((photo, tmp_path / "b.png", "-o", tmp_path / "file" / "x"), "cannot make the folder"),
        ((photo, "-o", tmp_path / "file" / "{name}.png"), "cannot make the folder"),
        ((tmp_path / "empty", "-o", tmp_path / "out"), "no pictures in folder"),
    ]:
        code, _, words = run(*arguments)
        assert code == 1, arguments
        assert expected in words


# -- videos ----------------------------------------------------------------------------------------


def frames(n: int = 6) -> list[np.ndarray]:
    out = []
    for i in range(n):
        values = image(i)
        values[20:32, 40 + 4 * i : 52 + 4 * i] = 30, 60, 200
        out.append(values)
    return out


@pytest.fixture
def clip(tmp_path) -> Path:
    pytest.importorskip("av", reason="PyAV reads and writes videos")
    from meanshiftpp.video import write_frames

    with write_frames(tmp_path / "clip.mp4", 12, (80, 60)) as write:
        for each in frames():
            write(each)
    return tmp_path / "clip.mp4"


@pytest.mark.parametrize("options", [(), ("--overlay",), ("--clusters",), ("--detail", "3")])
def test_a_video_becomes_a_video(tmp_path, clip, options):
    from meanshiftpp.video import read_frames

    code, text, _ = run(clip, "-o", tmp_path / "out.mp4", *options, "--json")
    assert code == 0
    (said,) = json.loads(text)["files"]
    assert (said["frames"], said["size"]) == (6, [80, 60])
    with read_frames(tmp_path / "out.mp4") as back:
        assert (back.size, back.fps) == ((80, 60), 12)
        assert len(list(back)) == 6
    assert left_over(tmp_path) == []


def test_videos_and_photographs_together(tmp_path, clip, photo):
    code, text, _ = run(clip, photo, "-o", tmp_path / "out")
    assert code == 0
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == ["clip.mp4", "photo.png"]
    assert "6 frames" in text


def test_a_folder_of_frames_becomes_a_video(tmp_path):
    pytest.importorskip("av", reason="PyAV reads and writes videos")
    from meanshiftpp.video import read_frames

    (tmp_path / "frames").mkdir()
    for i, each in enumerate(frames(4)):
        Image.fromarray(each).save(tmp_path / "frames" / f"{i:03}.png")
    assert run(tmp_path / "frames", "-o", tmp_path / "out.mp4")[0] == 0
    with read_frames(tmp_path / "out.mp4") as back:
        assert len(list(back)) == 4


def test_what_a_video_cannot_be(tmp_path, clip):
    for arguments, expected in [
        (("-o", tmp_path / "out.png", "--labels"), "--labels is for pictures"),
        (("-o", tmp_path / "out.png", "--palette"), "--palette is for pictures"),
        (("-o", tmp_path / "out.png"), "must end in .mp4"),
        (("-o", tmp_path / "out.mp4", "--space", "none"), "space must be one of"),
    ]:
        code, _, words = run(clip, *arguments)
        assert code == 1
        assert expected in words
    cut = tmp_path / "cut.mp4"
    cut.write_bytes(clip.read_bytes()[:-400])
    code, _, words = run(cut, "-o", tmp_path / "out.mp4")
    assert code == 1
    assert not (tmp_path / "out.mp4").exists()
    assert left_over(tmp_path) == []


# -- the program -----------------------------------------------------------------------------------


@pytest.mark.parametrize(("missing", "extra"), [("PIL", "image"), ("av", "video")])
def test_what_is_not_installed_is_named_with_its_line(tmp_path, missing, extra):
    source = tmp_path / ("a.mp4" if missing == "av" else "a.png")
    source.write_bytes(b"anything")
    target = tmp_path / f"out{source.suffix}"
    code = (
        f"import sys; sys.modules[{missing!r}] = None\n"
        f"sys.argv = ['meanshiftpp', 'segment', {str(source)!r}, '-o', {str(target)!r}]\n"
        "from meanshiftpp.__main__ import main; main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert f'pip install "meanshiftpp[{extra}]"' in done.stderr
    assert "Traceback" not in done.stderr


def test_the_demo_segments_a_photograph(tmp_path, monkeypatch):
    pytest.importorskip("skimage", reason="the photograph of the demo comes with scikit-image")
    from meanshiftpp import demo

    small = demo.gaussians(20_000)
    monkeypatch.setattr("meanshiftpp.demo.gaussians", lambda: small)
    result = CliRunner().invoke(app, ["demo", "--out", str(tmp_path)])
    assert result.exit_code == 0
    assert "felzenszwalb" in result.stdout
    assert "slic" in result.stdout
    assert picture.read(tmp_path / "photograph.png").values.shape[2] == 3


def test_without_scikit_image_the_demo_says_what_is_missing(tmp_path, monkeypatch):
    from meanshiftpp import demo

    small = demo.gaussians(20_000)
    monkeypatch.setattr("meanshiftpp.demo.gaussians", lambda: small)
    monkeypatch.setitem(sys.modules, "skimage.data", None)
    result = CliRunner().invoke(app, ["demo", "--out", str(tmp_path)])
    assert result.exit_code == 0
    assert "pip install scikit-image" in result.stdout
    assert not (tmp_path / "photograph.png").exists()
