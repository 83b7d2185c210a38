"""The tree of significant modes: which valleys between basins are more than noise.

MeanShift++ ends in as many modes as there are bumps, and noise has bumps too. The tree decides
which modes belong together. The kernel (`src/kernel/tree`) grows it from a sample of the data. It
looks through windows of constant mass, from light to heavy, for peaks of the density and the
saddles between them. A peak is a cluster of its own if its valley is deeper than noise makes
valleys anywhere.

    tree = Tree.of_points(X)
    modes = join_modes(tree, seek(grid))  # basins united to significant clusters
    tree.cut(n_clusters=5)                # the same data in five
"""

from meanshiftpp.core.tree.joined import JoinedModes, join_modes
from meanshiftpp.core.tree.split import Split
from meanshiftpp.core.tree.tree import SAMPLE_ROWS, Tree

__all__ = ["SAMPLE_ROWS", "JoinedModes", "Split", "Tree", "join_modes"]
