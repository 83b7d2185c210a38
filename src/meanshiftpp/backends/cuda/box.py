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
        high = [float(np.floor(255 / side)) for side in h.tolist()]
        return _numbered(h, [0.0] * d, high, True)
    step = max(1, n // SAMPLE)
    ends = cp.empty((2, d), cp.float64)
    sides = by_value(h, 24, np.float64)
    name = f"sample_box<{type_of(points)}, {d}>"
    args = (*points_args(points), sides, np.int64(step), ends)
    _KERNELS.launch(name, 1, *args, threads=1024)
    low, high = ends.get().tolist()
    if step > 1:
        for j in range(d):
            margin = max(1.0, (high[j] - low[j]) // 8)
            low[j], high[j] = low[j] - margin, high[j] + margin
    return _numbered(h, low, high, step == 1)


def whole_box(points: Array, h: NDArray[np.float64]) -> Box | None:
    """Return the box of all points; None where it has no numbers."""
    ends = cp.stack([points.min(axis=0), points.max(axis=0)]).get().astype(np.float64) / h
    if not np.isfinite(ends).all():
        return None
    low, high = np.floor(ends).tolist()
    return _numbered(h, low, high, True)


def _numbered(
    h: NDArray[np.float64], low: list[float], high: list[float], whole: bool
) -> Box | None:
    if max(map(abs, low + high)) >= 2**51:
        return None
    extents = [b - a + 1 for a, b in zip(low, high, strict=True)]
    slots, strides = 1, []
    for extent in reversed(extents):
        strides.append(float(slots))
        slots *= int(extent)
    if slots >= 2**53:
        return None
    numbers = [*h.tolist(), *low, *extents, *reversed(strides)]
    return Box(by_value(numbers, 24, np.float64), slots, whole)


def keys_of(points: Array, box: Box) -> Array:
    """Give the number of each point's cell; those outside the box have no number."""
    keys = cp.empty(len(points), cp.uint64)
    name = f"keys_of<{type_of(points)}, {points.shape[1]}>"
    args = (*points_args(points), box.numbers, keys)
    _KERNELS.launch(name, 0, *args, blocks=many_blocks())
    return keys
