"""Leaves: boxes of few points each, halved along the features in turn, that a tree is grown from.

A leaf is known by its code on the Morton curve, which orders all boxes, and by its mean and weight.
Leaves are made from whole coordinates, so they do not depend on the order of the points.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from meanshiftpp import _kernel
from meanshiftpp._support.devices import to_host
from meanshiftpp.backends import backend_of
from meanshiftpp.core.tree.lattice import Lattice, code_bits
from meanshiftpp.core.tree.piles import EndPile, place_ends


class Placed(NamedTuple):
    """The rows of the points along the curve; those of leaf k are rows[first[k] : first[k + 1]]."""

    rows: NDArray[np.uint32]
    first: NDArray[np.uint32]

    def spread(self, values: NDArray[np.int32], out: NDArray[np.int32], n_threads: int) -> None:
        """OUT out[row] = values[leaf of the row]; rows of no leaf keep their value."""
        _kernel.take_leaves(self.rows, self.first, values, out, n_threads)


@dataclass(frozen=True, eq=False)
class Leaves:
    """Boxes of a lattice, in the order of their codes.

    Attributes
    ----------
    lattice : Lattice
        The coordinates.
    codes, bits : ndarray of shape (n_leaves, n_words), uint64, and of shape (n_leaves,), uint16
        The first code in the box of each leaf, and how many of its lowest bits are free.
    positions : ndarray of shape (n_leaves, n_features), float64
        The mean of each leaf, in the tree's units.
    weights : ndarray of shape (n_leaves,), int64
        How much each leaf counts.
    ends : tuple of EndPile
        Piles at the ends of features, whose points were spread outwards before.
    """

    lattice: Lattice
    codes: NDArray[np.uint64]
    bits: NDArray[np.uint16]
    positions: NDArray[np.float64]
    weights: NDArray[np.int64]
    ends: tuple[EndPile, ...] = ()

    @classmethod
    def of_points(
        cls,
        X: NDArray[np.generic],
        counts: NDArray[np.uint64] | None,
        lattice: Lattice,
        limit: int,
        n_threads: int,
    ) -> tuple[Self, Placed, float]:
        """Return the leaves of points of at most `limit` counts each.

        Also return the points along the curve, and the sum of the squared counts of equal points.
        """
        return cls._built(X, counts, lattice, _cells_of(lattice), limit, n_threads)

    @classmethod
    def of_coordinates(
        cls,
        coordinates: NDArray[np.int64],
        counts: NDArray[np.uint64],
        lattice: Lattice,
        limit: int,
        n_threads: int,
    ) -> Self:
        """Return the leaves of points that are given by their coordinates."""
        cells = _whole_cells(lattice)
        return cls._built(coordinates, counts, lattice, cells, limit, n_threads)[0]

    @classmethod
    def _built(
        cls,
        points: NDArray[Any],
        counts: NDArray[np.uint64] | None,
        lattice: Lattice,
        cells: dict[str, NDArray[Any]],
        limit: int,
        n_threads: int,
    ) -> tuple[Self, Placed, float]:
        rows, first, weights, sums, codes, bits, squares = _kernel.build_leaves(
            points, counts, **cells, limit=limit, n_threads=n_threads
        )
        positions = (sums / weights[:, None] + 0.5) * lattice.scale
        leaves = cls(lattice, codes, bits, positions, weights.astype(np.int64))
        return leaves, Placed(rows, first), squares

    def __len__(self) -> int:
        return len(self.weights)

    def coordinates(self) -> NDArray[np.int64]:
        """Return the coordinates of leaves that are single points of the lattice."""
        return np.floor(self.positions / self.lattice.scale).astype(np.int64)

    def find(self, X: NDArray[np.generic], n_threads: int) -> NDArray[np.int32]:
        """Return the leaf whose box holds each point, -1 for none."""
        if self.ends:
            return self.find_coordinates(self.lattice.coordinates(to_host(X)), n_threads)
        cells = _cells_of(self.lattice)
        return _kernel.find_leaves(
            to_host(X), **cells, codes=self.codes, bits=self.bits, n_threads=n_threads
        )

    def find_coordinates(self, coordinates: NDArray[np.int64], n_threads: int) -> NDArray[np.int32]:
        """Return the leaf of points that are given by their coordinates, -1 for none."""
        moved = place_ends(coordinates, self.lattice, self.ends)
        cells = _whole_cells(self.lattice)
        return _kernel.find_leaves(
            moved, **cells, codes=self.codes, bits=self.bits, n_threads=n_threads
        )

    def locate(
        self, X: NDArray[np.generic], n_threads: int
    ) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """Return the leaf of each point, else the nearest, and how far it is: 0 inside its box."""
        ids = self.find(X, n_threads)
        distances = np.zeros(len(ids))
        outside = np.flatnonzero(ids < 0)
        if outside.size:
            ids[outside], distances[outside] = self.nearest(to_host(X)[outside])
        return ids, distances

    def nearest(self, X: NDArray[np.generic]) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """Return the leaf with the nearest mean for each point, and how far it is, in the tree."""
        lattice, used = self.lattice, self.lattice.used
        # Points of equal coordinates are one point of the tree, so they have the same leaf.
        values = lattice.cell_values(lattice.coordinates(to_host(X)))
        positions, period = lattice.positions(values)[:, used], lattice.period[used]
        means = np.ascontiguousarray(self.positions[:, used])
        if (period > 0).any():
            means = np.where(period > 0, means % np.where(period > 0, period, 1.0), means)
        found = backend_of(positions).nearest_modes(positions, means, period)
        offsets = positions - means[found]
        offsets -= np.where(
            period > 0, np.rint(offsets / np.where(period > 0, period, 1.0)) * period, 0.0
        )
        return found, np.sqrt(np.einsum("ij,ij->i", offsets, offsets))


def _whole_cells(lattice: Lattice) -> dict[str, NDArray[Any]]:
    """Return the arguments of the kernel for points that are given by their coordinates."""
    d = len(lattice.low)
    return {
        "cell_size": np.ones(d),
        "cells_per_period": lattice.cells_per_period >> lattice.shift,
        "low": np.zeros(d, np.int64),
        "extent": np.full(d, 1 << code_bits(d)),
        "shift": np.zeros(d, np.int64),
    }


def _cells_of(lattice: Lattice) -> dict[str, NDArray[Any]]:
    """Return the arguments of the kernel for a lattice."""
    names = ("cell_size", "cells_per_period", "low", "extent", "shift")
    return {name: getattr(lattice, name) for name in names}
