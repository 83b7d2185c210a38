"""The loops on an NVIDIA GPU: the functions of `_kernel`, for CuPy arrays, with the same results.

The kernels are in `_cuda.cu`; NVRTC compiles each when it is first used, and CuPy keeps the binary
on disk. Points and labels never leave the GPU; the host waits for a few numbers only (the box of
the data, the number of cells), and everything runs on CuPy's current stream.

Points get a row of sums as on the CPU: in a dense table over the box of the data, in a hash table
where the box is too large for that, by sorting where most points have a cell of their own, and
cell by cell ("wide") beyond six features. All of it gives the same bits.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from meanshiftpp import _kernel
from meanshiftpp._input import COUNT_LIMIT, on_host
from meanshiftpp.errors import InvalidInputError, need

cp: Any = need("cupy", "gpu")

MAX_AXES = 6  # kernels for up to this many axes are unrolled
CACHED_SLOTS = 1 << 17  # tables up to this size gain from sums in shared memory
SAMPLE = 1 << 14
MOST_AROUND = 4096  # cells of a window that are looked at one by one
TIE_BITS = 20  # of a position that has to be kept: see kernel/seek.hpp
BATCH_BYTES = 1 << 28  # of points that are copied to the GPU at a time
BATCH_STEPS = 256  # steps of a search between two looks for Ctrl-C
LIST_BLOCKS = 256
FEW_MODES = 4096  # ranked by comparing each with each
_NULL = np.uint64(0)
_WAYS = ("auto", "dense", "hash", "sorted", "wide")
_SOURCE = Path(__file__).with_suffix(".cu")
_TYPES = {
    "float32": "float",
    "float64": "double",
    "uint8": "unsigned char",
    "int8": "signed char",
    "uint16": "unsigned short",
    "int16": "short",
    "uint32": "unsigned int",
    "int32": "int",
    "uint64": "unsigned long long",
    "int64": "long long",
}

Array = Any  # a CuPy array


# -- launching ------------------------------------------------------------------------------------


@functools.cache
def _compiled(name: str, cooperative: bool, device: int) -> Any:
    module = cp.RawModule(
        code=_SOURCE.read_text("utf-8"),
        options=("--std=c++17", "--fmad=false"),
        name_expressions=(name,) if "<" in name else None,
        enable_cooperative_groups=cooperative,
    )
    return module.get_function(name)


@functools.cache
def _device(index: int) -> dict[str, int]:
    attributes = cp.cuda.Device(index).attributes
    return {
        "processors": attributes["MultiProcessorCount"],
        "shared": attributes["MaxSharedMemoryPerBlockOptin"],
    }


def _here() -> dict[str, int]:
    return _device(cp.cuda.runtime.getDevice())


def _launch(
    name: str, size: int, *args: Any, threads: int = 256, blocks: int = 0, shared: int = 0
) -> None:
    """Run a kernel with a thread for each of `size`, or with that many blocks."""
    kernel = _compiled(name, False, cp.cuda.runtime.getDevice())
    if shared > 48 * 1024:
        kernel.max_dynamic_shared_size_bytes = shared
    kernel((blocks or -(-size // threads) or 1,), (threads,), args, shared_mem=shared)


def _by_value(numbers: NDArray[Any], size: int) -> NDArray[Any]:
    """Return numbers, filled up to the size of the struct they are passed as, as that struct."""
    filled = np.concatenate([numbers, np.zeros(size - len(numbers), numbers.dtype)])
    return filled.view(f"V{filled.nbytes}")


def _points_args(points: Array) -> tuple[Any, ...]:
    item = points.dtype.itemsize
    return points, np.int64(len(points)), *(np.int64(s // item) for s in points.strides)


def _wide_args(points: Array) -> tuple[Any, ...]:
    first, n, rows, columns = _points_args(points)
    return first, n, np.int32(points.shape[1]), rows, columns


def _type(points: Array) -> str:
    return _TYPES[points.dtype.name]


def _blocks() -> int:
    return 16 * _here()["processors"]


# -- the box of the data --------------------------------------------------------------------------


@dataclass(frozen=True)
class _Box:
    """Cells numbered in mixed radix, the last axis fastest."""

    numbers: NDArray[Any]  # struct Numbers: bandwidths, lows, extents, strides
    slots: int
    whole: bool  # holds every point, not only a sample


def _sampled_box(points: Array, h: NDArray[np.float64]) -> _Box | None:
    """Return the box of some points taken evenly, with a margin; None where it has no numbers."""
    n, d = points.shape
    if points.dtype == np.uint8:  # the box of all values: nothing to look at
        return _numbered(h, np.zeros(d), np.floor(255 / h), True)
    step = max(1, n // SAMPLE)
    ends = cp.empty((2, d), cp.float64)
    name = f"sample_box<{_type(points)}, {d}>"
    args = (*_points_args(points), _by_value(h, 24), np.int64(step), ends)
    _launch(name, 1, *args, threads=1024, blocks=1)
    low, high = ends.get()
    margin = 0.0 if step == 1 else np.maximum(1.0, np.floor((high - low) / 8))
    return _numbered(h, low - margin, high + margin, step == 1)


def _whole_box(points: Array, h: NDArray[np.float64]) -> _Box | None:
    ends = cp.stack([points.min(axis=0), points.max(axis=0)]).get().astype(np.float64) / h
    if not np.isfinite(ends).all():
        return None
    return _numbered(h, np.floor(ends[0]), np.floor(ends[1]), True)


def _numbered(
    h: NDArray[np.float64], low: NDArray[np.float64], high: NDArray[np.float64], whole: bool
) -> _Box | None:
    lows, extents = low.tolist(), (high - low + 1).tolist()
    slots, strides = 1, []
    for extent in reversed(extents):
        strides.append(float(slots))
        slots *= int(extent)
    if slots >= 2**53 or max(map(abs, lows + high.tolist())) >= 2**51:
        return None
    numbers = np.array([*h.tolist(), *lows, *extents, *reversed(strides)])
    return _Box(_by_value(numbers, 24), slots, whole)


# -- binning --------------------------------------------------------------------------------------


class Assignment:
    """Where the points went: the cell behind each id that was written for them."""

    def __init__(self, rows: int, occupied: Array, n_cells: int) -> None:
        self.rows, self.occupied, self.n_cells = rows, occupied, n_cells
        self.cells: Array | None = None  # of the occupied rows; None: in order
        self.outside: Array | None = None  # the cell of each point outside the box
        self.sparse = True  # some ids have no cell

    def take(self, values: Array, ids: Array, labels: Array) -> None:
        """OUT labels[i] = values[cell of point i], -1 without one; `labels` may be `ids`."""
        inside = values if self.cells is None else values[self.cells]
        of = cp.full(self.rows, -1, cp.int32) if self.sparse else cp.empty(self.rows, cp.int32)
        m = len(self.occupied)
        _launch("spread", m, self.occupied, inside, np.int64(m), of)
        outside: Any = _NULL
        if self.outside is not None:
            padded = cp.concatenate([values, cp.full(1, -1, cp.int32)])
            outside = padded[self.outside]  # -1 picks the last
        here = _here()
        size = 4 * self.rows
        keep = size <= here["shared"] and len(ids) > 64 * self.rows
        blocks = here["processors"] * (1 if size > here["shared"] // 2 else 2) if keep else 0
        _launch(
            "take",
            -(-len(ids) // 4),
            ids,
            np.int64(len(ids)),
            of,
            np.int32(self.rows),
            np.int32(keep),
            outside,
            labels,
            threads=1024 if keep else 256,
            blocks=blocks,
            shared=size if keep else 0,
        )


def bin_points(
    points: Array,
    bandwidth: NDArray[np.float64],
    weights: Array | None,
    ids: Array | None,
    n_threads: int = 1,
    way: str = "auto",
    isa: str | None = None,
) -> tuple[Array, Array, Array, Assignment]:
    """Bin points; see `_kernel.bin_points`. Threads and instruction sets are the CPU's."""
    if way not in _WAYS:
        raise ValueError(f"way must be one of {', '.join(_WAYS)}")
    with points.device:
        _refuse_inexact(points)
        grid = _bin(points, bandwidth, weights, ids, way)
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
    points: Array, h: NDArray[np.float64], weights: Array | None, ids: Array | None, way: str
) -> tuple[Array, Array, Array, Assignment]:
    n, d = points.shape
    box = None
    if n and d <= MAX_AXES and way != "wide":
        box = _sampled_box(points, h)
    while box is not None:
        chosen = _choose(points, box) if way == "auto" else way
        table = _fill(points, weights, ids, box, chosen)
        if isinstance(table, _Table):
            return _collect(points, h, weights, box, table)
        if table == "full":
            way = "sorted"
        else:  # many points are outside, and of a whole box only those that are no numbers
            box = None if box.whole else _whole_box(points, h)
    return _bin_wide(points, h, weights, ids)


