"""Sums of many grids, at a cost in proportion to the grids that are added."""

from __future__ import annotations

from typing import Any, Generic, Protocol, Self, TypeVar

from meanshiftpp.core.chunk import Chunk
from meanshiftpp.core.rows import Rows, merge_rows
from meanshiftpp.errors import GridMismatchError


class Summand(Protocol):
    """The part of `Grid` that a sum uses; `Grid` itself is made of sums."""

    # ruff: noqa: D102 - `Grid` documents these
    @property
    def unit(self) -> float: ...
    @property
    def n_features(self) -> int: ...
    @property
    def rows(self) -> Rows: ...
    def __len__(self) -> int: ...
    def __add__(self, other: object) -> Self: ...
    def with_rows(self, rows: Rows, unit: float) -> Self: ...
    def check_addable(self, other: Any) -> None: ...
    def bin(
        self, X: Any, *, sample_weight: Any = None, n_threads: int | None = None
    ) -> tuple[Self, Any]: ...


G = TypeVar("G", bound=Summand)


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
        self._check_width(grid.n_features, name)
        self._total.check_addable(grid)
        self._waiting.append(grid)
        self._n_waiting += len(grid)
        if self._n_waiting > len(self._total):
            self.grid()

    def add_chunk(self, chunk: Chunk, *, n_threads: int | None = None) -> None:
        """Bin a chunk and add its grid; an error states the place in the chunk's file."""
        if chunk.points.ndim == 2:
            self._check_width(chunk.points.shape[1], chunk.source)
        with chunk.locating_errors():
            grid, _ = self._total.bin(chunk.points, sample_weight=chunk.weight, n_threads=n_threads)
        self.add(grid, chunk.source)

    def grid(self) -> G:
        """Return the sum so far."""
        parts = [grid for grid in (self._total, *self._waiting) if len(grid)]
        self._waiting, self._n_waiting = [], 0
        if parts and all(grid.unit == 1 for grid in parts):
            self._total = self._total.with_rows(merge_rows(grid.rows for grid in parts), 1.0)
        elif parts:
            for grid in parts[1:]:
                parts[0] = parts[0] + grid
            self._total = parts[0]
        return self._total

    def _check_width(self, n_features: int, name: str) -> None:
        if n_features != self._total.n_features:
            raise GridMismatchError(
                f"{name} has {n_features} features, but {self._total.n_features} were expected"
            )
