"""Queries for new points: the cells of a grid around their cells, and the nearest mode."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from meanshiftpp._support.devices import current_device
from meanshiftpp.backends import host
from meanshiftpp.backends.cuda.cells import extent, make_layout
from meanshiftpp.backends.cuda.fallback import run_on_host, supports_windows
from meanshiftpp.backends.cuda.launch import OVERFLOW, Array, Kernels, cp
from meanshiftpp.backends.protocol import Cells, Counts, Floats, Integers, Labels, Periods

_Found = TypeVar("_Found")
_KERNELS = Kernels("query.cu")


def find_cells(
    cells: Cells,
    counts: Counts,
    query: Cells,
    cells_per_period: Integers,
    reach: int,
    n_threads: int,
) -> Integers:
    """Return the index of each query cell, else of the heaviest within reach, else -1."""
    with current_device(query):
        found = cp.full(len(query), -1, cp.int64)
        args = (cells, counts, query, cells_per_period, reach, n_threads)
        return _query("find_cells", host.find_cells, found, *args)


def window_counts(
    cells: Cells,
    counts: Counts,
    query: Cells,
    cells_per_period: Integers,
    reach: int,
    n_threads: int,
) -> Counts:
    """Return the sum of the counts within reach of each query cell."""
    with current_device(query):
        found = cp.zeros(len(query), cp.uint64)
        args = (cells, counts, query, cells_per_period, reach, n_threads)
        return _query("window_counts", host.window_counts, found, *args)


def _query(
    kernel: str,
    on_host: Callable[[Cells, Counts, Cells, Integers, int, int], _Found],
    found: Array,
    cells: Array,
    counts: Array,
    query: Array,
    cells_per_period: Integers,
    reach: int,
    n_threads: int,
) -> _Found:
    """Return OUT `found`, by a kernel that looks up cells in a hash table; else by the host."""
    if not len(cells) or not len(query):
        return cast(_Found, found)
    layout = _layout(cells, query, cells_per_period, reach)
    if layout is None:
        return run_on_host(on_host, cells, counts, query, cells_per_period, reach, n_threads)
    d, n_rows = cells.shape[1], 1 << max(10, (4 * len(cells) - 1).bit_length())
    keys, index = cp.zeros(n_rows, cp.uint64), cp.zeros(n_rows + 1, cp.uint32)
    table = (layout, keys, np.uint64(n_rows - 1), index)
    _KERNELS.launch(f"index_cells<{d}>", len(cells), cells, np.int64(len(cells)), *table)
    args = (query, np.int64(len(query)), *table, counts, np.int32(reach), found)
    _KERNELS.launch(f"{kernel}<{d}>", len(query), *args)
    if int(index[n_rows]):
        raise RuntimeError(OVERFLOW)
    return cast(_Found, found)


def _layout(
    cells: Array, query: Array, cells_per_period: Integers, reach: int
) -> NDArray[np.int64] | None:
    """Return the layout of the box around all windows; None for a case of the host.

    These are windows that the kernels do not support, and boxes with too many cells for keys.
    """
    if not supports_windows(cells.shape[1], cells_per_period, reach):
        return None
    (low, high, _), (query_low, query_high, _) = extent(cells), extent(query)
    low = [min(ends) - reach for ends in zip(low, query_low, strict=True)]
    high = [max(ends) for ends in zip(high, query_high, strict=True)]
    return make_layout(low, high, reach)[0]


def nearest_modes(positions: Floats, modes: Floats, cells_per_period: Periods) -> Labels:
    """Return the nearest mode of each position, the first of equals; both in cells."""
    with current_device(positions):
        n, d = positions.shape
        labels: Labels = cp.empty(n, cp.int32)
        periods = cp.asarray(cells_per_period, dtype=cp.float64)
        modes = cp.ascontiguousarray(modes)
        sizes = (np.int64(n), np.int32(d))
        args = (cp.ascontiguousarray(positions), *sizes, periods, modes, np.int64(len(modes)))
        _KERNELS.launch("nearest_modes", n, *args, labels)
        return labels
