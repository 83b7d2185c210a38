"""Parts that the algorithms and the oracles share: the result, the loop, cells and labels."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from math import ceil

import numpy as np
import numpy.typing as npt

EDGE = 2.0**-20
"""The tie rule: a mean less than this part of a cell below an edge counts as in the next cell.

Means of data on a lattice can lie exactly on an edge, where the last bit of a sum would decide.
The rule decides only the cell; the mean itself is not moved."""

STILL = 2.0**-40
"""A step shorter than this part of a cell is the rounding error of float64: nothing moved."""

FREE_STEPS = 64
"""Steps of a search on a grid in which cells move however little."""

DOUBLING_STEPS = 8
"""After these, the longest move of a cell that rests has doubled."""

SAME_MODE = 0.01
"""In Algorithm 1, points that end closer than this part of the bandwidth are one cluster."""

Floats = npt.NDArray[np.float64]
Labels = npt.NDArray[np.int32]
Cell = tuple[int, ...]


@dataclass(frozen=True)
class Result:
    """The final positions of the points, and their clusters.

    Attributes
    ----------
    points : ndarray of shape (n, d)
        Final position of every point, in data units.
    labels : ndarray of shape (n,)
        Cluster of every point, numbered by falling weight, ties in lexicographic order of cells.
    n_iter : int
        Number of steps.
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


def as_arrays(X: npt.ArrayLike, bandwidth: npt.ArrayLike) -> tuple[Floats, Floats]:
    """Return the points and one bandwidth for each feature, both in float64."""
    x = np.asarray(X, dtype=np.float64)
    if x.ndim != 2:
        raise ValueError(f"expected points of shape (n, d), got shape {x.shape}")
    return x, np.broadcast_to(np.asarray(bandwidth, dtype=np.float64), x.shape[1:])


def iterate(
    step: Callable[[Floats, int], Floats],
    y: Floats,
    tol: float,
    max_iter: int,
    *,
    min_iter: int = 1,
) -> tuple[Floats, int, bool]:
    """Repeat a step until the points together move less than `tol`: the do-while of the paper.

    Return the final positions, the number of steps, and whether the search converged.
    """
    for t in range(1, max_iter + 1):
        before, y = y, step(y, t)
        moved = np.linalg.norm(y - before, axis=1)
        if t >= min_iter and (moved.sum() < tol or (moved < STILL).all()):
            return y, t, True
    return y, max_iter, False


def cells_at(y: Floats, t: int) -> Floats:
    """Return the cell of every position before step t; the tie rule holds for means only.

    Raw points that the first step does not move may therefore change cells in the second step, so
    a search on a grid never ends with its first step (``min_iter=2``).
    """
    return np.floor(y) if t == 1 else np.floor(y + EDGE)


def rests(own: Floats, target: Floats, t: int, tol: float) -> npt.NDArray[np.bool_]:
    """Return whether cells with these means stay in step t instead of moving to their targets.

    After `FREE_STEPS`, a cell stays if it would move by at most `tol` cells along every axis, a
    limit that doubles every `DOUBLING_STEPS`. A move of exactly `tol` counts as short, as a mean on
    an edge counts as in the next cell.
    """
    doublings = (t - FREE_STEPS - 1) // DOUBLING_STEPS
    limit = 0.0 if t <= FREE_STEPS or tol == 0 else (tol + EDGE) * 2.0**doublings
    return np.asarray((np.abs(target - own) <= limit).all(axis=-1))


def join(
    y: Floats,
    cells: Floats,
    is_near: Callable[[npt.NDArray[np.int64]], npt.NDArray[np.bool_]],
    weight: float | Floats = 1.0,
) -> tuple[Floats, Floats]:
    """Move each cell that ended beside a heavier one to the heaviest in its window, and so on.

    Return the positions of the points and their cells. ``is_near(a)[i, j]`` tells whether a[j] is
    in the window of a[i].
    """
    distinct, first, cell_of = np.unique(cells, axis=0, return_index=True, return_inverse=True)
    cell_of = cell_of.reshape(-1)
    totals = np.bincount(cell_of, np.broadcast_to(weight, len(cells)), len(distinct))
    heaviest = np.where(is_near(distinct.astype(np.int64)), totals, 0.0).argmax(axis=1)
    to = np.where(totals[heaviest] > totals, heaviest, np.arange(len(distinct)))
    while (to[to] != to).any():
        to = to[to]
    target = to[cell_of]
    joined = target != cell_of
    return np.where(joined[:, None], y[first[target]], y), distinct[target]


def number_modes(modes: Floats, weight: float | Floats = 1.0) -> Labels:
    """Return a label for each row: distinct rows by falling weight, ties in lexicographic order."""
    distinct, mode_of = np.unique(modes, axis=0, return_inverse=True)
    mode_of = mode_of.reshape(-1)
    totals = np.bincount(mode_of, np.broadcast_to(weight, len(modes)), len(distinct))
    label = np.empty(len(distinct), dtype=np.int32)
    label[np.argsort(-totals, kind="stable")] = np.arange(len(distinct))
    return label[mode_of]


def as_tuples(cells: Floats) -> list[Cell]:
    """Return each row as a tuple of integers, a key of a hash table."""
    return [tuple(cell) for cell in cells.astype(np.int64).tolist()]


def with_adjacent(cell: Cell) -> Iterator[Cell]:
    """Yield ``cell + v`` for every v in {-1, 0, 1}^d."""
    return product(*((c - 1, c, c + 1) for c in cell))


def colour_cells(X: npt.NDArray[np.uint8], bandwidth: npt.ArrayLike) -> list[list[Cell]]:
    """Return the cell of the colour of every pixel, row by row."""
    return [as_tuples(row) for row in np.floor(X / np.asarray(bandwidth, dtype=np.float64))]


def pixels(cx: float, cy: float, w: int, h: int, X: npt.NDArray[np.uint8]) -> list[tuple[int, int]]:
    """Return the pixels (x, y) of frame X in the window with this centre and size, row by row.

    A pixel belongs to the window if its middle is in ``[centre - size / 2, centre + size / 2)``.
    """
    left, top = ceil(cx - w / 2 - 0.5), ceil(cy - h / 2 - 0.5)
    xs = range(max(left, 0), min(left + w, X.shape[1]))
    ys = range(max(top, 0), min(top + h, X.shape[0]))
    return [(x, y) for y in ys for x in xs]
