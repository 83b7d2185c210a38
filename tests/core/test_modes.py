"""The search and the labels; tests/laws/test_against_reference.py compares both with NumPy."""

import signal
import subprocess
import sys
import time
import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.exceptions import ConvergenceWarning
from tests.helpers import fit_labels

from meanshiftpp import Grid, seek
from meanshiftpp.errors import InvalidInputError


def blobs(n=3_000, d=3, k=5, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)) + rng.uniform(-20, 20, (k, d))[rng.integers(0, k, n)]


def test_labels_are_numbered_by_falling_weight():
    X = blobs()
    modes, labels = fit_labels(X, 1.5)
    sizes = np.bincount(labels)
    assert (np.diff(sizes) <= 0).all()
    assert_array_equal(sizes, modes.weights)


def test_equal_weights_are_numbered_in_cell_order():
    _, labels = fit_labels([[9.0], [-9.0], [3.0]], 1.0)
    assert labels.tolist() == [2, 0, 1]


def test_labels_found_while_binning_equal_those_of_new_points():
    X = blobs(50_000).astype(np.float32)
    modes, labels = fit_labels(X, 1.0)
    assert_array_equal(labels, modes.label(X))


def test_many_cells_have_one_result_for_all_threads():
    # A second thread starts at 8,192 cells in the window and 65,536 in the regrouping.
    X = np.random.default_rng(3).normal(size=(400_000, 3)).astype(np.float32)
    grid = Grid.from_points(X, 0.07)
    assert len(grid) > 150_000
    one = seek(grid, n_threads=1)
    for threads in (2, 8):
        many = seek(grid, n_threads=threads)
        assert many.n_iter == one.n_iter
        for field in ("cell_labels", "cells", "fractions", "weights"):
            assert_array_equal(getattr(many, field), getattr(one, field))


@pytest.mark.parametrize("d", [7, 16, 64])
def test_cost_in_many_dimensions_depends_on_occupied_cells(d):
    # A window has up to 3**64 cells, a few hundred of them occupied: a visit of all never ends.
    rng = np.random.default_rng(d)
    centers = rng.uniform(-100, 100, (4, d))
    truth = rng.integers(0, 4, 400)
    X = centers[truth] + rng.uniform(-0.4, 0.4, (400, d))
    modes, labels = fit_labels(X, 1.0)
    assert modes.converged
    assert len(modes) == 4
    assert len(set(zip(truth, labels))) == 4  # one label for each center
    assert sorted(modes.weights) == sorted(np.bincount(truth))


def test_extents_too_wide_for_a_key_are_searched():
    X = np.array([[0.0, 0, 0], [1e15, 1e15, 1e15], [1e15, 1e15, 1e15 + 1], [-1e15, 5, 5]])
    modes, labels = fit_labels(X, 1.0)
    assert labels.tolist() == [2, 0, 0, 1]
    assert modes.centers[0].tolist() == [1e15, 1e15, 1e15 + 0.5]


def test_single_point_is_a_mode():
    modes, labels = fit_labels([[-3.25, 7.5]], 1.0)
    assert labels.tolist() == [0]
    np.testing.assert_allclose(modes.centers, [[-3.25, 7.5]], atol=1e-9)
    assert modes.converged


def test_equal_points_are_one_cluster():
    modes, labels = fit_labels(np.full((100, 2), 0.1), 0.3)
    assert len(modes) == 1
    assert set(labels) == {0}


def test_centers_are_in_the_unit_of_each_feature():
    modes, _ = fit_labels([[10.0, 0.25]], [4.0, 0.5])
    assert modes.centers.tolist() == [[10.0, 0.25]]
    assert modes.bandwidth.tolist() == [4.0, 0.5]


def test_search_that_does_not_converge_warns_once():
    X = np.random.default_rng(0).normal(size=(20_000, 2))
    with pytest.warns(
        ConvergenceWarning, match="after 2 steps; raise max_iter: 168 steps are enough"
    ) as caught:
        modes = seek(Grid.from_points(X, 0.05), max_iter=2)
    assert [warning.filename for warning in caught] == [__file__]
    assert not modes.converged
    assert modes.n_iter == 2
    assert "not converged" in repr(modes)


