"""Why clusters are apart, and what to try if there is only one: shared by the command and the page.

The numbers of clusters are those of the labels that the user sees, not those of the tree.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from meanshiftpp._support.text import pluralize
from meanshiftpp.core.tree import JoinedModes, Split, Tree
from meanshiftpp.estimators.condensed import describe

MAX_CANDIDATES = 3
LENIENT = 0.5  # candidates are the valleys that pass at this part of the strictness
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
    window: int  # mass of the windows, in rows of the sample
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
            describe(split, tree.n_rows),
        )

    def __str__(self) -> str:
        return f"between clusters {self.neighbour} and {self.cluster}: {self.reason}"


@dataclass(frozen=True)
class Candidate:
    """A valley that is not significant; the field names are keys of --json."""

    strictness: float  # that accepts it
    clusters: int  # at that strictness
    score: float
    ratio: float
    z: float
    critical: float
    window: int


def valleys(modes: JoinedModes) -> list[Valley]:
    """Return the valleys between clusters, the clearest first."""
    labels = {number: label for label, number in enumerate(modes.clusters.tolist())}
    clearest = sorted(modes.tree.splits, key=lambda split: -split.score)
    return [Valley.of_split(split, labels, modes.tree) for split in clearest]


def candidates(tree: Tree, n_threads: int | None = None) -> list[Candidate]:
    """Return the best valleys of a tree of one cluster, at most three, the clearest first."""
    lenient = tree.regrow(LENIENT * tree.strictness, n_threads=n_threads)
    found: dict[float, Candidate] = {}
    for split in sorted(lenient.splits, key=lambda split: -split.score):
        strictness = _rounded_down(split.score)
        if strictness <= 0 or strictness in found:
            continue
        clusters = tree.regrow(strictness, n_threads=n_threads).n_clusters
        if clusters > 1:
            found[strictness] = Candidate(
                strictness,
                clusters,
                split.score,
                float(2.0**-split.depth),
                split.z,
                split.critical,
                split.window,
            )
        if len(found) == MAX_CANDIDATES:
            break
    return list(found.values())


def describe_candidates(found: list[Candidate], strictness: str = "a strictness of") -> str:
    """Return the sentence about one cluster; `strictness` is its name in a front end."""
    texts = [
        f"{pluralize(each.clusters, 'cluster')} with {strictness} {each.strictness:g} "
        f"(score {each.score:.2f})"
        for each in found
    ]
    return f"{NO_VALLEY}; candidates: {', '.join(texts) or 'none'}"


def _rounded_down(score: float) -> float:
    """Round a score down to two digits, so that it passes as a strictness."""
    if not score > 0:
        return 0.0
    nearest = float(f"{score:.2g}")
    if nearest <= score:
        return nearest
    return float(f"{nearest - 10.0 ** (math.floor(math.log10(score)) - 1):.2g}")
