"""MeanShiftPP without a bandwidth: its clusters, its tree, and what a user reads from it."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.exceptions import NotFittedError
from sklearn.metrics import adjusted_rand_score

from meanshiftpp import Grid, MeanShiftPP, seek
from meanshiftpp.errors import InvalidInputError

CENTRES = [[0, 0], [5, 0], [20, 5], [22, 8]]


@pytest.fixture(scope="module")
def blobs() -> tuple[np.ndarray, np.ndarray]:
    return make_blobs(1500, centers=CENTRES, cluster_std=[1, 1, 0.5, 0.5], random_state=0)


@pytest.fixture(scope="module")
def model(blobs) -> MeanShiftPP:
    return MeanShiftPP().fit(blobs[0])


# -- fits ------------------------------------------------------------------------------------------


def test_default_finds_the_blobs(blobs, model):
    assert adjusted_rand_score(blobs[1], model.labels_) > 0.97
    assert_array_equal(np.bincount(model.labels_), model.cluster_weights_)
    assert_array_equal(model.predict(blobs[0]), model.labels_)
    assert_allclose(np.sort(model.cluster_centers_[:, 0]), [0, 5, 20, 22], atol=0.5)


def test_one_blob_is_one_cluster():
    X = np.random.default_rng(0).normal(size=(20_000, 3))
    assert len(MeanShiftPP().fit(X).cluster_weights_) == 1


def test_bandwidth_gives_the_result_of_the_paper(blobs):
    model = MeanShiftPP(bandwidth=0.7).fit(blobs[0])
    assert_array_equal(model.cluster_centers_, seek(Grid.from_points(blobs[0], 0.7)).centers)


def test_each_kind_of_fit_has_its_own_attributes(blobs):
    model = MeanShiftPP().fit(blobs[0])
    assert model.n_iter_ == model.tree_.n_levels > 1
    assert not hasattr(model, "grid_")
    assert not hasattr(model, "bandwidth_")
    model.set_params(bandwidth=1.0).fit(blobs[0])
    assert not hasattr(model, "tree_")
    assert len(model.grid_) > 1
    model.set_params(bandwidth=None).fit(blobs[0])
    assert not hasattr(model, "grid_")
    assert hasattr(model, "tree_")


def test_parameters_of_the_search_have_no_effect_without_a_bandwidth(blobs, model):
    other = MeanShiftPP(resolution=3, tol=0.5, max_iter=1).fit(blobs[0])
    assert_array_equal(other.labels_, model.labels_)


def test_strictness_decides(blobs):
    X = np.random.default_rng(0).normal(size=(1000, 2))
    assert len(MeanShiftPP(strictness=0.3).fit(X).cluster_weights_) > 1
    assert len(MeanShiftPP(strictness=20).fit(blobs[0]).cluster_weights_) == 1


@pytest.mark.parametrize("strictness", [0, -1, "high"])
def test_bad_strictness_raises(blobs, strictness):
    with pytest.raises(ValueError, match="strictness"):
        MeanShiftPP(strictness=strictness).fit(blobs[0])


def test_parameters_are_cloned():
    model = clone(MeanShiftPP(strictness=1.5, min_cluster_size=7))
    assert (model.strictness, model.min_cluster_size) == (1.5, 7)


@pytest.mark.parametrize("dtype", ["?", "f2", ">f8", ">i4", "u1"])
def test_points_of_any_type_are_clustered(dtype):
    X = (np.random.default_rng(0).normal(size=(300, 2)) * 3).astype(dtype)
    assert MeanShiftPP().fit(X).labels_.shape == (300,)


def test_many_features():
    rng = np.random.default_rng(0)
    X = np.r_[rng.normal(size=(150, 128)), rng.normal(size=(150, 128)) + 5]
    assert_array_equal(MeanShiftPP().fit(X).cluster_weights_, [150, 150])


def test_too_many_features_for_the_positions_of_a_tree_are_reported():
    rng = np.random.default_rng(0)
    X = np.r_[rng.normal(size=(300, 200)), rng.normal(size=(300, 200)) + 20]
    with pytest.warns(UserWarning, match="200 features has 2 bits for each value .* project"):
        assert len(MeanShiftPP().fit(X).cluster_weights_) == 1
    with pytest.warns(UserWarning, match="2 bits .*; leave out the 197 features that are constant"):
        MeanShiftPP().fit(np.c_[X[:, :3], np.ones((600, 197))])
    with pytest.raises(InvalidInputError, match="at most 512 features, got 100,000; select or"):
        MeanShiftPP().fit(np.ones((2, 100_000)))


@pytest.mark.parametrize("n_features", [5, 10, 20, 70])
def test_line_in_many_features_is_one_cluster(n_features):
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 1, (400, 1)) * rng.normal(size=(1, n_features))
    assert len(MeanShiftPP().fit(X).cluster_weights_) == 1


@pytest.mark.parametrize(
    "X",
    [
        [[1.0, 2.0]],
        [[1.0, 2.0], [3.0, 4.0]],
        np.ones((200, 3)),
        np.eye(4),
        [[0], [0], [9]],
        np.full((30, 2), 1e308),
        np.full((30, 2), 5e-324),
    ],
    ids=str,
)
def test_degenerate_data_is_one_cluster(X):
    model = MeanShiftPP().fit(X)
    assert_array_equal(model.labels_, np.zeros(len(X)))
    assert (model.probabilities_ > 0).all()
    assert_array_equal(model.membership_vector(X), np.ones((len(X), 1)))
    assert model.explain().startswith("cluster 0, of weight")
    assert model.cluster_persistence_.tolist() == [1.0]
    with pytest.warns(UserWarning, match="expected 9 clusters, but the data has only"):
        assert len(model.cut(n_clusters=9).cluster_weights_) < 9


@pytest.mark.parametrize(
    ("row", "column", "value", "name"), [(7, 1, np.nan, "NaN"), (0, 0, -np.inf, "-inf")]
)
def test_a_value_that_is_not_finite_has_a_place(blobs, row, column, value, name):
    X = blobs[0].copy()
    X[row, column] = value
    for use in (MeanShiftPP().fit, MeanShiftPP().partial_fit):
        with pytest.raises(InvalidInputError, match=rf"X\[{row}, {column}\] is {name}"):
            use(X)


def test_a_range_beyond_that_of_numbers_raises():
    with pytest.raises(InvalidInputError, match="range is finite, got values from -1e"):
        MeanShiftPP().fit([[1e308], [-1e308], [0.0]])


@pytest.mark.parametrize("heavy", [2.0**31, 1e300])
def test_a_warning_names_a_weight_that_outweighs_all_others(heavy):
    X = np.random.default_rng(0).normal(size=(500, 2))
    with pytest.warns(UserWarning, match="nearly all weight is on one of its values"):
        model = MeanShiftPP().fit(X, sample_weight=np.r_[heavy, np.ones(499)])
    assert len(model.cluster_weights_) == 1


def test_a_cell_of_a_tally_holds_more_weight_than_one_of_a_grid():
    weights = np.full(5, 2**31)
    model = MeanShiftPP().fit([[0.0], [0.0], [0.0], [1.0], [1.0]], sample_weight=weights)
    assert model.cluster_weights_.sum() == weights.sum()


def test_a_value_that_a_period_cannot_resolve_has_a_place():
    X = np.array([[1.0], [1e25], [2.0]])
    with pytest.raises(InvalidInputError, match=r"X\[1, 0\] is 1.0"):
        MeanShiftPP(periodic=360).fit(X)
    with pytest.raises(InvalidInputError, match=r"X\[0, 0\] is 1.0"):
        MeanShiftPP(periodic=360).fit(X[1:2])


# -- noise and small clusters ----------------------------------------------------------------------


def test_far_points_are_noise_on_demand(blobs):
    X = np.r_[blobs[0], np.random.default_rng(0).uniform(-10, 30, (200, 2))]
    model = MeanShiftPP(cluster_all=False).fit(X)
    labels = model.labels_
    assert (labels[1500:] == -1).mean() > 0.6
    assert (labels[:1500] == -1).mean() < 0.1
    assert (MeanShiftPP().fit(X).labels_ >= 0).all()
    assert (model.probabilities_[labels == -1] == 0).all()
    assert (model.probabilities_[labels >= 0] > 0).all()


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


def test_small_clusters_join_their_neighbour(blobs):
    X = make_blobs([500, 400, 30], centers=[[0, 0], [30, 0], [7, 0]], random_state=3)[0]
    assert_array_equal(MeanShiftPP().fit(X).cluster_weights_, [500, 400, 30])
    model = MeanShiftPP(min_cluster_size=31).fit(X)
    assert_array_equal(model.cluster_weights_, [530, 400])
    assert (model.labels_ >= 0).all()
    assert_array_equal(MeanShiftPP(min_cluster_size=1e9).fit(X).cluster_weights_, [930])


def test_points_of_zero_weight_are_labelled_like_new_ones(blobs):
    X = np.r_[blobs[0], [[1000.0, 1000.0]]]
    weight = np.r_[np.zeros(10), np.ones(1490), 0]
    for cluster_all in (True, False):
        model = MeanShiftPP(cluster_all=cluster_all).fit(X, sample_weight=weight)
        assert_array_equal(model.labels_, model.predict(X))
        assert (model.labels_[-1] == -1) != cluster_all
        assert model.cluster_weights_.sum() <= 1490


# -- the tree --------------------------------------------------------------------------------------


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
    assert model.explain() == "\n".join(model.explain(label) for label in range(4))
    with pytest.raises(InvalidInputError, match="label must be a whole number from 0 to 3"):
        model.explain(4)


def test_explanation_of_one_cluster_names_the_strictness_for_more():
    X = np.random.default_rng(0).normal(size=(1000, 2))
    text = MeanShiftPP().fit(X).explain(0)
    assert "no significant valley" in text
    strictness = float(text.split("strictness=")[1].split()[0])
    assert len(MeanShiftPP(strictness=strictness).fit(X).cluster_weights_) > 1


def test_explained_valleys_pass_the_strictness_of_the_fit(blobs):
    text = MeanShiftPP(strictness=0.4).fit(blobs[0][:, :1]).explain()
    pairs = re.findall(r"z = ([\d.]+) \(at least ([\d.]+) needed\)", text)
    assert pairs
    assert all(float(z) >= float(needed) - 0.1 for z, needed in pairs)


def test_membership_is_shared_near_a_border(model):
    shares = model.membership_vector([[2.5, 0], [0, 0], [1000, 1000]])
    assert shares.shape == (3, 4)
    assert_allclose(shares.sum(axis=1), 1)
    assert shares[1].max() == 1
    assert shares[0].max() < 1


@pytest.mark.parametrize("name", ["probabilities_", "condensed_tree_", "cluster_persistence_"])
def test_clusters_of_a_bandwidth_have_no_tree(blobs, name):
    model = MeanShiftPP(bandwidth=1).fit(blobs[0])
    assert not hasattr(model, name)
    for use in (lambda: getattr(model, name), model.explain, lambda: model.cut(n_clusters=2)):
        with pytest.raises(InvalidInputError, match="fit without a bandwidth"):
            use()
    with pytest.raises(NotFittedError):
        getattr(MeanShiftPP(), name)


# -- cuts ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("k", [1, 2, 3, 4, 5, 8])
def test_cut_is_a_fitted_model(blobs, model, k):
    labels = model.labels_.copy()
    cut = model.cut(n_clusters=k)
    assert isinstance(cut, MeanShiftPP)
    assert cut.get_params() == model.get_params()
    assert cut.labels_.dtype == np.int32
    assert_array_equal(np.bincount(cut.labels_), cut.cluster_weights_)
    assert cut.cluster_centers_.shape == (k, 2)
    assert_array_equal(cut.predict(blobs[0]), cut.labels_)
    assert cut.probabilities_.shape == (1500,)
    assert cut.membership_vector(blobs[0][:3]).shape == (3, k)
    assert cut.explain().count("of weight") == k
    assert len(cut.condensed_tree_) == 2 * k - 1
    assert_array_equal(model.labels_, labels)  # the model is not changed
    assert len(model.cluster_weights_) == 4


def test_cut_by_persistence(model):
    assert len(model.cut(persistence=0.9).cluster_weights_) == 3
    assert_array_equal(model.cut(persistence=0).labels_, model.labels_)


def test_cut_by_size(model):
    assert_array_equal(model.cut(min_cluster_size=2).labels_, model.labels_)
    assert len(model.cut(min_cluster_size=500).cluster_weights_) <= 3
    assert len(model.cut(min_cluster_size=1e9).cluster_weights_) == 1


def test_cut_by_size_counts_weights(blobs):
    model = MeanShiftPP().fit(blobs[0], sample_weight=np.full(1500, 0.5))
    least = float(model.cluster_weights_.min())
    assert len(model.cut(min_cluster_size=least * 0.99).cluster_weights_) == 4
    assert len(model.cut(min_cluster_size=least * 1.01).cluster_weights_) < 4


@pytest.mark.parametrize("options", [{}, {"n_clusters": 2, "persistence": 0.5}])
def test_cut_needs_one_wish(model, options):
    with pytest.raises(InvalidInputError, match="one of n_clusters, persistence and min_cl"):
        model.cut(**options)


@pytest.mark.parametrize(
    "options",
    [
        {"n_clusters": 0},
        {"n_clusters": 2.5},
        {"persistence": -0.1},
        {"persistence": 1.5},
        {"min_cluster_size": -1},
    ],
    ids=str,
)
def test_bad_cut_raises(model, options):
    with pytest.raises(InvalidInputError, match=next(iter(options))):
        model.cut(**options)


def test_cut_warns_of_fewer_clusters():
    X = np.r_[np.zeros((10, 2)), np.ones((10, 2))] + np.random.default_rng(0).normal(size=(20, 2))
    with pytest.warns(UserWarning, match=r"expected 9 clusters, but the data has only \d peak"):
        MeanShiftPP().fit(X).cut(n_clusters=9)


def test_a_cut_of_a_fit_with_noise_keeps_its_noise(blobs):
    X = np.r_[blobs[0], np.random.default_rng(0).uniform(-10, 30, (200, 2))]
    model = MeanShiftPP(cluster_all=False).fit(X)
    cut = model.cut(n_clusters=2)
    assert_array_equal(cut.predict(X), cut.labels_)
    assert_array_equal(np.bincount(cut.labels_[cut.labels_ >= 0]), cut.cluster_weights_)


# -- chunks ----------------------------------------------------------------------------------------


def test_chunks_have_a_tree_but_no_points(blobs):
    model = MeanShiftPP().partial_fit(blobs[0][:700]).partial_fit(blobs[0][700:])
    assert len(model.cluster_persistence_) == 4
    assert model.labels_.shape == (800,)
    for use in (lambda: model.probabilities_, lambda: model.cut(n_clusters=2)):
        with pytest.raises(AttributeError, match="use fit"):
            use()


def test_empty_and_weightless_chunks_change_nothing(blobs):
    X = blobs[0]
    model = MeanShiftPP().partial_fit(X[:0]).partial_fit(X[:5], sample_weight=np.zeros(5))
    assert_array_equal(model.labels_, [-1] * 5)
    model.partial_fit(X).partial_fit(X[:3], sample_weight=np.zeros(3))
    expected = MeanShiftPP().fit(X)
    assert_array_equal(model.labels_, expected.labels_[:3])
    assert_array_equal(model.cluster_weights_, expected.cluster_weights_)
    assert model.partial_fit(X[:0]).labels_.shape == (0,)


def test_chunks_do_not_continue_a_fit(blobs):
    model = MeanShiftPP().fit(blobs[0])
    with pytest.warns(UserWarning, match="partial_fit begins anew"):
        model.partial_fit(blobs[0][:700])
    assert model.cluster_weights_.sum() == 700


def test_a_feature_that_is_narrow_in_the_common_unit_has_its_median_as_centre(blobs):
    X = np.c_[blobs[0][:, 0] * 1e15, np.random.default_rng(0).normal(7, 0.1, 1500)]
    centers = MeanShiftPP().fit(X).cluster_centers_
    np.testing.assert_allclose(centers[:, 1], 7, atol=0.2)


def test_real_weights_in_chunks(blobs):
    X, weight = blobs[0], np.random.default_rng(0).uniform(0.5, 2, 1500)
    model, parts = MeanShiftPP().fit(X, sample_weight=weight), MeanShiftPP()
    for rows in np.array_split(np.arange(1500), 4):
        parts.partial_fit(X[rows], sample_weight=weight[rows])
    assert_array_equal(parts.predict(X), model.labels_)
    assert_array_equal(parts.cluster_weights_, model.cluster_weights_)
    assert_allclose(model.cluster_weights_.sum(), weight.sum(), rtol=1e-6)


@pytest.mark.parametrize("max_rows", [1000, 1 << 24], ids=["cells", "rows"])
@pytest.mark.parametrize("weight", [1.0, 0.5, 0.3])
def test_equal_weights_do_not_erase_clusters(monkeypatch, max_rows, weight):
    """Kish's size counts rows, also where they are summed in cells."""
    monkeypatch.setattr("meanshiftpp.core.tree.tally.MAX_ROWS", max_rows)
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(0, 1, (5000, 1)), rng.normal(8, 1, (5000, 1))])
    weights = np.full(len(X), weight)
    assert len(MeanShiftPP().fit(X, sample_weight=weights).cluster_weights_) == 2
    parts = MeanShiftPP()
    for rows in np.array_split(rng.permutation(len(X)), 3):
        parts.partial_fit(X[rows], sample_weight=weights[rows])
    assert len(parts.cluster_weights_) == 2
