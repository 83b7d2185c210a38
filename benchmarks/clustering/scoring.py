"""How well a labelling agrees with the best of several reference labellings.

Points that a reference counts as noise do not count in the adjusted Rand index and the adjusted
mutual information with it. The points that a method itself rejects (-1) do count: as one class, or
with the label of the nearest clustered point. A true cluster is found if a cluster overlaps it by
more than half: the points in both, relative to all points in either.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.clustering.suite import BACKGROUND, NOISE, Labels, count_clusters
from benchmarks.common.partition_metrics import (
    Contingency,
    adjusted_mutual_info,
    adjusted_rand,
    contingency,
    overlaps,
)

REJECTED = -1  # the label of noise in the result of a method
SOLVED = 0.95  # a data set with this ARI counts as solved
OVERLAP = 0.5  # no two clusters can overlap a true one by more


class Score(NamedTuple):
    """The agreement of a labelling with the references; each measure has its own best one."""

    ari: float
    ami: float
    clusters: int
    right_count: bool  # the number of clusters is that of one of the references
    found: int = 0  # true clusters
    true: int = 0  # clusters of the reference of which most are found
    seconds: float = 0.0  # CPU time of the method


class Mean(NamedTuple):
    """Means of scores over data sets; clusters and seconds are sums."""

    sets: int
    ari: float
    ami: float
    solved: float
    right_count: float
    clusters: int
    found: int
    true: int
    seconds: float


def score(labels: Labels, references: Sequence[Labels]) -> Score:
    """Compare a labelling with all references and return the best scores."""
    labels = np.asarray(labels)
    tables = [tabulate(labels[true != NOISE], true[true != NOISE]) for true in references]
    clusters = len(np.unique(labels[labels != REJECTED]))
    found, true = max((found_clusters(labels, each) for each in references), key=_share)
    return Score(
        ari=max(adjusted_rand(table) for table in tables),
        ami=max(adjusted_mutual_info(table) for table in tables),
        clusters=clusters,
        right_count=clusters in {count_clusters(true) for true in references},
        found=found,
        true=true,
    )


def tabulate(labels: Labels, reference: Labels) -> Contingency:
    """Return the contingency table; row 0 is rejected points and column 0 the background."""
    return contingency(labels.astype(np.int64) - REJECTED, reference.astype(np.int64) - BACKGROUND)


def found_clusters(labels: Labels, reference: Labels) -> tuple[int, int]:
    """Return how many clusters of a reference are found, and how many it has.

    All points count in the union, so a cluster that also holds much noise or background is not the
    one that was to be found.
    """
    table = tabulate(labels, reference)
    sought = table.true > NOISE - BACKGROUND
    hits = sought & (table.predicted > 0) & (overlaps(table) > OVERLAP)
    return int(hits.sum()), len(np.unique(table.true[sought]))


def _share(counts: tuple[int, int]) -> tuple[float, int]:
    found, true = counts
    return found / max(true, 1), found


def assign_rejected(X: NDArray[np.floating], labels: Labels) -> Labels:
    """Label each rejected point like the nearest clustered one, if there is one."""
    from scipy.spatial import cKDTree

    rejected = labels == REJECTED
    if not rejected.any() or rejected.all():
        return labels
    nearest = cKDTree(X[~rejected]).query(X[rejected])[1]
    assigned = labels.copy()
    assigned[rejected] = labels[~rejected][nearest]
    return assigned


def mean(scores: Iterable[Score]) -> Mean:
    """Average scores; at least one is necessary."""
    columns = Score(*np.array(list(scores), np.float64).T)
    return Mean(
        sets=len(columns.ari),
        ari=float(columns.ari.mean()),
        ami=float(columns.ami.mean()),
        solved=float((columns.ari >= SOLVED).mean()),
        right_count=float(columns.right_count.mean()),
        clusters=int(columns.clusters.sum()),
        found=int(columns.found.sum()),
        true=int(columns.true.sum()),
        seconds=float(columns.seconds.sum()),
    )
