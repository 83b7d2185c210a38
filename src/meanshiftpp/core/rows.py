"""Rows of a grid: occupied cells with their counts and sums of offsets, in exact integers.

The arithmetic of grids, without their bandwidth: merging, other units of weight, coarser cells,
fading counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from meanshiftpp._kernel import COUNT_LIMIT
from meanshiftpp._support.devices import on_gpu
from meanshiftpp.backends import backend_of
from meanshiftpp.errors import InvalidInputError

_ROWS_AT_ONCE = 1 << 20


class Rows(NamedTuple):
    """One row per occupied cell."""

    cells: NDArray[np.int64]
    counts: NDArray[np.uint64]
    sums: NDArray[np.uint64]


def empty_rows(n_features: int) -> Rows:
    """Return rows without any cells."""
    return Rows(
        np.empty((0, n_features), np.int64),
        np.empty(0, np.uint64),
        np.empty((0, n_features), np.uint64),
    )


def merge_rows(parts: Iterable[Rows]) -> Rows:
    """Sort the rows of several grids and add up those of the same cell."""
    cells, counts, sums = (_concatenated(column) for column in zip(*parts, strict=True))
    merged = backend_of(cells).merge_cells(cells, counts, sums)
    rows = Rows(merged.cells, merged.counts, merged.sums)
    check_counts(rows.counts, "the sum")
    return rows


def _concatenated(arrays: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Join arrays. NumPy does not answer Ctrl-C while it copies, so it copies in blocks."""
    n = sum(map(len, arrays))
    if n <= _ROWS_AT_ONCE or on_gpu(arrays[0]):
        return np.concatenate(arrays)
    joined = np.empty((n, *arrays[0].shape[1:]), arrays[0].dtype)
    end = 0
    for array in arrays:
        for start in range(0, len(array), _ROWS_AT_ONCE):
            block = array[start : start + _ROWS_AT_ONCE]
            joined[end : end + len(block)] = block
            end += len(block)
    return joined


def check_counts(counts: NDArray[np.uint64], result: str) -> None:
    """Raise if a cell is too heavy for its sums to be exact."""
    if (peak := int(counts.max()) if len(counts) else 0) > COUNT_LIMIT:
        raise InvalidInputError(
            f"{result} would have a cell of weight {peak:,}, but sums are exact only up to "
            f"{COUNT_LIMIT:,}; use a smaller bandwidth"
        )


def rescale(rows: Rows, unit: float, new_unit: float) -> Rows:
    """Express counts and sums in another unit of weight; a finer unit is exact."""
    if unit == new_unit or not len(rows.counts):
        return rows
    if new_unit < unit:
        factor = np.uint64(round(unit / new_unit))
        return Rows(rows.cells, rows.counts * factor, rows.sums * factor)
    counts = np.maximum(np.rint(rows.counts * (unit / new_unit)), 1).astype(np.uint64)
    old, new = rows.counts[:, None], counts[:, None]
    return Rows(rows.cells, counts, _sums_of_counts(rows.sums, old, new, old // np.uint64(2)))


def coarsen_rows(rows: Rows, k: int, n_threads: int) -> Rows:
    """Merge k cells along each axis to one; sums are rounded to the nearest unit of offset."""
    return Rows(*backend_of(rows.cells).coarsen_cells(*rows, k, n_threads))


def coarsen_to_unit(
    rows: Rows, unit: float, k: int, n_threads: int, *, keep_unit: bool
) -> tuple[Rows, float]:
    """Return coarser rows and their unit of weight, the finest that keeps the sums exact."""
    coarse, new_unit = coarsen_rows(rows, k, n_threads), unit
    while not keep_unit and (excess := excess_bits(coarse.counts)):
        new_unit *= 2.0**excess
        coarse = coarsen_rows(rescale(rows, unit, new_unit), k, n_threads)
    return coarse, new_unit


def excess_bits(counts: NDArray[np.uint64]) -> int:
    """Return the number of bits by which the largest count exceeds the limit."""
    peak = int(counts.max()) if len(counts) else 0
    return max(peak.bit_length() - COUNT_LIMIT.bit_length(), 0)


def fade_rows(rows: Rows, keep: float) -> Rows:
    """Keep a part of each count, rounded down, and nearly the same mean position."""
    counts = (rows.counts * keep).astype(np.uint64)
    remaining = counts > 0
    old, new = rows.counts[remaining, None], counts[remaining, None]
    sums = _sums_of_counts(rows.sums[remaining], old, new, np.uint64(0))
    return Rows(rows.cells[remaining], counts[remaining], sums)


def _sums_of_counts(
    sums: NDArray[np.uint64],
    old: NDArray[np.uint64],
    new: NDArray[np.uint64],
    rounding: NDArray[np.uint64] | np.uint64,
) -> NDArray[np.uint64]:
    """Return sums * new / old in whole numbers; `rounding` is added before the last division."""
    whole, rest = sums // old, sums % old  # the product of sums and counts would not fit 64 bits
    return whole * new + (rest * new + rounding) // old
