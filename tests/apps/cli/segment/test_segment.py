"""`meanshiftpp segment`: every kind of output, many files, and files that fail."""

from __future__ import annotations

import json
import struct
import subprocess
import sys
import zlib
from pathlib import Path

import numpy as np
import pytest
import tifffile
from PIL import Image
from tests.apps.cli.pictures import geotiff, image, left_over, run
from typer.testing import CliRunner

from meanshiftpp import palette, picture, segment
from meanshiftpp.apps.cli.app import app
from meanshiftpp.errors import InvalidInputError
from meanshiftpp.images.draw import fill, overlay, region_colors


@pytest.fixture
def photo(tmp_path) -> Path:
    Image.fromarray(image()).save(tmp_path / "photo.png")
    return tmp_path / "photo.png"


@pytest.fixture
def bad(tmp_path) -> dict[str, Path]:
    """Return files that are not pictures, by the problem with them."""
    Image.fromarray(image()).save(tmp_path / "whole.jpg")
    whole = (tmp_path / "whole.jpg").read_bytes()
    tifffile.imwrite(tmp_path / "whole.tif", image())
    contents = {
        "truncated.jpg": whole[: len(whole) // 2],
        "truncated.tif": (tmp_path / "whole.tif").read_bytes()[:5000],
        "text.jpg": b"not a picture",
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
    """Return a small .png that declares 50,000 x 50,000 pixels."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        check = struct.pack(">I", zlib.crc32(kind + data))
        return struct.pack(">I", len(data)) + kind + data + check

    head = struct.pack(">IIBBBBB", 50_000, 50_000, 8, 2, 0, 0, 0)
    body = zlib.compress(bytes(1000))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", body) + chunk(b"IEND", b"")


# -- one photograph --------------------------------------------------------------------------------


def test_regions_are_drawn_in_their_mean_colour(tmp_path, photo):
    code, text, _ = run(photo, "-o", tmp_path / "out.png")
    assert code == 0
    labels = segment(image())
    expected = fill(labels, region_colors(image(), labels))
    assert np.array_equal(picture.read(tmp_path / "out.png").values, expected)
    assert "photo.png" in text
    assert f"{labels.max() + 1} regions" in text
    assert "80 x 60" in text
    assert left_over(tmp_path) == []


def test_outlines_are_drawn_on_the_photograph(tmp_path, photo):
    assert run(photo, "-o", tmp_path / "out.png", "--overlay")[0] == 0
    expected = overlay(image(), segment(image()))
    assert np.array_equal(picture.read(tmp_path / "out.png").values, expected)


@pytest.mark.parametrize("suffix", [".png", ".tif"])
def test_label_images_have_16_bits(tmp_path, photo, suffix):
    assert run(photo, "-o", tmp_path / f"out{suffix}", "--labels")[0] == 0
    labels = picture.read(tmp_path / f"out{suffix}").values
    assert labels.dtype == np.uint16
    assert np.array_equal(labels, segment(image(), start_label=1))


def test_more_labels_than_16_bits_need_a_tif(tmp_path):
    y, x = np.mgrid[:300, :300]
    labels = y * 300 + x + 1
    picture.write_labels(tmp_path / "many.tif", labels)
    back = picture.read(tmp_path / "many.tif").values
    assert back.dtype == np.uint32
    assert np.array_equal(back, labels)
    with pytest.raises(InvalidInputError, match=r"65,535 labels, got 90,000; write a \.tif"):
        picture.write_labels(tmp_path / "many.png", labels)
    assert not (tmp_path / "many.png").exists()


def test_labels_in_a_folder_get_the_format_they_need(tmp_path):
    """Every pixel is its own cluster, so there are more than a .png holds."""
    rng = np.random.default_rng(0)
    noise = rng.integers(0, 2**16, (270, 270, 3)).astype(np.uint16)
    tifffile.imwrite(tmp_path / "noise.tif", noise)
    options = ("--clusters", "--space", "none", "--bandwidth", "1", "--labels")
    assert run(tmp_path / "noise.tif", "-o", f"{tmp_path}/out/", *options)[0] == 0
    labels = picture.read(tmp_path / "out" / "noise.tif").values
    assert labels.dtype == np.uint32
    assert labels.max() > 65_535
    code, _, stderr = run(tmp_path / "noise.tif", "-o", tmp_path / "out.png", *options)
    assert code == 1
    assert "write a .tif" in stderr
    code, _, stderr = run(tmp_path / "noise.tif", "-o", f"{tmp_path}/", *options)
    assert code == 1
    assert "would overwrite" in stderr
    assert np.array_equal(tifffile.imread(tmp_path / "noise.tif"), noise)


def test_the_palette_is_a_strip_and_json(tmp_path, photo):
    code, text, _ = run(photo, "-o", tmp_path / "out.png", "--palette", "--json")
    assert code == 0
    expected = palette(image())
    (file,) = json.loads(text)["files"]
    assert (file["what"], file["found"]) == ("colors", len(expected))
    assert [each["values"] for each in file["palette"]] == expected.colors.tolist()
    assert [each["share"] for each in file["palette"]] == expected.shares.tolist()
    first = file["palette"][0]["color"]
    assert first == "#" + bytes(expected.colors[0].tolist()).hex()
    strip = picture.read(tmp_path / "out.png").values
    assert strip[5, 5].tolist() == expected.colors[0].tolist()
    wide = (strip[5] == expected.colors[0]).all(axis=1).mean()
    assert wide == pytest.approx(expected.shares[0], abs=0.01)
    assert first in run(photo, "-o", tmp_path / "out.png", "--palette")[1]
    assert run(photo, "-o", tmp_path / "out.css", "--palette")[0] == 0
    assert f"--color-1: {first};" in (tmp_path / "out.css").read_text()


@pytest.mark.parametrize("dtype", ["uint16", "int32", "float32"])
@pytest.mark.parametrize("bands", [1, 3, 6])
def test_the_palette_of_a_raster_is_stretched_like_its_picture(tmp_path, dtype, bands):
    """The limits come from the image, with few bright pixels, not from the palette."""
    values = np.full((60, 80, bands), 300, dtype)
    values[:, 40:] = 500
    values[:4, :4] = 7000
    values[50:, :10] = -9999 if dtype != "uint16" else 65535
    values = values[..., 0] if bands == 1 else values
    path = geotiff(tmp_path / "a.tif", values, nodata=values.flat[50 * 80 * bands])
    options = ("--palette", "--space", "none", "-b", "20", "--json")
    code, text, _ = run(path, "-o", tmp_path / "out.png", *options)
    assert code == 0
    expected = json.loads(text)["files"][0]["palette"]
    assert [each["color"] for each in expected] == ["#ffffff", "#000000", "#ffffff"]
    assert run(path, "-o", tmp_path / "out.png", "--clusters", *options[1:])[0] == 0
    drawn = picture.read(tmp_path / "out.png").values
    assert drawn[30, 20].tolist() == [0, 0, 0, 255]
    assert drawn[30, 60].tolist() == [255, 255, 255, 255]


def test_json_is_one_object(tmp_path, photo):
    code, text, stderr = run(photo, "-o", tmp_path / "out.png", "--json", "--threads", 1)
    assert code == 0
    assert stderr == ""
    report = json.loads(text)
    assert report["failed"] == []
    (file,) = report["files"]
    assert file["file"] == str(photo)
    assert file["output"] == str(tmp_path / "out.png")
    assert file["size"] == [80, 60]
    assert file["found"] == segment(image()).max() + 1
    assert file["seconds"] > 0


def test_options_reach_the_function(tmp_path, photo):
    for arguments, options in [
        (("--detail", "8"), {"detail": 8.0}),
        (("--regions", "2"), {"regions": 2}),
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
def test_other_formats_are_written(tmp_path, photo, suffix):
    assert run(photo, "-o", tmp_path / f"out{suffix}")[0] == 0
    assert picture.read(tmp_path / f"out{suffix}").values.shape == (60, 80, 3)


# -- many files ------------------------------------------------------------------------------------


def test_many_results_go_to_a_folder_or_a_pattern(tmp_path):
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


@pytest.mark.parametrize("output", ["new/out/", "new/{name}/{name}.png", "new/{name}-{name}.png"])
def test_a_folder_is_created_for_results_only(tmp_path, photo, bad, output):
    """A file that fails leaves no folder; one that does not keeps its own."""
    before = sorted(tmp_path.rglob("*"))
    assert run(bad["text.jpg"], "-o", f"{tmp_path}/{output}")[0] == 1
    assert sorted(tmp_path.rglob("*")) == before
    code, text, _ = run(bad["text.jpg"], photo, "-o", f"{tmp_path}/{output}", "--json")
    assert code == 1
    written = Path(json.loads(text)["files"][0]["output"])
    parents = [each for each in written.parents if tmp_path in each.parents]
    assert sorted({*tmp_path.rglob("*")} - {*before}) == sorted([written, *parents])


def test_a_folder_that_was_there_stays(tmp_path, bad):
    (tmp_path / "mine").mkdir()
    assert run(bad["text.jpg"], "-o", f"{tmp_path}/mine/")[0] == 1
    assert (tmp_path / "mine").is_dir()


def test_a_batch_reports_failures_and_continues(tmp_path, photo, bad):
    Image.fromarray(image(5)).save(tmp_path / "zebra.png")
    (tmp_path / "bare").mkdir()
    (tmp_path / "bare" / "notes.txt").write_text("not a picture")
    names = [photo, *bad.values(), tmp_path / "none.jpg", tmp_path / "bare", tmp_path / "zebra.png"]
    code, text, stderr = run(*names, "-o", tmp_path / "out", "--json")
    assert code == 1
    report = json.loads(text)
    assert [Path(each["file"]).name for each in report["files"]] == ["photo.png", "zebra.png"]
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == ["photo.png", "zebra.png"]
    errors = {Path(each["file"]).name: each["error"] for each in report["failed"]}
    for name, expected in {
        "truncated.jpg": "is damaged: image file is truncated",
        "truncated.tif": "is damaged",
        "text.jpg": "is not a picture in a known format",
        "empty.png": "is empty",
        "unknown.xyz": "is not a picture in a known format",
        "bomb.png": "2,500,000,000 pixels, more than Pillow's limit of",
        "broken.mp4": "is not a video, or is damaged",
        "none.jpg": "No such file",
        "bare": "contains no pictures or videos",
    }.items():
        assert expected in errors.pop(name)
    assert errors == {}
    for each in report["failed"]:
        assert f"error: {each['error']}" in stderr
        assert each["file"] in each["error"]
    assert "9 of 11 files failed" in stderr
    assert "Traceback" not in stderr
    assert left_over(tmp_path) == []


@pytest.mark.parametrize("name", ["truncated.jpg", "bomb.png", "broken.mp4"])
def test_one_bad_file_is_one_line_and_exit_code_1(tmp_path, bad, name):
    suffix = ".mp4" if name.endswith("mp4") else ".png"
    (tmp_path / f"out{suffix}").write_bytes(b"old content")
    code, text, stderr = run(bad[name], "-o", tmp_path / f"out{suffix}")
    assert code == 1
    assert text == ""
    assert stderr.startswith("error: ")
    assert len(stderr.splitlines()) == 1
    assert (tmp_path / f"out{suffix}").read_bytes() == b"old content"
    assert left_over(tmp_path) == []


def test_results_do_not_overwrite_inputs_or_each_other(tmp_path, photo):
    before = photo.read_bytes()
    code, _, stderr = run(photo, "-o", f"{tmp_path}/")
    assert code == 1
    assert "would overwrite" in stderr
    assert photo.read_bytes() == before
    (tmp_path / "other").mkdir()
    Image.fromarray(image(7)).save(tmp_path / "other" / "photo.jpg")
    code, text, stderr = run(photo, tmp_path / "other", "-o", tmp_path / "out", "--json")
    assert code == 1
    assert "overwrite the result of" in stderr
    assert len(json.loads(text)["files"]) == 1


def test_wrong_usage_has_exit_code_2(tmp_path, photo):
    out = tmp_path / "out.png"
    for arguments in [
        (photo,),
        ("-o", out),
        (photo, "-o", out, "--overlay", "--labels"),
        (photo, "-o", out, "--palette", "--detail", "2"),
        (photo, "-o", out, "--palette", "--spatial", "2"),
        (photo, "-o", out, "--clusters", "--min-size", "20"),
        (photo, "-o", out, "--clusters", "--regions", "20"),
        (photo, "-o", out, "--palette", "--regions", "20"),
        (photo, "-o", out, "--detail", "2", "--regions", "20"),
        (photo, "-o", out, "--regions", "0"),
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


def test_impossible_outputs_have_exit_code_1(tmp_path, photo):
    (tmp_path / "file").write_text("")
    (tmp_path / "empty").mkdir()
    for arguments, expected in [
        ((photo, "-o", tmp_path / "gone" / "out.png"), "does not exist"),
        ((photo, "-o", tmp_path / "out.xyz"), "must end in .png"),
        ((photo, "-o", tmp_path / "out.jpg", "--labels"), "must end in .png, .tif or .tiff"),
        ((photo, "-o", tmp_path / "out"), "must end in"),
        ((photo, tmp_path / "b.png", "-o", tmp_path / "file" / "x"), "cannot create the folder"),
        ((photo, "-o", tmp_path / "file" / "{name}.png"), "cannot create the folder"),
        ((tmp_path / "empty", "-o", tmp_path / "out"), "contains no pictures or videos"),
    ]:
        code, _, stderr = run(*arguments)
        assert code == 1, arguments
        assert expected in stderr


# -- optional packages and the demo ----------------------------------------------------------------


@pytest.mark.parametrize(("missing", "extra"), [("PIL", "image"), ("av", "video")])
def test_a_missing_extra_is_reported_with_its_install_command(tmp_path, missing, extra):
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


def test_without_scikit_image_the_demo_reports_the_missing_package(tmp_path, monkeypatch):
    for other in ("_cluster_points", "_track_ball"):
        monkeypatch.setattr(f"meanshiftpp.apps.demo.{other}", lambda *_: [])
    monkeypatch.setitem(sys.modules, "skimage.data", None)
    result = CliRunner().invoke(app, ["demo", "--output", str(tmp_path)])
    assert result.exit_code == 0
    assert "pip install scikit-image" in result.stdout
    assert not (tmp_path / "photograph.png").exists()
