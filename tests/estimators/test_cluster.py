"""MeanShiftPP: scikit-learn's checks, results, weights, chunks and the automatic bandwidth.

Containers and bad input are in test_cluster_input.py.
"""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import load_iris, make_blobs
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from meanshiftpp import Grid, MeanShiftPP
from meanshiftpp.errors import GridMismatchError, InvalidInputError


@pytest.fixture(scope="module")
def blobs():
    return make_blobs([50, 300, 200], centers=[[0, 0], [9, 1], [-4, 8]], random_state=3)[0]


def assert_same(a: MeanShiftPP, b: MeanShiftPP) -> None:
    """Compare two models bit for bit."""
    assert a.grid_ == b.grid_
    assert a.n_iter_ == b.n_iter_
    for name in ("cluster_centers_", "cluster_weights_", "bandwidth_"):
        assert np.array_equal(getattr(a, name), getattr(b, name)), name


# No check is expected to fail.
@parametrize_with_checks(
    [
        MeanShiftPP(),
        MeanShiftPP(bandwidth=1.0),
        MeanShiftPP(cluster_all=False, min_cluster_size=2, n_jobs=1),
        MeanShiftPP(bandwidth=0.3, tol=0, max_iter=50, n_jobs=2),
    ]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


# -- results --------------------------------------------------------------------------------------


def test_labels_are_numbered_by_falling_weight(blobs):
    model = MeanShiftPP(bandwidth=2).fit(blobs)
    assert model.labels_.dtype == np.int32
    assert model.cluster_weights_.tolist() == [300, 200, 50]
    assert np.bincount(model.labels_).tolist() == [300, 200, 50]
    assert np.allclose(model.cluster_centers_, [[9, 1], [-4, 8], [0, 0]], atol=0.3)
    assert model.n_iter_ >= 1
    assert isinstance(model.grid_, Grid)


@pytest.mark.parametrize("bandwidth", [2, 2.0, np.float32(2), [2, 2], (2.0, 2), np.array([2, 2])])
def test_bandwidth_is_kept_for_each_feature(blobs, bandwidth):
    model = MeanShiftPP(bandwidth).fit(blobs)
    assert model.bandwidth_.dtype == np.float64
    assert model.bandwidth_.tolist() == [2, 2]
    assert_same(model, MeanShiftPP(2).fit(blobs))


def test_bandwidth_for_each_feature_is_a_change_of_units(blobs):
    stretched = blobs * [1, 64]  # a power of two, so that nothing is rounded
    one, two = MeanShiftPP(2).fit(blobs), MeanShiftPP([2, 128]).fit(stretched)
    assert np.array_equal(one.labels_, two.labels_)
    assert np.array_equal(one.cluster_centers_ * [1, 64], two.cluster_centers_)


@pytest.mark.parametrize("n_jobs", [None, 1, 2, 8, -1, -2])
def test_result_is_the_same_for_every_number_of_threads(blobs, n_jobs):
    one, other = MeanShiftPP(0.4, n_jobs=1).fit(blobs), MeanShiftPP(0.4, n_jobs=n_jobs).fit(blobs)
    assert_same(one, other)
    assert np.array_equal(one.labels_, other.labels_)


def test_fit_predict_equals_fit_and_predict(blobs):
    model = MeanShiftPP(1)
    labels = model.fit_predict(blobs)
    assert labels is model.labels_
    assert np.array_equal(labels, model.predict(blobs))


def test_new_points_get_the_label_of_their_basin(blobs):
    model = MeanShiftPP(2).fit(blobs)
    far = [[9, 1.5], [500, 500]]
    assert model.predict(far)[0] == 0
    assert model.predict(far)[1] in (0, 1)
    assert model.set_params(cluster_all=False).predict(far).tolist() == [0, -1]


def test_clusters_below_the_minimum_size_are_noise(blobs):
    model = MeanShiftPP(2, min_cluster_size=100).fit(blobs)
    every = MeanShiftPP(2).fit_predict(blobs)
    assert np.array_equal(model.labels_, np.where(every < 2, every, -1))
    assert model.cluster_weights_.tolist() == [300, 200]
    assert len(model.cluster_centers_) == 2
    assert model.predict([[0, 0], [9, 1]]).tolist() == [-1, 0]
    assert model.grid_ == MeanShiftPP(2).fit(blobs).grid_
    no_clusters = MeanShiftPP(2, min_cluster_size=1000).fit(blobs)
    assert set(no_clusters.labels_) == {-1}
    assert no_clusters.cluster_centers_.shape == (0, 2)
    assert set(no_clusters.predict([[0, 0], [99, 99]])) == {-1}


def test_search_that_reaches_max_iter_warns(blobs):
    with pytest.warns(ConvergenceWarning, match="after 1 step; raise max_iter: 168 steps"):
        MeanShiftPP(0.7, max_iter=1).fit(blobs)


def test_pickling_and_cloning(blobs):
    model = MeanShiftPP([1, 2], min_cluster_size=3).fit(blobs)
    copy = pickle.loads(pickle.dumps(model))
    assert_same(copy, model)
    assert np.array_equal(copy.predict(blobs), model.labels_)
    fresh = clone(model)
    assert not hasattr(fresh, "grid_")
    assert_same(fresh.fit(blobs), model)


def test_pipeline(blobs):
    weight = np.ones(len(blobs))
    pipe = make_pipeline(StandardScaler(), MeanShiftPP(0.3))
    pipe.fit(blobs, meanshiftpp__sample_weight=weight)
    assert np.array_equal(pipe.predict(blobs), pipe[-1].labels_)


# -- weights --------------------------------------------------------------------------------------


def test_whole_weight_counts_as_repetitions(blobs):
    weight = np.random.default_rng(0).integers(0, 4, len(blobs))
    for bandwidth in (0.8, None):
        weighted = MeanShiftPP(bandwidth).fit(blobs, sample_weight=weight)
        repeated = MeanShiftPP(bandwidth).fit(np.repeat(blobs, weight, axis=0))
        if bandwidth:
            assert_same(weighted, repeated)
        assert np.array_equal(weighted.cluster_centers_, repeated.cluster_centers_)
        assert np.array_equal(weighted.labels_[weight > 0], repeated.predict(blobs[weight > 0]))


@pytest.mark.parametrize("cluster_all", [True, False])
def test_points_of_zero_weight_are_labelled_as_new_points(blobs, cluster_all):
    X, weight = np.r_[blobs, [[500, 500]]], np.r_[np.ones(len(blobs)), 0]
    model = MeanShiftPP(2, cluster_all=cluster_all).fit(X, sample_weight=weight)
    assert np.array_equal(model.labels_, model.predict(X))
    assert (model.labels_[-1] == -1) is not cluster_all


@pytest.mark.parametrize("cluster_all", [True, False])
def test_points_of_zero_weight_next_to_noise_are_labelled_as_new_points(cluster_all):
    X, weight = [[0.0], [0.1], [0.2], [10.0], [10.1], [14.0]], [1, 1, 1, 1, 0, 0]
    model = MeanShiftPP(1.0, min_cluster_size=2, cluster_all=cluster_all)
    expected = [0, 0, 0, -1, -1, 0 if cluster_all else -1]
    assert model.fit(X, sample_weight=weight).labels_.tolist() == expected
    assert model.predict(X).tolist() == expected
    assert clone(model).partial_fit(X, sample_weight=weight).labels_.tolist() == expected


def test_real_weights_change_modes_and_order(blobs):
    weight = np.where(np.hypot(*blobs.T) < 4, 0.05, 1e-4)
    model = MeanShiftPP(2).fit(blobs, sample_weight=weight)
    assert np.allclose(model.cluster_centers_[0], 0, atol=0.3)
    assert np.isclose(model.cluster_weights_.sum(), weight.sum())
    assert len(model.cluster_weights_) == 3, "clusters of weights below 1 are kept too"


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (np.ones(3), r"sample_weight must have .*550.*\(3,\)"),
        (np.ones((550, 1)), r"sample_weight must have .*\(550, 1\)"),
        (np.zeros(550), "got only zeros"),
        (np.r_[-1.0, np.ones(549)], "sample_weight"),
        (np.r_[np.nan, np.ones(549)], "sample_weight"),
        (np.full(550, "a"), "sample_weight"),
    ],
)
@pytest.mark.parametrize("bandwidth", [1.0, None])
def test_bad_weights_raise(blobs, weight, message, bandwidth):
    with pytest.raises(InvalidInputError, match=message):
        MeanShiftPP(bandwidth).fit(blobs, sample_weight=weight)


