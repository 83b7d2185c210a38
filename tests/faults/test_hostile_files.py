"""Loading a file never executes anything: pickles, scripts and references in files are errors."""

from __future__ import annotations

import io
import json
import os
import pickle
import re
import zipfile
from pathlib import Path

import numpy as np
import pytest

from meanshiftpp import Grid
from meanshiftpp.core.tree import treefile
from meanshiftpp.errors import GridFileError, InvalidInputError, MeanShiftPPError
from meanshiftpp.images import picture
from meanshiftpp.io.checkpoint import Checkpoint
from meanshiftpp.stream import open_points
from meanshiftpp.video import read_frames, write_frames

SOURCE = Path(__file__).parents[2] / "src" / "meanshiftpp"


class Attack:
    """An object whose pickle makes a file when it is loaded."""

    def __init__(self, evidence: Path) -> None:
        self.evidence = evidence

    def __reduce__(self):
        return os.mkdir, (str(self.evidence),)


@pytest.fixture
def evidence(tmp_path):
    """A path that must not exist after the test."""
    path = tmp_path / "executed"
    yield path
    assert not path.exists()


def pickled_array(evidence: Path) -> bytes:
    file = io.BytesIO()
    np.save(file, np.array([[Attack(evidence)]], dtype=object), allow_pickle=True)
    return file.getvalue()


def test_the_attack_works_where_pickles_are_loaded(tmp_path):
    np.load(io.BytesIO(pickled_array(tmp_path / "executed")), allow_pickle=True)
    assert (tmp_path / "executed").exists()


@pytest.mark.parametrize("field", ["format", "version", "cells", "note", "columns", "unit"])
def test_a_grid_file_with_a_pickle_is_an_error(tmp_path, evidence, field):
    path = tmp_path / "a.grid"
    Grid.from_points([[0.0, 1.0]], 1.0).save(path, columns=["x", "y"])
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    parts[f"{field}.npy"] = pickled_array(evidence)
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    with pytest.raises(GridFileError):
        Grid.load(path)
    np.save(tmp_path / "points.npy", np.zeros((3, 2)))
    with pytest.raises(GridFileError):
        Checkpoint.resume(path, open_points(tmp_path / "points.npy"), Grid.empty(1.0, 2))
    with pytest.raises(GridFileError):
        treefile.from_bytes(path.read_bytes())


@pytest.mark.parametrize("name", ["a.grid", "a.npy", "a.csv", "a.parquet", "a.arrow", "a.las"])
def test_a_plain_pickle_is_not_read(tmp_path, evidence, name):
    path = tmp_path / name
    path.write_bytes(pickle.dumps(Attack(evidence)))
    with pytest.raises(MeanShiftPPError):
        Grid.load(path) if name.endswith(".grid") else open_points(path).read()


def test_an_array_of_objects_is_an_error(tmp_path, evidence):
    (tmp_path / "a.npy").write_bytes(pickled_array(evidence))
    with pytest.raises(InvalidInputError):
        open_points(tmp_path / "a.npy")


@pytest.mark.parametrize(
    "codecs", [{"filters": [{"id": "pickle"}]}, {"compressor": {"id": "pickle"}}]
)
def test_a_zarr_array_of_pickles_is_an_error(tmp_path, evidence, codecs):
    folder = tmp_path / "a.zarr"
    folder.mkdir()
    layout = {"shape": [4, 2], "chunks": [4, 2], "dtype": "<f8", "order": "C", "fill_value": 0}
    parts = {"zarr_format": 2, "filters": None, "compressor": None, **layout, **codecs}
    (folder / ".zarray").write_text(json.dumps(parts))
    (folder / "0.0").write_bytes(pickle.dumps(Attack(evidence)))
    with pytest.raises(InvalidInputError, match="is not a zarr array"):
        open_points(folder).read()


def test_a_script_with_the_name_of_a_picture_is_an_error(tmp_path):
    """Pillow would run Ghostscript for it."""
    path = tmp_path / "a.png"
    path.write_text(
        "%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n%%EndComments\nshowpage\n%%EOF\n"
    )
    with pytest.raises(InvalidInputError, match=r"a\.png"):
        picture.read(path)


def test_a_playlist_with_the_name_of_a_video_is_an_error(tmp_path):
    """FFmpeg would read the files and addresses in it."""
    with write_frames(tmp_path / "secret.ts.mp4", 25, (32, 32)) as write:
        write(np.zeros((32, 32, 3), np.uint8))
    (tmp_path / "a.mp4").write_text(
        "#EXTM3U\n#EXT-X-TARGETDURATION:9\n#EXTINF:9,\nsecret.ts.mp4\n#EXT-X-ENDLIST\n"
    )
    (tmp_path / "b.mp4").write_text("ffconcat version 1.0\nfile secret.ts.mp4\n")
    for name in ("a.mp4", "b.mp4"):
        with pytest.raises(InvalidInputError, match="is not a video, or is damaged"):
            read_frames(tmp_path / name)


def test_a_raster_that_refers_to_another_file_is_an_error(tmp_path):
    """GDAL would read the file or address in it."""
    (tmp_path / "a.tif").write_text(
        '<VRTDataset rasterXSize="2" rasterYSize="2"><VRTRasterBand dataType="Byte" band="1">'
        "<SimpleSource><SourceFilename>/etc/passwd</SourceFilename></SimpleSource>"
        "</VRTRasterBand></VRTDataset>"
    )
    with pytest.raises(InvalidInputError, match=r"a\.tif' is not a raster, or is damaged"):
        open_points(tmp_path / "a.tif")


def test_no_module_that_reads_files_loads_pickles_or_runs_text():
    """Spark's executors exchange pickles in memory, as Spark itself does."""
    for path in SOURCE.rglob("*.py"):
        text = path.read_text("utf-8")
        if path.parts[-3:-1] != ("engines", "spark"):
            assert not re.search(r"\b(pickle|marshal|shelve|joblib\.load|yaml)\b", _code(text)), (
                path
            )
        assert not re.search(r"(?<![.\w])(eval|exec)\(", _code(text)), path
        for call in re.findall(r"np\.load\([^\n]*", text):
            assert "allow_pickle=False" in call, path


def _code(text: str) -> str:
    """Return a module without its docstrings, comments and messages."""
    text = re.sub(r'""".*?"""', "", text, flags=re.DOTALL)
    return re.sub(r'#.*|"[^"\n]*"|`[^`\n]*`', "", text)


def test_pages_of_a_tiff_file_that_form_a_circle_are_an_error(tmp_path):
    tiff = pytest.importorskip("tifffile")
    path = tmp_path / "circle.tif"
    tiff.imwrite(path, np.zeros((2, 4, 5), np.uint8), photometric="minisblack", metadata=None)
    with tiff.TiffFile(path) as file:
        last = file.pages[-1]
    content = bytearray(path.read_bytes())
    next_page = last.offset + 2 + 12 * len(last.tags)
    content[next_page : next_page + 4] = last.offset.to_bytes(4, "little")
    path.write_bytes(content)
    with pytest.raises(InvalidInputError, match="its pages form a circle"):
        picture.read(path)
