"""Profiles of clusters: those of points are exact, and those of a grid come close."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from meanshiftpp import Grid, seek
from meanshiftpp.core.profile import profile_of_grid, profile_of_points

RNG = np.random.default_rng(4)
X = np.concatenate([RNG.normal(0, [1, 3], (4000, 2)), RNG.normal(20, [2, 1], (2000, 2))])


def test_a_profile_of_points_is_that_of_numpy():
    modes = seek(Grid.from_points(X, 4.0))
    labels = modes.label(X)
    found = profile_of_points(modes, X, labels, extremes=True)
    assert found.weights.tolist() == modes.weights.tolist()
    for k in range(len(modes)):
        own = X[labels == k]
        assert_allclose(found.shares[k], len(own) / len(X))
        assert_allclose(found.means[k], own.mean(axis=0), atol=1e-9)
        assert_allclose(found.spreads[k], own.std(axis=0), atol=1e-9)
        assert_allclose(found.lows[k], own.min(axis=0))
        assert_allclose(found.highs[k], own.max(axis=0))


@pytest.mark.parametrize("dtype", ["float32", "int16", "int64", "uint8"])
def test_points_of_any_type_and_layout(dtype):
    points = np.clip(X * 3 + 60, 0, 250).astype(dtype)
    modes = seek(Grid.from_points(points, 20.0))
    labels = modes.label(points)
    expected = profile_of_points(modes, points.astype(np.float64), labels, extremes=True)
    layouts = (points, np.asfortranarray(points), np.repeat(points, 2, axis=1)[:, ::2])
    for layout in layouts:
        found = profile_of_points(modes, layout, labels, extremes=True)
        for a, b in zip(found, expected, strict=True):
            assert np.array_equal(a, b)


def test_labels_beyond_the_clusters_raise():
    modes = seek(Grid.from_points(X, 4.0))
    with pytest.raises(ValueError, match="below the number of centers"):
        profile_of_points(modes, X[:1], np.array([len(modes)], np.int32))


@pytest.mark.parametrize("exponent", [-1000, -600, 600, 1000])
def test_spreads_of_very_small_and_large_values(exponent):
    scaled = np.ldexp(X, exponent)
    modes, of_scaled = (
        seek(Grid.from_points(points, float(np.ldexp(4.0, k))))
        for points, k in ((X, 0), (scaled, exponent))
    )
    labels = modes.label(X)
    spreads = profile_of_points(modes, X, labels).spreads
    found = profile_of_points(of_scaled, scaled, labels).spreads
    assert np.array_equal(found, np.ldexp(spreads, exponent))


def test_weights_are_repeated_points():
    weight = RNG.integers(0, 4, len(X))
    many = np.repeat(X, weight, axis=0)
    modes = seek(Grid.from_points(many, 1.0)).keep(100)
    one = profile_of_points(modes, X, modes.label(X), weight)
    every = profile_of_points(modes, many, modes.label(many))
    for a, b in zip(one[:5], every[:5], strict=True):
        assert_allclose(a, b, atol=1e-9)
    assert one.shares.sum() < 1  # the rest is noise


def test_a_profile_of_single_points_in_their_cells_is_exact():
    modes = seek(Grid.from_points(X[:200], 1e-6, n_threads=1)).keep(1)
    one = {name: getattr(modes, name)[:1] for name in ("cells", "fractions")}
    labels, weights = np.zeros_like(modes.cell_labels), modes.weights.sum(keepdims=True)
    found = profile_of_grid(replace(modes, cell_labels=labels, weights=weights, **one))
    assert_allclose(found.means[0], X[:200].mean(axis=0), atol=1e-6)
    assert_allclose(found.spreads[0], X[:200].std(axis=0), rtol=1e-6)


@pytest.mark.parametrize(("weight", "spread"), [(1, 0.0), (2, (1 / 24) ** 0.5), (0.75, 12**-0.5)])
def test_only_a_whole_weight_is_a_number_of_points(weight, spread):
    """A cell of one point has no spread; one of a real weight is full of points."""
    modes = seek(Grid.from_points([[0.5]], 1.0, sample_weight=[weight]))
    assert_allclose(profile_of_grid(modes).spreads, [[spread]], rtol=1e-12)


@pytest.mark.parametrize("h", [0.3, 1.0, 2.0])
def test_a_profile_of_a_grid_has_exact_means_and_close_spreads(h):
    modes = seek(Grid.from_points(X, h)).keep(500)
    labels = modes.label(X)
    grid, points = profile_of_grid(modes), profile_of_points(modes, X, labels)
    assert_allclose(grid.shares, points.shares)
    assert_allclose(grid.means, points.means, atol=1e-6)
    assert_allclose(grid.spreads, points.spreads, rtol=0.03)


def test_a_period_is_respected():
    hours = RNG.normal(23.8, 1, (500, 1)) % 24
    modes = seek(Grid.from_points(hours, 3.0, periodic=[24]))
    assert len(modes) == 1
    for found in profile_of_grid(modes), profile_of_points(modes, hours, modes.label(hours)):
        assert found.means[0, 0] % 24 == pytest.approx(23.8, abs=0.2)
        assert found.spreads[0, 0] == pytest.approx(1, abs=0.1)


def test_names_of_columns_stay_apart():
    found = profile_of_grid(seek(Grid.from_points([[1.0, 2.0]], 1.0)))
    names = list(found.table(["size", "x"]))
    assert names[:5] == ["label", "cluster_size", "share", "size", "x"]
    assert names[5:] == ["size_mean", "size_std", "x_mean", "x_std"]
    names = list(found.table(["x", "x_mean"]))
    assert names[3:] == ["x", "x_mean", "x_mean_2", "x_std", "x_mean_mean", "x_mean_std"]
    assert list(found.table(["size", "cluster_size"]))[:2] == ["label", "cluster_size_2"]
    assert list(found.table(["x", "X"]))[3:] == ["x", "X", "x_mean", "x_std", "X_mean", "X_std"]


def test_a_cluster_without_points_has_no_extremes():
    modes = seek(Grid.from_points([[0.5], [9.5]], 1.0))
    found = profile_of_points(modes, np.array([[9.5]]), np.array([1], np.int32), extremes=True)
    assert_allclose(found.lows, [[np.nan], [9.5]])
    assert_allclose(found.highs, [[np.nan], [9.5]])
