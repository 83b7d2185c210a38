"""The rest rule: every search ends, with cells that creep or lie evenly, as in the reference."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.exceptions import ConvergenceWarning

from meanshiftpp import Grid, MeanShiftPP, reference, seek
from meanshiftpp._kernel import FREE_STEPS, join_modes
from meanshiftpp.core.recipe import DEFAULT_TOL, enough_steps


def creeping(seed: int, d: int, reach: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Draw chains of heavy groups, with light points between them, and weights."""
    rng = np.random.default_rng([seed, d])
    n = int(rng.integers(3, 8))
    X = np.full((n, d), 0.5)
    X[:, 0] = reach * np.arange(n) + rng.uniform(0.1, 0.9, n)
    X[:, 1:] += rng.integers(0, 2, (n, d - 1)) * rng.uniform(0, 0.8, (n, d - 1))
    weight = np.where(np.arange(n) % 2, rng.integers(1, 4, n), 10 ** rng.integers(2, 6, n))
    return X, weight


@pytest.mark.parametrize("tol", [1e-3, 0.03])
@pytest.mark.parametrize(("reach", "period"), [(1, 0), (2, 0), (1, 9)])
@pytest.mark.parametrize("d", [1, 2, 3])
def test_creeping_groups_end_as_in_the_reference(d, reach, period, tol):
    crept = 0
    for seed in range(40):
        X, weight = creeping(seed, d, reach)
        options = {"reach": reach, "cells_per_period": [period] + [0] * (d - 1)}
        expected = reference.general_mean_shift_pp(X, 1.0, sample_weight=weight, tol=tol, **options)
        periodic = [period or None] + [None] * (d - 1)
        grid = Grid.from_points(X, 1.0, sample_weight=weight, periodic=periodic)
        modes = seek(grid, resolution=reach, tol=tol * 3 / (2 * reach + 1))
        assert_array_equal(modes.label(X), expected.labels, f"seed {seed}")
        assert modes.converged
        assert expected.converged
        crept += modes.n_iter > FREE_STEPS
    assert crept >= 5


def test_algorithm_2_of_the_paper_has_the_same_rule():
    X = np.repeat([[0.4], [1.51], [2.6]], [300, 1, 360], axis=0)
    expected = reference.mean_shift_pp(X, 1.0)
    model = MeanShiftPP(1.0).fit(X)
    assert_array_equal(model.labels_, expected.labels)
    assert model.cluster_weights_.tolist() == [361, 300]
    assert np.abs(model.cluster_centers_ - expected.points[[400, 0]]).max() < 1e-6
    assert FREE_STEPS < model.n_iter_ < 100


def test_a_light_point_between_heavy_groups_joins_the_heavier():
    X = np.array([[0.9], [1.5], [2.1], [40.0]])
    for weights, labels in (([6000, 1, 5000, 1], [0, 0, 1, 2]), ([5000, 1, 6000, 1], [1, 0, 0, 2])):
        model = MeanShiftPP(1.0).fit(X, sample_weight=weights)
        assert model.labels_.tolist() == labels
        assert model.cluster_weights_.tolist() == [6001, 5000, 1]
    equal = MeanShiftPP(1.0).fit(X, sample_weight=[5000, 1, 5000, 1])
    assert equal.labels_.tolist() == [0, 0, 1, 2]  # of equals, to the first
    full = MeanShiftPP(1.0, tol=0).fit(X, sample_weight=[5000, 1, 5000, 1])
    assert full.labels_.tolist() == [0, 0, 0, 1]
    assert full.n_iter_ > 300


def test_modes_join_the_heaviest_around_them():
    cells = np.array([[4], [1], [0], [2], [9], [8]])
    weights = np.array([9, 8, 7, 5, 1, 1], np.uint64)
    labels, kept, joined = join_modes(cells, weights, np.zeros(1, np.int64), 1, 1)
    assert labels.tolist() == [1, 0, 0, 0, 3, 2]  # equals do not join, and 2 does not see 4
    assert kept.tolist() == [1, 0, 5, 4]
    assert joined.tolist() == [20, 9, 1, 1]
    labels, _, joined = join_modes(cells, weights, np.array([10]), 2, 1)
    assert (labels.tolist(), joined.tolist()) == ([1, 0, 0, 1, 0, 0], [17, 14])
    nothing = join_modes(cells[:0], weights[:0], np.zeros(1, np.int64), 1, 1)
    assert [len(array) for array in nothing] == [0, 0, 0]


