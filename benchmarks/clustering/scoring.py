"""How well a labelling agrees with the best of several reference labellings.

Points that a reference counts as noise do not count in the comparison with it. The points that a
method itself rejects (-1) do count: as one class, or with the label of the nearest clustered point.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.clustering.suite import NOISE, Labels, count_clusters

REJECTED = -1  # the label of noise in the result of a method
SOLVED = 0.95  # a data set with this ARI counts as solved


class Score(NamedTuple):
    """The agreement of a labelling with the references; each measure has its own best one."""

    ari: float
    ami: float
    clusters: int
    right_count: bool  # the number of clusters is that of one of the references


class Mean(NamedTuple):
    """Means of scores over data sets."""

    sets: int
    ari: float
    ami: float
    solved: float
    right_count: float


def score(labels: Labels, references: Sequence[Labels]) -> Score:
    """Compare a labelling with all references and return the best scores."""
    from sklearn.metrics import adjusted_mutual_info_score, adjusted_rand_score

    labels = np.asarray(labels)
    pairs = [(true[true != NOISE], labels[true != NOISE]) for true in references]
    clusters = len(np.unique(labels[labels != REJECTED]))
    return Score(
        ari=max(float(adjusted_rand_score(*pair)) for pair in pairs),
        ami=max(float(adjusted_mutual_info_score(*pair)) for pair in pairs),
        clusters=clusters,
        right_count=clusters in {count_clusters(true) for true in references},
    )


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
    scores = list(scores)
    ari, ami, _, right = (np.array(column, np.float64) for column in zip(*scores, strict=True))
    solved = float((ari >= SOLVED).mean())
    return Mean(len(scores), float(ari.mean()), float(ami.mean()), solved, float(right.mean()))
