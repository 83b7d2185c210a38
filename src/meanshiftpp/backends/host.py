"""The backend for NumPy arrays: the kernel's loops, and SciPy's tree of modes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from meanshiftpp._kernel import bin_points, find_cells, merge_cells, seek_modes, window_counts

_AT_ONCE = 1 << 22  # distances held at a time

__all__ = [
    "bin_points",
    "find_cells",
    "merge_cells",
    "nearest_modes",
    "seek_modes",
    "window_counts",
]


def nearest_modes(
    places: NDArray[np.float64], modes: NDArray[np.float64], period: NDArray[np.int64]
) -> NDArray[np.int32]:
    """Find the mode nearest to each place; both in cells, and within the period."""
    from scipy.spatial import KDTree  # slow to import, and seldom needed

    box = period.astype(np.float64) if period.any() else None  # 0: as if without end
    distance, found = KDTree(modes, boxsize=box).query(places, k=min(2, len(modes)))
    if len(modes) == 1:
        return np.asarray(found, dtype=np.int32)
    nearest = np.asarray(found[:, 0], dtype=np.int32)
    # A tree does not say which of equals it takes, and they may be equal but for rounding.
    close = np.flatnonzero(distance[:, 1] <= distance[:, 0] * (1 + 1e-9))
    for some in np.array_split(close, -(-len(close) * len(modes) // _AT_ONCE) or 1):
        nearest[some] = _first_nearest(places[some], modes, period)
    return nearest


def _first_nearest(
    places: NDArray[np.float64], modes: NDArray[np.float64], period: NDArray[np.int64]
) -> NDArray[np.intp]:
    """Compare each place with each mode; the first of equals is taken."""
    squares = np.zeros((len(places), len(modes)))
    for j, length in enumerate(period):
        delta = np.abs(places[:, j, None] - modes[:, j])
        if length:
            delta = np.minimum(delta, length - delta)
        squares += delta * delta
    first: NDArray[np.intp] = squares.argmin(axis=1)
    return first
