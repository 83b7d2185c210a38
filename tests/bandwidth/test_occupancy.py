"""The estimate of occupied cells, and the default bandwidths that it leaves out."""

from __future__ import annotations

import numpy as np
import pytest

from meanshiftpp import Grid, select_bandwidth, sweep
from meanshiftpp._support.checks import as_weights
from meanshiftpp.bandwidth import occupancy
from meanshiftpp.bandwidth.occupancy import (
    FREE_CELLS,
    MOST_CELLS,
    SAMPLE_ROWS,
    PointSample,
    default_limit,
)

MAX_CELLS = 1 << 24


def size(h: float, d: int) -> np.ndarray:
    return np.full(d, h)


def test_a_sample_is_a_copy_with_weights():
    X = np.arange(6.0).reshape(3, 2)
    sample = PointSample.of(X, as_weights([1.0, 0.0, 2.0], X))
    X[:] = 7
    assert sample.rows.tolist() == [[0, 1], [2, 3], [4, 5]]
    assert sample.weights.tolist() == [1, 0, 2]
    assert (sample.n_points, sample.total) == (3, 3)
    many = np.zeros((SAMPLE_ROWS + 5, 1), np.int8)
    sample = PointSample.of(many, None)
    assert sample.rows.shape == (SAMPLE_ROWS, 1)
    assert (sample.n_points, sample.total) == (SAMPLE_ROWS + 5, SAMPLE_ROWS + 5)


@pytest.mark.parametrize("h", [0.01, 0.1, 1.0, 9.0])
def test_all_rows_are_counted_exactly(h):
    X = np.random.default_rng(0).normal(size=(SAMPLE_ROWS // 4, 2))
    expected = len(Grid.from_points(X, h))
    assert round(PointSample.of(X, None).estimate_cells(size(h, 2))) == expected


@pytest.mark.parametrize("d", [1, 2, 3, 5])
@pytest.mark.parametrize("draw", ["normal", "random", "standard_cauchy"])
def test_the_estimate_of_a_sample_is_within_a_factor_of_two(d, draw):
    X = getattr(np.random.default_rng(0), draw)(size=(1_000_000, d))
    sample = PointSample.of(X, None)
    for h in (0.05, 0.2, 0.8):
        cells = len(Grid.from_points(X, h))
        assert cells / 2 < sample.estimate_cells(size(h, d)) <= min(2 * cells, len(X))


def test_limits_of_default_bandwidths():
    assert default_limit(10, MAX_CELLS) == FREE_CELLS
    assert default_limit(300_000, MAX_CELLS) == 100_000
    assert default_limit(1e9, MAX_CELLS) == MOST_CELLS
    assert default_limit(1e9, 5) == 5


def test_the_finest_default_bandwidths_with_too_many_cells_are_left_out():
    X = np.random.default_rng(0).normal(size=(60_000, 5)).astype(np.float32)
    result = sweep(X)
    assert 1 < len(result) < 17
    assert len(result.base) <= 20_000  # a third of the points
    finer = result.multiples[0] - (1 if result.multiples[0] <= 8 else result.multiples[0] // 8)
    assert len(Grid.from_points(X, finer * result.step)) > 20_000
    assert 0 <= result.best < len(result)


def test_a_grid_leaves_out_the_same_kind_of_bandwidths():
    X = np.random.default_rng(0).normal(size=(60_000, 5))
    grid = Grid.from_points(X, 0.1)
    result = sweep(grid)
    assert len(grid) > 20_000 >= len(result.modes[0].grid)
    assert result.base is grid
    assert np.isfinite(result.stability).all()
    assert len(sweep(grid, grid.bandwidth * [[1], [2]])) == 2  # bandwidths that are passed stay


@pytest.mark.parametrize("max_cells", [1, 8, 100])
def test_the_default_bandwidths_never_raise(max_cells):
    X = np.random.default_rng(0).normal(size=(500, 3))
    result = sweep(X, max_cells=max_cells)
    assert 1 <= len(result) < 17
    assert 0 <= result.best < len(result)


def test_the_location_of_a_bad_value_is_that_in_the_points(monkeypatch):
    monkeypatch.setattr(occupancy, "FREE_CELLS", 8)
    X = np.random.default_rng(0).normal(size=(500, 3))
    X[321, 2] = np.nan
    with pytest.raises(ValueError, match=r"X\[321, 2\]"):
        sweep(X)


def test_agreement_of_many_points_is_that_of_a_sample(monkeypatch, blobs):
    every = sweep(blobs, [0.5, 1, 2, 4])
    monkeypatch.setattr(occupancy, "SAMPLE_ROWS", 800)
    half = sweep(blobs, [0.5, 1, 2, 4])
    assert half.sample is not None
    assert len(half.sample.rows) == 800
    assert not np.array_equal(half.stability, every.stability)
    assert np.allclose(half.stability, every.stability, atol=0.05)
    for one, other in zip(half.modes, every.modes, strict=True):
        assert np.array_equal(one.cell_labels, other.cell_labels)


def test_stability_of_many_features_is_chosen_from_few_cells():
    X = np.random.default_rng(0).normal(size=(3 * FREE_CELLS, 4))
    assert (select_bandwidth(X, method="stability") > 0).all()
