"""Spark: grid or tree, clusters and labels are bit-identical to those of one process."""

import doctest
import importlib
import inspect
import os
import re
import signal
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from tests.engines.spark_data import NAMES, NEEDS_SPARK, X, rng, table

import meanshiftpp
from meanshiftpp.errors import GridMismatchError, InvalidInputError, MissingExtraError

pytestmark = NEEDS_SPARK
SCALE = Path(__file__).parents[2] / "docs" / "scale.md"


def test_two_tasks_at_a_time_give_the_result_of_one_process(session, spark, monkeypatch):
    monkeypatch.setattr(spark, "FAN_IN", 2)  # 10 partitions make a tree of several levels
    df = session.createDataFrame(table(row=np.arange(len(X)))).repartition(5)
    more = df.where("row < 0").union(df)  # five partitions more, without rows
    model = spark.fit(more, NAMES, [1.0, 0.5, 2.0], min_cluster_size=30)
    one = meanshiftpp.MeanShiftPP([1.0, 0.5, 2.0], min_cluster_size=30).fit(X)
    assert model.grid == one.grid_
    np.testing.assert_array_equal(model.clusterCenters(), one.cluster_centers_)
    np.testing.assert_array_equal(model.clusterWeights(), one.cluster_weights_)
    labelled = model.transform(df).toArrow().sort_by("row")
    assert labelled.column_names == [*df.columns, "label"]
    np.testing.assert_array_equal(labelled["label"], one.labels_)


def test_killed_task_does_not_change_the_result(session, spark, tmp_path):
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


OPTIONS = [
    {"resolution": 3},
    {"periodic": [11.0, None, 13]},
    {"periodic": 12.5},
    {
        "resolution": 2,
        "periodic": [40.0, None, None],
        "min_cluster_size": 30,
        "cluster_all": False,
        "tol": 0.01,
        "max_iter": 200,
    },
]


@pytest.mark.parametrize("bandwidth", [[0.8, 1.1, 1.0], None], ids=str)
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_every_option_gives_the_result_of_one_process(session, spark, options, bandwidth):
    df = session.createDataFrame(table(row=np.arange(len(X)))).repartition(3)
    model = spark.fit(df, NAMES, bandwidth, **options)
    one = meanshiftpp.MeanShiftPP(bandwidth, **options).fit(X)
    if bandwidth is not None:
        assert model.grid == one.grid_
    else:
        assert model.tree.splits == one.tree_.splits
    np.testing.assert_array_equal(model.clusterCenters(), one.cluster_centers_)
    np.testing.assert_array_equal(model.clusterWeights(), one.cluster_weights_)
    labelled = model.transform(df).toArrow().sort_by("row")
    np.testing.assert_array_equal(labelled["label"], one.labels_)


@pytest.mark.parametrize("bandwidth", [None, 1.0])
def test_new_rows_are_labelled_as_in_one_process(session, spark, bandwidth):
    options = {"resolution": 2, "periodic": [12.5, None, 40.0], "cluster_all": False}
    new = np.random.default_rng(1).uniform(-30, 30, (500, 3))
    new[:, 2] = np.round(new[:, 2])
    model = spark.fit(session.createDataFrame(table()), NAMES, bandwidth, **options)
    one = meanshiftpp.MeanShiftPP(bandwidth, **options).fit(X)
    labelled = model.transform(session.createDataFrame(table(new))).toArrow()
    expected = one.predict(new)
    np.testing.assert_array_equal(labelled["label"], expected)
    assert (expected == -1).any()


def test_parameters_are_those_of_the_estimator(spark):
    expected = set(inspect.signature(meanshiftpp.MeanShiftPP).parameters) - {"n_jobs"}
    assert expected <= set(inspect.signature(spark.fit).parameters)
    names = {"max_iter": "maxIter", "min_cluster_size": "minClusterSize"}
    names["cluster_all"] = "clusterAll"
    for name in expected:
        assert hasattr(spark.MeanShiftPP, names.get(name, name))


