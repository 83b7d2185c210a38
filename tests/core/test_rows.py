"""Arithmetic on the rows of grids: fading."""

import numpy as np
import pytest

from meanshiftpp import Grid
from meanshiftpp.errors import InvalidInputError


@pytest.mark.parametrize("keep", [0.0, 0.3, 0.5, 6 / 7, 1.0])
def test_a_faded_grid_has_the_same_means(keep):
    points = np.random.default_rng(2).normal(0, 30, (20_000, 3))
    grid = Grid.from_points(points, 7.0)
    faded = grid.faded(keep)
    assert (faded.sums <= faded.counts[:, None] << np.uint64(32)).all()
    assert np.array_equal(faded.counts, (grid.counts * keep).astype(int)[grid.counts * keep >= 1])
    kept = np.isin(grid.cells, faded.cells).all(axis=1) & (grid.counts * keep >= 1)
    assert np.abs(faded.means - grid.means[kept]).max(initial=0) < 1e-7
    assert (faded == grid) == (keep == 1.0)
    assert len(grid.faded(0.0).faded(0.5)) == 0


def test_a_faded_grid_keeps_its_period_and_can_be_added():
    grid = Grid.from_points([[1.0], [1.0], [359.0]], 10, periodic=[360])
    assert (grid + grid.faded(0.5)).total == 4
    for wrong in (1.5, -0.1, float("nan"), "x", None):
        with pytest.raises(InvalidInputError, match=f"from 0 to 1, got {wrong!r}"):
            grid.faded(wrong)
