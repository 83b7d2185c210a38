"""The reasons and candidates that the command and the studio print."""

from __future__ import annotations

import numpy as np
import pytest

from meanshiftpp.core.tree import Clusters
from meanshiftpp.core.tree.significant import Significant
from meanshiftpp.core.tree.valleys import (
    candidates,
    describe_candidates,
    looser_trees,
    rounded_down,
    valleys,
)

rng = np.random.default_rng(8)
PARTS = [(0.0, 100), (9.0, 400), (25.0, 200)]
X = np.concatenate([rng.normal(place, 1, (n, 2)) for place, n in PARTS])
BLOB = rng.normal(size=(2000, 2))


def clusters_of(points, **options) -> Clusters:
    return Significant(**options).checked(points.shape[1]).fit(points).clusters


def test_clusters_of_valleys_are_labels():
    clusters = clusters_of(X)
    tree, found = clusters.tree, valleys(clusters)
    assert len(found) == 2
    scores = [split.score for split in tree.splits]
    assert [valley.score for valley in found] == sorted(scores, reverse=True)
    for valley in found:
        split = next(split for split in tree.splits if split.score == valley.score)
        for number, label in (
            (split.cluster, valley.cluster),
            (tree.across(split), valley.neighbour),
        ):
            assert (clusters.leaf_labels[tree.labels == number] == label).all()


def test_a_valley_is_a_sentence():
    for valley in valleys(clusters_of(X)):
        places, _, reason = str(valley).partition(": ")
        assert reason == valley.reason
        assert {int(word) for word in places.split() if word.isdigit()} == {
            valley.cluster,
            valley.neighbour,
        }
        assert f"z = {valley.z:.1f} (at least {valley.critical:.1f} needed)" in reason


@pytest.mark.parametrize("strictness", [1.0, 2.0])
def test_candidates_are_accepted_at_their_strictness(strictness):
    tree = clusters_of(BLOB, strictness=strictness).tree
    assert not tree.splits
    found = candidates(tree)
    assert (strictness == 1) <= len(found) <= 3
    assert [each.strictness for each in found] == sorted(
        {each.strictness for each in found}, reverse=True
    )
    for each in found:
        assert each.strictness <= each.score < strictness
        again = clusters_of(BLOB, strictness=each.strictness)
        assert len(again) == each.clusters > 1


@pytest.mark.parametrize("seed", range(4))
def test_the_first_candidate_is_about_the_strictest(seed):
    points = np.random.default_rng(seed).normal(size=(100, 2))
    first = next(iter(looser_trees(clusters_of(points).tree)), None)
    if first is not None:
        strictness, tree = first
        assert tree.n_clusters > 1
        assert len(clusters_of(points, strictness=strictness * 1.05)) == 1


def test_no_candidate_is_a_sentence_too():
    assert candidates(clusters_of(np.ones((10, 2))).tree) == []
    assert describe_candidates([]) == "no significant valley; candidates: none"


@pytest.mark.parametrize(("strictness", "printed"), [(0.73459, 0.734), (0.7, 0.7), (12.9, 12.9)])
def test_strictness_is_rounded_down(strictness, printed):
    assert rounded_down(strictness) == printed <= strictness
