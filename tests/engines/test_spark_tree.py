"""Spark without a bandwidth: the tree of all rows is that of one process, and models store it."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.engines.spark_data import NAMES, NEEDS_SPARK, X, rng, table

import meanshiftpp
from meanshiftpp.core.tree import significant, tally
from meanshiftpp.errors import GridFileError, InvalidInputError

pytestmark = NEEDS_SPARK

SETS = {
    "blobs": X,
    "units": X * np.float32([1, 1000, 1]),
    "rounded": np.round(X),
    "clipped": np.clip(X, -1, 9),
    "outliers": np.concatenate([X, np.float32([[1e6, 0, 0], [0, -1e6, 5]])]),
    "repeated": X[rng.integers(0, 1000, len(X))],
    "one row": X[:1],
    "two rows": X[:2],
    "equal rows": np.ones((40, 3)),
    "constant columns": np.c_[X[:, 0], np.ones((len(X), 2))],
}


def frame(session, points, n_partitions=3, **columns):
    df = session.createDataFrame(table(points, row=np.arange(len(points)), **columns))
    return df.repartition(n_partitions)


def assert_same(model, one, df):
    """Compare a model with a fitted estimator of the same rows."""
    assert model.tree.splits == one.tree_.splits
    np.testing.assert_array_equal(model.clusterCenters(), one.cluster_centers_)
    np.testing.assert_array_equal(model.clusterWeights(), one.cluster_weights_)
    labelled = model.transform(df).toArrow().sort_by("row")
    np.testing.assert_array_equal(labelled["label"], one.labels_)


@pytest.mark.parametrize("name", SETS)
def test_clusters_are_those_of_one_process(session, spark, name):
    points = SETS[name]
    df = frame(session, points)
    one = meanshiftpp.MeanShiftPP(cluster_all=name != "outliers").fit(points)
    assert_same(spark.fit(df, NAMES, cluster_all=name != "outliers"), one, df)


@pytest.mark.parametrize("fan_in", [16, 2])  # tallies are added on the driver, or in tasks
def test_any_partitioning_gives_the_clusters_of_one_process(session, spark, monkeypatch, fan_in):
    monkeypatch.setattr(spark, "FAN_IN", fan_in)
    df = frame(session, X, 5)
    more = df.where("row < 0").union(df)  # five partitions more, without rows
    assert_same(spark.fit(more, NAMES), meanshiftpp.MeanShiftPP().fit(X), df)


@pytest.mark.parametrize("kind", ["whole", "real"])
def test_weights_give_the_clusters_of_one_process(session, spark, kind):
    weight = rng.integers(0, 3, len(X)) * (1 if kind == "whole" else 0.37)
    df = frame(session, X, w=weight)
    one = meanshiftpp.MeanShiftPP().fit(X, sample_weight=weight)
    assert_same(spark.fit(df, NAMES, weight="w"), one, df)


@pytest.mark.parametrize("cells", [1 << 22, 900])
def test_more_rows_than_a_tally_keeps_give_the_clusters_of_one_process(
    session, spark, monkeypatch, cells
):
    def limited(make):
        """Limit the tallies in the process of a task, too."""

        def make_limited(*args):
            task = make(*args)

            def limited_task(batches):
                from meanshiftpp.core.tree import tally

                limits = tally.MAX_ROWS, tally.MAX_CELLS
                tally.MAX_ROWS, tally.MAX_CELLS = 1000, cells
                try:
                    yield from task(batches)
                finally:  # the process also runs later tasks
                    tally.MAX_ROWS, tally.MAX_CELLS = limits

            return limited_task

        return make_limited

    reads = []

    def counted(recipe, names):
        reads.append(recipe.levels)
        return original(recipe, names)

    original = limited(spark.bin_task)
    monkeypatch.setattr(spark, "bin_task", counted)
    monkeypatch.setattr(tally, "MAX_ROWS", 1000)
    monkeypatch.setattr(tally, "MAX_CELLS", cells)
    monkeypatch.setattr(significant, "MAX_ROWS", 1000)
    points = X.copy()
    points[-1] = 500  # in one partition only, so its cells are larger
    df = frame(session, points)
    assert_same(spark.fit(df, NAMES), meanshiftpp.MeanShiftPP().fit(points), df)
    assert len(reads) == (1 if cells > 900 else 2)


def test_vectors_give_the_clusters_of_columns(session, spark):
    from pyspark.ml.feature import VectorAssembler

    df = frame(session, X)
    vectors = VectorAssembler(inputCols=NAMES, outputCol="features").transform(df)
    options = {"periodic": [12.5, None, 40.0], "strictness": 0.5}
    one = meanshiftpp.MeanShiftPP(**options).fit(X)
    model = spark.MeanShiftPP(**options, predictionCol="label").fit(vectors)
    assert_same(model, one, vectors.drop(*NAMES))


def test_files_give_the_clusters_of_one_process(session, spark, tmp_path):
    points = X.astype(np.float64)
    columns = dict(zip(NAMES, points.T, strict=True), row=np.arange(len(X)))
    for number, rows in enumerate([slice(0, 1700), slice(1700, 1700), slice(1700, None)]):
        part = pa.table({name: column[rows] for name, column in columns.items()})
        pq.write_table(part, tmp_path / f"{number}.parquet", row_group_size=400)
    df = session.read.parquet(str(tmp_path))
    assert spark.find_scan(df.select(*NAMES)) is not None
    assert_same(spark.fit(df, NAMES), meanshiftpp.MeanShiftPP().fit(points), df)


def test_bad_values_raise_with_their_place(session, spark):
    points = X.copy()
    points[4, 1] = np.nan
    df = session.createDataFrame(table(points)).coalesce(1)
    with pytest.raises(InvalidInputError, match=r"^partition 0, row 5, column 'y' is NaN"):
        spark.fit(df, NAMES)
    with pytest.raises(InvalidInputError, match="at least one row"):
        spark.fit(df.where("x > 1e6"), NAMES)
    with pytest.raises(InvalidInputError, match="periodic must be None or"):
        spark.fit(df, NAMES, periodic=[24.0])


@pytest.mark.parametrize("strictness", [0, -1.0, np.nan, np.inf, "high"])
def test_bad_strictness_raises(session, spark, strictness):
    with pytest.raises((InvalidInputError, TypeError), match="strictness must be a positive"):
        spark.MeanShiftPP(strictness=strictness)


CUTS = [{"n_clusters": 1}, {"n_clusters": 3}, {"persistence": 0.9}, {"min_cluster_size": 2500}]


@pytest.mark.parametrize("cut", CUTS, ids=str)
def test_cut_is_a_model_and_that_of_one_process(session, spark, tmp_path, cut):
    df = frame(session, X)
    model = spark.fit(df, NAMES, strictness=0.6)
    one = meanshiftpp.MeanShiftPP(strictness=0.6).fit(X)
    coarse = model.cut(**cut)
    assert_same(coarse, one.cut(**cut), df)
    assert coarse.explain() == one.cut(**cut).explain()
    assert_same(model, one, df)
    coarse.save(str(tmp_path / "model"))
    assert_same(spark.MeanShiftPPModel.load(str(tmp_path / "model")), one.cut(**cut), df)


def test_the_tree_is_explained_as_in_one_process(session, spark):
    model, one = spark.fit(frame(session, X), NAMES), meanshiftpp.MeanShiftPP().fit(X)
    assert model.explain(1) == one.explain(1)
    assert model.condensedTree().nodes == one.condensed_tree_.nodes
    with pytest.raises(InvalidInputError, match="label"):
        model.explain(-1)
    with pytest.raises(InvalidInputError, match="and only one"):
        model.cut()


def test_models_have_the_attributes_of_their_kind(session, spark):
    df = frame(session, X)
    tree, modes = spark.fit(df, NAMES), spark.fit(df, NAMES, 1.0)
    assert not hasattr(tree, "grid")
    assert not hasattr(tree, "modes")
    assert not hasattr(modes, "tree")
    with pytest.raises(AttributeError, match="grids need a bandwidth"):
        _ = tree.grid
    with pytest.raises(AttributeError, match="cut needs significant clusters"):
        modes.cut(n_clusters=2)


@pytest.mark.parametrize(
    ("options", "weighted"),
    [({}, False), ({"cluster_all": False, "strictness": 0.5}, False), ({"periodic": 12.5}, True)],
    ids=str,
)
def test_model_is_saved_and_loaded(session, spark, tmp_path, options, weighted):
    weight = rng.random(len(X)) if weighted else None
    df = frame(session, X, w=weight if weighted else np.ones(len(X)))
    model = spark.fit(df, NAMES, weight="w" if weighted else None, **options)
    model.save(str(tmp_path / "model"))
    loaded = spark.MeanShiftPPModel.load(str(tmp_path / "model"))
    assert loaded.getStrictness() == model.getStrictness()
    one = meanshiftpp.MeanShiftPP(**options).fit(X, sample_weight=weight)
    assert_same(loaded, one, df)
    cut = loaded.cut(n_clusters=1)
    assert_same(cut, one.cut(n_clusters=1), df)


def test_damaged_tree_of_a_model_raises(session, spark, tmp_path):
    model = spark.fit(session.createDataFrame(table()), NAMES)
    model.save(str(tmp_path / "model"))
    data = str(tmp_path / "model" / "data")
    damaged = session.createDataFrame([(None, b"PK nothing", 1.0, True)], spark._STORED)
    damaged.write.mode("overwrite").parquet(data)
    with pytest.raises(GridFileError, match="has no valid tree"):
        spark.MeanShiftPPModel.load(str(tmp_path / "model"))
