"""The box of the data, and the keys of the cells in it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from meanshiftpp._kernel import MAX_CELL
from meanshiftpp.backends.cuda.launch import (
    MAX_AXES,
    MAX_KEYS,
    Array,
    Kernels,
    as_struct,
    cp,
    many_blocks,
    points_args,
    type_of,
)

SAMPLE = 1 << 14  # points in the sample that gives the box
_LEAST_SIZE = 2.0**-500  # of a cell whose inverse and remainders do not underflow
_SMALL_BOX = 1 << 14  # cells of a box that is made twice as long as that of the sample
_KERNELS = Kernels("box.cu")


@dataclass(frozen=True)
class Box:
    """A box of cells, numbered in mixed radix, the last axis fastest."""

    numbers: NDArray[Any]  # struct Numbers: cell sizes, lows, extents
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
    if step == 1:
        return _make_box(cell_size, low, high, True)
    extents = [b - a for a, b in zip(low, high, strict=True)]
    part = 2 if math.prod(2 * extent + 3 for extent in extents) <= _SMALL_BOX else 8
    for j, extent in enumerate(extents):
        margin = max(1.0, extent // part)
        low[j], high[j] = low[j] - margin, high[j] + margin
    return _make_box(cell_size, low, high, False)


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
    n_cells = math.prod(map(int, extents))
    if n_cells >= MAX_KEYS or not all(_LEAST_SIZE < h < 1 / _LEAST_SIZE for h in cell_size):
        return None
    return Box(_numbers([*cell_size.tolist(), *low, *extents]), n_cells, complete)


def _numbers(values: Any) -> NDArray[Any]:
    return as_struct(values, 3 * MAX_AXES, np.float64)


def keys_of(points: Array, box: Box) -> Array:
    """Return the key of each point's cell; points outside the box share a key beyond all others."""
    keys = cp.empty(len(points), cp.uint64)
    name = f"keys_of<{type_of(points)}, {points.shape[1]}>"
    args = (*points_args(points), box.numbers, keys)
    _KERNELS.launch(name, 0, *args, blocks=many_blocks())
    return keys