def test_bad_value_raises_with_partition_row_and_column(session, spark):
    names = ["x", "a.b", "n"]  # Spark would read the dot as the field b of a struct
    for column, name in enumerate(names[1:], 1):
        points = X.copy()
        points[4, column] = np.nan
        df = session.createDataFrame(table(points).rename_columns(names)).coalesce(1)
        place = f"partition 0, row 5, column '{re.escape(name)}' is NaN"
        with pytest.raises(InvalidInputError, match=f"^{place}") as caught:
            spark.fit(df, names, 1.0)
        assert type(caught.value) is InvalidInputError
        assert (caught.value.row, caught.value.column) == (4, column)
        assert caught.value.problem == "is NaN: every coordinate must be a finite number"


@pytest.mark.parametrize("action", ["collect", "write"])
def test_error_of_lazy_transform_is_the_last_line_of_an_exception_of_spark(
    session, spark, tmp_path, action
):
    from pyspark.errors import PythonException

    points = X.copy()
    points[4, 1] = np.nan
    model = spark.fit(session.createDataFrame(table()), NAMES, 1.0)
    df = session.createDataFrame(table(points)).coalesce(1)
    labelled = model.transform(df)  # returns before Spark reads a row
    with pytest.raises(PythonException) as caught:
        labelled.collect() if action == "collect" else labelled.write.parquet(f"{tmp_path}/out")
    assert str(caught.value).rstrip().splitlines()[-1] == (
        "meanshiftpp.errors.InvalidInputError: partition 0, row 5, column 'y' is NaN: "
        "every coordinate must be a finite number"
    )


@pytest.mark.parametrize("fan_in", [16, 2])  # grids are added on the driver, or in tasks
def test_first_error_of_several_tasks_keeps_its_attributes(session, spark, monkeypatch, fan_in):
    monkeypatch.setattr(spark, "FAN_IN", fan_in)
    bad = "if(id in (25, 37), double('NaN'), id) as y"
    df = session.range(0, 40, 1, 4).selectExpr("1D as x", bad)  # 10 rows in each partition
    with pytest.raises(InvalidInputError, match=r"^partition 2, row 6, column 'y' is") as caught:
        spark.fit(df, ["x", "y"], 1.0)
    assert (caught.value.row, caught.value.column) == (5, 1)


def test_bad_parameter_for_vectors_keeps_its_attributes(session, spark):
    """The length of vectors is known in the tasks only, where the parameters are checked."""
    df = session.createDataFrame([([1.0, 2.0],)], "features array<double>")
    with pytest.raises(InvalidInputError, match="bandwidth must be one number or 2") as caught:
        spark.MeanShiftPP(bandwidth=[1.0, 2.0, 3.0]).fit(df)
    assert caught.value.parameter == "bandwidth"
    assert caught.value.got == [1.0, 2.0, 3.0]
    with pytest.raises(InvalidInputError) as caught:
        spark.MeanShiftPP(bandwidth=1.0, resolution=0).fit(df)
    assert (caught.value.parameter, caught.value.got) == ("resolution", 0)


def test_weights_of_grids(session, spark):
    weight = rng.integers(0, 4, len(X))
    df = session.createDataFrame(table(w=weight))
    model = spark.fit(df, NAMES, 1.0, weight="w")
    assert model.grid == meanshiftpp.Grid.from_points(X, 1.0, sample_weight=weight)
    weightless = session.createDataFrame(table(w=np.zeros(len(X))))
    for bandwidth in (1.0, None):
        with pytest.raises(InvalidInputError, match="at least one row of positive weight"):
            spark.fit(weightless, NAMES, bandwidth, weight="w")


