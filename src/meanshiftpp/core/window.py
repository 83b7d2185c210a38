"""The arithmetic of windows: the box of cells around a cell, which is three bandwidths wide."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

PAPER_WINDOW = 3  # cells along each axis of the window in the paper


def window_width(reach: int) -> int:
    """Return the number of cells along each axis of a window."""
    return 2 * reach + 1


def cells_per_bandwidth(reach: int) -> float:
    """Return the number of cells in a bandwidth."""
    return window_width(reach) / PAPER_WINDOW


def fine_cell_size(bandwidth: NDArray[np.float64], reach: int) -> NDArray[np.float64]:
    """Return the size of a cell, of which a window of that reach has three bandwidths."""
    return bandwidth if reach == 1 else PAPER_WINDOW * bandwidth / window_width(reach)
