"""Binning without keys, for any number of axes and any box; also the checks of the points."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from meanshiftpp._kernel import MAX_CELL, MAX_EXACT
from meanshiftpp.backends.cuda.cells import rank
from meanshiftpp.backends.cuda.fallback import raise_host_error
from meanshiftpp.backends.cuda.launch import NULL, Array, Kernels, cp, points_args, type_of
from meanshiftpp.backends.cuda.table import TableAssignment
from meanshiftpp.backends.protocol import Binned

_KERNELS = Kernels("wide.cu")


def bin_wide(
    points: Array,
    cell_size: NDArray[np.float64],
    weights: Array | None,
    ids: Array | None,
    rows: Array | None = None,
) -> Binned:
    """Bin points by ranking their cells; raise if a value has no cell.

    `rows` holds the row in X of each point, for that error; by default they are in order.
    """
    n, d = points.shape
    sizes = cp.asarray(cell_size)
    cells = cp.empty((n, d), cp.int64)
    first_bad = cp.full(1, n, cp.int64)
    args = (*_wide_args(points), sizes, cells, first_bad)
    _KERNELS.launch(f"cells_of<{type_of(points)}>", n * d, *args)
    if n and int(first_bad[0]) < n:
        _reject(points, cell_size, rows)
    ranks, first = rank(cells)
    table = cp.zeros((len(first), d + 1), cp.uint64)
    row_ids = ranks if ids is None else ids
    row_ids[:] = ranks
    w = NULL if weights is None else weights
    args = (*_wide_args(points), sizes, w, row_ids, table)
    _KERNELS.launch(f"add_points<{type_of(points)}>", n, *args)
    occupied = cp.flatnonzero(table[:, 0])
    sums = table[occupied]
    return Binned(
        cells[first[occupied]],
        cp.ascontiguousarray(sums[:, 0]),
        cp.ascontiguousarray(sums[:, 1:]),
        TableAssignment(len(table), occupied, len(occupied)),
    )


def _wide_args(points: Array) -> tuple[Any, ...]:
    data, n, *strides = points_args(points)
    return data, n, np.int32(points.shape[1]), *strides


def _reject(points: Array, cell_size: NDArray[np.float64], rows: Array | None) -> NoReturn:
    """Raise the host's error for the first row of X with a value that has no cell."""
    q = points.astype(cp.float64) / cp.asarray(cell_size)
    bad = cp.flatnonzero(~(cp.abs(q) < MAX_CELL).all(axis=1))
    i = int(bad.min() if rows is None else bad[rows[bad].argmin()])
    raise_host_error(points[i : i + 1], cell_size, i if rows is None else int(rows[i]))


def check_exact(points: Array) -> None:
    """Raise the host's error for the first row with an integer that float64 cannot hold."""
    if points.dtype.kind not in "iu" or points.dtype.itemsize < 8:
        return
    rows = [_first_inexact(column) for column in points.T if len(points)]
    inexact = [row for row in rows if row is not None]
    if inexact:
        row = min(inexact)
        raise_host_error(points[row : row + 1], np.ones(points.shape[1]), row)


def _first_inexact(column: Array) -> int | None:
    if int(column.max()) <= MAX_EXACT and int(column.min()) >= -MAX_EXACT:
        return None
    inexact = column > MAX_EXACT
    if column.dtype.kind == "i":
        inexact |= column < -MAX_EXACT
    return int(cp.argmax(inexact))
