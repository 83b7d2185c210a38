"""The tree of the table view: its cuts equal those of the estimator, are nested, and are a tree."""

import io
import json

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from meanshiftpp import MeanShiftPP
from meanshiftpp.apps.studio.table_tree import NO_BRANCH, READABLE, Cuts


def show(tab, points, **request):
    """Open points and return the clusters, and the tree once it is complete."""
    file = io.BytesIO()
    np.save(file, points)
    tab.open("points.npy", file.getvalue())
    columns = [f"x{j}" for j in range(points.shape[1])]
    tab.send(action="show", view="table", id=1, columns=columns, **request)
    clusters = tab.receive("clusters")
    while not (tree := tab.receive("tree"))["complete"]:
        pass
    return clusters, tree


@pytest.fixture(scope="module")
def blobs():
    centers = [[0, 0, 0], [5, 0, 0], [20, 5, 0], [22, 8, 0]]
    return make_blobs(1500, centers=centers, cluster_std=[1, 1, 0.5, 0.5], random_state=0)[0]


@pytest.fixture(scope="module")
def many():
    """Return more clusters than are readable at once."""
    centers = np.stack(np.meshgrid(np.arange(8), np.arange(8)), -1).reshape(-1, 2) * 10
    return make_blobs(12_000, centers=centers + np.random.default_rng(0).uniform(size=(64, 2)))[0]


@pytest.mark.parametrize("d", [2, 3])
def test_labels_of_a_cut_equal_those_of_the_estimator(tab, blobs, d):
    X = blobs[:, :d]
    clusters, tree = show(tab, X)
    columns = [f"x{j}" for j in range(d)]
    model = MeanShiftPP().fit(X)
    np.testing.assert_array_equal(clusters["labels"], model.labels_)
    most = (len(tree["branches"]) + 1) // 2  # 30, or all peaks of the data
    assert clusters["n"] + 3 < most
    for n in (1, 2, 3, clusters["n"], clusters["n"] + 3, most):
        request = {"view": "table", "columns": columns, "n_clusters": n}
        tab.send(action="show", id=n + 10, **request)
        reply = tab.receive("clusters")
        truth = model.cut(n)
        np.testing.assert_array_equal(reply["labels"], truth.labels_)
        np.testing.assert_array_equal(reply["weights"], truth.cluster_weights_)
        assert (reply["cut"], reply["n"]) == (n, len(truth.cluster_weights_))
        _, _, data = tab.export(kind="npy", **request)
        np.testing.assert_array_equal(np.load(io.BytesIO(data)), truth.labels_)
        names = {"MeanShiftPP": MeanShiftPP, "points": X}
        exec(reply["code"]["python"].splitlines()[-1], names)
        np.testing.assert_array_equal(names["labels"], truth.labels_)
        assert (f"--n-clusters {n} " in reply["code"]["cli"]) == (n != clusters["n"])


def test_many_clusters_are_cut_to_a_readable_number(tab, many):
    clusters, _ = show(tab, many)
    model = MeanShiftPP().fit(many)
    assert (clusters["n"], clusters["significant"]) == (READABLE, len(model.cluster_weights_))
    assert clusters["significant"] > READABLE
    np.testing.assert_array_equal(clusters["labels"], model.cut(READABLE).labels_)
    _, _, data = tab.export(view="table", kind="npy", columns=["x0", "x1"])
    np.testing.assert_array_equal(np.load(io.BytesIO(data)), clusters["labels"])
    tab.send(
        action="show", view="table", id=2, columns=["x0", "x1"], n_clusters=clusters["significant"]
    )
    reply = tab.receive("clusters")
    np.testing.assert_array_equal(reply["labels"], model.labels_)
    assert "MeanShiftPP().fit_predict" in reply["code"]["python"]


def test_bandwidth_comes_before_the_number_of_clusters(tab, blobs):
    clusters, _ = show(tab, blobs[:, :2], bandwidth=[2.0, 2.0], n_clusters=2)
    np.testing.assert_array_equal(clusters["labels"], MeanShiftPP(2.0).fit_predict(blobs[:, :2]))
    assert clusters["bandwidth"] == [2.0, 2.0]
    assert "branches" not in clusters


