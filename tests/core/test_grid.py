"""Grid: what goes in, what is kept, what is refused. The laws are in test_laws.py."""

import contextlib
import copy
import itertools
import pickle
import zipfile

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from tests.helpers import bin_by

from meanshiftpp import Grid, _kernel
from meanshiftpp.core.gridfile import columns_of
from meanshiftpp.errors import (
    FileAccessError,
    GridFileError,
    GridMismatchError,
    InvalidInputError,
)


@pytest.fixture
def points():
    return np.random.default_rng(0).normal(size=(500, 3)) * 3


def test_names_of_features_go_along_to_a_file(tmp_path):
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


def test_cells_are_floored_not_truncated():
    grid = Grid.from_points([[-0.5], [0.5], [-1.0], [1.0]], bandwidth=1)
    assert grid.cells.ravel().tolist() == [-1, 0, 1]
    assert grid.counts.tolist() == [2, 1, 1]


def test_division_is_true_division():
    # 49 * (1 / 49) < 1: a multiplication by the reciprocal puts this point into cell 0.
    assert Grid.from_points([[49.0]], bandwidth=49.0).cells.tolist() == [[1]]


def test_a_million_equal_points_do_not_drift():
    grid = Grid.from_points(np.full((1_000_000, 1), 133.7, np.float32), bandwidth=10)
    assert grid.means[0, 0] == pytest.approx(np.float32(133.7), abs=1e-8)


def test_means_are_those_of_the_points(points):
    grid = Grid.from_points(points, bandwidth=[1.0, 2.0, 5.0])
    cells = np.floor(points / [1.0, 2.0, 5.0])
    for cell, mean in zip(grid.cells, grid.means):
        expected = points[(cells == cell).all(axis=1)].mean(axis=0)
        np.testing.assert_allclose(mean, expected, atol=1e-8)


DTYPES = ["u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8", "f2", "f4", "f8", "?", ">f8", ">i4"]


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_type_gives_the_grid_of_its_float64_values(dtype):
    values = np.random.default_rng(1).integers(0, 2 if dtype == "?" else 100, size=(300, 3))
    X = values.astype(dtype)
    assert Grid.from_points(X, 0.7) == Grid.from_points(X.astype(np.float64), 0.7)


@pytest.mark.parametrize("dtype", ["u1", "i2", "f4", "f8"])
@pytest.mark.parametrize("d", [1, 3, 7])
def test_order_stride_alignment_and_read_only_do_not_matter(dtype, d):
    X = np.random.default_rng(2).integers(0, 100, size=(700, d)).astype(dtype)
    expected = Grid.from_points(X, 3.3)
    wide = np.zeros((1400, 2 * d), dtype)
    wide[::2, ::2] = X
    shifted = np.frombuffer(b"\0" + X.tobytes(), np.uint8)[1:].view(dtype).reshape(X.shape)
    frozen = X.copy()
    frozen.flags.writeable = False
    backwards = np.ascontiguousarray(X[::-1])[::-1]
    records = np.zeros(len(X), [("tag", "u1"), ("x", dtype, (d,))])
    records["x"] = X
    for same in (np.asfortranarray(X), wide[::2, ::2], shifted, frozen, backwards, records["x"]):
        assert_array_equal(same, X)
        assert Grid.from_points(same, 3.3) == expected


@pytest.mark.parametrize("d", [1, 2, 3, 4, 5, 6])
@pytest.mark.parametrize("dtype", ["u1", "f4", "f8"])
def test_all_strategies_give_the_same_bits(d, dtype):
    X = (np.random.default_rng(d).gamma(2, 4, size=(9_000, d)) + 3).astype(dtype)
    h = 4.5 if dtype != "u1" else 24.0  # the box of bytes is that of all their values
    w = np.random.default_rng(d).integers(1, 5, size=len(X))
    for weights in (None, w):
        grids = [
            bin_by(X, h, strategy, sample_weight=weights, n_threads=threads)[0]
            for strategy in ("auto", "dense", "ranked", "hash", "sorted", "wide")
            for threads in (1, 3)
        ]
        assert all(grid == grids[0] for grid in grids)


