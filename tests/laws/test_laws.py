"""The laws of the grid and of the search, tested for equality without a tolerance.

Threads, chunks, files, machines and GPUs rely on laws 1 and 2, other backends on law 3. The names
of the tests begin with the number of their law. The cases are the same in every run.
"""

from __future__ import annotations

from fractions import Fraction
from functools import reduce
from itertools import pairwise
from operator import add
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.helpers import THREADS, assert_equal, assert_same_modes, bin_by, fit_labels
from tests.strategies import Case, cases, cuts, dyadic_cases, weights, whole

from meanshiftpp import Grid, reference, seek
from meanshiftpp.errors import GridMismatchError

STRATEGIES = ("auto", "dense", "ranked", "hash", "sorted", "wide")

many = settings(max_examples=500, derandomize=True)
some = settings(max_examples=200, derandomize=True)


def grid_of(case: Case, rows: slice | np.ndarray = np.s_[:], **options: object) -> Grid:
    return Grid.from_points(case.X[rows], case.bandwidth, **options)


def assert_arrays(grid: Grid, expected: tuple[np.ndarray, ...], context: object = "") -> None:
    for name, e in zip(("cells", "counts", "sums"), expected):
        a = getattr(grid, name)
        assert a.dtype == e.dtype, name
        assert np.array_equal(a, e), f"{name} differ, {context}: got\n{a}\nexpected\n{e}"


# Law 1: the grid of all points is the sum of the grids of the parts.


@many
@given(cases(), st.data())
def test_1_every_split_and_every_number_of_threads(case: Case, data: st.DataObject):
    whole_grid = grid_of(case, n_threads=1)
    bounds = [0, *data.draw(cuts(len(case.X)), label="cuts"), len(case.X)]
    parts = [slice(a, b) for a, b in pairwise(bounds) if a < b]
    order = data.draw(st.permutations(parts), label="order of the chunks")
    for n_threads in THREADS:
        assert_equal(grid_of(case, n_threads=n_threads), whole_grid, f"{n_threads} threads")
        chunks = [grid_of(case, part, n_threads=n_threads) for part in order]
        assert_equal(reduce(add, chunks), whole_grid, f"chunks {order}, {n_threads} threads")


@some
@given(cases(), st.integers(1, 30))
def test_1_every_chunk_size(case: Case, size: int):
    chunks = [grid_of(case, slice(i, i + size)) for i in range(0, len(case.X), size)]
    assert_equal(reduce(add, chunks), grid_of(case), f"chunks of {size}")


@pytest.mark.parametrize("dtype", ["float32", "float64", "int16"])
@pytest.mark.parametrize(("d", "h"), [(1, 0.01), (2, 0.3), (3, 2.0), (3, 0.05), (5, 1.5)])
def test_1_with_enough_points_to_keep_all_threads_busy(d: int, h: float, dtype: str):
    X = np.random.default_rng(d).normal(scale=10, size=(120_000, d)).astype(dtype)
    expected = Grid.from_points(X, h, n_threads=1)
    assert_arrays(expected, reference.grid_of_points(X, h))
    for n_threads in THREADS[1:]:
        assert_equal(Grid.from_points(X, h, n_threads=n_threads), expected, f"{n_threads} threads")
    for size in (1_000, 50_001):
        chunks = [Grid.from_points(X[i : i + size], h) for i in range(0, len(X), size)]
        assert_equal(reduce(add, chunks), expected, f"chunks of {size}")


@some
@given(cases())
def test_1_any_memory_layout(case: Case):
    expected, X = grid_of(case), case.X
    strided = np.zeros((2 * len(X), 3 * X.shape[1]), dtype=X.dtype)[::2, ::3]
    strided[...] = X
    frozen = X.copy()
    frozen.flags.writeable = False
    unaligned = np.frombuffer(b"\0" + X.tobytes(), dtype=np.uint8)[1:].view(X.dtype)
    for layout in (np.asfortranarray(X), strided, frozen, unaligned.reshape(X.shape)):
        assert_equal(Grid.from_points(layout, case.bandwidth), expected, layout.flags)
    assert_equal(Grid.from_points(X[::-1], case.bandwidth), expected, "negative strides")


# Law 2: + is associative and commutative, and the empty grid is its identity.


