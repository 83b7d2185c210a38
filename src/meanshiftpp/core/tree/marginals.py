"""Marginals: where the values of each feature lie, in few cells of a size that is a power of two.

A tree measures distances in cells, so it needs a size of cells for each feature, the range of the
values that are not outliers, and their spread. All three come from the marginal: the occupied cells
of the feature alone, at the finest size with at most 65,536 of them. The number of occupied cells
only grows with the data, so marginals of parts add up to that of all points, in any order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, reduce

import numpy as np
from numpy.typing import NDArray

from meanshiftpp import _kernel
from meanshiftpp._kernel import MARGINAL_CELLS
from meanshiftpp._support.devices import to_host

TAIL = 0.01  # share of the values on either side that may be outliers
_FINER = 14  # bits by which the cells of a tree are finer than those of a marginal
_RANGE_BITS, _VALUE_BITS = 40, 50  # no cells are finer than these parts of the range or a value
_CONSTANT = -44  # bits: a spread below this part of the values is their rounding
LEAST_SPREAD = 2.0**-950  # below it, cells would be subnormal


@dataclass(frozen=True, eq=False)
class Marginal:
    """The values of one feature.

    Attributes
    ----------
    level : int
        A cell is 2**level wide; a feature with a period has 65,536 cells in it instead.
    cells : ndarray of int64
        The occupied cells, in rising order.
    counts : ndarray of uint64
        The weight in each, in units of the points' weights.
    low, high : float
        The least and the greatest value; within the period, for a feature with one.
    period : float
        0 for a feature without one.
    """

    level: int
    cells: NDArray[np.int64]
    counts: NDArray[np.uint64]
    low: float
    high: float
    period: float = 0.0

    def __add__(self, other: Marginal) -> Marginal:
        if not len(self.cells) or not len(other.cells):
            return self if len(self.cells) else other
        level = max(self.level, other.level)
        cells = np.concatenate([m.cells >> min(level - m.level, 63) for m in (self, other)])
        counts = np.concatenate([self.counts, other.counts])
        cells, counts = _merged(cells, counts)
        bits = _bits_to_join(cells)
        if bits:
            cells, counts = _merged(cells >> bits, counts)
        low, high = min(self.low, other.low), max(self.high, other.high)
        return Marginal(level + bits, cells, counts, low, high, self.period)

    @property
    def cell_size(self) -> float:
        """The size of a cell in data units."""
        return self.period / MARGINAL_CELLS if self.period else float(np.ldexp(1.0, self.level))

    @property
    def fine_level(self) -> int:
        """The level of the cells of a tree, for a feature without a period."""
        largest = max(abs(self.low), abs(self.high))
        span = self.high - self.low
        return max(
            self.level - _FINER,
            int(np.frexp(span)[1]) - 1 - _RANGE_BITS if span > 0 else -1000,
            int(np.frexp(largest)[1]) - 1 - _VALUE_BITS if largest > 0 else -1000,
            -1000,
        )

    @cached_property
    def middle(self) -> tuple[float, float]:
        """The ends of the middle 98 % of the values."""
        cumulative = np.cumsum(self.counts.astype(np.float64))
        at = np.searchsorted(cumulative, np.array([TAIL, 1 - TAIL]) * cumulative[-1])
        low, high = self.cells[np.minimum(at, len(self.cells) - 1)]
        return float(low) * self.cell_size, float(high + 1) * self.cell_size

    @property
    def median(self) -> float:
        """The median, to the precision of a cell."""
        if not len(self.cells):
            return self.low
        cumulative = np.cumsum(self.counts.astype(np.float64))
        cell = self.cells[int(np.searchsorted(cumulative, cumulative[-1] / 2))]
        return float(np.clip((cell + 0.5) * self.cell_size, self.low, self.high))

    def limits(self, times: float) -> tuple[float, float]:
        """Return the ends of the values within so many times the width of the middle 98 %."""
        low, high = self.middle
        width = times * (high - low)
        return max(self.low, low - width), min(self.high, high + width)

    @cached_property
    def spread(self) -> float:
        """The standard deviation, in data units; outliers are moved to a limit.

        An outlier is beyond the middle 98 % of the values by more than their range; in a normal
        feature, seven standard deviations from the mean.
        """
        weight = self.counts / self.counts.sum(dtype=np.float64)
        if self.period:
            return self._circular_spread(weight)
        offsets = (self.cells - self.cells[0]).astype(np.float64)
        low, high = (np.floor(end / self.cell_size) - self.cells[0] for end in self.limits(1.0))
        offsets = np.clip(offsets, low, high)
        mean = weight @ offsets
        return float(np.sqrt(weight @ (offsets - mean) ** 2)) * self.cell_size

    def _circular_spread(self, weight: NDArray[np.float64]) -> float:
        """Return the standard deviation around the circular mean."""
        if len(self.cells) == 1:
            return 0.0
        turns = (self.cells + 0.5) / MARGINAL_CELLS
        middle = np.angle(weight @ np.exp(2j * np.pi * turns)) / (2 * np.pi)
        offsets = turns - middle
        offsets -= np.rint(offsets)
        return float(np.sqrt(weight @ offsets**2)) * self.period

    @property
    def varies(self) -> bool:
        """Whether the feature is not constant, apart from the rounding of its values."""
        if not len(self.cells) or self.spread == 0:
            return False
        largest = max(abs(self.low), abs(self.high))
        least = max(float(np.ldexp(largest, _CONSTANT)), LEAST_SPREAD)
        return bool(self.period) or self.spread > least

    def step(self, n_distinct: float) -> float:
        """Return the distance between neighbouring values of a rounded feature, 0 otherwise.

        A feature is rounded if it has at most half as many values as there are distinct points.
        """
        values = len(self.cells)
        exact = self.level <= self.fine_level + 1 or values < MARGINAL_CELLS // 2
        if self.period or not exact or values < 3 or values > n_distinct / 2:
            return 0.0
        return float(np.median(np.diff(self.cells))) * self.cell_size


def marginals_of(
    points: NDArray[np.generic],
    counts: NDArray[np.uint64] | None,
    period: NDArray[np.float64],
    n_threads: int,
) -> list[Marginal]:
    """Return the marginal of each feature; a value that is not finite raises an error."""
    found = _kernel.marginals(
        to_host(points), None if counts is None else to_host(counts), period, n_threads
    )
    return [Marginal(*axis, float(p)) for axis, p in zip(found, period, strict=True)]


def add_marginals(parts: Sequence[Sequence[Marginal]]) -> list[Marginal]:
    """Return the marginals of all points from those of parts."""
    return [reduce(Marginal.__add__, axis) for axis in zip(*parts, strict=True)]


def _merged(
    cells: NDArray[np.int64], counts: NDArray[np.uint64]
) -> tuple[NDArray[np.int64], NDArray[np.uint64]]:
    """Return the distinct cells in rising order, with the sum of the counts of each."""
    order = np.argsort(cells, kind="stable")
    cells = cells[order]
    first = np.flatnonzero(np.append(True, cells[1:] != cells[:-1]))
    return cells[first], np.add.reduceat(counts[order], first)


def _bits_to_join(cells: NDArray[np.int64]) -> int:
    """Return how many bits of sorted cells to drop until at most 65,536 are left."""
    if len(cells) <= MARGINAL_CELLS:
        return 0
    differences = (cells[1:] ^ cells[:-1]).view(np.uint64)
    widths = np.array([int(each).bit_length() for each in differences.tolist()])
    joined = np.cumsum(np.bincount(widths, minlength=65))
    return int(np.searchsorted(joined, len(cells) - MARGINAL_CELLS))
