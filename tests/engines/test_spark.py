"""Spark: the grid and the labels of one process, bit for bit, whatever happens to its tasks."""

import doctest
import importlib
import os
import re
import shutil
import signal
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from sklearn.exceptions import ConvergenceWarning

import meanshiftpp
from meanshiftpp.bandwidth.spread import SAMPLE_SIZE
from meanshiftpp.errors import InvalidInputError, MissingExtraError

pytestmark = [
    pytest.mark.skipif(
        not (shutil.which("java") or os.environ.get("JAVA_HOME")),
        reason="Spark needs Java 17 or newer and none was found: NOTHING OF SPARK WAS TESTED",
    ),
    # Spark says this wherever it sees pandas 3, used or not.
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning"),
]

SCALE = Path(__file__).parents[2] / "docs" / "scale.md"
rng = np.random.default_rng(7)
X = np.concatenate([rng.normal(0, 1, (3000, 3)), rng.normal(9, 1, (2000, 3))]).astype(np.float32)
NAMES = ["x", "y", "n"]
X[:, 2] = np.round(X[:, 2])


@pytest.fixture(scope="module")
def session(tmp_path_factory):
    """Two cores' worth of tasks, each of which may fail three times."""
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",  # soon ready
        "spark.sql.shuffle.partitions": "2",
        "spark.local.dir": str(tmp_path_factory.mktemp("spark")),
        "spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("warehouse")),
    }
    session = SparkSession.builder.master("local[2,4]").config(map=settings).getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


def table(points=X, **more):
    """Columns of several types; a NaN in the last is a null."""
    x, y, n = points.T
    whole = pa.array(n, from_pandas=True).cast(pa.int32())
    return pa.table({"x": x.astype(float), "y": y, "n": whole, **more})


def test_two_tasks_at_a_time_give_what_one_process_gives(session, monkeypatch):
    from meanshiftpp.engines.spark import estimator as spark

    monkeypatch.setattr(spark, "FAN_IN", 2)  # so that 5 partitions make a tree of two levels
    df = session.createDataFrame(table(row=np.arange(len(X)))).repartition(5)
    more = df.where("row < 0").union(df)  # and five partitions of no rows
    model = spark.fit(more, NAMES, [1.0, 0.5, 2.0], min_cluster_size=30)
    one = meanshiftpp.MeanShiftPP([1.0, 0.5, 2.0], min_cluster_size=30).fit(X)
    assert model.grid == one.grid_
    np.testing.assert_array_equal(model.clusterCenters(), one.cluster_centers_)
    np.testing.assert_array_equal(model.clusterWeights(), one.cluster_weights_)
    labelled = model.transform(df).toArrow().sort_by("row")
    assert labelled.column_names == [*df.columns, "label"]
    np.testing.assert_array_equal(labelled["label"], one.labels_)


def test_a_task_that_is_killed_changes_nothing(session, tmp_path):
    from meanshiftpp.engines.spark import estimator as spark

    died = tmp_path / "died"

    def deadly(batches):
        for batch in batches:
            if 4321 in batch["row"].to_pylist() and not died.exists():
                died.write_text(str(os.getpid()))
                os.kill(os.getpid(), signal.SIGKILL)
            yield batch

    df = session.createDataFrame(table(row=np.arange(len(X)))).repartition(4)
    df = df.mapInArrow(deadly, df.schema)
    model = spark.fit(df, NAMES, 1.0)
    assert died.exists()
    one = meanshiftpp.MeanShiftPP(1.0).fit(X)
    assert model.grid == one.grid_
    died.unlink()
    labelled = model.transform(df).toArrow().sort_by("row")
    assert died.exists()
    np.testing.assert_array_equal(labelled["label"], one.labels_)


def test_a_bad_value_is_named_by_partition_row_and_column(session):
    from meanshiftpp.engines.spark import estimator as spark

    names = ["x", "a.b", "n"]  # which Spark would read as the field b of a struct
    for column, name in enumerate(names[1:], 1):
        points = X.copy()
        points[4, column] = np.nan
        df = session.createDataFrame(table(points).rename_columns(names)).coalesce(1)
        words = f"partition 0, row 5, column '{re.escape(name)}' is NaN"
        with pytest.raises(InvalidInputError, match=words):
            spark.fit(df, names, 1.0)
    model = spark.fit(session.createDataFrame(table().rename_columns(names)), names, 1.0)
    with pytest.raises(Exception, match=f"InvalidInputError: {words}"):  # in Spark's own exception
        model.transform(df).collect()


