"""The centre of a joined cluster: where its rows are densest, seen through wide windows.

The heaviest mode is a poor centre: on a smooth hill, noise decides which mode is heaviest. A mean
shift whose window holds half of the rows finds the top. In a ring or a crescent, that would leave
the curve; there the heaviest mode is denser, and stays.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_HALF, _EIGHTH = 2, 8
_STEPS, _TOL = 30, 1e-2
_NOISE = 1.1  # of squared radii


def dense_center(
    rows: NDArray[np.float64], counts: NDArray[np.int64], mode: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the centre of rows around a mode; all in bandwidths."""
    center = mode
    for _ in range(_STEPS):
        near = _nearest(rows, center, _HALF)[1]
        before, center = center, counts[near] @ rows[near] / counts[near].sum()
        if np.abs(center - before).max() < _TOL:
            break
    squared, squared_at_mode = (_nearest(rows, at, _EIGHTH)[0] for at in (center, mode))
    return center if squared <= _NOISE * squared_at_mode else mode


def _nearest(
    rows: NDArray[np.float64], center: NDArray[np.float64], part: int
) -> tuple[float, NDArray[np.bool_]]:
    """Return the squared radius around one `part` of the rows, and which rows these are."""
    offsets = rows - center
    squared = np.einsum("ij,ij->i", offsets, offsets)
    k = (len(rows) - 1) // part
    radius = float(np.partition(squared, k)[k])
    return radius, squared <= radius
