"""New points: what of a grid is around their cells, and which mode is nearest."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from meanshiftpp import _kernel
from meanshiftpp._support.devices import to_host
from meanshiftpp.backends.cuda.cells import MOST_AROUND, extent, lay_out
from meanshiftpp.backends.cuda.launch import FULL, Array, Kernels, cp

_KERNELS = Kernels("near.cu")


def find_cells(
    cells: Array,
    counts: Array,
    query: Array,
    period: NDArray[np.int64],
    reach: int,
    n_threads: int = 1,
) -> Array:
    """Find each query cell, else the heaviest within reach, else -1; see `_kernel.find_cells`."""
    return _near("near_cells", cp.int64, -1, (cells, counts, query), period, reach, n_threads)


def window_counts(
    cells: Array,
    counts: Array,
    query: Array,
    period: NDArray[np.int64],
    reach: int,
    n_threads: int = 1,
) -> Array:
    """Sum the counts within reach of each query cell; see `_kernel.window_counts`."""
    return _near("window_counts", cp.uint64, 0, (cells, counts, query), period, reach, n_threads)


def _near(
    kernel: str,
    dtype: Any,
    nothing: int,
    arrays: tuple[Array, Array, Array],
    period: NDArray[np.int64],
    reach: int,
    n_threads: int,
) -> Array:
    """Ask for what is around query cells, by a hash table of the grid's cells."""
    cells, counts, query = arrays
    with query.device:
        found = cp.full(len(query), nothing, dtype)
        if not len(query) or not len(cells):
            return found
        (low, high, _), (query_low, query_high, _) = extent(cells), extent(query)
        low = [min(ends) - reach for ends in zip(low, query_low, strict=True)]
        high = [max(ends) for ends in zip(high, query_high, strict=True)]
        layout, _ = lay_out(low, high, reach)
        wide = (2 * reach + 1) ** cells.shape[1] > MOST_AROUND
        if layout is None or wide or period.any():
            loop = _kernel.find_cells if kernel == "near_cells" else _kernel.window_counts
            on_cpu: Any = (*map(to_host, arrays), period, reach, n_threads)
            return cp.asarray(loop(*on_cpu))
        rows = 1 << max(10, (4 * len(cells) - 1).bit_length())
        keys, index = cp.zeros(rows, cp.uint64), cp.zeros(rows + 1, cp.uint32)
        d, mask = cells.shape[1], np.uint64(rows - 1)
        args = (cells, np.int64(len(cells)), layout, keys, mask, index)
        _KERNELS.launch(f"index_cells<{d}>", len(cells), *args)
        asked = (query, np.int64(len(query)), layout, keys, mask, index, counts)
        _KERNELS.launch(f"{kernel}<{d}>", len(query), *asked, np.int32(reach), found)
        if int(index[rows]):
            raise RuntimeError(FULL)
        return found


def nearest_modes(places: Array, modes: Array, period: NDArray[np.int64]) -> Array:
    """Find the mode nearest to each place; both in cells, and within the period."""
    with places.device:
        labels = cp.empty(len(places), cp.int32)
        n, d = places.shape
        sizes = (np.int64(n), np.int32(d), cp.asarray(period, dtype=cp.float64))
        modes = cp.ascontiguousarray(modes)
        args = (cp.ascontiguousarray(places), *sizes, modes, np.int64(len(modes)), labels)
        _KERNELS.launch("nearest_mode", n, *args)
        return labels
