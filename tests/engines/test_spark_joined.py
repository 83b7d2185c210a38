"""Spark: joined clusters are those of one process, and models store their tree."""

import json

import numpy as np
import pyarrow as pa
import pytest
from tests.engines.spark_data import NAMES, NEEDS_SPARK, X, rng, table

import meanshiftpp
from meanshiftpp.errors import GridFileError, InvalidInputError

pytestmark = NEEDS_SPARK


@pytest.mark.parametrize("weighted", [False, True])
def test_without_a_bandwidth_clusters_are_significant_as_in_one_process(session, spark, weighted):
    weight = rng.integers(0, 3, len(X))
    df = session.createDataFrame(table(row=np.arange(len(X)), w=weight)).repartition(3)
    model = spark.fit(df, NAMES, weight="w" if weighted else None)
    one = meanshiftpp.MeanShiftPP().fit(X, sample_weight=weight if weighted else None)
    assert model.grid == one.grid_
    assert model.getJoin()
    np.testing.assert_array_equal(model.clusterCenters(), one.cluster_centers_)
    np.testing.assert_array_equal(model.clusterWeights(), one.cluster_weights_)
    labelled = model.transform(df).toArrow().sort_by("row")
    np.testing.assert_array_equal(labelled["label"], one.labels_)


@pytest.mark.parametrize(
    "options",
    [{}, {"strictness": 0.4}, {"cluster_all": False, "min_cluster_size": 30, "resolution": 2}],
    ids=str,
)
def test_with_a_bandwidth_the_tree_of_the_grid_is_that_of_one_process(session, spark, options):
    df = session.createDataFrame(table(row=np.arange(len(X)))).repartition(3)
    model = spark.fit(df, NAMES, 0.6, join=True, **options)
    one = meanshiftpp.MeanShiftPP(0.6, join=True, **options).fit(X)
    assert model.grid == one.grid_
    np.testing.assert_array_equal(model.clusterCenters(), one.cluster_centers_)
    labelled = model.transform(df).toArrow().sort_by("row")
    np.testing.assert_array_equal(labelled["label"], one.labels_)


def test_many_rows_give_nearly_the_clusters_of_one_process(session, spark):
    draws = np.random.default_rng(3)
    points = draws.normal(size=(25_000, 3)) + 9 * draws.integers(0, 2, (25_000, 1))
    columns = dict(zip(NAMES, points.T, strict=True), row=np.arange(len(points)))
    df = session.createDataFrame(pa.table(columns)).repartition(3)
    model, one = spark.fit(df, NAMES), meanshiftpp.MeanShiftPP().fit(points)
    assert len(model.modes) == len(one.cluster_weights_) == 2
    labelled = model.transform(df).toArrow().sort_by("row")
    assert (labelled["label"].to_numpy() == one.labels_).mean() > 0.999


@pytest.mark.parametrize(
    "points",
    [X[:1], X[:2], np.ones((40, 3)), np.c_[X[:, 0], np.ones((len(X), 2))]],
    ids=["one row", "two rows", "equal", "constant columns"],
)
def test_degenerate_data_gives_the_result_of_one_process(session, spark, points):
    df = session.createDataFrame(table(points)).coalesce(1)
    one = meanshiftpp.MeanShiftPP().fit(points)
    labelled = spark.fit(df, NAMES).transform(df).toArrow()
    np.testing.assert_array_equal(labelled["label"], one.labels_)


def test_automatic_bandwidth_leaves_bad_values_to_binning(session, spark):
    points = X.copy()
    points[4, 1] = np.nan
    df = session.createDataFrame(table(points)).coalesce(1)
    with pytest.raises(InvalidInputError, match=r"^partition 0, row 5, column 'y' is NaN"):
        spark.fit(df, NAMES)
    with pytest.raises(InvalidInputError, match="at least one row"):
        spark.fit(df.where("x > 1e6"), NAMES)


@pytest.mark.parametrize("strictness", [0, -1.0, np.nan, np.inf, "high"])
def test_bad_strictness_raises(session, spark, strictness):
    with pytest.raises((InvalidInputError, TypeError), match="strictness must be a positive"):
        spark.MeanShiftPP(strictness=strictness)


@pytest.mark.parametrize(
    ("bandwidth", "options"),
    [(None, {}), (None, {"cluster_all": False, "strictness": 0.5}), (0.6, {"join": True})],
    ids=str,
)
def test_model_of_joined_clusters_is_saved_and_loaded(session, spark, tmp_path, bandwidth, options):
    df = session.createDataFrame(table())
    model = spark.fit(df, NAMES, bandwidth, **options)
    model.save(str(tmp_path / "model"))
    loaded = spark.MeanShiftPPModel.load(str(tmp_path / "model"))
    assert loaded.modes.tree.splits == model.modes.tree.splits
    assert (loaded.getJoin(), loaded.getStrictness()) == (True, model.getStrictness())
    np.testing.assert_array_equal(loaded.clusterCenters(), model.clusterCenters())
    expected, labels = (each.transform(df).toArrow()["label"] for each in (model, loaded))
    np.testing.assert_array_equal(labels, expected)


def test_model_saved_by_a_release_without_join_is_loaded(session, spark, tmp_path):
    df = session.createDataFrame(table())
    model = spark.fit(df, NAMES, join=False)
    model.save(str(tmp_path / "model"))
    rows = session.read.parquet(str(tmp_path / "model" / "data")).select("grid").collect()
    old = session.createDataFrame(rows, "grid binary")
    old.write.mode("overwrite").parquet(str(tmp_path / "model" / "data"))
    metadata = next((tmp_path / "model" / "metadata").glob("part-*"))
    content = json.loads(metadata.read_text())
    for kind in ("paramMap", "defaultParamMap"):
        for name in ("join", "strictness"):
            content[kind].pop(name, None)
    (metadata.parent / f".{metadata.name}.crc").unlink()
    metadata.write_text(json.dumps(content))
    loaded = spark.MeanShiftPPModel.load(str(tmp_path / "model"))
    assert not loaded.getJoin()
    expected, labels = (each.transform(df).toArrow()["label"] for each in (model, loaded))
    np.testing.assert_array_equal(labels, expected)


def test_damaged_tree_of_a_model_raises(session, spark, tmp_path):
    model = spark.fit(session.createDataFrame(table()), NAMES)
    model.save(str(tmp_path / "model"))
    data = str(tmp_path / "model" / "data")
    grid = session.read.parquet(data).first()["grid"]
    damaged = session.createDataFrame([(grid, b"PK nothing")], "grid binary, tree binary")
    damaged.write.mode("overwrite").parquet(data)
    with pytest.raises(GridFileError, match="has no valid tree"):
        spark.MeanShiftPPModel.load(str(tmp_path / "model"))