def test_weights_and_the_choice_of_a_bandwidth(session):
    from meanshiftpp.engines.spark import estimator as spark

    weight = rng.integers(0, 4, len(X))
    df = session.createDataFrame(table(w=weight))
    model = spark.fit(df, NAMES, 1.0, weight="w")
    assert model.grid == meanshiftpp.Grid.from_points(X, 1.0, sample_weight=weight)
    side = meanshiftpp.select_bandwidth(X)
    assert spark.fit(df, NAMES).grid == meanshiftpp.Grid.from_points(X, side)


def test_of_many_rows_some_are_looked_at(session):
    from meanshiftpp.engines.spark import estimator as spark

    many = np.concatenate([X + np.float32([k / 7, k / 7, k]) for k in range(5)])
    many[7] = 1e6  # no absurd value decides
    assert len(many) > SAMPLE_SIZE
    df = session.createDataFrame(table(many)).repartition(3)
    side = spark.fit(df, NAMES).grid.bandwidth
    np.testing.assert_allclose(side, meanshiftpp.select_bandwidth(many), rtol=0.2)


def test_the_choice_of_a_bandwidth_uses_the_weights(session):
    from meanshiftpp.engines.spark import estimator as spark

    far = X + np.float32([1 << 20, 0, 0])  # where squares of coordinates would lose the spread
    heavy_left = np.where(X[:, 0] < 5, 3.5, 0.25)
    some = rng.integers(0, 3, len(X))
    for points, weight in [(X, heavy_left), (X, some), (far, heavy_left)]:
        df = session.createDataFrame(table(points, w=weight)).repartition(3)
        side = meanshiftpp.select_bandwidth(points, sample_weight=weight)
        assert side.tolist() != meanshiftpp.select_bandwidth(points).tolist()
        np.testing.assert_array_equal(spark.fit(df, NAMES, weight="w").grid.bandwidth, side)
    idle = session.createDataFrame(table(w=np.zeros(len(X))))
    with pytest.raises(InvalidInputError, match="at least one row of some weight"):
        spark.fit(idle, NAMES, weight="w")


def test_a_pipeline_of_vectors_is_saved_and_loaded(session, tmp_path):
    from pyspark.ml import Pipeline, PipelineModel
    from pyspark.ml.feature import VectorAssembler

    from meanshiftpp.engines.spark import estimator as spark

    df = session.createDataFrame(table())
    vectors = VectorAssembler(inputCols=NAMES, outputCol="features")
    spark.MeanShiftPP(bandwidth=1.0, minClusterSize=30).save(str(tmp_path / "estimator"))
    cluster = spark.MeanShiftPP.load(str(tmp_path / "estimator"))
    Pipeline(stages=[vectors, cluster]).fit(df).save(str(tmp_path / "model"))
    loaded = PipelineModel.load(str(tmp_path / "model"))
    one = meanshiftpp.MeanShiftPP(1.0, min_cluster_size=30).fit(X)
    assert loaded.stages[1].grid == one.grid_
    assert loaded.stages[1].getMinClusterSize() == 30
    np.testing.assert_array_equal(loaded.stages[1].clusterCenters(), one.cluster_centers_)
    labelled = loaded.transform(df).drop("features").toArrow()
    np.testing.assert_array_equal(labelled["prediction"], one.labels_)


def test_vectors_must_have_one_length(session):
    from meanshiftpp.engines.spark import estimator as spark

    df = session.createDataFrame([([1.0, 2.0],), ([1.0],)], "features array<double>").coalesce(1)
    with pytest.raises(InvalidInputError, match="partition 0, row 2 has 1 numbers"):
        spark.MeanShiftPP(bandwidth=1.0).fit(df)
    df = session.createDataFrame([([1.0, 2.0],), (None,)], "features array<double>").coalesce(1)
    with pytest.raises(InvalidInputError, match="partition 0, row 2 has no vector"):
        spark.MeanShiftPP(bandwidth=1.0).fit(df)
    with pytest.raises(InvalidInputError, match="partition 0, row 2 has no vector"):
        spark.MeanShiftPP().fit(df)


