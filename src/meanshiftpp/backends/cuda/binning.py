"""Binning: from points to a grid, by the strategy that suits the box they lie in."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from meanshiftpp._kernel import COUNT_LIMIT
from meanshiftpp._support.devices import current_device
from meanshiftpp.backends.cuda.box import SAMPLE, Box, complete_box, keys_of, sampled_box
from meanshiftpp.backends.cuda.cells import insert, merge
from meanshiftpp.backends.cuda.fallback import bin_on_host, raise_host_error
from meanshiftpp.backends.cuda.launch import (
    MAX_AXES,
    NULL,
    Array,
    Kernels,
    cp,
    device_info,
    fits_in_memory,
    many_blocks,
    points_args,
    type_of,
)
from meanshiftpp.backends.cuda.table import LIST_BLOCKS, Table, count_rows
from meanshiftpp.backends.cuda.wide import bin_wide, check_exact
from meanshiftpp.backends.protocol import Binned, Counts, Floats, Labels, Points

_CACHED_ROWS = 1 << 17  # tables up to this size gain from sums in shared memory
_FEW_OUTSIDE = 1 << 12  # points outside the box that the host bins: faster than the launches
_REPORT_WORDS = 2 + LIST_BLOCKS  # struct Report, then count_rows
_MAX_ID = 2**31 - 1  # a row of a table is an int32 id
_WITH_TABLE = ("dense", "hash", "sorted")  # in the order of the enum in binning.cu
_STRATEGIES = ("auto", *_WITH_TABLE, "wide")
_KERNELS = Kernels("binning.cu")

_Grid = tuple[Array, Array, Array]  # cells, counts, sums
_Added = tuple[Array, Array, Array, Array, Array]  # new positions, cells of points, the grid


def bin_points(
    points: Points,
    cell_size: Floats,
    weights: Counts | None,
    ids: Labels | None,
    n_threads: int,
) -> Binned:
    """Bin points by the strategy that suits the box they lie in; `n_threads` is not used."""
    return bin_points_by(points, cell_size, weights, ids, "auto")


def bin_points_by(
    points: Points,
    cell_size: Floats,
    weights: Counts | None,
    ids: Labels | None,
    strategy: str,
) -> Binned:
    """Bin points by a given strategy, with bit-identical results. For tests only."""
    if strategy not in _STRATEGIES:
        raise ValueError(f"strategy must be one of {', '.join(_STRATEGIES)}, got {strategy!r}")
    with current_device(points):
        check_exact(points)
        binned = _bin(points, cell_size, weights, ids, strategy)
        # Without weights, a cell cannot hold more than the number of points.
        if weights is not None or len(points) > COUNT_LIMIT:
            _check_counts(binned.counts, cell_size)
        return binned


def _check_counts(counts: Array, cell_size: NDArray[np.float64]) -> None:
    """Raise the host's error if a cell is too heavy for its sums to be exact."""
    peak = int(counts.max()) if len(counts) else 0
    if peak > COUNT_LIMIT:
        raise_host_error(np.zeros((1, len(cell_size))), cell_size, weight=peak)


def _bin(
    points: Array,
    cell_size: NDArray[np.float64],
    weights: Array | None,
    ids: Array | None,
    strategy: str,
) -> Binned:
    n, d = points.shape
    box = None
    if n and d <= MAX_AXES and strategy != "wide":
        box = sampled_box(points, cell_size)
    while box is not None:
        chosen = _choose(points, box) if strategy == "auto" else strategy
        table = _fill(points, weights, ids, box, chosen)
        if isinstance(table, Table):
            return _collect(points, cell_size, weights, box, table)
        if table == "overflow":
            strategy = "sorted"
        else:  # many points are outside the box; if it is complete, they are not finite
            box = None if box.complete else complete_box(points, cell_size)
    return bin_wide(points, cell_size, weights, ids)


