"""Checks of user input: every rejected value names its parameter, and conversion is lossless."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from meanshiftpp import _kernel
from meanshiftpp._support.checks import (
    MAX_THREADS,
    as_bandwidth,
    as_not_negative,
    as_periods,
    as_points,
    as_positive,
    as_resolution,
    as_weights,
    as_whole,
    check_window_fits,
    divide_periods,
    is_number,
    thread_count,
)
from meanshiftpp.errors import InvalidInputError

# -- points and weights ----------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["f4", "f8", "i1", "u1", "i2", "i4", "u8"])
def test_native_arrays_are_not_copied(dtype):
    X = np.arange(6).astype(dtype).reshape(3, 2)
    assert as_points(X) is X


@pytest.mark.parametrize(
    ("dtype", "expected"), [("?", "u1"), ("f2", "f4"), (">f8", "f8"), (">i4", "i4")]
)
def test_other_types_are_converted_without_loss(dtype, expected):
    X = np.array([[0, 1], [1, 1]]).astype(dtype)
    points = as_points(X)
    assert points.dtype == np.dtype(expected)
    assert_array_equal(points, X)


def points(n):
    return np.zeros((n, 1))


def test_whole_weights_are_exact_and_real_weights_have_a_unit():
    whole = as_weights([0, 2.0, 7], points(3))
    assert (whole.counts.dtype, whole.counts.tolist(), whole.unit) == (np.uint64, [0, 2, 7], 1.0)
    real = as_weights([0.0, 0.25, 0.7], points(3))
    assert math.frexp(real.unit)[0] == 0.5
    assert real.counts[0] == 0
    np.testing.assert_allclose(real.counts * real.unit, [0, 0.25, 0.7], rtol=1e-8)


def test_kind_of_weights_is_not_inferred_from_the_unit():
    whole, real = as_weights([1.5e9, 2], points(2)), as_weights([1.5e9 + 0.25, 2], points(2))
    assert (whole.unit, real.unit) == (1.0, 1.0)
    assert (whole.whole, real.whole) == (True, False)
    assert (whole.take([0]).whole, real.take([0]).whole) == (True, False)


def test_many_tiny_weights_are_reported():
    weight = np.full(10**6 + 1, 1e-12)
    weight[0] = 1
    with pytest.warns(UserWarning, match=r"1,000,000 weights .* 0.000931323 instead of 1e-06"):
        counts = as_weights(weight, points(len(weight))).counts
    assert (counts > 0).all()
    weight[200:] = 0  # their share of the total is too small to matter
    assert (as_weights(weight, points(len(weight))).counts[:200] > 0).all()


def test_ragged_and_masked_values_raise():
    masked = np.ma.array([[1.0], [2.0]], mask=[[False], [True]])
    for check in (as_points, lambda X: as_weights(np.ravel(X), points(2))):
        with pytest.raises(InvalidInputError, match=r"masked values, got 1 of 2; .*X\.filled"):
            check(masked)
        check(np.ma.array(masked.data))
    for ragged in ([[1.0], [2.0, 3.0]], [1.0, [2.0]]):
        with pytest.raises(InvalidInputError, match="rows of equal length"):
            as_points(ragged)
        with pytest.raises(InvalidInputError, match="rows of equal length"):
            as_weights(ragged, points(2))


def test_least_positive_weight_counts_once():
    assert as_weights([1e-30, 1.5], points(2)).counts[0] == 1


def test_checked_weights_are_array_like_and_not_checked_again():
    weights = as_weights([0.5, 2.25], points(2))
    assert as_weights(weights, points(2)) is weights
    assert_array_equal(weights, [0.5, 2.25])
    assert np.array(weights, np.float32, copy=True).dtype == np.float32
    assert np.array(weights, copy=True) is not np.asarray(weights)
    assert weights.take(np.array([1])).counts.tolist() == weights.counts[1:].tolist()


# -- bandwidth, resolution and periods -------------------------------------------------------------


def test_bandwidth_has_one_value_per_feature():
    assert as_bandwidth(2, 3).tolist() == [2.0, 2.0, 2.0]
    assert as_bandwidth([1, 2], 2).tolist() == [1.0, 2.0]


BAD_BANDWIDTHS = [0, -1.0, math.nan, math.inf, [1.0, 0.0], "wide", None, "1.5", True, 1j]
BAD_BANDWIDTHS += [[True, True], ["1", "2"], [[1.0], [1.0, 2.0]], np.ma.array([1, 2], mask=[0, 1])]


@pytest.mark.parametrize("value", BAD_BANDWIDTHS)
def test_bad_bandwidth_raises(value):
    with pytest.raises(InvalidInputError, match="bandwidth"):
        as_bandwidth(value, 2)


def test_bad_bandwidth_is_an_attribute():
    with pytest.raises(InvalidInputError) as caught:
        as_bandwidth(-1, 2)
    assert caught.value.parameter == "bandwidth"
    assert caught.value.expected == "positive and finite"
    assert caught.value.got == -1


def test_resolution_is_limited_by_the_kernel():
    assert as_resolution(_kernel.MAX_REACH) == _kernel.MAX_REACH
    for value in (0, _kernel.MAX_REACH + 1, 1.0, True):
        with pytest.raises(InvalidInputError, match="resolution must be a whole number"):
            as_resolution(value)


def test_periods_are_zero_where_there_are_none():
    assert as_periods(None, 2) == [0.0, 0.0]
    assert as_periods([360, None], 2) == [360.0, 0.0]
    assert as_periods(24, 2) == [24.0, 24.0]


def test_cell_size_moves_to_a_divisor_of_the_period():
    cell_size, cells = divide_periods(np.array([7.0, 7.0]), [360, None], window=3)
    assert cells.tolist() == [51, 0]
    assert cell_size.tolist() == [360 / 51, 7.0]


@pytest.mark.parametrize(
    ("cell_size", "advice"), [(200.0, "a bandwidth of at most 120"), (1e-300, "a larger bandwidth")]
)
def test_periods_of_too_few_or_too_many_cells_raise(cell_size, advice):
    with pytest.raises(InvalidInputError, match=advice):
        divide_periods(np.array([cell_size]), [360], window=3)


def test_window_must_fit_into_every_period():
    check_window_fits(np.array([5, 0]), 5, "use a smaller bandwidth")
    with pytest.raises(InvalidInputError, match=r"hold \[4\]; use a smaller bandwidth"):
        check_window_fits(np.array([4, 0]), 5, "use a smaller bandwidth")


# -- numbers ---------------------------------------------------------------------------------------


def test_booleans_are_not_numbers():
    assert all(map(is_number, (1, 1.5, np.float32(2), np.int8(3))))
    assert not any(map(is_number, (True, np.bool_(True), "1", None, [1])))
    assert not any(map(is_number, (10**400, -(10**400))))  # a float cannot hold them


@pytest.mark.parametrize(
    ("check", "bad"),
    [
        (as_positive, (0, -1, math.nan, math.inf, True, "1", None)),
        (as_not_negative, (-1, math.nan, False, "1", None)),
        (lambda value, name: as_whole(value, name, 1, 9), (0, 10, 1.0, True, "1", None)),
    ],
)
def test_bad_numbers_raise_with_their_parameter(check, bad):
    for value in bad:
        with pytest.raises(InvalidInputError, match=r"^depth must be a") as caught:
            check(value, "depth")
        assert caught.value.parameter == "depth"
        assert caught.value.got is value or caught.value.got != caught.value.got
        assert caught.value.expected


def test_good_numbers_are_converted():
    assert as_positive(np.float32(2), "x") == 2.0
    assert as_not_negative(math.inf, "x") == math.inf
    assert type(as_whole(np.int16(7), "x", 1)) is int


# -- threads ---------------------------------------------------------------------------------------


def test_default_threads_follow_the_environment(monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    cores = thread_count(None)
    assert 1 <= cores <= MAX_THREADS
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    assert thread_count(None) == 1
    for ignored in ("", "0", "many", "1000000", "\u00b2", "\u0661", "1_0", " 1", "9" * 5000):
        monkeypatch.setenv("OMP_NUM_THREADS", ignored)
        assert thread_count(None) == cores


def test_given_threads_are_limited_not_lowered_by_the_environment(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    assert thread_count(5) == 5
    assert thread_count(10**6) == MAX_THREADS
    with pytest.raises(InvalidInputError, match="n_threads"):
        thread_count(0)