@pytest.mark.parametrize("strategy", ["auto", "dense", "ranked", "hash", "sorted", "wide"])
@pytest.mark.parametrize("h", [0.5, 0.02])
def test_threads_and_chunks_do_not_matter_when_there_are_threads(strategy, h):
    # A second thread starts at 65,536 rows; a few points lie far outside of what is sampled.
    X = np.random.default_rng(0).normal(size=(200_000, 2)).astype(np.float32)
    X[[12_345, 150_001, 199_990]] = [[1e6, 3], [-1e6, 3], [2e6, -7]]
    if strategy == "dense" and h < 0.1:
        X = X[np.abs(X).max(axis=1) < 100]
    ids = np.empty(len(X), np.int32)
    expected, _ = bin_by(X, h, "wide", n_threads=1)
    for threads in (1, 2, 8):
        grid, assignment = bin_by(X, h, strategy, ids=ids, n_threads=threads)
        assert grid == expected
        cell_of = np.empty(len(X), np.int32)
        assignment.take(np.arange(len(grid), dtype=np.int32), ids, cell_of)
        assert_array_equal(grid.cells[cell_of], np.floor(X.astype(np.float64) / h).astype(np.int64))
    cuts = [0, 1, 70_000, 70_001, len(X)]
    parts = [Grid.from_points(X[a:b], h) for a, b in itertools.pairwise(cuts)]
    assert sum(parts[1:], parts[0]) == expected


@pytest.mark.parametrize("isa", _kernel.instruction_sets())
@pytest.mark.parametrize("d", [1, 2, 3, 4, 5, 6])
@pytest.mark.parametrize("dtype", ["u1", "f4", "f8"])
def test_all_instruction_sets_give_the_same_bits(isa, d, dtype):
    X = (np.random.default_rng(d).normal(100, 30, size=(5_003, d))).clip(0, 255).astype(dtype)
    X[:50] = X[:50].round(-1)
    for strategy in ("dense", "ranked", "hash"):
        assert bin_by(X, 24.0, strategy, isa)[0] == bin_by(X, 24.0, "wide")[0]


def test_unknown_strategies_and_instruction_sets_are_rejected():
    with pytest.raises(ValueError, match="strategy must be auto, dense"):
        bin_by(np.zeros((2, 2)), 1.0, "fast")
    with pytest.raises(ValueError, match="instruction set"):
        bin_by(np.zeros((2, 2)), 1.0, "auto", "mmx")


def test_points_far_outside_the_sampled_box_are_not_lost():
    X = np.random.default_rng(0).normal(size=(200_000, 2))
    X[77_777] = 1e9, -1e9
    X[150_001] = -3e7, 12
    grid = Grid.from_points(X, 0.5)
    assert grid == bin_by(X, 0.5, "wide")[0]
    assert grid.total == len(X)


def test_special_values_that_are_fine():
    tiny = np.nextafter(0, 1)
    grid = Grid.from_points([[-0.0], [0.0], [tiny], [-tiny]], bandwidth=1)
    assert grid.cells.ravel().tolist() == [-1, 0]
    assert grid.counts.tolist() == [1, 3]
    assert grid.sums.ravel().tolist() == [2**32, 0]  # -tiny is at the very end of cell -1


def test_empty_grid_is_a_grid():
    empty = Grid.from_points(np.empty((0, 2)), 1.0)
    assert empty == Grid.empty(1.0, n_features=2)
    assert len(empty) == 0
    assert empty.total == 0


# -- weights ------------------------------------------------------------------------------------


def test_real_weights_are_scale_free_and_close(points):
    w = np.random.default_rng(1).uniform(0.01, 1, len(points))
    a = Grid.from_points(points, 1.0, sample_weight=w)
    b = Grid.from_points(points, 1.0, sample_weight=w * 2.0**-30)
    assert_array_equal(a.counts, b.counts)
    assert b.unit == a.unit * 2.0**-30
    assert a.total == pytest.approx(w.sum(), rel=1e-7)


def test_grids_of_different_weight_units_add_up(points):
    w = np.random.default_rng(1).uniform(0.01, 1, len(points))
    real = Grid.from_points(points, 1.0, sample_weight=w)
    whole = Grid.from_points(points, 1.0)
    both = real + whole
    assert both == whole + real
    assert both.total == pytest.approx(w.sum() + len(points), rel=1e-7)
    heavy = Grid.from_points(points, 1.0, sample_weight=w * 1e9)  # the finer unit cannot hold this
    assert (heavy + real).total == pytest.approx(heavy.total + real.total, rel=1e-6)


def test_grids_of_far_apart_weight_units_lose_no_weight():
    light = Grid.from_points([[0.5], [3.0]], 1.0, sample_weight=[0.1, 0.2])
    for weights in ([2.0**40 + 0.5, 0.5], [2.0**90, 0.5], [2.0**90, 3.0]):
        heavy = Grid.from_points([[0.5], [7.0]], 1.0, sample_weight=[*weights])
        assert (heavy + light).total == pytest.approx(sum(weights) + 0.3, rel=1e-6)
        assert heavy + light == light + heavy