def _choose(points: Array, box: Box) -> str:
    n, d = points.shape
    few = box.n_cells <= min(max(2**22, 8 * n), _MAX_ID)
    if few and fits_in_memory(8 * (d + 1) * box.n_cells):
        return "dense"
    sample = points[:: max(1, n // SAMPLE)]
    keys = keys_of(sample, box)
    return "sorted" if len(cp.unique(keys)) > 0.9 * len(keys) else "hash"


class _Rows(NamedTuple):
    """The rows of a table before it is filled."""

    number: int
    keys: Array | None  # of each row, for Table.keys
    ids: Array | None  # the row of each point, where it is known or wanted


def _rows_for(points: Array, ids: Array | None, box: Box, strategy: str) -> _Rows:
    n = len(points)
    if strategy == "dense":
        return _Rows(box.n_cells, None, ids)
    if strategy == "hash":
        number = 1 << min(30, max(12, math.ceil(math.log2(min(n, box.n_cells))) - 2))
        return _Rows(number, cp.zeros(number, cp.uint64), ids)
    keys, row_of_point = cp.unique(keys_of(points, box), return_inverse=True)
    ids = cp.empty(n, cp.int32) if ids is None else ids
    ids[:] = row_of_point.ravel()
    return _Rows(len(keys), keys, ids)


def _fill(
    points: Array, weights: Array | None, ids: Array | None, box: Box, strategy: str
) -> Table | Literal["overflow", "outside"]:
    """Add all points to a table.

    Return "overflow" if the hash table was too small, "outside" if the box was.
    """
    n, d = points.shape
    rows = _rows_for(points, ids, box, strategy)
    hashed = strategy == "hash"
    zeros = cp.zeros(rows.number * (d + 1) + _REPORT_WORDS, cp.uint64)  # one launch for both
    sums, report = zeros[:-_REPORT_WORDS].reshape(-1, d + 1), zeros[-_REPORT_WORDS:]
    outside = cp.empty(max(4096, n // 16), cp.int64)
    common = (*points_args(points), box.numbers)
    rest = (NULL if rows.ids is None else rows.ids, outside, np.int64(len(outside)), report)
    if strategy == "dense" and weights is None and rows.number <= _CACHED_ROWS:
        _bin_cached(points, common, sums, rest)
    else:
        name = f"bin_global<{type_of(points)}, {d}, {_WITH_TABLE.index(strategy)}>"
        w = NULL if weights is None else weights
        keys = NULL if rows.keys is None else rows.keys
        mask = np.uint64(rows.number - 1 if hashed else 0)
        _KERNELS.launch(name, 0, *common, w, keys, mask, sums, *rest, blocks=many_blocks())
    count_rows(sums, report[2:])
    n_outside, overflow, *occupied = report.get().tolist()
    if overflow or n_outside > len(outside):
        return "overflow" if overflow else "outside"
    key_shift = 1 if hashed else 0
    return Table(sums, rows.keys, key_shift, report[2:], sum(occupied), outside[:n_outside])


def _bin_cached(points: Array, common: Any, sums: Array, rest: Any) -> None:
    d = points.shape[1]
    info, entry = device_info(), 4 * (1 + d + (d + 2) // 2)  # bytes of an entry of struct Cached
    entries = min(info.shared_bytes // entry, 2 * len(sums) + 64) // 2 * 2
    blocks = min(info.processors, -(-len(points) // 2048))
    name = f"bin_cached<{type_of(points)}, {d}>"
    args = (*common, sums, *rest, np.int32(entries))
    _KERNELS.launch(name, 0, *args, threads=1024, blocks=blocks, shared=entries * entry)


def _collect(
    points: Array,
    cell_size: NDArray[np.float64],
    weights: Array | None,
    box: Box,
    table: Table,
) -> Binned:
    """Return the grid of a table's occupied rows and of the points outside the box."""
    cells, counts, sums, assignment = table.collect(box)
    outside = table.outside
    if not len(outside):
        return Binned(cells, counts, sums, assignment)
    grid = (cells, counts, sums)
    if len(outside) <= _FEW_OUTSIDE and weights is None:
        position, cell_outside, cells, counts, sums = _add_few(points, cell_size, outside, grid)
    else:
        added = _add_many(points, cell_size, weights, outside, grid)
        position, cell_outside, cells, counts, sums = added
    assignment = replace(
        assignment, n_cells=len(counts), cell_of_row=position, cell_outside=cell_outside
    )
    return Binned(cells, counts, sums, assignment)


def _add_few(points: Array, cell_size: NDArray[np.float64], outside: Array, grid: _Grid) -> _Added:
    """Add points outside the box, binned by the host."""
    others, cell_of_point = bin_on_host(points, cell_size, outside.get())
    position, position_of_other, *grown = insert(*grid, others)
    return position, cp.asarray(position_of_other[cell_of_point]), *grown


def _add_many(
    points: Array,
    cell_size: NDArray[np.float64],
    weights: Array | None,
    outside: Array,
    grid: _Grid,
) -> _Added:
    """Add points outside the box, binned without keys."""
    m, w = len(grid[0]), None if weights is None else weights[outside]
    ids = cp.empty(len(outside), cp.int32)
    others = bin_wide(points[outside], cell_size, w, ids, rows=outside)
    position, *grown = merge(*map(cp.concatenate, zip(grid, others[:3], strict=True)))
    labels = cp.empty(len(outside), cp.int32)
    others.assignment.take(cp.arange(len(position) - m, dtype=cp.int32), ids, labels)
    cell_of_other = cp.concatenate([position[m:], cp.full(1, -1, cp.int32)])
    return position[:m], cell_of_other[labels], *grown  # -1 picks the last
