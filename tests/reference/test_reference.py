"""The oracle itself, against cases small enough to work out by hand."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from sklearn.cluster import MeanShift
from tests.strategies import Case, cases

from meanshiftpp.reference.algorithms import (
    EDGE,
    coarsen,
    grid_of_points,
    mean_shift,
    mean_shift_pp,
    predict,
    track,
)

ONE = 2**32  # a whole cell in fixed point


def column(*values: float) -> np.ndarray:
    return np.array(values, dtype=np.float64)[:, None]


# Algorithm 2


def test_one_step_is_the_mean_of_the_cell_and_its_neighbours():
    # Cells 0, 1, 2 and 9. The one in cell 1 sees all three, those beside it only two.
    result = mean_shift_pp(column(0.5, 1.5, 2.5, 9.0), 1.0, max_iter=1)
    assert result.points.ravel().tolist() == [1.0, 1.5, 2.0, 9.0]
    assert (result.n_iter, result.converged) == (1, False)


def test_the_steps_go_on_until_nothing_moves():
    # 1.0, 1.5, 2.0 are cells 1, 1, 2: all see all, and meet in 1.5. The third step stands still.
    result = mean_shift_pp(column(0.5, 1.5, 2.5, 9.0), 1.0)
    assert result.points.ravel().tolist() == [1.5, 1.5, 1.5, 9.0]
    assert result.labels.tolist() == [0, 0, 0, 1]
    assert (result.n_iter, result.converged) == (3, True)


def test_cells_two_apart_do_not_see_each_other():
    result = mean_shift_pp(column(0.9, 2.1), 1.0)
    assert result.labels.tolist() == [0, 1]
    assert result.points.ravel().tolist() == [0.9, 2.1]


def test_neighbours_include_diagonals():
    corners = np.array([[0.9, 0.9], [1.1, 1.1]])
    assert mean_shift_pp(corners, 1.0).labels.tolist() == [0, 0]


def test_floor_not_truncation():
    # -0.5 is in cell -1 and 1.5 in cell 1. Truncation would put -0.5 into cell 0, beside 1.5.
    assert mean_shift_pp(column(-0.5, 1.5), 1.0).labels.tolist() == [0, 1]
    assert mean_shift_pp(column(-0.5, 0.5), 1.0).points.ravel().tolist() == [0.0, 0.0]


def test_exact_multiples_of_h_start_a_cell():
    # 49 / 49 is 1, though 49 * (1 / 49) is less: 49 is in cell 1, two away from -1.
    assert 49 * (1 / 49) < 1
    assert mean_shift_pp(column(-1.0, 49.0), 49.0).labels.tolist() == [0, 1]
    assert mean_shift_pp(column(-1.0, 48.0), 49.0).labels.tolist() == [0, 0]


def test_minus_zero_is_zero():
    assert grid_of_points(column(-0.0), 1.0)[0].tolist() == [[0]]


@pytest.mark.parametrize("below", [0.0, EDGE / 2, -EDGE / 2])
def test_a_mean_just_below_an_edge_is_in_the_next_cell(below):
    # One step takes the first two to 1 - below, by the rule in cell 1 and so beside 2.5.
    X = np.array([[1 - below, 0.1], [1 - below, 0.9], [2.5, 0.5]])
    result = mean_shift_pp(X, 1.0)
    assert result.labels.tolist() == [0, 0, 0]
    np.testing.assert_allclose(result.points[:, 0], 1.5 - below * 2 / 3, rtol=1e-15)


def test_a_mean_further_below_an_edge_is_not():
    X = np.array([[1 - 2 * EDGE, 0.1], [1 - 2 * EDGE, 0.9], [2.5, 0.5]])
    assert mean_shift_pp(X, 1.0).labels.tolist() == [0, 0, 1]


def test_the_tie_rule_does_not_touch_the_raw_points():
    X = column(1 - EDGE / 2, 2.5)  # cells 0 and 2 by plain floor: the first step moves nothing
    assert mean_shift_pp(X, 1.0, max_iter=1).points.tolist() == X.tolist()


def test_the_first_step_does_not_end_the_search():
    X = column(1 - EDGE / 2, 2.5)  # as means they are in cells 1 and 2, and meet
    assert mean_shift_pp(X, 1.0).labels.tolist() == [0, 0]


def test_lattice_at_a_bandwidth_that_is_no_binary_fraction():
    # 0.3 / 0.1 is a last bit below 3 in float64; the mean of such points still is on the edge.
    assert 0.3 / 0.1 < 3
    X = np.array([[0.3, 0.01], [0.3, 0.09], [0.45, 0.05]])
    assert mean_shift_pp(X, 0.1).labels.tolist() == [0, 0, 0]


def test_ties_on_integers_at_three_tenths():
    # Cells of 0, 1, 2, 3 at h = 0.3 are 0, 3, 6, 10 (3 / 0.3 is 10): none beside another.
    assert mean_shift_pp(column(0, 1, 2, 3), 0.3).labels.tolist() == [0, 1, 2, 3]
    # 1.2 and 1.8 are cells 4 and 6 with 1.5, cell 5, between. Their mean 1.5 is the edge of cell 5.
    result = mean_shift_pp(column(1.2, 1.5, 1.8), 0.3)
    assert result.labels.tolist() == [0, 0, 0]
    np.testing.assert_allclose(result.points, 1.5)


@pytest.mark.parametrize("x", [0.0, -3.0, 0.1, 1e9])
def test_one_point_stays(x):
    result = mean_shift_pp([[x, -x]], 0.5)
    assert result.points.tolist() == [[x, -x]]
    assert result.labels.tolist() == [0]
    assert (result.n_iter, result.converged) == (2, True)


def test_labels_fall_with_weight_and_then_follow_the_cells():
    X = column(50.5, -7.5, 20.5, 20.5, 3.5)
    assert mean_shift_pp(X, 1.0).labels.tolist() == [3, 1, 0, 0, 2]
    assert mean_shift_pp(X, 1.0).labels.dtype == np.int32


def test_one_bandwidth_per_feature():
    X = np.array([[0.5, 0.5], [0.5, 20.5]])
    assert mean_shift_pp(X, [1.0, 1.0]).labels.tolist() == [0, 1]
    assert mean_shift_pp(X, [1.0, 20.0]).labels.tolist() == [0, 0]


def test_a_weight_counts_the_point_so_often():
    X, w = column(0.0, 0.5, 1.5, 8.0), [1, 3, 2, 5]
    weighted = mean_shift_pp(X, 1.0, sample_weight=w)
    repeated = mean_shift_pp(np.repeat(X, w, axis=0), 1.0)
    assert np.repeat(weighted.labels, w).tolist() == repeated.labels.tolist()
    np.testing.assert_allclose(np.repeat(weighted.points, w, axis=0), repeated.points, rtol=1e-15)
    np.testing.assert_allclose(weighted.points[:3], (3 * 0.5 + 2 * 1.5) / 6)


def test_tol_is_in_cells_and_over_all_points():
    X = column(0.5, 1.0, 2.5)  # means: 0.75, 4 / 3, 1.75; then all to 23 / 18, by 0.53, 0.06, 0.47
    assert mean_shift_pp(X, 1.0, tol=1.06).n_iter == 2
    assert mean_shift_pp(X, 1.0, tol=1.05).n_iter == 3
    assert mean_shift_pp(X / 1024, 1 / 1024, tol=1.06).n_iter == 2
    assert mean_shift_pp(X, 1.0, tol=0.0).converged


@pytest.mark.parametrize("weight", [[1], [1, 0], [1, -1], [[1, 1]]])
def test_bad_weights_are_refused(weight):
    with pytest.raises(ValueError, match="expected 2 weights above 0"):
        mean_shift_pp(column(0.0, 1.0), 1.0, sample_weight=weight)


def test_bad_shapes_are_refused():
    with pytest.raises(ValueError, match=r"expected points of shape \(n, d\), got shape \(2,\)"):
        mean_shift_pp([0.0, 1.0], 1.0)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(cases())
def test_two_tables_in_python_agree(case: Case):
    """One step once more, with the paper's hash tables and a loop over v in {-1, 0, 1}^d."""
    y = np.asarray(case.X, dtype=np.float64) / case.bandwidth
    keys = [tuple(int(c) for c in row) for row in np.floor(y)]
    C: dict[tuple[int, ...], int] = {}
    S: dict[tuple[int, ...], np.ndarray] = {}
    for key, row in zip(keys, y):
        C[key] = C.get(key, 0) + 1
        S[key] = S.get(key, 0) + row
    moved = {}
    for key in C:
        around = [tuple(np.add(key, v).tolist()) for v in product((-1, 0, 1), repeat=y.shape[1])]
        around = [k for k in around if k in C]
        moved[key] = sum(S[k] for k in around) / sum(C[k] for k in around)
    expected = np.array([moved[key] for key in keys]) * case.bandwidth
    actual = mean_shift_pp(case.X, case.bandwidth, max_iter=1).points
    np.testing.assert_allclose(actual, expected, rtol=1e-12, atol=1e-12 * np.abs(case.X).max())


