"""Tallies: points that arrive in parts, kept until the tree of all of them is grown.

A tally keeps rows while there are few. Beyond 2**24 it keeps the occupied cells instead, of the
finest size that the marginals allow and of which at most 2**22 are occupied. Both numbers only grow
with the data, so a tally does not depend on the order or the size of its parts. There are two
exceptions. The rounding of real weights in cells depends on it, in the tenth digit. If marginals
allow only larger cells after cells had been joined, the sum is not `exact`, and a second pass must
begin with the `levels` of all points (`Significant.gather`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from meanshiftpp import _kernel
from meanshiftpp._kernel import COUNT_LIMIT, PERIOD_BITS, Marginal
from meanshiftpp._support.checks import Weights, as_points, as_weights, thread_count
from meanshiftpp._support.devices import on_gpu, to_host
from meanshiftpp._support.warnings import warn_user
from meanshiftpp.backends import backend_of
from meanshiftpp.core.accumulate import check_width
from meanshiftpp.core.binning import bin_rows
from meanshiftpp.core.chunk import Chunk
from meanshiftpp.core.tree.growth import Observed
from meanshiftpp.core.tree.leaves import cell_middles
from meanshiftpp.errors import GridMismatchError

MAX_ROWS = 1 << 24
MAX_CELLS = 1 << 22
_WAITING_ROWS = 1 << 22
_NOWHERE = -(2.0**60)  # periods: no value is there
_MAX_SHIFT = 62  # cells then have a bit for the sign only
_TOTAL_BITS = 30  # of a sum of real weights; a leaf of the kernel holds up to 2**31


@dataclass(frozen=True, eq=False)
class Part:
    """Rows with the weights that they came with, or cells with their counts.

    Attributes
    ----------
    points : ndarray of shape (n, n_features)
        The rows, or the middles of the cells, in data units.
    weights : Weights or None
        The weight of each; None for 1 each. Real weights of rows are rounded when all are known.
    squares : float or None
        Sum of the squared weights of the rows in the cells, in counts; None for rows.
    """

    points: NDArray[np.generic]
    weights: Weights | None = None
    squares: float | None = None

    @classmethod
    def of_points(cls, X: Any, sample_weight: Any = None) -> Self:
        """Return the rows of positive weight of a chunk, on the host."""
        points = to_host(as_points(X))
        if sample_weight is None:
            return cls(points)
        weights = as_weights(sample_weight, as_points(X))
        values = to_host(weights.values)
        kept = values > 0
        if not kept.all():
            points, values = points[kept], values[kept]
        return cls(points, as_weights(values, points) if len(points) else None)

    @property
    def n_rows(self) -> int:
        """The number of rows; a whole weight counts as that many."""
        return len(self.points) if self.weights is None else row_count(self.weights)

    @property
    def unit(self) -> float:
        """The weight of one count."""
        return 1.0 if self.weights is None else self.weights.unit

    @property
    def whole(self) -> bool:
        """Whether all weights are whole numbers."""
        return self.weights is None or self.weights.whole

    def in_unit(self, unit: float) -> NDArray[np.uint64]:
        """Return the counts in another unit of weight; a coarser one rounds them."""
        if unit > self.unit:
            counts = np.rint(self.in_unit(self.unit) * (self.unit / unit))
            rounded: NDArray[np.uint64] = np.maximum(counts, 1).astype(np.uint64)
            return rounded
        if self.weights is None:
            return np.full(len(self.points), round(1 / unit), np.uint64)
        return self.weights.counts * np.uint64(round(self.unit / unit))

    def masses(self) -> NDArray[np.float64] | None:
        """Return the weights in data units; None for 1 each."""
        return None if self.weights is None else self.weights.counts.astype(np.float64) * self.unit

    def marginals(
        self, period: NDArray[np.float64], n_threads: int | None = None
    ) -> list[Marginal]:
        """Return the marginal of each feature."""
        counts = None if self.weights is None else self.weights.counts
        return _kernel.marginals(self.points, counts, period, thread_count(n_threads))

    def sum_squares(self, unit: float) -> float:
        """Return the sum of the squared weights of the rows, in a finer unit of weight."""
        squares = self.squares
        if squares is None:
            counts = self.in_unit(self.unit)
            squares = float(np.square(counts).sum())  # integers: in any order
        return squares * (self.unit / unit) ** 2


@dataclass(frozen=True, eq=False)
class Tally:
    """Points of `n_features` features that were added in parts; a value that does not change.

    Attributes
    ----------
    period : ndarray of shape (n_features,)
        The period of each feature, 0 for none.
    parts : tuple of Part
        The rows, or the cells.
    n_rows : int
        How many rows were added; the sum of whole weights.
    marginals : list of Marginal or None
        Those of all rows, once the tally keeps cells.
    coarser : int
        Bits by which the cells are wider than the marginals would allow; -1 for rows.
    exact : bool
        Whether the cells are certainly those that the rows together would have.
    levels : tuple of int or None
        The least level of cells along each feature, if known before; rows become cells at once.
    """

    period: NDArray[np.float64]
    parts: tuple[Part, ...] = ()
    n_rows: int = 0
    marginals: list[Marginal] | None = None
    coarser: int = -1
    exact: bool = True
    levels: tuple[int, ...] | None = None

    @classmethod
    def of_gpu(cls, X: Any, period: NDArray[np.float64]) -> Self | None:
        """Return the cells of many points on a GPU; None for a case of the host."""
        if not on_gpu(X) or period.any():
            return None
        from meanshiftpp.backends.cuda.leaves import count_cells  # needs CuPy

        marginals = backend_of(X).marginals(X, None, period, thread_count(None))
        tally = cls(period, n_rows=len(X), marginals=marginals)
        sizes, ends = tally._fine_sizes(), np.array([(m.low, m.high) for m in marginals])
        found = count_cells(X, sizes, ends, MAX_CELLS)
        if found is None:
            return None
        points = (found.cells + 0.5) * np.ldexp(sizes, found.coarser)
        weights = Weights(found.counts, found.counts, 1.0, True)
        return replace(tally, parts=(Part(points, weights, float(len(X))),), coarser=found.coarser)

    @property
    def n_features(self) -> int:
        """Number of features."""
        return len(self.period)

    def __len__(self) -> int:
        return sum(len(part.points) for part in self.parts)

    @property
    def total(self) -> float:
        """The weight of all points."""
        return sum(int(part.in_unit(part.unit).sum()) * part.unit for part in self.parts)

    def bin(self, chunk: Chunk, *, n_threads: int | None = None) -> Self:
        """Return the tally of a chunk alone; an error states the place in the chunk's file."""
        return self.keep(chunk, n_threads=n_threads)._settled(n_threads)

    def keep(self, chunk: Chunk, *, n_threads: int | None = None) -> Self:
        """Return the rows of a chunk alone, which are not cells yet."""
        with chunk.locating_errors():
            part = Part.of_points(chunk.points, chunk.weight)
            check_width(part.points.shape[1], self.n_features, chunk.source or "X")
            _kernel.check_finite(to_host(as_points(chunk.points)), thread_count(n_threads))
        return replace(self, parts=(part,) if len(part.points) else (), n_rows=part.n_rows)

    def __add__(self, other: object) -> Self:
        if not isinstance(other, Tally):
            return NotImplemented
        if not np.array_equal(self.period, other.period):
            raise GridMismatchError("tallies of other periods or features cannot be added")
        marginals, coarser = None, max(self.coarser, other.coarser)
        if self.marginals is not None or other.marginals is not None:
            marginals = _added([tally._marginals() for tally in (self, other) if len(tally)])
        exact = all(tally.exact and not tally._loses(marginals) for tally in (self, other))
        added = replace(
            self,
            parts=self.parts + other.parts,
            n_rows=self.n_rows + other.n_rows,
            marginals=marginals,
            coarser=coarser,
            exact=exact,
        )
        return added._settled()

    def __radd__(self, other: object) -> Self:
        """Let ``sum`` begin with its 0."""
        return self if isinstance(other, int) and other == 0 else NotImplemented

    def start_sum(self) -> TallySum:
        """Return a sum that begins with this tally, for many tallies or chunks."""
        return TallySum(self)

    def observed(self) -> tuple[Observed, list[Marginal], float]:
        """Return all points, their marginals, and the weight of one count."""
        if not self.exact:
            warn_user(
                UserWarning(
                    "the range of the data grew after its cells had been joined, so the tree may "
                    "differ slightly from that of one fit; use fit, or add the widest chunk first"
                )
            )
        part, marginals = self.one_part(), self._marginals()
        grain = self._grain(marginals) if self.coarser >= 0 else None
        if grain is not None:
            part = replace(part, points=cell_middles(part.points, grain))
        if part.weights is None:
            return Observed(part.points), marginals, 1.0
        counts, unit = part.weights.counts, part.unit
        if not part.whole:
            marginals = part.marginals(self.period)
        squares = part.sum_squares(unit)
        # Cells that were not joined are as fine as those of a tree of rows.
        joined = grain if self.coarser > 0 else None
        return Observed(part.points, counts, part.whole, squares, joined), marginals, unit

    def _grain(self, marginals: Sequence[Marginal]) -> NDArray[np.float64]:
        """Return the width of the cells, and the ends of the values; a period has none."""
        widths = np.ldexp(self._fine_sizes(), self._shifts(self.coarser))
        low = [_NOWHERE * m.period or m.low for m in marginals]
        high = [_NOWHERE * m.period or m.high for m in marginals]
        return np.array([widths, low, high])

    def one_part(self) -> Part:
        """Return all rows as one part; cells are one part already."""
        return _stacked(self.parts) if self.parts else Part(np.empty((0, self.n_features)))

    def _marginals(self, n_threads: int | None = None) -> list[Marginal]:
        if self.marginals is not None:
            return self.marginals
        parts = self.parts or (Part(np.empty((0, self.n_features))),)
        return _added([part.marginals(self.period, n_threads) for part in parts])

    def _loses(self, marginals: list[Marginal] | None) -> bool:
        """Return whether cells were joined that the marginals of all points might keep apart."""
        if self.coarser <= 0 or marginals is None or self.marginals is None:
            return False
        return any(
            new.fine_level > old.fine_level
            for new, old in zip(marginals, self.marginals, strict=True)
            if not new.period
        )

    def _settled(self, n_threads: int | None = None) -> Self:
        """Return the tally with cells instead of rows if there are too many."""
        known = self.levels is not None
        if not self.parts or (self.n_rows <= MAX_ROWS and self.marginals is None and not known):
            return self
        rows = tuple(part for part in self.parts if part.squares is None)
        parts = tuple(part for part in self.parts if part.squares is not None)
        if len(parts) == 1 and not rows:
            return self
        parts += (_stacked(rows),) if rows else ()
        marginals = None if known else self._marginals(n_threads)
        tally = replace(self, marginals=marginals)
        whole, unit = all(part.whole for part in parts), _common_unit(parts)
        cells, counts, coarser = tally._occupied(parts, unit, thread_count(n_threads))
        points = (cells + 0.5) * np.ldexp(tally._fine_sizes(), self._shifts(coarser))
        squares = sum(part.sum_squares(unit) for part in parts)
        part = Part(points, Weights(counts, counts, unit, whole), squares)
        return replace(tally, parts=(part,), coarser=coarser)

    def _occupied(
        self, parts: Sequence[Part], unit: float, n_threads: int
    ) -> tuple[NDArray[np.int64], NDArray[np.uint64], int]:
        """Return the cells that parts occupy, their counts, and how many bits they are coarser.

        Cells have the finest size with at most `MAX_CELLS` of them. That number only grows with
        the points, so the cells so far, or a sample of the points, bound the size from below.
        """
        points = np.concatenate([part.points for part in parts]) if parts[1:] else parts[0].points
        counts = None
        if any(part.weights is not None for part in parts):
            counts = np.concatenate([part.in_unit(unit) for part in parts])
        sizes = self._fine_sizes()
        coarser = self.coarser
        if coarser < 0:
            sample = points[:: max(1, len(points) // (2 * MAX_CELLS))]
            coarser = _kernel.least_shift(_cells(sample, sizes, self.period), 0, MAX_CELLS)
        cells, sums = self._binned(points, counts, coarser, n_threads)
        more = min(_kernel.least_shift(cells, 0, MAX_CELLS), _MAX_SHIFT - coarser)
        if more:
            cells, sums = _merged(cells >> more, sums)
        return cells, sums, coarser + more

    def _binned(
        self,
        points: NDArray[np.generic],
        counts: NDArray[np.uint64] | None,
        coarser: int,
        n_threads: int,
    ) -> tuple[NDArray[np.int64], NDArray[np.uint64]]:
        """Return cells that are so many bits coarser than the marginals allow, and their counts."""
        sizes, shifts = self._fine_sizes(), self._shifts(coarser)
        if counts is None or int(counts.sum()) < COUNT_LIMIT:
            periods = np.where(self.period > 0, 1 << (PERIOD_BITS - shifts).clip(0), 0)
            cell_sizes = np.ldexp(sizes, shifts)
            rows, _ = bin_rows(points, cell_sizes, periods, counts=counts, n_threads=n_threads)
            return rows.cells, rows.counts
        # A cell of a grid cannot hold that much.
        return _merged(_cells(points, sizes, self.period) >> coarser, counts)

    def _shifts(self, coarser: int) -> NDArray[np.int64]:
        """Return how many bits coarser cells are along each feature; a period has one at least."""
        return np.where(self.period > 0, min(coarser, PERIOD_BITS), coarser)

    def _fine_sizes(self) -> NDArray[np.float64]:
        """Return the sizes of cells that the marginals allow."""
        levels, period = self.fine_levels, self.period
        sizes = np.where(period > 0, np.ldexp(period, -PERIOD_BITS), np.ldexp(1.0, levels))
        return sizes.astype(np.float64)

    @property
    def fine_levels(self) -> tuple[int, ...]:
        """The least level of cells that the marginals allow along each feature."""
        if self.levels is not None:
            return self.levels
        return tuple(0 if m.period else m.fine_level for m in self._marginals())


class TallySum:
    """A sum of chunks, which wait until they have enough rows to be worth adding to the cells."""

    def __init__(self, start: Tally) -> None:
        self._total = start
        self._waiting = self._empty = Tally(start.period, levels=start.levels)

    def add_chunk(self, chunk: Chunk, *, n_threads: int | None = None) -> None:
        """Add a chunk; an error states the place in the chunk's file."""
        rows, waiting = self._empty.keep(chunk, n_threads=n_threads), self._waiting
        n_rows = waiting.n_rows + rows.n_rows
        self._waiting = replace(waiting, parts=waiting.parts + rows.parts, n_rows=n_rows)
        # Real weights are rounded when they are added, so they must not wait for a time to save.
        rounded = not all(part.whole for part in self._waiting.parts)
        if rounded or self._waiting.n_rows >= _WAITING_ROWS:
            self.total()

    def add(self, tally: Tally, name: str = "a tally") -> None:
        """Add a tally; one of other features raises, with its name."""
        check_width(tally.n_features, self._total.n_features, name)
        self._total = self._total + tally

    def total(self) -> Tally:
        """Return the sum so far."""
        self._total, self._waiting = self._total + self._waiting, self._empty
        return self._total


def row_count(weights: Weights) -> int:
    """Return how many rows weights stand for: whole numbers for as many, others for one each."""
    values = to_host(weights.values).astype(np.float64)
    rows = np.where(values == np.floor(values), np.minimum(values, COUNT_LIMIT), 1.0)
    return int(rows.sum())


def _common_unit(parts: Sequence[Part]) -> float:
    """Return the finest unit of parts, or one coarse enough for the total of real weights."""
    unit = min(part.unit for part in parts)
    if all(part.whole for part in parts):
        return unit
    total = sum(int(part.in_unit(part.unit).sum()) * part.unit for part in parts)
    return max(unit, math.ldexp(1.0, math.frexp(total)[1] - _TOTAL_BITS))


def _cells(
    points: NDArray[np.generic], sizes: NDArray[np.float64], period: NDArray[np.float64]
) -> NDArray[np.int64]:
    cells: NDArray[np.int64] = np.floor(points.astype(np.float64) / sizes).astype(np.int64)
    cells[:, period > 0] %= 1 << PERIOD_BITS
    return cells


def _merged(
    cells: NDArray[np.int64], counts: NDArray[np.uint64]
) -> tuple[NDArray[np.int64], NDArray[np.uint64]]:
    """Return distinct cells, and the sums of their counts."""
    merged, sums, *_ = _kernel.merge_cells(cells, counts, np.zeros(cells.shape, np.uint64))
    return merged, sums


def _added(parts: Sequence[Sequence[Marginal]]) -> list[Marginal]:
    """Return the marginals of all points from those of parts."""
    return [reduce(add, axis) for axis in zip(*parts, strict=True)]


def _stacked(parts: Sequence[Part]) -> Part:
    """Return the rows of parts as one; their real weights are rounded together."""
    if len(parts) == 1:
        return parts[0]
    points = np.concatenate([part.points for part in parts])
    if all(part.weights is None for part in parts):
        return Part(points)
    values = [np.ones(len(p.points)) if p.weights is None else p.weights.values for p in parts]
    return Part(points, as_weights(np.concatenate(values), points))
