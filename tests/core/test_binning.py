"""Binning: types, layouts, strategies, weights, and the rejection of bad points."""

import itertools

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from tests.helpers import bin_by

from meanshiftpp import Grid, _kernel
from meanshiftpp.errors import InvalidInputError


def test_cells_are_floored_not_truncated():
    grid = Grid.from_points([[-0.5], [0.5], [-1.0], [1.0]], bandwidth=1)
    assert grid.cells.ravel().tolist() == [-1, 0, 1]
    assert grid.counts.tolist() == [2, 1, 1]


def test_division_is_true_division():
    # 49 * (1 / 49) < 1: a multiplication by the reciprocal puts this point into cell 0.
    assert Grid.from_points([[49.0]], bandwidth=49.0).cells.tolist() == [[1]]


def test_sums_of_a_million_equal_points_do_not_drift():
    grid = Grid.from_points(np.full((1_000_000, 1), 133.7, np.float32), bandwidth=10)
    assert grid.means[0, 0] == pytest.approx(np.float32(133.7), abs=1e-8)


DTYPES = ["u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8", "f2", "f4", "f8", "?", ">f8", ">i4"]


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_type_has_the_grid_of_its_float64_values(dtype):
    values = np.random.default_rng(1).integers(0, 2 if dtype == "?" else 100, size=(300, 3))
    X = values.astype(dtype)
    assert Grid.from_points(X, 0.7) == Grid.from_points(X.astype(np.float64), 0.7)


@pytest.mark.parametrize("dtype", ["u1", "i2", "f4", "f8"])
@pytest.mark.parametrize("d", [1, 3, 7])
def test_memory_layout_does_not_change_the_grid(dtype, d):
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
def test_all_strategies_are_bit_identical(d, dtype):
    X = (np.random.default_rng(d).gamma(2, 4, size=(9_000, d)) + 3).astype(dtype)
    h = 4.5 if dtype != "u1" else 24.0  # the box of uint8 holds all byte values
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
def test_many_points_have_one_grid_for_all_threads_and_chunks(strategy, h):
    # A second thread starts at 65,536 rows; a few points lie far outside the sampled box.
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
def test_all_instruction_sets_are_bit_identical(isa, d, dtype):
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


@pytest.mark.parametrize("strategy", ["auto", "dense", "ranked", "hash", "sorted", "wide"])
@pytest.mark.parametrize("n_threads", [1, 3])
def test_points_of_zero_weight_create_no_cells(strategy, n_threads):
    X = np.random.default_rng(3).uniform(0, 30, (120_000, 2))
    weight = (X[:, 0] < 20).astype(np.int64)  # whole cells have no weight, also at the ends
    weight[X[:, 1] < 3] = 0
    ids = np.empty(len(X), np.int32)
    grid, assignment = bin_by(X, 1.0, strategy, None, weight, ids, n_threads)
    assert grid.counts.min() > 0
    assert grid == Grid.from_points(X[weight > 0], 1.0)
    assignment.take(np.arange(len(grid), dtype=np.int32), ids, ids)
    assert (ids[weight == 0] == -1).all() or (grid.cells[ids] == np.floor(X)).all()
    assert_array_equal(grid.cells[ids[weight > 0]], np.floor(X[weight > 0]))


@pytest.mark.parametrize("dtype", [np.int64, np.uint64])
def test_largest_exact_integers_are_binned(dtype):
    edge = 2**53
    grid = Grid.from_points(np.array([[edge], [edge - 1]], dtype), 8.0)
    assert grid.cells.ravel().tolist() == [edge // 8 - 1, edge // 8]
    assert grid.sums.ravel().tolist() == [7 * 2**29, 0]
    if dtype is np.int64:
        assert Grid.from_points(np.array([[-edge]]), 8.0).cells.tolist() == [[-edge // 8]]


def test_signed_zeros_and_subnormals_are_binned():
    tiny = np.nextafter(0, 1)
    grid = Grid.from_points([[-0.0], [0.0], [tiny], [-tiny]], bandwidth=1)
    assert grid.cells.ravel().tolist() == [-1, 0]
    assert grid.counts.tolist() == [1, 3]
    assert grid.sums.ravel().tolist() == [2**32, 0]  # -tiny is at the very end of cell -1


# -- bad points -----------------------------------------------------------------------------------


def zeros_except(value, row, column, shape=(100_000, 3)):
    X = np.zeros(shape)
    X[row, column] = value
    return X


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (zeros_except(np.nan, 12, 1), r"X\[12, 1\] is NaN"),
        (zeros_except(np.nan, 99_999, 2).astype(np.float32), r"X\[99999, 2\] is NaN"),
        (zeros_except(np.nan, 5, 8, (10, 9)), r"X\[5, 8\] is NaN"),
        (zeros_except(np.inf, 70_000, 0), r"X\[70000, 0\] is inf"),
        (zeros_except(-np.inf, 1, 0), r"X\[1, 0\] is -inf"),
        (zeros_except(1e300, 3, 0), r"X\[3, 0\] is 1\.0+.*e\+300, too large for bandwidth 1"),
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
def test_bad_points_raise_with_their_location(X, message, threads):
    with pytest.raises(InvalidInputError, match=message):
        Grid.from_points(X, 1.0, n_threads=threads)


@pytest.mark.parametrize("x", [2.0**51, -(2.0**51), 2.0**51 + 2, -(2.0**52)])
def test_limit_of_cells_is_the_same_for_every_strategy(x):
    for X in ([[x]], [[x], [x - 2], [x + 2]], [[0.0]] * 9000 + [[x]]):
        with pytest.raises(InvalidInputError, match="too large for bandwidth 1"):
            Grid.from_points(X, 1.0)
    inside = np.nextafter(2.0**51, 0)
    assert Grid.from_points([[inside], [-inside]], 1.0).cells.ravel().tolist() == [
        -(2**51),
        2**51 - 1,
    ]


def test_error_is_about_the_first_bad_value():
    X = np.zeros((400_000, 2))
    X[[399_999, 123_456, 300_000]] = np.nan
    for threads in (1, 2, 8):
        with pytest.raises(InvalidInputError, match=r"X\[123456, 0\]") as caught:
            Grid.from_points(X, 1.0, n_threads=threads)
        assert (caught.value.row, caught.value.column) == (123_456, 0)
        assert caught.value.problem == "is NaN: every coordinate must be a finite number"


def test_sparse_matrices_raise_with_advice():
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
        ([1.0, 2.0, 3.0], r"one number or 2, one per feature, got \[1.0, 2.0, 3.0\]"),
        ([[1.0, 2.0]], r"one number or 2, .*got \[\[1.0, 2.0\]\]"),
        ("wide", "'wide'"),
        (None, "select_bandwidth"),
    ],
)
def test_bad_bandwidths_raise(bandwidth, message):
    with pytest.raises(InvalidInputError, match=message):
        Grid.from_points([[1.0, 2.0]], bandwidth)


@pytest.mark.parametrize("n_threads", [0, -1, 1.5, True, "2"])
def test_bad_thread_counts_raise(n_threads):
    with pytest.raises(InvalidInputError, match="n_threads"):
        Grid.from_points([[1.0]], 1.0, n_threads=n_threads)
