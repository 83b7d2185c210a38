"""Binning: from points to a grid, by the way that suits the box they lie in."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from meanshiftpp._kernel import COUNT_LIMIT
from meanshiftpp.backends.cuda.box import SAMPLE, Box, keys_of, sampled_box, whole_box
from meanshiftpp.backends.cuda.cells import merge
from meanshiftpp.backends.cuda.launch import (
    MAX_AXES,
    NULL,
    Array,
    Kernels,
    cp,
    has_room,
    here,
    many_blocks,
    points_args,
    type_of,
)
from meanshiftpp.backends.cuda.table import LIST_BLOCKS, Assignment, Table, count_rows
from meanshiftpp.backends.cuda.wide import bin_wide, refuse_inexact
from meanshiftpp.errors import InvalidInputError

CACHED_SLOTS = 1 << 17  # tables up to this size gain from sums in shared memory
_STRATEGIES = ("auto", "dense", "hash", "sorted", "wide")
_KERNELS = Kernels("binning.cu")


def bin_points(
    points: Array,
    bandwidth: NDArray[np.float64],
    weights: Array | None,
    ids: Array | None,
    n_threads: int = 1,
) -> tuple[Array, Array, Array, Assignment]:
    """Bin points; see `_kernel.bin_points`. The GPU ignores `n_threads`."""
    return bin_points_by(points, bandwidth, weights, ids, "auto")


def bin_points_by(
    points: Array,
    cell_size: NDArray[np.float64],
    weights: Array | None,
    ids: Array | None,
    strategy: str,
) -> tuple[Array, Array, Array, Assignment]:
    """Bin points by a given strategy; bit-identical for each. Called directly by tests only."""
    if strategy not in _STRATEGIES:
        raise ValueError(f"strategy must be one of {', '.join(_STRATEGIES)}, got {strategy!r}")
    with points.device:
        refuse_inexact(points)
        grid = _bin(points, cell_size, weights, ids, strategy)
        peak = 0  # without weights, no cell can hold more than there are points
        if len(grid[1]) and (weights is not None or len(points) > COUNT_LIMIT):
            peak = int(grid[1].max())
        if peak > COUNT_LIMIT:
            raise InvalidInputError(
                f"a cell holds a weight of {peak}, more than the 2**32 - 1 whose sum is exact; "
                "take a smaller bandwidth or smaller weights"
            )
        return grid


def _bin(
    points: Array, h: NDArray[np.float64], weights: Array | None, ids: Array | None, strategy: str
) -> tuple[Array, Array, Array, Assignment]:
    n, d = points.shape
    box = None
    if n and d <= MAX_AXES and strategy != "wide":
        box = sampled_box(points, h)
    while box is not None:
        chosen = _choose(points, box) if strategy == "auto" else strategy
        table = _fill(points, weights, ids, box, chosen)
        if isinstance(table, Table):
            return _collect(points, h, weights, box, table)
        if table == "full":
            strategy = "sorted"
        else:  # many points are outside, and of a whole box only those that are no numbers
            box = None if box.whole else whole_box(points, h)
    return bin_wide(points, h, weights, ids)


def _choose(points: Array, box: Box) -> str:
    n, d = points.shape
    few = box.slots <= min(max(2**22, 8 * n), 2**31 - 1)
    if few and has_room(8 * (d + 1) * box.slots):
        return "dense"
    sample = points[:: max(1, n // SAMPLE)]
    keys = keys_of(sample, box)
    return "sorted" if len(cp.unique(keys)) > 0.9 * len(keys) else "hash"


def _fill(
    points: Array,
    weights: Array | None,
    ids: Array | None,
    box: Box,
    strategy: str,
) -> Table | str:
    """Sum all points into a table; or say what proved too small."""
    n, d = points.shape
    keys, mask, lift, given = None, 0, 0, ids
    if strategy == "dense":
        rows = box.slots
    elif strategy == "hash":
        rows = 1 << min(30, max(12, math.ceil(math.log2(min(n, box.slots))) - 2))
        keys, mask, lift = cp.zeros(rows, cp.uint64), rows - 1, 1
    else:
        all_keys = keys_of(points, box)
        unique, place = cp.unique(all_keys, return_inverse=True)
        rows, keys = len(unique), unique
        given = cp.empty(n, cp.int32) if ids is None else ids
        given[:] = place.ravel()
        del all_keys, place
    table = cp.zeros((rows, d + 1), cp.uint64)
    report = cp.zeros(2 + LIST_BLOCKS, cp.uint64)
    outside = cp.empty(max(4096, n // 16), cp.int64)
    common = (*points_args(points), box.numbers)
    rest = (NULL if given is None else given, outside, np.int64(len(outside)), report)
    if strategy == "dense" and weights is None and rows <= CACHED_SLOTS:
        _bin_cached(points, common, table, rest)
    else:
        name = f"bin_global<{type_of(points)}, {d}, {('dense', 'hash', 'sorted').index(strategy)}>"
        w = NULL if weights is None else weights
        hashed = NULL if keys is None else keys
        args = (*common, w, hashed, np.uint64(mask), table, *rest)
        _KERNELS.launch(name, 0, *args, blocks=many_blocks())
    count_rows(table, report[2:])
    count, full, *occupied = report.get().tolist()
    if full or count > len(outside):
        return "full" if full else "outside"
    return Table(table, keys, lift, report[2:], sum(occupied), outside[:count])


def _bin_cached(points: Array, common: Any, table: Array, rest: Any) -> None:
    d = points.shape[1]
    entry = 4 * (2 * d + 2)
    entries = min(here()["shared"] // entry, 2 * len(table) + 64) // 2 * 2
    blocks = min(here()["processors"], -(-len(points) // 2048))
    args = (*common, table, *rest, np.int32(entries))
    how = {"threads": 1024, "blocks": blocks, "shared": entries * entry}
    _KERNELS.launch(f"bin_cached<{type_of(points)}, {d}>", 0, *args, **how)


def _collect(
    points: Array, h: NDArray[np.float64], weights: Array | None, box: Box, table: Table
) -> tuple[Array, Array, Array, Assignment]:
    """Make a sorted grid of the occupied rows of a table, and of the points outside the box."""
    *grid, assignment = table.grid(box)
    m, outside = table.occupied, table.outside
    if not len(outside):
        return (*grid, assignment)
    w = None if weights is None else weights[outside]
    own = cp.empty(len(outside), cp.int32)
    more = bin_wide(points[outside], h, w, own, rows=outside)
    place, cells, counts, sums = merge(
        *(cp.concatenate(pair) for pair in zip(grid, more[:3], strict=True))
    )
    assignment.cells, assignment.n_cells = place[:m], len(counts)
    beyond = cp.concatenate([place[m:], cp.full(1, -1, cp.int32)])
    labels = cp.empty(len(outside), cp.int32)
    more[3].take(cp.arange(len(place) - m, dtype=cp.int32), own, labels)
    assignment.outside = beyond[labels]
    return cells, counts, sums, assignment
