"""How alike two partitions are: five measures, all from one table of who shares what with whom.

The table counts the pixels that region i of one partition shares with region j of the other. One
`bincount` makes it; most of its entries are zero and only the others are kept. What follows costs
next to nothing.

    ari       adjusted Rand index: pairs treated alike, less what chance gives   1 is best, 0 chance
    fm        Fowlkes-Mallows: geometric mean of pair precision and pair recall           1 is best
    covering  overlap of each true region with the best of ours, weighted by its size     1 is best
    pri       Rand index: share of the pairs treated alike; its mean over several
              truths is the probabilistic Rand index                                      1 is best
    vi        variation of information, H(A | B) + H(B | A), in bits                      0 is best

Covering looks from the truth to the answer; the others are symmetric.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

DENSE = 1 << 24  # entries of a table that may be counted without sorting


class Scores(NamedTuple):
    """The five measures of one answer."""

    ari: float
    fm: float
    covering: float
    pri: float
    vi: float

    @property
    def goal(self) -> float:
        """The one number by which settings are chosen."""
        return (self.ari + self.fm + self.covering) / 3


class Table(NamedTuple):
    """What two partitions share: the entries that are not zero, and the sizes of the regions."""

    shared: NDArray[np.int64]
    ours: NDArray[np.int64]  # the row of each entry
    theirs: NDArray[np.int64]  # and its column
    sizes: NDArray[np.int64]
    true_sizes: NDArray[np.int64]


def score(labels: ArrayLike, truths: Iterable[ArrayLike]) -> Scores:
    """Give the mean scores of an answer over several truths."""
    ours = _codes(labels)
    return mean(_scores(_table(ours, _codes(truth))) for truth in truths)


def compare(labels: ArrayLike, truth: ArrayLike) -> Scores:
    """Score an answer against one truth. Any integers will do as labels, in any shape."""
    return score(labels, [truth])


def mean(scores: Iterable[Scores]) -> Scores:
    """Average each measure."""
    return Scores(*(float(value) for value in np.mean(list(scores), axis=0)))


def _codes(labels: ArrayLike) -> NDArray[np.int64]:
    """Flatten labels to 0..k-1 or little more; sort them only where that is needed."""
    flat = np.asarray(labels).ravel()
    if flat.size == 0 or flat.dtype.kind not in "iub":
        raise ValueError(f"expected integer labels, at least one; got {flat.size} {flat.dtype}")
    if flat.dtype.kind == "b" or (flat.min() >= 0 and flat.max() < 2 * flat.size):
        return flat.astype(np.int64)
    return np.unique(flat, return_inverse=True)[1]


def _table(ours: NDArray[np.int64], theirs: NDArray[np.int64]) -> Table:
    if len(ours) != len(theirs):
        raise ValueError(f"expected labels of the same pixels; got {len(ours)} and {len(theirs)}")
    width = int(theirs.max()) + 1
    entries = ours * width + theirs
    if (int(ours.max()) + 1) * width <= DENSE:
        counts = np.bincount(entries)
        found = np.flatnonzero(counts)
        shared = counts[found]
    else:
        found, shared = np.unique(entries, return_counts=True)
    return Table(shared, found // width, found % width, np.bincount(ours), np.bincount(theirs))


def _scores(table: Table) -> Scores:
    both, one, other = (_pairs(n) for n in (table.shared, table.sizes, table.true_sizes))
    pairs = _pairs(np.array([table.sizes.sum()]))
    expected = one * other / pairs if pairs else 0.0
    most = (one + other) / 2
    return Scores(
        ari=(both - expected) / (most - expected) if most != expected else 1.0,
        fm=both / np.sqrt(one * other) if both else 0.0,
        covering=_covering(table),
        pri=1 - (one + other - 2 * both) / pairs if pairs else 1.0,
        vi=_variation(table),
    )


def _pairs(sizes: NDArray[np.int64]) -> float:
    """Count the pairs of pixels that lie in one region."""
    return float((sizes * (sizes - 1)).sum()) / 2


def _covering(table: Table) -> float:
    """Sum over the true regions: their share of the image times the best overlap they found."""
    union = table.sizes[table.ours] + table.true_sizes[table.theirs] - table.shared
    best = np.zeros(len(table.true_sizes))
    np.maximum.at(best, table.theirs, table.shared / union)
    return float((table.true_sizes * best).sum() / table.true_sizes.sum())


def _variation(table: Table) -> float:
    """Give twice the joint entropy less both entropies, each from p log p."""
    joint, one, other = (_entropy(n) for n in (table.shared, table.sizes, table.true_sizes))
    return max(0.0, 2 * joint - one - other)


def _entropy(sizes: NDArray[np.int64]) -> float:
    share = sizes[sizes > 0] / sizes.sum()
    return float(-(share * np.log2(share)).sum())