@many
@given(cases(min_points=3), st.data())
def test_2_monoid(case: Case, data: st.DataObject):
    i, j = sorted(data.draw(st.tuples(*[st.integers(1, len(case.X) - 1)] * 2), label="cuts"))
    a, b, c = (grid_of(case, part) for part in (slice(0, i), slice(i - 1, j), slice(j, None)))
    assert_equal((a + b) + c, a + (b + c), "associative")
    assert_equal(a + b, b + a, "commutative")
    for empty in (Grid.empty(a.bandwidth), Grid.empty(case.bandwidth, n_features=a.n_features)):
        assert len(empty) == 0
        assert_equal(a + empty, a, "identity on the right")
        assert_equal(empty + a, a, "identity on the left")
        assert_equal(empty + empty, empty, "empty")
    assert (a + b).total == a.total + b.total


@some
@given(cases(), st.floats(1e-3, 1e3))
def test_2_adding_mismatched_grids_raises(case: Case, other: float):
    grid = grid_of(case)
    wider = np.hstack([case.X, case.X[:, :1]])
    h = np.broadcast_to(case.bandwidth, grid.n_features)
    mismatched = [Grid.from_points(wider, np.append(h, h[0]))]
    if not (h == other).all():
        mismatched.append(Grid.from_points(case.X, other))
    for other_grid in mismatched:
        assert grid != other_grid
        for left, right in ((grid, other_grid), (other_grid, grid)):
            with pytest.raises(GridMismatchError):
                left + right
    with pytest.raises(TypeError):
        grid + 1


@some
@given(cases())
def test_2_adding_changes_neither_side(case: Case):
    a, b = grid_of(case), grid_of(case)
    a + a
    assert_equal(a, b)


# Law 3: every backend computes the grid of the NumPy reference, bit for bit.


@settings(many, max_examples=1500)
@given(cases())
def test_3_the_reference_grid(case: Case):
    grid = grid_of(case)
    cells, counts, sums = expected = reference.grid_of_points(case.X, case.bandwidth)
    assert_arrays(grid, expected)
    assert len(grid) == len(cells)
    assert grid.total == len(case.X)
    means = (cells + sums / counts[:, None] / 2.0**32) * grid.bandwidth
    np.testing.assert_allclose(grid.means, means, rtol=1e-14, atol=1e-14 * grid.bandwidth.max())


@some
@given(cases(), st.sampled_from([0.0, -0.0, 5e-324, -5e-324, 2.0**-33, -(2.0**-33), -1e-20, 1.0]))
def test_3_around_zero_and_the_edges(case: Case, x: float):
    """Try zeros of both signs, subnormals, and points next to an edge."""
    h = np.broadcast_to(case.bandwidth, case.X.shape[1])
    edges = np.floor(case.X / h) * h
    X = np.vstack([edges, np.nextafter(edges, -np.inf), np.full(edges.shape, x), edges + x * h])
    assert_arrays(Grid.from_points(X, h), reference.grid_of_points(X, h), X.tolist())


@some
@given(case=cases())
def test_3_a_saved_grid_is_the_same_grid(case: Case, tmp_path_factory: pytest.TempPathFactory):
    path = Path(tmp_path_factory.getbasetemp()) / "law.grid"
    grid = grid_of(case)
    grid.save(path)
    assert_equal(Grid.load(path), grid)


@many
@given(cases(), st.sampled_from(STRATEGIES), st.data())
def test_3_every_strategy(case: Case, strategy: str, data: st.DataObject):
    cells = np.floor(np.asarray(case.X, np.float64) / case.bandwidth)
    if np.asarray(case.X).dtype == np.uint8:  # its box is that of all byte values
        cells = np.floor(np.array([[0.0], [255.0]]) / case.bandwidth * np.ones(case.X.shape[1]))
    box = np.prod(np.ptp(cells, axis=0) + 1)
    assume(box < {"dense": 2**16, "ranked": 2**24}.get(strategy, np.inf))
    w = data.draw(st.none() | weights(len(case.X)), label="weights")
    expected = reference.grid_of_points(case.X, case.bandwidth, w)
    for n_threads in THREADS:
        grid, _ = bin_by(case.X, case.bandwidth, strategy, sample_weight=w, n_threads=n_threads)
        assert_arrays(grid, expected, f"{strategy}, {n_threads} threads")


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("d", [1, 2, 3])
def test_3_every_strategy_with_points_far_from_the_others(d: int, strategy: str):
    rng = np.random.default_rng(d)
    X = rng.normal(size=(70_000, d))
    # Binning plans its tables from every 17th row here, which leaves these points out.
    X[1::1700] *= 1e5
    X[2::17000] *= 1e9
    expected = reference.grid_of_points(X, 0.5)
    for n_threads in THREADS:
        grid, _ = bin_by(X, 0.5, strategy, n_threads=n_threads)
        assert_arrays(grid, expected, f"{strategy}, {n_threads} threads")


