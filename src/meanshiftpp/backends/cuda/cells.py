"""Rows of grids: which of them are the same cell, and the box they lie in."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from meanshiftpp.backends.cuda.launch import (
    MAX_AXES,
    NULL,
    Array,
    Kernels,
    by_value,
    cp,
    many_blocks,
)

MOST_AROUND = 4096  # cells of a window that are looked at one by one
_MIDDLE = 1 << 63  # which the kernel writes for 0
_KERNELS = Kernels("cells.cu")


def empty_grid(m: int, d: int) -> tuple[Array, Array, Array]:
    """Make room for cells, counts and sums."""
    return cp.empty((m, d), cp.int64), cp.empty(m, cp.uint64), cp.empty((m, d), cp.uint64)


def rank(cells: Array) -> tuple[Array, Array]:
    """Return the rank of each row among the distinct ones in order, and where each is first met."""
    place = cp.zeros(len(cells), cp.int64)
    first = cp.zeros(min(len(cells), 1), cp.int64)
    for column in cells.T:
        values, inverse = cp.unique(column, return_inverse=True)
        key = place * max(len(values), 1) + inverse.ravel()
        _, first, inverse = cp.unique(key, return_index=True, return_inverse=True)
        place = inverse.ravel()
    return place.astype(cp.int32), first


def merge(cells: Array, counts: Array, sums: Array) -> tuple[Array, Array, Array, Array]:
    """Return where each row goes, and the merged cells, counts and sums."""
    m, d = cells.shape
    place, first = rank(cells)
    to_counts = cp.zeros(len(first), cp.uint64)
    to_cells, to_sums = cp.zeros((len(first), d), cp.int64), cp.zeros((len(first), d), cp.uint64)
    args = (place, cells, counts, sums, np.int64(m), np.int32(d), to_cells, to_counts, to_sums)
    _KERNELS.launch("merge_rows", m, *args)
    return place, to_cells, to_counts, to_sums


def merge_cells(cells: Array, counts: Array, sums: Array) -> tuple[Array, Array, Array, Array]:
    """Sort the rows and add up those of the same cell; the last array is where each row went."""
    with cells.device:
        place, *merged = merge(*map(cp.ascontiguousarray, (cells, counts, sums)))
        return (*merged, place)


def extent(cells: Array, counts: Array | None = None) -> tuple[list[int], list[int], int]:
    """Return the lowest and the highest cell along each axis, and the sum of the counts."""
    m, d = cells.shape
    found = cp.zeros(2 * d + 1, cp.uint64)
    w = NULL if counts is None else counts
    args = (cells, w, np.int64(m), np.int32(d), found)
    _KERNELS.launch("extent_of", m, *args, blocks=min(many_blocks(), -(-m // 256)))
    *ends, total = found.get().tolist()
    return [_MIDDLE - 1 - end for end in ends[:d]], [end - _MIDDLE for end in ends[d:]], total


def lay_out(low: list[int], high: list[int], spare: int) -> tuple[NDArray[np.int64] | None, int]:
    """Return strides and lows of a box with spare cells around; None where keys have no room."""
    sides = [b - a + 1 + 2 * spare for a, b in zip(low, high, strict=True)]
    slots = math.prod(sides)
    if len(sides) > MAX_AXES or slots >= 2**63:
        return None, slots
    strides = [math.prod(sides[j + 1 :]) for j in range(len(sides))]
    return by_value([*strides, *low], 12, np.int64), slots
