"""Grid files: saved grids are loaded unchanged; damaged, foreign and newer files raise."""

import contextlib
import zipfile
from pathlib import Path

import numpy as np
import pytest

from meanshiftpp import Grid
from meanshiftpp._kernel import MAX_CELL
from meanshiftpp.core.gridfile import columns_of
from meanshiftpp.errors import FileAccessError, GridFileError, InvalidInputError


@pytest.fixture
def points():
    return np.random.default_rng(0).normal(size=(500, 3)) * 3


@pytest.fixture
def saved(points, tmp_path):
    grid = Grid.from_points(points, [0.5, 1.0, 2.0])
    grid.save(tmp_path / "a.grid")
    return grid, tmp_path / "a.grid"


def rewrite(path, **changes):
    with np.load(path) as file:
        fields = {**{name: file[name] for name in file.files}, **changes}
    with path.open("wb") as file:
        np.savez(file, **{name: value for name, value in fields.items() if value is not None})


def test_saved_grid_is_loaded_unchanged(saved):
    grid, path = saved
    assert Grid.load(path) == grid
    assert [file.name for file in path.parent.iterdir()] == ["a.grid"]


def test_column_names_are_stored(tmp_path):
    grid = Grid.from_points([[1.0, 2.0]], 1)
    grid.save(tmp_path / "g", columns=["a", "\u00fc"])
    assert Grid.load(tmp_path / "g") == grid
    assert columns_of(tmp_path / "g") == ["a", "\u00fc"]
    grid.save(tmp_path / "g")
    assert columns_of(tmp_path / "g") is None
    for columns in (["a"], "ab", ["a", None], [["a"], ["b"]]):
        with pytest.raises(InvalidInputError, match="each of the 2 features"):
            grid.save(tmp_path / "g", columns=columns)
    with pytest.raises(FileAccessError, match="cannot read"):
        columns_of(tmp_path / "none")


def test_file_is_a_plain_npz_archive(saved):
    _, path = saved
    names = {name.removesuffix(".npy") for name in zipfile.ZipFile(path).namelist()}
    fields = {"unit", "whole", "bandwidth", "cells", "counts", "sums", "period"}
    assert names == {"format", "version", *fields}


def test_file_has_the_usual_permissions_and_links_are_kept(saved, tmp_path):
    _, path = saved
    (tmp_path / "plain").write_text("")
    assert path.stat().st_mode == (tmp_path / "plain").stat().st_mode
    (tmp_path / "link").symlink_to(path)
    Grid.empty(1.0, 1).save(tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert Grid.load(path) == Grid.empty(1.0, 1)


def test_inaccessible_files_raise(saved, tmp_path):
    grid, _ = saved
    with pytest.raises(FileAccessError, match="cannot read"):
        Grid.load(tmp_path / "missing.grid")
    with pytest.raises(FileAccessError, match="cannot write"):
        grid.save(tmp_path / "no" / "such" / "folder.grid")
    (tmp_path / "folder").mkdir()
    with pytest.raises(FileAccessError, match="cannot write"):
        grid.save(tmp_path / "folder")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["a.grid", "folder"]


# -- files written by version 0.1.0.dev0 -----------------------------------------------------------

DATA = Path(__file__).parents[1] / "data"


def test_stored_periodic_grid_is_that_of_the_same_points():
    X = np.random.default_rng([2021, 1]).random((3000, 2)) * [900.0, 60.0] - [300.0, 30.0]
    grid = Grid.load(DATA / "periodic.grid")
    assert grid == Grid.from_points(X, [11.0, 6.5], periodic=[360, None])
    assert grid.cells_per_period.tolist() == [33, 0]
    assert grid.periods == [360.0, None]
    assert columns_of(DATA / "periodic.grid") is None


def test_stored_weighted_grid_is_that_of_the_same_points():
    rng = np.random.default_rng([2021, 2])
    X, weight = rng.random((800, 3)) * [4.0, 4.0, 2.0] - 1.5, rng.random(800) * 3
    grid = Grid.load(DATA / "weights.grid")
    assert grid == Grid.from_points(X, [0.5, 0.6, 0.7], sample_weight=weight)
    assert grid.unit == 2.0**-20
    assert columns_of(DATA / "weights.grid") == ["height", "L\u00e4nge", "speed [m/s]"]


@pytest.mark.parametrize("name", ["periodic.grid", "weights.grid"])
def test_stored_grid_is_written_with_the_same_arrays(name, tmp_path):
    Grid.load(DATA / name).save(tmp_path / name, columns=columns_of(DATA / name))
    with np.load(DATA / name) as old, np.load(tmp_path / name) as new:
        assert {*old.files, "whole"} == {*new.files}  # an early release did not write it
        for field in old.files:
            assert old[field].dtype == new[field].dtype
            assert np.array_equal(old[field], new[field])


@pytest.mark.parametrize("whole", [True, False])
def test_kind_of_weights_is_stored(whole, tmp_path):
    grid = Grid.from_points([[1.0]], 1.0, sample_weight=[1.5e9 + (0 if whole else 0.25)])
    grid.save(tmp_path / "g")
    assert (grid.unit, grid.whole, Grid.load(tmp_path / "g").whole) == (1.0, whole, whole)
    rewrite(tmp_path / "g", whole=None)  # as an early release wrote it
    assert Grid.load(tmp_path / "g").whole


# -- damaged files --------------------------------------------------------------------------------


def test_truncated_and_foreign_files_raise(saved, tmp_path):
    _, path = saved
    whole = path.read_bytes()
    for size in (0, 1, 100, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:size])
        with pytest.raises(GridFileError, match=r"a\.grid"):
            Grid.load(path)
    np.save(tmp_path / "b.npy", np.zeros(3))
    with pytest.raises(GridFileError, match="not a grid"):
        Grid.load(tmp_path / "b.npy")
    np.savez(tmp_path / "c.npz", cells=np.zeros(3))
    with pytest.raises(GridFileError, match="not a grid"):
        Grid.load(tmp_path / "c.npz")


