"""The algorithms of the paper, in cases small enough to work out by hand."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.cluster import MeanShift

from meanshiftpp.reference import EDGE, general_mean_shift_pp, mean_shift, mean_shift_pp, track


def column(*values: float) -> np.ndarray:
    return np.array(values, dtype=np.float64)[:, None]


# Algorithm 2, as printed and with the default options of its general form


@pytest.fixture(params=[mean_shift_pp, general_mean_shift_pp], ids=lambda call: call.__name__)
def algorithm_2(request):
    return request.param


def test_one_step_is_the_mean_of_the_cell_and_its_neighbours(algorithm_2):
    # Cells 0, 1, 2 and 9. The window of cell 1 has the first three, those of 0 and 2 only two.
    result = algorithm_2(column(0.5, 1.5, 2.5, 9.0), 1.0, max_iter=1)
    assert result.points.ravel().tolist() == [1.0, 1.5, 2.0, 9.0]
    assert (result.n_iter, result.converged) == (1, False)


def test_the_steps_continue_until_nothing_moves(algorithm_2):
    # 1.0, 1.5, 2.0 are cells 1, 1, 2: each window has all, so all move to 1.5 and stay there.
    result = algorithm_2(column(0.5, 1.5, 2.5, 9.0), 1.0)
    assert result.points.ravel().tolist() == [1.5, 1.5, 1.5, 9.0]
    assert result.labels.tolist() == [0, 0, 0, 1]
    assert (result.n_iter, result.converged) == (3, True)


def test_cells_two_apart_are_not_in_one_window(algorithm_2):
    result = algorithm_2(column(0.9, 2.1), 1.0)
    assert result.labels.tolist() == [0, 1]
    assert result.points.ravel().tolist() == [0.9, 2.1]


def test_neighbours_include_diagonals(algorithm_2):
    corners = np.array([[0.9, 0.9], [1.1, 1.1]])
    assert algorithm_2(corners, 1.0).labels.tolist() == [0, 0]


def test_floor_not_truncation(algorithm_2):
    # -0.5 is in cell -1 and 1.5 in cell 1. Truncation would put -0.5 into cell 0, next to 1.5.
    assert algorithm_2(column(-0.5, 1.5), 1.0).labels.tolist() == [0, 1]
    assert algorithm_2(column(-0.5, 0.5), 1.0).points.ravel().tolist() == [0.0, 0.0]


def test_exact_multiples_of_h_are_in_the_upper_cell(algorithm_2):
    # 49 / 49 is 1, though 49 * (1 / 49) is less: 49 is in cell 1, two away from -1.
    assert 49 * (1 / 49) < 1
    assert algorithm_2(column(-1.0, 49.0), 49.0).labels.tolist() == [0, 1]
    assert algorithm_2(column(-1.0, 48.0), 49.0).labels.tolist() == [0, 0]


@pytest.mark.parametrize("below", [0.0, EDGE / 2, -EDGE / 2])
def test_a_mean_just_below_an_edge_is_in_the_next_cell(algorithm_2, below):
    # One step moves the first two to 1 - below: by the tie rule that is cell 1, next to 2.5.
    X = np.array([[1 - below, 0.1], [1 - below, 0.9], [2.5, 0.5]])
    result = algorithm_2(X, 1.0)
    assert result.labels.tolist() == [0, 0, 0]
    np.testing.assert_allclose(result.points[:, 0], 1.5 - below * 2 / 3, rtol=1e-15)


def test_a_mean_further_below_an_edge_is_in_the_lower_cell(algorithm_2):
    X = np.array([[1 - 2 * EDGE, 0.1], [1 - 2 * EDGE, 0.9], [2.5, 0.5]])
    assert algorithm_2(X, 1.0).labels.tolist() == [0, 0, 1]


def test_the_tie_rule_is_not_for_raw_points(algorithm_2):
    X = column(1 - EDGE / 2, 2.5)  # cells 0 and 2 by plain floor: the first step moves nothing
    assert algorithm_2(X, 1.0, max_iter=1).points.tolist() == X.tolist()


def test_the_first_step_does_not_end_the_search(algorithm_2):
    X = column(1 - EDGE / 2, 2.5)  # as means they are in the adjacent cells 1 and 2
    assert algorithm_2(X, 1.0).labels.tolist() == [0, 0]


def test_lattice_at_a_bandwidth_that_is_not_a_binary_fraction(algorithm_2):
    # 0.3 / 0.1 is one bit below 3 in float64; the mean of such points still counts as on the edge.
    assert 0.3 / 0.1 < 3
    X = np.array([[0.3, 0.01], [0.3, 0.09], [0.45, 0.05]])
    assert algorithm_2(X, 0.1).labels.tolist() == [0, 0, 0]


def test_ties_on_integers_at_three_tenths(algorithm_2):
    # Cells of 0, 1, 2, 3 at h = 0.3 are 0, 3, 6, 10 (3 / 0.3 is 10): no two are adjacent.
    assert algorithm_2(column(0, 1, 2, 3), 0.3).labels.tolist() == [0, 1, 2, 3]
    # 1.2 and 1.8 are cells 4 and 6 with 1.5, cell 5, between. Their mean 1.5 is the edge of cell 5.
    result = algorithm_2(column(1.2, 1.5, 1.8), 0.3)
    assert result.labels.tolist() == [0, 0, 0]
    np.testing.assert_allclose(result.points, 1.5)


@pytest.mark.parametrize("x", [0.0, -3.0, 0.1, 1e9])
def test_one_point_stays(algorithm_2, x):
    result = algorithm_2([[x, -x]], 0.5)
    assert result.points.tolist() == [[x, -x]]
    assert result.labels.tolist() == [0]
    assert (result.n_iter, result.converged) == (2, True)


def test_labels_are_numbered_by_weight_then_by_cell(algorithm_2):
    X = column(50.5, -7.5, 20.5, 20.5, 3.5)
    assert algorithm_2(X, 1.0).labels.tolist() == [3, 1, 0, 0, 2]
    assert algorithm_2(X, 1.0).labels.dtype == np.int32


def test_one_bandwidth_per_feature(algorithm_2):
    X = np.array([[0.5, 0.5], [0.5, 20.5]])
    assert algorithm_2(X, [1.0, 1.0]).labels.tolist() == [0, 1]
    assert algorithm_2(X, [1.0, 20.0]).labels.tolist() == [0, 0]


def test_tol_is_in_cells_and_matters_after_64_steps(algorithm_2):
    near = column(0.5, 1.0, 2.5)
    assert algorithm_2(near, 1.0, tol=9.0).n_iter == algorithm_2(near, 1.0, tol=0.0).n_iter == 3
    X = np.repeat(column(0.4, 1.5, 2.6), [100, 1, 100], axis=0)  # 0.011 cells in the first step
    creeping = algorithm_2(X, 1.0, tol=0.0)
    assert creeping.labels.max() == 0
    assert creeping.n_iter == algorithm_2(X, 1.0, tol=1e-3).n_iter > 64
    for scale in (1.0, 1024.0):
        result = algorithm_2(X / scale, 1 / scale, tol=0.01)
        assert result.n_iter == 65  # the first step in which cells rest
        assert result.labels.tolist() == [0] * 101 + [1] * 100  # of equals, to the first


def test_bad_shapes_raise(algorithm_2):
    with pytest.raises(ValueError, match=r"expected points of shape \(n, d\), got shape \(2,\)"):
        algorithm_2([0.0, 1.0], 1.0)


# Algorithm 1


def test_flat_kernel_by_hand():
    # Radius 1: the ball of 0 has 0 and 1, that of 1 all three. Then 0.5, 1, 1.5 are in all balls.
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
def test_two_blobs_have_the_centers_of_scikit_learn(kernel):
    rng = np.random.default_rng(0)
    truth = np.repeat([0, 1], [60, 40])
    X = rng.normal(scale=0.3, size=(100, 2)) + np.array([[-4.0, 2.0], [6.0, -2.0]])[truth]
    result = mean_shift(X, 1.5, kernel=kernel)
    assert result.converged
    assert result.labels.tolist() == truth.tolist()
    centers = np.array([result.points[result.labels == k].mean(axis=0) for k in (0, 1)])
    peer = MeanShift(bandwidth=1.5).fit(X)
    np.testing.assert_allclose(centers, peer.cluster_centers_, atol=0.05)


def test_blobs_within_one_radius_end_at_their_means():
    rng = np.random.default_rng(1)
    blobs = [rng.uniform(0, 0.7, size=(n, 2)) + at for n, at in ((20, -5.0), (10, 8.0))]
    result = mean_shift(np.vstack(blobs), 1.0)
    expected = np.vstack([np.tile(b.mean(axis=0), (len(b), 1)) for b in blobs])
    np.testing.assert_allclose(result.points, expected, rtol=1e-14)
    peer = MeanShift(bandwidth=1.0).fit(np.vstack(blobs))
    np.testing.assert_allclose(peer.cluster_centers_, expected[[0, -1]], rtol=1e-14)


# Algorithm 3


def line(*values: int) -> np.ndarray:
    """Return a grey frame of one row."""
    return np.repeat(np.array(values, np.uint8)[None, :, None], 3, axis=2)


def test_the_window_moves_to_the_mean_of_the_pixels_in_b():
    # Cluster 0 is 9, 9, 9 (cell 0), cluster 1 the 99. The window [1, 5) has two of the 9s at 3, 4
    # and 5 and moves to [2, 6), which has all: their mean is the middle of pixel 4 and rounds down.
    frames = [line(50, 9, 9, 9, 99, 50, 50), line(50, 50, 50, 9, 9, 9, 50)]
    assert track(frames, (1, 0, 4, 1), 10, [0]) == [(True, (2, 0, 4, 1))]


def test_only_the_selected_clusters_are_followed():
    frames = [line(9, 9, 9, 99, 50, 50, 50), line(50, 9, 9, 50, 99, 50, 50)]
    # Equal clusters are numbered by cell: 0 is the 9s, 1 the 50, 2 the 99.
    assert track(frames, (0, 0, 5, 1), 10, [2]) == [(True, (2, 0, 5, 1))]


def test_b_gains_adjacent_cells_in_the_window_and_drops_the_others():
    # 9, 19, 29 are cells 0, 1, 2: each is adjacent to the last, so B follows the brightness.
    frames = [line(9, 9, 50, 50), line(19, 9, 50, 50), line(29, 19, 50, 50), line(29, 29, 50, 50)]
    assert [found for found, _ in track(frames, (0, 0, 2, 1), 10, [0])] == [True, True, True]
    fixed = track(frames, (0, 0, 2, 1), 10, [0], adapt=False)
    assert [found for found, _ in fixed] == [True, False, False]


def test_the_window_and_b_stay_if_no_pixel_is_found():
    # In the last frame one 9 is in the window; centred on its middle, 1.5, the window stays.
    frames = [line(9, 9, 50, 50), line(50, 50, 50, 50), line(50, 9, 9, 50)]
    expected = [(False, (0, 0, 2, 1)), (True, (0, 0, 2, 1))]
    assert track(frames, (0, 0, 2, 1), 10, [0]) == expected


def test_the_emitted_window_is_clipped_to_the_frame():
    frames = [line(9, 9, 9, 50), line(9, 50, 50, 50)]
    assert track(frames, (0, 0, 3, 1), 10, [0]) == [(True, (0, 0, 2, 1))]


def test_the_window_stops_after_the_allowed_steps():
    # The window [0, 4) has the first of the 9s; around its middle, 3.5, it begins at 1.5.
    frames = [line(9, 9, 9, 50, 50, 50, 50, 50), line(50, 50, 50, 9, 9, 9, 50, 50)]
    one, both = (track(frames, (0, 0, 4, 1), 10, [0], max_iter=k)[0] for k in (1, 100))
    assert one == (True, (1, 0, 4, 1))
    assert both[1][0] > one[1][0]