def test_real_weights_do_not_depend_on_the_order_of_rows():
    X, w = np.arange(4.0)[:, None], np.array([0.1, 0.2, 0.3, 0.4])
    grids = [
        Grid.from_points(X[list(p)], 1.0, sample_weight=w[list(p)])
        for p in itertools.permutations(range(4))
    ]
    assert all(grid == grids[0] for grid in grids)


def test_the_empty_grid_is_the_identity_for_real_weights_too():
    for weights in ([2.0**40 + 0.5, 0.5], [1e-30, 3e-30], [0.1, 7.0]):
        grid = Grid.from_points([[0.5], [3.0]], 1.0, sample_weight=weights)
        assert grid + Grid.empty(1.0, 1) == grid == Grid.empty(1.0, 1) + grid


def test_points_without_weight_make_no_cell():
    grid = Grid.from_points([[0.5], [5.5]], 1.0, sample_weight=[2, 0])
    assert grid == Grid.from_points([[0.5], [0.5]], 1.0)


def test_a_cell_that_would_overflow_is_refused():
    full = Grid.from_points([[0.5]], 1.0, sample_weight=[2**32 - 1])
    with pytest.raises(InvalidInputError, match=r"4,294,967,296.*smaller bandwidth"):
        full + Grid.from_points([[0.5]], 1.0)
    with pytest.raises(InvalidInputError, match=r"weight of 4294967296"):
        Grid.from_points([[0.5], [0.6]], 1.0, sample_weight=[2**32 - 1, 1])
    with pytest.raises(InvalidInputError, match="4,294,967,295"):
        Grid.from_points([[0.5]], 1.0, sample_weight=[2**32])
    with pytest.raises(InvalidInputError, match="4,294,967,295"):
        Grid.from_points([[0.5], [1.5]], 1.0, sample_weight=[2**32 - 1, 1]).coarsen(2)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1, 2], r"shape \(3,\), got \(2,\)"),
        ([1, -1, 1], "got -1 at 1"),
        ([1.0, np.nan, 1.0], "got nan at 1"),
        ([1.0, 1.0, np.inf], "got inf at 2"),
        (["a", "b", "c"], "dtype <U1"),
        ([1e308, 1e308, 0.5], "overflows"),
    ],
)
def test_bad_weights_are_refused(weights, message):
    with pytest.raises(InvalidInputError, match=message):
        Grid.from_points([[1.0], [2.0], [3.0]], 1.0, sample_weight=weights)


# -- bad points and bandwidths --------------------------------------------------------------------


def grid_with(value, row, column, shape=(100_000, 3)):
    X = np.zeros(shape)
    X[row, column] = value
    return X


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (grid_with(np.nan, 12, 1), r"X\[12, 1\] is NaN"),
        (grid_with(np.nan, 99_999, 2).astype(np.float32), r"X\[99999, 2\] is NaN"),
        (grid_with(np.nan, 5, 8, (10, 9)), r"X\[5, 8\] is NaN"),
        (grid_with(np.inf, 70_000, 0), r"X\[70000, 0\] is inf"),
        (grid_with(-np.inf, 1, 0), r"X\[1, 0\] is -inf"),
        (grid_with(1e300, 3, 0), r"X\[3, 0\] is 1\.0+.*e\+300, too large for bandwidth 1"),
        (np.array([[0], [2**53 + 1]]), r"X\[1, 0\] is 9007199254740993.*float64"),
        (np.array([[2**64 - 1]], np.uint64), r"X\[0, 0\] is 18446744073709551615.*float64"),
        (np.array([[-(2**53) - 1]]), r"X\[0, 0\] is -9007199254740993.*float64"),
        (np.array([[2**62 + 1]]), r"X\[0, 0\] is 4611686018427387905.*float64"),
        (np.zeros(3), r"2 dimensions.*got 1; reshape\(-1, 1\)"),
        (np.zeros((2, 2, 2)), "got 3"),
        (np.float64(3), "got 0"),
        (np.zeros((3, 0)), r"at least one feature.*\(3, 0\)"),
        (np.array([["a", "b"]]), "dtype <U1"),
        (np.array([[object()]]), "dtype object"),
        (np.array([[1j]]), "dtype complex128"),
        (np.zeros((2, 2), np.longdouble), "at most 64 bits"),
    ],
)
@pytest.mark.parametrize("threads", [1, 2, 8])
def test_bad_points_are_refused_by_name(X, message, threads):
    with pytest.raises(InvalidInputError, match=message):
        Grid.from_points(X, 1.0, n_threads=threads)


