"""Clusters: the leaves of a tree with their labels, and the label of any point by its leaf."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from meanshiftpp import _kernel
from meanshiftpp._support.checks import as_not_negative, as_points, as_whole, thread_count
from meanshiftpp._support.devices import current_device, module_of, to_host
from meanshiftpp._support.text import pluralize
from meanshiftpp._support.warnings import warn_user
from meanshiftpp.backends import host
from meanshiftpp.core.labels import number_by_size
from meanshiftpp.core.tree.tree import Tree
from meanshiftpp.errors import InvalidInputError

_LEAST_SIZE = 2.0**-20  # of a leaf that no point is in
_SAME_RADIUS = 2.0**-20
_NEIGHBOURS = 16  # leaves around a point that share it
_FAR = 2.0**500  # whose square is finite: a position farther away is as far
_BLOCK = 1 << 18  # points whose neighbours are found at once


@dataclass(frozen=True, eq=False, repr=False)
class Clusters:
    """The clusters of a tree, heaviest first.

    Attributes
    ----------
    tree : Tree
        The tree, with the reason for each split.
    leaf_labels : ndarray of shape (n_leaves,), int32
        The label of each leaf; -1 is noise.
    numbers : ndarray of shape (n_clusters,)
        The number that each cluster has in the tree.
    weights : ndarray of shape (n_clusters,), float64
        Weight of the points of each cluster, falling.
    unit : float
        The weight of one count.
    whole : bool
        Whether all weights were whole numbers.
    cluster_all : bool
        Whether every point belongs to a cluster. If false, points that no cluster rises above are
        noise: the flat background around bumps, leaves that are sparser than every saddle of their
        cluster, and points beyond the windows of all leaves.
    """

    tree: Tree
    leaf_labels: NDArray[np.int32]
    numbers: NDArray[np.integer]
    weights: NDArray[np.float64]
    unit: float = 1.0
    whole: bool = True
    cluster_all: bool = True

    @classmethod
    def of_tree(
        cls, tree: Tree, *, unit: float = 1.0, whole: bool = True, cluster_all: bool = True
    ) -> Self:
        """Return the clusters of a tree, numbered by their weight."""
        groups, sizes = tree.groups, tree.sizes
        if not cluster_all:
            groups = np.where(tree.sparse() | (groups != tree.labels), -1, groups)
            sizes = sizes - tree.far
            # Parts of spread piles may be all that is left of a cluster: no point is in them.
            weights = np.append(np.bincount(groups[groups >= 0], sizes[groups >= 0]), 0)
            groups = np.where(weights[groups] > 0, groups, -1)
        numbering = number_by_size(groups, sizes)
        return cls(
            tree,
            numbering.labels,
            numbering.groups,
            numbering.sizes.astype(np.float64) * unit,
            unit,
            whole,
            cluster_all,
        )

    def of_cut(self, tree: Tree) -> Self:
        """Return the clusters of another cut of the tree."""
        options = {"unit": self.unit, "whole": self.whole, "cluster_all": self.cluster_all}
        return type(self).of_tree(tree, **options)  # type: ignore[arg-type]

    def cut(
        self,
        n_clusters: int | None = None,
        persistence: float | None = None,
        min_cluster_size: float | None = None,
        *,
        n_threads: int | None = None,
    ) -> Self:
        """Return the clusters of a coarser or finer cut, by one of the three; see `Tree.cut`.

        Nothing else validates the arguments. Data with fewer peaks than `n_clusters` warns.
        """
        wishes = (n_clusters, persistence, min_cluster_size)
        if sum(wish is not None for wish in wishes) != 1:
            raise InvalidInputError(
                "cut needs one of n_clusters, persistence and min_cluster_size, and only one"
            )
        if persistence is not None and as_not_negative(persistence, "persistence") > 1:
            expected = "a number from 0 to 1"
            raise InvalidInputError.for_parameter("persistence", expected, persistence)
        if min_cluster_size is not None:
            min_cluster_size = as_not_negative(min_cluster_size, "min_cluster_size") / self.unit
        tree = self.tree.cut(
            None if n_clusters is None else as_whole(n_clusters, "n_clusters", 1),
            persistence,
            min_cluster_size,
            n_threads=thread_count(n_threads),
        )
        if n_clusters is not None:
            report_missing(n_clusters, tree.n_clusters)
        return self.of_cut(tree)

    def __len__(self) -> int:
        return len(self.weights)

    @property
    def total(self) -> float:
        """Weight of all points together, noise included."""
        count = float(self.tree.sizes.sum())
        return round(count) if self.whole else count * self.unit

    @property
    def n_features(self) -> int:
        """Number of features."""
        return len(self.tree.leaves.lattice.units)

    @property
    def periods(self) -> list[float | None]:
        """Period of each feature in data units, None for a feature without one."""
        lattice = self.tree.leaves.lattice
        return [
            length or None for length in (lattice.cells_per_period * lattice.cell_size).tolist()
        ]

    @property
    def cell_size(self) -> NDArray[np.float64]:
        """The size in data units of a coordinate of the tree."""
        lattice = self.tree.leaves.lattice
        return np.ldexp(lattice.cell_size, lattice.shift)

    @property
    def centers(self) -> NDArray[np.float64]:
        """The middle of each cluster in data units: array of shape (n_clusters, n_features).

        It is the mean of the leaves that are denser than the cluster on average, if that lies among
        them, and else the densest leaf: the mean of a ring or a crescent leaves the curve.
        """
        tree, labels, k = self.tree, self.leaf_labels, len(self)
        if not k:
            return np.empty((0, self.n_features))
        tops = self._tops()
        inside = np.flatnonzero(labels >= 0)
        label, size = labels[inside], np.maximum(tree.sizes[inside], _LEAST_SIZE)
        is_top = np.zeros(len(labels), bool)
        is_top[tops] = True
        mean_radius = np.bincount(label, size * tree.radii[inside], k) / np.bincount(label, size, k)
        # Rounding must not leave out the leaves of a cluster that all have the same radius.
        core = tree.radii[inside] <= mean_radius[label] + _SAME_RADIUS
        core |= is_top[inside]
        leaves, label, size = inside[core], label[core], size[core]
        positions, lattice = tree.leaves.positions, tree.leaves.lattice
        offsets = lattice.wrapped(positions[leaves] - positions[tops][label])
        weight = np.bincount(label, size, k)[:, None]
        mean = np.stack([np.bincount(label, size * x, k) for x in offsets.T], axis=1) / weight
        squared = np.square(lattice.wrapped(offsets - mean[label])).sum(axis=1)
        within = np.full(k, np.inf)
        np.minimum.at(within, label, squared - 4.0 ** tree.radii[leaves])
        if tree.n_levels:  # too few points for a window have no radii to compare with
            mean[within > 0] = 0.0
        return self._data(positions[tops] + mean)

    def _tops(self) -> NDArray[np.intp]:
        """Return the densest leaf of each cluster, the first of equals."""
        kind = np.uint16 if len(self) < 1 << 16 else np.int32  # small numbers are sorted fast
        inside = np.flatnonzero(self.leaf_labels >= 0)
        order = inside[np.argsort(self.leaf_labels[inside].astype(kind), kind="stable")]
        labels, radii = self.leaf_labels[order], self.tree.radii[order]
        least = np.minimum.reduceat(radii, np.searchsorted(labels, np.arange(len(self))))
        dense = np.flatnonzero(radii == least[labels])
        tops: NDArray[np.intp] = order[dense[np.searchsorted(labels[dense], np.arange(len(self)))]]
        return tops

    def _data(self, positions: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return positions in the tree in data units; between 0 and the period on a circle.

        Piles at the ends of features, which a tree spreads outwards, end the data again.
        """
        values = self.tree.leaves.lattice.values(positions)
        for feature, end, width in self.tree.leaves.ends:
            limit = np.maximum if width < 0 else np.minimum
            values[:, int(feature)] = limit(values[:, int(feature)], end)
        for j, period in enumerate(self.periods):
            if period:
                values[:, j] %= period
        return values

    # -- labels -------------------------------------------------------------------------------

    def label(self, X: ArrayLike, *, n_threads: int | None = None) -> NDArray[np.int32]:
        """Label points by their leaf; a point in no leaf gets the label of the nearest.

        If not every point belongs to a cluster, a point farther from all leaves than the window of
        the nearest one gets -1.
        """
        points = as_points(X)
        with current_device(points):
            return self.labels_of(self.leaf_ids(points, n_threads=n_threads))

    def labels_of(self, ids: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return the labels of leaves; -1 for the leaf -1."""
        with current_device(ids):
            of_leaf = np.append(self.leaf_labels, np.int32(-1))
            labels: NDArray[np.int32] = module_of(ids).asarray(of_leaf)[ids]
            return labels

    def leaf_ids(self, X: ArrayLike, *, n_threads: int | None = None) -> NDArray[np.int32]:
        """Return the leaf of each point, or the nearest; -1 for noise beyond the windows."""
        points, threads = as_points(X), thread_count(n_threads)
        if self.cluster_all:
            return self.tree.leaves.locate(points, threads)[0]
        ids, far = self.tree.locate(points, threads)
        ids[far] = -1
        return ids

    def strengths(self) -> NDArray[np.float64]:
        """Return the density of each leaf, from 0 to 1 for the peak of its cluster; 0 for noise."""
        labels, radii = self.leaf_labels, self.tree.radii
        peaks = np.append(radii[self._tops()], 0.0)
        strengths: NDArray[np.float64] = np.where(
            labels < 0, 0.0, np.exp2(self._dimension() * (peaks[labels] - radii))
        )
        return np.minimum(strengths, 1.0)

    def _dimension(self) -> float:
        splits = self.tree.splits
        used = float(self.tree.leaves.used.sum())
        return float(np.mean([split.dimension for split in splits])) if splits else max(used, 1.0)

    def shares(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return for each point and cluster the share of the nearest 16 leaves in that cluster.

        The shares of a point sum to 1, or are all 0 if there is only noise around it.
        """
        leaves, points = self.tree.leaves, to_host(as_points(X))
        _kernel.check_finite(points, thread_count(None))
        if len(leaves) == 1:
            return np.ones((len(points), len(self)), order="F")
        lattice, used = leaves.lattice, leaves.used
        shares = np.zeros((len(points), len(self) + 1), order="F")
        for start in range(0, len(points), _BLOCK):
            at = lattice.positions(points[start : start + _BLOCK])[:, used].clip(-_FAR, _FAR)
            near = host.nearest_points(
                at, leaves.positions[:, used], min(_NEIGHBOURS, len(leaves)), lattice.period[used]
            )
            labels, weight = self.leaf_labels[near], leaves.weights[near].astype(np.float64)
            rows = np.arange(start, start + len(at))
            for column in range(near.shape[1]):
                np.add.at(shares, (rows, labels[:, column]), weight[:, column])
        inside = shares[:, :-1]
        total = inside.sum(axis=1, keepdims=True)
        inside /= np.where(total > 0, total, 1)
        return inside


def report_missing(expected: int, found: int) -> None:
    """Warn if data has fewer peaks than the clusters that were asked for."""
    if found < expected:
        peaks = f"the data has only {pluralize(found, 'peak')}"
        warn_user(UserWarning(f"expected {pluralize(expected, 'cluster')}, but {peaks}"))