def _choose(points: Array, box: _Box) -> str:
    n, d = points.shape
    few = box.slots <= min(max(2**22, 8 * n), 2**31 - 1)
    if few and _has_room(8 * (d + 1) * box.slots):
        return "dense"
    sample = points[:: max(1, n // SAMPLE)]
    keys = _keys(sample, box)
    return "sorted" if len(cp.unique(keys)) > 0.9 * len(keys) else "hash"


def _has_room(size: int) -> bool:
    """Whether a table of that many bytes is a fair share of the GPU's memory."""
    if size <= 2**26:
        return True
    free = cp.cuda.runtime.memGetInfo()[0] + cp.get_default_memory_pool().free_bytes()
    return bool(size <= free // 4)


def _keys(points: Array, box: _Box) -> Array:
    keys = cp.empty(len(points), cp.uint64)
    name = f"keys_of<{_type(points)}, {points.shape[1]}>"
    args = (*_points_args(points), box.numbers, keys)
    _launch(name, 0, *args, blocks=_blocks())
    return keys


@dataclass(frozen=True)
class _Table:
    """Rows of sums, some of them occupied."""

    sums: Array
    keys: Array | None  # of each row; None: a row is a key
    lift: int  # what stored keys are higher by
    counts: Array  # occupied rows in each block's part
    occupied: int
    outside: Array  # the points outside the box


def _fill(
    points: Array,
    weights: Array | None,
    ids: Array | None,
    box: _Box,
    way: str,
) -> _Table | str:
    """Sum all points into a table; or say what proved too small."""
    n, d = points.shape
    keys, mask, lift, given = None, 0, 0, ids
    if way == "dense":
        rows = box.slots
    elif way == "hash":
        rows = 1 << min(30, max(12, math.ceil(math.log2(min(n, box.slots))) - 2))
        keys, mask, lift = cp.zeros(rows, cp.uint64), rows - 1, 1
    else:
        all_keys = _keys(points, box)
        unique, place = cp.unique(all_keys, return_inverse=True)
        rows, keys = len(unique), unique
        given = cp.empty(n, cp.int32) if ids is None else ids
        given[:] = place.ravel()
        del all_keys, place
    table = cp.zeros((rows, d + 1), cp.uint64)
    report = cp.zeros(2 + LIST_BLOCKS, cp.uint64)
    outside = cp.empty(max(4096, n // 16), cp.int64)
    common = (*_points_args(points), box.numbers)
    rest = (_NULL if given is None else given, outside, np.int64(len(outside)), report)
    if way == "dense" and weights is None and rows <= CACHED_SLOTS:
        _bin_cached(points, common, table, rest)
    else:
        name = f"bin_global<{_type(points)}, {d}, {('dense', 'hash', 'sorted').index(way)}>"
        w = _NULL if weights is None else weights
        hashed = _NULL if keys is None else keys
        _launch(name, 0, *common, w, hashed, np.uint64(mask), table, *rest, blocks=_blocks())
    _launch("count_rows", 0, table, np.int64(rows), np.int32(d), report[2:], blocks=LIST_BLOCKS)
    count, full, *occupied = report.get().tolist()
    if full or count > len(outside):
        return "full" if full else "outside"
    return _Table(table, keys, lift, report[2:], sum(occupied), outside[:count])


def _bin_cached(points: Array, common: Any, table: Array, rest: Any) -> None:
    d = points.shape[1]
    entry = 4 * (2 * d + 2)
    entries = min(_here()["shared"] // entry, 2 * len(table) + 64) // 2 * 2
    blocks = min(_here()["processors"], -(-len(points) // 2048))
    name = f"bin_cached<{_type(points)}, {d}>"
    _launch(
        name,
        0,
        *common,
        table,
        *rest,
        np.int32(entries),
        threads=1024,
        blocks=blocks,
        shared=entries * entry,
    )


def _collect(
    points: Array, h: NDArray[np.float64], weights: Array | None, box: _Box, table: _Table
) -> tuple[Array, Array, Array, Assignment]:
    """Make a sorted grid of the occupied rows of a table, and of the points outside the box."""
    m, d = table.occupied, np.int32(points.shape[1])
    rows, outside = np.int64(len(table.sums)), table.outside
    occupied = cp.empty(m, cp.int64)
    args = (table.sums, rows, d, table.counts, occupied)
    _launch("list_rows", 0, *args, blocks=LIST_BLOCKS)
    keys: Any = _NULL
    if table.keys is not None:
        keys = table.keys
        occupied = occupied[cp.argsort(keys[occupied])]
    grid = _empty_grid(m, points.shape[1])
    order = (occupied, keys, np.int32(table.lift), np.int64(m), d)
    _launch("collect", m, *order, box.numbers, table.sums, *grid)
    assignment = Assignment(len(table.sums), occupied, m)
    assignment.sparse = weights is not None
    if not len(outside):
        return (*grid, assignment)
    w = None if weights is None else weights[outside]
    own = cp.empty(len(outside), cp.int32)
    more = _bin_wide(points[outside], h, w, own, rows=outside)
    place, cells, counts, sums = _merged(
        *(cp.concatenate(pair) for pair in zip(grid, more[:3], strict=True))
    )
    assignment.cells, assignment.n_cells = place[:m], len(counts)
    beyond = cp.concatenate([place[m:], cp.full(1, -1, cp.int32)])
    labels = cp.empty(len(outside), cp.int32)
    more[3].take(cp.arange(len(place) - m, dtype=cp.int32), own, labels)
    assignment.outside = beyond[labels]
    return cells, counts, sums, assignment


def _bin_wide(
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
    _launch(f"cells_of<{_type(points)}>", n * d, *_wide_args(points), side, cells, bad)
    if n and int(bad[0]) < n:
        _reject(points, h, rows)
    place, first = _rank(cells)
    table = cp.zeros((len(first), d + 1), cp.uint64)
    given = place if ids is None else ids
    given[:] = place
    w = _NULL if weights is None else weights
    _launch(f"add_rows<{_type(points)}>", n, *_wide_args(points), side, w, given, table)
    occupied = cp.flatnonzero(table[:, 0])
    kept = table[occupied]
    assignment = Assignment(len(table), occupied, len(occupied))
    counts, sums = cp.ascontiguousarray(kept[:, 0]), cp.ascontiguousarray(kept[:, 1:])
    return cells[first[occupied]], counts, sums, assignment


def _reject(points: Array, h: NDArray[np.float64], rows: Array | None) -> None:
    """Raise what the CPU says of the first row that holds no usable number."""
    q = points.astype(cp.float64) / cp.asarray(h)
    bad = cp.flatnonzero(~(cp.abs(q) < 2**51).all(axis=1))
    at = int(bad.min() if rows is None else bad[rows[bad].argmin()])
    row = at if rows is None else int(rows[at])
    try:
        _kernel.bin_points(points[at : at + 1].get(), h, None, None, 1)
    except InvalidInputError as error:
        raise InvalidInputError(str(error).replace("X[0,", f"X[{row},", 1)) from None


def _refuse_inexact(points: Array) -> None:
    if points.dtype.kind not in "iu" or points.dtype.itemsize < 8:
        return
    for j in range(points.shape[1] if len(points) else 0):
        if int(points[:, j].max()) > 2**53 or int(points[:, j].min()) < -(2**53):
            row = int(cp.argmax((points[:, j] > 2**53) | (points[:, j] < -(2**53))))
            _reject_integer(points, row)


def _reject_integer(points: Array, row: int) -> None:
    try:
        one = np.ones(points.shape[1])
        _kernel.bin_points(points[row : row + 1].get(), one, None, None, 1)
    except InvalidInputError as error:
        raise InvalidInputError(str(error).replace("X[0,", f"X[{row},", 1)) from None


# -- cells ----------------------------------------------------------------------------------------


def _empty_grid(m: int, d: int) -> tuple[Array, Array, Array]:
    return cp.empty((m, d), cp.int64), cp.empty(m, cp.uint64), cp.empty((m, d), cp.uint64)


def _rank(cells: Array) -> tuple[Array, Array]:
    """Return the rank of each row among the distinct ones in order, and where each is first met."""
    place = cp.zeros(len(cells), cp.int64)
    first = cp.zeros(min(len(cells), 1), cp.int64)
    for column in cells.T:
        values, inverse = cp.unique(column, return_inverse=True)
        key = place * max(len(values), 1) + inverse.ravel()
        _, first, inverse = cp.unique(key, return_index=True, return_inverse=True)
        place = inverse.ravel()
    return place.astype(cp.int32), first


def _merged(cells: Array, counts: Array, sums: Array) -> tuple[Array, Array, Array, Array]:
    m, d = cells.shape
    place, first = _rank(cells)
    to_counts = cp.zeros(len(first), cp.uint64)
    to_cells, to_sums = cp.zeros((len(first), d), cp.int64), cp.zeros((len(first), d), cp.uint64)
    args = (place, cells, counts, sums, np.int64(m), np.int32(d), to_cells, to_counts, to_sums)
    _launch("merge_rows", m, *args)
    return place, to_cells, to_counts, to_sums


def merge_cells(cells: Array, counts: Array, sums: Array) -> tuple[Array, Array, Array, Array]:
    """Sort the rows and add up those of the same cell; the last array is where each row went."""
    with cells.device:
        place, *merged = _merged(*map(cp.ascontiguousarray, (cells, counts, sums)))
        return (*merged, place)


def _extent(cells: Array, counts: Array | None = None) -> tuple[Any, Any, int]:
    """Return the lowest and the highest cell along each axis, and the sum of the counts."""
    m, d = cells.shape
    found = cp.zeros(2 * d + 1, cp.uint64)
    w = _NULL if counts is None else counts
    args = (cells, w, np.int64(m), np.int32(d), found)
    _launch("extent_of", m, *args, blocks=min(_blocks(), -(-m // 256)))
    *ends, total = found.get()
    sign = np.uint64(1 << 63)
    low, high = np.array(ends[:d]) ^ ~sign, np.array(ends[d:]) ^ sign
    return low.view(np.int64), high.view(np.int64), int(total)


def _layout(low: Any, high: Any, spare: int) -> tuple[NDArray[np.int64] | None, int]:
    """Return strides and lows of a box with spare cells around; None where keys have no room."""
    extent = [int(b) - int(a) + 1 + 2 * spare for a, b in zip(low, high, strict=True)]
    slots = math.prod(extent)
    if len(extent) > MAX_AXES or slots >= 2**63:
        return None, slots
    strides = [math.prod(extent[j + 1 :]) for j in range(len(extent))]
    return _by_value(np.array([*strides, *map(int, low)], np.int64), 12), slots


# -- the search -----------------------------------------------------------------------------------


def seek_modes(
    cells: Array,
    counts: Array,
    sums: Array,
    period: NDArray[np.int64],
    reach: int,
    tol: float,
    max_iter: int,
    n_threads: int = 1,
) -> tuple[Array, Array, Array, Array, int, bool]:
    """Search a grid; see `_kernel.seek_modes`.

    Where cells cannot be numbered, have a period, or have windows of very many cells, the CPU does
    it: there the cost follows the occupied ones.
    """
    with cells.device:
        low, high, total = _extent(cells, counts)
        layout, slots = _layout(low, high + 1, reach)  # by the tie rule, one cell up is in reach
        bits = min(32, 63 - (2 * reach + 1).bit_length() - total.bit_length())
        wide = (2 * reach + 1) ** cells.shape[1] > MOST_AROUND
        if layout is None or wide or bits < TIE_BITS or period.any():
            grid: Any = map(on_host, (cells, counts, sums))
            options: Any = (period, reach, tol, max_iter, n_threads)
            *arrays, n_iter, converged = _kernel.seek_modes(*grid, *options)
            labels, at, fractions, weights = map(cp.asarray, arrays)
            return labels, at, fractions, weights, n_iter, converged
        return _Search(cells, counts, sums, reach, layout, slots, bits).run(tol, max_iter)


class _Search:
    """The arrays of a search, and its launches: see "the search" in _cuda.cu."""

    def __init__(
        self,
        cells: Array,
        counts: Array,
        sums: Array,
        reach: int,
        layout: NDArray[np.int64],
        slots: int,
        bits: int,
    ) -> None:
        self.m, self.d = cells.shape
        self.reach, self.bits, self.layout = reach, bits, layout
        table = 16 * (self.d + 1)
        self.hashed = slots > max(1 << 16, 64 * self.m) or not _has_room(table * slots)
        rows = 1 << max(10, (4 * self.m - 1).bit_length()) if self.hashed else slots
        self.mask = rows - 1
        self._allocate(rows)
        self._start(cells, counts, sums)

    def _allocate(self, rows: int) -> None:
        """Lay out struct State and what struct Arrays points to, in one zeroed piece of memory."""
        m, d = self.m, self.d
        keys = rows if self.hashed else 0
        pairs = [keys, rows * (d + 1), m, -(-m // 2), m * d, m]  # keys, rows, list, group, ...
        sizes = [14, *(size for size in pairs for _ in range(2))]
        sizes += [-(-m // 2), m, -(-rows // 2), -(-m // 2)]  # arrived, target, entry, parent
        starts = np.cumsum([0, *sizes])
        self.memory = cp.zeros(int(starts[-1]), cp.uint64)
        self.state, self.parent = self.memory[:14], self.memory[int(starts[-2]) :]
        self.arrays = _by_value(self.memory.data.ptr + 8 * starts[1:-1].astype(np.uint64), 16)

    def _name(self, kernel: str) -> str:
        return f"{kernel}<{self.d}, {'true' if self.hashed else 'false'}>"

    def _numbers(self) -> tuple[Any, ...]:
        return self.layout, np.int32(self.reach), np.int32(self.bits)

    def _start(self, cells: Array, counts: Array, sums: Array) -> None:
        grid = (*map(cp.ascontiguousarray, (cells, counts, sums)), np.int64(self.m))
        args = (*grid, self.arrays, np.uint64(self.mask), *self._numbers(), self.state)
        _launch(self._name("set_out"), self.m, *args)

    def run(self, tol: float, max_iter: int) -> tuple[Array, Array, Array, Array, int, bool]:
        name = self._name("search").replace(">", f", {self.reach if self.reach == 1 else 0}>")
        kernel = _compiled(name, True, cp.cuda.runtime.getDevice())
        blocks = min(3 * _here()["processors"], -(-self.m // 128))
        steps, at_rest = 0, 0
        while steps < max_iter and not at_rest:
            until = min(max_iter, steps + BATCH_STEPS)
            mask, tolerance = np.uint64(self.mask), np.float64(tol)
            args = (self.state, self.arrays, mask, *self._numbers(), tolerance, np.uint32(until))
            kernel((blocks,), (256,), args)
            found = self.state.get()
            steps, now, at_rest, full = (int(k) for k in found.view(np.uint32)[24:28])
            if full:
                raise RuntimeError("the table of cells was too small; please report this")
        return (*self._modes(now, int(found[1 + now])), steps, bool(at_rest))

    def _modes(self, now: int, k: int) -> tuple[Array, Array, Array, Array]:
        """Return labels, cells, fractions and weights, heaviest first, ties in cell order."""
        listed = cp.empty((2, k), cp.uint64)  # key and count
        where = (self.arrays, np.int32(now), np.int64(k))
        _launch(self._name("list_modes"), k, *where, *listed)
        ranks: Any = _NULL
        if k > FEW_MODES:
            ranks = cp.empty(k, cp.int64)
            ranks[cp.lexsort(cp.stack([listed[0], ~listed[1]]))] = cp.arange(k)
        cells, weights, _ = _empty_grid(k, self.d)
        fractions = cp.empty((k, self.d), cp.float64)
        labels = cp.empty((2, self.m), cp.int32)  # of groups, of cells
        out = (weights, cells, fractions, labels[0])
        _launch(self._name("read_modes"), k, *where, *self._numbers(), *listed, ranks, *out)
        _launch("end_labels", self.m, self.parent, np.int64(self.m), *labels)
        return labels[1], cells, fractions, weights


# -- new points -----------------------------------------------------------------------------------


def find_cells(
    cells: Array,
    counts: Array,
    query: Array,
    period: NDArray[np.int64],
    reach: int,
    n_threads: int = 1,
) -> Array:
    """Find each query cell, else the heaviest within reach, else -1; see `_kernel.find_cells`."""
    return _near("near_cells", cp.int64, -1, (cells, counts, query), period, reach, n_threads)


def window_counts(
    cells: Array,
    counts: Array,
    query: Array,
    period: NDArray[np.int64],
    reach: int,
    n_threads: int = 1,
) -> Array:
    """Sum the counts within reach of each query cell; see `_kernel.window_counts`."""
    return _near("window_counts", cp.uint64, 0, (cells, counts, query), period, reach, n_threads)


def _near(
    kernel: str,
    dtype: Any,
    nothing: int,
    arrays: tuple[Array, Array, Array],
    period: NDArray[np.int64],
    reach: int,
    n_threads: int,
) -> Array:
    """Ask for what is around query cells, by a hash table of the grid's cells."""
    cells, counts, query = arrays
    with query.device:
        found = cp.full(len(query), nothing, dtype)
        if not len(query) or not len(cells):
            return found
        ends = [_extent(part) for part in (cells, query)]
        low, high = np.minimum(ends[0][0], ends[1][0]), np.maximum(ends[0][1], ends[1][1])
        layout, _ = _layout(low - reach, high, reach)
        wide = (2 * reach + 1) ** cells.shape[1] > MOST_AROUND
        if layout is None or wide or period.any():
            loop = _kernel.find_cells if kernel == "near_cells" else _kernel.window_counts
            on_cpu: Any = (*map(on_host, arrays), period, reach, n_threads)
            return cp.asarray(loop(*on_cpu))
        rows = 1 << max(10, (4 * len(cells) - 1).bit_length())
        keys, index = cp.zeros(rows, cp.uint64), cp.empty(rows, cp.uint32)
        d, mask = cells.shape[1], np.uint64(rows - 1)
        args = (cells, np.int64(len(cells)), layout, keys, mask, index)
        _launch(f"index_cells<{d}>", len(cells), *args)
        asked = (query, np.int64(len(query)), layout, keys, mask, index, counts)
        _launch(f"{kernel}<{d}>", len(query), *asked, np.int32(reach), found)
        return found


def nearest_modes(places: Array, modes: Array, period: NDArray[np.int64]) -> Array:
    """Find the mode nearest to each place; both in cells, and within the period."""
    with places.device:
        labels = cp.empty(len(places), cp.int32)
        n, d = places.shape
        sizes = (np.int64(n), np.int32(d), cp.asarray(period, dtype=cp.float64))
        modes = cp.ascontiguousarray(modes)
        args = (cp.ascontiguousarray(places), *sizes, modes, np.int64(len(modes)), labels)
        _launch("nearest_mode", n, *args)
        return labels


# -- from the host and back -----------------------------------------------------------------------


class Gpu:
    """A GPU to which arrays are copied, whole or a batch at a time."""

    def __init__(self, index: int) -> None:
        try:
            count = cp.cuda.runtime.getDeviceCount()
        except cp.cuda.runtime.CUDARuntimeError:
            count = 0
        if index >= count:
            raise InvalidInputError(
                f"there is no GPU {index}: CUDA sees {count} here; see nvidia-smi"
            )
        self.device = cp.cuda.Device(index)

    def __call__(self, array: Any) -> Array:
        """Copy an array, unless it is there."""
        with self.device:
            return cp.asarray(array)

    def batches(self, points: NDArray[Any]) -> Iterator[tuple[int, Array]]:
        """Give the rows of a host array in order, with the number of the first.

        While one batch is worked on, the next is copied, through memory that the GPU can read by
        itself.
        """
        n, d = points.shape
        rows = max(1, min(n, BATCH_BYTES // (points.dtype.itemsize * d)))
        with self.device:
            copying = cp.cuda.Stream(non_blocking=True)
            stages = [_Stage(rows, d, points.dtype) for _ in range(2)]
            try:
                stages[0].send(points[:rows], copying)
                for number, start in enumerate(range(0, n, rows)):
                    here, other = stages[number % 2], stages[1 - number % 2]
                    if start + rows < n:
                        other.send(points[start + rows : start + 2 * rows], copying)
                    yield start, here.receive()
                    here.free.record()
            finally:
                copying.synchronize()  # before the memory it copies to is given back


class _Stage:
    """A batch on its way: in pinned memory on the host, and its place on the GPU."""

    def __init__(self, rows: int, d: int, dtype: Any) -> None:
        memory = cp.cuda.alloc_pinned_memory(rows * d * dtype.itemsize)
        self.host = np.frombuffer(memory, dtype, rows * d).reshape(rows, d)
        self.there = cp.empty((rows, d), dtype)
        self.sent, self.free = cp.cuda.Event(), cp.cuda.Event()
        self.free.record()
        self.rows = 0

    def send(self, points: NDArray[Any], copying: Any) -> None:
        """Copy a batch, once the one before is done with."""
        self.free.synchronize()
        self.rows = len(points)
        np.copyto(self.host[: self.rows], points)
        self.there[: self.rows].set(self.host[: self.rows], stream=copying)
        self.sent.record(copying)

    def receive(self) -> Array:
        """Give the batch to the current stream, which waits for it."""
        cp.cuda.get_current_stream().wait_event(self.sent)
        return self.there[: self.rows]