# Algorithm 1


def test_flat_kernel_by_hand():
    # Radius 1: 0 sees 1, 1 sees 0 and 2, 2 sees 1. Then 0.5, 1, 1.5 all see each other.
    result = mean_shift(column(0.0, 1.0, 2.0, 7.0), 1.0, max_iter=1)
    assert result.points.ravel().tolist() == [0.5, 1.0, 1.5, 7.0]
    result = mean_shift(column(0.0, 1.0, 2.0, 7.0), 1.0)
    assert result.points.ravel().tolist() == [1.0, 1.0, 1.0, 7.0]
    assert result.labels.tolist() == [0, 0, 0, 1]
    assert result.converged


def test_gaussian_kernel_by_hand():
    k = np.exp(-0.5)
    result = mean_shift(column(0.0, 1.0), 1.0, kernel="gaussian", max_iter=1)
    np.testing.assert_allclose(result.points.ravel(), [k / (1 + k), 1 / (1 + k)], rtol=1e-15)
    result = mean_shift(column(0.0, 1.0), 1.0, kernel="gaussian")
    np.testing.assert_allclose(result.points.ravel(), 0.5, atol=1e-3)
    assert result.labels.tolist() == [0, 0]


def test_the_flat_kernel_is_a_ball():
    corners = np.array([[0.0, 0.0], [0.8, 0.8]])  # 1.13 apart
    assert mean_shift(corners, 1.0).labels.tolist() == [0, 1]
    assert mean_shift(corners, [1.0, 2.0]).labels.tolist() == [0, 0]


