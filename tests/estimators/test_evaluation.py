"""The score for held-out points, and the description of clusters."""

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.model_selection import GridSearchCV, cross_val_score

from meanshiftpp import GridDensity, MeanShiftPP
from meanshiftpp.dask import MeanShiftPP as LazyMeanShiftPP
from meanshiftpp.errors import InvalidInputError
from meanshiftpp.estimators.evaluation import _log_density

RNG = np.random.default_rng(0)
X = np.concatenate([RNG.normal(0, 1, (300, 2)), RNG.normal(9, 1, (200, 2))])
BANDWIDTHS = [0.02, 0.1, 0.5, 1.0, 8.0]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("data", [X, pd.DataFrame(X, columns=["a", "b"])])
def test_a_grid_search_prefers_neither_extreme(data):
    search = GridSearchCV(MeanShiftPP(1.0), {"bandwidth": BANDWIDTHS}, cv=4).fit(data)
    assert search.best_params_["bandwidth"] in (0.5, 1.0)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert np.isfinite(cross_val_score(MeanShiftPP(1.0), data, cv=3)).all()
    assert not hasattr(MeanShiftPP(), "score")


@pytest.mark.parametrize("resolution", [1, 3])
def test_the_score_is_nearly_the_mean_log_density(resolution):
    model = MeanShiftPP(1.0, resolution=resolution).fit(X)
    density = GridDensity(3.0, resolution=resolution).fit(X)
    assert model.score(X) == pytest.approx(density.score(X) / len(X), abs=0.01)


def test_the_density_integrates_to_one():
    model = MeanShiftPP(0.5).fit([[0.2], [0.3], [5.0]])
    at = np.linspace(-200, 200, 400_001)
    density = np.exp(_log_density(model.grid_, 1, at[:, None], None))
    assert density.min() > 0
    assert density.sum() * (at[1] - at[0]) == pytest.approx(1, abs=1e-3)


def test_an_outlier_has_a_finite_score_and_weights_count():
    model = MeanShiftPP(1.0, periodic=[None, 30]).fit(X)
    assert np.isfinite(model.score([[1e6, 5.0]]))
    pair = [[0.0, 0.0], [1e3, 5.0]]
    low, high = model.score(pair[1:]), model.score(pair[:1])
    assert model.score(pair, sample_weight=[3, 1]) == pytest.approx((3 * high + low) / 4)
    with pytest.raises(InvalidInputError, match="is NaN"):
        model.score([[np.nan, 0.0]])


@pytest.mark.filterwarnings("error")
def test_dask_collections_are_evaluated_in_memory():
    model, single = LazyMeanShiftPP(1.0).fit(da.from_array(X)), MeanShiftPP(1.0).fit(X)
    assert model.score(X) == single.score(X)
    assert model.describe(X)["x0_max"].tolist() == single.describe(X)["x0_max"].tolist()
    for collection in (da.from_array(X), dd.from_pandas(pd.DataFrame(X), npartitions=2)):
        for method in (model.score, model.describe):
            with pytest.raises(InvalidInputError, match=r"points in memory.*pass X.compute\(\)"):
                method(collection)


def test_a_description_has_the_type_of_the_table():
    frame = pd.DataFrame(X, columns=["east", "north"])
    model = MeanShiftPP().fit(frame)
    found = model.describe(frame)
    assert isinstance(found, pd.DataFrame)
    assert found["size"].tolist() == [300, 200]
    groups = frame.groupby(model.labels_)
    np.testing.assert_allclose(found["east_mean"], groups["east"].mean(), atol=1e-9)
    np.testing.assert_allclose(found["north_std"], groups["north"].std(ddof=0), atol=1e-9)
    np.testing.assert_allclose(found["north_max"], groups["north"].max())
    np.testing.assert_allclose(found[["east", "north"]], model.cluster_centers_)
    table = pl.DataFrame({"east": X[:, 0], "north": X[:, 1]})
    other = MeanShiftPP().fit(table).describe(table)
    assert isinstance(other, pl.DataFrame)
    assert other.to_dict(as_series=False).keys() == found.to_dict().keys()
    arrow = pa.table({"east": X[:, 0], "north": X[:, 1]})
    assert MeanShiftPP().fit(arrow).describe(arrow).keys() == found.to_dict().keys()
    plain = MeanShiftPP().fit(X).describe(X, sample_weight=np.full(len(X), 2.0))
    assert plain["size"].tolist() == [600, 400]
    assert list(plain)[:5] == ["label", "size", "share", "x0", "x1"]


def test_clusters_without_points_have_no_profile():
    X = np.concatenate([np.zeros((40, 2)), np.full((40, 2), 9.0)])
    found = MeanShiftPP(1.0).fit(X).describe(X[:5])
    assert found["size"].tolist() == [5, 0]
    for name in ("x0_mean", "x0_std", "x0_min", "x0_max"):
        assert np.isnan(found[name]).tolist() == [False, True]


@pytest.mark.parametrize("model", [MeanShiftPP(1.0), MeanShiftPP()])
def test_rows_without_weight_are_not_described(model):
    weight = np.where(np.arange(len(X)) % 3, 2.0, 0.0)
    found = model.fit(X).describe(X, sample_weight=weight)
    expected = model.describe(X[weight > 0], sample_weight=weight[weight > 0])
    for name, column in expected.items():
        assert np.array_equal(found[name], column, equal_nan=True), name
