"""Oracles of the tests: the package's extensions of the paper, in NumPy.

`general_mean_shift_pp` is Algorithm 2 with weights, periodic features and windows of more cells;
with the default options it is :func:`meanshiftpp.reference.mean_shift_pp`. `grid_of_points` is the
grid in fixed point, `coarsen` the same grid at a multiple of the bandwidth, and `predict` the rule
that labels new points.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from meanshiftpp.reference.parts import (
    EDGE,
    Floats,
    Labels,
    Result,
    as_arrays,
    cells_at,
    iterate,
    join,
    number_modes,
    rests,
)

FRACTION_BITS = 32
"""Bits of a point's offset in its cell: the fixed point of the grid."""

Integers = npt.NDArray[np.int64]
Units = npt.NDArray[np.uint64]


def general_mean_shift_pp(
    X: npt.ArrayLike,
    bandwidth: npt.ArrayLike,
    *,
    reach: int = 1,
    cells_per_period: npt.ArrayLike = 0,
    sample_weight: npt.ArrayLike | None = None,
    tol: float = 1e-3,
    max_iter: int = 10_000,
) -> Result:
    """Run Algorithm 2 with weights, periodic features and windows of ``2 * reach + 1`` cells.

    Parameters
    ----------
    X : array-like of shape (n, d)
        The points.
    bandwidth : float or array-like of shape (d,)
        Size of a cell.
    reach : int
        Cells from the centre of the window to its border: 1 in the paper.
    cells_per_period : int or array-like of shape (d,)
        Number of cells in the period of each feature; 0 if a feature is not periodic.
    sample_weight : array-like of shape (n,), optional
        Positive weights; a point of weight w counts w times.
    tol : float
        After 64 steps, a cell that would move by at most `tol` cells stays; see `parts.rests`. The
        search ends when no cell moves.
    max_iter : int
        Largest number of steps.

    Returns
    -------
    Result
        Points that end in the same cell have the same label, and those of a cell that ended beside
        a heavier one have the label of the heaviest cell in its window.

    Examples
    --------
    >>> from meanshiftpp.reference import general_mean_shift_pp
    >>> hours = [[23.5], [0.4], [0.6], [12.0]]
    >>> general_mean_shift_pp(hours, bandwidth=1.0, cells_per_period=24).labels
    array([0, 0, 0, 1], dtype=int32)
    """
    x, h = as_arrays(X, bandwidth)
    w = np.ones(len(x)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    if w.shape != x.shape[:1] or not (w > 0).all():
        raise ValueError(f"expected {len(x)} weights above 0, got {sample_weight!r}")
    K = _per_feature(cells_per_period, x)

    def step(y: Floats, t: int) -> Floats:
        cells = cells_at(y, t)
        turns = _whole_periods(cells, K)  # y itself is not wrapped, only its cell
        occupied, cell_of = _group(cells - turns)
        C = np.zeros(len(occupied))
        S = np.zeros(occupied.shape)
        np.add.at(C, cell_of, w)
        np.add.at(S, cell_of, w[:, None] * (y - turns))
        near = _neighbours(occupied, occupied, reach, K).astype(np.float64)
        mean: Floats = (near @ S + _copy_shifts(occupied, near * C, K)) / (near @ C)[:, None]
        own = S / C[:, None]
        mean = np.where(rests(own, mean, t, tol)[:, None], own, mean)
        return mean[cell_of] + turns

    y, n_iter, converged = iterate(step, x / h, 0.0, max_iter, min_iter=2)
    cells = np.floor(y + EDGE)
    turns = _whole_periods(cells, K)
    y, cells = y - turns, cells - turns
    if converged and len(y):
        y, cells = join(y, cells, lambda a: _neighbours(a, a, reach, K), w)
    return Result(y * h, number_modes(cells, w), n_iter, converged)


def grid_of_points(
    X: npt.ArrayLike, bandwidth: npt.ArrayLike, sample_weight: npt.ArrayLike | None = None
) -> tuple[Integers, Units, Units]:
    """Count the points of each cell and sum their offsets, in whole units of 2**-32 of a cell.

    Sums of integers do not depend on the order: the grids of two halves of the data add up to the
    grid of the whole, to the last bit.

    Parameters
    ----------
    X : array-like of shape (n, d)
        The points.
    bandwidth : float or array-like of shape (d,)
        Size of a cell.
    sample_weight : array-like of shape (n,), optional
        Whole weights; a point of weight w counts w times, a point of weight 0 is left out.

    Returns
    -------
    cells : ndarray of shape (m, d)
        The occupied cells in lexicographic order.
    counts : ndarray of shape (m,)
        Number of points in each cell.
    sums : ndarray of shape (m, d)
        Sum of their offsets from the cell's lower corner, in units of 2**-32 of a cell.

    Examples
    --------
    >>> from meanshiftpp.reference import grid_of_points
    >>> cells, counts, sums = grid_of_points([[-0.5], [0.25], [0.5]], bandwidth=1.0)
    >>> cells.tolist(), counts.tolist(), (sums / 2**32).tolist()
    ([[-1], [0]], [1, 2], [[0.5], [0.75]])
    """
    x, h = as_arrays(X, bandwidth)
    w = np.ones(len(x)) if sample_weight is None else np.asarray(sample_weight)
    if w.shape != x.shape[:1] or (w < 0).any() or (w % 1 != 0).any():
        raise ValueError(f"expected {len(x)} whole weights, 0 or more, got {sample_weight!r}")
    present = w > 0
    q = (x / h)[present]
    units = w[present].astype(np.uint64)
    offsets = np.rint((q - np.floor(q)) * 2.0**FRACTION_BITS).astype(np.uint64)
    cells, cell_of = _group(np.floor(q))
    counts = np.zeros(len(cells), dtype=np.uint64)
    sums = np.zeros(cells.shape, dtype=np.uint64)
    np.add.at(counts, cell_of, units)
    np.add.at(sums, cell_of, units[:, None] * offsets)
    return cells, counts, sums


def coarsen(cells: Integers, counts: Units, sums: Units, k: int) -> tuple[Integers, Units, Units]:
    """Compute the grid of bandwidth ``k * h`` from the grid of bandwidth ``h``.

    Each sum is rounded once, to the nearest unit and halves to even. The arithmetic uses Python's
    integers, since ``k * 2**32 * count`` may need more than 64 bits.

    Parameters
    ----------
    cells, counts, sums : ndarray
        The result of `grid_of_points`.
    k : int
        Number of cells along each axis that become one.

    Returns
    -------
    cells, counts, sums : ndarray
        The coarser grid.

    Examples
    --------
    >>> from meanshiftpp.reference import coarsen, grid_of_points
    >>> cells, counts, sums = coarsen(*grid_of_points([[0.5], [1.5]], bandwidth=1.0), k=2)
    >>> cells.tolist(), counts.tolist(), (sums / 2**32).tolist()
    ([[0]], [2], [[1.0]])
    """
    parents = cells // k
    corner = (cells - k * parents).astype(object) << FRACTION_BITS  # offset in the coarse cell
    totals = corner * counts.astype(object)[:, None] + sums.astype(object)
    coarse, parent_of = _group(parents)
    coarse_counts = np.zeros(len(coarse), dtype=np.uint64)
    coarse_totals = np.zeros(coarse.shape, dtype=object)
    np.add.at(coarse_counts, parent_of, counts)
    np.add.at(coarse_totals, parent_of, totals)
    # The nearest integer to total / k is floor(total / k + 1/2), or one less if that is an odd tie.
    doubled = 2 * coarse_totals + k
    nearest = doubled // (2 * k)
    nearest = nearest - ((doubled % (2 * k) == 0) & (nearest % 2 == 1))
    return coarse, coarse_counts, nearest.astype(np.uint64)


def predict(
    X: npt.ArrayLike,
    bandwidth: npt.ArrayLike,
    cells: Integers,
    weights: npt.ArrayLike,
    cell_labels: Labels,
    centers: Floats,
    *,
    reach: int = 1,
    cells_per_period: npt.ArrayLike = 0,
    cluster_all: bool = True,
) -> Labels:
    """Label new points by the occupied cells.

    A point in an occupied cell gets the label of the cell. A point whose window has occupied cells
    gets the label of the heaviest one, the first in lexicographic order among equals. Any other
    point gets the label of the nearest center, or -1.

    Parameters
    ----------
    X : array-like of shape (n, d)
        The new points.
    bandwidth : float or array-like of shape (d,)
        Size of a cell.
    cells : ndarray of shape (m, d)
        The occupied cells in lexicographic order.
    weights : array-like of shape (m,)
        Weight of each occupied cell.
    cell_labels : ndarray of shape (m,)
        Label of each occupied cell.
    centers : ndarray of shape (k, d)
        Center of each cluster, in data units.
    reach : int
        Cells from the centre of the window to its border.
    cells_per_period : int or array-like of shape (d,)
        Number of cells in the period of each feature; 0 if a feature is not periodic.
    cluster_all : bool
        Whether a point whose window is empty gets the label of the nearest center instead of -1.

    Returns
    -------
    ndarray of shape (n,)
        The labels.

    Examples
    --------
    >>> import numpy as np
    >>> from meanshiftpp.reference import predict
    >>> cells, labels = np.array([[0], [5]]), np.array([0, 1], dtype=np.int32)
    >>> centers = np.array([[0.5], [5.5]])
    >>> predict([[0.9], [4.2], [99.0]], 1.0, cells, [3, 2], labels, centers)
    array([0, 1, 1], dtype=int32)
    >>> predict([[0.9], [4.2], [99.0]], 1.0, cells, [3, 2], labels, centers, cluster_all=False)
    array([ 0,  1, -1], dtype=int32)
    """
    x, h = as_arrays(X, bandwidth)
    weight = np.asarray(weights)
    K = _per_feature(cells_per_period, x)
    labels = np.full(len(x), -1, dtype=np.int32)
    for i, q in enumerate(x / h):
        floor = np.floor(q)
        cell = (floor - _whole_periods(floor, K)).astype(np.int64)
        own = np.flatnonzero((cells == cell).all(axis=1))
        window = np.flatnonzero(_neighbours(cell[None], cells, reach, K)[0])
        if len(own):
            labels[i] = cell_labels[own[0]]
        elif len(window):
            labels[i] = cell_labels[window[weight[window].argmax()]]
        elif cluster_all and len(centers):
            difference = centers / h - q
            difference -= K * np.rint(difference / np.maximum(K, 1))
            labels[i] = np.linalg.norm(difference, axis=1).argmin()
    return labels


def _group(cells: npt.NDArray[np.float64] | Integers) -> tuple[Integers, npt.NDArray[np.intp]]:
    """Return the distinct rows in lexicographic order, and the index of each row among them."""
    occupied, cell_of = np.unique(cells.astype(np.int64), axis=0, return_inverse=True)
    return occupied, cell_of.reshape(-1)


def _neighbours(a: Integers, b: Integers, reach: int, K: Integers) -> npt.NDArray[np.bool_]:
    """Return for all i and j whether b[j] is in the window of a[i], modulo K."""
    near = np.ones((len(a), len(b)), dtype=np.bool_)
    for axis, period in enumerate(K):
        distance = np.abs(a[:, None, axis] - b[None, :, axis])
        near &= (np.minimum(distance, period - distance) if period else distance) <= reach
    return near


def _per_feature(cells_per_period: npt.ArrayLike, x: Floats) -> Integers:
    return np.broadcast_to(np.asarray(cells_per_period, dtype=np.int64), x.shape[1:])


def _whole_periods(cells: Floats, K: Integers) -> Floats:
    """Return the whole periods below each cell, in cells; 0 for features without a period."""
    turns: Floats = np.where(K > 0, np.floor(cells / np.maximum(K, 1)) * K, 0.0)
    return turns


def _copy_shifts(cells: Integers, weights: Floats, K: Integers) -> Floats:
    """Return the correction of each cell's window sum for cells across the end of a period.

    Such a cell counts with its nearest copy, one period from its own position. The shifts are
    summed over the second axis of `weights`, the weight of cell b in the window of cell a.
    """
    correction = np.zeros(cells.shape)
    for axis in np.flatnonzero(K):
        ahead = cells[None, :, axis] - cells[:, None, axis]  # from a to b
        shift = K[axis] * ((2 * ahead < -K[axis]) * 1.0 - (2 * ahead > K[axis]))
        correction[:, axis] = (weights * shift).sum(axis=1)
    return correction