@pytest.mark.parametrize("kernel", ["flat", "gaussian"])
def test_two_blobs_have_the_centres_scikit_learn_finds(kernel):
    rng = np.random.default_rng(0)
    truth = np.repeat([0, 1], [60, 40])
    X = rng.normal(scale=0.3, size=(100, 2)) + np.array([[-4.0, 2.0], [6.0, -2.0]])[truth]
    result = mean_shift(X, 1.5, kernel=kernel)
    assert result.converged
    assert result.labels.tolist() == truth.tolist()
    centers = np.array([result.points[result.labels == k].mean(axis=0) for k in (0, 1)])
    peer = MeanShift(bandwidth=1.5).fit(X)
    np.testing.assert_allclose(centers, peer.cluster_centers_, atol=0.05)


def test_blobs_within_one_radius_meet_in_their_means():
    rng = np.random.default_rng(1)
    blobs = [rng.uniform(0, 0.7, size=(n, 2)) + at for n, at in ((20, -5.0), (10, 8.0))]
    result = mean_shift(np.vstack(blobs), 1.0)
    expected = np.vstack([np.tile(b.mean(axis=0), (len(b), 1)) for b in blobs])
    np.testing.assert_allclose(result.points, expected, rtol=1e-14)
    peer = MeanShift(bandwidth=1.0).fit(np.vstack(blobs))
    np.testing.assert_allclose(peer.cluster_centers_, expected[[0, -1]], rtol=1e-14)


# The grid


