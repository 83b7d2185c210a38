"""Periodic features: coarser cells, copies of a center, and points without a jump at the period."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from meanshiftpp._support.checks import Periodic, as_periods
from meanshiftpp._support.devices import module_of
from meanshiftpp.errors import InvalidInputError


def divide_cells(cells_per_period: NDArray[np.int64], k: int) -> NDArray[np.int64]:
    """Return the cells in each period if k cells become one; k must divide them."""
    if (cells_per_period % k).any():
        periods = cells_per_period[cells_per_period > 0].tolist()
        raise InvalidInputError(
            f"coarsen expects a factor that divides the cells in each period, {periods}, got {k}"
        )
    return cells_per_period // k


def unwrapped(
    points: NDArray[Any], weights: NDArray[Any] | None, periodic: Periodic
) -> NDArray[Any]:
    """Move points by whole periods to within half a period of their circular mean.

    Their spread then does not depend on where a feature with a period begins.

    Examples
    --------
    >>> import numpy as np
    >>> from meanshiftpp.core.periods import unwrapped
    >>> unwrapped(np.array([[23.0], [1.0]]), None, 24).ravel().tolist()
    [-1.0, 1.0]
    """
    periods = as_periods(periodic, points.shape[1])
    if not any(periods):
        return points
    near = points.astype(np.float64)
    for j, period in enumerate(periods):
        if period and len(near):
            with np.errstate(invalid="ignore"):  # binning reports the location of an infinite value
                turns = near[:, j] / period
                mean = module_of(near).average(np.exp(2j * np.pi * turns), weights=weights)
                near[:, j] -= period * np.rint(turns - np.angle(mean) / (2 * np.pi))
    return near


def nearest_copies(
    centers: ArrayLike, X: ArrayLike, periodic: Sequence[float | None] | None
) -> NDArray[np.float64]:
    """Move centers by whole periods to the copies nearest to the middle of the data.

    The search returns centers from 0 to one period; the data may lie elsewhere, for example
    longitudes from -180 to 180.

    Parameters
    ----------
    centers : array-like of shape (k, d)
        Centers of the clusters, in any period.
    X : array-like of shape (n, d)
        The points; the middle of each feature is halfway between its minimum and maximum.
    periodic : sequence of d periods, each a number or None
        As in `Grid.from_points`.

    Returns
    -------
    ndarray of shape (k, d)
        A copy of each center, at most half a period from the middle of the points.

    Examples
    --------
    >>> from meanshiftpp.core.periods import nearest_copies
    >>> nearest_copies([[350.0, 5.0], [20.0, 5.0]], [[-170.0, 0.0], [175.0, 9.0]], [360, None])
    array([[-10.,   5.],
           [ 20.,   5.]])
    """
    points, copies = np.asarray(X), np.array(centers, float)
    for j, period in enumerate(as_periods(periodic, points.shape[1])):
        if period and len(points):
            start = (float(points[:, j].min()) + float(points[:, j].max()) - period) / 2
            copies[:, j] -= period * np.floor((copies[:, j] - start) / period)
    return copies
