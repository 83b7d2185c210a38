"""The theorem of the paper: the largest error of the density falls at its rate."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.rate import CASES, Cusp, errors, slope

from meanshiftpp import GridDensity

SIZES = (1_000, 10_000, 100_000, 300_000)


@pytest.mark.parametrize("truth", CASES, ids=lambda t: f"a={t.a:g},d={t.d}")
def test_largest_error_falls_at_the_rate_of_the_theorem(truth):
    """The slope in n is that of the bound h^a + sqrt(log(1/h) / (n h^d)), within 0.05.

    With ten samples per size, slopes scatter by about 0.015 and are flatter by up to 0.03: random
    errors are largest near the peak, which large cells do not resolve. The bounds of a = 1 and
    a = 0.5 differ by at least 0.08, so a tolerance of 0.05 separates them.
    """
    measured = slope(SIZES, (np.mean(errors(truth, n, 10)) for n in SIZES))
    assert measured == pytest.approx(slope(SIZES, map(truth.bound, SIZES)), abs=0.05)


@pytest.mark.parametrize("truth", CASES, ids=lambda t: f"a={t.a:g},d={t.d}")
def test_error_is_within_the_guarantee(truth):
    """The bound has all constants and fails with a probability of one in a thousand."""
    for n in SIZES[:3]:
        bound = truth.guarantee(n, truth.bandwidth(n), delta=1e-3)
        assert max(errors(truth, n, 10)) <= bound


def test_constant_bandwidth_leaves_an_error():
    """At the cusp of a = 1 the mean over a cell is h / 2 too low, for any number of points."""
    truth, h = Cusp(1.0, 1), 0.125
    constant = errors(truth, 1_000_000, 3, bandwidth=h)
    assert min(constant) > h / 2 - 0.01
    assert max(errors(truth, 1_000_000, 3)) < h / 2 - 0.02


@pytest.mark.parametrize("truth", [Cusp(1.0, 1), Cusp(0.5, 2)])
def test_finer_cells_keep_the_rate(truth):
    measured = slope(SIZES, (np.mean(errors(truth, n, 10, resolution=2)) for n in SIZES))
    assert measured == pytest.approx(slope(SIZES, map(truth.bound, SIZES)), abs=0.05)


def test_theorem_does_not_cover_cells_across_an_edge():
    """A uniform density is right inside, and always wrong in the cell with the edge."""
    X = np.random.default_rng(0).uniform(0, 1, (1_000_000, 1))
    model = GridDensity(0.03, resolution=0).fit(X)
    inside = np.exp(model.score_samples((np.arange(33)[:, None] + 0.5) * 0.03))
    assert np.abs(inside - 1).max() < 0.03
    assert np.exp(model.score_samples([[0.995]])) == pytest.approx(1 / 3, abs=0.02)
