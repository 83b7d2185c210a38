"""The spread of the data: moments, outliers, references and the sample of rows."""

from __future__ import annotations

import math

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from meanshiftpp import Grid
from meanshiftpp.core.scale import (
    check_spread,
    normal_reference,
    outlier_limits,
    sample_rows,
    scale_of_grid,
    scale_of_points,
    take_rows,
)


@pytest.fixture(scope="module")
def points():
    X, _ = make_blobs(900, centers=[(0, 0), (9, 2), (3, 10)], random_state=0)
    return X * [1, 50]


def test_moments_do_not_depend_on_order_or_blocks(monkeypatch, points):
    X = points + 1000.3
    expected = scale_of_points(X).bandwidth(0.1)
    assert np.allclose(expected, 0.1 * X.std(axis=0), rtol=1e-6)
    assert np.array_equal(scale_of_points(X[::-1]).bandwidth(0.1), expected)
    for rows in (1, 7, 100):
        monkeypatch.setattr("meanshiftpp.core.scale.BLOCK_ROWS", rows)
        assert np.array_equal(scale_of_points(X).bandwidth(0.1), expected)


def test_grid_has_the_scale_of_its_points(points):
    of_grid = scale_of_grid(Grid.from_points(points, [0.1, 5.0]))
    of_points = scale_of_points(points)
    assert of_grid.total == of_points.total
    assert np.allclose(of_grid.mean, of_points.mean, rtol=1e-6)
    assert np.allclose(of_grid.spread, of_points.spread, rtol=1e-3)


@pytest.mark.parametrize("weighted", [False, True])
def test_outlier_limits_exclude_distant_values(weighted):
    X = np.r_[np.arange(1000.0), 1e6, -1e6][:, None]
    weight = np.full(len(X), 3.0) if weighted else None
    low, high = outlier_limits(X, weight)
    assert -1000 <= low[0] <= -900
    assert 1900 <= high[0] <= 2000
    mostly_constant = np.r_[np.zeros(1000), 5.0][:, None]
    assert outlier_limits(mostly_constant).ravel().tolist() == [-np.inf, np.inf]


def test_normal_reference_has_the_rate_of_the_paper():
    # n^(-1 / (2a + d)) with a = 1.
    ratio = normal_reference(3, 1e6) / normal_reference(3, 1e3)
    assert math.isclose(ratio, 1000 ** (-1 / 5))
    assert math.isclose(normal_reference(1, 1000), 3.4908 / 10, rel_tol=1e-4)  # Scott's rule


def test_sample_has_one_row_of_every_part():
    X = np.arange(1000).reshape(-1, 1)
    rows, weight = sample_rows(X, np.arange(1000), 64)
    edges = np.arange(65) * 1000 // 64
    assert (edges[:-1] <= rows[:, 0]).all()
    assert (rows[:, 0] < edges[1:]).all()
    assert np.array_equal(rows[:, 0], weight)
    assert len(np.unique(rows[:, 0] % 15)) > 10  # the sample has no period
    same, none = sample_rows(X, None, 1000)
    assert same is X
    assert none is None


@pytest.mark.parametrize("offset", [0.0, 1e9, 1e13, -4e13])
def test_spread_far_from_zero_counts(offset):
    X = np.random.default_rng(0).normal(0, 3, (500, 1)) + offset
    scale = scale_of_points(X)
    check_spread(scale, X)
    assert scale.bandwidth(1.0) == pytest.approx(3, rel=0.1)


def test_spread_too_far_from_zero_is_reported():
    X = np.random.default_rng(0).normal([0, 2e14], 3, (500, 2))
    with pytest.warns(UserWarning, match=r"feature 1 counts as constant: .* subtract an offset"):
        check_spread(scale_of_points(X), X)
    rounding = np.array([0.3, 0.1 + 0.2, 0.3])[:, None]
    check_spread(scale_of_points(rounding), rounding)


def test_references_of_many_features_are_finite():
    exact, beyond = normal_reference(500, 1000), normal_reference(501, 1000)
    assert beyond == pytest.approx(exact, rel=1e-3)
    assert normal_reference(10**6, 3) == pytest.approx(math.sqrt(4 * math.pi), rel=1e-3)


def test_rows_without_weight_do_not_count(points):
    weight = np.arange(len(points)) % 3.0
    some, all_rows = (
        scale_of_points(X, w)
        for X, w in ((points, weight), (points[weight > 0], weight[weight > 0]))
    )
    assert some.total == all_rows.total
    assert np.array_equal(some.mean, all_rows.mean)
    assert np.array_equal(some.spread, all_rows.spread)


@pytest.mark.parametrize("order", ["C", "F"])
def test_few_rows_are_taken_at_once_because_each_may_be_on_another_page_of_a_file(order):
    """NumPy does not answer Ctrl-C while it reads them."""
    taken = []

    class Mapped(np.memmap):
        def take(self, indices, **options):
            taken.append(len(indices))
            return super().take(indices, **options)

        def __getitem__(self, key):
            taken.append(len(key))
            return super().__getitem__(key)

    X = np.asarray(np.random.default_rng(0).normal(size=(5000, 2)), order=order)
    rows = np.arange(0, 5000, 3)
    assert np.array_equal(take_rows(X, rows), X[rows])
    assert np.array_equal(take_rows(X.view(Mapped), rows), X[rows])
    assert sum(taken) == len(rows)
    assert max(taken) < 100
