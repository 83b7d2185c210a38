"""Measures of how similar two partitions are, all computed from one contingency table.

The table counts the pixels that region i of one partition shares with region j of the other. One
`bincount` builds it, and only its non-zero entries are kept.

    ari       adjusted Rand index: pairs treated alike, corrected for chance    1 is best, 0 chance
    fm        Fowlkes-Mallows: geometric mean of pair precision and pair recall           1 is best
    covering  overlap of each true region with the best predicted one, weighted by size   1 is best
    pri       Rand index: share of the pairs treated alike; its mean over several
              truths is the probabilistic Rand index                                      1 is best
    vi        variation of information, H(A | B) + H(B | A), in bits                      0 is best

Covering is asymmetric: it maps true regions to predicted ones. The other measures are symmetric.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

MAX_DENSE_ENTRIES = 1 << 24  # a larger table is counted by sorting


class Scores(NamedTuple):
    """The five measures of one segmentation."""

    ari: float
    fm: float
    covering: float
    pri: float
    vi: float

    @property
    def selection_score(self) -> float:
        """The mean of ARI, Fowlkes-Mallows and covering, by which settings are chosen."""
        return (self.ari + self.fm + self.covering) / 3


class Contingency(NamedTuple):
    """The non-zero entries of a contingency table, and the sizes of all regions."""

    shared: NDArray[np.int64]
    predicted: NDArray[np.int64]  # the row of each entry
    true: NDArray[np.int64]  # the column of each entry
    predicted_sizes: NDArray[np.int64]
    true_sizes: NDArray[np.int64]


def score(labels: ArrayLike, truths: Iterable[ArrayLike]) -> Scores:
    """Return the mean scores of a segmentation over several truths."""
    codes = _as_codes(labels)
    return mean(_scores(contingency(codes, _as_codes(truth))) for truth in truths)


def score_counts(counts: NDArray[np.int64]) -> Scores:
    """Score a partition by the pixels that each of its regions (rows) shares with each true one."""
    predicted, true = np.nonzero(counts)
    sizes = counts.sum(axis=1), counts.sum(axis=0)
    return _scores(Contingency(counts[predicted, true], predicted, true, *sizes))


def compare(labels: ArrayLike, truth: ArrayLike) -> Scores:
    """Score a segmentation against one truth. Labels are any integers, in any shape."""
    return score(labels, [truth])


def mean(scores: Iterable[Scores]) -> Scores:
    """Average each measure."""
    return Scores(*(float(value) for value in np.mean(list(scores), axis=0)))


def _as_codes(labels: ArrayLike) -> NDArray[np.int64]:
    """Flatten labels to codes below twice their number; sort only if necessary."""
    flat = np.asarray(labels).ravel()
    if flat.size == 0 or flat.dtype.kind not in "iub":
        raise ValueError(f"expected integer labels, at least one; got {flat.size} {flat.dtype}")
    if flat.dtype.kind == "b" or (flat.min() >= 0 and flat.max() < 2 * flat.size):
        return flat.astype(np.int64)
    return np.unique(flat, return_inverse=True)[1]


def contingency(predicted: NDArray[np.int64], true: NDArray[np.int64]) -> Contingency:
    """Count the entries of the table of two partitions, whose labels are small and not negative."""
    if len(predicted) != len(true):
        raise ValueError(
            f"expected labels of the same pixels; got {len(predicted)} and {len(true)}"
        )
    width = int(true.max()) + 1
    entries = predicted * width + true
    if (int(predicted.max()) + 1) * width <= MAX_DENSE_ENTRIES:
        counts = np.bincount(entries)
        occupied = np.flatnonzero(counts)
        shared = counts[occupied]
    else:
        occupied, shared = np.unique(entries, return_counts=True)
    sizes = np.bincount(predicted), np.bincount(true)
    return Contingency(shared, occupied // width, occupied % width, *sizes)


def _scores(table: Contingency) -> Scores:
    both, one, other, pairs = _pairs(table)
    return Scores(
        ari=adjusted_rand(table),
        fm=both / np.sqrt(one * other) if both else 0.0,
        covering=_covering(table),
        pri=1 - (one + other - 2 * both) / pairs if pairs else 1.0,
        vi=_variation_of_information(table),
    )


def adjusted_rand(table: Contingency) -> float:
    """Return the Rand index, corrected for chance; 1 is best, 0 chance."""
    both, one, other, pairs = _pairs(table)
    expected = one * other / pairs if pairs else 0.0
    maximum = (one + other) / 2
    return (both - expected) / (maximum - expected) if maximum != expected else 1.0


def _pairs(table: Contingency) -> tuple[float, float, float, float]:
    """Return the pairs of pixels that are together in both, in one, in the other, and all."""
    sizes = (table.shared, table.predicted_sizes, table.true_sizes)
    both, one, other = (_count_pairs(n) for n in sizes)
    return both, one, other, _count_pairs(np.array([table.predicted_sizes.sum()]))


def _count_pairs(sizes: NDArray[np.int64]) -> float:
    """Return the number of pixel pairs within the same region."""
    return float((sizes * (sizes - 1)).sum()) / 2


def overlaps(table: Contingency) -> NDArray[np.float64]:
    """Return the intersection over the union of each pair of regions that share pixels."""
    union = table.predicted_sizes[table.predicted] + table.true_sizes[table.true] - table.shared
    return table.shared / union


def _covering(table: Contingency) -> float:
    """Return the best overlap of each true region, weighted by its share of the image."""
    best = np.zeros(len(table.true_sizes))
    np.maximum.at(best, table.true, overlaps(table))
    return float((table.true_sizes * best).sum() / table.true_sizes.sum())


def _variation_of_information(table: Contingency) -> float:
    """Return twice the joint entropy minus both entropies."""
    sizes = (table.shared, table.predicted_sizes, table.true_sizes)
    joint, one, other = (_entropy(n) for n in sizes)
    return max(0.0, 2 * joint - one - other)


def _entropy(sizes: NDArray[np.int64]) -> float:
    share = sizes[sizes > 0] / sizes.sum()
    return float(-(share * np.log2(share)).sum())


# -- adjusted mutual information -------------------------------------------------------------------


def adjusted_mutual_info(table: Contingency) -> float:
    """Return the mutual information, corrected for chance; 1 is best, 0 chance.

    It equals scikit-learn's value. Regions of equal sizes are counted together, which takes seconds
    instead of minutes for thousands of regions.
    """
    ones, others = (sizes[sizes > 0] for sizes in (table.predicted_sizes, table.true_sizes))
    if len(ones) == len(others) == 1:
        return 1.0
    n = int(ones.sum())
    sizes = (table.shared, ones, others)
    joint, one, other = (_entropy(each) * np.log(2) for each in sizes)
    expected = float(_expected_mutual_info(ones, others, n))
    best = (one + other) / 2 - expected
    least = float(np.finfo(np.float64).eps)  # no division by zero if all pixels are apart
    return float((one + other - joint - expected) / np.copysign(max(abs(best), least), best))


def _expected_mutual_info(
    ones: NDArray[np.int64], others: NDArray[np.int64], n: int
) -> np.floating:
    """Return the mean mutual information of random partitions with these sizes, in nats."""
    from scipy.special import gammaln

    log_factorial = gammaln(np.arange(n + 1) + 1.0)
    a_sizes, a_counts = np.unique(ones, return_counts=True)
    b, b_counts = np.unique(others, return_counts=True)
    total = np.float64(0)
    for a, a_count in zip(a_sizes, a_counts, strict=True):
        low, high = np.maximum(1, a + b - n), np.minimum(a, b)
        lengths = high - low + 1
        each = np.repeat(np.arange(len(b)), lengths)
        shared = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths - low, lengths)
        constant = log_factorial[[a, n - a]].sum() - log_factorial[n]
        chance = constant + (log_factorial[b] + log_factorial[n - b])[each]
        for part in (shared, a - shared, b[each] - shared, n - a - b[each] + shared):
            chance -= log_factorial[part]
        information = shared / n * (np.log(n * shared / a) - np.log(b)[each])
        total += a_count * (b_counts[each] * information * np.exp(chance)).sum()
    return total
