"""The backend for NumPy arrays: the kernel's loops, and SciPy's tree of modes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from meanshiftpp._kernel import bin_points, find_cells, merge_cells, seek_modes, window_counts

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
    _, nearest = KDTree(modes, boxsize=box).query(places)
    return np.asarray(nearest, dtype=np.int32)