@pytest.mark.parametrize("x", [2.0**51, -(2.0**51), 2.0**51 + 2, -(2.0**52)])
def test_the_limit_of_cells_is_the_same_for_every_strategy(x):
    for X in ([[x]], [[x], [x - 2], [x + 2]], [[0.0]] * 9000 + [[x]]):
        with pytest.raises(InvalidInputError, match="too large for bandwidth 1"):
            Grid.from_points(X, 1.0)
    inside = np.nextafter(2.0**51, 0)
    assert Grid.from_points([[inside], [-inside]], 1.0).cells.ravel().tolist() == [
        -(2**51),
        2**51 - 1,
    ]


def test_the_first_bad_value_is_the_one_named():
    X = np.zeros((400_000, 2))
    X[[399_999, 123_456, 300_000]] = np.nan
    for threads in (1, 2, 8):
        with pytest.raises(InvalidInputError, match=r"X\[123456, 0\]") as caught:
            Grid.from_points(X, 1.0, n_threads=threads)
        assert (caught.value.row, caught.value.column) == (123_456, 0)
        assert caught.value.problem == "is NaN: every coordinate must be a finite number"


def test_sparse_matrices_are_refused_with_a_way_out():
    sparse = pytest.importorskip("scipy.sparse")
    with pytest.raises(InvalidInputError, match="toarray"):
        Grid.from_points(sparse.eye(3).tocsr(), 1.0)


@pytest.mark.parametrize(
    ("bandwidth", "message"),
    [
        (0, "positive"),
        (-1.0, "positive"),
        (np.nan, "positive and finite"),
        (np.inf, "positive and finite"),
        ([1.0, 0.0], "positive"),
        ([1.0, 2.0, 3.0], r"one number or 2.*\(3,\)"),
        ([[1.0, 2.0]], r"\(1, 2\)"),
        ("wide", "'wide'"),
        (None, "select_bandwidth"),
    ],
)
def test_bad_bandwidths_are_refused(bandwidth, message):
    with pytest.raises(InvalidInputError, match=message):
        Grid.from_points([[1.0, 2.0]], bandwidth)


@pytest.mark.parametrize("n_threads", [0, -1, 1.5, True, "2"])
def test_bad_thread_counts_are_refused(n_threads):
    with pytest.raises(InvalidInputError, match="n_threads"):
        Grid.from_points([[1.0]], 1.0, n_threads=n_threads)


@pytest.mark.parametrize("k", [0, -1, 1.5, True, "2", 2**31])
def test_bad_coarsening_is_refused(k):
    with pytest.raises(InvalidInputError, match="coarsen"):
        Grid.from_points([[1.0]], 1.0).coarsen(k)


def test_grids_that_do_not_fit_are_refused():
    grid = Grid.from_points([[1.0, 2.0]], 1.0)
    with pytest.raises(GridMismatchError, match="2 and 1 features"):
        grid + Grid.empty(1.0, 1)
    with pytest.raises(GridMismatchError, match="bandwidth"):
        grid + Grid.empty([1.0, 2.0])
    with pytest.raises(TypeError):
        grid + 1


# -- a value ---------------------------------------------------------------------------------------


def test_a_grid_is_a_value(points):
    grid = Grid.from_points(points, 1.0)
    with pytest.raises(ValueError, match="read-only"):
        grid.counts[0] = 7
    again = pickle.loads(pickle.dumps(grid))
    assert again == grid == copy.deepcopy(grid)
    assert not again.counts.flags.writeable
    assert grid != Grid.from_points(points, 1.5)
    assert grid != "grid"
    assert repr(grid) == f"Grid({len(grid)} cells, 3 features, weight 500, bandwidth 1)"


# -- files -----------------------------------------------------------------------------------------


@pytest.fixture
def saved(points, tmp_path):
    grid = Grid.from_points(points, [0.5, 1.0, 2.0])
    grid.save(tmp_path / "a.grid")
    return grid, tmp_path / "a.grid"


def test_a_saved_grid_comes_back(saved):
    grid, path = saved
    assert Grid.load(path) == grid
    assert [file.name for file in path.parent.iterdir()] == ["a.grid"]


