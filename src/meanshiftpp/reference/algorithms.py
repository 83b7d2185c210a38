"""Algorithms 1, 2 and 3 of the paper, written out literally: read this first.

The package computes Algorithm 2 on a grid of integers, in C++, with threads. This module is the
same mathematics on the points themselves, in NumPy and float64, as slow and as plain as the paper
prints it, and the tests hold the fast code against it. It uses nothing of the package and checks
little of its input; people with data to cluster want :class:`meanshiftpp.MeanShiftPP`.

Inside, positions are in *cell units*, ``y = x / h``: a cell then has side 1, the bandwidth may
differ per feature, and ``tol`` means the same for every data set.

After the algorithms come three oracles: the fixed-point grid of a set of points, the same grid at a
coarser bandwidth, and the rule that labels new points.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import ceil, sqrt
from typing import Literal

import numpy as np
import numpy.typing as npt

FRACTION_BITS = 32
"""Bits of a point's place inside its cell: the fixed point of the grid."""

EDGE = 2.0**-20
"""The tie rule: a mean less than this part of a cell below an edge counts as in the next cell.

Data on a lattice has means that lie exactly on an edge, and there the last bit of a sum would
decide. It decides the cell only; the mean itself stays where it is."""

STILL = 2.0**-40
"""A step shorter than this part of a cell is the rounding of float64: nothing moved."""

SAME_MODE = 0.01
"""In Algorithm 1, points that ended closer than this part of the bandwidth are one cluster."""

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Units = npt.NDArray[np.uint64]
Labels = npt.NDArray[np.int32]


@dataclass(frozen=True)
class Result:
    """Where the points ended, and how.

    Attributes
    ----------
    points : ndarray of shape (n, d)
        Final position of every point, in data units.
    labels : ndarray of shape (n,)
        Cluster of every point: 0 is the heaviest; equals are in lexicographic order of their cells.
    n_iter : int
        Number of steps taken.
    converged : bool
        False if `max_iter` ended the search.

    Examples
    --------
    >>> from meanshiftpp.reference import mean_shift_pp
    >>> result = mean_shift_pp([[0.1], [0.3], [5.0]], 1.0)
    >>> result.labels, result.converged
    (array([0, 0, 1], dtype=int32), True)
    """

    points: Floats
    labels: Labels
    n_iter: int
    converged: bool


def mean_shift(
    X: npt.ArrayLike,
    bandwidth: npt.ArrayLike,
    *,
    kernel: Literal["flat", "gaussian"] = "flat",
    tol: float = 1e-3,
    max_iter: int = 300,
) -> Result:
    """Algorithm 1, MeanShift: every point moves to the kernel-weighted mean of all points.

    Parameters
    ----------
    X : array-like of shape (n, d)
        The points.
    bandwidth : float or array-like of shape (d,)
        Radius of the kernel, for all features or one each.
    kernel : {"flat", "gaussian"}
        ``K(u) = 1[u <= 1]`` or ``K(u) = exp(-u**2 / 2)``.
    tol : float
        Stop after a step in which all points together move less than this, in bandwidths.
    max_iter : int
        Stop after this many steps in any case.

    Returns
    -------
    Result
        Each point is labelled with the first point that ended within `SAME_MODE` of it.

    Examples
    --------
    >>> from meanshiftpp.reference import mean_shift
    >>> result = mean_shift([[0.0], [0.4], [0.8], [5.0]], bandwidth=1.0)
    >>> result.labels
    array([0, 0, 0, 1], dtype=int32)
    """
    x, h = _arrays(X, bandwidth)
    ones = np.ones(len(x))

    def step(y: Floats, t: int) -> Floats:
        u = np.linalg.norm(y[:, None] - y, axis=2)
        K = (u <= 1).astype(np.float64) if kernel == "flat" else np.exp(-(u**2) / 2)
        moved: Floats = (K @ y) / K.sum(axis=1, keepdims=True)
        return moved

    y, n_iter, converged = _repeat(step, x / h, ones, tol, max_iter)
    close = np.linalg.norm(y[:, None] - y, axis=2) < SAME_MODE
    mode = y[close.argmax(axis=1)]
    labels = _number(np.hstack([np.floor(mode + EDGE), mode]), ones)
    return Result(y * h, labels, n_iter, converged)


