"""MeanShiftPP with significant clusters: its default, its tree, and what a user reads from it."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.exceptions import NotFittedError
from sklearn.metrics import adjusted_rand_score

from meanshiftpp import Grid, MeanShiftPP, seek
from meanshiftpp.core.labels import number_by_size
from meanshiftpp.core.tree.valleys import rounded_down
from meanshiftpp.errors import InvalidInputError

CENTRES = [[0, 0], [5, 0], [20, 5], [22, 8]]


@pytest.fixture(scope="module")
def blobs() -> tuple[np.ndarray, np.ndarray]:
    return make_blobs(1500, centers=CENTRES, cluster_std=[1, 1, 0.5, 0.5], random_state=0)


@pytest.fixture(scope="module")
def model(blobs) -> MeanShiftPP:
    return MeanShiftPP().fit(blobs[0])


def test_default_finds_the_blobs(blobs, model):
    assert adjusted_rand_score(blobs[1], model.labels_) > 0.97
    assert_array_equal(np.bincount(model.labels_), model.cluster_weights_)
    assert_array_equal(model.predict(blobs[0]), model.labels_)


def test_one_blob_is_one_cluster():
    X = np.random.default_rng(0).normal(size=(20_000, 3))
    assert len(MeanShiftPP().fit(X).cluster_weights_) == 1


def test_bandwidth_gives_the_result_of_the_paper(blobs):
    model = MeanShiftPP(bandwidth=0.7).fit(blobs[0])
    assert_array_equal(model.cluster_centers_, seek(Grid.from_points(blobs[0], 0.7)).centers)


def test_join_with_a_bandwidth_is_that_of_the_grid(blobs):
    X = blobs[0]
    whole = MeanShiftPP(bandwidth=0.7, join=True).fit(X)
    parts = MeanShiftPP(bandwidth=0.7, join=True)
    for chunk in np.array_split(X, 4):
        parts.partial_fit(chunk)
    assert len(whole.cluster_weights_) == 4
    assert_array_equal(parts.cluster_centers_, whole.cluster_centers_)
    assert_array_equal(parts.predict(X), whole.labels_)


def test_order_and_threads_do_not_matter(blobs, model):
    order = np.random.default_rng(0).permutation(len(blobs[0]))
    shuffled = MeanShiftPP(n_jobs=1).fit(blobs[0][order])
    assert_array_equal(shuffled.labels_, model.labels_[order])
    assert_array_equal(shuffled.bandwidth_, model.bandwidth_)


def test_order_does_not_matter_for_more_rows_than_a_tree_takes():
    X, _ = make_blobs(20_000, centers=CENTRES, random_state=0)
    order = np.random.default_rng(0).permutation(len(X))
    assert_array_equal(MeanShiftPP().fit(X[order]).labels_, MeanShiftPP().fit(X).labels_[order])


def test_strictness_decides(blobs):
    X = np.random.default_rng(0).normal(size=(1000, 2))
    assert len(MeanShiftPP(strictness=0.3).fit(X).cluster_weights_) > 1
    assert len(MeanShiftPP(strictness=20).fit(blobs[0]).cluster_weights_) == 1


def test_probabilities_are_highest_at_the_peaks(blobs, model):
    probabilities = model.probabilities_
    assert probabilities.shape == (1500,)
    assert probabilities.min() > 0
    for label in range(4):
        own = model.labels_ == label
        assert probabilities[own].max() == 1
        distance = np.linalg.norm(blobs[0][own] - model.cluster_centers_[label], axis=1)
        assert np.corrcoef(distance, probabilities[own])[0, 1] < -0.5
    assert_array_equal(model.outlier_scores_, 1 - probabilities)


def test_persistence_is_that_of_the_splits(model):
    persistence = model.cluster_persistence_
    assert persistence.shape == (4,)
    assert ((persistence > 0.5) & (persistence < 1)).all()


def test_condensed_tree_is_a_table(model):
    table = model.condensed_tree_.to_pandas()
    assert list(table.columns[:4]) == ["parent", "child", "lambda_val", "child_size"]
    assert sorted(table.label[table.label >= 0]) == [0, 1, 2, 3]
    assert table.child_size[table.parent == 0].sum() == 1500
    for parent, children in table.groupby("parent"):
        assert len(children) == 2
        if parent > 0:
            size = table.child_size[table.child == parent].item()
            assert children.child_size.sum() == size
    assert (table.z >= table.critical).all()
    assert repr(model.condensed_tree_) == "CondensedTree(3 splits)"


def test_tree_of_one_cluster_is_a_root():
    tree = MeanShiftPP().fit(np.random.default_rng(0).normal(size=(300, 2))).condensed_tree_
    assert len(tree) == 1
    assert isinstance(tree.to_pandas(), pd.DataFrame)
    assert tree.to_pandas().empty


def test_explanation_names_the_valleys(model):
    text = model.explain(0)
    assert text.startswith("cluster 0, of weight ")
    assert "times less dense than the lower peak, z = " in text
    with pytest.raises(InvalidInputError, match="label must be a whole number from 0 to 3"):
        model.explain(4)


def test_explanation_of_one_cluster_names_the_strictness_for_two():
    X = np.random.default_rng(0).normal(size=(1000, 2))
    text = MeanShiftPP().fit(X).explain(0)
    assert "no significant valley" in text
    strictness = float(text.split("strictness=")[1].split()[0])
    assert len(MeanShiftPP(strictness=strictness).fit(X).cluster_weights_) == 2


@pytest.mark.parametrize("k", [1, 2, 3, 4, 5, 8])
def test_cut_gives_the_number_of_clusters(model, k):
    labels = model.cut(n_clusters=k)
    assert labels.dtype == np.int32
    assert_array_equal(np.unique(labels), np.arange(k))
    assert (np.diff(np.bincount(labels)) <= 0).all()


def test_cut_at_the_found_number_gives_nearly_the_labels(model):
    assert adjusted_rand_score(model.cut(n_clusters=4), model.labels_) > 0.98


def test_cut_of_more_rows_than_a_tree_takes():
    X, truth = make_blobs(20_000, centers=CENTRES, cluster_std=0.5, random_state=0)
    labels = MeanShiftPP().fit(X).cut(n_clusters=2)
    assert adjusted_rand_score(truth // 2, labels) > 0.99


def test_cut_by_persistence(model):
    assert len(np.unique(model.cut(persistence=0.9))) == 3
    assert len(np.unique(model.cut(persistence=0))) == 4


@pytest.mark.parametrize("options", [{}, {"n_clusters": 2, "persistence": 0.5}])
def test_cut_needs_one_of_both(model, options):
    with pytest.raises(InvalidInputError, match="either n_clusters or persistence"):
        model.cut(**options)


@pytest.mark.parametrize("options", [{"n_clusters": 0}, {"n_clusters": 2.5}, {"persistence": -1}])
def test_bad_cut_raises(model, options):
    with pytest.raises(InvalidInputError, match=next(iter(options))):
        model.cut(**options)


def test_membership_is_shared_near_a_border(model):
    shares = model.membership_vector([[2.5, 0], [0, 0], [1000, 1000]])
    assert shares.shape == (3, 4)
    np.testing.assert_allclose(shares.sum(axis=1), [1, 1, 0])
    assert shares[1].max() == 1
    assert shares[0].max() < 1


def test_far_points_are_noise_on_demand(blobs):
    X = np.r_[blobs[0], np.random.default_rng(0).uniform(-10, 30, (200, 2))]
    labels = MeanShiftPP(cluster_all=False).fit(X).labels_
    assert (labels[1500:] == -1).mean() > 0.6
    assert (labels[:1500] == -1).mean() < 0.1
    assert (MeanShiftPP().fit(X).labels_ >= 0).all()


@pytest.mark.parametrize("n_features", [2, 3])
def test_uniform_background_is_noise_on_demand(n_features):
    rng = np.random.default_rng(1)
    centers = rng.uniform(0, 20, (5, n_features))
    X = centers[rng.integers(0, 5, 2000)] + rng.normal(0, 0.6, (2000, n_features))
    X = np.r_[X, rng.uniform(-2, 22, (1000, n_features))]
    distance = np.sqrt(((X[:, None] - centers) ** 2).sum(axis=2)).min(axis=1)
    labels = MeanShiftPP(cluster_all=False).fit(X).labels_
    assert (labels[distance > 2] == -1).mean() > 0.8
    assert (labels[distance < 1] == -1).mean() < 0.01


@pytest.mark.parametrize("dtype", ["?", "f2", ">f8", ">i4", "u1"])
def test_points_of_any_type_are_clustered(dtype):
    X = (np.random.default_rng(0).normal(size=(300, 2)) * 3).astype(dtype)
    assert MeanShiftPP().fit(X).labels_.shape == (300,)


def test_many_features():
    rng = np.random.default_rng(0)
    X = np.r_[rng.normal(size=(150, 200)), rng.normal(size=(150, 200)) + 5]
    assert_array_equal(MeanShiftPP().fit(X).cluster_weights_, [150, 150])


@pytest.mark.parametrize("n_features", [5, 10, 20, 70])
def test_line_in_many_features_is_one_cluster(n_features):
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 1, (400, 1)) * rng.normal(size=(1, n_features))
    assert len(MeanShiftPP().fit(X).cluster_weights_) == 1


def test_cut_that_joins_nothing_returns_the_labels(blobs, model):
    for cut in ({"persistence": 0}, {"n_clusters": 4}):
        assert_array_equal(model.cut(**cut), number_by_size(model.labels_).labels)


def test_cut_by_persistence_joins_clusters_and_divides_none(blobs):
    model = MeanShiftPP(cluster_all=False).fit(blobs[0])
    for persistence in np.sort(model.cluster_persistence_) + 1e-9:
        labels = model.cut(persistence=min(persistence, 1))
        assert all(len(np.unique(labels[model.labels_ == k])) == 1 for k in range(4))
        assert_array_equal(labels == -1, model.labels_ == -1)


def test_cut_warns_of_fewer_clusters(blobs):
    X = np.r_[np.zeros((10, 2)), np.ones((10, 2))] + np.random.default_rng(0).normal(size=(20, 2))
    with pytest.warns(UserWarning, match=r"expected 9 clusters, found \d peak"):
        MeanShiftPP().fit(X).cut(n_clusters=9)


def test_explain_without_a_label_explains_every_cluster(model):
    assert model.explain() == "\n".join(model.explain(label) for label in range(4))


def test_explained_valleys_pass_the_strictness_of_the_fit(blobs):
    text = MeanShiftPP(strictness=0.4).fit(blobs[0][:, :1]).explain()
    pairs = re.findall(r"z = ([\d.]+) \(at least ([\d.]+) needed\)", text)
    assert pairs
    assert all(float(z) >= float(needed) - 0.1 for z, needed in pairs)


def test_persistence_is_from_0_to_1(model):
    for bad in (-0.1, 1.5):
        with pytest.raises(InvalidInputError, match="persistence must be"):
            model.cut(persistence=bad)


def test_noise_only_has_nothing_to_explain(blobs):
    model = MeanShiftPP(min_cluster_size=1e9).fit(blobs[0])
    with pytest.raises(InvalidInputError, match="all is noise"):
        model.explain(0)


def test_probabilities_of_noise_are_zero(blobs):
    X = np.r_[blobs[0], np.random.default_rng(0).uniform(-10, 30, (200, 2))]
    model = MeanShiftPP(cluster_all=False).fit(X)
    assert (model.probabilities_[model.labels_ == -1] == 0).all()


def test_points_of_zero_weight_are_labelled_like_new_ones(blobs):
    X = np.r_[blobs[0], [[1000.0, 1000.0]]]
    weight = np.r_[np.zeros(10), np.ones(1490), 0]
    model = MeanShiftPP().fit(X, sample_weight=weight)
    assert_array_equal(model.labels_, model.predict(X))
    assert (model.probabilities_[:10] > 0).all()
    assert model.probabilities_[-1] == 0


@pytest.mark.parametrize("name", ["probabilities_", "condensed_tree_", "cluster_persistence_"])
def test_unjoined_clusters_have_no_tree(blobs, name):
    model = MeanShiftPP(bandwidth=1).fit(blobs[0])
    assert not hasattr(model, name)
    for use in (lambda: getattr(model, name), model.explain, lambda: model.cut(n_clusters=2)):
        with pytest.raises(InvalidInputError, match="fit with join=True"):
            use()
    with pytest.raises(NotFittedError):
        getattr(MeanShiftPP(), name)


def test_chunks_have_a_tree_but_no_points(blobs):
    model = MeanShiftPP().partial_fit(blobs[0][:700]).partial_fit(blobs[0][700:])
    assert len(model.cluster_persistence_) == 4
    with pytest.raises(AttributeError, match="use fit"):
        _ = model.probabilities_


@pytest.mark.parametrize("strictness", [0, -1, "high"])
def test_bad_strictness_raises(blobs, strictness):
    with pytest.raises(ValueError, match="strictness"):
        MeanShiftPP(strictness=strictness).fit(blobs[0])


def test_parameters_are_cloned():
    model = clone(MeanShiftPP(join=True, strictness=1.5))
    assert (model.join, model.strictness) == (True, 1.5)


@pytest.mark.parametrize(
    "X", [[[1.0, 2.0]], [[1.0, 2.0], [3.0, 4.0]], np.ones((200, 3)), np.eye(4), [[0], [0], [9]]]
)
def test_degenerate_data_is_one_cluster(X):
    model = MeanShiftPP().fit(X)
    assert_array_equal(model.labels_, np.zeros(len(X)))
    assert (model.probabilities_ > 0).all()


@pytest.mark.parametrize(("strictness", "printed"), [(0.73459, 0.734), (0.7, 0.7), (12.9, 12.9)])
def test_strictness_is_rounded_down(strictness, printed):
    assert rounded_down(strictness) == printed <= strictness


def test_a_cut_numbers_clusters_from_zero_if_noise_is_the_largest_part():
    X = make_blobs([200, 180, 180], centers=[[0, 0], [9, 1], [-4, 8]], random_state=3)[0]
    model = MeanShiftPP(min_cluster_size=190).fit(X)
    assert (model.labels_ < 0).sum() == 360
    assert_array_equal(model.cut(persistence=0.0), model.labels_)