def test_a_truncated_or_foreign_file_is_refused(saved, tmp_path):
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


def test_every_flipped_byte_is_noticed_or_harmless(saved):
    grid, path = saved
    whole = bytearray(path.read_bytes())
    for at in np.linspace(0, len(whole) - 1, 200).astype(int):
        damaged = bytearray(whole)
        damaged[at] ^= 0x55
        path.write_bytes(damaged)
        with contextlib.suppress(GridFileError):
            assert Grid.load(path) == grid


def rewrite(path, **changes):
    with np.load(path) as file:
        fields = {**{name: file[name] for name in file.files}, **changes}
    with path.open("wb") as file:
        np.savez(file, **{name: value for name, value in fields.items() if value is not None})


@pytest.mark.parametrize(
    "changes",
    [
        {"sums": None},
        {"unit": np.array(3.0)},
        {"unit": np.array("x")},
        {"bandwidth": np.array([1.0, -1.0, 1.0])},
        {"bandwidth": np.array([1.0])},
        {"counts": np.zeros(7, np.uint64)},
        {"cells": np.zeros((3, 3), np.int64)},
    ],
)
def test_a_file_that_contradicts_itself_is_refused(saved, changes):
    _, path = saved
    rewrite(path, **changes)
    with pytest.raises(GridFileError, match="damaged"):
        Grid.load(path)


def test_wrong_content_is_refused(saved):
    grid, path = saved
    for field, change in (
        ("counts", np.zeros_like(grid.counts)),
        ("sums", grid.sums + np.uint64(2**63)),
        ("cells", grid.cells[::-1].copy()),
        ("cells", np.repeat(grid.cells[:1], len(grid), axis=0)),
    ):
        grid.save(path)
        rewrite(path, **{field: change})
        with pytest.raises(GridFileError, match="damaged"):
            Grid.load(path)


def test_a_newer_file_is_refused_with_the_reason(saved):
    _, path = saved
    rewrite(path, version=np.array(99))
    with pytest.raises(GridFileError, match=r"version 99.*upgrade meanshiftpp"):
        Grid.load(path)


def test_files_that_cannot_be_had_say_so(saved, tmp_path):
    grid, _ = saved
    with pytest.raises(FileAccessError, match="cannot read"):
        Grid.load(tmp_path / "missing.grid")
    with pytest.raises(FileAccessError, match="cannot write"):
        grid.save(tmp_path / "no" / "such" / "folder.grid")
    (tmp_path / "folder").mkdir()
    with pytest.raises(FileAccessError, match="cannot write"):
        grid.save(tmp_path / "folder")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["a.grid", "folder"]


def test_a_saved_grid_can_be_read_by_others_and_keeps_its_link(saved, tmp_path):
    _, path = saved
    (tmp_path / "plain").write_text("")
    assert path.stat().st_mode == (tmp_path / "plain").stat().st_mode
    (tmp_path / "link").symlink_to(path)
    Grid.empty(1.0, 1).save(tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert Grid.load(path) == Grid.empty(1.0, 1)


@pytest.mark.parametrize("version", [0, -5, 1.5, "x", [1, 1]])
def test_a_version_that_cannot_be_is_refused(saved, version):
    _, path = saved
    rewrite(path, version=np.array(version))
    with pytest.raises(GridFileError, match="version"):
        Grid.load(path)


def test_the_file_is_plain_npz(saved):
    _, path = saved
    names = {name.removesuffix(".npy") for name in zipfile.ZipFile(path).namelist()}
    fields = {"unit", "bandwidth", "cells", "counts", "sums", "period"}
    assert names == {"format", "version", *fields}


@pytest.mark.parametrize("period", [[-3, 0, 0], [3, 3], [1, 1, 1], "x"])
def test_a_period_that_cannot_be_is_refused(saved, period):
    _, path = saved
    rewrite(path, period=np.array(period))
    with pytest.raises(GridFileError, match="damaged"):
        Grid.load(path)


def test_weights_too_small_to_be_divided_are_refused():
    with pytest.raises(InvalidInputError, match="scale the weights up"):
        Grid.from_points([[0.0], [5.0]], 1.0, sample_weight=[1e-310, 5e-324])
    scaled = Grid.from_points([[0.0], [5.0]], 1.0, sample_weight=np.array([0.1, 0.7]) * 2.0**-980)
    plain = Grid.from_points([[0.0], [5.0]], 1.0, sample_weight=[0.1, 0.7])
    assert np.array_equal(scaled.counts, plain.counts)
