"""The box of the data, and the numbers of the cells in it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from meanshiftpp.backends.cuda.launch import (
    Array,
    Kernels,
    by_value,
    cp,
    many_blocks,
    points_args,
    type_of,
)

SAMPLE = 1 << 14
_KERNELS = Kernels("box.cu")


@dataclass(frozen=True)
class Box:
    """Cells numbered in mixed radix, the last axis fastest."""

    numbers: NDArray[Any]  # struct Numbers: bandwidths, lows, extents, strides
    slots: int
    whole: bool  # holds every point, not only a sample


def sampled_box(points: Array, h: NDArray[np.float64]) -> Box | None:
    """Return the box of some points taken evenly, with a margin; None where it has no numbers."""
    n, d = points.shape
    if points.dtype == np.uint8:  # the box of all values: nothing to look at
        return _numbered(h, np.zeros(d), np.floor(255 / h), True)
    step = max(1, n // SAMPLE)
    ends = cp.empty((2, d), cp.float64)
    sides = by_value(h, 24, np.float64)
    name = f"sample_box<{type_of(points)}, {d}>"
    args = (*points_args(points), sides, np.int64(step), ends)
    _KERNELS.launch(name, 1, *args, threads=1024)
    low, high = ends.get()
    margin = 0.0 if step == 1 else np.maximum(1.0, np.floor((high - low) / 8))
    return _numbered(h, low - margin, high + margin, step == 1)


def whole_box(points: Array, h: NDArray[np.float64]) -> Box | None:
    """Return the box of all points; None where it has no numbers."""
    ends = cp.stack([points.min(axis=0), points.max(axis=0)]).get().astype(np.float64) / h
    if not np.isfinite(ends).all():
        return None
    return _numbered(h, np.floor(ends[0]), np.floor(ends[1]), True)


def _numbered(
    h: NDArray[np.float64], low: NDArray[np.float64], high: NDArray[np.float64], whole: bool
) -> Box | None:
    lows, extents = low.tolist(), (high - low + 1).tolist()
    slots, strides = 1, []
    for extent in reversed(extents):
        strides.append(float(slots))
        slots *= int(extent)
    if slots >= 2**53 or max(map(abs, lows + high.tolist())) >= 2**51:
        return None
    numbers = [*h.tolist(), *lows, *extents, *reversed(strides)]
    return Box(by_value(numbers, 24, np.float64), slots, whole)


def keys_of(points: Array, box: Box) -> Array:
    """Give the number of each point's cell; those outside the box have no number."""
    keys = cp.empty(len(points), cp.uint64)
    name = f"keys_of<{type_of(points)}, {points.shape[1]}>"
    args = (*points_args(points), box.numbers, keys)
    _KERNELS.launch(name, 0, *args, blocks=many_blocks())
    return keys
