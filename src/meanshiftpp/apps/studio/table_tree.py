"""The tree of a table: its clusterings, from one cluster to all significant ones and a few more.

They are the cuts of one tree, so they are nested: one more cluster divides one cluster in two and
moves no other border. The tree is grown once, and a cut looks up the labels of its leaves.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from meanshiftpp._support.checks import thread_count
from meanshiftpp._support.text import pluralize
from meanshiftpp.core.tree import Clusters, Split, Tree
from meanshiftpp.core.tree.significant import Significant
from meanshiftpp.core.tree.valleys import NO_VALLEY

__all__ = ["NO_BRANCH", "READABLE", "Cut", "Cuts"]

# The most clusters of the first picture; the tree has as many even if few are significant.
READABLE = 30
NO_BRANCH = 2**32 - 1


class Cut(NamedTuple):
    """A number of clusters, the branch of the tree that each is, and the label of each point.

    Besides the clusters of the tree, there may be a background of bumps, of no branch.
    """

    n: int
    clusters: Clusters
    branches: list[int]
    labels: NDArray[np.int32]


class Cuts:
    """The nested clusterings of points.

    The branch of all points is 0. The cut into k clusters divides one branch of the cut before
    into the branches 2 k - 3 and 2 k - 2.

    Parameters
    ----------
    points : ndarray of shape (n, d)
        The points, which must be finite.
    """

    def __init__(self, points: NDArray[Any]) -> None:
        fitted = Significant().checked(points.shape[1]).fit(points)
        self._significant, self._ids = fitted.clusters, fitted.ids
        self._drawn: Tree | None = None  # the tree of the last picture
        self._is_complete = False  # the data has no more peaks
        self._store(fitted.clusters.tree)

    @property
    def significant(self) -> int:
        """The number of significant clusters."""
        return self._significant.tree.n_clusters

    @property
    def readable(self) -> int:
        """The number of clusters to show first."""
        return min(self.significant, READABLE)

    def grow(self, n_clusters: int = READABLE) -> None:
        """Add looser splits to the tree if it has fewer clusters, as far as the data has peaks."""
        if self._tree.n_clusters < n_clusters and not self._is_complete:
            self._store(self._tree.cut(n_clusters, n_threads=thread_count(None)))
            self._is_complete = self._tree.n_clusters < n_clusters

    def cut(self, n_clusters: int, rows: NDArray[np.intp] | slice = slice(None)) -> Cut:
        """Return the given number of clusters, or all that the tree has, and the labels of rows."""
        self.grow(n_clusters)
        n = min(n_clusters, self._tree.n_clusters)
        tree = self._tree.cut(n, n_threads=thread_count(None))
        clusters = self._significant.of_cut(tree)
        branch_of, _ = self._branches(n)
        branches = [branch_of.get(number, NO_BRANCH) for number in clusters.numbers.tolist()]
        return Cut(n, clusters, branches, clusters.leaf_labels[self._ids[rows]])

    # -- the picture ---------------------------------------------------------------------------

    @property
    def is_drawn(self) -> bool:
        """Whether the last picture shows the whole tree."""
        return self._drawn is self._tree

    def picture(self) -> dict[str, Any]:
        """Return the branches of the tree: where each is, and the one it is a part of."""
        self._drawn = self._tree
        branch_of, parents = self._branches(len(self._tree.splits) + 1)
        places = self._places(branch_of, parents)
        return {
            "type": "tree",
            "view": "table",
            "significant": self.significant,
            "complete": self._is_complete or self._tree.n_clusters >= READABLE,
            "branches": [list(each) for each in zip(places, parents, strict=True)],
            "advice": self._advice(),
        }

    def _branches(self, n_clusters: int) -> tuple[dict[int, int], list[int]]:
        """Return the branch of each cluster of a cut, and the parent of each branch down to it."""
        branch_of, parents = {self._root: 0}, [-1]
        for k, (cluster, neighbour) in enumerate(self._divisions[: n_clusters - 1], 2):
            parents += [branch_of[neighbour]] * 2
            branch_of[cluster], branch_of[neighbour] = 2 * k - 3, 2 * k - 2
        return branch_of, parents

    def _store(self, tree: Tree) -> None:
        """Store a tree, and the clusters on both sides of each split in the order of cuts."""
        order = tree.weakest_first()
        group = np.arange(int(tree.labels.max()) + 1)
        divisions = []
        for split in order:
            cluster, neighbour = int(group[split.cluster]), int(group[tree.across(split)])
            divisions.append((cluster, neighbour))
            group[group == cluster] = neighbour
        self._tree, self._order, self._divisions = tree, order, divisions[::-1]
        self._root = int(group[tree.labels[0]])

    def _places(self, branch_of: dict[int, int], parents: list[int]) -> list[float]:
        """Place leaves of the tree side by side, and every other branch between its children.

        Leaves are 1 wide. The branch with the smaller mean of the first feature is on the left.
        """
        tree, n = self._tree, len(parents)
        weights, means = tree.leaves.weights, tree.leaves.positions[:, 0]
        counts, sums = np.bincount(tree.labels, weights), np.bincount(tree.labels, weights * means)
        weight, moment = np.zeros(n), np.zeros(n)
        for cluster, branch in branch_of.items():
            weight[branch], moment[branch] = counts[cluster], sums[cluster]
        for branch in range(n - 1, 0, -1):
            weight[parents[branch]] += weight[branch]
            moment[parents[branch]] += moment[branch]
        children: dict[int, list[int]] = {}
        for branch in sorted(range(1, n), key=lambda each: -moment[each] / weight[each]):
            children.setdefault(parents[branch], []).append(branch)
        places, n_leaves, waiting = [0.0] * n, 0, [0]
        while waiting:  # a tree may be deeper than Python's stack
            branch = waiting.pop()
            waiting += children.get(branch, [])
            if branch not in children:
                places[branch], n_leaves = n_leaves + 0.5, n_leaves + 1
        for branch in range(n - 1, -1, -1):
            if branch in children:
                places[branch] = sum(places[each] for each in children[branch]) / 2
        return places

    def _advice(self) -> str:
        """Return the next step for data without a significant valley."""
        if self.significant > 1:
            return ""
        if not self._order:
            return f"{NO_VALLEY}, and no candidate; move the slider of the bandwidth to see others"
        clearest: Split = self._order[-1]
        return (
            f"{NO_VALLEY}; the clearest of {pluralize(len(self._order), 'candidate')} reaches "
            f"{100 * clearest.score:.0f} % of the depth that counts; "
            "drag the line of the tree to see it"
        )