# -- chunks ---------------------------------------------------------------------------------------


@settings(max_examples=60)
@given(
    seed=st.integers(0, 2**32 - 1),
    cuts=st.lists(st.integers(0, 200), max_size=6),
    h=st.sampled_from([0.1, 0.3, 1.0, 2.5]),
    d=st.integers(1, 4),
)
def test_chunks_equal_one_fit(seed, cuts, h, d):
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(200, d)) + 3 * rng.integers(0, 3, (200, 1)), 1)
    chunked = MeanShiftPP(h)
    for chunk in np.split(X, sorted(cuts)):
        chunked.partial_fit(chunk)
        assert np.array_equal(chunked.labels_, chunked.predict(chunk) if len(chunk) else [])
    whole = MeanShiftPP(h).fit(X)
    assert_same(chunked, whole)
    assert np.array_equal(chunked.predict(X), whole.labels_)


def test_weighted_chunks_equal_one_fit(blobs):
    weight = np.random.default_rng(0).integers(0, 4, len(blobs))
    chunked = MeanShiftPP(1, min_cluster_size=60)
    for part in (slice(0, 7), slice(7, 300), slice(300, None)):
        chunked.partial_fit(blobs[part], sample_weight=weight[part])
    whole = MeanShiftPP(1, min_cluster_size=60).fit(blobs, sample_weight=weight)
    assert_same(chunked, whole)


