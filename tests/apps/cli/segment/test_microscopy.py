"""From the files of a microscope to label images and one table of measurements."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest
import tifffile
from skimage.measure import regionprops_table
from tests.apps.cli.pictures import image, run
from tests.images.nuclei import nuclei

from meanshiftpp import picture, segment


@pytest.fixture
def series(tmp_path):
    """Write three images of 12 bits, as ImageJ does, and one of two channels as OME."""
    folder = tmp_path / "raw"
    folder.mkdir()
    for seed in range(3):
        values, _ = nuclei(12, 200, seed)
        metadata = {"axes": "YX", "unit": "um"}
        options = {"imagej": True, "resolution": (4, 4), "metadata": metadata}
        tifffile.imwrite(folder / f"field{seed}.tif", values, **options)
    return folder


def rows(path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_a_folder_becomes_labels_and_one_table(tmp_path, series):
    out, table = tmp_path / "labels", tmp_path / "regions.csv"
    options = ("--labels", "--detail", 10, "--measure", table)
    assert run(series, "-o", out, *options)[0] == 0
    found = rows(table)
    properties = ("label", "area", "centroid", "bbox", "intensity_mean")
    for source in sorted(series.iterdir()):
        written = picture.read(out / source.name)
        values = picture.read(source)
        assert np.array_equal(written.values, segment(values.values, detail=10) + 1)
        assert written.spacing == values.spacing
        assert written.spacing.units["X"] == "um"
        expected = regionprops_table(
            written.values.astype(int), values.values, properties=properties
        )
        mine = [row for row in found if row["file"] == str(source)]
        assert list(mine[0]) == ["file", *expected]
        for name, column in expected.items():
            assert np.allclose([float(row[name]) for row in mine], column, rtol=1e-12)
    assert len({row["file"] for row in found}) == 3


def test_files_with_other_channels_leave_cells_empty(tmp_path, series):
    picture.write(series / "photo.png", image())
    table = tmp_path / "regions.csv"
    assert run(series, "-o", tmp_path / "out", "--measure", table)[0] == 0
    found = rows(table)
    assert list(found[0])[-4:] == ["intensity_mean", *(f"intensity_mean-{k}" for k in range(3))]
    for row in found:
        is_colour = row["file"].endswith("photo.png")
        assert (row["intensity_mean"] == "") == is_colour
        assert (row["intensity_mean-2"] == "") == (not is_colour)


def test_a_failed_file_is_not_in_the_table(tmp_path, series):
    (series / "broken.tif").write_bytes(b"II")
    table = tmp_path / "regions.csv"
    code, text, _ = run(series, "-o", tmp_path / "out", "--labels", "--measure", table, "--json")
    assert code == 1
    assert len(json.loads(text)["files"]) == 3
    assert len({row["file"] for row in rows(table)}) == 3


def test_impossible_tables_are_reported(tmp_path, series):
    out = tmp_path / "out"
    code, _, stderr = run(series, "-o", out, "--measure", tmp_path / "a.xlsx")
    assert (code, "must end in .csv" in stderr) == (1, True)
    code, _, stderr = run(series, "-o", out, "--palette", "--measure", tmp_path / "a.csv")
    assert (code, "--measure has no effect with --palette" in stderr) == (2, True)
    code, _, stderr = run(series, "-o", out, "--measure", tmp_path / "gone" / "a.csv")
    assert (code, "gone" in stderr) == (1, True)
    assert not list(tmp_path.glob("*.csv"))
