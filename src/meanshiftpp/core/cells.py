"""The content of a grid: occupied cells with their counts and sums, a value that does not change.

`Grid` makes these values from points, adds them and coarsens them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from meanshiftpp._kernel import OFFSET_BITS
from meanshiftpp._support.checks import has_periods
from meanshiftpp._support.devices import device_of, module_of, on_gpu, to_host
from meanshiftpp._support.text import pluralize
from meanshiftpp.core.rows import Rows


@dataclass(frozen=True, eq=False, repr=False)
class Cells:
    """The attributes of `Grid`, and what follows from them."""

    bandwidth: NDArray[np.float64]
    cells: NDArray[np.int64]
    counts: NDArray[np.uint64]
    sums: NDArray[np.uint64]
    unit: float = 1.0
    cells_per_period: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    whole: bool = field(default=None)  # type: ignore[assignment]  # set below

    def __post_init__(self) -> None:
        if vars(self)["whole"] is None:
            object.__setattr__(self, "whole", self.unit == 1)
        if len(self.cells_per_period) == 0:
            object.__setattr__(self, "cells_per_period", np.zeros(len(self.bandwidth), np.int64))
        rows = () if on_gpu(self.cells) else (self.cells, self.counts, self.sums)
        for array in (self.bandwidth, *rows, self.cells_per_period):
            array.flags.writeable = False

    @property
    def n_features(self) -> int:
        """Number of features (axes)."""
        return len(self.bandwidth)

    @property
    def rows(self) -> Rows:
        """The cells with their counts and sums."""
        return Rows(self.cells, self.counts, self.sums)

    @property
    def weights(self) -> NDArray[np.float64]:
        """Weight in each cell: `counts` times `unit`."""
        weights: NDArray[np.float64] = self.counts.astype(np.float64) * self.unit
        return weights

    @property
    def total(self) -> float:
        """Weight of all points together; a whole number unless real weights were given."""
        count = int(self.counts.sum())
        return count if self.whole else count * self.unit

    @property
    def means(self) -> NDArray[np.float64]:
        """Mean of the points in each cell, in data units."""
        positions = self.cells + self.sums / self.counts[:, None] * 2.0**-OFFSET_BITS
        means: NDArray[np.float64] = positions * module_of(positions).asarray(self.bandwidth)
        return means

    @property
    def periods(self) -> list[float | None]:
        """Period of each feature in data units, None for a feature without one."""
        lengths = (self.cells_per_period * self.bandwidth).tolist()
        return [length or None for length in lengths]

    def __len__(self) -> int:
        return len(self.counts)

    def __repr__(self) -> str:
        h = self.bandwidth
        size = f"{h[0]:g}" if (h == h[0]).all() else np.array2string(h, precision=6, threshold=8)
        shape = f"{pluralize(len(self), 'cell')}, {pluralize(self.n_features, 'feature')}"
        content = f"weight {self.total:,}, bandwidth {size}{self._period_repr()}"
        return f"{type(self).__name__}({shape}, {content})"

    def _period_repr(self) -> str:
        if not has_periods(self.cells_per_period):
            return ""
        lengths = ["None" if length is None else f"{length:g}" for length in self.periods]
        return ", period " + (lengths[0] if len(lengths) == 1 else f"({', '.join(lengths)})")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Cells):
            return NotImplemented
        return (self.unit, self.whole) == (other.unit, other.whole) and all(
            np.array_equal(to_host(a), to_host(b))
            for a, b in zip(self._arrays(), other._arrays(), strict=True)
        )

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[type[Self], tuple[Any, ...]]:
        return type(self), (
            self.bandwidth,
            *self.rows,
            self.unit,
            self.cells_per_period,
            self.whole,
        )

    def _arrays(self) -> tuple[NDArray[Any], ...]:
        return self.bandwidth, *self.rows, self.cells_per_period

    @property
    def device(self) -> str:
        """The device of the grid: "cpu", or "cuda:0" for the first GPU, and so on."""
        return device_of(self.cells)
