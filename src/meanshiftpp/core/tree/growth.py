"""Growth: from points to the tree of their significant clusters.

    points -> marginals -> lattice -> leaves -> tree

Features are measured in one common unit. If their spreads differ, a second tree is grown in units
of each feature's spread, for tables of different units. It must be stricter, because two tests
produce more false splits than one. The tree with more clusters is kept; of equals, the clearer one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from meanshiftpp._kernel import LEAST_WINDOW, SMALL_PART
from meanshiftpp._support.devices import to_host
from meanshiftpp._support.warnings import warn_user
from meanshiftpp.core.tree import piles
from meanshiftpp.core.tree.lattice import PERIOD_BITS, Lattice, unit_choices
from meanshiftpp.core.tree.leaves import Leaves, Placed
from meanshiftpp.core.tree.marginals import LEAST_SPREAD, Marginal, marginals_of
from meanshiftpp.core.tree.tree import Tree
from meanshiftpp.errors import InvalidInputError

SECOND_LOOK = 1.25  # strictness of a tree in other units
_MOST_LEAVES = 1 << 21
_FEW_REPEATS = 1.05  # of the effective weight of a point: below it, repeated points are few


@dataclass(frozen=True, eq=False)
class Observed:
    """Points, and how much each counts.

    Attributes
    ----------
    points : ndarray of shape (n, d)
        The points, or the occupied cells of a tally as whole numbers.
    counts : ndarray of shape (n,), uint64, or None
        The weight of each in units; None for 1 each.
    whole : bool
        Whether a count of w stands for w equal points, rather than for a real weight.
    squares : float
        Sum of the squared counts of single points; needed for real weights only.
    """

    points: NDArray[np.generic]
    counts: NDArray[np.uint64] | None = None
    whole: bool = True
    squares: float = 0.0

    @property
    def total(self) -> int:
        """The sum of the counts."""
        return len(self.points) if self.counts is None else int(self.counts.sum())

    @property
    def rows(self) -> float:
        """The number of points that real weights are worth (Kish 1965)."""
        return float(self.total) if self.whole else self.total**2 / self.squares


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
        marginals = marginals_of(observed.points, observed.counts, period, n_threads)
    if not len(marginals[0].cells):
        raise InvalidInputError("a tree needs at least one row of positive weight, got none")
    check_spread(marginals)
    looks = unit_choices(marginals)
    if not looks:
        return _constant(observed, marginals, strictness)
    grown = [
        _Look(observed, marginals, units, factor, strictness, n_threads).grow()
        for units, factor in zip(looks, (1.0, SECOND_LOOK), strict=False)
    ]
    return max(grown, key=lambda each: each.tree.clarity)


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
        elif marginal.spread <= LEAST_SPREAD:
            problem = "too little for float64; multiply the data by a power of ten first"
        varies = f"varies by {high - low:.3g} around {low:.3g}"
        warn_user(UserWarning(f"feature {j} counts as constant: it {varies}, {problem}"))
        return


def _constant(observed: Observed, marginals: Sequence[Marginal], strictness: float) -> Grown:
    """Return the tree of points that are all equal: one leaf, one cluster."""
    lattice = Lattice.of_marginals(marginals, np.zeros(len(marginals)), np.zeros(len(marginals)))
    leaves, *_ = Leaves.of_points(to_host(observed.points), observed.counts, lattice, 1, 1)
    tree = Tree.of_one(leaves, np.array([observed.total * 1.0]), strictness)
    return Grown(tree, np.zeros(len(observed.points), np.int32))


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
        """Grow the tree; of spread piles, if many points are equal."""
        observed, used = self.observed, self.units > 0
        ends = tuple(piles.end_piles(self.marginals))
        steps = np.array([m.step(observed.total) for m in self.marginals]) * used
        lattice = Lattice.of_marginals(self.marginals, self.units, piles.margins_of(ends, steps))
        if not steps.any() and not ends:
            grown = self._grow_points(lattice, _leaf_limit(observed.rows, observed.total))
            if grown is not None:
                return grown
        return self._grow_piles(lattice, ends)

    def _grow_points(self, lattice: Lattice, limit: int) -> Grown | None:
        """Grow the tree of points that are not equal; None if many are."""
        observed, n_threads = self.observed, self.n_threads
        leaves, placed, squares = Leaves.of_points(
            to_host(observed.points), observed.counts, lattice, limit, n_threads
        )
        if observed.whole and squares > _FEW_REPEATS * observed.total:
            return None
        each = np.arange(len(leaves), dtype=np.int32)
        ids, sizes = _ids(leaves, placed, each, leaves.weights, observed, n_threads)
        rows = observed.rows * float(leaves.weights.sum()) / observed.total
        tree = Tree.grown(leaves, sizes, rows, self.factor, self.strictness, n_threads)
        finer = _finer_limit(tree, limit)
        return self._grow_points(lattice, finer) if finer < limit else Grown(tree, ids)

    def _grow_piles(self, lattice: Lattice, ends: tuple[piles.EndPile, ...]) -> Grown:
        """Grow the tree of points of which many are equal: piles are spread or count less."""
        observed, n_threads = self.observed, self.n_threads
        single, placed, _ = Leaves.of_points(
            to_host(observed.points), observed.counts, lattice, 0, n_threads
        )
        counts, d = single.weights, len(self.marginals)
        steps = np.array([m.step(len(counts) if d > 1 else observed.total) for m in self.marginals])
        steps = np.where(lattice.used, steps / np.where(lattice.used, lattice.units, 1.0), 0.0)
        if not (steps >= 3).any() and observed.whole:
            counts = piles.effective(counts)
        rows = float(counts.sum()) * (1.0 if observed.whole else observed.rows / observed.total)
        limit = _leaf_limit(rows, int(counts.sum()))
        while True:
            coordinates = single.coordinates()
            moved, parts = piles.spread_ends(coordinates, counts, lattice, ends, limit)
            moved, parts = piles.spread_steps(moved, parts, steps, limit)
            shares = parts.astype(np.uint64)
            leaves = Leaves.of_coordinates(moved, shares, lattice, limit, n_threads)
            leaves = replace(leaves, ends=ends)
            of_single = leaves.locate(lattice.cell_values(coordinates), n_threads)[0]
            ids, sizes = _ids(leaves, placed, of_single, single.weights, observed, n_threads)
            tree = Tree.grown(leaves, sizes, rows, self.factor, self.strictness, n_threads)
            finer = _finer_limit(tree, limit)
            if finer == limit:
                return Grown(tree, ids)
            limit = finer


def _leaf_limit(rows: float, total: int) -> int:
    """Return the largest weight of a leaf: light enough that it blurs a window less than noise."""
    window = max(LEAST_WINDOW, int(np.sqrt(rows)) // 4)
    return max(1, int(max(1, int(np.sqrt(window)) // 2) * total / rows))


def _finer_limit(tree: Tree, limit: int) -> int:
    """Return the weight of the leaves that small parts of a tree need, which have light windows.

    The tree of finer leaves has the same large parts: their windows join leaves anyway.
    """
    total = float(tree.leaves.weights.sum())
    finest = max(1, int(max(1.0, tree.rows / _MOST_LEAVES) * total / tree.rows))
    parts = np.bincount(tree.labels, tree.leaves.weights)
    has_small = bool((parts[parts > 0] * SMALL_PART <= total).any())
    return min(limit, finest) if has_small else limit


def _ids(
    leaves: Leaves,
    placed: Placed,
    of_placed: NDArray[np.int32],
    weights: NDArray[np.int64],
    observed: Observed,
    n_threads: int,
) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Return the leaf of each point, and the counts of the points in each leaf.

    `of_placed` and `weights` are the leaf and the counts of each group of placed points. Points
    outside of the lattice, and those without weight, belong to the nearest leaf.
    """
    ids = np.full(len(observed.points), -1, np.int32)
    placed.spread(of_placed, ids, n_threads)
    sizes = np.bincount(of_placed, weights, len(leaves)).astype(np.float64)
    if len(placed.rows) < len(ids):
        outside = np.flatnonzero(ids < 0)
        ids[outside] = leaves.locate(to_host(observed.points)[outside], n_threads)[0]
        counts = None if observed.counts is None else observed.counts[outside]
        sizes += np.bincount(ids[outside], counts, len(leaves))
    return ids, sizes
