"""Leaves of a tree: marginals, boxes of few points, and the leaf of each point.

The GPU sorts the codes of points on the Morton curve, on which boxes are stretches. Up to three
features have codes of one word; weights, more features and piles at the ends of a scale are left to
the host. A marginal is counted in cells of the level that a sample needs, which the level of all
values is not below; the host adds the few values outside.
"""

from __future__ import annotations

from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from meanshiftpp import _kernel
from meanshiftpp._kernel import MARGINAL_CELLS, Lattice, Marginal
from meanshiftpp._support.devices import current_device, to_host
from meanshiftpp.backends import host
from meanshiftpp.backends.cuda.launch import (
    Array,
    Kernels,
    as_struct,
    cp,
    many_blocks,
    points_args,
    type_of,
)
from meanshiftpp.backends.cuda.wide import check_exact
from meanshiftpp.backends.protocol import BuiltLeaves, Counts, Floats, Labels, Points
from meanshiftpp.errors import InvalidInputError

_MAX_AXES = 3
_NONE = np.uint64(2**64 - 1)  # the code of a point outside of the lattice
_SAMPLE = 1 << 17  # values of a feature that tell the level of its marginal
_MOST_CELLS = 1 << 22  # of a window
_MOST_OUTSIDE = 1 << 20  # values outside of a window that the host counts
_DIGIT = 16  # first bits of a code that a table looks up
_BATCH = 1 << 25  # rows whose codes are sorted at once
_KERNELS = Kernels("leaves.cu")