# Law 4: moving the data by whole cells moves the modes by exactly as much.


@many
@given(dyadic_cases(), st.data())
def test_4_moving_by_whole_cells(case: Case, data: st.DataObject):
    limit = data.draw(st.sampled_from((3, 2**20)), label="limit")
    cells = data.draw(whole(1, case.X.shape[1], limit), label="cells moved")[0]
    by = cells * np.asarray(case.bandwidth)
    here, there = grid_of(case), Grid.from_points(case.X + by, case.bandwidth)
    assert np.array_equal(there.cells, here.cells + cells)
    assert np.array_equal(there.counts, here.counts)
    assert np.array_equal(there.sums, here.sums)
    modes, moved = seek(here), seek(there)
    assert np.array_equal(moved.cells, modes.cells + cells)
    for name in ("fractions", "weights", "cell_labels", "n_iter", "converged"):
        assert np.array_equal(getattr(moved, name), getattr(modes, name)), name
    assert np.array_equal(moved.label(case.X + by), modes.label(case.X))
    # A center is cell + fraction, rounded once to float64: only the last bit may differ.
    digit = np.spacing(np.maximum(np.abs(moved.centers), np.abs(modes.centers)))
    assert (np.abs(moved.centers - (modes.centers + by)) <= digit).all(), (moved.centers, by)


@some
@given(st.data())
def test_4_centers_move_exactly_if_float64_can_represent_them(data: st.DataObject):
    d = data.draw(st.integers(1, 4), label="d")
    copies = data.draw(st.sampled_from((1, 2, 8)), label="points of a cell")
    corner = 4 * data.draw(whole(3, d, 50), label="cells")  # no two distinct ones are adjacent
    inside = data.draw(whole(copies, d, 7), label="sixteenths") / 16 + 0.5
    _, first = np.unique(corner, axis=0, return_index=True)
    # The counts are powers of two, so the means have few bits.
    X = np.vstack([corner[i] + inside for i in first])
    by = data.draw(whole(1, d, 2**30), label="cells moved")
    for h in (0.25, 1.0, 8.0):
        modes, moved = seek(Grid.from_points(X * h, h)), seek(Grid.from_points((X + by) * h, h))
        assert np.array_equal(moved.centers, modes.centers + by * h)


# Law 5: permuting the rows permutes the labels and changes nothing else.


@many
@given(cases(), st.randoms(use_true_random=False))
def test_5_permutation(case: Case, random):
    order = np.array(random.sample(range(len(case.X)), len(case.X)))
    grid, permuted = grid_of(case), grid_of(case, order)
    assert_equal(permuted, grid)
    modes, other = seek(grid), seek(permuted)
    assert_same_modes(other, modes)
    assert np.array_equal(other.label(case.X[order]), modes.label(case.X)[order])


@many
@given(cases())
def test_5_labels_are_numbered_by_weight_then_by_cell(case: Case):
    modes = seek(grid_of(case))
    labels = modes.label(case.X)
    assert labels.dtype == np.int32
    sizes = np.bincount(labels, minlength=len(modes.weights))
    assert np.array_equal(modes.weights, sizes)
    assert (sizes > 0).all()
    order = [(-size, *cell) for size, cell in zip(sizes.tolist(), modes.cells.tolist())]
    assert order == sorted(order)
    assert (modes.fractions >= -reference.EDGE).all()
    assert (modes.fractions < 1 - reference.EDGE).all()


@many
@given(cases())
def test_5_the_search_is_the_same_for_every_number_of_threads(case: Case):
    grid = grid_of(case)
    expected = seek(grid, n_threads=1)
    labels = expected.label(case.X, n_threads=1)
    for n_threads in THREADS[1:]:
        modes = seek(grid, n_threads=n_threads)
        assert_same_modes(modes, expected, f"{n_threads} threads")
        assert np.array_equal(modes.label(case.X, n_threads=n_threads), labels)
        modes, fitted = fit_labels(case.X, case.bandwidth, n_threads=n_threads)
        assert_same_modes(modes, expected, f"fit_labels, {n_threads} threads")
        assert np.array_equal(fitted, labels)