def test_weights_beyond_32_bits_lose_only_the_last_bits():
    few = Grid.from_points([[0.2], [0.9], [1.1], [40.5]], 1.0)
    many = Grid.from_points([[0.2], [0.9], [1.1], [40.5]], 1.0, sample_weight=[2**30] * 4)
    a, b = seek(few), seek(many)
    assert_array_equal(a.cell_labels, b.cell_labels)
    np.testing.assert_allclose(a.centers, b.centers, atol=1e-6)


@pytest.mark.parametrize("unit", [0.25, 1.0, 2.0])
def test_weights_of_modes_are_in_the_unit_of_the_grid(unit):
    grid = replace(Grid.from_points([[0.5], [0.6], [9.5]], 1.0), unit=unit, whole=unit == 1)
    assert seek(grid).weights.tolist() == [2 * unit, unit]


def test_weight_too_large_for_exact_sums_raises():
    X = np.arange(600, dtype=np.float64)[:, None] * 5
    grid = Grid.from_points(X, 1.0, sample_weight=np.full(600, 2**32 - 1))
    with pytest.raises(InvalidInputError, match=r"2\*\*41"):
        seek(grid)


def test_mean_that_ties_into_a_neighbourhood_moves_on():
    # No two cells are adjacent at first, but by the tie rule the mean of six points is in cell 1.
    X = np.array([1 - 2**-22 - 2**-23] * 3 + [1 - 2**-22 + 2**-23] * 3 + [2.0])[:, None]
    for tol in (0.0, 1e-3):
        assert fit_labels(X, 1.0, tol=tol)[1].tolist() == [0] * 7


def test_modes_and_grids_that_are_on_a_device_stay():
    modes = seek(Grid.from_points(blobs(), 1.0))
    assert modes.to("cpu") is modes
    assert modes.grid.to("cpu") is modes.grid


def test_keep_drops_light_modes():
    modes, _ = fit_labels([[0.0], [0.1], [0.2], [9.0], [20.0], [20.1]], 1.0)
    kept = modes.keep(2)
    assert kept.weights.tolist() == [3, 2]
    assert_array_equal(kept.centers, modes.centers[:2])
    assert kept.label([[0.0], [9.0], [20.0]]).tolist() == [0, -1, 1]
    assert modes.keep(100).label([[0.0], [500.0]]).tolist() == [-1, -1]


def test_labels_of_new_points():
    modes, _ = fit_labels([[0.5], [0.6], [0.7], [10.5], [11.5], [13.5]], 1.0)
    new = [[0.9], [1.5], [12.5], [-5.0], [700.0]]
    # In an occupied cell; next to one; between modes of two points and of one; far away.
    assert modes.label(new).tolist() == [0, 0, 1, 0, 2]
    assert modes.label(new, cluster_all=False).tolist() == [0, 0, 1, -1, -1]


def test_nearest_mode_is_measured_in_cells():
    modes, _ = fit_labels([[2.0, 0.5], [2.0, 0.5], [42.0, 20.5]], [4.0, 1.0])
    # (42, 3.5) is nearer to the first mode in cells, and to the second in data units.
    assert modes.label([[42.0, 3.5], [42.0, 12.5]]).tolist() == [0, 1]


def test_points_of_other_features_raise():
    modes, _ = fit_labels([[0.5, 1.0]], 1.0)
    with pytest.raises(InvalidInputError, match=r"2 features.*got 1"):
        modes.label([[1.0]])


def test_points_of_zero_weight_are_labelled_as_new_points():
    X = [[0.5], [0.6], [9.5], [1.5], [5.5]]
    modes, labels = fit_labels(X, 1.0, sample_weight=[1, 1, 1, 0, 0])
    assert len(modes) == 2
    assert labels.tolist() == [0, 0, 1, 0, 1]
    _, labels = fit_labels(X, 1.0, sample_weight=[1, 1, 1, 0, 0], cluster_all=False)
    assert labels.tolist() == [0, 0, 1, 0, -1]


def test_far_points_are_found_in_every_block_of_rows(monkeypatch):
    monkeypatch.setattr("meanshiftpp.core.modes._ROWS_AT_ONCE", 7)
    modes = seek(Grid.from_points([[0.0], [0.5], [9.0]], 1.0))
    X = np.random.default_rng(0).choice([-50.0, 0.2, 9.3, 80.0], (40, 1))
    assert modes.label(X).tolist() == (X[:, 0] > 5).astype(int).tolist()
    far = np.isin(X[:, 0], [-50.0, 80.0])
    assert np.array_equal(modes.label(X, cluster_all=False) == -1, far)


