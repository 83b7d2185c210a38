"""The search: from a grid to its modes, many steps in one launch."""

from __future__ import annotations

from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from meanshiftpp import _kernel
from meanshiftpp._support.devices import to_host
from meanshiftpp.backends.cuda.cells import MOST_AROUND, extent, lay_out
from meanshiftpp.backends.cuda.launch import (
    FULL,
    NULL,
    Array,
    Kernels,
    by_value,
    cp,
    has_room,
    here,
)

TIE_BITS = 20  # of a position that has to be kept: see kernel/seek.hpp
BATCH_STEPS = 256  # steps of a search between two looks for Ctrl-C
FEW_MODES = 1024  # ranked by comparing each with each
_KERNELS = Kernels("search.cu")


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
    """Search a grid; see `_kernel.seek_modes`. The weights of the modes are doubles here.

    Where cells cannot be numbered, have a period, or have windows of very many cells, the CPU does
    it: there the cost follows the occupied ones.
    """
    with cells.device:
        low, high, total = extent(cells, counts)
        up = [cell + 1 for cell in high]  # where the tie rule may lead
        layout, slots = lay_out(low, up, reach)
        bits = min(32, 63 - (2 * reach + 1).bit_length() - total.bit_length())
        wide = (2 * reach + 1) ** cells.shape[1] > MOST_AROUND
        if layout is None or wide or bits < TIE_BITS or period.any():
            grid: Any = map(to_host, (cells, counts, sums))
            options: Any = (period, reach, tol, max_iter, n_threads)
            *arrays, n_iter, converged = _kernel.seek_modes(*grid, *options)
            labels, at, fractions, weights = map(cp.asarray, arrays)
            return labels, at, fractions, weights.astype(cp.float64), n_iter, converged
        return _Search(cells, counts, sums, reach, layout, slots, bits).run(tol, max_iter)


class _Search:
    """The arrays of a search, and its launches."""

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
        self.hashed = slots > max(1 << 16, 64 * self.m) or not has_room(table * slots)
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
        *starts, end = accumulate(sizes)
        self.memory = cp.zeros(end, cp.uint64)
        self.state, self.parent = self.memory[:14], self.memory[starts[-1] :]
        first = self.memory.data.ptr
        self.arrays = by_value((first + 8 * start for start in starts), 16, np.uint64)

    def _name(self, kernel: str) -> str:
        return f"{kernel}<{self.d}, {'true' if self.hashed else 'false'}>"

    def _numbers(self) -> tuple[Any, ...]:
        return self.layout, np.int32(self.reach), np.int32(self.bits)

    def _start(self, cells: Array, counts: Array, sums: Array) -> None:
        grid = (*map(cp.ascontiguousarray, (cells, counts, sums)), np.int64(self.m))
        args = (*grid, self.arrays, np.uint64(self.mask), *self._numbers(), self.state)
        _KERNELS.launch(self._name("set_out"), self.m, *args)

    def run(self, tol: float, max_iter: int) -> tuple[Array, Array, Array, Array, int, bool]:
        """Take steps until nothing moves; BATCH_STEPS in a launch."""
        name = self._name("search").replace(">", f", {self.reach if self.reach == 1 else 0}>")
        kernel = _KERNELS.get(name, cooperative=True)
        blocks = min(3 * here()["processors"], -(-self.m // 128))
        steps, at_rest = 0, 0
        while steps < max_iter and not at_rest:
            until = min(max_iter, steps + BATCH_STEPS)
            mask, tolerance = np.uint64(self.mask), np.float64(tol)
            args = (self.state, self.arrays, mask, *self._numbers(), tolerance, np.uint32(until))
            kernel((blocks,), (256,), args)
            found = self.state.get()
            steps, now, at_rest, full = (int(k) for k in found.view(np.uint32)[24:28])
            if full:
                raise RuntimeError(FULL)
        return (*self._modes(now, int(found[1 + now])), steps, bool(at_rest))

    def _modes(self, now: int, k: int) -> tuple[Array, Array, Array, Array]:
        """Return labels, cells, fractions and weights, heaviest first, ties in cell order."""
        where = (self.arrays, np.int32(now), np.int64(k))
        ranks: Any = NULL
        if k > FEW_MODES:
            listed = cp.empty((2, k), cp.uint64)  # key and count
            _KERNELS.launch(self._name("list_modes"), k, *where, *listed)
            ranks = cp.empty(k, cp.int64)
            ranks[cp.lexsort(cp.stack([listed[0], ~listed[1]]))] = cp.arange(k)
        cells, fractions = cp.empty((k, self.d), cp.int64), cp.empty((k, self.d), cp.float64)
        weights = cp.empty(k, cp.float64)
        labels = cp.empty((2, self.m), cp.int32)  # of groups, of cells
        out = (weights, cells, fractions, labels[0])
        _KERNELS.launch(self._name("read_modes"), k, *where, *self._numbers(), ranks, *out)
        _KERNELS.launch("end_labels", self.m, self.parent, np.int64(self.m), *labels)
        return labels[1], cells, fractions, weights
