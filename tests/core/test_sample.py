"""Samples: the same rows for any order, type and device, and in proportion to the weights."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from meanshiftpp import Grid
from meanshiftpp._support.checks import as_weights
from meanshiftpp.core.sample import Sample, _mix, hash_rows, sample_grid, sample_points, uniform


def assert_same(a: Sample, b: Sample) -> None:
    for left, right in zip(a, b, strict=True):
        assert_array_equal(left, right)


def test_hash_equals_the_arithmetic_in_numpy():
    X = np.random.default_rng(0).normal(size=(50, 3))
    expected = np.zeros(50, np.uint64)
    with np.errstate(over="ignore"):
        for column in X.T:
            bits = np.ascontiguousarray(column).view(np.uint64)
            expected = _mix((expected ^ bits) + np.uint64(0x9E3779B97F4A7C15))
    assert_array_equal(hash_rows(X, 1.0, 2)[1], expected)


@pytest.mark.parametrize("dtype", ["f4", "i2", "u8", "i8"])
def test_equal_values_have_equal_hashes_whatever_their_type(dtype):
    X = np.arange(12).reshape(-1, 2).astype(dtype)
    assert_array_equal(hash_rows(X, 1.0, 1)[1], hash_rows(X.astype(float), 1.0, 1)[1])
    zero, minus = (hash_rows(np.array([[x]]), 1.0, 1)[1] for x in (0.0, -0.0))
    assert_array_equal(zero, minus)


@pytest.mark.parametrize("n_threads", [1, 2, 3])
def test_share_of_the_rows_has_the_highest_hashes(n_threads):
    X = np.random.default_rng(0).normal(size=(200_000, 2))
    every, hashes = hash_rows(X, 1.0, 1)
    at, found = hash_rows(X, 0.01, n_threads)
    assert_array_equal(every, np.arange(200_000))
    assert_array_equal(at, np.flatnonzero(hashes >= found.min()))
    assert_array_equal(found, hashes[at])
    assert abs(len(at) - 2000) < 200


@given(st.integers(0, 2**32 - 1), st.integers(10, 200))
def test_sample_does_not_depend_on_the_order(seed, limit):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 40, size=(150, 2)).astype(float)
    assert_same(sample_points(X, None, limit), sample_points(rng.permutation(X), None, limit))


@given(st.integers(0, 2**32 - 1), st.integers(10, 400))
def test_whole_weight_is_that_many_rows(seed, limit):
    rng = np.random.default_rng(seed)
    X, weight = rng.normal(size=(60, 2)), rng.integers(0, 5, 60)
    weighted = sample_points(X, as_weights(weight, X), limit)
    repeated = sample_points(np.repeat(X, weight, axis=0), None, limit)
    assert_same(weighted, repeated)


def test_all_rows_are_the_sample_if_they_are_few():
    X = np.random.default_rng(0).normal(size=(100, 2))
    sample = sample_points(X, None, 100)
    assert_array_equal(np.sort(sample.rows, axis=0), np.sort(X, axis=0))
    assert (sample.counts == 1).all()


def test_sample_of_many_rows_has_about_the_wanted_size():
    X = np.random.default_rng(0).normal(size=(100_000, 2))
    assert abs(sample_points(X, None, 1000).counts.sum() - 1000) < 150


def test_repeated_rows_are_counted_even_if_few_are_drawn():
    X = np.random.default_rng(0).integers(0, 3, size=(100_000, 1)).astype(float)
    sample = sample_points(X, None, 1000)
    assert sorted(sample.rows.ravel()) == [0, 1, 2]
    assert (np.abs(sample.counts - 333) < 10).all()


def test_equal_real_weights_are_worth_their_number_of_rows():
    X = np.random.default_rng(0).normal(size=(100, 2))
    sample = sample_points(X, as_weights(np.full(100, 0.3), X), 1000)
    assert sample.counts.sum() == 100


def test_unequal_real_weights_are_worth_fewer_rows():
    X = np.random.default_rng(0).normal(size=(1000, 1))
    weight = np.r_[np.full(500, 0.01), np.full(500, 1.5)]
    assert 450 < sample_points(X, as_weights(weight, X), 10_000).counts.sum() < 550


def test_rows_of_a_grid_lie_in_their_cells():
    X = np.random.default_rng(0).normal(size=(3000, 2))
    grid = Grid.from_points(X, 0.5)
    drawn = sample_grid(grid, 10_000)
    assert drawn.counts.sum() == 3000
    cells, counts = np.unique(np.floor(drawn.rows), axis=0, return_counts=True)
    assert_array_equal(cells, grid.cells)
    assert_array_equal(counts, grid.counts)


def test_single_points_of_a_grid_stay_where_they_are():
    X = np.array([[0.2, 0.7], [5.1, 5.9]])
    drawn = sample_grid(Grid.from_points(X, 1.0), 10)
    np.testing.assert_allclose(np.sort(drawn.rows, axis=0), X, atol=1e-9)


def test_uniform_numbers_are_uniform():
    values = uniform(hash_rows(np.arange(10_000.0)[:, None], 1.0, 1)[1], 3)
    assert ((values >= 0) & (values < 1)).all()
    np.testing.assert_allclose(
        np.quantile(values, [0.25, 0.5, 0.75], axis=0)[:, 0], [0.25, 0.5, 0.75], atol=0.02
    )
    assert abs(np.corrcoef(values.T)[0, 1]) < 0.05


@pytest.mark.parametrize("mean", [0.35, 0.5, 0.6])
def test_rows_of_a_grid_keep_the_mean_of_their_cell(mean):
    grid = Grid.from_points([[mean - 0.1], [mean + 0.1]] * 2000, 1.0)
    rows = sample_grid(grid, 10_000).rows
    assert abs(rows.mean() - mean) < 0.02
    assert rows.std() > 0.2
