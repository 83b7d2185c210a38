"""The estimator: scikit-learn's own checks, the laws that reach this far, and bad input."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import load_iris, make_blobs
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from meanshiftpp import Grid, MeanShiftPP, select_bandwidth
from meanshiftpp.core.recipe import CheckedRecipe
from meanshiftpp.errors import GridMismatchError, InvalidInputError


@pytest.fixture(scope="module")
def blobs():
    return make_blobs([50, 300, 200], centers=[[0, 0], [9, 1], [-4, 8]], random_state=3)[0]


def same(a: MeanShiftPP, b: MeanShiftPP) -> None:
    """Both found the same, to the last bit."""
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


# -- what a fit gives ------------------------------------------------------------------------------


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
    same(model, MeanShiftPP(2).fit(blobs))


def test_a_bandwidth_for_each_feature_is_a_change_of_units(blobs):
    stretched = blobs * [1, 64]  # a power of two, so that nothing is rounded
    one, two = MeanShiftPP(2).fit(blobs), MeanShiftPP([2, 128]).fit(stretched)
    assert np.array_equal(one.labels_, two.labels_)
    assert np.array_equal(one.cluster_centers_ * [1, 64], two.cluster_centers_)


@pytest.mark.parametrize("n_jobs", [None, 1, 2, 8, -1, -2])
def test_the_result_is_the_same_for_every_number_of_threads(blobs, n_jobs):
    one, other = MeanShiftPP(0.4, n_jobs=1).fit(blobs), MeanShiftPP(0.4, n_jobs=n_jobs).fit(blobs)
    same(one, other)
    assert np.array_equal(one.labels_, other.labels_)


def test_fit_predict_is_fit_then_predict(blobs):
    model = MeanShiftPP(1)
    labels = model.fit_predict(blobs)
    assert labels is model.labels_
    assert np.array_equal(labels, model.predict(blobs))


def test_new_points_get_their_basins_label(blobs):
    model = MeanShiftPP(2).fit(blobs)
    far = [[9, 1.5], [500, 500]]
    assert model.predict(far)[0] == 0
    assert model.predict(far)[1] in (0, 1)
    assert model.set_params(cluster_all=False).predict(far).tolist() == [0, -1]


def test_small_clusters_are_noise(blobs):
    model = MeanShiftPP(2, min_cluster_size=100).fit(blobs)
    every = MeanShiftPP(2).fit_predict(blobs)
    assert np.array_equal(model.labels_, np.where(every < 2, every, -1))
    assert model.cluster_weights_.tolist() == [300, 200]
    assert len(model.cluster_centers_) == 2
    assert model.predict([[0, 0], [9, 1]]).tolist() == [-1, 0]
    assert model.grid_ == MeanShiftPP(2).fit(blobs).grid_
    nothing = MeanShiftPP(2, min_cluster_size=1000).fit(blobs)
    assert set(nothing.labels_) == {-1}
    assert nothing.cluster_centers_.shape == (0, 2)
    assert set(nothing.predict([[0, 0], [99, 99]])) == {-1}


def test_a_search_cut_short_warns(blobs):
    with pytest.warns(ConvergenceWarning, match=r"after max_iter=1 steps; raise max_iter"):
        MeanShiftPP(0.7, max_iter=1).fit(blobs)


# -- weights ---------------------------------------------------------------------------------------


def test_a_whole_weight_is_that_many_points(blobs):
    weight = np.random.default_rng(0).integers(0, 4, len(blobs))
    for bandwidth in (0.8, None):
        weighted = MeanShiftPP(bandwidth).fit(blobs, sample_weight=weight)
        repeated = MeanShiftPP(bandwidth).fit(np.repeat(blobs, weight, axis=0))
        same(weighted, repeated)
        assert np.array_equal(weighted.labels_[weight > 0], repeated.predict(blobs[weight > 0]))


@pytest.mark.parametrize("cluster_all", [True, False])
def test_a_point_of_no_weight_is_labelled_as_a_new_one(blobs, cluster_all):
    X, weight = np.r_[blobs, [[500, 500]]], np.r_[np.ones(len(blobs)), 0]
    model = MeanShiftPP(2, cluster_all=cluster_all).fit(X, sample_weight=weight)
    assert np.array_equal(model.labels_, model.predict(X))
    assert (model.labels_[-1] == -1) is not cluster_all


def test_real_weights_move_modes_and_order(blobs):
    weight = np.where(np.hypot(*blobs.T) < 4, 0.05, 1e-4)
    model = MeanShiftPP(2).fit(blobs, sample_weight=weight)
    assert np.allclose(model.cluster_centers_[0], 0, atol=0.3)
    assert np.isclose(model.cluster_weights_.sum(), weight.sum())
    assert len(model.cluster_weights_) == 3, "weights below 1 are not clusters below size 1"


@pytest.mark.parametrize(
    ("weight", "words"),
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
def test_bad_weights(blobs, weight, words, bandwidth):
    with pytest.raises(InvalidInputError, match=words):
        MeanShiftPP(bandwidth).fit(blobs, sample_weight=weight)


# -- chunks ----------------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    cuts=st.lists(st.integers(0, 200), max_size=6),
    h=st.sampled_from([0.1, 0.3, 1.0, 2.5]),
    d=st.integers(1, 4),
)
def test_chunks_are_one_fit(seed, cuts, h, d):
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(200, d)) + 3 * rng.integers(0, 3, (200, 1)), 1)
    chunked = MeanShiftPP(h)
    for chunk in np.split(X, sorted(cuts)):
        chunked.partial_fit(chunk)
        assert np.array_equal(chunked.labels_, chunked.predict(chunk) if len(chunk) else [])
    whole = MeanShiftPP(h).fit(X)
    same(chunked, whole)
    assert np.array_equal(chunked.predict(X), whole.labels_)


def test_chunks_with_weights_are_one_fit(blobs):
    weight = np.random.default_rng(0).integers(0, 4, len(blobs))
    chunked = MeanShiftPP(1, min_cluster_size=60)
    for part in (slice(0, 7), slice(7, 300), slice(300, None)):
        chunked.partial_fit(blobs[part], sample_weight=weight[part])
    whole = MeanShiftPP(1, min_cluster_size=60).fit(blobs, sample_weight=weight)
    same(chunked, whole)


def test_the_first_chunk_with_points_settles_the_bandwidth(blobs):
    model = MeanShiftPP().partial_fit(blobs[:0])
    with pytest.raises(NotFittedError):
        model.predict(blobs)
    model.partial_fit(blobs[:100]).partial_fit(blobs[100:])
    assert np.array_equal(model.bandwidth_, select_bandwidth(blobs[:100]))
    assert model.grid_.total == len(blobs)


def test_an_empty_chunk_changes_nothing(blobs):
    model = MeanShiftPP(1).fit(blobs)
    before = pickle.dumps(model.grid_), model.cluster_centers_.copy()
    model.partial_fit(np.empty((0, 2)), sample_weight=[])
    assert model.labels_.shape == (0,)
    assert (pickle.dumps(model.grid_), model.cluster_centers_.tolist()) == (
        before[0],
        before[1].tolist(),
    )


def test_chunks_go_on_from_a_fit(blobs):
    same(MeanShiftPP(1).fit(blobs[:99]).partial_fit(blobs[99:]), MeanShiftPP(1).fit(blobs))


def test_a_bad_chunk_leaves_the_model_as_it_was(blobs):
    model = MeanShiftPP(1).fit(blobs)
    labels = model.labels_
    with pytest.raises(InvalidInputError):
        model.partial_fit([[1.0, np.nan]])
    with pytest.raises(GridMismatchError):
        model.set_params(bandwidth=2).partial_fit(blobs)
    assert model.labels_ is labels
    assert model.grid_.total == len(blobs)


# -- containers and types --------------------------------------------------------------------------

TABLES = {
    "pandas": pd.DataFrame,
    "polars": pl.DataFrame,
    "pyarrow": pa.table,
    "pandas with missing-value types": lambda d: pd.DataFrame(d).convert_dtypes(),
}


@pytest.mark.parametrize("make", TABLES.values(), ids=TABLES)
def test_tables_go_in_and_names_are_kept(blobs, make):
    table = make({"east": blobs[:, 0], "north": blobs[:, 1]})
    model = MeanShiftPP(1).fit(table)
    same(model, MeanShiftPP(1).fit(blobs))
    assert model.feature_names_in_.tolist() == ["east", "north"]
    assert np.array_equal(model.predict(table), model.labels_)
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(make({"north": blobs[:, 1], "east": blobs[:, 0]}))


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", ">f4", ">f8", "i1", "u1", "i2", ">i4", "i8"])
def test_numbers_of_every_type(dtype):
    X = np.array([[1, 1], [2, 1], [1, 2], [90, 90], [91, 90]]).astype(dtype)
    for variant in (X, np.asfortranarray(X), np.repeat(X, 2, axis=1)[:, ::2], X.tolist()):
        model = MeanShiftPP(5).fit(variant)
        assert model.labels_.tolist() == [0, 0, 0, 1, 1]
    X.setflags(write=False)
    assert MeanShiftPP(5).fit_predict(X).tolist() == [0, 0, 0, 1, 1]


def test_nothing_is_copied_or_converted_on_the_way_in(monkeypatch, blobs):
    seen = []
    original = np.asarray(blobs, np.float32)
    monkeypatch.setattr(CheckedRecipe, "fit", lambda self, X, *_, **__: seen.append(X) or 1 / 0)
    with pytest.raises(ZeroDivisionError):
        MeanShiftPP(1).fit(original)
    assert seen[0] is original or np.shares_memory(seen[0], original)
    assert seen[0].dtype == np.float32


def test_it_pickles_and_clones(blobs):
    model = MeanShiftPP([1, 2], min_cluster_size=3).fit(blobs)
    copy = pickle.loads(pickle.dumps(model))
    same(copy, model)
    assert np.array_equal(copy.predict(blobs), model.labels_)
    fresh = clone(model)
    assert not hasattr(fresh, "grid_")
    same(fresh.fit(blobs), model)


def test_it_works_in_a_pipeline(blobs):
    weight = np.ones(len(blobs))
    pipe = make_pipeline(StandardScaler(), MeanShiftPP(0.3))
    pipe.fit(blobs, meanshiftpp__sample_weight=weight)
    assert np.array_equal(pipe.predict(blobs), pipe[-1].labels_)


# -- not errors ------------------------------------------------------------------------------------


@pytest.mark.parametrize("bandwidth", [1.0, None])
@pytest.mark.parametrize(
    "X",
    [
        [[5.0, -3.0]],
        np.full((9, 2), 7.25),
        -np.ones((4, 2)),
        [[0.0, 1.0], [-0.0, 1.0]],
        [[5e-324, 0.0], [-5e-324, 1.0]],
        np.c_[np.arange(50.0), np.full(50, 1e6)],
    ],
    ids=["one point", "equal points", "negative", "minus zero", "subnormal", "constant column"],
)
def test_odd_data_that_is_fine(X, bandwidth):
    model = MeanShiftPP(bandwidth).fit(X)
    assert model.labels_.min() == 0
    assert model.cluster_weights_.sum() == len(X)


# -- bad input -------------------------------------------------------------------------------------

GOOD = np.arange(12.0).reshape(6, 2)


def spoiled(value: float) -> np.ndarray:
    X = GOOD.copy()
    X[4, 1] = value
    return X


BAD_DATA = {
    "NaN": (spoiled(np.nan), r"X\[4, 1\] is NaN"),
    "infinity": (spoiled(np.inf), r"X\[4, 1\] is -?inf"),
    "minus infinity": (spoiled(-np.inf), r"X\[4, 1\] is -?inf"),
    "NaN, float32": (spoiled(np.nan).astype("f4"), r"X\[4, 1\] is NaN"),
    "no rows": (GOOD[:0], r"0 sample\(s\)"),
    "no columns": (GOOD[:, :0], r"0 feature\(s\)"),
    "1-D": (GOOD[:, 0], "Expected 2D array, got 1D"),
    "3-D": (GOOD[None], "dim 3"),
    "scalar": (3.0, "scalar"),
    "strings": (np.array([["a", "b"]]), "string"),
    "strings in an object array": (np.array([["a", 1]], object), "could not convert"),
    "sparse": (scipy.sparse.csr_array(GOOD), "(?i)sparse"),
    "complex": (GOOD * 1j, "(?i)complex"),
}


@pytest.mark.parametrize("bandwidth", [1.0, None])
@pytest.mark.parametrize(("X", "words"), BAD_DATA.values(), ids=BAD_DATA)
def test_bad_data_is_refused_in_words(X, words, bandwidth):
    with pytest.raises((ValueError, TypeError), match=words):
        MeanShiftPP(bandwidth).fit(X)
    model = MeanShiftPP(1.0).fit(GOOD)
    with pytest.raises((ValueError, TypeError), match=words):
        model.predict(X)


def test_a_coordinate_too_large_for_its_cell_is_refused():
    with pytest.raises(InvalidInputError, match=r"X\[4, 1\]"):
        MeanShiftPP(1.0).fit(spoiled(1e300))


BAD_PARAMETERS = {
    "zero": ({"bandwidth": 0}, "'bandwidth'.*range.*Got 0 instead"),
    "negative": ({"bandwidth": -1.0}, "'bandwidth'.*Got -1.0 instead"),
    "NaN": ({"bandwidth": np.nan}, "'bandwidth'.*Got nan instead"),
    "infinite": ({"bandwidth": np.inf}, "'bandwidth'.*Got inf instead"),
    "string": ({"bandwidth": "wide"}, "'bandwidth'.*Got 'wide' instead"),
    "too many": (
        {"bandwidth": [1, 2, 3]},
        r"bandwidth must be one number or 2, .*got \[1.0, 2.0, 3.0\]",
    ),
    "zero in a vector": ({"bandwidth": [1, 0]}, "bandwidth must be positive"),
    "NaN in a vector": ({"bandwidth": [1, np.nan]}, "bandwidth must be positive"),
    "matrix": ({"bandwidth": [[1, 2]]}, r"bandwidth must be one number or 2, .*\[\[1.0, 2.0\]\]"),
    "tol": ({"tol": -1}, "'tol'"),
    "max_iter": ({"max_iter": 0}, "'max_iter'"),
    "cluster_all": ({"cluster_all": "yes"}, "'cluster_all'"),
    "min_cluster_size": ({"min_cluster_size": 0}, "'min_cluster_size'"),
    "n_jobs": ({"n_jobs": 0}, "'n_jobs'"),
}


@pytest.mark.parametrize(("parameters", "words"), BAD_PARAMETERS.values(), ids=BAD_PARAMETERS)
def test_bad_parameters_are_refused_in_words(parameters, words):
    with pytest.raises(ValueError, match=words):
        MeanShiftPP(**{"bandwidth": 1.0, **parameters}).fit(GOOD)


# -- a bandwidth of None ---------------------------------------------------------------------------


def test_the_bandwidth_is_chosen_from_the_data(blobs):
    weight = np.random.default_rng(0).integers(0, 4, len(blobs))
    model = MeanShiftPP().fit(blobs)
    weighted = MeanShiftPP().fit(blobs, sample_weight=weight)
    repeated = MeanShiftPP().fit(np.repeat(blobs, weight, axis=0))
    assert np.array_equal(model.bandwidth_, select_bandwidth(blobs))
    assert np.array_equal(weighted.bandwidth_, repeated.bandwidth_)
    assert not np.array_equal(weighted.bandwidth_, model.bandwidth_)


def test_the_choice_finds_the_species_that_stand_apart():
    X, species = load_iris(return_X_y=True)
    model = MeanShiftPP().fit(X)
    setosa, others = model.labels_[species == 0], model.labels_[species != 0]
    assert not set(setosa) & set(others)
    assert (setosa == 1).mean() > 0.9
    assert (others == 0).mean() > 0.9  # versicolor and virginica do not stand apart


@pytest.mark.parametrize("cluster_all", [True, False])
def test_points_of_no_weight_are_new_points_also_beside_noise(cluster_all):
    X, weight = [[0.0], [0.1], [0.2], [10.0], [10.1], [14.0]], [1, 1, 1, 1, 0, 0]
    model = MeanShiftPP(1.0, min_cluster_size=2, cluster_all=cluster_all)
    expected = [0, 0, 0, -1, -1, 0 if cluster_all else -1]
    assert model.fit(X, sample_weight=weight).labels_.tolist() == expected
    assert model.predict(X).tolist() == expected
    assert clone(model).partial_fit(X, sample_weight=weight).labels_.tolist() == expected


def test_a_chunk_of_no_weight_changes_nothing():
    X, more = [[0.0], [0.1], [0.2]], [[0.15], [10.0]]
    model = MeanShiftPP(1.0).partial_fit(more, sample_weight=[0, 0])
    assert model.labels_.tolist() == [-1, -1]
    model.partial_fit(X).partial_fit(more, sample_weight=[0, 0])
    assert model.grid_ == MeanShiftPP(1.0).fit(X).grid_
    assert model.labels_.tolist() == model.predict(more).tolist()
