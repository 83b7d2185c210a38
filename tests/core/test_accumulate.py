"""Sums of many grids."""

import numpy as np
import pytest

from meanshiftpp import Grid, seek
from meanshiftpp.core.accumulate import GridSum
from meanshiftpp.core.chunk import Chunk
from meanshiftpp.errors import GridMismatchError, InvalidInputError

X = np.random.default_rng(7).normal(size=(500, 3)).astype(np.float32)


def test_sum_is_the_same_at_any_time():
    parts = [Grid.from_points(part, 0.4) for part in np.split(X, 50)]
    total, expected = GridSum(Grid.empty(0.4, 3)), Grid.empty(0.4, 3)
    for number, part in enumerate(parts):
        total.add(part)
        expected = expected + part
        assert number % 7 or total.total() == expected
    assert total.total() == Grid.from_points(X, 0.4)


def test_chunks_are_binned_into_the_cells_of_the_sum():
    total = GridSum(Grid.empty(0.4, 3, periodic=[5, None, None]))
    for part in np.split(X, 5):
        total.add_chunk(Chunk(part))
    assert total.total() == Grid.from_points(X, 0.4, periodic=[5, None, None])


def test_real_weights_are_added():
    w = np.random.default_rng(1).random(len(X))
    total = GridSum(Grid.empty(0.4, 3))
    for points, weight in zip(np.split(X, 5), np.split(w, 5)):
        total.add_chunk(Chunk(points, weight))
    assert total.total().total == pytest.approx(w.sum())


def test_real_weights_near_the_limit_are_added():
    """Their unit may be 1, like that of whole weights."""
    for n, weight in ((3, 1.5e9 + 0.25), (12, 0.7e9 + 0.25), (3, 1.5e9 + 1.75)):
        grid = Grid.from_points([[0.5]], 1, sample_weight=[weight])
        total, waiting = grid, GridSum(Grid.empty(1, 1))
        for _ in range(n - 1):
            total = total + grid
        for _ in range(n):
            waiting.add(grid)
        assert not grid.whole
        assert not total.whole
        assert total.total == pytest.approx(n * weight)
        assert waiting.total().total == pytest.approx(n * weight)


def test_whole_and_real_weights_are_added():
    whole = Grid.from_points(X, 0.4)
    real = Grid.from_points(X, 0.4, sample_weight=np.random.default_rng(1).random(len(X)))
    for parts in ((whole, real), (real, whole)):
        total = GridSum(Grid.empty(0.4, 3))
        for part in parts:
            total.add(part)
        assert total.total() == whole + real == real + whole
        assert total.total().total == pytest.approx(whole.total + real.total)


def test_light_real_weights_are_rounded_beside_heavy_whole_ones():
    """In the unit of the light weight, the heavy count would exceed its limit."""
    heavy = Grid.from_points([[0.5]], 1, sample_weight=[2**31])
    light = Grid.from_points([[3.5]], 1, sample_weight=[0.3])
    assert (heavy + light).weights.tolist() == [2**31, 1.0]
    assert (light + heavy) == heavy + light


def test_sum_is_whole_if_all_its_parts_are():
    whole = Grid.from_points([[0.5]], 1, sample_weight=[3])
    real = Grid.from_points([[0.5]], 1, sample_weight=[1.5e9 + 0.25])
    empty = Grid.empty(1, 1)
    assert (whole + whole).whole
    assert (empty + whole).whole
    assert isinstance((whole + empty).total, int)
    for mixed in (whole + real, real + whole, empty + real, real + empty, real + real.faded(0)):
        assert not mixed.whole
        assert isinstance(mixed.total, float)
    assert (whole + real.faded(0)).whole
    assert whole != Grid(whole.bandwidth, *whole.rows, 1.0, whole=False)


def test_grid_that_cannot_be_added_raises_with_its_name():
    total = GridSum(Grid.empty(0.4, 3))
    with pytest.raises(GridMismatchError, match="part 7 has 2 features, but 3 were expected"):
        total.add(Grid.empty(0.4, 2), "part 7")
    with pytest.raises(GridMismatchError, match="bandwidth"):
        total.add(Grid.empty(0.5, 3))
    with pytest.raises(GridMismatchError, match="bandwidth"):
        total.add(Grid.empty([0.4, 0.4, 0.5]))
    with pytest.raises(GridMismatchError, match=r"b\.npy has 2 features"):
        total.add_chunk(Chunk(X[:, :2], source="b.npy"))


def test_cell_that_becomes_too_heavy_raises():
    heavy = Grid.from_points([[0.5]], 1, sample_weight=[2**31])
    total = GridSum(heavy)
    total.add(heavy)  # the grids are merged later
    with pytest.raises(InvalidInputError, match="a cell of weight 4,294,967,296"):
        total.total()


@pytest.mark.parametrize("resolution", [1, 64])
@pytest.mark.parametrize("light_first", [True, False])
def test_a_light_chunk_of_real_weights(resolution, light_first):
    """Its unit is so fine that the total of a heavy one would not fit the search."""
    rng = np.random.default_rng(3)
    heavy = Chunk(rng.normal(size=(100_000, 2)), np.full(100_000, 0.7))
    light = Chunk(rng.normal(size=(3, 2)), np.full(3, 0.01))
    total = GridSum(Grid.empty(0.05, 2))
    for chunk in (light, heavy) if light_first else (heavy, light):
        total.add_chunk(chunk)
    grid = total.total()
    assert grid.total == pytest.approx(70_000.03, rel=1e-4)
    assert len(seek(grid, resolution=resolution)) > 0
