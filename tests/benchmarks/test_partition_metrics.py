"""The metrics of segmentations agree with their definitions and with scikit-learn."""

import math
from itertools import combinations

import numpy as np
import pytest
from benchmarks.common import partition_metrics
from benchmarks.common.partition_metrics import (
    Scores,
    adjusted_mutual_info,
    compare,
    contingency,
    mean,
    overlaps,
    score,
)
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import (
    adjusted_mutual_info_score,
    adjusted_rand_score,
    fowlkes_mallows_score,
)

ROWS = st.lists(st.tuples(st.integers(-2, 4), st.integers(0, 3)), min_size=1, max_size=25)


def scores_by_definition(labels: list[int], truth: list[int]) -> Scores:
    """Count every pair of pixels and every pair of regions."""
    n, pixels = len(labels), range(len(labels))
    pairs = [(labels[i] == labels[j], truth[i] == truth[j]) for i, j in combinations(pixels, 2)]
    both, one, other = (sum(hits) for hits in zip((0, 0, 0), *((a and b, a, b) for a, b in pairs)))
    chance = one * other / len(pairs) if pairs else 0.0
    maximum = (one + other) / 2
    ours, theirs = (
        [{i for i in pixels if side[i] == name} for name in set(side)] for side in (labels, truth)
    )
    shared = [a & b for a in ours for b in theirs if a & b]
    return Scores(
        ari=1.0 if maximum == chance else (both - chance) / (maximum - chance),
        fm=both / math.sqrt(one * other) if both else 0.0,
        covering=sum(len(b) * max(len(a & b) / len(a | b) for a in ours) for b in theirs) / n,
        pri=sum(a == b for a, b in pairs) / len(pairs) if pairs else 1.0,
        vi=2 * entropy(shared, n) - entropy(ours, n) - entropy(theirs, n),
    )


def entropy(regions: list[set[int]], n: int) -> float:
    return -sum(len(region) / n * math.log2(len(region) / n) for region in regions)


@given(ROWS)
def test_metrics_follow_their_definitions(rows):
    labels, truth = map(list, zip(*rows))
    assert compare(labels, truth) == pytest.approx(scores_by_definition(labels, truth), abs=1e-12)


@given(ROWS)
def test_metrics_agree_with_scikit_learn(rows):
    labels, truth = map(list, zip(*rows))
    scores = compare(labels, truth)
    assert scores.ari == pytest.approx(adjusted_rand_score(truth, labels), abs=1e-12)
    assert scores.fm == pytest.approx(fowlkes_mallows_score(truth, labels), abs=1e-12)


def test_one_region_instead_of_two():
    # Half of each true region is covered, and one bit of information is missing.
    expected = Scores(ari=0.0, fm=math.sqrt(1 / 3), covering=0.5, pri=1 / 3, vi=1.0)
    assert compare([0, 0, 0, 0], [0, 0, 1, 1]) == pytest.approx(expected)


@given(ROWS, st.permutations(range(7)), st.integers(0, 2**40))
def test_the_numbers_of_regions_do_not_matter(rows, names, offset):
    labels, truth = map(list, zip(*rows))
    renamed = [names[label + 2] * (offset + 1) - offset for label in labels]
    assert compare(renamed, truth) == pytest.approx(compare(labels, truth), abs=1e-12)


@given(ROWS)
def test_a_partition_agrees_perfectly_with_itself(rows):
    labels = [label for label, _ in rows]
    scores = compare(labels, labels)
    assert scores.ari == scores.covering == scores.pri == 1
    assert scores.vi == 0
    assert scores.fm == pytest.approx(1 if len(set(labels)) < len(labels) else 0)


def test_covering_maps_true_regions_to_predicted_ones():
    fine, coarse = [0, 0, 0, 1], [0, 0, 0, 0]
    assert compare(fine, coarse).covering == 0.75
    assert compare(coarse, fine).covering == pytest.approx(0.75 * 0.75 + 0.25 * 0.25)


def test_sorting_gives_the_same_scores_as_a_dense_table(monkeypatch):
    rng = np.random.default_rng(0)
    labels, truth = rng.integers(0, 900, (2, 60, 80))
    dense = compare(labels, truth)
    monkeypatch.setattr(partition_metrics, "MAX_DENSE_ENTRIES", 0)
    assert compare(labels, truth) == dense


def test_pairs_of_a_large_image_do_not_overflow():
    one = np.zeros((5000, 4000), np.uint8)
    assert compare(one, one) == Scores(1, 1, 1, 1, 0)


def test_several_truths_are_averaged():
    labels, truths = [0, 0, 1, 1], ([0, 0, 1, 1], [0, 1, 1, 1], [0, 0, 0, 0])
    expected = mean(compare(labels, truth) for truth in truths)
    assert score(labels, truths) == expected
    assert expected.selection_score == pytest.approx(np.mean(expected[:3]))


@pytest.mark.parametrize("labels", [[], [0.5, 1.5]], ids=["none", "real numbers"])
def test_labels_must_be_integers(labels):
    with pytest.raises(ValueError, match="expected integer labels, at least one"):
        compare(labels, labels)


def test_partitions_must_have_the_same_size():
    with pytest.raises(ValueError, match="got 3 and 2"):
        compare([0, 0, 1], [0, 1])


@pytest.mark.parametrize(("n", "k", "m"), [(40, 3, 4), (3_000, 200, 150), (500, 1, 3), (9, 1, 1)])
def test_mutual_information_is_that_of_scikit_learn(n, k, m):
    rng = np.random.default_rng(0)
    labels = rng.integers(k, size=n)
    truth = np.where(rng.random(n) < 0.7, labels % m, rng.integers(m, size=n))
    found = adjusted_mutual_info(contingency(labels, truth))
    assert found == pytest.approx(adjusted_mutual_info_score(truth, labels), abs=1e-10)


def test_overlaps_are_intersections_over_unions():
    table = contingency(np.array([0, 0, 0, 1, 1]), np.array([0, 0, 1, 1, 1]))
    np.testing.assert_allclose(overlaps(table), [2 / 3, 1 / 5, 2 / 3])
