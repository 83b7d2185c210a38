"""The reasons and candidates that the command and the studio print."""

import numpy as np
import pytest

from meanshiftpp.core.grid import Grid
from meanshiftpp.core.recipe import seek
from meanshiftpp.core.tree import Tree, join_modes
from meanshiftpp.core.tree.valleys import candidates, describe_candidates, valleys

rng = np.random.default_rng(8)
PARTS = [(0.0, 100), (9.0, 400), (25.0, 200)]
X = np.concatenate([rng.normal(place, 1, (n, 2)) for place, n in PARTS])
BLOB = rng.normal(size=(2000, 2))


def test_clusters_of_valleys_are_labels():
    tree = Tree.of_points(X)
    modes = join_modes(tree, seek(Grid.from_points(X, 2.0)))
    found = valleys(modes)
    assert [valley.score for valley in found] == sorted(
        (s.score for s in tree.splits), reverse=True
    )
    assert len(found) == 2
    labels = modes.label(tree.sample.rows)
    for valley in found:
        split = next(split for split in tree.splits if split.score == valley.score)
        for number, label in (
            (split.cluster, valley.cluster),
            (modes.tree.across(split), valley.neighbour),
        ):
            assert (labels[tree.labels == number] == label).all()


def test_a_cluster_that_was_dropped_is_noise():
    modes = join_modes(Tree.of_points(X), seek(Grid.from_points(X, 2.0))).keep(150)
    labels = [label for valley in valleys(modes) for label in (valley.cluster, valley.neighbour)]
    assert set(labels) == {-1, 0, 1}
    for valley in valleys(modes):
        both = {valley.cluster, valley.neighbour}
        places, _, reason = str(valley).partition(": ")
        assert reason == valley.reason
        assert "-1" not in places
        assert ("noise" in places) == (-1 in both)
        assert {int(word) for word in places.split() if word.isdigit()} == both - {-1}


@pytest.mark.parametrize("strictness", [1.0, 2.0])
def test_candidates_are_accepted_at_their_strictness(strictness):
    tree = Tree.of_points(BLOB, strictness=strictness)
    assert not tree.splits
    found = candidates(tree)
    assert len(found) <= 3
    assert len({each.strictness for each in found}) == len(found)
    for each in found:
        assert each.strictness <= each.score < strictness
        assert tree.regrow(each.strictness).n_clusters == each.clusters > 1


@pytest.mark.parametrize("seed", range(4))
def test_candidates_are_the_strictest_with_so_many_clusters(seed):
    tree = Tree.of_points(np.random.default_rng(seed).normal(size=(100, 2)))
    for each in candidates(tree):
        assert each.strictness == pytest.approx(each.score, rel=0.02)


def test_no_candidate_is_a_sentence_too():
    tree = Tree.of_points(np.ones((10, 2)))
    assert candidates(tree) == []
    assert describe_candidates([]) == "no significant valley; candidates: none"
