"""The tree of the table view: cuts equal those of the estimator, and its branches are a tree."""

import io
import json
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.datasets import make_blobs

from meanshiftpp import MeanShiftPP
from meanshiftpp.apps.studio.table_tree import (
    MAX_CLUSTERS,
    MAX_OTHERS,
    STRICTNESSES,
    Cuts,
    link_trees,
)


def show(tab, points, **request):
    """Open points and return the replies up to the last tree."""
    file = io.BytesIO()
    np.save(file, points)
    tab.open("points.npy", file.getvalue())
    columns = [f"x{j}" for j in range(points.shape[1])]
    tab.send(action="show", view="table", id=1, columns=columns, **request)
    replies = [tab.receive("clusters"), tab.receive("tree")]
    tab.send(action="show", view="table", id=2, columns=columns, bandwidth=[1.0] * len(columns))
    while (reply := tab.receive("clusters", "tree"))["type"] == "tree" or reply["request"] < 2:
        replies.append(reply)
    return replies[0], [reply for reply in replies if reply["type"] == "tree"][-1]


@pytest.fixture(scope="module")
def blobs():
    centers = [[0, 0, 0], [5, 0, 0], [20, 5, 0], [22, 8, 0]]
    return make_blobs(1500, centers=centers, cluster_std=[1, 1, 0.5, 0.5], random_state=0)[0]


@pytest.mark.parametrize("d", [2, 3])
def test_labels_of_a_cut_equal_those_of_the_estimator(tab, blobs, d):
    X = blobs[:, :d]
    _, tree = show(tab, X)
    columns = [f"x{j}" for j in range(d)]
    counts = set()
    for number, strictness in enumerate(tree["stops"][::3], 3):
        request = {"view": "table", "columns": columns, "strictness": strictness}
        tab.send(action="show", id=number, **request)
        while (clusters := tab.receive("clusters"))["request"] < number:
            pass
        truth = MeanShiftPP(strictness=strictness).fit(X)
        np.testing.assert_array_equal(clusters["labels"], truth.labels_)
        np.testing.assert_allclose(clusters["bandwidth"], truth.bandwidth_, rtol=1e-3)
        assert clusters["n"] == len(truth.cluster_weights_)
        branch_of = tree["branch_of"][tree["stops"].index(strictness)]
        branches = {branch_of[str(number)] for number in clusters["numbers"]}
        assert len(branches) == clusters["n"]
        _, _, data = tab.export(kind="npy", **request)
        np.testing.assert_array_equal(np.load(io.BytesIO(data)), truth.labels_)
        assert ("strictness" in clusters["code"]["python"]) == (strictness != 1)
        counts.add(clusters["n"])
    assert len(counts) > 2


def test_bandwidth_comes_before_the_strictness(tab, blobs):
    clusters, _ = show(tab, blobs[:, :2], bandwidth=[2.0, 2.0], strictness=0.5)
    np.testing.assert_array_equal(clusters["labels"], MeanShiftPP(2.0).fit_predict(blobs[:, :2]))
    assert not clusters["joined"]


@pytest.mark.parametrize("strictness", [0, -1, "loose", None, [1]])
def test_bad_strictness_leaves_the_view_usable(tab, blobs, strictness):
    clusters, _ = show(tab, blobs[:, :2])
    request = {"view": "table", "columns": ["x0", "x1"]}
    tab.send(action="show", id=3, **request, strictness=strictness)
    message = f"Strictness must be a positive number, got {strictness!r}"
    assert tab.receive("error")["message"] == message
    status, _, body = tab.export(kind="npy", **request, strictness=strictness)
    assert (status, json.loads(body)["message"]) == (422, message)
    tab.send(action="show", id=4, **request, strictness=1)
    np.testing.assert_array_equal(tab.receive("clusters")["labels"], clusters["labels"])


def test_one_cluster_comes_with_advice(tab):
    clusters, tree = show(tab, np.random.default_rng(0).normal(size=(2000, 2)))
    assert (clusters["n"], clusters["joined"]) == (1, True)
    assert tree["advice"].startswith("no significant valley; candidates: ")
    assert " clusters with a strictness of 0." in tree["advice"]
    assert tree["advice"].endswith("; drag the line of the tree to see others")
    assert "--" not in tree["advice"]
    assert len(tree["branches"]) > 2


