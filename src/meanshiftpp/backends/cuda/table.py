"""A table of sums: from its occupied rows to a grid, and from their labels to those of points."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from meanshiftpp._support.devices import current_device
from meanshiftpp.backends.cuda.box import Box
from meanshiftpp.backends.cuda.cells import empty_grid
from meanshiftpp.backends.cuda.launch import NULL, Array, Kernels, cp, device_info
from meanshiftpp.backends.protocol import Labels

LIST_BLOCKS = 256
_KERNELS = Kernels("table.cu")


@dataclass(frozen=True)
class TableAssignment:
    """The cell of each point. Its id is a row of a table, or -1 - k for the k-th point outside."""

    n_rows: int
    occupied: Array  # rows
    n_cells: int
    cell_of_row: Array | None = None  # for each occupied row; None: in the same order
    cell_outside: Array | None = None  # for each point outside the box; -1 for none

    def take(self, values: Labels, ids: Labels, labels: Labels) -> None:
        """OUT labels[i] = values[cell of point i], -1 for none; `labels` may be `ids`."""
        if len(values) != self.n_cells:
            raise ValueError(f"values must have {self.n_cells} rows, got {len(values)}")
        with current_device(ids):
            self._take(values, ids, labels)

    def _take(self, values: Array, ids: Array, labels: Array) -> None:
        inside = values if self.cell_of_row is None else values[self.cell_of_row]
        outside: Any = NULL
        if self.cell_outside is not None:
            padded = cp.concatenate([values, cp.full(1, -1, cp.int32)])
            outside = padded[self.cell_outside]  # -1 picks the last
        n, size, info = len(ids), 4 * self.n_rows, device_info()
        rows = (self.occupied, inside, np.int64(len(self.occupied)))
        n_rows = np.int32(self.n_rows)
        if size <= info.shared_bytes and n > 16 * self.n_rows:  # one launch instead of three
            blocks = info.processors * (1 if size > info.shared_bytes // 2 else 2)
            args = (ids, np.int64(n), *rows, n_rows, NULL, outside, labels)
            _KERNELS.launch("take", 0, *args, threads=1024, blocks=blocks, shared=size)
        else:
            value_of_row = cp.empty(self.n_rows, cp.int32)
            value_of_row.data.memset_async(0xFF, value_of_row.nbytes)  # -1
            _KERNELS.launch("spread", len(self.occupied), *rows, value_of_row)
            args = (ids, np.int64(n), *rows, n_rows, value_of_row, outside, labels)
            _KERNELS.launch("take", -(-n // 4), *args)


@dataclass(frozen=True)
class Table:
    """Rows of sums, some of them occupied."""

    sums: Array
    keys: Array | None  # of each row; None: a row is its key
    key_shift: int  # keys are stored plus this
    counts: Array  # occupied rows in each block's part
    n_occupied: int
    outside: Array  # the points outside the box

    def collect(self, box: Box) -> tuple[Array, Array, Array, TableAssignment]:
        """Return cells, counts and sums of the occupied rows in cell order, and the assignment."""
        m, d = self.n_occupied, self.sums.shape[1] - 1
        n_rows, axes = np.int64(len(self.sums)), np.int32(d)
        occupied = cp.empty(m, cp.int64)
        grid = empty_grid(m, d)
        written: Any = grid if self.keys is None else (NULL, NULL, NULL)
        args = (self.sums, n_rows, axes, self.counts, occupied, box.numbers, *written)
        _KERNELS.launch("list_rows", 0, *args, blocks=LIST_BLOCKS)
        if self.keys is not None:
            occupied = occupied[cp.argsort(self.keys[occupied])]
            order = (occupied, self.keys, np.int32(self.key_shift), np.int64(m), axes)
            _KERNELS.launch("collect", m, *order, box.numbers, self.sums, *grid)
        return *grid, TableAssignment(len(self.sums), occupied, m)


def count_rows(sums: Array, counts: Array) -> None:
    """OUT counts: the occupied rows in each block's part of a table."""
    sizes = (np.int64(len(sums)), np.int32(sums.shape[1] - 1))
    _KERNELS.launch("count_rows", 0, sums, *sizes, counts, blocks=LIST_BLOCKS)