def test_grid_by_hand():
    cells, counts, sums = grid_of_points([[-0.25, 3.0], [0.5, 1.0], [0.75, 1.5]], [1.0, 2.0])
    assert cells.tolist() == [[-1, 1], [0, 0]]
    assert counts.tolist() == [1, 2]
    assert sums.tolist() == [[3 * ONE // 4, ONE // 2], [5 * ONE // 4, 5 * ONE // 4]]
    assert (cells.dtype, counts.dtype, sums.dtype) == (np.int64, np.uint64, np.uint64)


def test_offsets_round_half_to_even_and_reach_the_top():
    unit = 2.0**-32
    halves = column(0.5 * unit, 1.5 * unit, 2.5 * unit)  # to 0, 2 and 2
    assert grid_of_points(halves, 1.0)[2].tolist() == [[4]]
    cells, _, sums = grid_of_points(column(-1e-20), 1.0)
    assert (cells.tolist(), sums.tolist()) == ([[-1]], [[ONE]])


def test_weights_count_and_zero_leaves_no_cell():
    cells, counts, sums = grid_of_points(column(0.5, 3.25, 9.0), 1.0, sample_weight=[2.0, 3, 0])
    assert cells.tolist() == [[0], [3]]
    assert counts.tolist() == [2, 3]
    assert sums.tolist() == [[ONE], [3 * ONE // 4]]


def test_weights_of_a_grid_are_whole():
    with pytest.raises(ValueError, match="expected 1 whole weights"):
        grid_of_points(column(0.5), 1.0, sample_weight=[0.5])


def test_coarsen_by_hand():
    fine = grid_of_points(column(-0.5, 0.5, 1.5, 2.5), 1.0)
    cells, counts, sums = coarsen(*fine, k=3)
    assert cells.tolist() == [[-1], [0]]
    assert counts.tolist() == [1, 3]
    # -0.5 is 2.5 of 3 into its cell; 0.5 + 1.5 + 2.5 is 4.5, and a third of it 1.5.
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
        (2.5, 1, "its own cell, though a heavier one is beside it"),
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


# Algorithm 3


def line(*values: int) -> np.ndarray:
    """A frame of one row, grey."""
    return np.repeat(np.array(values, np.uint8)[None, :, None], 3, axis=2)


def test_the_window_goes_to_the_mean_of_the_pixels_in_b():
    # Cluster 0 is 9, 9, 9 (cell 0), cluster 1 the 99. Of 9s at 3, 4, 5 the window [1, 5) sees two,
    # goes to [2, 6) and then sees all: their mean is the middle of pixel 4, and rounds down.
    frames = [line(50, 9, 9, 9, 99, 50, 50), line(50, 50, 50, 9, 9, 9, 50)]
    assert track(frames, (1, 0, 4, 1), 10, [0]) == [(True, (2, 0, 4, 1))]


def test_only_the_selected_clusters_are_followed():
    frames = [line(9, 9, 9, 99, 50, 50, 50), line(50, 9, 9, 50, 99, 50, 50)]
    # Of equal clusters the one of the lower cell is first: 0 is the 9s, 1 the 50, 2 the 99.
    assert track(frames, (0, 0, 5, 1), 10, [2]) == [(True, (2, 0, 5, 1))]


def test_b_grows_by_adjacent_cells_of_the_window_and_forgets_the_others():
    # 9, 19, 29 are cells 0, 1, 2: each a neighbour of the last, so that B follows the brightness.
    frames = [line(9, 9, 50, 50), line(19, 9, 50, 50), line(29, 19, 50, 50), line(29, 29, 50, 50)]
    assert [found for found, _ in track(frames, (0, 0, 2, 1), 10, [0])] == [True, True, True]
    fixed = track(frames, (0, 0, 2, 1), 10, [0], adapt=False)
    assert [found for found, _ in fixed] == [True, False, False]


def test_where_no_pixel_is_left_the_window_rests_and_b_is_kept():
    # Then one of the 9s is in the window; centred on its middle, 1.5, the window is where it was.
    frames = [line(9, 9, 50, 50), line(50, 50, 50, 50), line(50, 9, 9, 50)]
    expected = [(False, (0, 0, 2, 1)), (True, (0, 0, 2, 1))]
    assert track(frames, (0, 0, 2, 1), 10, [0]) == expected


def test_what_is_outside_the_frame_is_not_emitted():
    frames = [line(9, 9, 9, 50), line(9, 50, 50, 50)]
    assert track(frames, (0, 0, 3, 1), 10, [0]) == [(True, (0, 0, 2, 1))]
