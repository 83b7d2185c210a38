"""Lattices and leaves: dyadic boxes of few points, equal to those of brute force."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

from meanshiftpp import _kernel
from meanshiftpp._kernel import Lattice
from meanshiftpp.core.tree.leaves import Leaves

rng = np.random.default_rng(11)


def lattice_of(X, units=None, period=None) -> Lattice:
    """Return the lattice of points, by default in equal units."""
    X = np.asarray(X, np.float64)
    d = X.shape[1]
    marginals = _kernel.marginals(X, None, np.zeros(d) if period is None else np.array(period), 1)
    units = _kernel.unit_choices(marginals)[0] if units is None else np.array(units)
    return _kernel.plan_lattice(marginals, units, len(X))[0]


def code_bits(n_features: int) -> int:
    """Return the bits of each coordinate in a code of 1, 2, 4 or 8 words."""
    words = next(words for d, words in ((3, 1), (6, 2), (12, 4), (np.inf, 8)) if n_features <= d)
    return min(30, max(1, 64 * words // n_features))


def coordinates_of(lattice: Lattice, X: np.ndarray) -> np.ndarray:
    """Return the coordinates of points; those of points outside are beyond the extent."""
    cells = (np.floor(X / lattice.cell_size) - lattice.low).astype(np.int64)
    turns = lattice.cells_per_period
    return np.where(turns > 0, cells % np.where(turns > 0, turns, 1), cells) >> lattice.shift


def boxes_of(coordinates: np.ndarray, counts: np.ndarray, limit: int) -> list[list[int]]:
    """Return the rows of each leaf along the curve: boxes are halved along the axes in turn."""
    bits, d = code_bits(coordinates.shape[1]), coordinates.shape[1]
    found: list[list[int]] = []

    def divide(rows: np.ndarray, depth: int) -> None:
        if not len(rows):
            return
        if counts[rows].sum() <= limit or depth == bits * d:
            found.append(sorted(rows.tolist()))
            return
        axis, bit = depth % d, bits - 1 - depth // d
        upper = coordinates[rows, axis] >> bit & 1 == 1
        divide(rows[~upper], depth + 1)
        divide(rows[upper], depth + 1)

    divide(np.arange(len(coordinates)), 0)
    return found


CASES = {
    "normal": (rng.normal(size=(90, 2)), None),
    "one feature": (rng.normal(size=(90, 1)), None),
    "equal rows": (rng.normal(size=(9, 2))[rng.integers(0, 9, 90)], None),
    "period": (rng.normal(0, 60, size=(90, 2)), (360.0, 0.0)),
    "four features": (rng.normal(size=(60, 4)), None),
    "seven features": (rng.normal(size=(60, 7)), None),
    "outlier": (np.append(rng.normal(size=(90, 2)), [[1e7, -3e8]], axis=0), None),
    "constant": (np.c_[rng.normal(size=90), np.full(90, -7.0)], None),
}


@pytest.mark.parametrize("limit", [0, 1, 4, 30])
@pytest.mark.parametrize("name", CASES)
def test_leaves_are_the_largest_light_boxes(name, limit):
    X, period = CASES[name]
    lattice = lattice_of(X, period=period)
    counts = np.random.default_rng(limit).integers(1, 4, len(X)).astype(np.uint64)
    leaves, placed = Leaves.of_points(X, counts, lattice, limit, 2)
    coordinates = coordinates_of(lattice, X)
    inside = ((coordinates >= 0) & (coordinates < 1 << code_bits(X.shape[1]))).all(axis=1)
    rows = np.flatnonzero(inside)
    expected = [rows[box].tolist() for box in boxes_of(coordinates[rows], counts[rows], limit)]
    found = [
        sorted(placed.rows[a:b].tolist())
        for a, b in zip(placed.first, placed.first[1:], strict=False)
    ]
    assert found == expected
    assert leaves.weights.tolist() == [int(counts[box].sum()) for box in expected]
    means = [np.average(coordinates[box], axis=0, weights=counts[box]) for box in expected]
    np.testing.assert_allclose(leaves.positions, (np.array(means) + 0.5) * lattice.scale)
    _, group = np.unique(coordinates[rows], axis=0, return_inverse=True)
    assert placed.squares == (np.bincount(group.ravel(), counts[rows]) ** 2).sum()
    # Every point is found where it was placed.
    ids = np.full(len(X), -1, np.int32)
    each = np.arange(len(leaves), dtype=np.int32)
    _kernel.take_leaves(placed.rows, placed.first, each, ids, 2)
    np.testing.assert_array_equal(leaves.find(X, 2), ids)
    np.testing.assert_array_equal(ids >= 0, inside)


@pytest.mark.parametrize("name", CASES)
def test_points_in_no_leaf_get_the_nearest(name):
    X, period = CASES[name]
    lattice = lattice_of(X, period=period)
    leaves = Leaves.of_points(X, None, lattice, 3, 1)[0]
    new = X + np.random.default_rng(1).normal(0, 3, X.shape)
    ids, distances = leaves.locate(new, 1)
    found = leaves.find(new, 1)
    np.testing.assert_array_equal(ids[found >= 0], found[found >= 0])
    assert (distances[found >= 0] == 0).all()
    used = lattice.units > 0
    # Points of equal coordinates are at the first cell of them.
    cells = (coordinates_of(lattice, new) << lattice.shift) + lattice.low
    middles = lattice.positions((cells + 0.5) * lattice.cell_size)
    np.testing.assert_array_equal(lattice.middles(new), middles)
    offsets = middles[:, None, used] - leaves.positions[None, :, used]
    turns = lattice.period[used]
    offsets -= np.rint(offsets / np.where(turns > 0, turns, np.inf)) * turns
    nearest = np.sqrt((offsets**2).sum(axis=2)).min(axis=1)
    np.testing.assert_allclose(distances[found < 0], nearest[found < 0], rtol=1e-9)


@settings(max_examples=50, derandomize=True)
@given(st.integers(0, 2**32 - 1), st.integers(1, 8), st.sampled_from([1e-200, 1e-3, 1.0, 1e200]))
def test_coordinates_are_those_of_the_kernel(seed, d, scale):
    draws = np.random.default_rng(seed)
    X = draws.normal(size=(50, d)) * scale
    lattice = lattice_of(X)
    leaves, placed = Leaves.of_points(X, None, lattice, 0, 1)
    found = np.floor(leaves.positions / lattice.scale)
    np.testing.assert_array_equal(
        found[np.repeat(np.arange(len(leaves)), np.diff(placed.first))],
        coordinates_of(lattice, X)[placed.rows],
    )
    middles = lattice.values(lattice.middles(X))
    np.testing.assert_array_equal(coordinates_of(lattice, middles), coordinates_of(lattice, X))


def test_distances_are_those_of_the_data_in_its_units():
    X = rng.normal(size=(40, 3)) * [1, 1, 64]
    for units in ([1, 1, 1], [1, 1, 64]):
        lattice = lattice_of(X, units=np.array(units, np.float64))
        scaled = cdist(X / units, X / units)
        found = cdist(lattice.positions(X), lattice.positions(X))
        ratio = found[np.triu_indices(40, 1)] / scaled[np.triu_indices(40, 1)]
        np.testing.assert_allclose(ratio, ratio[0], rtol=1e-9)
        np.testing.assert_allclose(lattice.values(lattice.positions(X)), X, rtol=1e-9)


def test_a_circle_has_no_outside_and_no_edge():
    X = np.array([[1.0], [359.0], [361.0], [-1.0], [180.0]])
    lattice = lattice_of(X, period=(360.0,))
    positions = lattice.positions(X)
    assert positions[0] == positions[2]
    assert positions[1] == positions[3]
    leaves = Leaves.of_points(X, None, lattice, 2, 1)[0]
    assert leaves.weights.sum() == 5
    np.testing.assert_allclose(lattice.period, 360 / lattice.units)


def test_features_of_other_spread_have_a_second_unit():
    def units_of(X):
        return _kernel.unit_choices(_kernel.marginals(X, None, np.zeros(2), 1))

    X = rng.normal(size=(500, 2))
    alike = units_of(X)
    assert [each.tolist() for each in alike] == [[1, 1]]
    own = units_of(X * [1, 1000])
    assert [each.tolist() for each in own] == [[1, 1], [4.0**-5, 1]]
    constant = units_of(np.c_[X[:, 0], np.ones(500)])
    assert [each.tolist() for each in constant] == [[1, 0]]
    assert units_of(np.ones((5, 2))) == []


@pytest.mark.parametrize("d", [1, 2, 3, 4, 6, 7, 12, 13, 100, 600])
def test_codes_have_room_for_every_coordinate(d):
    whole = {"cells_per_period": 0, "low": -8, "extent": 16, "shift": 3}
    real = {"cell_size": 1.0, "scale": 1.0, "units": 1.0, "constants": 0.0}
    arrays = {name: np.full(d, value) for name, value in (whole | real).items()}
    (codes, *_), *_ = _kernel.build_leaves(rng.normal(size=(30, d)), None, Lattice(**arrays), 1, 1)
    bits = 64 * codes.shape[1]
    assert codes.shape[1] in (1, 2, 4, 8)
    assert 1 <= code_bits(d) <= 30
    assert code_bits(d) * min(d, bits) <= bits
    with pytest.raises(ValueError, match="coordinates must fit a code"):
        Lattice(**arrays | {"extent": np.full(d, 8 * 2 ** code_bits(d) + 1)})


@pytest.mark.parametrize("constant", [0.0, 5e-324, -3.5, 1e308, -np.finfo(float).max])
def test_constant_features_are_in_one_coordinate(constant):
    X = np.c_[rng.normal(size=50), np.full(50, constant)]
    lattice = lattice_of(X)
    assert (lattice.units > 0).tolist() == [True, False]
    assert len(np.unique(coordinates_of(lattice, X)[:, 1])) == 1
    assert (lattice.values(lattice.positions(X))[:, 1] == constant).all()
