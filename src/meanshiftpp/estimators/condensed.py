"""The tree of a fitted estimator: a table, a picture, and an explanation of each split."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from meanshiftpp._support.checks import as_whole
from meanshiftpp._support.extras import need
from meanshiftpp._support.text import pluralize
from meanshiftpp.core.tree import Clusters, Split, Tree
from meanshiftpp.core.tree.valleys import NO_VALLEY, describe, looser_trees
from meanshiftpp.errors import InvalidInputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["CondensedTree"]


@dataclass(frozen=True)
class Node:
    """A part of the data between two splits.

    Attributes
    ----------
    child, parent : int
        Numbers of this node and of the one it is part of; the root is 0, and its parent -1.
    lambda_val : float
        One over the radius of the lightest windows at the density of the saddle where the node
        begins, in the units of the tree; 0 for the root.
    child_size : int
        Rows in the node.
    label : int
        The label of the cluster, -1 if the node divides further or is not a cluster of the result.
        The root has the label of the background, if that is a cluster.
    split : Split, optional
        The split that made the node; none for the root.
    """

    child: int
    parent: int
    lambda_val: float
    child_size: int
    label: int
    split: Split | None


class CondensedTree:
    """The significant splits of a data set, as `MeanShiftPP.condensed_tree_`.

    Each split divides a node into the part with the higher peak and the part with the lower one.
    """

    def __init__(self, modes: Clusters) -> None:
        self._modes = modes
        self.nodes = _nodes(modes)

    def __len__(self) -> int:
        return len(self.nodes)

    def __repr__(self) -> str:
        return f"CondensedTree({pluralize(len(self._tree.splits), 'split')})"

    @property
    def _tree(self) -> Tree:
        return self._modes.tree

    def to_pandas(self) -> Any:
        """Return a table of the nodes, without the root.

        The columns parent, child, lambda_val and child_size are those of hdbscan. Both parts of a
        split have its depth (log2 of the ratio of densities), z, critical value, score, mass of
        the windows and length of the front.
        """
        pandas = need("pandas", "pandas")
        names = ("depth", "z", "critical", "score", "window", "front")
        rows = [
            {
                "parent": node.parent,
                "child": node.child,
                "lambda_val": node.lambda_val,
                "child_size": node.child_size,
                "label": node.label,
                **{name: getattr(node.split, name) for name in names},
            }
            for node in self.nodes[1:]
        ]
        columns = ["parent", "child", "lambda_val", "child_size", "label", *names]
        return pandas.DataFrame(rows, columns=columns)

    def plot(self, ax: Any = None) -> Any:
        """Draw the tree; see `meanshiftpp.plot.tree.draw_tree`."""
        from meanshiftpp.plot.tree import draw_tree

        # A row of weight 2 counts as two rows, but 0.5 rows are not rows.
        return draw_tree(self, ax, weighted=not self._modes.whole)

    def persistence(self) -> NDArray[np.float64]:
        """Return for each label the part of its peak that stands above its saddle, 0 to 1."""
        return np.array([self._persistence(cluster) for cluster in self._modes.numbers.tolist()])

    def _persistence(self, cluster: int) -> float:
        own = [s.persistence for s in self._tree.splits if s.cluster == cluster]
        others = [s.persistence for s in self._tree.splits if self._tree.across(s) == cluster]
        return own[0] if own else max(others, default=1.0)

    def explain(self, label: int | None = None, n_threads: int | None = None) -> str:
        """Return the valleys that separate a cluster, or each, from the others, one per line."""
        n = len(self._modes)
        if not n:
            raise InvalidInputError("explain needs a cluster, but every point of the fit is noise")
        labels = range(n) if label is None else [as_whole(label, "label", 0, n - 1)]
        return "\n".join(self._explain(label, n_threads) for label in labels)

    def _explain(self, label: int, n_threads: int | None) -> str:
        clusters, tree = self._modes.numbers.tolist(), self._tree
        sides = [(split, {split.cluster, tree.across(split)}) for split in tree.splits]
        around = [(split, pair) for split, pair in sides if clusters[label] in pair]
        title = f"cluster {label}, of weight {float(self._modes.weights[label]):,.0f}:"
        if tree.splits and clusters[label] == tree.background:
            return f"{title} the flat background around the other clusters"
        if not around:
            return "\n".join([f"{title} {NO_VALLEY}", *_candidate_lines(tree, n_threads)])
        label_of = {number: k for k, number in enumerate(clusters)}
        lines = [title]
        for split, pair in around:
            (other,) = pair - {clusters[label]}
            name = f"cluster {label_of[other]}" if other in label_of else "a smaller part"
            lines.append(f"  valley to {name}: {describe(split, tree)}")
        return "\n".join(lines)


def _candidate_lines(tree: Tree, n_threads: int | None) -> list[str]:
    return [
        f"  strictness={strictness} gives "
        f"{pluralize(looser.n_clusters, 'cluster')}; their weakest valley: "
        f"{describe(looser.weakest, tree)}"
        for strictness, looser in looser_trees(tree, n_threads)
    ] or ["  no strictness gives more clusters"]


def _nodes(modes: Clusters) -> tuple[Node, ...]:
    """Return the nodes of a tree, the root first: every split divides a node into two.

    The tree is built from its clusters: splits are undone, the densest saddle first.
    """
    tree = modes.tree
    label_of = {number: k for k, number in enumerate(modes.numbers.tolist())}
    numbers, cluster = np.unique(tree.labels, return_inverse=True)
    index = {number: k for k, number in enumerate(numbers.tolist())}
    sizes = np.rint(np.bincount(cluster.ravel(), tree.sizes)).astype(np.int64).tolist()
    group = list(range(len(numbers)))  # a cluster with which each one is merged
    node = list(range(len(numbers)))  # of the clusters that stand for a group
    merges: list[tuple[int, int, Split]] = []

    def find(k: int) -> int:
        while group[k] != k:
            group[k] = group[group[k]]
            k = group[k]
        return k

    for split in sorted(tree.splits, key=tree.light_saddle):
        a, b = find(index[tree.across(split)]), find(index[split.cluster])
        merges.append((node[a], node[b], split))
        sizes.append(sizes[node[a]] + sizes[node[b]])
        group[b], node[a] = a, len(sizes) - 1
    labels = [label_of.get(number, -1) for number in numbers.tolist()] + [-1] * len(merges)
    labels[-1] = max(labels[-1], label_of.get(tree.background, -1))
    nodes = [Node(0, -1, 0.0, sizes[-1], labels[-1], None)]
    number = {len(sizes) - 1: 0}
    for merged in reversed(range(len(merges))):
        a, b, split = merges[merged]
        parent = number[len(numbers) + merged]
        for part in (a, b):
            number[part] = len(nodes)
            rate = float(2.0 ** -tree.light_saddle(split))
            nodes.append(Node(len(nodes), parent, rate, sizes[part], labels[part], split))
    return tuple(nodes)