@pytest.mark.parametrize("n_clusters", [0, -1, "two", 2.5, [1], True, 10_001])
def test_bad_number_of_clusters_leaves_the_view_usable(tab, blobs, n_clusters):
    clusters, _ = show(tab, blobs[:, :2])
    request = {"view": "table", "columns": ["x0", "x1"]}
    tab.send(action="show", id=3, **request, n_clusters=n_clusters)
    message = f"Number of clusters must be a whole number from 1 to 10,000, got {n_clusters!r}"
    assert tab.receive("error")["message"] == message
    status, _, body = tab.export(kind="npy", **request, n_clusters=n_clusters)
    assert (status, json.loads(body)["message"]) == (422, message)
    tab.send(action="show", id=4, **request)
    np.testing.assert_array_equal(tab.receive("clusters")["labels"], clusters["labels"])


def test_one_cluster_comes_with_advice(tab):
    clusters, tree = show(tab, np.random.default_rng(0).normal(size=(2000, 2)))
    assert (clusters["n"], clusters["significant"]) == (1, 1)
    assert tree["advice"].startswith("no significant valley; the clearest of ")
    assert tree["advice"].endswith("; drag the line of the tree to see it")
    assert len(tree["branches"]) > 2


@pytest.mark.parametrize(
    "rows",
    [[[1.0, 2.0]], [[1.0, 2.0], [5.0, 9.0]], [[3.0, 3.0]] * 40],
    ids=["one row", "two rows", "equal"],
)
def test_degenerate_table_is_one_cluster(tab, rows):
    clusters, tree = show(tab, np.array(rows), n_clusters=5)
    assert (clusters["n"], len(tree["branches"])) == (1, 1)
    assert tree["advice"].startswith("no significant valley, and no candidate; ")


@pytest.mark.parametrize("data", ["many", "rounded", "few", "bumps"])
def test_cuts_are_nested_along_the_branches(many, blobs, data):
    """One more cluster divides one branch; all other points keep their branch."""
    rng = np.random.default_rng(0)
    bumps = np.concatenate([rng.uniform(-50, 60, (9000, 2)), blobs[:, :2]])
    X = {"many": many, "rounded": many.round(), "few": blobs[:, :2], "bumps": bumps}[data]
    cuts = Cuts(X)
    cuts.grow()
    branches = cuts.picture()["branches"]
    n = (len(branches) + 1) // 2
    assert n > 20
    before = np.zeros(len(X), np.int64)  # the branch of each point
    for k in range(1, n + 1):
        cut = cuts.cut(k)
        own = np.array(cut.branches)[cut.labels]
        if k == 2:  # a background of its own begins with the first bump
            before[own == NO_BRANCH] = NO_BRANCH
        changed = own != before
        assert k == 1 or set(own[changed].tolist()) == {2 * k - 3, 2 * k - 2}
        assert k == 1 or {branches[2 * k - 2][1]} == set(before[changed].tolist())
        before = own
    np.testing.assert_array_equal(cut.labels, MeanShiftPP().fit(X).cut(n).labels_)


def test_branches_are_a_tree_in_the_plane(many):
    cuts = Cuts(many)
    branches = cuts.picture()["branches"]
    children = [
        [k for k, each in enumerate(branches) if each[1] == i] for i in range(len(branches))
    ]
    leaves = sorted(x for (x, _), below in zip(branches, children, strict=True) if not below)
    assert leaves == [k + 0.5 for k in range(len(leaves))]
    for (x, _), below in zip(branches, children, strict=True):
        if below:
            assert len(below) == 2
            assert x == sum(branches[k][0] for k in below) / 2


def test_tree_grows_once_and_only_as_far_as_the_data_has_peaks():
    cuts = Cuts(np.random.default_rng(1).normal(size=(3000, 2)))
    assert not cuts.is_drawn
    first = cuts.picture()
    assert cuts.is_drawn
    assert not first["complete"]
    cuts.grow()
    assert not cuts.is_drawn
    assert cuts.picture()["branches"][0][1] == -1
    most = cuts.cut(10_000).n
    assert not cuts.is_drawn
    assert len(cuts.picture()["branches"]) == 2 * most - 1 > 2 * READABLE
    assert cuts.cut(10_000).n == most < 3000
    assert cuts.is_drawn  # the second request did not grow it again