def test_every_flipped_byte_raises_or_is_harmless(saved):
    grid, path = saved
    whole = bytearray(path.read_bytes())
    for at in np.linspace(0, len(whole) - 1, 200).astype(int):
        damaged = bytearray(whole)
        damaged[at] ^= 0x55
        path.write_bytes(damaged)
        with contextlib.suppress(GridFileError):
            assert Grid.load(path) == grid


@pytest.mark.parametrize(
    "changes",
    [
        {"sums": None},
        {"unit": np.array(3.0)},
        {"unit": np.array("x")},
        {"bandwidth": np.array([1.0, -1.0, 1.0])},
        {"bandwidth": np.array([1.0])},
        {"bandwidth": np.array(1.0)},
        {"counts": np.zeros(7, np.uint64)},
        {"cells": np.zeros((3, 3), np.int64)},
        {"cells": np.zeros((0, 0), np.int64), "sums": np.zeros((0, 0), np.uint64)},
        {"cells": np.zeros(3, np.int64)},
        {"unit": np.array([1.0, 1.0])},
        {"unit": np.array(2.0**1023)},
        {"unit": np.array(0.5)},  # of whole weights
        {"unit": np.array(0.0)},
        {"whole": np.array(1)},
        {"whole": np.array([True, True])},
    ],
)
def test_inconsistent_files_raise(saved, changes):
    _, path = saved
    rewrite(path, **changes)
    with pytest.raises(GridFileError, match=r"damaged: .*; build it again") as raised:
        Grid.load(path)
    assert raised.value.place == repr(str(path))
    assert str(raised.value.at("'here'")).startswith("'here' is damaged")


def test_impossible_content_raises(saved):
    grid, path = saved
    for field, change in (
        ("counts", np.zeros_like(grid.counts)),
        ("sums", grid.sums + np.uint64(2**63)),
        ("cells", grid.cells[::-1].copy()),
        ("cells", np.repeat(grid.cells[:1], len(grid), axis=0)),
        ("cells", np.where(np.arange(len(grid)) == 0, np.iinfo(np.int64).min, grid.cells.T).T),
        ("cells", np.where(np.arange(len(grid)) == 0, -(2**51) - 1, grid.cells.T).T),
        ("cells", np.where(np.arange(len(grid)) == len(grid) - 1, 2**51 + 1, grid.cells.T).T),
        ("cells", grid.cells.astype(np.float64)),
        ("cells", grid.cells.astype(str)),
        ("cells", grid.cells.astype(np.uint64)),
        ("counts", grid.counts.astype(np.float64)),
        ("bandwidth", grid.bandwidth.astype(str)),
    ):
        grid.save(path)
        rewrite(path, **{field: change})
        with pytest.raises(GridFileError, match="damaged"):
            Grid.load(path)


def test_newer_file_raises_with_advice(saved):
    _, path = saved
    rewrite(path, version=np.array(99))
    with pytest.raises(GridFileError, match=r"version 99.*upgrade meanshiftpp"):
        Grid.load(path)


@pytest.mark.parametrize("version", [0, -5, 1.5, "x", [1, 1]])
def test_impossible_version_raises(saved, version):
    _, path = saved
    rewrite(path, version=np.array(version))
    with pytest.raises(GridFileError, match="version"):
        Grid.load(path)


@pytest.mark.parametrize("period", [[-3, 0, 0], [3, 3], [1, 1, 1], "x"])
def test_impossible_period_raises(saved, period):
    _, path = saved
    rewrite(path, period=np.array(period))
    with pytest.raises(GridFileError, match="damaged"):
        Grid.load(path)


def test_period_of_more_cells_than_can_be_numbered_raises(tmp_path):
    path = tmp_path / "a.grid"
    Grid.from_points([[0.5]], 1.0, periodic=[10]).save(path)
    rewrite(path, period=np.array([MAX_CELL - 1]))
    assert Grid.load(path).periods == [float(MAX_CELL - 1)]
    for cells in (MAX_CELL, 2**63 - 1):
        rewrite(path, period=np.array([cells]))
        with pytest.raises(GridFileError, match="damaged: it holds impossible"):
            Grid.load(path)


def test_infinite_period_raises(tmp_path):
    path = tmp_path / "a.grid"
    Grid.from_points([[0.5]], 1.0, periodic=[10]).save(path)
    rewrite(path, bandwidth=np.array([1e308]))
    with pytest.raises(GridFileError, match="damaged: it holds a period that is not finite"):
        Grid.load(path)


def test_text_that_is_not_unicode_raises(saved):
    _, path = saved
    rewrite(path, note=np.array([0x110000], np.uint32).view("U1")[0:1])
    with pytest.raises(GridFileError, match="is not a grid file, or is damaged"):
        Grid.load(path)


def test_column_names_of_a_damaged_file_are_none(saved):
    _, path = saved
    rewrite(path, columns=np.array("x"), bandwidth=np.array(1.0))
    assert columns_of(path) is None