def test_search_can_be_interrupted():
    script = (
        "import signal; import numpy as np; from meanshiftpp.core.recipe import Recipe\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # a shell may ignore it
        "print('go', flush=True)\n"
        "X = np.random.default_rng(0).uniform(size=(30_000, 12))\n"
        "while True: Recipe(0.34, tol=0, max_iter=10**9).checked(12).fit(X)"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout.readline() == "go\n"
            time.sleep(1)
            process.send_signal(signal.SIGINT)
            _, errors = process.communicate(timeout=60)
        finally:
            process.kill()
    assert "KeyboardInterrupt" in errors


@pytest.mark.parametrize("tol", [-1.0, float("nan"), "a"])
def test_bad_tol_raises(tol):
    with pytest.raises(InvalidInputError, match="tol"):
        seek(Grid.from_points([[1.0]], 1.0), tol=tol)


@pytest.mark.parametrize("max_iter", [0, -3, 1.5, True])
def test_bad_max_iter_raises(max_iter):
    with pytest.raises(InvalidInputError, match="max_iter"):
        seek(Grid.from_points([[1.0]], 1.0), max_iter=max_iter)


def test_empty_grid_raises():
    with pytest.raises(InvalidInputError, match="empty"):
        seek(Grid.empty(1.0, 2))


def test_point_midway_between_modes_gets_the_first_of_them():
    """The reference and the GPU do the same; a tree of many modes alone would not decide ties."""
    axis = np.arange(0.0, 80.0, 10.0) + 0.5
    X = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    modes = seek(Grid.from_points(X, 1.0))
    middle = (X[:, None] + X[None])[:, ::7].reshape(-1, 2) / 2
    squares = ((middle[:, None] - modes.centers[None]) ** 2).sum(axis=2)
    assert np.array_equal(modes.label(middle), squares.argmin(axis=1))


# -- windows of cells ------------------------------------------------------------------------------

WINDOWS = [(1, None), (2, None), (1, 20), (2, 20)]


def windows_of(modes, points, period):
    """Return which cells of the grid are in the window around each point's cell, of size 1."""
    steps = np.abs(np.floor(points)[:, None] - modes.grid.cells[None])
    if period:
        steps = np.minimum(steps % period, -steps % period)
    return (steps <= modes.resolution).all(axis=2)


def spread_modes(resolution, period):
    X = np.random.default_rng(7).uniform(0, 20, (60, 2))
    modes = seek(Grid.from_points(X, 1.0, periodic=period), resolution=resolution).keep(2)
    assert len(modes) > 3
    assert (modes.cell_labels < 0).any()
    return modes


@pytest.mark.parametrize(("resolution", "period"), WINDOWS)
def test_shares_are_those_of_the_weight_in_the_window(resolution, period):
    modes = spread_modes(resolution, period)
    points = np.random.default_rng(8).uniform(-3, 23, (200, 2))
    inside = windows_of(modes, points, period) * modes.grid.weights
    weight = np.stack([inside[:, modes.cell_labels == k].sum(1) for k in range(len(modes))], axis=1)
    total = weight.sum(axis=1, keepdims=True)
    assert (total == 0).any()
    assert_array_equal(modes.shares(points), weight / np.maximum(total, 1))


@pytest.mark.parametrize(("resolution", "period"), WINDOWS)
def test_strengths_compare_windows_with_the_densest_of_the_cluster(resolution, period):
    modes = spread_modes(resolution, period)
    labels = modes.cell_labels
    density = windows_of(modes, modes.grid.cells, period) @ modes.grid.weights
    peaks = np.array([density[labels == k].max() for k in range(len(modes))])
    assert_array_equal(modes.strengths(), np.where(labels < 0, 0, density / peaks[labels]))


def test_shares_take_little_more_memory_than_their_result():
    X = np.arange(2000.0)[:, None]
    modes = seek(Grid.from_points(X[::2], 0.1))
    tracemalloc.start()
    try:
        shares = modes.shares(X)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert shares.shape == (2000, 1000)
    assert peak < 1.2 * shares.nbytes
    assert_array_equal(shares.argmax(axis=1)[::2], modes.label(X)[::2])
