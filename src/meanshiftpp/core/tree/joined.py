"""The modes of a grid, united by a tree."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import cast

import numpy as np
from numpy.typing import NDArray

from meanshiftpp._support.devices import module_of, to_host
from meanshiftpp.backends import backend_of
from meanshiftpp.core.modes import Modes
from meanshiftpp.core.tree.centers import dense_center
from meanshiftpp.core.tree.tree import Tree
from meanshiftpp.core.window import cells_per_bandwidth

_MAIN_MODE = 0.75  # share of a cluster that makes its heaviest mode the centre


@dataclass(frozen=True, eq=False, repr=False)
class JoinedModes(Modes):
    """Modes that a tree has united.

    Attributes
    ----------
    tree : Tree
        The tree, with the reason for each split.
    clusters : ndarray of shape (n_modes,)
        The number that each of these modes has in the tree.
    """

    tree: Tree = field(kw_only=True)
    clusters: NDArray[np.integer] = field(kw_only=True)

    def joined_further(self, tree: Tree) -> NDArray[np.int64] | None:
        """Return the cluster of each mode in a cut of the tree; None if a cut divides clusters."""
        if not set(tree.splits) <= set(self.tree.splits):
            return None
        joined = dict(zip(self.tree.labels.tolist(), tree.labels.tolist(), strict=True))
        return np.array([joined[cluster] for cluster in self.clusters.tolist()], np.int64)

    def centered(self, which: NDArray[np.bool_]) -> JoinedModes:
        """Return the modes with some of them moved to where their cluster is densest."""
        grid, xp = self.grid, module_of(self.cells)
        wrap = grid.cells_per_period
        n_cells = cells_per_bandwidth(self.resolution)
        rows = self.tree.sample.rows / grid.bandwidth
        positions = to_host(self.cells + self.fractions)
        for k in np.flatnonzero(which).tolist():
            own = self.tree.labels == self.clusters[k]
            offsets = rows[own] - positions[k]
            turns = np.where(wrap > 0, np.rint(offsets / np.maximum(wrap, 1)), 0)
            offsets = (offsets - turns * wrap) / n_cells
            origin = np.zeros(grid.n_features)
            center = dense_center(offsets, self.tree.sample.counts[own], origin)
            positions[k] += center * n_cells
        cells = np.floor(positions).astype(np.int64)
        fractions = positions - cells
        return replace(self, cells=xp.asarray(cells), fractions=xp.asarray(fractions))

    def keep(self, min_weight: float) -> JoinedModes:
        """Drop the modes lighter than `min_weight`, as `Modes.keep` does."""
        kept = cast(JoinedModes, super().keep(min_weight))
        return replace(kept, clusters=self.clusters[: len(kept)])


def join_modes(
    tree: Tree, modes: Modes, *, noise: bool = False, n_threads: int | None = None
) -> JoinedModes:
    """Unite the modes of each cluster of a tree: a mode belongs to that of most of its rows.

    A mode without a row of the sample joins the nearest mode with one. With `noise`, modes
    whose rows are mostly sparser than the saddles of their cluster get the label -1.
    """
    labels = np.where(tree.sparse(), -1, tree.labels) if noise else tree.labels
    basins = to_host(modes.label(tree.sample.rows, n_threads=n_threads))
    numbers, cluster = np.unique(labels, return_inverse=True)
    votes, voting = np.zeros((len(modes), len(numbers))), basins >= 0
    np.add.at(votes, (basins[voting], cluster.ravel()[voting]), tree.sample.counts[voting])
    clusters = votes.argmax(axis=1)
    empty = np.flatnonzero(votes.sum(axis=1) == 0)
    if empty.size:
        positions = to_host(modes.cells) + to_host(modes.fractions)
        voted = np.flatnonzero(votes.sum(axis=1) > 0)
        nearest = backend_of(positions).nearest_modes(
            positions[empty], positions[voted], modes.grid.cells_per_period
        )
        clusters[empty] = clusters[voted[nearest]]
    united, found = modes.united(numbers[clusters])
    parts = {each.name: getattr(united, each.name) for each in fields(Modes)}
    joined = JoinedModes(**parts, tree=tree, clusters=found)
    heaviest = np.zeros(len(numbers))
    np.maximum.at(heaviest, clusters, to_host(modes.weights))
    main = heaviest[np.searchsorted(numbers, found)] / to_host(united.weights)
    return joined.centered(main < _MAIN_MODE)