def code_bits(n_features: int) -> int:
    """Return how many bits of each coordinate a code of one word holds."""
    return min(30, 64 // n_features)


# -- marginals ------------------------------------------------------------------------------------


def marginals(
    points: Points, counts: Counts | None, period: Floats, n_threads: int
) -> list[Marginal]:
    """Return the marginal of each feature; raise for a value that is not finite."""
    if counts is not None or not len(points):
        return host.marginals(to_host(points), to_host(counts), period, n_threads)
    with current_device(points):
        check_exact(points)
        columns = zip(points.T, *_ranges(points, period), period.tolist(), strict=True)
        return [_marginal(*each, n_threads) for each in columns]


def _ranges(points: Array, period: Floats) -> tuple[list[float], list[float]]:
    """Return the least and the greatest values of the features."""
    n, d = points.shape
    ends = cp.tile(cp.array([2**63 - 1, -(2**63)], cp.int64), (d, 1))
    first_bad = cp.full(1, n, cp.int64)
    args = (*points_args(points), cp.asarray(period), ends, first_bad)
    name = f"find_ranges<{type_of(points)}>"
    _KERNELS.launch(name, 0, *args, blocks=many_blocks(), rows=d)
    _reject(points, int(first_bad[0]))
    bits: NDArray[np.int64] = ends.get()
    values = np.where(bits < 0, bits ^ np.int64(2**63 - 1), bits).view(np.float64)
    return values[:, 0].tolist(), values[:, 1].tolist()


def _marginal(column: Array, low: float, high: float, period: float, n_threads: int) -> Marginal:
    if period:
        window = _Window(0, float(MARGINAL_CELLS), 0, MARGINAL_CELLS, period)
        return _counted(column, window, low, high, n_threads)
    sample = to_host(column[:: max(1, len(column) // _SAMPLE)])
    few = _host_marginal(sample, None, n_threads)
    if len(few) < MARGINAL_CELLS // 2:  # the feature has few values
        values, counts = cp.unique(column, return_counts=True)
        return _host_marginal(to_host(values), to_host(counts).astype(np.uint64), n_threads)
    return _counted(column, _Window.of_sample(few, low, high), low, high, n_threads)


def _host_marginal(values: Array, counts: Counts | None, n_threads: int) -> Marginal:
    return host.marginals(values.reshape(-1, 1), counts, np.zeros(1), n_threads)[0]


class _Window(NamedTuple):
    """Cells that hold most values of a feature."""

    level: int
    inverse: float  # of the size of a cell; with a period, the number of its cells
    first: int
    n_cells: int
    period: float

    @classmethod
    def of_sample(cls, sample: Marginal, low: float, high: float) -> _Window:
        size = float(np.ldexp(1.0, sample.level))
        first, last = int(np.floor(low / size)), int(np.floor(high / size))
        if last - first >= _MOST_CELLS:  # without the outliers
            tail = len(sample) // 100
            start, end = int(sample.cells[tail]), int(sample.cells[-1 - tail])
            width = min(end - start + 1, _MOST_CELLS // 4)
            first, last = max(first, start - width), min(last, end + width)
        return cls(sample.level, 1 / size, first, min(last - first + 1, _MOST_CELLS), 0.0)


def _counted(column: Array, window: _Window, low: float, high: float, n_threads: int) -> Marginal:
    """Return the marginal of values of which most are in a window."""
    n = len(column)
    counts = cp.zeros(window.n_cells, cp.uint32)
    outside, n_outside = cp.empty(_MOST_OUTSIDE, cp.int64), cp.zeros(1, cp.uint64)
    values = (column, np.int64(n), np.int64(column.strides[0] // column.dtype.itemsize))
    cells_at = (window.period, window.inverse, float(window.first), np.int64(window.n_cells))
    found = (counts, outside, np.int64(_MOST_OUTSIDE), n_outside)
    name = f"count_cells<{type_of(column)}>"
    _KERNELS.launch(name, 0, *values, *cells_at, *found, blocks=many_blocks())
    left = int(n_outside[0])
    if left > _MOST_OUTSIDE:
        return _host_marginal(to_host(column), None, n_threads)
    occupied = cp.flatnonzero(counts)
    cells, weights = to_host(occupied) + window.first, to_host(counts[occupied]).astype(np.uint64)
    total = Marginal(window.level, cells[:0], weights[:0], low, high, window.period)
    for k in range(0, len(cells), MARGINAL_CELLS):  # the sum of marginals joins cells
        part = slice(k, k + MARGINAL_CELLS)
        total += Marginal(window.level, cells[part], weights[part], low, high, window.period)
    if left:
        total += _host_marginal(to_host(column[outside[:left]]), None, n_threads)
    return total


# -- leaves ---------------------------------------------------------------------------------------


class _LeafOfPoint(NamedTuple):
    """The leaf of each point, -1 for none."""

    ids: Array
    n_inside: int
    squares: float

    def take(self, values: Labels, labels: Labels, n_threads: int) -> None:
        """OUT labels[i] = values[leaf of point i]; points without a leaf keep their label."""
        inside = self.ids >= 0
        labels[:] = cp.where(inside, cp.asarray(values)[self.ids], labels)


def build_leaves(
    points: Points, counts: Counts | None, lattice: Lattice, limit: int, n_threads: int
) -> BuiltLeaves:
    """Divide points into the largest boxes of at most `limit` points."""
    n, d = points.shape
    if counts is not None or d > _MAX_AXES or not n:
        return _build_on_host(points, counts, lattice, limit, n_threads)
    with current_device(points):
        codes = _sorted_codes(points, _struct(lattice))
        starts, bits = cp.empty(len(codes), cp.int32), cp.empty(len(codes), cp.uint8)
        args = (codes, np.int64(len(codes)), np.int64(limit), starts, bits)
        _KERNELS.launch(f"mark_leaves<{d}>", 0, *args, blocks=many_blocks())
        first = cp.concatenate([cp.flatnonzero(starts), cp.array([len(codes)])])
        own_bits = bits[first[:-1]].astype(cp.uint64)
        own_codes = codes[first[:-1]] >> own_bits << own_bits
        sums, squares = _sums(codes, first, d)
        weights = to_host(cp.diff(first))
        positions = (to_host(sums) / weights[:, None] + 0.5) * lattice.scale
        arrays = (to_host(own_codes).reshape(-1, 1), to_host(own_bits).astype(np.uint16))
        ids = _find(points, lattice, own_codes, own_bits.astype(cp.uint16))
        placed = _LeafOfPoint(ids, len(codes), squares)
        return BuiltLeaves((*arrays, positions, weights), placed)


def _build_on_host(
    points: Array, counts: Array | None, lattice: Lattice, limit: int, n_threads: int
) -> BuiltLeaves:
    arrays, placed = host.build_leaves(to_host(points), to_host(counts), lattice, limit, n_threads)
    ids, each = np.full(len(points), -1, np.int32), np.arange(len(arrays[0]), dtype=np.int32)
    placed.take(each, ids, n_threads)
    with current_device(points):
        return BuiltLeaves(arrays, _LeafOfPoint(cp.asarray(ids), placed.n_inside, placed.squares))


def find_leaves(
    points: Points,
    lattice: Lattice,
    ends: Floats,
    codes: NDArray[np.uint64],
    bits: NDArray[np.uint16],
    n_threads: int,
) -> Labels:
    """Return the leaf whose box holds each point, -1 for none."""
    if len(ends) or points.shape[1] > _MAX_AXES:
        found = host.find_leaves(to_host(points), lattice, ends, codes, bits, n_threads)
        with current_device(points):
            return cast(Labels, cp.asarray(found))
    with current_device(points):
        return cast(Labels, _find(points, lattice, cp.asarray(codes[:, 0]), cp.asarray(bits)))


def _find(points: Array, lattice: Lattice, codes: Array, bits: Array) -> Array:
    n, d = points.shape
    found, first_bad = cp.empty(n, cp.int32), cp.full(1, n, cp.int64)
    total = d * code_bits(d)
    bins = cp.arange((1 << _DIGIT) + 1, dtype=cp.uint64) << np.uint64(total - _DIGIT)
    starts = cp.searchsorted(codes, bins).astype(cp.uint32)
    args = (*points_args(points), _struct(lattice), codes, bits, starts, np.int32(_DIGIT))
    name = f"find_leaves<{type_of(points)}, {d}>"
    _KERNELS.launch(name, 0, *args, found, first_bad, blocks=many_blocks())
    _reject(points, int(first_bad[0]), lattice)
    return found


def _sorted_codes(points: Array, lattice: NDArray[Any]) -> Array:
    """Return the codes of the points inside of a lattice, in rising order."""
    n, d = points.shape
    codes, first_bad = cp.empty(n, cp.uint64), cp.full(1, n, cp.int64)
    name = f"codes_of<{type_of(points)}, {d}>"
    args = (*points_args(points), lattice, codes, first_bad)
    _KERNELS.launch(name, 0, *args, blocks=many_blocks())
    codes.sort()
    return codes[: int(cp.searchsorted(codes, cp.array([_NONE]))[0])]


def _sums(codes: Array, first: Array, d: int) -> tuple[Array, float]:
    """Return the sums of the coordinates in each leaf, and that of squared numbers of equals."""
    m = len(first) - 1
    sums, halves = cp.empty((m, d), cp.uint64), cp.zeros(2, cp.uint64)
    args = (codes, first, np.int64(m), sums, halves)
    _KERNELS.launch(f"sum_leaves<{d}>", 0, *args, blocks=many_blocks())
    high, low = halves.get().tolist()
    return sums, float(high + (low >> 32)) * 2.0**32 + float(low & (2**32 - 1))


def _struct(lattice: Lattice) -> NDArray[Any]:
    """Return struct Lattice of leaves.cu."""
    rows = (lattice.cell_size, lattice.low, lattice.extent, lattice.cells_per_period, lattice.shift)
    return _packed(*rows)


def _packed(*rows: NDArray[Any]) -> NDArray[Any]:
    padded = np.zeros((len(rows), _MAX_AXES))
    for row, values in zip(padded, rows, strict=True):
        row[: len(values)] = values
    return as_struct(padded.ravel().tolist(), padded.size, np.float64)


def _reject(points: Array, row: int, lattice: Lattice | None = None) -> None:
    """Raise the host's error for a row whose value has no cell; a row past the end is good."""
    if row >= len(points):
        return
    point = to_host(points[row : row + 1])
    try:
        _kernel.check_finite(point, 1)
        if lattice is not None:
            host.build_leaves(point, None, lattice, 1, 1)
    except InvalidInputError as error:
        raise InvalidInputError(error.problem, row=row, column=error.column) from None
    raise RuntimeError("internal error: the host accepts this point; please report this")


# -- tallies --------------------------------------------------------------------------------------


class Cells(NamedTuple):
    """Occupied cells, their counts, and how many bits of the numbers of fine cells are dropped."""

    cells: NDArray[np.int64]
    counts: NDArray[np.uint64]
    coarser: int


def count_cells(
    points: Points, sizes: Floats, ends: NDArray[np.float64], most: int
) -> Cells | None:
    """Return the occupied cells of the finest size of which there are at most `most`.

    Cells are some power of two times `sizes` wide. `ends` are the least and the greatest value of
    each feature. Return None for a case of the host: many features, or cells that are too fine for
    codes.
    """
    d = points.shape[1]
    if d > _MAX_AXES:
        return None
    bits = code_bits(d)
    low, high = (np.floor(each / sizes).astype(np.int64) for each in ends.T)
    dropped = 0
    while ((high >> dropped) - (low >> dropped) >= 1 << (bits - 1)).any():
        dropped += 1
    start = low >> dropped >> (bits - 1) << (bits - 1)
    lattice = _packed(
        sizes,
        start << dropped,
        np.full(d, 2.0 ** (bits + dropped)),
        np.zeros(d),
        np.full(d, dropped),
    )
    with current_device(points):
        found = _Distinct(d)
        for k in range(0, len(points), _BATCH):
            found.add(_sorted_codes(points[k : k + _BATCH], lattice), most)
        if found.joined == 0 and dropped > 0:
            return None
        coordinates = cp.empty((len(found.codes), d), cp.int64)
        args = (found.codes, np.int64(len(found.codes)), coordinates)
        _KERNELS.launch(f"coordinates_of<{d}>", 0, *args, blocks=many_blocks())
        cells = to_host(coordinates) + (start >> found.joined)
        return Cells(cells, to_host(found.counts), dropped + found.joined)


class _Distinct:
    """Distinct codes with their counts, without the bits of all axes that make them too many."""

    def __init__(self, n_features: int) -> None:
        self._d = n_features
        self.joined = 0  # bits of each axis
        self.codes, self.counts = cp.empty(0, cp.uint64), cp.empty(0, cp.uint64)

    def add(self, codes: Array, most: int) -> None:
        """Add sorted codes, and join cells until there are at most `most`."""
        self._join(codes, most)
        shifted, counts = self._reduced(codes >> np.uint64(self._d * self.joined), None)
        every = cp.concatenate([self.codes, shifted])
        order = cp.argsort(every)
        weights = cp.concatenate([self.counts, counts])[order]
        self.codes, self.counts = self._reduced(every[order], weights)
        before = self.joined
        self._join(self.codes, most)
        if self.joined > before:
            moved = self.codes >> np.uint64(self._d * (self.joined - before))
            self.codes, self.counts = self._reduced(moved, self.counts)

    def _join(self, codes: Array, most: int) -> None:
        """Drop bits of sorted codes until at most `most` are distinct."""
        widths = cp.zeros(66, cp.uint64)
        args = (codes, np.int64(len(codes)), widths)
        _KERNELS.launch("count_differences", 0, *args, blocks=many_blocks())
        beyond = np.cumsum(widths.get()[::-1].astype(np.int64))[
            ::-1
        ]  # differ in this bit or higher
        kept = 0 if codes is not self.codes else self.joined
        while 1 + beyond[min(65, self._d * (self.joined - kept) + 1)] > most:
            self.joined += 1

    def _reduced(self, codes: Array, counts: Array | None) -> tuple[Array, Array]:
        """Return the distinct of sorted codes, with the sums of their counts."""
        if not len(codes):
            return codes, cp.empty(0, cp.uint64)
        first = cp.flatnonzero(cp.concatenate([cp.ones(1, bool), codes[1:] != codes[:-1]]))
        ends = cp.concatenate([first, cp.array([len(codes)])])
        if counts is None:
            return codes[first], cp.diff(ends).astype(cp.uint64)
        before = cp.concatenate([cp.zeros(1, cp.uint64), cp.cumsum(counts)])
        return codes[first], cp.diff(before[ends])
