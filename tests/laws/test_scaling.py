"""Scaling by a power of two changes no label, however small or large the data becomes.

Powers of two scale numbers exactly, so the laws hold with `==` until values become subnormal or
overflow. An automatic bandwidth also needs a spread above 2^-1000.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.strategies import Case, cases

from meanshiftpp import (
    Grid,
    GridDensity,
    MeanShiftPP,
    density_bandwidth,
    select_bandwidth,
    sweep,
)
from meanshiftpp.core.recipe import Recipe
from meanshiftpp.errors import InvalidInputError

LEAST_OF_TREE = -940  # the cells of smaller values would be subnormal
EXPONENTS = (-1002, -700, -540, -530, -60, 60, 500, 512, 700, 1000)
METHODS = ("auto", "stability", "lscv", "rule")

some = settings(max_examples=200, derandomize=True)
few = settings(max_examples=20, derandomize=True)


def blobs(seed: int, d: int = 2, offset: float = 0.0) -> np.ndarray:
    """Draw three Gaussians in features of different spread."""
    rng = np.random.default_rng(seed)
    centers = rng.uniform(-20, 20, size=(3, d))
    X = centers[rng.integers(3, size=400)] + rng.normal(size=(400, d))
    return X * 3.0 ** np.arange(d) + offset


@pytest.fixture(params=EXPONENTS)
def k(request: pytest.FixtureRequest) -> int:
    return int(request.param)


@some
@given(cases(), st.integers(-1060, 1015), st.integers(1, 3))
def test_labels_at_a_bandwidth(case: Case, k: int, resolution: int):
    X, h = np.asarray(case.X, np.float64), np.asarray(case.bandwidth)
    with np.errstate(over="ignore", under="ignore"):
        scaled, scaled_h = np.ldexp(X, k), np.ldexp(h, k)
    assume(np.isfinite(scaled).all())
    assume(np.array_equal(np.ldexp(scaled, -k), X))
    assume(np.array_equal(np.ldexp(scaled_h, -k), h))
    assume((scaled_h > 2.0**-1018).all())  # cells of a higher resolution are smaller
    recipe, of_scaled = (
        Recipe(bandwidth, resolution=resolution).checked(X.shape[1]) for bandwidth in (h, scaled_h)
    )
    modes, labels = recipe.fit(X)
    found, found_labels = of_scaled.fit(scaled)
    assert np.array_equal(found_labels, labels)
    for name in ("cells", "counts", "sums"):
        assert np.array_equal(getattr(found.grid, name), getattr(modes.grid, name)), name
    assert np.array_equal(found.fractions, modes.fractions)


@few
@given(st.integers(0, 99), st.integers(1, 4), st.integers(-900, 900))
def test_labels_without_a_bandwidth(seed: int, d: int, k: int):
    X = blobs(seed, d)
    model, scaled = (MeanShiftPP().fit(np.ldexp(X, e)) for e in (0, k))
    assert np.array_equal(scaled.labels_, model.labels_)
    assert np.array_equal(scaled.cluster_centers_, np.ldexp(model.cluster_centers_, k))
    new = blobs(seed + 1, d)
    assert np.array_equal(scaled.predict(np.ldexp(new, k)), model.predict(new))


@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_periodic_labels(k: int, offset: float):
    k = max(k, LEAST_OF_TREE)
    X, period = blobs(5, offset=offset), (32.0, None)
    scaled_period = (float(np.ldexp(32.0, k)), None)
    model = MeanShiftPP(periodic=period).fit(X)
    scaled = MeanShiftPP(periodic=scaled_period).fit(np.ldexp(X, k))
    assert np.array_equal(scaled.labels_, model.labels_)


def test_weighted_labels(k: int):
    k = max(k, LEAST_OF_TREE)
    X, weight = blobs(5), np.random.default_rng(0).uniform(0.5, 9, 400)
    model, scaled = (MeanShiftPP().fit(np.ldexp(X, e), sample_weight=weight) for e in (0, k))
    assert np.array_equal(scaled.labels_, model.labels_)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("per_feature", [True, False])
def test_select_bandwidth(method: str, per_feature: bool, k: int):
    X = blobs(2)
    h = select_bandwidth(X, method=method, per_feature=per_feature)
    scaled = select_bandwidth(np.ldexp(X, k), method=method, per_feature=per_feature)
    assert np.array_equal(scaled, np.ldexp(h, k))


@pytest.mark.parametrize("method", METHODS)
def test_select_bandwidth_of_a_grid(method: str, k: int):
    X = blobs(2)
    h = select_bandwidth(Grid.from_points(X, 0.5), method=method)
    grid = Grid.from_points(np.ldexp(X, k), float(np.ldexp(0.5, k)))
    assert np.array_equal(select_bandwidth(grid, method=method), np.ldexp(h, k))


@pytest.mark.parametrize("chosen", [True, False])
def test_sweep(chosen: bool, k: int):
    X, sizes = blobs(2), np.array([0.5, 1, 2, 4.0])
    result = sweep(X, None if chosen else sizes)
    scaled = sweep(np.ldexp(X, k), None if chosen else np.ldexp(sizes, k))
    assert np.array_equal(scaled.bandwidths, np.ldexp(result.bandwidths, k))
    assert scaled.best == result.best
    assert np.array_equal(scaled.stability, result.stability)
    for which in range(len(result)):
        labels = scaled.labels(which, np.ldexp(X, k))
        assert np.array_equal(labels, result.labels(which, X))


def test_density(k: int):
    X = blobs(2)
    assert np.array_equal(density_bandwidth(np.ldexp(X, k)), np.ldexp(density_bandwidth(X), k))
    model, scaled = (GridDensity().fit(np.ldexp(X, e)) for e in (0, k))
    assert np.array_equal(scaled.grid_.cells, model.grid_.cells)
    shift = X.shape[1] * k * np.log(2)
    found = scaled.score_samples(np.ldexp(X, k)) + shift
    assert np.allclose(found, model.score_samples(X), rtol=0, atol=1e-9)
    assert np.array_equal(scaled.sample(50, 0), np.ldexp(model.sample(50, 0), k))


@pytest.mark.parametrize(
    "use",
    [
        lambda X: MeanShiftPP().fit(X),
        select_bandwidth,
        sweep,
        lambda X: GridDensity().fit(X),
    ],
    ids=["tree", "select_bandwidth", "sweep", "density"],
)
def test_spread_beyond_the_range_of_floats(use):
    X = blobs(2)
    with pytest.warns(UserWarning, match=r"counts as constant: .*multiply the data"):
        use(np.ldexp(X, -1040))
    wide = X / np.abs(X).max(axis=0) * np.finfo(np.float64).max
    with pytest.raises(InvalidInputError, match="range"):
        use(wide)


def test_grids_of_subnormal_cells():
    X = blobs(2)
    grid = Grid.from_points(np.ldexp(X, -1015), 2.0**-1015)
    with pytest.warns(UserWarning, match=r"counts as constant: .*multiply the data"):
        select_bandwidth(grid)
    with pytest.warns(UserWarning, match=r"counts as constant: .*multiply the data"):
        sweep(grid)
    for use in (MeanShiftPP(2.0**-1023).fit, GridDensity(2.0**-1023).fit):
        with pytest.raises(InvalidInputError, match=r"bandwidth must be at least 2\.23e-308"):
            use(np.ldexp(X, -1023))


def test_constant_and_subnormal_rounding_do_not_warn():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for constant in (1e-300, 1e-310, 5e-324, 1e308):
            MeanShiftPP().fit(np.full((30, 2), constant))
        MeanShiftPP().fit(np.zeros((30, 2)))


def test_features_of_extreme_ratio():
    X = blobs(2)
    expected = MeanShiftPP().fit(X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = MeanShiftPP().fit(np.ldexp(X, [-900, 900]))
    assert np.array_equal(found.labels_, expected.labels_)