@pytest.mark.parametrize(
    "options",
    [{}, {"resolution": 2, "periodic": [12.5, None, 40.0]}, {"periodic": 12.5}],
    ids=str,
)
def test_pipeline_of_vectors_is_saved_and_loaded(session, spark, tmp_path, options):
    from pyspark.ml import Pipeline, PipelineModel
    from pyspark.ml.feature import VectorAssembler

    df = session.createDataFrame(table())
    vectors = VectorAssembler(inputCols=NAMES, outputCol="features")
    estimator = spark.MeanShiftPP(bandwidth=1.0, minClusterSize=30, **options)
    estimator.save(str(tmp_path / "estimator"))
    estimator = spark.MeanShiftPP.load(str(tmp_path / "estimator"))
    Pipeline(stages=[vectors, estimator]).fit(df).save(str(tmp_path / "model"))
    loaded = PipelineModel.load(str(tmp_path / "model"))
    model = loaded.stages[1]
    one = meanshiftpp.MeanShiftPP(1.0, min_cluster_size=30, **options).fit(X)
    assert model.grid == one.grid_
    assert model.getMinClusterSize() == 30
    assert model.getResolution() == model.modes.resolution == options.get("resolution", 1)
    assert model.getPeriodic() == estimator.getPeriodic()
    np.testing.assert_array_equal(model.clusterCenters(), one.cluster_centers_)
    labelled = loaded.transform(df).drop("features").toArrow()
    np.testing.assert_array_equal(labelled["prediction"], one.labels_)


def test_a_column_of_the_data_is_not_overwritten(session, spark):
    df = session.createDataFrame(table(label=np.arange(len(X))))
    model = spark.fit(df, NAMES, 0.9)
    with pytest.raises(InvalidInputError, match="predictionCol must be a new column, got 'label'"):
        model.transform(df)
    labelled = model.copy({model.predictionCol: "cluster"}).transform(df)
    assert labelled.columns == [*df.columns, "cluster"]


def test_model_of_columns_is_saved_and_loaded(session, spark, tmp_path):
    df = session.createDataFrame(table())
    options = {"resolution": 3, "periodic": [None, 11.0, None], "tol": 0.01, "max_iter": 99}
    model = spark.fit(df, NAMES, [0.8, 1.1, 1.0], **options)
    model.save(str(tmp_path / "model"))
    loaded = spark.MeanShiftPPModel.load(str(tmp_path / "model"))
    assert loaded.grid == model.grid
    assert loaded.extractParamMap() == {
        getattr(loaded, param.name): value for param, value in model.extractParamMap().items()
    }
    expected, labels = (each.transform(df).toArrow()["label"] for each in (model, loaded))
    np.testing.assert_array_equal(labels, expected)


def test_vectors_of_several_lengths_raise(session, spark):
    df = session.createDataFrame([([1.0, 2.0],), ([1.0],)], "features array<double>").coalesce(1)
    with pytest.raises(InvalidInputError, match="partition 0, row 2 has 1 numbers"):
        spark.MeanShiftPP(bandwidth=1.0).fit(df)
    df = session.createDataFrame([([1.0, 2.0],), (None,)], "features array<double>").coalesce(1)
    with pytest.raises(InvalidInputError, match="partition 0, row 2 has no vector"):
        spark.MeanShiftPP(bandwidth=1.0).fit(df)
    with pytest.raises(InvalidInputError, match="partition 0, row 2 has no vector"):
        spark.MeanShiftPP().fit(df)


@pytest.mark.parametrize("bandwidth", [{}, {"bandwidth": 1.0}], ids=str)
@pytest.mark.parametrize("fan_in", [16, 2])  # results are added on the driver, or in tasks
def test_vectors_of_several_lengths_in_several_partitions_raise(
    session, spark, monkeypatch, fan_in, bandwidth
):
    monkeypatch.setattr(spark, "FAN_IN", fan_in)
    vector = "if(id = 3, array(1D), array(1D, 2D)) as features"
    df = session.range(0, 4, 1, 4).selectExpr(vector)
    message = r"partition [0-3] has (1 feature|2 features), but (1|2) were expected"
    with pytest.raises(GridMismatchError, match=message):
        spark.MeanShiftPP(**bandwidth).fit(df)


