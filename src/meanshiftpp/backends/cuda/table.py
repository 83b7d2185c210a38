"""A table of sums: from its occupied rows to a grid, and from their labels to those of points."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from meanshiftpp.backends.cuda.box import Box
from meanshiftpp.backends.cuda.cells import empty_grid
from meanshiftpp.backends.cuda.launch import NULL, Array, Kernels, cp, here

LIST_BLOCKS = 256
_KERNELS = Kernels("table.cu")


class Assignment:
    """Where the points went: the cell behind each id that was written for them."""

    def __init__(self, rows: int, occupied: Array, n_cells: int) -> None:
        self.rows, self.occupied, self.n_cells = rows, occupied, n_cells
        self.cells: Array | None = None  # of the occupied rows; None: in order
        self.outside: Array | None = None  # the cell of each point outside the box

    def take(self, values: Array, ids: Array, labels: Array) -> None:
        """OUT labels[i] = values[cell of point i], -1 without one; `labels` may be `ids`."""
        if len(values) != self.n_cells:
            raise ValueError(f"values must have {self.n_cells} rows, got {len(values)}")
        with ids.device:
            self._take(values, ids, labels)

    def _take(self, values: Array, ids: Array, labels: Array) -> None:
        inside = values if self.cells is None else values[self.cells]
        outside: Any = NULL
        if self.outside is not None:
            padded = cp.concatenate([values, cp.full(1, -1, cp.int32)])
            outside = padded[self.outside]  # -1 picks the last
        n, size, device = len(ids), 4 * self.rows, here()
        listed = (self.occupied, inside, np.int64(len(self.occupied)))
        rows = np.int32(self.rows)
        if size <= device["shared"] and n > 16 * self.rows:  # one launch instead of three
            blocks = device["processors"] * (1 if size > device["shared"] // 2 else 2)
            args = (ids, np.int64(n), *listed, rows, NULL, outside, labels)
            _KERNELS.launch("take", 0, *args, threads=1024, blocks=blocks, shared=size)
        else:
            of = cp.empty(self.rows, cp.int32)
            of.data.memset_async(0xFF, of.nbytes)  # -1
            _KERNELS.launch("spread", len(self.occupied), *listed, of)
            args = (ids, np.int64(n), *listed, rows, of, outside, labels)
            _KERNELS.launch("take", -(-n // 4), *args)


@dataclass(frozen=True)
class Table:
    """Rows of sums, some of them occupied."""

    sums: Array
    keys: Array | None  # of each row; None: a row is a key
    lift: int  # what stored keys are higher by
    counts: Array  # occupied rows in each block's part
    occupied: int
    outside: Array  # the points outside the box

    def grid(self, box: Box) -> tuple[Array, Array, Array, Assignment]:
        """Make a grid of the occupied rows, sorted."""
        m, d = self.occupied, self.sums.shape[1] - 1
        rows, axes = np.int64(len(self.sums)), np.int32(d)
        occupied = cp.empty(m, cp.int64)
        grid = empty_grid(m, d)
        written: Any = grid if self.keys is None else (NULL, NULL, NULL)
        args = (self.sums, rows, axes, self.counts, occupied, box.numbers, *written)
        _KERNELS.launch("list_rows", 0, *args, blocks=LIST_BLOCKS)
        if self.keys is not None:
            occupied = occupied[cp.argsort(self.keys[occupied])]
            order = (occupied, self.keys, np.int32(self.lift), np.int64(m), axes)
            _KERNELS.launch("collect", m, *order, box.numbers, self.sums, *grid)
        return (*grid, Assignment(len(self.sums), occupied, m))


def count_rows(sums: Array, counts: Array) -> None:
    """OUT counts: the occupied rows in each block's part of a table."""
    sizes = (np.int64(len(sums)), np.int32(sums.shape[1] - 1))
    _KERNELS.launch("count_rows", 0, sums, *sizes, counts, blocks=LIST_BLOCKS)
