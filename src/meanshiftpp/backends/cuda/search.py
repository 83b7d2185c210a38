"""The search: from a grid to its modes, many steps in one launch."""

from __future__ import annotations

from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from meanshiftpp._kernel import (
    FREE_STEPS,
    OFFSET_BITS,
    TIE_BITS,
    WINDOW_SUM_BITS,
    join_modes,
    rest_limit,
)
from meanshiftpp._support.checks import has_periods
from meanshiftpp._support.devices import current_device, to_host
from meanshiftpp.backends import host
from meanshiftpp.backends.cuda.buckets import Packing, make_packing, suits_buckets
from meanshiftpp.backends.cuda.cells import extent, make_layout
from meanshiftpp.backends.cuda.fallback import run_on_host, supports_windows
from meanshiftpp.backends.cuda.launch import (
    NULL,
    OVERFLOW,
    Array,
    Kernels,
    as_struct,
    cp,
    device_info,
    fits_in_memory,
)
from meanshiftpp.backends.protocol import Cells, Counts, FoundModes, Integers, Sums

_BATCH_STEPS = 256  # steps in a launch; Ctrl-C works between launches
_FEW_MODES = 1024  # up to this many are ranked by comparing each with all others
_STATE_WORDS = 8  # 64-bit words of struct State in state.cuh
_BUCKET_BYTES = 140  # per cell and axis, at most, of a search by buckets
_WAYS = ("dense", "hash", "buckets")  # in the order of the enum in search.cu
_KERNELS = Kernels("search.cu")


def seek_modes(
    cells: Cells,
    counts: Counts,
    sums: Sums,
    cells_per_period: Integers,
    reach: int,
    tol: float,
    max_iter: int,
    n_threads: int,
) -> FoundModes:
    """Search a grid for its modes."""
    with current_device(cells):
        plan = _make_plan(cells, counts, cells_per_period, reach)
        if plan is None:
            grid = (cells, counts, sums, cells_per_period)
            return run_on_host(host.seek_modes, *grid, reach, tol, max_iter, n_threads)
        return _Search(cells, counts, sums, plan).run(tol, max_iter)


class _Plan(NamedTuple):
    """The numbers of a search on the GPU."""

    reach: int
    layout: NDArray[np.int64]  # struct Layout
    n_keys: int
    bits: int  # of a position in its cell
    packing: Packing | None  # if windows are summed by buckets


def _make_plan(cells: Array, counts: Array, cells_per_period: Integers, reach: int) -> _Plan | None:
    """Plan the search of a grid; None for a case of the host.

    These are windows that the kernels do not support, boxes with too many cells for keys, buckets
    that take too much memory, and a total weight that leaves too few bits for positions.
    """
    m, d = cells.shape
    few_cells = supports_windows(d, cells_per_period, reach)
    by_buckets = suits_buckets(d, reach) and not has_periods(cells_per_period)
    if not few_cells and not by_buckets:
        return None
    low, high, total = extent(cells, counts)
    high = [cell + 1 for cell in high]  # the tie rule may lead one cell beyond the highest
    layout, n_keys = make_layout(low, high, reach)
    bits = min(OFFSET_BITS, WINDOW_SUM_BITS - (2 * reach + 1).bit_length() - total.bit_length())
    if layout is None or bits < TIE_BITS:
        return None
    if by_buckets and not fits_in_memory(_BUCKET_BYTES * m * d):
        return None
    packing = make_packing(low, high, reach, m) if by_buckets else None
    if packing is None and not few_cells:
        return None
    return _Plan(reach, layout, n_keys, bits, packing)