@pytest.mark.filterwarnings("ignore:the search still moved")
@pytest.mark.parametrize(("d", "h"), [(1, 1e-4), (2, 0.02), (3, 0.15), (6, 0.7)])
def test_5_the_search_with_enough_cells_to_keep_all_threads_busy(d: int, h: float):
    X = np.random.default_rng(d).normal(size=(40_000, d))
    grid = Grid.from_points(X, h)
    assert len(grid) > 15_000
    expected = seek(grid, max_iter=20, n_threads=1)
    labels = expected.label(X, n_threads=1)
    for n_threads in THREADS[1:]:
        modes = seek(grid, max_iter=20, n_threads=n_threads)
        assert_same_modes(modes, expected, f"{n_threads} threads")
        assert np.array_equal(modes.label(X, n_threads=n_threads), labels)
        _, fitted = fit_labels(X, h, max_iter=20, n_threads=n_threads)
        assert np.array_equal(fitted, labels)


# Law 6: the coarse grid follows from the fine one, up to rounding of the fixed point.


@many
@given(dyadic_cases(), st.integers(1, 9))
def test_6_coarsen(case: Case, k: int):
    fine = grid_of(case)
    coarse = fine.coarsen(k)
    direct = Grid.from_points(case.X, k * np.asarray(case.bandwidth))
    assert np.array_equal(coarse.bandwidth, k * fine.bandwidth)
    assert np.array_equal(coarse.cells, direct.cells)
    assert np.array_equal(coarse.counts, direct.counts)
    # Sixteenths of a cell have exact offsets; a k-th of them is rounded, once for each merged cell
    # in `coarse` and once for each point in `direct`. Exact sums need more bits than float64 has.
    for i, cell in enumerate(coarse.cells):
        merged = np.flatnonzero((fine.cells // k == cell).all(axis=1))
        points = int(coarse.counts[i])
        for j in range(fine.n_features):
            corner = (fine.cells[merged, j] - k * cell[j]).tolist()
            counts, sums = fine.counts[merged].tolist(), fine.sums[merged, j].tolist()
            exact = Fraction(sum(2**32 * a * c + s for a, c, s in zip(corner, counts, sums)), k)
            assert abs(int(coarse.sums[i, j]) - exact) <= len(merged), (cell, j)
            assert abs(int(direct.sums[i, j]) - exact) <= points, (cell, j)


@some
@given(cases(), st.integers(1, 9))
def test_6_coarsen_agrees_with_the_reference(case: Case, k: int):
    fine = grid_of(case)
    coarse = fine.coarsen(k)
    cells, counts, sums = reference.coarsen(fine.cells, fine.counts, fine.sums, k)
    assert np.array_equal(coarse.cells, cells)
    assert np.array_equal(coarse.counts, counts)
    difference = coarse.sums.astype(object) - sums.astype(object)
    assert (np.abs(difference) <= len(fine)).all(), difference
    if k == 1:
        assert_equal(coarse, fine)


@some
@given(dyadic_cases(), st.sampled_from((2, 4, 8)), st.sampled_from((2, 4)))
def test_6_coarsen_by_powers_of_two_is_exact(case: Case, k: int, then: int):
    fine = grid_of(case)
    assert_equal(fine.coarsen(k), Grid.from_points(case.X, k * np.asarray(case.bandwidth)))
    assert_equal(fine.coarsen(k).coarsen(then), fine.coarsen(k * then))


# Law 7: a point of weight w counts as w points.


@many
@given(cases(), st.data())
def test_7_whole_weights_are_repetitions(case: Case, data: st.DataObject):
    w = data.draw(weights(len(case.X)), label="weights")
    repeated = np.repeat(case.X, w, axis=0)
    expected = Grid.from_points(repeated, case.bandwidth)
    assert_arrays(expected, reference.grid_of_points(case.X, case.bandwidth, w))
    for dtype in ("int64", "uint8", "float64", "float32"):
        grid = grid_of(case, sample_weight=w.astype(dtype))
        assert_equal(grid, expected, f"weights {w} as {dtype}")
        assert grid.unit == 1
    modes = seek(grid)
    assert_same_modes(modes, seek(expected))
    present = w > 0
    labels = modes.label(case.X[present])
    assert np.array_equal(np.repeat(labels, w[present]), seek(expected).label(repeated))


@some
@given(cases(), st.data())
def test_7_weighted_chunks_add_up_on_every_number_of_threads(case: Case, data: st.DataObject):
    w = data.draw(weights(len(case.X), high=2**20), label="weights")
    whole_grid = grid_of(case, sample_weight=w)
    i = data.draw(st.integers(0, len(w)), label="cut")
    for n_threads in THREADS:
        halves = [
            grid_of(case, part, sample_weight=w[part], n_threads=n_threads)
            for part in (slice(0, i), slice(i, None))
            if w[part].any()
        ]
        assert_equal(reduce(add, halves), whole_grid, f"cut at {i}, {n_threads} threads")
