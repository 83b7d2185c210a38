"""The box of the data, and the keys of the cells in it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from meanshiftpp._kernel import MAX_CELL, MAX_EXACT, MAX_KEY_AXES
from meanshiftpp.backends.cuda.launch import (
    Array,
    Kernels,
    as_struct,
    cp,
    many_blocks,
    points_args,
    type_of,
)

SAMPLE = 1 << 14  # points in the sample that gives the box
_KERNELS = Kernels("box.cu")


@dataclass(frozen=True)
class Box:
    """A box of cells, numbered in mixed radix, the last axis fastest."""

    numbers: NDArray[Any]  # struct Numbers: cell sizes, lows, extents, strides
    n_cells: int
    complete: bool  # it holds every finite point, not only the sample


def sampled_box(points: Array, cell_size: NDArray[np.float64]) -> Box | None:
    """Return the box of evenly spaced points, with a margin; None if its cells have no keys."""
    n, d = points.shape
    if points.dtype == np.uint8:  # the box of all bytes, without reading the points
        high = [float(np.floor(255 / size)) for size in cell_size.tolist()]
        return _make_box(cell_size, [0.0] * d, high, True)
    step = max(1, n // SAMPLE)
    ends = cp.empty((2, d), cp.float64)
    numbers = _numbers(cell_size)
    name = f"sample_box<{type_of(points)}, {d}>"
    args = (*points_args(points), numbers, np.int64(step), ends)
    _KERNELS.launch(name, 1, *args, threads=1024)
    low, high = ends.get().tolist()
    if step > 1:
        for j in range(d):
            margin = max(1.0, (high[j] - low[j]) // 8)
            low[j], high[j] = low[j] - margin, high[j] + margin
    return _make_box(cell_size, low, high, step == 1)


def complete_box(points: Array, cell_size: NDArray[np.float64]) -> Box | None:
    """Return the box of all points; None if its cells have no keys."""
    ends = cp.stack([points.min(axis=0), points.max(axis=0)]).get().astype(np.float64) / cell_size
    if not np.isfinite(ends).all():
        return None
    low, high = np.floor(ends).tolist()
    return _make_box(cell_size, low, high, True)


def _make_box(
    cell_size: NDArray[np.float64], low: list[float], high: list[float], complete: bool
) -> Box | None:
    if max(map(abs, low + high)) >= MAX_CELL:
        return None
    extents = [b - a + 1 for a, b in zip(low, high, strict=True)]
    n_cells, strides = 1, []
    for extent in reversed(extents):
        strides.append(float(n_cells))
        n_cells *= int(extent)
    if n_cells >= MAX_EXACT:  # the kernels add up keys as doubles
        return None
    numbers = [*cell_size.tolist(), *low, *extents, *reversed(strides)]
    return Box(_numbers(numbers), n_cells, complete)


def _numbers(values: Any) -> NDArray[Any]:
    return as_struct(values, 4 * MAX_KEY_AXES, np.float64)


def keys_of(points: Array, box: Box) -> Array:
    """Return the key of each point's cell; points outside the box share a key beyond all others."""
    keys = cp.empty(len(points), cp.uint64)
    name = f"keys_of<{type_of(points)}, {points.shape[1]}>"
    args = (*points_args(points), box.numbers, keys)
    _KERNELS.launch(name, 0, *args, blocks=many_blocks())
    return keys
