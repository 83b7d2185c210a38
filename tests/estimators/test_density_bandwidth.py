"""The rule for the bandwidth of a density."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.stats
from benchmarks.rate import slope

from meanshiftpp import GridDensity
from meanshiftpp.estimators.density import density_bandwidth


def test_rule_for_one_feature_is_scott_s():
    X = np.random.default_rng(0).normal(5, 3, (4000, 1))
    expected = 2 * 3 ** (1 / 3) * math.pi ** (1 / 6) * X.std() / 4000 ** (1 / 3)
    assert density_bandwidth(X, resolution=0) == pytest.approx(expected, rel=1e-6)
    histogram = GridDensity(resolution=0).fit(X)
    assert histogram.bandwidth_ == density_bandwidth(X, resolution=0)


@pytest.mark.parametrize("d", [1, 2, 3, 6])
def test_rule_has_the_resolution_of_the_density(d):
    X = np.random.default_rng(0).normal(5, 3, (400, d))
    model = GridDensity().fit(X)
    assert model.bandwidth_ == pytest.approx(density_bandwidth(X), rel=1e-15)
    assert np.array_equal(density_bandwidth(X), density_bandwidth(X, resolution=model.resolution_))


@pytest.mark.parametrize("smoothness", [1.0, 0.5, 0.1])
@pytest.mark.parametrize("d", [1, 2, 3])
def test_rule_has_the_rate_of_the_theorem(smoothness, d):
    X = np.random.default_rng(0).normal(size=(50, d))
    sizes = np.array([1, 100, 10_000])
    bandwidths = [
        density_bandwidth(X, np.full(50, weight), resolution=0, smoothness=smoothness)[0]
        for weight in sizes
    ]
    assert slope(sizes, bandwidths) == pytest.approx(-1 / (2 * smoothness + d), abs=1e-6)


def squared_error(model, d):
    """Integrate the squared error for a standard normal density on a fine lattice."""
    step = 0.004 if d == 1 else 0.05
    t = np.arange(-5, 5, step) + 0.5 * step
    at = np.stack([m.ravel() for m in np.meshgrid(*[t] * d)], axis=1)
    difference = np.exp(model.score_samples(at)) - scipy.stats.norm.pdf(at).prod(axis=1)
    return (difference**2).sum() * step**d


@pytest.mark.parametrize(("d", "resolution"), [(1, 0), (1, 1), (1, 4), (2, 0), (2, 2)])
def test_constant_of_the_rule_is_near_the_best(d, resolution):
    """For a normal density, windows 1.6 times wider or narrower are worse on average."""
    random = np.random.default_rng(0)
    error = np.zeros(3)
    for _ in range(20):
        X = random.normal(size=(5000, d))
        h = density_bandwidth(X, resolution=resolution)
        for k, factor in enumerate((1, 1 / 1.6, 1.6)):
            model = GridDensity(h * factor, resolution=resolution).fit(X)
            error[k] += squared_error(model, d)
    assert error[0] < error[1]
    assert error[0] < error[2]


def test_constant_feature_is_in_one_cell():
    X = np.c_[np.arange(10.0), np.full(10, 7.0), np.zeros(10)]
    model = GridDensity().fit(X)
    assert model.bandwidth_[1:].tolist() == [7.0, 1.0]
    assert len(np.unique(model.grid_.cells[:, 1:], axis=0)) == 1


@pytest.mark.parametrize("weighted", [False, True])
def test_the_bandwidth_does_not_depend_on_where_a_period_begins(weighted):
    rng = np.random.default_rng(0)
    hours = rng.normal(0, 1, (5000, 1))
    weight = rng.integers(1, 4, 5000) if weighted else None
    midnight, noon = (
        GridDensity(periodic=[24]).fit((hours + offset) % 24, sample_weight=weight)
        for offset in (0, 12)
    )
    assert midnight.bandwidth_ == pytest.approx(noon.bandwidth_, rel=0.02)
    at_peak = [np.exp(m.score_samples([[x]]))[0] for m, x in ((midnight, 0.0), (noon, 12.0))]
    assert at_peak == pytest.approx([1 / np.sqrt(2 * np.pi)] * 2, rel=0.1)


def test_points_far_from_zero_are_reported():
    rng = np.random.default_rng(0)
    with pytest.warns(UserWarning, match="feature 0 counts as constant.*subtract an offset"):
        GridDensity().fit(rng.normal(1e14, 1, (500, 1)))
