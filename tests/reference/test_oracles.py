"""The oracles, against the algorithms of the paper and in cases worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from tests.strategies import Case, cases

from meanshiftpp.reference import (
    coarsen,
    general_mean_shift_pp,
    grid_of_points,
    mean_shift_pp,
    predict,
)

ONE = 2**32  # a whole cell in fixed point


def column(*values: float) -> np.ndarray:
    return np.array(values, dtype=np.float64)[:, None]


# Algorithm 2 with options


@pytest.mark.parametrize("max_iter", [1, 300])
@settings(max_examples=200, derandomize=True)
@given(case=cases())
def test_without_options_it_is_the_algorithm_of_the_paper(case: Case, max_iter: int):
    expected = mean_shift_pp(case.X, case.bandwidth, max_iter=max_iter)
    result = general_mean_shift_pp(case.X, case.bandwidth, max_iter=max_iter)
    assert result.labels.tolist() == expected.labels.tolist()
    assert (result.n_iter, result.converged) == (expected.n_iter, expected.converged)
    scale = 1e-12 * max(np.abs(case.X.astype(float)).max(), np.max(case.bandwidth))
    np.testing.assert_allclose(result.points, expected.points, rtol=1e-12, atol=scale)


def test_a_weight_is_a_number_of_repetitions():
    X, w = column(0.0, 0.5, 1.5, 8.0), [1, 3, 2, 5]
    weighted = general_mean_shift_pp(X, 1.0, sample_weight=w)
    repeated = general_mean_shift_pp(np.repeat(X, w, axis=0), 1.0)
    assert np.repeat(weighted.labels, w).tolist() == repeated.labels.tolist()
    np.testing.assert_allclose(np.repeat(weighted.points, w, axis=0), repeated.points, rtol=1e-15)
    np.testing.assert_allclose(weighted.points[:3], (3 * 0.5 + 2 * 1.5) / 6)


@pytest.mark.parametrize("turns", [-2, 0, 1])
def test_a_period_joins_both_ends(turns):
    # Cells 0 and 9 of a period of 10 are adjacent; the mean of 0.2 and 9.6 (or -0.4) is -0.1.
    X = column(0.2, 9.6 + 10 * turns, 5.0)
    result = general_mean_shift_pp(X, 1.0, cells_per_period=10)
    assert result.labels.tolist() == [0, 0, 1]
    np.testing.assert_allclose(result.points.ravel(), [9.9, 9.9, 5.0])
    assert general_mean_shift_pp(X, 1.0).labels.tolist() != [0, 0, 1]


def test_reach_widens_the_window():
    X = column(0.5, 3.5, 9.5)
    assert general_mean_shift_pp(X, 1.0, reach=2).labels.tolist() == [0, 1, 2]
    assert general_mean_shift_pp(X, 1.0, reach=3).labels.tolist() == [0, 0, 1]


@pytest.mark.parametrize("weight", [[1], [1, 0], [1, -1], [[1, 1]]])
def test_bad_weights_raise(weight):
    with pytest.raises(ValueError, match="expected 2 weights above 0"):
        general_mean_shift_pp(column(0.0, 1.0), 1.0, sample_weight=weight)


# The grid


def test_minus_zero_is_zero():
    assert grid_of_points(column(-0.0), 1.0)[0].tolist() == [[0]]


def test_grid_by_hand():
    cells, counts, sums = grid_of_points([[-0.25, 3.0], [0.5, 1.0], [0.75, 1.5]], [1.0, 2.0])
    assert cells.tolist() == [[-1, 1], [0, 0]]
    assert counts.tolist() == [1, 2]
    assert sums.tolist() == [[3 * ONE // 4, ONE // 2], [5 * ONE // 4, 5 * ONE // 4]]
    assert (cells.dtype, counts.dtype, sums.dtype) == (np.int64, np.uint64, np.uint64)


def test_offsets_round_half_to_even_and_up_to_a_whole_cell():
    unit = 2.0**-32
    halves = column(0.5 * unit, 1.5 * unit, 2.5 * unit)  # to 0, 2 and 2
    assert grid_of_points(halves, 1.0)[2].tolist() == [[4]]
    cells, _, sums = grid_of_points(column(-1e-20), 1.0)
    assert (cells.tolist(), sums.tolist()) == ([[-1]], [[ONE]])


def test_weights_count_and_weight_zero_makes_no_cell():
    cells, counts, sums = grid_of_points(column(0.5, 3.25, 9.0), 1.0, sample_weight=[2.0, 3, 0])
    assert cells.tolist() == [[0], [3]]
    assert counts.tolist() == [2, 3]
    assert sums.tolist() == [[ONE], [3 * ONE // 4]]


def test_weights_of_a_grid_must_be_whole():
    with pytest.raises(ValueError, match="expected 1 whole weights"):
        grid_of_points(column(0.5), 1.0, sample_weight=[0.5])


def test_coarsen_by_hand():
    fine = grid_of_points(column(-0.5, 0.5, 1.5, 2.5), 1.0)
    cells, counts, sums = coarsen(*fine, k=3)
    assert cells.tolist() == [[-1], [0]]
    assert counts.tolist() == [1, 3]
    # -0.5 is 2.5 / 3 into its cell; 0.5 + 1.5 + 2.5 is 4.5, and a third of that is 1.5.
    assert sums.tolist() == [[round(ONE * 2.5 / 3)], [3 * ONE // 2]]


def test_coarsen_rounds_to_nearest_ties_to_even():
    cells, counts = np.zeros((1, 1), np.int64), np.ones(1, np.uint64)
    for k, total, expected in ((2, 1, 0), (2, 3, 2), (2, 5, 2), (3, 4, 1), (3, 5, 2), (1, 7, 7)):
        sums = np.full((1, 1), total, np.uint64)
        assert coarsen(cells, counts, sums, k)[2].tolist() == [[expected]], (k, total)


# Predicting


@pytest.mark.parametrize(
    ("x", "label", "why"),
    [
        (0.2, 0, "its own cell"),
        (2.5, 1, "its own cell, though a heavier one is adjacent"),
        (-0.5, 0, "the only neighbour"),
        (1.5, 0, "the heavier of two neighbours"),
        (7.5, 2, "the first of two equal neighbours"),
        (-40.0, 0, "the nearest center"),
        (60.0, 3, "the nearest center"),
    ],
)
def test_predict_by_hand(x, label, why):
    cells = np.array([[0], [2], [3], [6], [8]])
    weights = [5, 2, 9, 4, 4]
    labels = np.array([0, 1, 1, 2, 3], dtype=np.int32)
    centers = column(0.5, 3.0, 6.5, 8.5)
    assert predict([[x]], 1.0, cells, weights, labels, centers).tolist() == [label], why
    far = predict([[x]], 1.0, cells, weights, labels, centers, cluster_all=False)
    assert far.tolist() == [label if -2 < x < 10 else -1]