def mean_shift_pp(
    X: npt.ArrayLike,
    bandwidth: npt.ArrayLike,
    *,
    reach: int = 1,
    period: npt.ArrayLike = 0,
    sample_weight: npt.ArrayLike | None = None,
    tol: float = 1e-3,
    max_iter: int = 300,
) -> Result:
    """Algorithm 2, MeanShift++: every point moves to the mean of its cell and the cells around it.

    Parameters
    ----------
    X : array-like of shape (n, d)
        The points.
    bandwidth : float or array-like of shape (d,)
        Side of a cell, for all features or one each.
    reach : int
        Cells around a point's cell that count, to every side: 1 in the paper.
    period : int or array-like of shape (d,)
        Cells after which a feature comes back to where it was; 0 if it does not.
    sample_weight : array-like of shape (n,), optional
        A point of weight w counts w times; above 0.
    tol : float
        Stop after a step in which all points together move less than this, in cells.
    max_iter : int
        Stop after this many steps in any case.

    Returns
    -------
    Result
        Points that ended in the same cell have the same label.

    Examples
    --------
    >>> from meanshiftpp.reference import mean_shift_pp
    >>> result = mean_shift_pp([[0.1], [0.3], [1.5], [7.0]], bandwidth=1.0)
    >>> result.labels
    array([0, 0, 0, 1], dtype=int32)
    >>> result.points.round(3).tolist()
    [[0.633], [0.633], [0.633], [7.0]]
    """
    x, h = _arrays(X, bandwidth)
    w = np.ones(len(x)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    if w.shape != x.shape[:1] or not (w > 0).all():
        raise ValueError(f"expected {len(x)} weights above 0, got {sample_weight!r}")

    K = np.broadcast_to(np.asarray(period, dtype=np.int64), x.shape[1:])

    def step(y: Floats, t: int) -> Floats:
        cells = np.floor(y) if t == 1 else np.floor(y + EDGE)
        turns = _turns(cells, K)  # y stays on the line; its cell is y's without whole periods
        occupied, cell_of = _group(cells - turns)
        C = np.zeros(len(occupied))  # the weight in each occupied cell
        S = np.zeros(occupied.shape)  # and the sum of the positions there
        np.add.at(C, cell_of, w)
        np.add.at(S, cell_of, w[:, None] * (y - turns))
        near = _neighbours(occupied, occupied, reach, K).astype(np.float64)
        mean: Floats = (near @ S + _images(occupied, near * C, K)) / (near @ C)[:, None]
        return mean[cell_of] + turns

    # Raw points and means are binned by different rules, so only the second step can tell that
    # nothing moves any more: the first one never ends the search.
    y, n_iter, converged = _repeat(step, x / h, w, tol, max_iter, min_iter=2)
    cells = np.floor(y + EDGE)
    turns = _turns(cells, K)
    return Result((y - turns) * h, _number(cells - turns, w), n_iter, converged)


def track(
    frames: Iterable[npt.NDArray[np.uint8]],
    window: tuple[int, int, int, int],
    bandwidth: npt.ArrayLike,
    clusters: Iterable[int],
    *,
    adapt: bool = True,
    tol: float = 1e-3,
    max_iter: int = 100,
) -> list[tuple[bool, tuple[int, int, int, int]]]:
    """Algorithm 3, MeanShift++ for tracking: the window follows the pixels of a set of cells.

    The paper leaves open what happens when no pixel of the window is in a cell of the set; here the
    window rests and the set is kept, and the frame is marked as lost. A pixel is at its middle, and
    those in ``[centre - size / 2, centre + size / 2)`` are the window's.

    Parameters
    ----------
    frames : iterable of ndarray of shape (height, width, 3)
        The video, X_0, X_1, ...
    window : (x, y, w, h)
        W_0, inside the first frame.
    bandwidth : float or array-like of shape (3,)
        Side of a colour cell, h.
    clusters : iterable of int
        Labels of the selected clusters of W_0: their union is C.
    adapt : bool
        Whether B is updated after each frame, the optional line.
    tol : float
        The window has converged when its centre moves less than this, in pixels.
    max_iter : int
        Moves in a frame at most.

    Returns
    -------
    list of (found, (x, y, w, h))
        For every frame but the first: whether it was found, and the part of W_i in the frame.

    Examples
    --------
    >>> import numpy as np
    >>> from meanshiftpp.reference import track
    >>> frames = np.zeros((2, 12, 16, 3), np.uint8)
    >>> frames[0, 4:8, 3:7] = frames[1, 5:9, 4:8] = 200
    >>> track(frames, (2, 3, 6, 6), 16, clusters=[1])
    [(True, (3, 4, 6, 6))]
    """
    x, y, w, h = window
    cx, cy = x + w / 2, y + h / 2
    B: set[tuple[int, ...]] = set()
    emitted = []
    for i, X in enumerate(frames):
        cells = np.floor(X / np.asarray(bandwidth, dtype=np.float64)).astype(np.int64)
        if i == 0:
            pixels = X[y : y + h, x : x + w].reshape(-1, 3)
            C = np.isin(mean_shift_pp(pixels, bandwidth).labels, list(clusters))
            B = set(map(tuple, cells[y : y + h, x : x + w].reshape(-1, 3)[C].tolist()))
            continue
        found = True
        for _ in range(max_iter):
            R = [
                (px, py)
                for px, py in _pixels(cx, cy, w, h, X)
                if tuple(cells[py, px].tolist()) in B
            ]
            found = len(R) > 0
            if not found:
                break
            before_x, before_y = cx, cy
            cx = sum(x for x, _ in R) / len(R) + 0.5
            cy = sum(y for _, y in R) / len(R) + 0.5
            dx, dy = cx - before_x, cy - before_y
            if sqrt(dx * dx + dy * dy) < tol:
                break
        here = _pixels(cx, cy, w, h, X)
        if found and adapt:
            seen = {tuple(cells[y, x].tolist()) for x, y in here}
            B = {cell for cell in seen if any(_adjacent(cell, b) for b in B)}
        (left, top), (right, bottom) = here[0], here[-1]
        emitted.append((found, (left, top, right - left + 1, bottom - top + 1)))
    return emitted


def grid_of_points(
    X: npt.ArrayLike, bandwidth: npt.ArrayLike, sample_weight: npt.ArrayLike | None = None
) -> tuple[Integers, Units, Units]:
    """Count the points of each cell and add up where in it they are, in whole units of 2**-32.

    Integers, because their sums do not depend on the order: two halves of the data give the same
    grid as the whole, to the last bit.

    Parameters
    ----------
    X : array-like of shape (n, d)
        The points.
    bandwidth : float or array-like of shape (d,)
        Side of a cell.
    sample_weight : array-like of shape (n,), optional
        Whole numbers; a point of weight w counts w times, one of weight 0 not at all.

    Returns
    -------
    cells : ndarray of shape (m, d)
        The occupied cells in lexicographic order.
    counts : ndarray of shape (m,)
        Number of points in each.
    sums : ndarray of shape (m, d)
        Sum of their offsets from the cell's lower corner, in units of 2**-32 of a cell.

    Examples
    --------
    >>> from meanshiftpp.reference import grid_of_points
    >>> cells, counts, sums = grid_of_points([[-0.5], [0.25], [0.5]], bandwidth=1.0)
    >>> cells.tolist(), counts.tolist(), (sums / 2**32).tolist()
    ([[-1], [0]], [1, 2], [[0.5], [0.75]])
    """
    x, h = _arrays(X, bandwidth)
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
    """Make the grid of bandwidth ``k * h`` from the grid of bandwidth ``h``, without the points.

    Each sum is rounded once, to the nearest unit and halves to even. Python's integers do the
    arithmetic, since ``k * 2**32 * count`` need not fit into 64 bits.

    Parameters
    ----------
    cells, counts, sums : ndarray
        What `grid_of_points` returns.
    k : int
        How many cells become one along each axis.

    Returns
    -------
    cells, counts, sums : ndarray
        The same for the coarser grid.

    Examples
    --------
    >>> from meanshiftpp.reference import coarsen, grid_of_points
    >>> cells, counts, sums = coarsen(*grid_of_points([[0.5], [1.5]], bandwidth=1.0), k=2)
    >>> cells.tolist(), counts.tolist(), (sums / 2**32).tolist()
    ([[0]], [2], [[1.0]])
    """
    parents = cells // k
    inside = (cells - k * parents).astype(object) << FRACTION_BITS  # of the cell in its parent
    totals = inside * counts.astype(object)[:, None] + sums.astype(object)
    coarse, parent_of = _group(parents)
    coarse_counts = np.zeros(len(coarse), dtype=np.uint64)
    coarse_totals = np.zeros(coarse.shape, dtype=object)
    np.add.at(coarse_counts, parent_of, counts)
    np.add.at(coarse_totals, parent_of, totals)
    doubled = 2 * coarse_totals + k  # nearest is floor(total / k + 1/2), one less at an odd tie
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
    period: npt.ArrayLike = 0,
    cluster_all: bool = True,
) -> Labels:
    """Label new points by the cells of the old ones.

    A point in an occupied cell gets that cell's label. In an empty cell near occupied ones it
    gets the label of the heaviest of these, the first in lexicographic order among equals.
    Elsewhere it gets the nearest center's, or -1.

    Parameters
    ----------
    X : array-like of shape (n, d)
        The new points.
    bandwidth : float or array-like of shape (d,)
        Side of a cell.
    cells : ndarray of shape (m, d)
        The occupied cells in lexicographic order.
    weights : array-like of shape (m,)
        Weight of each of them.
    cell_labels : ndarray of shape (m,)
        Label of each of them.
    centers : ndarray of shape (k, d)
        Center of each cluster, in data units.
    reach : int
        How many cells away a cell is still near.
    period : int or array-like of shape (d,)
        Cells after which a feature comes back to where it was; 0 if it does not.
    cluster_all : bool
        Whether a point far from all cells gets the nearest center's label, or else -1.

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
    x, h = _arrays(X, bandwidth)
    weight = np.asarray(weights)
    K = np.broadcast_to(np.asarray(period, dtype=np.int64), x.shape[1:])
    answer = np.full(len(x), -1, dtype=np.int32)
    for i, q in enumerate(x / h):
        floor = np.floor(q)
        cell = (floor - _turns(floor, K)).astype(np.int64)
        here = np.flatnonzero((cells == cell).all(axis=1))
        around = np.flatnonzero(_neighbours(cell[None], cells, reach, K)[0])
        if len(here):
            answer[i] = cell_labels[here[0]]
        elif len(around):
            answer[i] = cell_labels[around[weight[around].argmax()]]
        elif cluster_all and len(centers):
            apart = centers / h - q
            apart -= K * np.rint(apart / np.maximum(K, 1))
            answer[i] = np.linalg.norm(apart, axis=1).argmin()
    return answer


def _arrays(X: npt.ArrayLike, bandwidth: npt.ArrayLike) -> tuple[Floats, Floats]:
    """Return the points and one bandwidth for each of their features, both in float64."""
    x = np.asarray(X, dtype=np.float64)
    if x.ndim != 2:
        raise ValueError(f"expected points of shape (n, d), got shape {x.shape}")
    return x, np.broadcast_to(np.asarray(bandwidth, dtype=np.float64), x.shape[1:])


def _pixels(
    cx: float, cy: float, w: int, h: int, X: npt.NDArray[np.uint8]
) -> list[tuple[int, int]]:
    """List the pixels (x, y) of frame X that are in the window with this centre, row by row."""
    left, top = ceil(cx - w / 2 - 0.5), ceil(cy - h / 2 - 0.5)
    xs = range(max(left, 0), min(left + w, X.shape[1]))
    ys = range(max(top, 0), min(top + h, X.shape[0]))
    return [(x, y) for y in ys for x in xs]


def _adjacent(a: tuple[int, ...], b: tuple[int, ...]) -> bool:
    """Whether two cells are the same or differ by at most one along each axis."""
    return all(abs(i - j) <= 1 for i, j in zip(a, b, strict=True))


def _repeat(
    step: Callable[[Floats, int], Floats],
    y: Floats,
    w: Floats,
    tol: float,
    max_iter: int,
    min_iter: int = 1,
) -> tuple[Floats, int, bool]:
    """Do a step, while the sum of the distances it moved the points is not below the tolerance."""
    for t in range(1, max_iter + 1):
        before, y = y, step(y, t)
        moved = np.linalg.norm(y - before, axis=1)
        if t >= min_iter and (w @ moved < tol or (moved < STILL).all()):
            return y, t, True
    return y, max_iter, False


def _group(cells: npt.NDArray[np.float64] | Integers) -> tuple[Integers, npt.NDArray[np.intp]]:
    """Return the distinct rows in lexicographic order, and for each row which of these it is."""
    occupied, cell_of = np.unique(cells.astype(np.int64), axis=0, return_inverse=True)
    return occupied, cell_of.reshape(-1)


def _neighbours(a: Integers, b: Integers, reach: int, K: Integers) -> npt.NDArray[np.bool_]:
    """Whether b[j] is a[i] + v for a v in {-reach, ..., reach}^d, modulo K, for all i and j."""
    near = np.ones((len(a), len(b)), dtype=np.bool_)
    for axis, period in enumerate(K):
        apart = np.abs(a[:, None, axis] - b[None, :, axis])
        near &= (np.minimum(apart, period - apart) if period else apart) <= reach
    return near


def _turns(cells: Floats, K: Integers) -> Floats:
    """Return what to take off cells so that they are from 0 to K - 1; 0 where K is."""
    turns: Floats = np.where(K > 0, np.floor(cells / np.maximum(K, 1)) * K, 0.0)
    return turns


def _images(cells: Integers, weights: Floats, K: Integers) -> Floats:
    """Return what positions need added where the nearest image of b is a period from b itself.

    Summed over b for each a, with the weights[a, b].
    """
    added = np.zeros(cells.shape)
    for axis in np.flatnonzero(K):
        ahead = cells[None, :, axis] - cells[:, None, axis]  # from a to b
        images = K[axis] * ((2 * ahead < -K[axis]) * 1.0 - (2 * ahead > K[axis]))
        added[:, axis] = (weights * images).sum(axis=1)
    return added


def _number(modes: Floats, w: Floats) -> Labels:
    """Give the distinct modes numbers by falling weight, equals in lexicographic order."""
    distinct, mode_of = np.unique(modes, axis=0, return_inverse=True)
    mode_of = mode_of.reshape(-1)
    weights = np.bincount(mode_of, weights=w, minlength=len(distinct))
    label = np.empty(len(distinct), dtype=np.int32)
    label[np.argsort(-weights, kind="stable")] = np.arange(len(distinct))
    return label[mode_of]
