"""GridDensity: the rejection of bad input."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from meanshiftpp import Grid, GridDensity, density_bandwidth
from meanshiftpp.errors import GridMismatchError, InvalidInputError


@pytest.fixture(scope="module")
def points():
    return np.random.default_rng(0).normal([0, 50], [1, 8], (3000, 2))


def assert_same(a: GridDensity, b: GridDensity) -> None:
    assert a.grid_ == b.grid_
    assert a.resolution_ == b.resolution_
    assert np.array_equal(a.bandwidth_, b.bandwidth_)


def test_bad_points_raise_with_their_location(points):
    bad = points.copy()
    bad[17, 1] = np.nan
    for bandwidth in (1.0, None):
        with pytest.raises(InvalidInputError, match=r"X\[17, 1\] is NaN"):
            GridDensity(bandwidth).fit(bad)
    with pytest.raises(InvalidInputError, match=r"X\[17, 1\] is NaN"):
        GridDensity(1.0).fit(points).score_samples(bad)
    with pytest.raises(TypeError, match=r"[Ss]parse"):
        GridDensity(1.0).fit(scipy.sparse.csr_matrix(points))


@pytest.mark.parametrize(
    "parameters",
    [
        *({"bandwidth": b} for b in (0, -1, math.nan, math.inf, "wide", [1], [1, -1], [[1, 1]])),
        *({"resolution": r} for r in (-1, 65, 0.5, "fine")),
        *({"periodic": p} for p in (0, -1, math.nan, [1], [1, -1], "round", [5.0, "x"])),
        *({"smoothness": a} for a in (0, 1.1, math.nan, None)),
    ],
)
def test_bad_parameters_raise(points, parameters):
    with pytest.raises(
        ValueError, match="period" if "periodic" in parameters else next(iter(parameters))
    ):
        GridDensity(**parameters).fit(points)


@pytest.mark.parametrize("bandwidth", [1.0, None])
@pytest.mark.parametrize("weight", [[1, 2], np.zeros(3000), np.full(3000, -1.0), ["a"] * 3000])
def test_bad_weights_raise(points, weight, bandwidth):
    with pytest.raises(InvalidInputError, match="weight"):
        GridDensity(bandwidth).fit(points, sample_weight=weight)


def test_mismatched_chunk_raises_and_changes_nothing(points):
    model = GridDensity(1.0).partial_fit(points)
    before = clone(model).fit(points)
    for change in ({"bandwidth": 2.0}, {"resolution": 1}):
        with pytest.raises(GridMismatchError, match="bandwidth"):
            model.set_params(**change).partial_fit(points)
        model.set_params(bandwidth=1.0, resolution=0)
        assert_same(model, before)
    with pytest.raises(InvalidInputError):
        model.fit(points, sample_weight=np.zeros(len(points)))
    assert_same(model, before)
    assert_same(model.partial_fit(points[:0]), before)


def test_density_of_no_points_raises():
    with pytest.raises(InvalidInputError, match="points"):
        GridDensity.from_grid(Grid.empty(1.0))
    for call in ("score_samples", "score"):
        with pytest.raises(NotFittedError):
            getattr(GridDensity(), call)([[1.0]])
    with pytest.raises(NotFittedError):
        GridDensity().sample()
    with pytest.raises(NotFittedError):
        GridDensity(1.0).partial_fit(np.empty((0, 2))).sample()


@pytest.mark.parametrize("n", [-1, 1.5, "many", True, None])
def test_bad_number_of_samples_raises(points, n):
    with pytest.raises(InvalidInputError, match="n_samples"):
        GridDensity(1.0).fit(points).sample(n)


@pytest.mark.parametrize("resolution", [-1, 1.5, "fine", 65])
def test_bad_resolution_for_a_grid_raises(resolution):
    with pytest.raises(ValueError, match="resolution"):
        GridDensity.from_grid(Grid.from_points([[1.0]], 1.0), resolution=resolution)


def test_points_are_not_a_grid():
    with pytest.raises(InvalidInputError, match=r"(?s)a Grid.*takes points"):
        GridDensity.from_grid(np.zeros((3, 1)))


@pytest.mark.parametrize("smoothness", [0, 1.5, math.nan, "much"])
def test_bad_smoothness_of_a_rule_raises(points, smoothness):
    with pytest.raises(InvalidInputError, match=r"smoothness.*above 0 and up to 1"):
        density_bandwidth(points, smoothness=smoothness)
