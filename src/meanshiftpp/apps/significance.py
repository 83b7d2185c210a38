"""Why clusters are apart, and what to try if there is only one: shared by the command and the page.

The numbers of clusters are those of the labels that the user sees, not those of the tree.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from meanshiftpp._support.devices import to_host
from meanshiftpp._support.text import pluralize
from meanshiftpp.core.tree import JoinedModes, Split, Tree

MAX_CANDIDATES = 3
LENIENT = 0.5  # candidates are the valleys that pass at this part of the strictness
NO_VALLEY = "no significant valley"


@dataclass(frozen=True)
class Valley:
    """A significant valley; the field names are keys of --json."""

    cluster: int  # the label of the cluster that it divides from `parent`
    parent: int
    ratio: float  # of the density in the valley to that at the lower peak
    z: float
    critical: float
    score: float  # accepted if at least the strictness
    window: int  # mass of the windows, in rows of the sample

    @classmethod
    def of_split(cls, split: Split, labels: dict[int, int]) -> Valley:
        """Return a split with the labels of its clusters."""
        return cls(
            labels[split.cluster],
            labels[split.parent],
            float(2.0**-split.depth),
            split.z,
            split.critical,
            split.score,
            split.window,
        )

    def __str__(self) -> str:
        return (
            f"cluster {self.cluster} from {self.parent}: the valley has {self.ratio:.2g} of the "
            f"peak's density, z {self.z:.1f} against {self.critical:.1f}, score {self.score:.2f}, "
            f"windows of {pluralize(self.window, 'row')}"
        )


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
    labels = _labels_of_clusters(modes)
    clearest = sorted(modes.tree.splits, key=lambda split: -split.score)
    return [Valley.of_split(split, labels) for split in clearest]


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
    unit = 10.0 ** (math.floor(math.log10(score)) - 1)
    return float(f"{math.floor(score / unit) * unit:.2g}")


def _labels_of_clusters(modes: JoinedModes) -> dict[int, int]:
    """Return the label that most rows of each cluster of the tree have; -1 is noise."""
    tree, labels = modes.tree, to_host(modes.label(modes.tree.sample))
    numbers = {split.parent for split in tree.splits} | {split.cluster for split in tree.splits}
    return {number: _most_frequent(labels[tree.labels == number]) for number in numbers}


def _most_frequent(labels: NDArray[np.int32]) -> int:
    return int(np.bincount(labels + 1).argmax()) - 1 if len(labels) else -1
