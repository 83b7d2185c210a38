"""Growth: from points to the tree of their significant clusters.

    points -> marginals -> lattice -> leaves -> tree

Features are measured in one common unit. If their spreads differ, a second tree is grown in units
of each feature's spread, for tables of different units. It must be stricter, because two tests
produce more false splits than one. The tree with more clusters is kept; of equals, the clearer one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from meanshiftpp import _kernel
from meanshiftpp._kernel import CODE_BITS, LEAST_SPREAD, PERIOD_BITS, Lattice, Marginal
from meanshiftpp._support.devices import module_of, to_host
from meanshiftpp._support.warnings import warn_user
from meanshiftpp.backends import backend_of
from meanshiftpp.backends.protocol import Placed
from meanshiftpp.core.tree.leaves import Leaves
from meanshiftpp.core.tree.tree import Tree
from meanshiftpp.errors import InvalidInputError

SECOND_LOOK = 1.25  # strictness of a tree in other units
_CLEAR_RANGE = 2.0**-30  # of the largest value: a narrower range may be its rounding
_FINE_BITS = 15  # of a value: with more, cells are finer than windows of any data
_LEAST_BITS = 4  # of a value: with fewer, different rows have equal positions
_FIRST_WINDOW = 4  # the lightest window of n points holds sqrt(n) / 4 of them
_CELLS_IN_WINDOW = 24
_FEW_REPEATS = 1.05  # of the effective weight of a point: below it, repeated points are few


@dataclass(frozen=True, eq=False)
class Observed:
    """Points, and how much each counts.

    Attributes
    ----------
    points : ndarray of shape (n, d)
        The points, or the middles of the occupied cells of a tally.
    counts : ndarray of shape (n,), uint64, or None
        The weight of each in units; None for 1 each.
    whole : bool
        Whether a count of w stands for w equal points, rather than for a real weight.
    squares : float
        Sum of the squared counts of single points; needed for real weights only.
    grain : ndarray of shape (3, d) or None
        The cells whose middles the points are, as in `Leaves`; None for points as they are.
    """

    points: NDArray[np.generic]
    counts: NDArray[np.uint64] | None = None
    whole: bool = True
    squares: float = 0.0
    grain: NDArray[np.float64] | None = None

    @property
    def total(self) -> int:
        """The sum of the counts."""
        return len(self.points) if self.counts is None else int(self.counts.sum())

    @property
    def rows(self) -> float:
        """The number of points that real weights are worth (Kish 1965), or those of cells.

        The density is flat within a cell, which windows of few cells would see. So the points of
        cells are worth only so many that the lightest window holds `_CELLS_IN_WINDOW` cells.
        """
        rows = float(self.total) if self.whole else self.total**2 / self.squares
        if self.grain is None or self.counts is None:
            return rows
        counts = np.sort(self.counts)
        cell = counts[np.searchsorted(np.cumsum(counts), self.total / 2)]  # of a typical point
        return min(rows, (self.total / (_FIRST_WINDOW * _CELLS_IN_WINDOW * float(cell))) ** 2)


class Grown(NamedTuple):
    """A tree, and the leaf of each of the points that it was grown from."""

    tree: Tree
    ids: NDArray[np.int32]


def grow(
    observed: Observed,
    period: NDArray[np.float64],
    *,
    strictness: float = 1.0,
    marginals: Sequence[Marginal] | None = None,
    n_threads: int,
) -> Grown:
    """Grow the tree of points; a value that is not finite raises an error with its place."""
    if marginals is None:
        points, counts = observed.points, observed.counts
        marginals = backend_of(points).marginals(points, counts, period, n_threads)
    if not len(marginals[0]):
        raise InvalidInputError("a tree needs at least one row of positive weight, got none")
    check_spread(marginals)
    looks = _kernel.unit_choices(marginals)
    if not looks:
        return _constant(observed, marginals, strictness)
    check_bits(len(marginals), int(np.count_nonzero(looks[0])))
    grown = [
        _Look(observed, marginals, units, factor, strictness, n_threads).grow()
        for units, factor in zip(looks, (1.0, SECOND_LOOK), strict=False)
    ]
    return max(grown, key=lambda each: each.tree.clarity)


def check_bits(n_features: int, n_varying: int) -> None:
    """Warn if so many features share the code of a leaf that positions are too coarse."""
    bits = CODE_BITS // n_features
    advice = "select or project features first, or set a bandwidth"
    if bits < _FINE_BITS and n_varying < n_features:
        advice = f"leave out the {n_features - n_varying:,} features that are constant"
    elif bits >= _LEAST_BITS:
        return
    coarse = f"the tree of {n_features:,} features has {bits} bits for each value"
    warn_user(UserWarning(f"{coarse} and may miss clusters; {advice}"))


def check_spread(marginals: Sequence[Marginal]) -> None:
    """Raise if a range overflows; warn if a feature varies too little for cells."""
    for j, marginal in enumerate(marginals):
        low, high, period = marginal.low, marginal.high, marginal.period
        if not np.isfinite(high - low):
            raise InvalidInputError(
                "a tree needs features whose range is finite, got values from "
                f"{low:g} to {high:g}; set a bandwidth or scale the data down"
            )
        rounding = np.ldexp(period, -PERIOD_BITS) or np.ldexp(max(abs(low), abs(high)), -47)
        if high - low <= rounding or marginal.varies:
            continue
        problem = "too little for float64; subtract an offset first"
        if period:
            problem = f"too little for a period of {period:g}; leave the period out"
        elif high - low > _CLEAR_RANGE * max(abs(low), abs(high)) and high - low > LEAST_SPREAD:
            problem = "but nearly all weight is on one of its values; set a bandwidth to use it"
        elif marginal.spread <= LEAST_SPREAD:
            problem = "too little for float64; multiply the data by a power of ten first"
        varies = f"varies by {high - low:.3g} around {low:.3g}"
        warn_user(UserWarning(f"feature {j} counts as constant: it {varies}, {problem}"))
        return


def _constant(observed: Observed, marginals: Sequence[Marginal], strictness: float) -> Grown:
    """Return the tree of points that are all equal: one leaf, one cluster."""
    lattice, *_ = _kernel.plan_lattice(marginals, np.zeros(len(marginals)), observed.total)
    leaves, _ = Leaves.of_points(observed.points, observed.counts, lattice, 1, 1)
    tree = Tree.of_one(leaves, np.array([observed.total * 1.0]), strictness)
    return Grown(tree, module_of(observed.points).zeros(len(observed.points), np.int32))


@dataclass(frozen=True, eq=False)
class _Look:
    """Points in some units, and how to grow their tree; `factor` makes it stricter."""

    observed: Observed
    marginals: Sequence[Marginal]
    units: NDArray[np.float64]
    factor: float
    strictness: float
    n_threads: int

    def grow(self) -> Grown:
        """Grow the tree; of spread piles, if many points are equal or are cells."""
        total, rows = self.observed.total, self.observed.rows
        lattice, ends, is_plain = _kernel.plan_lattice(self.marginals, self.units, total)
        if is_plain and self.observed.grain is None:
            grown = self._grow_points(lattice, _kernel.leaf_limit(rows, total))
            if grown is not None:
                return grown
        return self._grow_piles(lattice, ends)

    def _grow_points(self, lattice: Lattice, limit: int) -> Grown | None:
        """Grow the tree of points that are not equal; None if many are."""
        observed = self.observed
        leaves, placed = self._leaves(lattice, limit)
        if observed.whole and placed.squares > _FEW_REPEATS * observed.total:
            return None
        rows = observed.rows * float(leaves.weights.sum()) / observed.total
        each = np.arange(len(leaves), dtype=np.int32)
        grown, finer = self._grow_leaves(leaves, rows, limit, placed, each, leaves.weights)
        return grown if finer == limit else self._grow_points(lattice, finer)

    def _leaves(self, lattice: Lattice, limit: int) -> tuple[Leaves, Placed]:
        points, counts, grain = self.observed.points, self.observed.counts, self.observed.grain
        return Leaves.of_points(points, counts, lattice, limit, self.n_threads, grain)

    def _grow_piles(self, lattice: Lattice, ends: NDArray[np.float64]) -> Grown:
        """Grow the tree of points of which many are equal: piles are spread or count less."""
        observed, n_threads = self.observed, self.n_threads
        single, placed = self._leaves(lattice, 0)
        piles = _kernel.Piles(
            self.marginals,
            lattice,
            ends,
            single.positions,
            single.weights,
            observed.total,
            observed.whole,
            max(round(observed.total / observed.rows), 1),
            single.grain[0],
        )
        rows = piles.total * (observed.rows / observed.total)
        limit, finer = 0, _kernel.leaf_limit(rows, piles.total)
        while finer != limit:
            limit = finer
            arrays, found = piles.leaves(limit, n_threads)
            leaves = Leaves(lattice, ends, *arrays, single.grain)
            missed = np.flatnonzero(found < 0)
            points = lattice.values(single.positions[missed])
            found[missed] = leaves.locate(points, n_threads)[0]
            grown, finer = self._grow_leaves(leaves, rows, limit, placed, found, single.weights)
        return grown

    def _grow_leaves(
        self,
        leaves: Leaves,
        rows: float,
        limit: int,
        placed: Placed,
        of_placed: NDArray[np.int32],
        weights: NDArray[np.int64],
    ) -> tuple[Grown, int]:
        """Grow the tree of leaves, and return it with the limit that its small parts need.

        `of_placed` and `weights` are the leaf and the counts of each group of placed points. Points
        outside of the lattice, and those without weight, belong to the nearest leaf.
        """
        observed, n_threads = self.observed, self.n_threads
        xp = module_of(observed.points)
        ids = xp.full(len(observed.points), -1, np.int32)
        placed.take(of_placed, ids, n_threads)
        sizes = np.bincount(of_placed, weights, len(leaves)).astype(np.float64)
        if placed.n_inside < len(ids):
            outside = xp.flatnonzero(ids < 0)
            ids[outside] = leaves.locate(observed.points[outside], n_threads)[0]
            counts = None if observed.counts is None else to_host(observed.counts[outside])
            sizes += np.bincount(to_host(ids[outside]), counts, len(leaves))
        # Parts of piles that were spread beyond the lattice are in no leaf.
        rows = min(rows, float(leaves.weights.sum()))
        tree = Tree.grown(leaves, sizes, rows, self.factor, self.strictness, n_threads)
        finer = _kernel.finer_limit(tree.labels, leaves.weights, rows, limit)
        return Grown(tree, ids), finer
