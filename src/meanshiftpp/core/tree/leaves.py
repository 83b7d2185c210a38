"""Leaves: boxes of few points each, halved along the features in turn, that a tree is grown from.

A leaf is known by its code on the Morton curve, which orders all boxes, and by its mean and weight.
Leaves are made from whole coordinates, so they do not depend on the order of the points.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from meanshiftpp._kernel import Lattice
from meanshiftpp._support.devices import module_of, to_host
from meanshiftpp.backends import backend_of
from meanshiftpp.backends.protocol import Placed
from meanshiftpp.errors import InvalidInputError

_BLOCK = 1 << 20  # points whose cells are computed at once


def cell_middles(X: NDArray[np.generic], grain: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the middles of the cells of points; the outermost cells are at the ends of the values.

    A pile at the end of a clipped scale is recognised by its value.
    """
    xp, values = module_of(X), X.astype(np.float64)
    width, low, high = xp.asarray(grain)
    with np.errstate(over="ignore", invalid="ignore"):
        cells = xp.floor(values / width)
        middles = (cells + 0.5) * width
    for end in (low, high):
        middles = xp.where(cells == xp.floor(end / width), end, middles)
    result: NDArray[np.float64] = xp.where(xp.isfinite(middles), middles, values)
    return result


@dataclass(frozen=True, eq=False)
class Leaves:
    """Boxes of a lattice, in the order of their codes.

    Attributes
    ----------
    lattice : Lattice
        The coordinates.
    ends : ndarray of shape (n_piles, 3)
        Piles at the ends of features, whose points were spread outwards before: the feature, the
        value, and a width that is negative at the low end.
    codes, bits : ndarray of shape (n_leaves, n_words), uint64, and of shape (n_leaves,), uint16
        The first code in the box of each leaf, and how many of its lowest bits are free.
    positions : ndarray of shape (n_leaves, n_features), float64
        The mean of each leaf, in the tree's units.
    weights : ndarray of shape (n_leaves,), int64
        How much each leaf counts.
    grain : ndarray of shape (3, n_features), float64
        The width of the cells of the tally that the leaves were made from, and its least and
        greatest value; 0 for rows. A point is looked up at the middle of its cell.
    """

    lattice: Lattice
    ends: NDArray[np.float64]
    codes: NDArray[np.uint64]
    bits: NDArray[np.uint16]
    positions: NDArray[np.float64]
    weights: NDArray[np.int64]
    grain: NDArray[np.float64]

    @classmethod
    def of_points(
        cls,
        X: NDArray[np.generic],
        counts: NDArray[np.uint64] | None,
        lattice: Lattice,
        limit: int,
        n_threads: int,
        grain: NDArray[np.float64] | None = None,
    ) -> tuple[Self, Placed]:
        """Return the leaves of points of at most `limit` counts each, and the leaf of each."""
        arrays, placed = backend_of(X).build_leaves(X, counts, lattice, limit, n_threads)
        grain = np.zeros((3, X.shape[1])) if grain is None else grain
        return cls(lattice, np.empty((0, 3)), *arrays, grain), placed

    def __len__(self) -> int:
        return len(self.weights)

    @property
    def used(self) -> NDArray[np.bool_]:
        """Which features the tree measures; the others are constant."""
        return self.lattice.units > 0

    def find(self, X: NDArray[np.generic], n_threads: int) -> NDArray[np.int32]:
        """Return the leaf whose box holds each point, -1 for none."""
        find, xp = backend_of(X).find_leaves, module_of(X)
        boxes = (self.lattice, self.ends, self.codes, self.bits)
        if not self.grain.any():
            return find(X, *boxes, n_threads)
        ids: NDArray[np.int32] = xp.empty(len(X), np.int32)
        for start in range(0, len(X), _BLOCK):
            middles = cell_middles(X[start : start + _BLOCK], self.grain)
            try:
                ids[start : start + _BLOCK] = find(middles, *boxes, n_threads)
            except InvalidInputError:
                find(X, *boxes, n_threads)  # raises, with the place in X
                raise
        return ids

    def locate(
        self, X: NDArray[np.generic], n_threads: int
    ) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """Return the leaf of each point, else the nearest, and how far it is: 0 inside its box."""
        xp, ids = module_of(X), self.find(X, n_threads)
        distances = xp.zeros(len(ids))
        outside = xp.flatnonzero(ids < 0)
        if outside.size:
            # Points of equal coordinates are one point of the tree, so they have the same leaf.
            positions = self.lattice.middles(to_host(X[outside]))
            ids[outside], distances[outside] = map(xp.asarray, self._nearest(positions))
        return ids, distances

    def _nearest(
        self, positions: NDArray[np.float64]
    ) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """Return the leaf with the nearest mean for each position, and how far it is."""
        used, period, means = self.used, self.lattice.period, self.positions
        if period.any():
            means = np.where(period > 0, means % np.where(period > 0, period, 1.0), means)
        found = backend_of(positions).nearest_modes(
            positions[:, used], means[:, used], period[used]
        )
        offsets = self.lattice.wrapped(positions - means[found])[:, used]
        return found, np.sqrt(np.einsum("ij,ij->i", offsets, offsets))
