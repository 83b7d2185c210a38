"""Files that are broken, of the wrong kind or missing are errors with their name."""

from __future__ import annotations

import os
import sys
import threading

import numpy as np
import pyarrow as pa
import pytest
from tests.io.table_files import TABLES, as_table, write, write_array, zeros

from meanshiftpp import Grid
from meanshiftpp.errors import FileAccessError, InvalidInputError, MissingExtraError
from meanshiftpp.stream import build_grid, open_points, write_labels


@pytest.mark.parametrize("suffix", [".npy", ".parquet", ".arrow"])
@pytest.mark.parametrize("content", [b"", b"PAR1 not really", b"\x93NUMPY\x01\x00"])
def test_a_broken_binary_file_is_an_error(tmp_path, suffix, content):
    path = tmp_path / f"t{suffix}"
    path.write_bytes(content)
    with pytest.raises(InvalidInputError, match=f"'.*t{suffix}' is not a {suffix}"):
        open_points(path)


@pytest.mark.parametrize("suffix", [".parquet", ".arrow", ".npy"])
def test_the_error_of_a_truncated_file_names_it(tmp_path, X, suffix):
    path = tmp_path / f"t{suffix}"
    write(path, as_table(X)) if suffix != ".npy" else write_array(path, X)
    os.truncate(path, path.stat().st_size * 2 // 3)
    with pytest.raises(InvalidInputError, match=f"t{suffix}' is not a {suffix}"):
        open_points(path)


def test_damage_within_a_parquet_file_is_an_error_when_it_is_read(tmp_path, X):
    path = write(tmp_path / "t.parquet", as_table(X))
    content = bytearray(path.read_bytes())
    content[100:30_000] = bytes(29_900)
    path.write_bytes(content)
    source = open_points(path)
    with pytest.raises(InvalidInputError, match=r"t.parquet' is not a .parquet table, or is"):
        write_labels(tmp_path / "o.parquet", source, zeros)
    assert [p.name for p in tmp_path.iterdir()] == ["t.parquet"]


@pytest.mark.parametrize("suffix", [*TABLES, ".npy", ".zarr"])
def test_the_error_of_a_nan_names_file_row_and_column(tmp_path, X, suffix, small_chunks):
    bad = X.copy()
    bad[7777, 1] = np.nan
    for name, part in (("a", X[:100]), ("b", bad)):
        path = tmp_path / f"{name}{suffix}"
        write(path, as_table(part)) if suffix in TABLES else write_array(path, part)
    source = open_points([tmp_path / f"a{suffix}", path])
    name = "c1" if suffix in TABLES else "x1"
    message = f"b{suffix}, row 7778, column '{name}' is NaN"
    with pytest.raises(InvalidInputError, match=message) as caught:
        build_grid(source, 0.5)
    assert caught.tb
    assert "meanshiftpp reader" not in [thread.name for thread in threading.enumerate()]
    with pytest.raises(InvalidInputError, match=message), source.locating_errors():
        Grid.from_points(source.read(), 0.5)


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.zeros(3), r"2-D array of numbers, got float64 of shape \(3,\)"),
        (np.zeros((2, 2, 2)), r"2-D array of numbers, got float64 of shape \(2, 2, 2\)"),
        (np.zeros((2, 2), complex), "2-D array of numbers, got complex128"),
        (np.array([["a", "b"]]), "2-D array of numbers, got <U1"),
        (np.zeros((0, 2)), "has no rows"),
        (np.zeros((2, 0)), "has no columns"),
    ],
)
def test_an_array_of_the_wrong_kind_is_an_error(tmp_path, array, message):
    np.save(tmp_path / "a.npy", array)
    with pytest.raises(InvalidInputError, match=message):
        open_points(tmp_path / "a.npy").read()


def test_pickles_are_not_opened(tmp_path):
    np.save(tmp_path / "a.npy", np.array([{}], dtype=object))
    with pytest.raises(InvalidInputError, match=r"is not a \.npy array"):
        open_points(tmp_path / "a.npy")


def test_a_zarr_group_or_an_empty_folder_is_an_error(tmp_path):
    import zarr

    zarr.open_group(tmp_path / "g.zarr", mode="w").create_array("a", shape=(3, 2), dtype="f4")
    expected = r"g.zarr' is not a zarr array: .*; for a group, name one of its arrays"
    with pytest.raises(InvalidInputError, match=expected):
        open_points(tmp_path / "g.zarr")
    assert open_points(tmp_path / "g.zarr" / "a").read().shape == (3, 2)
    (tmp_path / "n.zarr").mkdir()
    with pytest.raises(InvalidInputError, match="is not a zarr array"):
        open_points(tmp_path / "n.zarr")


def test_the_error_of_a_wrong_column_lists_the_columns(tmp_path):
    path = write(tmp_path / "towns.csv")
    with pytest.raises(InvalidInputError, match="no column 'z', only 'name', 'x', 'n'"):
        open_points(path, ["x", "z"])
    with pytest.raises(InvalidInputError, match="column 'name' is 'A', not a number"):
        open_points(path, ["name"])
    twice = pa.Table.from_arrays([pa.array([1.0])] * 2, names=["x", "x"])
    with pytest.raises(InvalidInputError, match="has two columns named 'x'; rename one"):
        open_points(write(tmp_path / "twice.csv", twice), ["x"])


def test_a_missing_file_or_unknown_suffix_is_an_error(tmp_path):
    with pytest.raises(FileAccessError, match=r"cannot read '.*none\.csv': No such file"):
        open_points(tmp_path / "none.csv")
    (tmp_path / "points.xls").touch()
    with pytest.raises(InvalidInputError, match=r"must end in \.parquet, \.csv"):
        open_points(tmp_path / "points.xls")


@pytest.mark.parametrize(
    ("module", "suffix", "extra"),
    [
        ("pyarrow", ".parquet", "io"),
        ("zarr", ".zarr", "zarr"),
        ("rasterio", ".tif", "raster"),
        ("laspy", ".laz", "lidar"),
    ],
)
def test_a_missing_extra_is_an_error_on_use(tmp_path, monkeypatch, module, suffix, extra):
    monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.setitem(sys.modules, f"{module}.parquet", None)
    (tmp_path / f"a{suffix}").write_bytes(b"x")
    with pytest.raises(MissingExtraError, match=rf'pip install "meanshiftpp\[{extra}\]"'):
        open_points(tmp_path / f"a{suffix}")


def test_a_link_in_a_folder_that_leads_nowhere_is_an_error(tmp_path):
    (tmp_path / "a.csv").write_text("x\n1\n")
    for target in ("missing.csv", "b.csv"):  # the second is a loop
        (tmp_path / "b.csv").unlink(missing_ok=True)
        (tmp_path / "b.csv").symlink_to(target)
        with pytest.raises(FileAccessError, match=r"b\.csv"):
            open_points(tmp_path)
