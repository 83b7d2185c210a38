"""The valleys between clusters, and the candidates if there is only one cluster.

`explain`, the command line and the studio share them. The numbers of clusters are those of the
labels that the user sees, not those of the tree.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

from meanshiftpp._support.checks import thread_count
from meanshiftpp._support.text import pluralize
from meanshiftpp.core.tree.clusters import Clusters
from meanshiftpp.core.tree.split import Split
from meanshiftpp.core.tree.tree import LOOSER, Tree

_STEPS, _BISECTIONS = 6, 3  # of the strictness of candidates
NO_VALLEY = "no significant valley"


@dataclass(frozen=True)
class Valley:
    """A significant valley; the field names are keys of --json."""

    cluster: int  # the labels of the clusters on both sides; -1 is noise
    neighbour: int
    ratio: float  # of the density in the valley to that at the lower peak
    z: float
    critical: float
    score: float  # accepted if at least the strictness
    window: int  # mass of the windows, in rows
    reason: str  # the same in words

    @classmethod
    def of_split(cls, split: Split, labels: dict[int, int], tree: Tree) -> Valley:
        """Return a split of a tree, with the labels of its clusters."""
        return cls(
            labels.get(split.cluster, -1),
            labels.get(tree.across(split), -1),
            float(2.0**-split.depth),
            split.z,
            split.critical,
            split.score,
            split.window,
            describe(split, tree),
        )

    def __str__(self) -> str:
        return f"between {_both(self.neighbour, self.cluster)}: {self.reason}"


def _both(*labels: int) -> str:
    """Return two labels in words."""
    if min(labels) >= 0:
        return "clusters {} and {}".format(*labels)
    return " and ".join(f"cluster {label}" if label >= 0 else "noise" for label in labels)


@dataclass(frozen=True)
class Candidate:
    """A looser clustering and its weakest valley; the field names are keys of --json."""

    strictness: float
    clusters: int  # at that strictness
    score: float
    ratio: float
    z: float
    critical: float
    window: int

    @classmethod
    def of_tree(cls, tree: Tree, strictness: float) -> Candidate:
        """Return the facts of a tree of several clusters, grown with a strictness."""
        weakest = tree.weakest
        return cls(
            strictness,
            tree.n_clusters,
            weakest.score,
            float(2.0**-weakest.depth),
            weakest.z,
            weakest.critical,
            weakest.window,
        )


def describe(split: Split, tree: Tree) -> str:
    """Return the facts of a split of a tree in one line."""
    share = 100 * split.window / float(tree.leaves.weights.sum())
    needed = split.critical * tree.strictness
    return (
        f"{2**split.depth:.3g} times less dense than the lower peak, z = {split.z:.1f} "
        f"(at least {needed:.1f} needed), windows of {share:.2g} % of the rows"
    )


def valleys(modes: Clusters) -> list[Valley]:
    """Return the valleys between clusters, the clearest first."""
    labels = {number: label for label, number in enumerate(modes.numbers.tolist())}
    clearest = sorted(modes.tree.splits, key=lambda split: -split.score)
    return [Valley.of_split(split, labels, modes.tree) for split in clearest]


def candidates(tree: Tree, n_threads: int | None = None) -> list[Candidate]:
    """Return looser clusterings of a tree of one cluster, if any has more."""
    return [
        Candidate.of_tree(looser, strictness)
        for strictness, looser in looser_trees(tree, n_threads)
    ]


def looser_trees(tree: Tree, n_threads: int | None = None) -> Iterator[tuple[float, Tree]]:
    """Iterate over looser trees of a tree of one cluster, each with a strictness to pass.

    The first is about the strictest with more than one cluster. The second is the first of a few
    large steps, if it has more. A tree grows the more slowly the looser it is.
    """

    def at(strictness: float) -> Tree:
        looser = replace(tree, strictness=rounded_down(strictness))
        return looser.regrown(1, n_threads=thread_count(n_threads))

    steps = (at(tree.strictness * LOOSER**k) for k in range(1, _STEPS + 1))
    looser = next((each for each in steps if each.n_clusters > 1), None)
    if looser is None:
        return
    strictest, high = looser, looser.strictness / LOOSER
    for _ in range(_BISECTIONS):
        middle = at(math.sqrt(strictest.strictness * high))
        if middle.n_clusters > 1:
            strictest = middle
        else:
            high = middle.strictness
    yield strictest.strictness, strictest
    if looser.n_clusters > strictest.n_clusters:
        yield looser.strictness, looser


def rounded_down(strictness: float) -> float:
    """Round to three decimals, so that the number as printed is loose enough."""
    return math.floor(strictness * 1000) / 1000


def describe_candidates(found: list[Candidate], strictness: str = "a strictness of") -> str:
    """Return the sentence about one cluster; `strictness` is its name in a front end."""
    texts = [
        f"{pluralize(each.clusters, 'cluster')} with {strictness} {each.strictness:g} "
        f"(score {each.score:.2f})"
        for each in found
    ]
    return f"{NO_VALLEY}; candidates: {', '.join(texts) or 'none'}"