class _Search:
    """The arrays of a search, and its launches."""

    def __init__(self, cells: Array, counts: Array, sums: Array, plan: _Plan) -> None:
        self.m, self.d = cells.shape
        self.plan = plan
        self.way, self.n_rows = self._choose_table()
        self._allocate()
        self._start(cells, counts, sums)

    def _choose_table(self) -> tuple[str, int]:
        """Return where rows are and how windows are summed, and the number of rows."""
        m, n_keys = self.m, self.plan.n_keys
        if self.plan.packing:
            return "buckets", 1 << (2 * m - 1).bit_length()
        bytes_per_row = 16 * (self.d + 1)  # in both tables
        if n_keys <= max(1 << 16, 64 * m) and fits_in_memory(bytes_per_row * n_keys):
            return "dense", n_keys
        return "hash", 1 << max(10, (4 * m - 1).bit_length())

    def _allocate(self) -> None:
        """Allocate struct State and the arrays of struct Arrays in one zeroed block of memory."""
        m, d, n_rows = self.m, self.d, self.n_rows
        half = -(-m // 2)  # words of m 32-bit numbers
        keys = 0 if self.way == "dense" else n_rows
        pairs = [keys, n_rows * (d + 1), m, half]  # keys, rows, list, group
        sizes = [_STATE_WORDS, *(size for size in pairs for _ in range(2))]
        sizes += [m * d, m, m, -(-n_rows // 2)]  # position, weight, target, entry
        packing = self.plan.packing
        sizes += packing.sizes(m, d) if packing else [0] * Packing.N_ARRAYS
        sizes += [half]  # parent
        *starts, end = accumulate(size + size % 2 for size in sizes)  # each starts at 16 bytes
        self.memory = cp.zeros(end, cp.uint64)
        self.state, self.parent = self.memory[:_STATE_WORDS], self.memory[starts[-1] :]
        first = self.memory.data.ptr
        self.arrays = as_struct((first + 8 * start for start in starts), len(starts), np.uint64)

    def _name(self, kernel: str) -> str:
        return f"{kernel}<{self.d}, {'false' if self.way == 'dense' else 'true'}>"

    def _mask(self) -> np.uint64:
        return np.uint64(self.n_rows - 1)

    def _numbers(self) -> tuple[Any, ...]:
        return self.plan.layout, np.int32(self.plan.reach), np.int32(self.plan.bits)

    def _start(self, cells: Array, counts: Array, sums: Array) -> None:
        grid = (*map(cp.ascontiguousarray, (cells, counts, sums)), np.int64(self.m))
        args = (*grid, self.arrays, self._mask(), *self._numbers(), self.state)
        _KERNELS.launch(self._name("start_search"), self.m, *args)

    def _launch(self, rule: NDArray[Any], until: int) -> None:
        """Take steps until a given one, or until the search is done."""
        fixed_reach = 1 if self.plan.reach == 1 and self.way != "buckets" else 0  # 0: at run time
        name = f"search<{self.d}, {_WAYS.index(self.way)}, {fixed_reach}>"
        kernel = _KERNELS.get(name, cooperative=True)
        packing = self.plan.packing.struct if self.plan.packing else Packing.NONE
        args = (self.state, self.arrays, self._mask(), packing, *self._numbers())
        cells_per_block = 8 if self.way == "buckets" else 128
        blocks = min(3 * device_info().processors, -(-self.m // cells_per_block))
        kernel((blocks,), (256,), (*args, rule, np.uint32(until)))

    def run(self, tol: float, max_iter: int) -> FoundModes:
        """Run launches of _BATCH_STEPS steps until the search is done."""
        reach, bits = self.plan.reach, self.plan.bits
        limits = rest_limit(FREE_STEPS + 1, tol, bits, reach), (2 * reach + 1) << bits
        rule = as_struct(limits, len(limits), np.uint64)
        steps, done = 0, 0
        while steps < max_iter and not done:
            self._launch(rule, min(max_iter, steps + _BATCH_STEPS))
            state = self.state.get()
            steps, now, done, overflow, rested, _ = (int(k) for k in state[5:8].view(np.uint32))
            if overflow:
                raise RuntimeError(OVERFLOW)
        found = self._modes(now, int(state[1 + now]), steps, bool(done))
        return _joined(found, reach) if done and rested else found

    def _modes(self, now: int, k: int, steps: int, converged: bool) -> FoundModes:
        """Return the k modes of a table, heaviest first, ties in cell order."""
        table = (self.arrays, np.int32(now), np.int64(k))
        ranks: Any = NULL
        if k > _FEW_MODES:
            keys_counts = cp.empty((2, k), cp.uint64)
            _KERNELS.launch(self._name("list_modes"), k, *table, *keys_counts)
            keys, counts = keys_counts
            ranks = cp.empty(k, cp.int64)
            ranks[cp.lexsort(cp.stack([keys, ~counts]))] = cp.arange(k)
        cells, fractions = cp.empty((k, self.d), cp.int64), cp.empty((k, self.d), cp.float64)
        weights = cp.empty(k, cp.float64)
        group_labels, cell_labels = cp.empty((2, self.m), cp.int32)
        out = (weights, cells, fractions, group_labels)
        _KERNELS.launch(self._name("write_modes"), k, *table, *self._numbers(), ranks, *out)
        args = (self.parent, np.int64(self.m), group_labels, cell_labels)
        _KERNELS.launch("label_cells", self.m, *args)
        return FoundModes(cell_labels, cells, fractions, weights, steps, converged)


def _joined(found: FoundModes, reach: int) -> FoundModes:
    """Join modes that are in each other's window; the host does it, because it is seldom needed."""
    cells, weights = to_host(found.cells), to_host(found.weights).astype(np.uint64)
    no_period = np.zeros(cells.shape[1], np.int64)
    labels, kept, weights = map(cp.asarray, join_modes(cells, weights, no_period, reach, 1))
    return found._replace(
        cell_labels=labels[found.cell_labels],
        cells=found.cells[kept],
        fractions=found.fractions[kept],
        weights=weights.astype(np.float64),
    )
