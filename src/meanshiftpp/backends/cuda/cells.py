"""Rows of grids: merging rows, coarser cells, the box of the cells, and their keys."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from meanshiftpp._kernel import OFFSET_BITS
from meanshiftpp._support.devices import current_device
from meanshiftpp.backends.cuda.launch import (
    MAX_AXES,
    MAX_KEYS,
    NULL,
    Array,
    Kernels,
    as_struct,
    cp,
    many_blocks,
)
from meanshiftpp.backends.protocol import Binned, Cells, Coarse, Counts, Merged, Sums

_MIDDLE = 1 << 63  # the kernel's number for cell 0
_KERNELS = Kernels("cells.cu")


def merge_cells(cells: Cells, counts: Counts, sums: Sums) -> Merged:
    """Sort rows and add up the rows of the same cell."""
    with current_device(cells):
        grid = map(cp.ascontiguousarray, (cells, counts, sums))
        position, to_cells, to_counts, to_sums = merge(*grid)
        return Merged(to_cells, to_counts, to_sums, position.view(cp.uint32))


def coarsen_cells(cells: Cells, counts: Counts, sums: Sums, factor: int, n_threads: int) -> Coarse:
    """Merge `factor` cells along each axis to one."""
    with current_device(cells):
        shift, divisor = np.uint64(OFFSET_BITS), np.uint64(factor)
        coarse, rest = cp.divmod(cells, factor)
        # The new sum is (rest * count * 2**32 + sum) / factor, computed in parts that fit 64 bits.
        whole = rest.astype(np.uint64) * counts[:, None] + (sums >> shift)
        part = (whole % divisor << shift) + (sums & np.uint64((1 << OFFSET_BITS) - 1))
        moved = (whole // divisor << shift) + (part + divisor // np.uint64(2)) // divisor
        return Coarse(*merge(coarse, cp.ascontiguousarray(counts), moved)[1:])


def merge(cells: Array, counts: Array, sums: Array) -> tuple[Array, Array, Array, Array]:
    """Return the new position of each row (int32), and the merged cells, counts and sums."""
    m, d = cells.shape
    position, first = rank(cells)
    grid = (cp.empty((len(first), d), cp.int64), *_zeros(len(first), d))
    args = (position, cells, counts, sums, np.int64(m), np.int32(d), *grid)
    _KERNELS.launch("merge_rows", m, *args)
    return position, *grid


def _zeros(m: int, d: int) -> tuple[Array, Array]:
    return cp.zeros(m, cp.uint64), cp.zeros((m, d), cp.uint64)


def insert(
    cells: Array, counts: Array, sums: Array, others: Binned
) -> tuple[Array, NDArray[np.int32], Array, Array, Array]:
    """Add the few rows of a host's grid to the sorted rows of another.

    Return the new positions (int32) of the rows and of the others, and the cells, counts and sums.
    """
    (m, d), k = cells.shape, len(others.counts)
    places = cp.empty(k, cp.int64)
    other_cells = cp.asarray(others.cells)
    sizes = (np.int64(m), np.int32(d))
    _KERNELS.launch("locate", k, cells, *sizes, other_cells, np.int64(k), places)
    below, found = np.divmod(places.get(), 2)
    new = 1 - found
    at = (below + np.cumsum(new) - new).astype(np.int32)
    inserted = cp.asarray(below[new == 1])
    n_rows, position = m + len(inserted), cp.empty(m, cp.int32)
    grid = (cp.empty((n_rows, d), cp.int64), *_zeros(n_rows, d))
    args = (cells, counts, sums, *sizes, inserted, np.int64(len(inserted)))
    _KERNELS.launch("move_rows", m, *args, position, *grid)
    rows = (cp.asarray(at), other_cells, cp.asarray(others.counts), cp.asarray(others.sums))
    _KERNELS.launch("merge_rows", k, *rows, np.int64(k), np.int32(d), *grid)
    return position, at, *grid


def rank(cells: Array) -> tuple[Array, Array]:
    """Return the rank of each row (int32) among the distinct rows, and the first row of each."""
    ranks = cp.zeros(len(cells), cp.int64)
    first = cp.zeros(min(len(cells), 1), cp.int64)
    for column in cells.T:
        values, inverse = cp.unique(column, return_inverse=True)
        key = ranks * max(len(values), 1) + inverse.ravel()
        _, first, inverse = cp.unique(key, return_index=True, return_inverse=True)
        ranks = inverse.ravel()
    return ranks.astype(cp.int32), first


def empty_grid(m: int, d: int) -> tuple[Array, Array, Array]:
    """Allocate cells, counts and sums."""
    return cp.empty((m, d), cp.int64), cp.empty(m, cp.uint64), cp.empty((m, d), cp.uint64)


def extent(cells: Array, counts: Array | None = None) -> tuple[list[int], list[int], int]:
    """Return the lowest and the highest cell along each axis, and the sum of the counts."""
    m, d = cells.shape
    box_and_total = cp.zeros(2 * d + 1, cp.uint64)
    weights = NULL if counts is None else counts
    args = (cells, weights, np.int64(m), np.int32(d), box_and_total)
    _KERNELS.launch("extent_of", m, *args, blocks=min(many_blocks(), -(-m // 256)))
    *ends, total = box_and_total.get().tolist()
    return [_MIDDLE - 1 - end for end in ends[:d]], [end - _MIDDLE for end in ends[d:]], total


def make_layout(
    low: list[int], high: list[int], margin: int
) -> tuple[NDArray[np.int64] | None, int]:
    """Return struct Layout of a box with a margin around it, and its number of cells.

    The layout is None if the cells are too many for keys. The box has at most MAX_AXES axes.
    """
    sides = [b - a + 1 + 2 * margin for a, b in zip(low, high, strict=True)]
    n_cells = math.prod(sides)
    if n_cells >= MAX_KEYS:
        return None, n_cells
    strides = [math.prod(sides[j + 1 :]) for j in range(len(sides))]
    return as_struct([*strides, *low], 2 * MAX_AXES, np.int64), n_cells
