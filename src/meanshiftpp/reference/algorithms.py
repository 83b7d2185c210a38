"""Algorithms 1, 2 and 3 of the paper, line by line: read this first.

The package computes Algorithm 2 on a grid of integers, in C++ and with threads. This module has the
same mathematics on the points themselves, in Python and float64, and is slow. It checks little of
its input; use :class:`meanshiftpp.MeanShiftPP` to cluster data.

Positions inside the functions are in *cell units*, ``y = x / h``: a cell has size 1, the bandwidth
may differ between features, and ``tol`` has the same meaning for all data. `parts` has the loop
that all steps share (`iterate`), the rule for means on the edge of a cell (`cells_at`), and the two
rules by which a search on a grid ends (`rests`, `join`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from math import sqrt
from typing import Literal

import numpy as np
import numpy.typing as npt

from meanshiftpp.reference import parts
from meanshiftpp.reference.parts import EDGE, Cell, Floats, Result


def mean_shift(
    X: npt.ArrayLike,
    bandwidth: npt.ArrayLike,
    *,
    kernel: Literal["flat", "gaussian"] = "flat",
    tol: float = 1e-3,
    max_iter: int = 300,
) -> Result:
    """Run Algorithm 1, MeanShift: every point moves to the kernel-weighted mean of all points.

    Parameters
    ----------
    X : array-like of shape (n, d)
        The points.
    bandwidth : float or array-like of shape (d,)
        Radius of the kernel, h.
    kernel : {"flat", "gaussian"}
        ``K(u) = 1[u <= 1]`` or ``K(u) = exp(-u**2 / 2)``.
    tol, max_iter : float, int
        Stop when a step moves all points together by less than `tol` bandwidths, or after
        `max_iter` steps.

    Returns
    -------
    Result
        Each point has the label of the first point that ended within `parts.SAME_MODE` of it.

    Examples
    --------
    >>> from meanshiftpp.reference import mean_shift
    >>> mean_shift([[0.0], [0.4], [0.8], [5.0]], bandwidth=1.0).labels
    array([0, 0, 0, 1], dtype=int32)
    """
    x, h = parts.as_arrays(X, bandwidth)

    def step(y: Floats, t: int) -> Floats:
        u = np.linalg.norm(y[:, None] - y, axis=2)
        K = (u <= 1).astype(np.float64) if kernel == "flat" else np.exp(-(u**2) / 2)
        mean: Floats = (K @ y) / K.sum(axis=1, keepdims=True)
        return mean

    y, n_iter, converged = parts.iterate(step, x / h, tol, max_iter)
    close = np.linalg.norm(y[:, None] - y, axis=2) < parts.SAME_MODE
    mode = y[close.argmax(axis=1)]
    labels = parts.number_modes(np.hstack([np.floor(mode + EDGE), mode]))
    return Result(y * h, labels, n_iter, converged)


def mean_shift_pp(
    X: npt.ArrayLike, bandwidth: npt.ArrayLike, *, tol: float = 1e-3, max_iter: int = 10_000
) -> Result:
    """Run Algorithm 2, MeanShift++: every point moves to the mean of its cell and adjacent cells.

    Parameters
    ----------
    X : array-like of shape (n, d)
        The points.
    bandwidth : float or array-like of shape (d,)
        Size of a cell, h.
    tol, max_iter : float, int
        After 64 steps, a cell that would move by at most `tol` cells stays; see `parts.rests`. The
        search ends when no cell moves, or after `max_iter` steps.

    Returns
    -------
    Result
        Points that end in the same cell have the same label, and those of a cell that ended beside
        a heavier one have the label of the heaviest cell around it.

    Examples
    --------
    >>> from meanshiftpp.reference import mean_shift_pp
    >>> result = mean_shift_pp([[0.1], [0.3], [1.5], [7.0]], bandwidth=1.0)
    >>> result.labels
    array([0, 0, 0, 1], dtype=int32)
    >>> result.points.round(3).tolist()
    [[0.633], [0.633], [0.633], [7.0]]
    """
    x, h = parts.as_arrays(X, bandwidth)

    def step(y: Floats, t: int) -> Floats:
        cells = parts.as_tuples(parts.cells_at(y, t))
        C: dict[Cell, int] = defaultdict(int)  # cell count
        S: dict[Cell, Floats] = defaultdict(lambda: np.zeros(y.shape[1]))  # cell sum
        for cell, position in zip(cells, y, strict=True):
            C[cell] += 1
            S[cell] += position
        mean = {}
        for cell in C:
            window = [c for c in parts.with_adjacent(cell) if c in C]
            own = S[cell] / C[cell]
            target = np.asarray(sum(S[c] for c in window) / sum(C[c] for c in window))
            mean[cell] = own if parts.rests(own, target, t, tol) else target
        return np.array([mean[cell] for cell in cells]).reshape(y.shape)

    y, n_iter, converged = parts.iterate(step, x / h, 0.0, max_iter, min_iter=2)
    cells = np.floor(y + EDGE)
    if converged and len(y):
        y, cells = parts.join(y, cells, lambda a: np.abs(a[:, None] - a).max(axis=2) <= 1)
    return Result(y * h, parts.number_modes(cells), n_iter, converged)


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
    """Run Algorithm 3, MeanShift++ for tracking: the window follows the pixels of a set of cells.

    The paper does not define the result if no pixel of the window is in a cell of the set; here the
    window and the set stay, and the frame is marked as lost.

    Parameters
    ----------
    frames : iterable of ndarray of shape (height, width, 3)
        The video, X_0, X_1, ...
    window : (x, y, w, h)
        W_0, inside the first frame.
    bandwidth : float or array-like of shape (3,)
        Size of a colour cell, h.
    clusters : iterable of int
        Labels of the selected clusters of W_0: their union is C.
    adapt : bool
        Whether to update B after each frame, the optional line.
    tol, max_iter : float, int
        The window has converged when its centre moves by less than `tol` pixels, or after
        `max_iter` moves in a frame.

    Returns
    -------
    list of (found, (x, y, w, h))
        For every frame but the first: whether a pixel of the set was found, and the part of W_i
        inside the frame.

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
    frames, selected = iter(frames), set(clusters)
    X = next(frames)
    W, cells = parts.pixels(cx, cy, w, h, X), parts.colour_cells(X, bandwidth)
    labels = mean_shift_pp([X[j, i] for i, j in W], bandwidth).labels.tolist()
    B = {cells[j][i] for (i, j), label in zip(W, labels, strict=True) if label in selected}
    emitted = []
    for X in frames:
        cells = parts.colour_cells(X, bandwidth)
        for _ in range(max_iter):
            R = [(i, j) for i, j in parts.pixels(cx, cy, w, h, X) if cells[j][i] in B]
            if not R:
                break
            before_x, before_y = cx, cy
            cx = sum(i for i, _ in R) / len(R) + 0.5
            cy = sum(j for _, j in R) / len(R) + 0.5
            dx, dy = cx - before_x, cy - before_y
            if sqrt(dx * dx + dy * dy) < tol:
                break
        W = parts.pixels(cx, cy, w, h, X)
        if R and adapt:
            B = {cells[j][i] for i, j in W} & {near for b in B for near in parts.with_adjacent(b)}
        (left, top), (right, bottom) = W[0], W[-1]
        emitted.append((bool(R), (left, top, right - left + 1, bottom - top + 1)))
    return emitted
