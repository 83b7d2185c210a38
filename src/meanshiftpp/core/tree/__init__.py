"""The tree of significant clusters: which valleys of the density are more than noise.

MeanShift++ ends in one mode for each bump of the density at one bandwidth, and noise has bumps too.
Without a bandwidth, clusters come from a tree instead. It is grown from every row: marginals choose
the cells of each feature, leaves collect a few rows each, and the kernel divides the leaves at
valleys deeper than noise makes them, at every scale. A point has the label of its leaf.

    tree, ids = grow(Observed(X), period, n_threads=2)
    clusters = Clusters.of_tree(tree)
    clusters.of_cut(tree.cut(n_clusters=5, n_threads=2))  # the same data in five
"""

from meanshiftpp.core.tree.clusters import Clusters
from meanshiftpp.core.tree.growth import Grown, Observed, grow
from meanshiftpp.core.tree.split import Split
from meanshiftpp.core.tree.tree import Tree

__all__ = ["Clusters", "Grown", "Observed", "Split", "Tree", "grow"]