def test_factors_of_all_weights_change_no_label_and_no_step():
    for seed in range(30):
        X, weight = creeping(seed, 2)
        expected = seek(Grid.from_points(X, 1.0, sample_weight=weight))
        for factor in (2, 3, 7, 1024):
            modes = seek(Grid.from_points(X, 1.0, sample_weight=factor * weight))
            assert_array_equal(modes.cell_labels, expected.cell_labels)
            assert modes.n_iter == expected.n_iter
            assert_array_equal(modes.weights, factor * expected.weights)


def test_data_elsewhere_changes_nothing():
    """Cells move and rest by their own window only, so no other data decides when they do."""
    rng = np.random.default_rng(0)
    elsewhere = rng.normal(1000, 30, (20_000, 2))
    for seed in range(10):
        X, weight = creeping(seed, 2)
        alone = MeanShiftPP(1.0).fit(X, sample_weight=weight)
        together = MeanShiftPP(1.0).fit(
            np.r_[X, elsewhere], sample_weight=np.r_[weight, np.ones(len(elsewhere), int)]
        )
        labels = together.labels_[: len(X)]
        assert_array_equal(np.unique(labels, return_inverse=True)[1], alone.labels_)
        assert together.n_iter_ >= alone.n_iter_ > 1


@pytest.mark.parametrize("n", [10, 300, 20_000])
def test_evenly_spaced_rows_end(n):
    X = np.arange(float(n))[:, None]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = MeanShiftPP(1.0).fit(X)
    assert model.n_iter_ <= enough_steps(DEFAULT_TOL)
    if n <= 300:
        assert_array_equal(model.labels_, reference.mean_shift_pp(X, 1.0).labels)


@pytest.mark.parametrize("tol", [1e-15, 1e-6, 1e-3, 0.5, 1.0, 4.0, 1e9])
def test_enough_steps_are_enough(tol):
    chain = Grid.from_points(np.arange(3000.0)[:, None], 1.0)
    modes = seek(chain, tol=tol, max_iter=enough_steps(tol))
    assert modes.converged
    assert modes.n_iter > FREE_STEPS
    assert len(seek(chain, tol=tol, resolution=3)) < len(modes)


def test_the_tolerance_matters_only_after_the_free_steps():
    rng = np.random.default_rng(2)
    grid = Grid.from_points(rng.normal(size=(500, 2)), 0.4)
    exact = seek(grid, tol=0.0)
    assert exact.n_iter <= FREE_STEPS
    for tol in (1e-9, 1e-3, 1e9):
        modes = seek(grid, tol=tol)
        assert_array_equal(modes.cell_labels, exact.cell_labels)
        assert_array_equal(modes.fractions, exact.fractions)
        assert modes.n_iter == exact.n_iter


def test_threads_change_nothing_while_cells_rest():
    X = np.random.default_rng(4).uniform(0, 60, (200_000, 2))
    grid = Grid.from_points(X, 0.5)
    expected = seek(grid, n_threads=1)
    assert expected.n_iter > FREE_STEPS
    modes = seek(grid, n_threads=8)
    assert_array_equal(modes.cell_labels, expected.cell_labels)
    assert_array_equal(modes.fractions, expected.fractions)
    assert modes.n_iter == expected.n_iter


def test_the_warning_names_what_helps():
    grid = Grid.from_points([[0.9], [1.5], [2.1]], 1.0, sample_weight=[5000, 1, 5000])
    with pytest.warns(ConvergenceWarning, match="raise max_iter: 168 steps are enough for every"):
        seek(grid, max_iter=3)
    assert seek(grid, max_iter=168).converged
    with pytest.warns(ConvergenceWarning, match="raise max_iter, or use a tol above 0"):
        seek(grid, max_iter=100, tol=0)
    assert seek(grid, max_iter=100, tol=1e-3).converged
