"""Sums of grids: which grids can be added, and sums of many of them, of chunks or of batches.

The cost of a sum is in proportion to the grids that are added.
"""

from __future__ import annotations

import math
from typing import Any, Generic, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from meanshiftpp._kernel import OFFSET_BITS
from meanshiftpp._support.checks import Weights, as_weights
from meanshiftpp._support.text import pluralize
from meanshiftpp.backends.protocol import Gpu
from meanshiftpp.core.chunk import Chunk
from meanshiftpp.core.rows import Rows, merge_rows
from meanshiftpp.errors import GridMismatchError

_TOTAL_BITS = 34  # of a sum of real weights; a search at the highest resolution adds up 2**35


class Summand(Protocol):
    """The part of `Grid` that a sum uses; `Grid` itself is made of sums."""

    # ruff: noqa: D102 - `Grid` documents these
    @property
    def bandwidth(self) -> NDArray[np.float64]: ...
    @property
    def cells_per_period(self) -> NDArray[np.int64]: ...
    @property
    def unit(self) -> float: ...
    @property
    def whole(self) -> bool: ...
    @property
    def device(self) -> str: ...
    @property
    def n_features(self) -> int: ...
    @property
    def rows(self) -> Rows: ...
    def __len__(self) -> int: ...
    def __add__(self, other: object) -> Self: ...
    def with_rows(self, rows: Rows, unit: float, whole: bool) -> Self: ...
    def bin(
        self, X: Any, *, sample_weight: Any = None, n_threads: int | None = None
    ) -> tuple[Self, Any]: ...


G = TypeVar("G", bound=Summand)


def check_width(n_features: int, expected: int, name: str) -> None:
    """Raise `GridMismatchError` if a chunk or a part of a sum has other features."""
    if n_features != expected:
        raise GridMismatchError(
            f"{name} has {pluralize(n_features, 'feature')}, but {expected} were expected"
        )


def check_addable(one: Summand, other: Summand) -> None:
    """Raise `GridMismatchError` if two grids cannot be added."""
    if one.device != other.device:
        raise GridMismatchError(
            f"grids on {one.device} and {other.device} cannot be added; move one with Grid.to()"
        )
    if one.n_features != other.n_features:
        raise GridMismatchError(
            f"grids of {one.n_features} and {other.n_features} features cannot be added"
        )
    if not np.array_equal(one.bandwidth, other.bandwidth):
        raise GridMismatchError(
            f"grids of bandwidth {one.bandwidth} and {other.bandwidth} cannot be added; "
            "bin again with one bandwidth, or coarsen the finer one in Python (Grid.coarsen)"
        )
    if not np.array_equal(one.cells_per_period, other.cells_per_period):
        raise GridMismatchError(
            f"grids of {one.cells_per_period} and {other.cells_per_period} cells per period "
            "cannot be added; bin again with one period"
        )


def common_unit(one: Summand, other: Summand) -> float:
    """Return the finer of two units, or one coarse enough for the sum.

    Its heaviest cell must fit the offsets, and its total the search, however light one of many
    chunks is. Only real weights are ever rounded to a coarser unit; whole weights stay exact or
    raise.
    """
    if not len(one) or not len(other):
        return other.unit if not len(one) else one.unit
    unit = min(one.unit, other.unit)
    if one.whole and other.whole:
        return unit
    peak = sum(int(grid.rows.counts.max()) * grid.unit for grid in (one, other))
    total = sum(int(grid.rows.counts.sum()) * grid.unit for grid in (one, other))
    limits = ((peak, OFFSET_BITS), (total, _TOTAL_BITS))
    return max(unit, *(math.ldexp(1.0, math.frexp(size)[1] - bits) for size, bits in limits))


class GridSum(Generic[G]):
    """A sum of grids, which wait until they are as large as the sum and are then merged at once.

    Adding a grid therefore costs in proportion to that grid, however large the sum has grown.
    """

    def __init__(self, start: G) -> None:
        self._total = start
        self._waiting: list[G] = []
        self._n_waiting = 0

    def add(self, grid: G, name: str = "a grid") -> None:
        """Add a grid; one that cannot be added raises at once, with its name."""
        check_width(grid.n_features, self._total.n_features, name)
        check_addable(self._total, grid)
        self._waiting.append(grid)
        self._n_waiting += len(grid)
        if self._n_waiting > len(self._total):
            self.total()

    def add_chunk(self, chunk: Chunk, *, n_threads: int | None = None) -> None:
        """Bin a chunk and add its grid; an error states the place in the chunk's file."""
        if chunk.points.ndim == 2:
            check_width(chunk.points.shape[1], self._total.n_features, chunk.source)
        with chunk.locating_errors():
            grid, _ = self._total.bin(chunk.points, sample_weight=chunk.weight, n_threads=n_threads)
        self.add(grid, chunk.source)

    def total(self) -> G:
        """Return the sum so far."""
        parts = [grid for grid in (self._total, *self._waiting) if len(grid)]
        self._waiting, self._n_waiting = [], 0
        if parts and all(grid.whole for grid in parts):
            rows = merge_rows(grid.rows for grid in parts)
            self._total = self._total.with_rows(rows, 1.0, whole=True)
        elif parts:
            for grid in parts[1:]:
                parts[0] = parts[0] + grid
            self._total = parts[0]
        return self._total


def bin_on_gpu(
    gpu: Gpu, empty: G, points: NDArray[np.generic], sample_weight: ArrayLike | None
) -> G:
    """Bin points of the host on a GPU, batch by batch, into cells like those of an empty grid."""
    weights = None if sample_weight is None else as_weights(sample_weight, points)
    total = GridSum(empty.with_rows(Rows(*map(gpu, empty.rows)), 1.0, whole=True))
    for first, batch in gpu.batches(points):
        part = None
        if weights:
            counts = gpu(weights.counts[first : first + len(batch)])
            part = Weights(counts, counts, 1.0, whole=True)  # the sum gets the unit
        total.add_chunk(Chunk(batch, part, first=first))
    grid = total.total()
    return grid.with_rows(grid.rows, weights.unit, weights.whole) if weights else grid
