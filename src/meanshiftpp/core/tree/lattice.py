"""The lattice of a tree: the whole coordinates in which its points are sorted and measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from meanshiftpp._support.devices import module_of
from meanshiftpp.core.tree.marginals import Marginal

PERIOD_BITS = 30  # a period has 2**30 cells
_UNIT_STEP = 4.0  # features whose spreads differ by less than the root of this share a unit
_LEAST_RATIO = 2.0**-60  # of spreads
_LEAST_BITS = 15  # of the coordinates of the middle 98 % of a feature


@dataclass(frozen=True, eq=False)
class Lattice:
    """Cells of the same size along all features, in the units of a tree.

    A value x has the coordinate ``(floor(x / cell_size) - low) >> shift``. Points outside of the
    `extent` are not part of the tree; they are far beyond nearly all others.

    Attributes
    ----------
    cell_size, cells_per_period, low, extent, shift : ndarray of shape (n_features,)
        The fine cells, their number in a period (0 for none), the first of them, how many there
        are, and how many bits of their number are dropped. A constant feature has one cell.
    scale : ndarray of shape (n_features,)
        The length of one coordinate in the tree; 1 for features without a period.
    units : ndarray of shape (n_features,)
        The length in data units of 1 in the tree; 0 for a constant feature.
    constants : ndarray of shape (n_features,)
        The median of each feature, for those whose values all have the same coordinate.
    """

    cell_size: NDArray[np.float64]
    cells_per_period: NDArray[np.int64]
    low: NDArray[np.int64]
    extent: NDArray[np.int64]
    shift: NDArray[np.int64]
    scale: NDArray[np.float64]
    units: NDArray[np.float64]
    constants: NDArray[np.float64]

    @classmethod
    def of_marginals(
        cls, marginals: Sequence[Marginal], units: NDArray[np.float64], margins: NDArray[np.float64]
    ) -> Self:
        """Return the finest lattice whose codes fit; `margins` is room beyond the limits.

        `units` are powers of two, relative to each other; 0 leaves a feature out.
        """
        d = len(marginals)
        times = 2.0 ** max(code_bits(d) - _LEAST_BITS, 0)
        cell_size, low, extent = np.ones(d), np.full(d, -2), np.full(d, 4)
        period, sizes = np.zeros(d, np.int64), np.zeros(d)
        for j, (marginal, unit, margin) in enumerate(zip(marginals, units, margins, strict=True)):
            if marginal.period:
                cell_size[j] = np.ldexp(marginal.period, -PERIOD_BITS)
                low[j], period[j], extent[j] = 0, 1 << PERIOD_BITS, 1 << PERIOD_BITS
            elif unit:
                cell_size[j] = np.ldexp(1.0, marginal.fine_level)
                ends = np.array(marginal.limits(times)) + np.array([-margin, margin])
                first, last = np.floor(ends / cell_size[j])
                low[j], extent[j] = int(first), int(last - first) + 1
            else:
                largest = max(abs(marginal.low), abs(marginal.high))
                cell_size[j] = np.ldexp(1.0, np.clip(np.frexp(largest)[1], -1000, 1023))
            sizes[j] = cell_size[j] / unit if unit else 0.0
        constants = np.array([marginal.median for marginal in marginals])
        return cls._fitted(cell_size, period, low, extent, units, sizes, constants)

    @classmethod
    def _fitted(
        cls,
        cell_size: NDArray[np.float64],
        period: NDArray[np.int64],
        low: NDArray[np.int64],
        extent: NDArray[np.int64],
        units: NDArray[np.float64],
        sizes: NDArray[np.float64],
        constants: NDArray[np.float64],
    ) -> Self:
        """Drop bits until all coordinates have the same size, and fit the codes."""
        used = units > 0
        bits = code_bits(len(units))
        size = float(
            np.ldexp(1.0, int(np.ceil(np.log2(sizes.max(where=used, initial=0.0) or 1.0))))
        )
        lengths = np.where(used, extent * sizes / size, 1.0)  # of each feature, in coordinates
        size *= 2.0 ** max(0, int(np.ceil(np.log2(lengths.max() / 2.0**bits))))
        shift = np.where(period > 0, PERIOD_BITS, 2)  # all values are in one coordinate
        bits_dropped = np.rint(np.log2(size) - np.log2(sizes[used]))
        shift[used] = np.minimum(bits_dropped, 62).astype(np.int64)
        turns = used & (period > 0)
        shift[turns] = np.clip(shift[turns], PERIOD_BITS - bits, PERIOD_BITS - 3)
        scale = np.where(used, np.ldexp(sizes, shift) / size, 1.0)
        units = np.where(used, units * size, 0.0)
        return cls(cell_size, period, low, extent, shift, scale, units, constants)

    @property
    def period(self) -> NDArray[np.float64]:
        """The period of each feature in the tree; 0 for none."""
        return np.ldexp(self.cells_per_period.astype(np.float64), -self.shift) * self.scale

    @property
    def used(self) -> NDArray[np.bool_]:
        """Which features the tree measures."""
        return self.units > 0

    def positions(self, X: NDArray[np.generic]) -> NDArray[np.float64]:
        """Return the positions of points in the tree, without rounding to coordinates."""
        xp = module_of(X)
        cells = X.astype(np.float64) / xp.asarray(self.cell_size) - xp.asarray(self.low * 1.0)
        positions: NDArray[np.float64] = cells * xp.asarray(np.ldexp(self.scale, -self.shift))
        period = self.period
        for j in np.flatnonzero(period):
            positions[:, j] %= float(period[j])
            positions[positions[:, j] >= period[j], j] = 0.0
        return positions

    def coordinates(self, X: NDArray[np.generic]) -> NDArray[np.int64]:
        """Return the coordinates of points; those of points outside are beyond the extent."""
        with np.errstate(over="ignore"):
            cells = np.floor(X.astype(np.float64) / self.cell_size) - self.low
        cells = np.clip(cells, -(2.0**60), 2.0**60).astype(np.int64)
        turns = np.where(self.cells_per_period > 0, self.cells_per_period, 1)
        cells = np.where(self.cells_per_period > 0, cells % turns, cells)
        coordinates: NDArray[np.int64] = cells >> self.shift
        return coordinates

    def cell_values(self, coordinates: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return points with the given coordinates, in data units."""
        cells = (coordinates << self.shift) + self.low
        values: NDArray[np.float64] = (cells + 0.5) * self.cell_size
        return values

    def values(self, positions: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return positions in the tree as points in data units."""
        varies = self.used & ((self.extent - 1) >> self.shift > 0)
        cells = np.ldexp(positions / np.where(varies, self.scale, 1.0), self.shift)
        values: NDArray[np.float64] = (cells + self.low) * self.cell_size
        return np.where(varies, values, self.constants)


def code_words(n_features: int) -> int:
    """Return the words of 64 bits in a code; as `with_words` of the kernel does."""
    return next(words for d, words in ((3, 1), (6, 2), (12, 4), (np.inf, 8)) if n_features <= d)


def code_bits(n_features: int) -> int:
    """Return how many bits of each coordinate a code holds."""
    return min(30, max(1, 64 * code_words(n_features) // n_features))


def unit_choices(marginals: Sequence[Marginal]) -> list[NDArray[np.float64]]:
    """Return the units in which to look at features: all alike, and each by its spread.

    Spreads are rounded to powers of four of the largest. A constant feature has the unit 0.
    """
    spread = np.array([marginal.spread if marginal.varies else 0.0 for marginal in marginals])
    if not spread.any():
        return []
    ratios = np.maximum(spread / spread.max(), _LEAST_RATIO)
    exponents = np.rint(np.log(ratios) / np.log(_UNIT_STEP)) * np.log2(_UNIT_STEP)
    own = np.where(spread > 0, np.exp2(exponents), 0.0)
    alike = np.sign(own)
    return [alike] if np.array_equal(own, alike) else [alike, own]