def test_vectors_need_no_bandwidth(session):
    from pyspark.ml.feature import VectorAssembler

    from meanshiftpp.engines.spark import estimator as spark

    df = session.createDataFrame(table())
    vectors = VectorAssembler(inputCols=NAMES, outputCol="features").transform(df)
    assert spark.MeanShiftPP().fit(vectors).grid == spark.fit(df, NAMES).grid


@pytest.mark.parametrize("fan_in", [16, 2])  # grids meet on the driver, or in a task
def test_vectors_must_have_one_length_in_all_partitions(session, monkeypatch, fan_in):
    from meanshiftpp.engines.spark import estimator as spark

    monkeypatch.setattr(spark, "FAN_IN", fan_in)
    vector = "if(id = 3, array(1D), array(1D, 2D)) as features"
    df = session.range(0, 4, 1, 4).selectExpr(vector)
    words = r"partition [0-3] has (1|2) features, others have (1|2)"
    with pytest.raises(InvalidInputError, match=words):
        spark.MeanShiftPP(bandwidth=1.0).fit(df)


def test_vectors_must_have_one_length_in_all_of_a_partition(session):
    from meanshiftpp.engines.spark import estimator as spark
    from meanshiftpp.engines.spark import tasks as _spark

    together = -(-_spark.ROWS // 10_000) * 10_000  # rows, in batches of Spark's size
    vector = f"if(id < {together}, array(1D, 2D), array(1D)) as features"
    df = session.range(0, together + 10, 1, 1).selectExpr(vector)
    with pytest.raises(InvalidInputError, match="partition 0 has 1 features, others have 2"):
        spark.MeanShiftPP(bandwidth=1.0).fit(df)


@pytest.mark.parametrize("fan_in", [16, 3])
def test_a_cell_that_gets_too_full_is_refused(session, monkeypatch, fan_in):
    from meanshiftpp.engines.spark import estimator as spark

    monkeypatch.setattr(spark, "FAN_IN", fan_in)  # three grids are more than wait to be merged
    df = session.range(0, 9, 1, 9).selectExpr("0.5D as x", "2147483648 as w")
    with pytest.raises(InvalidInputError, match="would have a cell of weight"):
        spark.fit(df, ["x"], 1.0, weight="w")


def test_what_cannot_be_clustered_is_refused(session):
    from meanshiftpp.engines.spark import estimator as spark

    df = session.createDataFrame([(1.0, "a")], "x double, name string")
    for columns, bandwidth, words in [
        (["name"], 1.0, "'name' holds string, not numbers"),
        (["q"], 1.0, "no column 'q'"),
        ([], 1.0, "at least one column"),
        (["x"], -1.0, "positive"),
        (["x"], [1.0, 2.0], "one number or 1"),
    ]:
        with pytest.raises(InvalidInputError, match=words):
            spark.fit(df, columns, bandwidth)
    with pytest.raises(InvalidInputError, match="not vectors"):
        spark.MeanShiftPP(featuresCol="x", bandwidth=1.0).fit(df)
    with pytest.raises(InvalidInputError, match="at least one row"):
        spark.fit(df.where("x > 1"), ["x"], 1.0)
    with pytest.warns(ConvergenceWarning, match="maxIter"):
        spark.fit(session.createDataFrame(table()), NAMES, 0.5, max_iter=1)


def test_the_docstrings_run(session):
    from meanshiftpp.engines.spark import estimator as spark

    report = []
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    for test in doctest.DocTestFinder().find(spark):
        runner.run(test, out=report.append)
    assert runner.tries
    assert not runner.failures, "".join(report)


def test_the_page_about_scale_runs(session, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"^```python\n(.*?)^```$", SCALE.read_text("utf-8"), re.M | re.S)
    assert blocks
    exec("\n".join(blocks), {"__name__": "scale"})


def test_without_pyspark_it_says_what_to_install(monkeypatch):
    monkeypatch.delitem(sys.modules, "meanshiftpp.engines.spark.estimator", raising=False)
    monkeypatch.setitem(sys.modules, "pyspark", None)
    with pytest.raises(MissingExtraError, match=r'pip install "meanshiftpp\[spark\]"'):
        importlib.import_module("meanshiftpp.engines.spark.estimator")