@pytest.mark.parametrize(
    "rows",
    [[[1.0, 2.0]], [[1.0, 2.0], [5.0, 9.0]], [[3.0, 3.0]] * 40],
    ids=["one row", "two rows", "equal"],
)
def test_degenerate_table_is_one_cluster(tab, rows):
    clusters, tree = show(tab, np.array(rows))
    assert (clusters["n"], len(tree["branches"])) == (1, 1)
    assert tree["advice"].startswith("no significant valley; candidates: none; ")


def test_growing_continues_after_an_interruption(blobs):
    """Pictures are drawn after the coarse steps and at the end; nothing is grown twice."""
    cuts = Cuts(blobs, np.arange(len(blobs)))
    grown = cuts.grow()
    assert [next(grown) for _ in range(3)] == [False] * 3
    drawn = 0
    for complete in cuts.grow():
        if complete:
            cuts.picture()
            drawn += 1
    assert drawn == 2
    assert list(cuts.grow()) == []
    picture = cuts.picture()
    counts = [len(own) for own in picture["branch_of"]]
    assert counts == sorted(counts)
    assert (counts[0], counts[-1] <= MAX_CLUSTERS) == (1, True)
    assert set(picture["stops"]) <= set(STRICTNESSES)
    assert picture["stops"] == sorted(picture["stops"], reverse=True)


def test_strictness_between_the_steps_is_added_to_the_tree(blobs):
    cuts = Cuts(blobs, np.arange(len(blobs)))
    for _ in cuts.grow():
        pass
    cuts.picture()
    cuts.clusters(0.987)
    assert any(cuts.grow())
    assert 0.987 in cuts.picture()["stops"]


def test_rounded_points_have_the_clusters_of_the_estimator(blobs):
    """The tree of rounded points has more rows than their sample: every copy is one."""
    rounded = (2 * blobs[:, :2]).round()
    cuts = Cuts(rounded, np.arange(len(rounded)))
    for strictness in (0.5, 1.0, 2.0):
        truth = MeanShiftPP(strictness=strictness).fit(rounded)
        np.testing.assert_array_equal(cuts.clusters(strictness)[1], truth.labels_)


def test_trees_of_other_values_replace_the_oldest(blobs):
    cuts = Cuts(blobs, np.arange(len(blobs)))
    for _ in cuts.grow():
        pass
    _, labels = cuts.clusters(0.987)
    picture = cuts.picture()
    for step in range(2 * MAX_OTHERS):
        cuts.picture()
        cuts.clusters(1.001 + step / 1000)
        assert any(cuts.grow())  # the picture changes, even if the number of trees does not
        assert len(set(cuts._recipes) - set(STRICTNESSES)) <= MAX_OTHERS
    assert 0.987 not in cuts._recipes
    assert set(picture["stops"]) - {0.987} <= set(cuts._recipes)
    np.testing.assert_array_equal(cuts.clusters(0.987)[1], labels)


labels = arrays(np.int64, 30, elements=st.integers(0, 4))


@given(st.lists(labels, min_size=1, max_size=5))
def test_branches_of_any_partitions_are_a_tree(partitions):
    sample = SimpleNamespace(rows=np.arange(30.0)[:, None], counts=np.ones(30, np.int64))
    trees = [SimpleNamespace(labels=each, sample=sample) for each in partitions]
    branches, branch_of = link_trees(trees)
    for i, own in enumerate(branch_of):
        assert set(own) == set(partitions[i].tolist())
        crossed = [k for k, branch in enumerate(branches) if branch.first <= i <= branch.last]
        assert sorted(own.values()) == crossed
    parents = {branch.parent for branch in branches}
    for k, branch in enumerate(branches):
        assert branch.parent < k
        if branch.parent >= 0:
            assert branches[branch.parent].last == branch.first - 1
    leaves = [branch.x for k, branch in enumerate(branches) if k not in parents]
    assert sorted(leaves) == [k + 0.5 for k in range(len(leaves))]
