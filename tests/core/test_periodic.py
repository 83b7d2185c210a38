"""Periodic features: shifting the data around the period shifts the modes and nothing else."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from tests.helpers import assert_equal, assert_same_modes, fit_labels
from tests.strategies import whole

from meanshiftpp import Grid, MeanShiftPP, _kernel, reference, seek
from meanshiftpp.errors import GridMismatchError, InvalidInputError

some = settings(max_examples=200, derandomize=True)


@st.composite
def shifted_points(draw: st.DrawFn) -> tuple[np.ndarray, list[int | None], int, np.ndarray]:
    """Draw points in sixteenths of a cell of size 1, periods, a reach, and a shift in cells."""
    n, d = draw(st.integers(1, 24)), draw(st.integers(1, 6))
    reach = draw(st.integers(1, 3))
    cells = st.integers(2 * reach + 1, 4 * reach + 3)
    periods = draw(st.lists(st.none() | cells, min_size=d, max_size=d))
    X = draw(whole(n, d, draw(st.sampled_from((20, 120))))) / 16.0
    shift = draw(st.lists(st.integers(-40, 40), min_size=d, max_size=d))
    return X, periods, reach, np.array(shift)


def circular(a: np.ndarray, b: np.ndarray, periods: list[int | None]) -> np.ndarray:
    """Return the shortest differences around the periods."""
    K = np.array([k or 0 for k in periods])
    return a - b - K * np.rint((a - b) / np.maximum(K, 1))


@some
@given(shifted_points())
def test_shift_by_whole_cells_shifts_the_modes_and_keeps_the_labels(case):
    X, periods, reach, shift = case
    here = Grid.from_points(X, 1.0, periodic=periods)
    there = Grid.from_points(X + shift, 1.0, periodic=periods)
    modes, shifted = (seek(grid, resolution=reach) for grid in (here, there))
    assert (modes.n_iter, modes.converged) == (shifted.n_iter, shifted.converged)
    assert_array_equal(modes.weights, shifted.weights)
    labels, other = modes.label(X), shifted.label(X + shift)
    # Clusters of equal weight are numbered by their cells, whose order the shift has changed.
    pairs = np.unique(np.column_stack([labels, other]), axis=0)
    assert len(pairs) == len(modes)
    K = np.array([k or 2**60 for k in periods])
    moved = np.where(K < 2**60, (modes.cells + shift) % K, modes.cells + shift)
    assert_array_equal(shifted.cells[pairs[:, 1]], moved[pairs[:, 0]])
    assert_array_equal(shifted.fractions[pairs[:, 1]], modes.fractions[pairs[:, 0]])


@some
@given(shifted_points())
def test_adding_whole_periods_to_points_changes_nothing(case):
    X, periods, reach, _ = case
    K = np.array([k or 0 for k in periods])
    turns = np.random.default_rng(len(X)).integers(-3, 4, size=X.shape) * K
    grid = Grid.from_points(X, 1.0, periodic=periods)
    assert_equal(Grid.from_points(X + turns, 1.0, periodic=periods), grid)
    modes = seek(grid, resolution=reach)
    assert_array_equal(modes.label(X + turns), modes.label(X))
    _, fitted = fit_labels(X + turns, 1.0, periodic=periods)
    assert_array_equal(fitted, fit_labels(X, 1.0, periodic=periods)[1])


@some
@given(shifted_points())
def test_period_that_nothing_crosses_has_no_effect(case):
    X, _, reach, _ = case
    inside = X + 40
    plain = seek(Grid.from_points(inside, 1.0), resolution=reach)
    grid = Grid.from_points(inside, 1.0, periodic=1000)
    modes = seek(grid, resolution=reach)
    assert_same_modes(modes, plain)
    assert_array_equal(modes.centers, plain.centers)
    assert_array_equal(modes.label(inside), plain.label(inside))


@some
@given(shifted_points())
def test_same_clusters_as_the_reference(case):
    X, periods, reach, _ = case
    K = np.array([k or 0 for k in periods])
    tol = 1e-3 * ((2 * reach + 1) / 3)
    expected = reference.general_mean_shift_pp(X, 1.0, reach=reach, cells_per_period=K, tol=tol)
    grid = Grid.from_points(X, 1.0, periodic=periods)
    for window_sums in ("rows", "planes"):
        labels, *_ = _kernel.seek_modes_by(
            grid.cells,
            grid.counts,
            grid.sums,
            grid.cells_per_period,
            reach,
            tol,
            300,
            1,
            window_sums,
        )
        assert_array_equal(labels, seek(grid, resolution=reach).cell_labels)
    modes = seek(grid, resolution=reach)
    labels = modes.label(X)
    assert_array_equal(labels, expected.labels)
    assert (np.abs(circular(modes.centers[labels], expected.points, periods)) < 1e-6).all()
    assert (modes.centers[:, K > 0] >= 0).all()
    assert (modes.centers < np.where(K > 0, K, np.inf)).all()


@some
@given(shifted_points(), st.booleans())
def test_prediction_looks_across_the_period(case, cluster_all):
    X, periods, reach, shift = case
    K = np.array([k or 0 for k in periods])
    modes = seek(Grid.from_points(X, 1.0, periodic=periods), resolution=reach)
    new = X[::-1] + shift / 7 + np.arange(X.size).reshape(X.shape) % 5 * 0.83
    expected = reference.predict(
        new,
        1.0,
        modes.grid.cells,
        modes.grid.counts,
        modes.cell_labels,
        modes.centers,
        reach=reach,
        cells_per_period=K,
        cluster_all=cluster_all,
    )
    labels = modes.label(new, cluster_all=cluster_all)
    near = modes.label(new, cluster_all=False) >= 0
    assert_array_equal(labels[near], expected[near])
    # Two modes can be equally far, so the distances are compared, not the labels.
    for q, a, b in zip(new[~near], labels[~near], expected[~near], strict=True):
        if cluster_all:
            far = [np.linalg.norm(circular(modes.centers[k], q, periods)) for k in (a, b)]
            assert far[0] == pytest.approx(far[1])
        else:
            assert a == b == -1


@pytest.mark.filterwarnings("ignore:the search still moved")
def test_many_cells_have_one_result_for_all_threads():
    X = np.random.default_rng(0).uniform(0, 360, size=(60_000, 2))
    grid = Grid.from_points(X, 1.3, periodic=[360, 360])
    assert len(grid) > 40_000
    expected = seek(grid, resolution=2, max_iter=12, n_threads=1)
    for n_threads in (2, 8):
        modes = seek(grid, resolution=2, max_iter=12, n_threads=n_threads)
        assert_same_modes(modes, expected)
        assert_array_equal(modes.label(X, n_threads=n_threads), expected.label(X, n_threads=1))


def test_bandwidth_is_the_nearest_that_divides_the_period():
    grid = Grid.from_points([[1.0, 2.0]], 7.0, periodic=[360, None])
    assert_array_equal(grid.cells_per_period, [51, 0])
    assert_array_equal(grid.bandwidth, [360 / 51, 7.0])
    assert repr(grid).endswith("bandwidth [7.058824 7.      ], period (360, None))")
    assert_array_equal(Grid.empty(7.0, 2, periodic=[360, None]).cells_per_period, [51, 0])


def test_grids_of_other_periods_cannot_be_added():
    a = Grid.from_points([[1.0], [359.0]], 10.0, periodic=360)
    assert a + Grid.from_points([[361.0]], 10.0, periodic=360) == Grid.from_points(
        [[1.0], [359.0], [1.0]], 10.0, periodic=360
    )
    assert a != replace(a, cells_per_period=np.zeros(1, np.int64))
    for other in (Grid.from_points([[1.0]], 10.0), Grid.from_points([[1.0]], 10.0, periodic=720)):
        with pytest.raises(GridMismatchError, match="cells per period"):
            a + other
    assert pickle.loads(pickle.dumps(a)) == a


def test_coarsen_divides_the_period():
    X = np.random.default_rng(1).uniform(-400, 400, size=(300, 1))
    fine = Grid.from_points(X, 2.5, periodic=[360])
    coarse = fine.coarsen(4)
    direct = Grid.from_points(X, 10.0, periodic=[360])
    assert_array_equal(coarse.cells_per_period, direct.cells_per_period)
    assert_array_equal(coarse.cells, direct.cells)
    assert_array_equal(coarse.counts, direct.counts)
    with pytest.raises(
        InvalidInputError, match=r"divides the cells in each period, \[144\], got 5"
    ):
        fine.coarsen(5)
    with pytest.raises(InvalidInputError, match=r"\[144, 9\], got 2"):
        Grid.from_points([[1.0] * 3], [2.5, 1.0, 1.0], periodic=[360, 9, None]).coarsen(2)


def test_file_keeps_the_period(tmp_path):
    grid = Grid.from_points([[1.0, 3.0], [359.0, 4.0]], 10.0, periodic=[360, None])
    grid.save(tmp_path / "a.grid")
    assert_equal(Grid.load(tmp_path / "a.grid"), grid)


def test_estimator_with_a_period():
    angles = np.array([[359.0], [1.0], [0.0], [180.0], [182.0], [-2.0]])
    model = MeanShiftPP(bandwidth=6, periodic=[360]).fit(angles)
    assert_array_equal(model.labels_, [0, 0, 0, 1, 1, 0])
    assert_array_equal(model.bandwidth_, [6.0])
    assert model.cluster_centers_[0, 0] == pytest.approx(359.5)
    assert_array_equal(model.predict([[720.0], [-180.0]]), [0, 1])
    chunked = MeanShiftPP(bandwidth=6, periodic=[360])
    for chunk in np.array_split(angles, 3):
        chunked.partial_fit(chunk)
    assert chunked.grid_ == model.grid_


def test_estimator_with_a_period_and_a_resolution():
    rng = np.random.default_rng(2)
    angles = np.r_[rng.normal(0, 8, (400, 1)), rng.normal(180, 8, (200, 1))]
    model = MeanShiftPP(bandwidth=25, resolution=4, periodic=[360]).fit(angles)
    assert len(model.cluster_centers_) == 2
    assert_array_equal(model.grid_.cells_per_period, [43])  # 25 / 3 is nearest to 360 / 43
    assert model.bandwidth_[0] == pytest.approx(3 * 360 / 43)
    chunked = MeanShiftPP(bandwidth=25, resolution=4, periodic=[360])
    for chunk in np.array_split(angles, 3):
        chunked.partial_fit(chunk)
    assert chunked.grid_ == model.grid_


def test_points_of_zero_weight_are_labelled_across_the_period():
    _, labels = fit_labels([[1.0], [180.0], [359.0]], 5.0, periodic=360, sample_weight=[2, 1, 0])
    assert labels.tolist() == [0, 1, 0]


@pytest.mark.parametrize(
    ("periodic", "message"),
    [
        ([360], "periodic must be None or 2 values"),
        ([[360, 1]], "periodic must be None or 2 values"),
        ([360, 0], "number or None for each feature, got 0"),
        ([-1.0, None], "number or None for each feature, got -1.0"),
        ([np.inf, None], "got inf"),
        (["a", None], "got 'a'"),
        ("degrees", "[gG]ot 'degrees'"),
        ([2.0, None], r"use a bandwidth of at most 0\.66"),
        ([1e300, None], "use a larger bandwidth"),
    ],
)
def test_bad_periods_raise(periodic, message):
    with pytest.raises(InvalidInputError, match=message):
        Grid.from_points([[1.0, 2.0]], 1.0, periodic=periodic)
    with pytest.raises(ValueError, match=message):
        MeanShiftPP(bandwidth=1.0, periodic=periodic).fit([[1.0, 2.0], [1.0, 3.0]])


def test_window_wider_than_the_period_raises():
    grid = Grid.from_points([[1.0], [2.0]], 1.0, periodic=4)
    with pytest.raises(InvalidInputError, match="a window of 5 cells"):
        seek(grid, resolution=2)
    with pytest.raises(InvalidInputError, match=r"at most 1\.33"):
        fit_labels([[1.0]], 2.0, resolution=2, periodic=4)


def test_cell_that_the_period_makes_too_heavy_raises():
    n = 2**32 - 1
    with pytest.raises(InvalidInputError, match="exact only up to 4,294,967,295"):
        Grid.from_points([[0.5], [10.5]], 1.0, periodic=10, sample_weight=[n, 1])


def test_centre_at_the_end_of_a_period_is_at_its_start():
    X = [[9.9], [10.3], [10.3], [10.3]]  # their mean is 0.2 beyond the edge, in cell 10
    modes = seek(Grid.from_points(X, 1.0, periodic=10))
    assert modes.cells.tolist() == [[0]]
    np.testing.assert_allclose(modes.centers, [[0.2]], atol=1e-9)
    just_below = replace(modes, fractions=np.array([[-1e-20]]))  # -1e-20 modulo 10 is 10.0
    assert just_below.centers.tolist() == [[0.0]]


def test_mean_on_the_edge_of_a_period_is_at_its_start():
    modes = seek(Grid.from_points([[9.5], [10.5]], 1.0, periodic=10))
    assert (modes.cells.tolist(), modes.centers.tolist()) == ([[0]], [[0.0]])


def test_point_midway_between_modes_across_the_period_gets_the_first_of_them():
    X = [[18.5], [18.5], [6.5]]
    modes = seek(Grid.from_points(X, 1.0, periodic=20))
    assert modes.centers.tolist() == [[18.5], [6.5]]
    assert modes.label([[2.5], [12.5], [2.75], [2.25]]).tolist() == [0, 0, 1, 0]
