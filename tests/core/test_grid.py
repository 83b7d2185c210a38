"""Grid: a value with a content, weights, and a sum. The laws are in tests/laws."""

import copy
import itertools
import pickle

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from meanshiftpp import Grid
from meanshiftpp.errors import GridMismatchError, InvalidInputError


@pytest.fixture
def points():
    return np.random.default_rng(0).normal(size=(500, 3)) * 3


def test_grid_is_an_immutable_value(points):
    grid = Grid.from_points(points, 1.0)
    with pytest.raises(ValueError, match="read-only"):
        grid.counts[0] = 7
    again = pickle.loads(pickle.dumps(grid))
    assert again == grid == copy.deepcopy(grid)
    assert not again.counts.flags.writeable
    assert grid != Grid.from_points(points, 1.5)
    assert grid != "grid"
    assert repr(grid) == f"Grid({len(grid)} cells, 3 features, weight 500, bandwidth 1)"


@pytest.mark.parametrize(
    ("bandwidth", "period", "text"),
    [
        (0.5, None, "1 feature, weight 1, bandwidth 0.5"),
        (0.5, 4, "1 feature, weight 1, bandwidth 0.5, period 4"),
        ([0.5, 0.5], [4, None], "2 features, weight 1, bandwidth 0.5, period (4, None)"),
        ([0.5, 1], None, "2 features, weight 1, bandwidth [0.5 1. ]"),
        ([1 / 3, 1], None, "2 features, weight 1, bandwidth [0.333333 1.      ]"),
        ([*range(1, 9)], None, "8 features, weight 1, bandwidth [1. 2. 3. 4. 5. 6. 7. 8.]"),
        ([*range(1, 10)], None, "9 features, weight 1, bandwidth [1. 2. 3. ... 7. 8. 9.]"),
    ],
)
def test_repr_states_bandwidth_and_period(bandwidth, period, text):
    point = np.zeros((1, np.size(bandwidth)))
    assert repr(Grid.from_points(point, bandwidth, periodic=period)) == f"Grid(1 cell, {text})"


def test_means_are_those_of_the_points(points):
    grid = Grid.from_points(points, bandwidth=[1.0, 2.0, 5.0])
    cells = np.floor(points / [1.0, 2.0, 5.0])
    for cell, mean in zip(grid.cells, grid.means):
        expected = points[(cells == cell).all(axis=1)].mean(axis=0)
        np.testing.assert_allclose(mean, expected, atol=1e-8)


def test_grid_of_no_points_is_the_empty_grid():
    empty = Grid.from_points(np.empty((0, 2)), 1.0)
    assert empty == Grid.empty(1.0, n_features=2)
    assert len(empty) == 0
    assert empty.total == 0


def test_mismatched_grids_raise():
    grid = Grid.from_points([[1.0, 2.0]], 1.0)
    with pytest.raises(GridMismatchError, match="2 and 1 features"):
        grid + Grid.empty(1.0, 1)
    with pytest.raises(GridMismatchError, match="bandwidth"):
        grid + Grid.empty([1.0, 2.0])
    with pytest.raises(TypeError):
        grid + 1


# -- weights --------------------------------------------------------------------------------------


def test_real_weights_are_close_at_any_scale(points):
    w = np.random.default_rng(1).uniform(0.01, 1, len(points))
    a = Grid.from_points(points, 1.0, sample_weight=w)
    b = Grid.from_points(points, 1.0, sample_weight=w * 2.0**-30)
    assert_array_equal(a.counts, b.counts)
    assert b.unit == a.unit * 2.0**-30
    assert a.total == pytest.approx(w.sum(), rel=1e-7)


def test_weights_of_cells_are_counts_in_their_unit():
    grid = Grid.from_points([[0.5], [3.0]], 1.0, sample_weight=[0.75, 0.5])
    assert grid.unit < 1
    assert grid.weights.tolist() == [0.75, 0.5]
    assert grid.total == 1.25


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


@pytest.mark.parametrize("n", [4, 8, 16, 64])
def test_coarse_grids_of_real_weights_have_a_coarser_unit(n):
    points = [Grid.from_points([[k + 0.25]], 1.0, sample_weight=[0.7]) for k in range(n)]
    grid = sum(points, Grid.empty(1.0, 1))
    coarse = grid.coarsen(n)  # n times the weight of a cell exceeds the finer unit
    assert coarse.unit == n / 2 * points[0].unit
    assert coarse.total == pytest.approx(n * 0.7, rel=1e-8)
    assert coarse.means == pytest.approx(np.array([[n / 2 - 0.25]]), rel=1e-8)


def test_the_heaviest_coarse_cell_sets_the_unit():
    cells = [(0.25, 0.7), (1.25, 0.7), (2.25, 0.7), (3.25, 0.7), (8.25, 0.1)]
    grid = sum(Grid.from_points([[x]], 1.0, sample_weight=[weight]) for x, weight in cells)
    coarse = grid.coarsen(4)
    assert coarse.unit == 4 * grid.unit
    assert coarse.weights == pytest.approx([2.8, 0.1], rel=1e-8)
    empty = grid.faded(0)
    assert empty.coarsen(4) == Grid(empty.bandwidth * 4, *empty.rows, empty.unit, whole=False)


def test_coarse_grids_of_whole_weights_stay_exact():
    heavy = Grid.from_points([[0.5], [1.5]], 1.0, sample_weight=[2**32 - 1, 1])
    with pytest.raises(InvalidInputError, match="use a smaller bandwidth"):
        heavy.coarsen(2)


def test_real_weights_do_not_depend_on_the_order_of_rows():
    X, w = np.arange(4.0)[:, None], np.array([0.1, 0.2, 0.3, 0.4])
    grids = [
        Grid.from_points(X[list(p)], 1.0, sample_weight=w[list(p)])
        for p in itertools.permutations(range(4))
    ]
    assert all(grid == grids[0] for grid in grids)


def test_empty_grid_is_the_identity_for_real_weights():
    for weights in ([2.0**40 + 0.5, 0.5], [1e-30, 3e-30], [0.1, 7.0]):
        grid = Grid.from_points([[0.5], [3.0]], 1.0, sample_weight=weights)
        assert grid + Grid.empty(1.0, 1) == grid == Grid.empty(1.0, 1) + grid


def test_points_of_zero_weight_make_no_cell():
    grid = Grid.from_points([[0.5], [5.5]], 1.0, sample_weight=[2, 0])
    assert grid == Grid.from_points([[0.5], [0.5]], 1.0)


def test_cell_that_would_overflow_raises():
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
def test_bad_weights_raise(weights, message):
    with pytest.raises(InvalidInputError, match=message):
        Grid.from_points([[1.0], [2.0], [3.0]], 1.0, sample_weight=weights)


def test_weights_too_small_to_be_divided_raise():
    with pytest.raises(InvalidInputError, match="scale the weights up"):
        Grid.from_points([[0.0], [5.0]], 1.0, sample_weight=[1e-310, 5e-324])
    scaled = Grid.from_points([[0.0], [5.0]], 1.0, sample_weight=np.array([0.1, 0.7]) * 2.0**-980)
    plain = Grid.from_points([[0.0], [5.0]], 1.0, sample_weight=[0.1, 0.7])
    assert np.array_equal(scaled.counts, plain.counts)


def test_sum_adds_grids():
    parts = [Grid.from_points([[x]], 1.0) for x in (0.5, 1.5, 0.5)]
    assert sum(parts) == parts[0] + parts[1] + parts[2]
    for start in (1, 0.0, None):
        with pytest.raises(TypeError):
            sum(parts, start)