def test_a_chunk_without_points_fits_nothing(blobs):
    model = MeanShiftPP().partial_fit(blobs[:0])
    with pytest.raises(NotFittedError):
        model.predict(blobs)
    model.partial_fit(blobs[:100]).partial_fit(blobs[100:])
    assert np.array_equal(model.cluster_weights_, MeanShiftPP().fit(blobs).cluster_weights_)


def test_empty_chunk_changes_nothing(blobs):
    model = MeanShiftPP(1).fit(blobs)
    before = pickle.dumps(model.grid_), model.cluster_centers_.copy()
    model.partial_fit(np.empty((0, 2)), sample_weight=[])
    assert model.labels_.shape == (0,)
    assert (pickle.dumps(model.grid_), model.cluster_centers_.tolist()) == (
        before[0],
        before[1].tolist(),
    )


def test_chunk_of_zero_weight_changes_nothing():
    X, more = [[0.0], [0.1], [0.2]], [[0.15], [10.0]]
    model = MeanShiftPP(1.0).partial_fit(more, sample_weight=[0, 0])
    assert model.labels_.tolist() == [-1, -1]
    model.partial_fit(X).partial_fit(more, sample_weight=[0, 0])
    assert model.grid_ == MeanShiftPP(1.0).fit(X).grid_
    assert model.labels_.tolist() == model.predict(more).tolist()


def test_partial_fit_continues_a_fit(blobs):
    assert_same(MeanShiftPP(1).fit(blobs[:99]).partial_fit(blobs[99:]), MeanShiftPP(1).fit(blobs))


def test_bad_chunk_leaves_the_model_intact(blobs):
    model = MeanShiftPP(1).fit(blobs)
    labels = model.labels_
    with pytest.raises(InvalidInputError):
        model.partial_fit([[1.0, np.nan]])
    with pytest.raises(GridMismatchError):
        model.set_params(bandwidth=2).partial_fit(blobs)
    with pytest.raises(InvalidInputError):
        model.fit(pd.DataFrame([[1.0, 2.0, np.nan]], columns=["a", "b", "c"]))
    assert model.labels_ is labels
    assert model.grid_.total == len(blobs)
    assert np.array_equal(model.predict(blobs), labels)


def test_failed_first_fit_leaves_the_model_unfitted():
    model = MeanShiftPP(1)
    with pytest.raises(InvalidInputError):
        model.fit([[1.0, np.nan]])
    assert not hasattr(model, "n_features_in_")


# -- without a bandwidth ---------------------------------------------------------------------------


@pytest.mark.parametrize("seed", [1, 2])
def test_automatic_clusters_do_not_depend_on_where_a_period_begins(seed):
    rng = np.random.default_rng(seed)
    hours = np.concatenate([rng.normal(center, 1.0, 250) for center in (3, 12, 22)])
    place = np.concatenate([rng.normal(center, 1.0, 250) for center in (0, 3, 6)])
    models = [
        MeanShiftPP(periodic=[24, None]).fit(np.c_[(hours + start) % 24, place])
        for start in (0, 6, 12)
    ]
    assert [(model.cluster_weights_ > 100).sum() for model in models] == [3, 3, 3]


def test_values_of_many_periods_are_clustered():
    X = np.random.default_rng(0).normal(20, 30, 400).cumsum()[:, None]
    model = MeanShiftPP(periodic=360).fit(X)
    assert model.cluster_weights_.sum() == len(X)
    assert np.array_equal(model.labels_, MeanShiftPP(periodic=360).fit(X % 360).labels_)


def test_automatic_bandwidth_finds_the_separate_species():
    X, species = load_iris(return_X_y=True)
    model = MeanShiftPP().fit(X)
    setosa, others = model.labels_[species == 0], model.labels_[species != 0]
    assert (setosa == 1).sum() >= 49  # one lies between the species
    assert (others == 0).all()  # versicolor and virginica do not stand apart
