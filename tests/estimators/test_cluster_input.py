"""MeanShiftPP: tables, number types, special data, and the rejection of bad input."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse
from sklearn.datasets import make_blobs

from meanshiftpp import GridDensity, MeanShiftPP
from meanshiftpp.core.recipe import CheckedRecipe
from meanshiftpp.errors import InvalidInputError


@pytest.fixture(scope="module")
def blobs():
    return make_blobs([50, 300, 200], centers=[[0, 0], [9, 1], [-4, 8]], random_state=3)[0]


TABLES = {
    "pandas": pd.DataFrame,
    "polars": pl.DataFrame,
    "pyarrow": pa.table,
    "pandas with missing-value types": lambda d: pd.DataFrame(d).convert_dtypes(),
}


@pytest.mark.parametrize("make", TABLES.values(), ids=TABLES)
def test_tables_are_accepted_and_their_names_kept(blobs, make):
    table = make({"east": blobs[:, 0], "north": blobs[:, 1]})
    model = MeanShiftPP(1).fit(table)
    expected = MeanShiftPP(1).fit(blobs)
    assert model.grid_ == expected.grid_
    assert np.array_equal(model.labels_, expected.labels_)
    assert np.array_equal(model.cluster_centers_, expected.cluster_centers_)
    assert model.feature_names_in_.tolist() == ["east", "north"]
    assert np.array_equal(model.predict(table), model.labels_)
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(make({"north": blobs[:, 1], "east": blobs[:, 0]}))


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", ">f4", ">f8", "i1", "u1", "i2", ">i4", "i8"])
def test_every_number_type_and_layout(dtype):
    X = np.array([[1, 1], [2, 1], [1, 2], [90, 90], [91, 90]]).astype(dtype)
    for variant in (X, np.asfortranarray(X), np.repeat(X, 2, axis=1)[:, ::2], X.tolist()):
        model = MeanShiftPP(5).fit(variant)
        assert model.labels_.tolist() == [0, 0, 0, 1, 1]
    X.setflags(write=False)
    assert MeanShiftPP(5).fit_predict(X).tolist() == [0, 0, 0, 1, 1]


def test_points_are_neither_copied_nor_converted(monkeypatch, blobs):
    seen = []
    original = np.asarray(blobs, np.float32)
    monkeypatch.setattr(CheckedRecipe, "fit", lambda self, X, *_, **__: seen.append(X) or 1 / 0)
    with pytest.raises(ZeroDivisionError):
        MeanShiftPP(1).fit(original)
    assert seen[0] is original or np.shares_memory(seen[0], original)
    assert seen[0].dtype == np.float32


# -- special data that is valid -------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:feature 0 counts as constant")  # the subnormal one
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
def test_special_data_is_clustered(X, bandwidth):
    model = MeanShiftPP(bandwidth).fit(X)
    assert model.labels_.min() == 0
    assert model.cluster_weights_.sum() == len(X)


# -- bad input ------------------------------------------------------------------------------------


GOOD = np.arange(12.0).reshape(6, 2)


def with_bad_value(value: float) -> np.ndarray:
    X = GOOD.copy()
    X[4, 1] = value
    return X


BAD_DATA = {
    "NaN": (with_bad_value(np.nan), r"X\[4, 1\] is NaN"),
    "infinity": (with_bad_value(np.inf), r"X\[4, 1\] is -?inf"),
    "minus infinity": (with_bad_value(-np.inf), r"X\[4, 1\] is -?inf"),
    "NaN, float32": (with_bad_value(np.nan).astype("f4"), r"X\[4, 1\] is NaN"),
    "no rows": (GOOD[:0], r"0 sample\(s\)"),
    "no columns": (GOOD[:, :0], r"0 feature\(s\)"),
    "1-D": (GOOD[:, 0], "Expected 2D array, got 1D"),
    "3-D": (GOOD[None], "dim 3"),
    "scalar": (3.0, "scalar"),
    "strings": (np.array([["a", "b"]]), "string"),
    "strings in an object array": (np.array([["a", 1]], object), "not a number"),
    "sparse": (scipy.sparse.csr_array(GOOD), "(?i)sparse"),
    "complex": (GOOD * 1j, "(?i)complex"),
}


@pytest.mark.parametrize("bandwidth", [1.0, None])
@pytest.mark.parametrize(("X", "message"), BAD_DATA.values(), ids=BAD_DATA)
def test_bad_data_raises(X, message, bandwidth):
    with pytest.raises((ValueError, TypeError), match=message):
        MeanShiftPP(bandwidth).fit(X)
    model = MeanShiftPP(1.0).fit(GOOD)
    with pytest.raises((ValueError, TypeError), match=message):
        model.predict(X)


def test_coordinate_too_large_for_its_cell_raises():
    with pytest.raises(InvalidInputError, match=r"X\[4, 1\]"):
        MeanShiftPP(1.0).fit(with_bad_value(1e300))


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


@pytest.mark.parametrize(("parameters", "message"), BAD_PARAMETERS.values(), ids=BAD_PARAMETERS)
def test_bad_parameters_raise(parameters, message):
    with pytest.raises(ValueError, match=message):
        MeanShiftPP(**{"bandwidth": 1.0, **parameters}).fit(GOOD)


@pytest.mark.parametrize("estimator", [MeanShiftPP(1.0), MeanShiftPP(), GridDensity(1.0)])
def test_masked_values_and_ragged_lists_raise(estimator):
    masked = np.ma.array(np.zeros((3, 2)), mask=[[0, 1], [0, 0], [0, 0]])
    weight = np.ma.array(np.ones(3), mask=[0, 0, 1])
    for X, sample_weight in ((masked, None), (np.zeros((3, 2)), weight)):
        with pytest.raises(InvalidInputError, match="masked values, got 1 of"):
            estimator.fit(X, sample_weight=sample_weight)
    with pytest.raises(InvalidInputError, match="rows of equal length"):
        estimator.fit([[1.0, 2.0], [3.0]])
    estimator.fit(np.ma.array(np.eye(3)))


@pytest.mark.parametrize("value", ["abc", 10**400, [1, 2]], ids=["text", "huge", "list"])
def test_the_error_of_an_object_that_is_not_a_number_names_its_place(value):
    X = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], object)
    X[1, 1] = value
    with pytest.raises(InvalidInputError, match="not a number; correct it") as caught:
        MeanShiftPP(1.0).fit(X)
    assert (caught.value.row, caught.value.column) == (1, 1)