@pytest.mark.parametrize("bandwidth", [{}, {"bandwidth": 1.0}], ids=str)
def test_vectors_of_several_lengths_in_several_batches_raise(session, spark, bandwidth):
    from meanshiftpp.engines.spark import tasks

    first_batch = -(-tasks.ROWS // 10_000) * 10_000  # rows, in batches of Spark's size
    vector = f"if(id < {first_batch}, array(1D, 2D), array(1D)) as features"
    df = session.range(0, first_batch + 10, 1, 1).selectExpr(vector)
    with pytest.raises(GridMismatchError, match="partition 0 has 1 feature, but 2 were expected"):
        spark.MeanShiftPP(**bandwidth).fit(df)


@pytest.mark.parametrize("fan_in", [16, 3])
def test_cell_that_becomes_too_heavy_raises(session, spark, monkeypatch, fan_in):
    monkeypatch.setattr(spark, "FAN_IN", fan_in)  # three grids are merged in a task
    df = session.range(0, 9, 1, 9).selectExpr("0.5D as x", "2147483648 as w")
    with pytest.raises(InvalidInputError, match="would have a cell of weight"):
        spark.fit(df, ["x"], 1.0, weight="w")


def test_bad_input_raises(session, spark):
    df = session.createDataFrame([(1.0, "a")], "x double, name string")
    for columns, bandwidth, message in [
        (["name"], 1.0, "'name' holds string, not numbers"),
        (["q"], 1.0, "no column 'q'"),
        ([], 1.0, "at least one column"),
        (["x"], -1.0, "positive"),
        (["x"], [1.0, 2.0], "one number, got"),
    ]:
        with pytest.raises(InvalidInputError, match=message):
            spark.fit(df, columns, bandwidth)
    with pytest.raises(InvalidInputError, match="not vectors"):
        spark.MeanShiftPP(featuresCol="x", bandwidth=1.0).fit(df)
    with pytest.raises(InvalidInputError, match="at least one row"):
        spark.fit(df.where("x > 1"), ["x"], 1.0)


def test_search_that_reaches_max_iter_warns_once(session, spark, tmp_path, recwarn):
    with pytest.warns(ConvergenceWarning, match="after 1 step; raise maxIter: 168 steps"):
        model = spark.fit(session.createDataFrame(table()), NAMES, 0.5, max_iter=1)
    model.save(str(tmp_path / "model"))
    recwarn.clear()
    loaded = spark.MeanShiftPPModel.load(str(tmp_path / "model"))
    assert not loaded.modes.converged
    assert not [each for each in recwarn if each.category is ConvergenceWarning]


def test_examples_of_docstrings_run(session, spark):
    report = []
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    for test in doctest.DocTestFinder().find(spark):
        runner.run(test, out=report.append)
    assert runner.tries
    assert not runner.failures, "".join(report)


def test_examples_of_the_page_about_scale_run(session, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"^```python\n(.*?)^```$", SCALE.read_text("utf-8"), re.M | re.S)
    assert blocks
    exec("\n".join(blocks), {"__name__": "scale"})


def test_missing_pyspark_raises_with_the_install_command(monkeypatch):
    monkeypatch.delitem(sys.modules, "meanshiftpp.engines.spark.estimator", raising=False)
    monkeypatch.setitem(sys.modules, "pyspark", None)
    with pytest.raises(MissingExtraError, match=r'pip install "meanshiftpp\[spark\]"'):
        importlib.import_module("meanshiftpp.engines.spark.estimator")


def test_one_period_in_a_list_is_not_applied_to_two_columns(session):
    from meanshiftpp import spark

    df = session.createDataFrame(table())
    with pytest.raises(InvalidInputError, match="periodic must be None or"):
        spark.fit(df, NAMES, 0.5, periodic=[24.0])


def test_a_cluster_size_below_1_raises(session):
    from meanshiftpp import spark

    with pytest.raises(InvalidInputError, match="minClusterSize must be a number of at least 1"):
        spark.fit(session.createDataFrame(table()), NAMES, 0.5, min_cluster_size=0)
