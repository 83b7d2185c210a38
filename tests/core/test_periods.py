"""Copies of centers of periodic features."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from meanshiftpp.core.periods import nearest_copies, unwrapped
from meanshiftpp.errors import InvalidInputError

PERIODIC = [360.0, None, 24.0]


@pytest.mark.parametrize("first", [-720.0, -180.0, 0.0, 95.0, 1e4])
def test_copies_are_whole_periods_away_and_near_the_points(first):
    rng = np.random.default_rng(0)
    X = rng.uniform([first, 0, first], [first + 360, 9, first + 24], size=(500, 3))
    centers = rng.uniform(-2000, 2000, size=(50, 3))
    copies = nearest_copies(centers, X, PERIODIC)
    for j, period in ((0, 360), (2, 24)):
        turns = (copies - centers)[:, j] / period
        assert_allclose(turns, turns.round(), atol=1e-9)
        middle = (X[:, j].min() + X[:, j].max()) / 2
        assert (np.abs(copies[:, j] - middle) <= period / 2 + 1e-9).all()
    assert_array_equal(copies[:, 1], centers[:, 1])


@pytest.mark.parametrize("periodic", [None, [None, None, None]])
def test_centers_without_periods_stay(periodic):
    centers = np.array([[-900.0, 3.0, 900.0]])
    copies = nearest_copies(centers, np.zeros((1, 3)), periodic)
    assert_array_equal(copies, centers)
    assert copies is not centers


def test_centers_stay_if_there_are_no_points():
    assert_array_equal(nearest_copies([[900.0]], np.empty((0, 1)), [360]), [[900.0]])


def test_one_period_is_needed_for_each_feature():
    with pytest.raises(InvalidInputError, match="periodic must be None or 3 values"):
        nearest_copies(np.zeros((1, 3)), np.zeros((1, 3)), [360])


def test_unwrapped_points_are_whole_periods_away_and_near_the_circular_mean():
    X = np.array([[350.0, 7.0, 1.0], [10.0, 900.0, 23.0], [0.0, -3.0, 13.0]])
    expected = [[-10.0, 7.0, 1.0], [10.0, 900.0, -1.0], [0.0, -3.0, -11.0]]
    assert_array_equal(unwrapped(X, None, [360, None, 24]), expected)
    assert_array_equal(unwrapped(X, None, None), X)
    assert_array_equal(unwrapped(np.empty((0, 1)), None, 24), np.empty((0, 1)))


def test_weights_move_the_circular_mean_of_unwrapped_points():
    X = np.array([[1.0], [9.0], [17.0]])  # evenly around the period, so the heaviest decides
    for heaviest, expected in enumerate(([1, 9, -7], [1, 9, 17], [1, -15, -7])):
        weights = np.where(np.arange(3) == heaviest, 3, 1)
        assert unwrapped(X, weights, 24).ravel().tolist() == expected
    X, weights = np.array([[9.0], [20.5], [21.5]]), np.array([1e6, 1, 1])
    assert unwrapped(X, weights, 24).ravel().tolist() == [9, 20.5, -2.5]
