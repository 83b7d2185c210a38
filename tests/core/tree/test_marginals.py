"""Marginals: the finest cells of a feature of which few are occupied, from parts of the rows."""

from __future__ import annotations

import pickle
from collections import Counter
from functools import reduce
from operator import add

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from meanshiftpp import _kernel
from meanshiftpp._kernel import LEAST_SPREAD, MARGINAL_CELLS, Marginal
from meanshiftpp.errors import InvalidInputError

rng = np.random.default_rng(3)


def marginal_of(x, counts=None, period=0.0, n_threads=1) -> Marginal:
    """Return the marginal of one feature."""
    weights = None if counts is None else np.asarray(counts, np.uint64)
    (found,) = _kernel.marginals(np.asarray(x)[:, None], weights, np.array([period]), n_threads)
    return found


def slow_marginal(x: np.ndarray, counts: np.ndarray) -> tuple[int, dict[int, int]]:
    """Return the level and the cells, by trying one level after the other."""
    x, counts = np.asarray(x, np.float64)[counts > 0], counts[counts > 0]
    largest = np.abs(x).max()
    level = max(int(np.frexp(largest)[1]) - 1 - 50, -1000) if largest else -1000
    while True:
        cells: Counter[int] = Counter()
        for cell, count in zip(
            np.floor(np.ldexp(x, -level)).tolist(), counts.tolist(), strict=True
        ):
            cells[int(cell)] += count
        if len(cells) <= MARGINAL_CELLS:
            return level, dict(cells)
        level += 1


def as_dict(marginal: Marginal) -> dict[int, int]:
    return dict(zip(marginal.cells.tolist(), marginal.counts.tolist(), strict=True))


def assert_same(a: Marginal, b: Marginal) -> None:
    assert (a.level, a.low, a.high, a.period) == (b.level, b.low, b.high, b.period)
    assert as_dict(a) == as_dict(b)


COLUMNS = {
    "normal": rng.normal(size=500),
    "outlier": np.append(rng.normal(size=300), [1e30, -1e-30]),
    "far from zero": rng.normal(1e9, 1, 300),
    "integers": rng.integers(-50, 50, 300),
    "float32": rng.normal(size=300).astype(np.float32),
    "constant": np.full(20, 3.25),
    "zeros": np.array([0.0, -0.0, 0.0]),
    "huge": rng.normal(size=100) * 1e300,
    "subnormal": rng.normal(size=100) * 1e-310,
    "many values": rng.normal(size=150_000),
    "many values and an outlier": np.append(rng.normal(size=150_000), 1e12),
    "many rounded values": rng.normal(size=150_000).round(3),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_marginal_equals_the_slow_one(name):
    x = COLUMNS[name]
    counts = np.random.default_rng(1).integers(0, 5, len(x)) | (np.arange(len(x)) == 0)
    for weights in (None, counts.astype(np.uint64)):
        found = marginal_of(x, weights, n_threads=2)
        used = np.ones(len(x), np.uint64) if weights is None else weights
        level, cells = slow_marginal(x, used)
        assert found.level == level
        assert as_dict(found) == cells
        assert (found.low, found.high) == (x[used > 0].min(), x[used > 0].max())


@pytest.mark.parametrize("period", [0.0, 2.5])
@pytest.mark.parametrize("name", COLUMNS)
def test_marginals_of_parts_add_up(name, period):
    x = COLUMNS[name]
    whole = marginal_of(x, period=period)
    order = np.random.default_rng(2).permutation(len(x))
    for parts in (np.array_split(order, 3), np.array_split(np.argsort(x), 5)):
        found = [marginal_of(x[rows], period=period) for rows in parts if len(rows)]
        assert_same(reduce(add, found), whole)
        assert_same(reduce(add, reversed(found)), whole)
        assert_same(found[0] + reduce(add, found[1:]), whole)


@settings(max_examples=40, derandomize=True)
@given(st.lists(st.lists(st.integers(-(2**20), 2**20), max_size=8), min_size=1, max_size=4))
def test_addition_is_associative_with_empty_parts(parts):
    found = [marginal_of(np.array(part, np.float64)) for part in parts]
    joined = marginal_of(np.concatenate([np.array(part, np.float64) for part in parts]))
    if not len(joined):
        assert not len(reduce(add, found))
        return
    assert_same(reduce(add, found), joined)


def test_a_period_has_cells_of_one_size():
    x = np.array([0.0, 359.999, -0.001, 720.0, 180.0])
    found = marginal_of(x, period=360.0)
    assert as_dict(found) == {0: 2, 32768: 1, 65535: 2}
    assert 0 == found.low < found.high < 360


def test_spread_ignores_far_values_and_the_edge_of_a_period():
    x = np.random.default_rng(0).normal(size=20_000)
    assert marginal_of(x).spread == pytest.approx(1, rel=0.02)
    assert marginal_of(np.append(x, 1e6)).spread == pytest.approx(1, rel=0.02)
    assert marginal_of(20 * x % 360, period=360.0).spread == pytest.approx(20, rel=0.02)
    assert marginal_of(np.full(9, 350.0), period=360.0).spread == 0


@pytest.mark.parametrize(
    ("x", "varies"),
    [
        ([1.0, 2.0], True),
        ([1.0, 1.0], False),
        ([1e9, 1e9 + 1e-7], False),
        ([1e9, 1e9 + 1], True),
        ([0.0, LEAST_SPREAD / 2], False),
        ([0.0, LEAST_SPREAD * 8], True),
    ],
)
def test_rounding_is_not_variation(x, varies):
    assert marginal_of(x).varies is varies


@pytest.mark.parametrize("period", [0.0, 2.5])
@pytest.mark.parametrize("name", COLUMNS)
def test_pickled_marginals_are_equal(name, period):
    marginal = marginal_of(COLUMNS[name], period=period)
    copy = pickle.loads(pickle.dumps(marginal))
    assert_same(copy, marginal)
    assert (copy.spread, copy.fine_level) == (marginal.spread, marginal.fine_level)


def test_a_value_that_is_not_finite_has_a_place():
    X = np.zeros((4, 3))
    X[2, 1] = np.nan
    with pytest.raises(InvalidInputError, match=r"X\[2, 1\] is NaN"):
        _kernel.marginals(X, None, np.zeros(3), 1)
