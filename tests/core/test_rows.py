"""Rows of a grid: merging, units of weight, coarser cells and fading, in exact integers."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from meanshiftpp import Grid, _kernel
from meanshiftpp.core.rows import (
    Rows,
    check_counts,
    coarsen_rows,
    empty_rows,
    fade_rows,
    merge_rows,
    rescale,
)
from meanshiftpp.errors import InvalidInputError

some = settings(max_examples=150, derandomize=True)


@st.composite
def rows(draw: st.DrawFn, limit: int = _kernel.COUNT_LIMIT) -> Rows:
    """Draw sorted cells with counts up to a limit and sums that fit the counts."""
    d = draw(st.integers(1, 3))
    cell = st.tuples(*[st.integers(-20, 20)] * d)
    cells = sorted(draw(st.sets(cell, min_size=1, max_size=12)))
    counts = [draw(st.integers(1, limit)) for _ in cells]
    sums = [[draw(st.integers(0, count << 32)) for _ in range(d)] for count in counts]
    return Rows(np.array(cells), np.array(counts, np.uint64), np.array(sums, np.uint64))


def assert_rows(actual: Rows, expected: Rows) -> None:
    for name, a, e in zip(Rows._fields, actual, expected):
        assert_array_equal(a, e, name)


@some
@given(rows(limit=_kernel.COUNT_LIMIT // 2))
def test_merging_adds_equal_cells(one):
    merged = merge_rows([one, empty_rows(one.cells.shape[1]), one])
    assert_rows(merged, Rows(one.cells, one.counts * 2, one.sums * 2))


def test_merging_a_cell_that_becomes_too_heavy_raises():
    one = Rows(np.array([[3]]), np.array([2**31], np.uint64), np.array([[5]], np.uint64))
    with pytest.raises(InvalidInputError, match=r"the sum would have a cell of weight 4,294,967,2"):
        merge_rows([one, one])
    check_counts(np.array([_kernel.COUNT_LIMIT], np.uint64), "the grid")
    check_counts(np.empty(0, np.uint64), "the grid")
    with pytest.raises(InvalidInputError, match=r"the grid would have a cell .* smaller"):
        check_counts(np.array([7, _kernel.COUNT_LIMIT + 1, 7], np.uint64), "the grid")


# -- units of weight -------------------------------------------------------------------------------


@some
@given(rows(limit=2**30), st.integers(0, 2))
def test_finer_unit_is_exact_and_can_be_undone(one, exponent):
    finer = rescale(one, 1.0, 2.0**-exponent)
    assert_array_equal(finer.counts, one.counts << np.uint64(exponent))
    assert_array_equal(finer.sums, one.sums << np.uint64(exponent))
    back = rescale(finer, 2.0**-exponent, 1.0)
    assert_array_equal(back.counts, one.counts)
    assert_array_equal(back.sums, one.sums)


def test_a_coarser_unit_keeps_every_bit_of_large_sums():
    count = 2**30 - 1
    one = Rows(np.array([[3]]), np.array([count], np.uint64), np.array([[count * 2**32 - 12345]]))
    one = one._replace(sums=one.sums.astype(np.uint64))
    four = Rows(one.cells, one.counts * 4, one.sums * 4)
    assert_rows(rescale(four, 0.25, 1.0), one)


@some
@given(rows())
def test_coarser_unit_keeps_cells_and_nearly_the_means(one):
    coarser = rescale(one, 2.0**-10, 1.0)
    assert_array_equal(coarser.cells, one.cells)
    exact = one.counts / 2**10
    assert (np.abs(coarser.counts - np.maximum(exact, 1)) <= 0.5).all()
    for new, new_sums, old, old_sums in zip(*map(np.ndarray.tolist, (*coarser[1:], *one[1:]))):
        for new_sum, old_sum in zip(new_sums, old_sums):  # rounded to the nearest unit of offset
            assert 2 * abs(new_sum * old - old_sum * new) <= old


def test_same_unit_and_no_rows_are_returned_unchanged():
    one = Rows(np.array([[3]]), np.array([7], np.uint64), np.array([[5]], np.uint64))
    assert rescale(one, 0.5, 0.5) is one
    empty = empty_rows(2)
    assert rescale(empty, 0.5, 1.0) is empty


# -- coarser cells ---------------------------------------------------------------------------------


@some
@given(rows(limit=2**28), st.integers(1, 9))
def test_coarsening_agrees_with_exact_integers(one, k):
    coarse = coarsen_rows(one, k, 1)
    expected: dict[tuple, list[int]] = {}
    for cell, count, sums in zip(one.cells.tolist(), one.counts.tolist(), one.sums.tolist()):
        total = expected.setdefault(tuple(n // k for n in cell), [0, *[0] * len(cell)])
        total[0] += count
        for j, n in enumerate(cell):  # rounded to the nearest unit for each merged cell
            total[j + 1] += ((n % k << 32) * count + sums[j] + k // 2) // k
    assert coarse.cells.tolist() == [list(cell) for cell in sorted(expected)]
    totals = [expected[cell] for cell in sorted(expected)]
    assert coarse.counts.tolist() == [total[0] for total in totals]
    assert coarse.sums.tolist() == [total[1:] for total in totals]


@pytest.mark.parametrize("count", [1, 2**20 + 1, 2**32 - 1])
@pytest.mark.parametrize("k", [2, 3, 7])
@pytest.mark.parametrize("apart", [1, 2**40])  # close cells are summed in a table, others by keys
def test_coarse_sums_are_rounded_to_nearest(count, k, apart):
    rest = np.arange(k)  # one for each remainder of a division by k
    cells = np.array([[0], [apart * k + k - 1]])
    for first in rest.tolist():
        sums = np.array([[count + first], [count * 2**31 + first]], np.uint64)
        coarse = coarsen_rows(Rows(cells, np.array([count, count], np.uint64), sums), k, 1)
        exact = [count + first, (k - 1) * count * 2**32 + count * 2**31 + first]
        assert coarse.cells.tolist() == [[0], [apart]]
        assert coarse.sums.tolist() == [[(total + k // 2) // k] for total in exact]


@pytest.mark.parametrize("d", [1, 2, 3, 5, 8])
def test_coarsening_does_not_depend_on_threads(d):
    X = np.random.default_rng(d).normal(0, 1, (150_000, d))
    fine = Grid.from_points(X, [1e-4, 0.01, 0.05, 0.3, 0.5, 0.6, 0.7, 0.8][d - 1])
    for k in (1, 2, 9, 500):
        one = fine.coarsen(k, n_threads=1)
        assert one == fine.coarsen(k, n_threads=3)
        assert one.total == len(X)
        if k == 1:
            assert one == fine


@pytest.mark.parametrize("k", [0, -1, 1.5, True, "2", 2**31])
def test_bad_factors_of_coarsen_raise(k):
    with pytest.raises(InvalidInputError, match="whole number from 1 to") as raised:
        Grid.from_points([[1.0]], 1.0).coarsen(k)
    assert (raised.value.parameter, raised.value.got) == ("k", k)


def test_the_largest_factor_of_coarsen_merges_all():
    coarse = Grid.from_points([[0.5], [1e9 + 0.5]], 1.0).coarsen(2**31 - 1)
    assert (coarse.cells.tolist(), coarse.counts.tolist()) == ([[0]], [2])


def test_coarsening_to_an_infinite_bandwidth_raises():
    with pytest.raises(InvalidInputError, match="is not finite"):
        Grid.from_points([[1.0, 1.0]], [1e308, 1.0]).coarsen(10)


# -- fading ----------------------------------------------------------------------------------------


@some
@given(rows(), st.floats(0, 1))
def test_fading_rounds_counts_down_and_keeps_the_means(one, keep):
    faded = fade_rows(one, keep)
    counts = np.floor(one.counts * keep)
    left = counts >= 1
    assert_array_equal(faded.cells, one.cells[left])
    assert_array_equal(faded.counts, counts[left])
    assert (faded.sums <= faded.counts[:, None] << np.uint64(32)).all()
    means, expected = faded.sums / faded.counts[:, None], (one.sums / one.counts[:, None])[left]
    np.testing.assert_allclose(means, expected, atol=1.5, rtol=1e-12)  # of 2^32 in a cell


def test_fading_to_all_and_to_nothing():
    grid = Grid.from_points(np.random.default_rng(0).normal(size=(500, 2)), 0.5)
    assert grid.faded(1) == grid
    assert grid.faded(0.0) == Grid.empty(0.5, 2)
    assert grid.faded(0.5).total == (grid.counts // 2).sum()


@pytest.mark.parametrize("keep", [-0.1, 1.1, float("nan"), "half", None, True])
def test_bad_shares_to_keep_raise(keep):
    with pytest.raises(InvalidInputError, match="keep must be a number from 0 to 1, got") as caught:
        Grid.from_points([[1.0]], 1.0).faded(keep)
    assert caught.value.parameter == "keep"


def test_rows_are_joined_in_blocks_of_any_size(monkeypatch):
    grids = [Grid.from_points(np.random.default_rng(k).normal(size=(50, 2)), 0.5) for k in (0, 1)]
    parts = [Rows(grid.cells, grid.counts, grid.sums) for grid in grids]
    expected = merge_rows(parts)
    for size in (1, 7, 49):
        monkeypatch.setattr("meanshiftpp.core.rows._ROWS_AT_ONCE", size)
        for one, other in zip(merge_rows(parts), expected):
            assert np.array_equal(one, other)
