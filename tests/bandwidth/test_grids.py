"""The grids of a sweep: which are binned, and which are coarsened."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from meanshiftpp import Grid, seek, sweep
from meanshiftpp.bandwidth import grids
from meanshiftpp.bandwidth.grids import bin_all, coarsen_all, largest_divisor


class Binning:
    """Bins the same points at any multiple, and lists the multiples."""

    def __init__(self, n: int = 4000) -> None:
        self.X = np.random.default_rng(0).integers(0, 1000, (n, 2))
        self.binned: list[int] = []

    def __call__(self, k: int) -> Grid:
        self.binned.append(k)
        return Grid.from_points(self.X, float(k))

    def all(self, multiples: list[int], n_points: int | None = None) -> list[Grid]:
        n = len(self.X) if n_points is None else n_points
        return bin_all(self, multiples, n, lambda: len(Grid.from_points(self.X, 1.0)), 1)


def test_largest_divisor():
    assert largest_divisor(12, [1, 4, 5, 6]) == 6
    assert largest_divisor(7, [2, 3]) == 0


def test_multiples_of_a_smaller_one_are_coarsened():
    binning = Binning()
    found = binning.all([70, 80, 140, 150, 210, 240, 420])
    assert binning.binned == [70, 80, 150]
    for grid, k in zip(found, (70, 80, 140, 150, 210, 240, 420), strict=True):
        direct = Grid.from_points(binning.X, float(k))
        assert np.array_equal(grid.cells, direct.cells)
        assert np.array_equal(grid.counts, direct.counts)


def test_grids_of_many_cells_are_not_coarsened():
    binning = Binning()  # nearly every point is alone in a cell of 1 or 2
    binning.all([1, 2, 4, 60, 120])
    assert binning.binned == [1, 2, 4, 60]


@pytest.mark.parametrize(("n_points", "made"), [(2 * 10**6, False), (10**9, True)])
def test_the_step_is_binned_if_it_costs_less_than_the_multiples(n_points, made):
    binning = Binning(100_000)  # one cell of the step for most points
    multiples = [30, 31, 37, 41]
    binning.all(multiples, n_points)
    assert binning.binned == ([1] if made else multiples)


def test_small_data_is_never_binned_at_the_step():
    binning = Binning()
    binning.all([30, 31], grids.LARGE - 1)
    assert binning.binned == [30, 31]


@settings(max_examples=60, derandomize=True)
@given(st.lists(st.integers(1, 300), min_size=1, max_size=12, unique=True), st.integers(10, 10**9))
def test_no_multiple_is_binned_twice_nor_more_often_than_by_separate_fits(multiples, n_points):
    binning = Binning(500)
    found = binning.all(sorted(multiples), n_points)
    assert len(found) == len(multiples)
    assert len(set(binning.binned)) == len(binning.binned) <= len(multiples)


def test_grids_are_coarsened_without_points():
    base = Grid.from_points(Binning().X, 1.0)
    one, other = coarsen_all(base, [1, 6], 2)
    assert one is base
    assert other == base.coarsen(6)


def test_a_sweep_equals_separate_fits_of_the_bandwidths_that_are_binned():
    X = np.random.default_rng(0).normal(0, 1, (3000, 2)).astype(np.float32)
    result = sweep(X, np.linspace(0.5, 1.0, 8))  # seven to thirteen, and twice seven steps
    assert result.multiples.tolist() == list(range(7, 15))
    for h, modes in zip(result.bandwidths[:-1], result.modes, strict=False):
        direct = seek(Grid.from_points(X, h))
        assert modes.grid == direct.grid
        assert np.array_equal(modes.cell_labels, direct.cell_labels)
        assert np.array_equal(modes.centers, direct.centers)
