"""The tree: significant clusters of leaves, the splits that made them, and its cuts.

The kernel (`src/kernel/tree`) grows it from leaves. It looks through windows of constant mass, from
light to heavy, for peaks of the density and the saddles between them. A peak is a cluster of its
own if its valley is deeper than noise makes valleys anywhere.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from meanshiftpp import _kernel
from meanshiftpp._support.devices import module_of
from meanshiftpp._support.text import pluralize
from meanshiftpp.core.tree.critical import critical_values
from meanshiftpp.core.tree.leaves import Leaves
from meanshiftpp.core.tree.split import Split

LOOSER = 0.8  # strictness of each further stage, relative to the one before
STAGES = 14
_MOST_WANTED = 4


@dataclass(frozen=True, eq=False, repr=False)
class Tree:
    """The significant clusters of a data set, and the splits that made them.

    Attributes
    ----------
    leaves : Leaves
        Boxes of few points each, which belong to one cluster as a whole.
    sizes : ndarray of shape (n_leaves,), float64
        The counts of the points in each leaf.
    labels : ndarray of shape (n_leaves,), int64
        The cluster of each leaf, numbered as in the splits.
    radii : ndarray of shape (n_leaves,), float64
        log2 of the radius of the lightest window around each leaf, in the units of the lattice:
        high where data is sparse.
    window : int
        Mass of the lightest windows, in counts.
    n_levels : int
        How many masses of windows were tried.
    splits : tuple of Split
        The splits, in the order in which they were made.
    rows : float
        The number of points that the counts of all leaves are worth.
    factor, strictness : float
        Factors of all critical values: that of the units, and the user's.
    hosts : ndarray of shape (n_leaves,), int64
        The leaf whose cluster each leaf belongs to: itself, unless it is flat background around a
        bump. -1 if no cluster is the background.
    far : ndarray of shape (n_leaves,), float64
        Those of the counts that are beyond the window of their leaf; known if there is noise.
    """

    leaves: Leaves
    sizes: NDArray[np.float64]
    labels: NDArray[np.int64]
    radii: NDArray[np.float64]
    window: int
    n_levels: int
    splits: tuple[Split, ...]
    rows: float
    factor: float
    strictness: float
    hosts: NDArray[np.int64]
    far: NDArray[np.float64]

    # -- growing ------------------------------------------------------------------------------

    @classmethod
    def of_one(cls, leaves: Leaves, sizes: NDArray[np.float64], strictness: float) -> Self:
        """Return the tree of one leaf."""
        zeros, own = np.zeros(len(leaves)), np.arange(len(leaves))
        labels = zeros.astype(np.int64)
        return cls(leaves, sizes, labels, zeros, 1, 1, (), 1.0, 1.0, strictness, own, zeros)

    @classmethod
    def grown(
        cls,
        leaves: Leaves,
        sizes: NDArray[np.float64],
        rows: float,
        factor: float,
        strictness: float,
        n_threads: int,
    ) -> Self:
        """Grow the tree of leaves whose counts are worth so many rows."""
        one = replace(cls.of_one(leaves, sizes, strictness), rows=rows, factor=factor)
        return one._grown(1, None, n_threads)

    def regrown(self, n_clusters: int, *, n_threads: int) -> Self:
        """Grow the tree again, in looser stages until it has at least so many clusters.

        Each stage divides the clusters of the one before, so the tree keeps all its splits.
        """
        if not self.leaves.used.any():  # all points are equal
            return self
        return self._grown(n_clusters, self.hosts, n_threads)

    def _grown(self, n_clusters: int, hosts: NDArray[np.int64] | None, n_threads: int) -> Self:
        leaves = self.leaves
        stages = LOOSER ** np.arange(STAGES if n_clusters > 1 else 1, dtype=np.float64)
        labels, radii, columns, window, n_levels, hosts = _kernel.grow_tree(
            leaves.lattice,
            leaves.positions,
            leaves.weights,
            self.sizes,
            hosts,
            self.rows,
            self.factor * self.strictness * stages,
            n_clusters,
            critical_values(int(leaves.used.sum())),
            n_threads,
        )
        columns["critical"] = np.multiply(columns["critical"], self.factor)
        columns["score"] = np.divide(columns["score"], self.factor)
        names = Split.__dataclass_fields__
        rows = zip(*(columns[name].tolist() for name in names), strict=True)
        return replace(
            self,
            labels=labels,
            radii=np.ldexp(radii.astype(np.float64), -16),
            window=window,
            n_levels=n_levels,
            splits=tuple(Split(*row) for row in rows),
            hosts=hosts,
        )

    # -- reading ------------------------------------------------------------------------------

    @property
    def n_clusters(self) -> int:
        """The number of clusters, without a background of its own."""
        return len(self.splits) + 1

    @property
    def groups(self) -> NDArray[np.int64]:
        """The cluster of each leaf, without the flat background around bumps.

        The background belongs to the cluster that the bumps lie on. If there is none, it is a group
        of its own while there are bumps, with a number above all others.
        """
        groups = self.labels[self.hosts]
        groups[self.hosts < 0] = self.background if self.splits else self.labels[0]
        return groups

    @property
    def background(self) -> int:
        """The number of a background of its own."""
        return int(self.labels.max()) + 1

    @property
    def clarity(self) -> tuple[int, float]:
        """The number of clusters, then the sum of all scores: larger for the clearer tree."""
        return self.n_clusters, sum(split.score for split in self.splits)

    @property
    def weakest(self) -> Split:
        """The least significant split of a tree with more than one cluster."""
        return min(self.splits, key=lambda split: split.score)

    def across(self, split: Split) -> int:
        """Return the cluster on the other side of the saddle of a split."""
        return int(self.labels[split.joins])

    def __repr__(self) -> str:
        return f"Tree({pluralize(self.n_clusters, 'cluster')} of {len(self.labels):,} leaves)"

    # -- cutting ------------------------------------------------------------------------------

    def cut(
        self,
        n_clusters: int | None = None,
        persistence: float | None = None,
        min_size: float | None = None,
        *,
        n_threads: int,
    ) -> Self:
        """Return a coarser or finer tree of the same family.

        Splits are undone until `n_clusters` are left, all have at least the `persistence`, or every
        cluster has at least `min_size` counts; looser splits are added if there are fewer clusters
        than wanted. No other border moves, so the cuts of a tree are nested.
        """
        tree = self if n_clusters is None else self._at_least(n_clusters, n_threads)
        if n_clusters is not None:
            tree = tree.without(tree.weakest_first()[: max(tree.n_clusters - n_clusters, 0)])
        if persistence is not None:
            tree = tree.without([split for split in tree.splits if split.persistence < persistence])
        return tree if min_size is None else tree.without(tree._too_small(min_size))

    def _at_least(self, n_clusters: int, n_threads: int) -> Self:
        """Return the tree with enough looser splits, or with all if there are not enough."""
        tree, wanted = self, n_clusters
        while tree.n_clusters < n_clusters and wanted <= _MOST_WANTED * n_clusters:
            tree = self.regrown(wanted, n_threads=n_threads)
            wanted *= 2  # some splits may leave no points, and are undone
        return tree

    def weakest_first(self) -> list[Split]:
        """Return the splits in the order in which they are undone: the loosest stage first.

        Within a stage, the next is the one that separates the least, among those whose cluster does
        not divide further: depth in bits times the counts of the smaller side, which bounds what is
        lost by describing two clusters as one.
        """
        order = _kernel.weakest_first(
            np.bincount(self.labels, self.sizes).astype(np.float64),
            self._column("cluster", np.int64),
            self._column("parent", np.int64),
            self._across(),
            self._column("stage", np.int64),
            self._column("depth", np.float64),
        )
        return [self.splits[k] for k in order]

    def _too_small(self, min_size: float) -> list[Split]:
        """Return the splits to undo: the smallest cluster joins across its densest saddle first."""
        undone = _kernel.join_small(
            np.bincount(self.groups, self.sizes, self.background).astype(np.float64),
            self._column("cluster", np.int64),
            self._across(),
            np.array([self.light_saddle(split) for split in self.splits], np.float64),
            min_size,
        )
        return [self.splits[k] for k in undone]

    def _column(self, name: str, kind: type) -> NDArray[Any]:
        """Return a field of all splits."""
        return np.array([getattr(split, name) for split in self.splits], kind)

    def _across(self) -> NDArray[np.int64]:
        """Return the cluster on the other side of each split."""
        across: NDArray[np.int64] = self.labels[self._column("joins", np.int64)]
        return across

    def without(self, undone: list[Split]) -> Self:
        """Undo splits: the clusters on both sides of each become one."""
        if not undone:
            return self
        group = np.arange(int(self.labels.max()) + 1)
        for split in undone:
            a, b = group[split.cluster], group[self.across(split)]
            group[group == a] = b
        gone = {id(split) for split in undone}
        kept = tuple(
            replace(split, cluster=int(group[split.cluster]), parent=int(group[split.parent]))
            for split in self.splits
            if id(split) not in gone
        )
        return replace(self, labels=group[self.labels], splits=kept)

    # -- density ------------------------------------------------------------------------------

    def light_saddle(self, split: Split) -> float:
        """Return log2 of the radius that the lightest windows have at the density of a saddle."""
        return float(split.saddle - np.log2(split.window / self.window) / split.dimension)

    def sparse(self) -> NDArray[np.bool_]:
        """Return which leaves are sparser than every saddle of their cluster: noise, if wanted.

        At the density of a saddle, noise makes half of the windows smaller, so the limit is two
        standard errors denser, or a quarter of the way up to the peak if that is less.
        """
        limits = np.full(int(self.labels.max()) + 1, -np.inf)
        rows = self.window * self.rows / max(float(self.leaves.weights.sum()), 1.0)
        for split in self.splits:
            margin = min(2 * np.log2(np.e) / np.sqrt(rows), split.depth / 4)
            level = self.light_saddle(split) - margin / split.dimension
            for label in (split.cluster, self.across(split)):
                limits[label] = max(limits[label], level)
        limits[np.isneginf(limits)] = np.inf
        sparse: NDArray[np.bool_] = self.radii > limits[self.labels]
        return sparse

    def locate(
        self, X: NDArray[np.generic], n_threads: int
    ) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
        """Return the nearest leaf of each point, and whether the point is beyond its window."""
        ids, distances = self.leaves.locate(X, n_threads)
        return ids, distances > module_of(ids).asarray(np.exp2(self.radii))[ids]
