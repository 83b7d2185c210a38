"""Buckets of cells, by which the search sums windows of many axes; see buckets.cuh."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from meanshiftpp.backends.cuda.launch import MAX_AXES, as_struct

_WORD_BITS = 64
_MIN_AXES = 7  # for fewer, looking up each cell of a window is faster
_MAX_BUCKETS = 729  # that a window may meet


@dataclass(frozen=True)
class Packing:
    """How cells are divided into buckets."""

    struct: NDArray[Any]  # struct Packing
    n_slots: int  # of the hash table of buckets

    N_ARRAYS: ClassVar = 8  # of struct Buckets
    NONE: ClassVar = as_struct([], 5 + 2 * MAX_AXES, np.uint64)  # for other searches

    def sizes(self, m: int, d: int) -> list[int]:
        """Return the words of the arrays of struct Buckets, for m cells of d axes."""
        slots, half = self.n_slots, -(-m // 2)
        row = (d + 2) // 2 * 2
        return [slots, slots // 2, slots // 2, half, half, m, m * row, m * (d + 1)]


def bucket_axes(n_axes: int, reach: int) -> int:
    """Return the number of axes along which the cells of a bucket agree."""
    most = int(math.log(_MAX_BUCKETS + 0.5, 2 * reach + 1))
    return max(1, min(n_axes - 2, most))


def suits_buckets(n_axes: int, reach: int) -> bool:
    """Return whether windows of that many axes are summed by buckets."""
    return _MIN_AXES <= n_axes <= MAX_AXES and bucket_axes(n_axes, reach) >= n_axes // 2


def make_packing(low: list[int], high: list[int], reach: int, m: int) -> Packing | None:
    """Divide the cells of a box with a margin of reach; None if a cell has too many bits."""
    sides = [b - a + 1 + 2 * reach for a, b in zip(low, high, strict=True)]
    axes = bucket_axes(len(sides), reach)
    strides = [math.prod(sides[j + 1 : axes]) for j in range(axes)]
    shifts, ones, guards, bit = [0] * axes, 0, 0, 0
    for side in sides[axes:]:
        shifts.append(bit)
        ones |= 1 << bit
        bit += (side + 2 * reach).bit_length() + 1
        guards |= 1 << (bit - 1)
    if bit > _WORD_BITS:
        return None
    n_slots = 1 << max(4, (2 * m - 1).bit_length())
    numbers = [n_slots - 1, axes, math.prod(sides[axes:]), guards, ones]
    padding = [0] * (MAX_AXES - axes)
    struct = as_struct([*numbers, *strides, *padding, *shifts], 5 + 2 * MAX_AXES, np.uint64)
    return Packing(struct, n_slots)
