"""Binning cell by cell, for any number of axes and any box; only here can a bad value be met."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from meanshiftpp import _kernel
from meanshiftpp.backends.cuda.cells import rank
from meanshiftpp.backends.cuda.launch import NULL, Array, Kernels, cp, points_args, type_of
from meanshiftpp.backends.cuda.table import Assignment
from meanshiftpp.errors import InvalidInputError

_KERNELS = Kernels("wide.cu")


def bin_wide(
    points: Array,
    h: NDArray[np.float64],
    weights: Array | None,
    ids: Array | None,
    rows: Array | None = None,
) -> tuple[Array, Array, Array, Assignment]:
    """Bin cell by cell, for any number of axes and any box; `rows` are their rows in X."""
    n, d = points.shape
    side = cp.asarray(h)
    cells = cp.empty((n, d), cp.int64)
    bad = cp.full(1, n, cp.int64)
    _KERNELS.launch(f"cells_of<{type_of(points)}>", n * d, *_wide_args(points), side, cells, bad)
    if n and int(bad[0]) < n:
        _reject(points, h, rows)
    place, first = rank(cells)
    table = cp.zeros((len(first), d + 1), cp.uint64)
    given = place if ids is None else ids
    given[:] = place
    w = NULL if weights is None else weights
    _KERNELS.launch(f"add_rows<{type_of(points)}>", n, *_wide_args(points), side, w, given, table)
    occupied = cp.flatnonzero(table[:, 0])
    kept = table[occupied]
    assignment = Assignment(len(table), occupied, len(occupied))
    counts, sums = cp.ascontiguousarray(kept[:, 0]), cp.ascontiguousarray(kept[:, 1:])
    return cells[first[occupied]], counts, sums, assignment


def _wide_args(points: Array) -> tuple[Any, ...]:
    first, n, rows, columns = points_args(points)
    return first, n, np.int32(points.shape[1]), rows, columns


def _reject(points: Array, h: NDArray[np.float64], rows: Array | None) -> None:
    """Refuse the first row that holds no usable number."""
    q = points.astype(cp.float64) / cp.asarray(h)
    bad = cp.flatnonzero(~(cp.abs(q) < 2**51).all(axis=1))
    at = int(bad.min() if rows is None else bad[rows[bad].argmin()])
    _say_what_the_cpu_says(points, h, at, at if rows is None else int(rows[at]))


def refuse_inexact(points: Array) -> None:
    """Refuse integers that are no doubles."""
    if points.dtype.kind not in "iu" or points.dtype.itemsize < 8:
        return
    for j in range(points.shape[1] if len(points) else 0):
        if int(points[:, j].max()) > 2**53 or int(points[:, j].min()) < -(2**53):
            row = int(cp.argmax((points[:, j] > 2**53) | (points[:, j] < -(2**53))))
            _say_what_the_cpu_says(points, np.ones(points.shape[1]), row, row)


def _say_what_the_cpu_says(points: Array, h: NDArray[np.float64], at: int, row: int) -> None:
    """Raise the CPU's error for the point at `at`, which is a row of the caller's X."""
    try:
        _kernel.bin_points(points[at : at + 1].get(), h, None, None, 1)
    except InvalidInputError as error:
        raise InvalidInputError(error.problem, row=row, column=error.column) from None
