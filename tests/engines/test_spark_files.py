"""Spark: data frames of plain Parquet files are read by the tasks, with the same rows."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.engines.spark_data import NEEDS_SPARK

from meanshiftpp import Grid
from meanshiftpp.errors import InvalidInputError

pytestmark = NEEDS_SPARK

NAMES = ["x", "y", "n"]
rng = np.random.default_rng(4)
X = rng.normal(size=(3000, 3)) + rng.integers(0, 3, (3000, 1)) * 6
X[:, 1] = X[:, 1].astype(np.float32)
X[:, 2] = np.round(X[:, 2])


def table(points=X, **more):
    x, y, n = points.T
    columns = {"x": x, "y": y.astype(np.float32), "n": n.astype(np.int16)}
    name = [f"row {k}" for k in range(len(points))]
    weight = np.arange(len(points)) % 4
    return pa.table({**columns, "name": name, "w": weight, "v": weight / 3, **more})


@pytest.fixture
def folder(tmp_path):
    """Write three files with several row groups, one of them empty."""
    for number, rows in enumerate([slice(0, 1700), slice(1700, 1700), slice(1700, 3000)]):
        pq.write_table(table()[rows], tmp_path / f"{number}.parquet", row_group_size=400)
    return tmp_path


@pytest.fixture
def files():
    from meanshiftpp.engines.spark import files

    return files


@pytest.fixture
def reads(monkeypatch, spark):
    """Count the fits whose tasks read files."""
    counted = []

    def counting(points):
        counted.append(original(points))
        return counted[-1]

    original = spark.find_scan
    monkeypatch.setattr(spark, "find_scan", counting)
    return counted


def points_of(df):
    """Return the points as Spark reads them."""
    return np.column_stack([df.toArrow()[name].to_numpy() for name in NAMES])


PLAIN = {
    "all columns": lambda df: df,
    "some columns": lambda df: df.select("n", "y", "x"),
    "renamed": lambda df: df.withColumnRenamed("x", "t").select("y", "n", "t").toDF("y", "n", "x"),
    "alias": lambda df: df.alias("a").select("a.x", "a.y", "a.n"),
    "dropped": lambda df: df.drop("name", "v"),
}


@pytest.mark.parametrize("plan", PLAIN.values(), ids=PLAIN)
@pytest.mark.parametrize("task_bytes", [1, 1 << 23])
def test_plain_files_are_read_by_the_tasks(
    session, spark, files, folder, reads, monkeypatch, plan, task_bytes
):
    monkeypatch.setattr(files, "MIN_TASK_BYTES", task_bytes)
    monkeypatch.setattr(files, "TASKS_PER_CORE", 20)  # more tasks than row groups
    model = spark.fit(plan(session.read.parquet(str(folder))), NAMES, [0.5, 0.75, 1.0])
    assert model.grid == Grid.from_points(X, [0.5, 0.75, 1.0])
    (scan,) = reads
    assert len(scan.tasks) > spark.FAN_IN if task_bytes == 1 else len(scan.tasks) == 1
    paths = {part.path for task in scan.tasks for part in task}
    assert paths == {str(folder / f"{number}.parquet") for number in range(3)}


def test_whole_weights_and_partitioned_folders(session, spark, tmp_path, reads):
    path = str(tmp_path / "a b")
    df = session.createDataFrame(table(part=np.arange(len(X)) % 3))
    df.write.partitionBy("part").parquet(path)
    df = session.read.parquet(path)
    model = spark.fit(df, NAMES, 0.5, weight="w")
    assert model.grid == Grid.from_points(X, 0.5, sample_weight=np.arange(len(X)) % 4)
    assert reads[0] is not None
    spark.fit(df, ["x", "part"], 0.5)  # the files do not have the column `part`
    assert reads[1] is None


def test_files_that_are_named_twice_are_read_twice(session, spark, folder, reads):
    df = session.read.parquet(str(folder / "0.parquet"), str(folder / "0.parquet"))
    grid = spark.fit(df, NAMES, 0.5).grid
    assert grid == Grid.from_points(points_of(df), 0.5)
    assert grid.total == df.count() == 3400
    assert reads[0] is not None


OTHER_PLANS = {
    "filter": lambda df: df.where("x > 1"),
    "limit": lambda df: df.limit(1000),
    "computed": lambda df: df.withColumn("x", df.x + 1),
    "cast": lambda df: df.withColumn("y", df.y.cast("double")),
    "union": lambda df: df.union(df),
    "distinct": lambda df: df.distinct(),
    "missing": lambda df: df.dropna(),
    "join": lambda df: df.join(df.select("name").limit(500), "name"),
    "offset": lambda df: df.offset(2000),
    "group": lambda df: df.groupBy("n").agg({"x": "min", "y": "max"}).toDF("n", "x", "y"),
    "exploded": lambda df: df.selectExpr("x", "y", "explode(array(n, n)) as n"),
}


@pytest.mark.parametrize("plan", OTHER_PLANS.values(), ids=OTHER_PLANS)
def test_other_plans_are_left_to_spark(session, spark, folder, reads, plan):
    df = plan(session.read.parquet(str(folder)))
    assert spark.fit(df, NAMES, 0.5).grid == Grid.from_points(points_of(df), 0.5)
    assert reads == [None]


def test_cached_rows_are_not_read_from_files_that_have_changed(session, spark, folder, reads):
    df = session.read.parquet(str(folder))
    df.count()
    df = df.cache()
    df.count()
    try:
        pq.write_table(table(X[:5]), folder / "0.parquet")
        assert spark.fit(df, NAMES, 0.5).grid == Grid.from_points(X, 0.5)
        assert reads == [None]
    finally:
        df.unpersist()


def test_other_formats_types_and_columns_are_left_to_spark(session, spark, folder, reads):
    df = session.read.parquet(str(folder))
    df.select(*NAMES).write.orc(str(folder / "orc"))
    orc = session.read.orc(str(folder / "orc"))
    decimal = df.withColumn("n", df.n.cast("decimal(9, 1)")).select(*NAMES)
    decimal.write.parquet(str(folder / "decimal"))
    decimals = session.read.parquet(str(folder / "decimal"))
    for frame in (orc, decimals):
        assert spark.fit(frame, NAMES, 0.5).grid == Grid.from_points(X, 0.5)
    weighted = spark.fit(df, NAMES, 0.5, weight="v")  # real weights are rounded by partition
    assert weighted.grid.total == pytest.approx((np.arange(len(X)) % 4 / 3).sum())
    assert reads == [None, None, None]


def test_files_of_several_types_are_left_to_spark(session, spark, tmp_path, reads):
    """Only the tasks see the types in each file, so the fit is repeated by Spark."""
    pq.write_table(table(X[:1000]), tmp_path / "0.parquet")
    narrow = table(X[1000:]).cast(table().schema.set(0, pa.field("x", pa.float32())))
    pq.write_table(narrow, tmp_path / "1.parquet")
    df = session.read.schema("x double, y float, n smallint").parquet(str(tmp_path))
    assert spark.fit(df, NAMES, 0.5).grid == Grid.from_points(points_of(df), 0.5)
    assert reads[0] is not None


def test_file_that_lacks_a_column_is_left_to_spark(session, spark, tmp_path, reads):
    pq.write_table(table(X[:10]), tmp_path / "0.parquet")
    pq.write_table(table(X[10:]).drop_columns("y"), tmp_path / "1.parquet")
    df = session.read.schema("x double, y float, n smallint").parquet(str(tmp_path))
    with pytest.raises(InvalidInputError, match=r"^partition \d, row \d+, column 'y' is NaN"):
        spark.fit(df, NAMES, 0.5)
    assert reads[0] is not None


def test_error_names_the_file(session, spark, folder):
    points = X[1700:].copy()
    points[902, 1] = np.nan
    pq.write_table(table(points), folder / "2.parquet", row_group_size=400)
    place = rf"^{folder}/2.parquet, row 903, column 'y' is NaN"
    with pytest.raises(InvalidInputError, match=place):
        spark.fit(session.read.parquet(str(folder)), NAMES, 0.5)


def test_files_without_rows_raise(session, spark, tmp_path):
    pq.write_table(table()[:0], tmp_path / "0.parquet")
    with pytest.raises(InvalidInputError, match="at least one row of positive weight"):
        spark.fit(session.read.parquet(str(tmp_path)), NAMES, 0.5)


# -- without Spark ---------------------------------------------------------------------------------


def chunks_of(path, n_parts, **changes):
    from meanshiftpp.engines.spark.files import Column
    from meanshiftpp.engines.spark.tasks import Part, _file_chunks

    kinds = {"x": "float64", "y": "float32", "n": "int16", **changes}
    columns = [Column(name, kind, name) for name, kind in kinds.items()]
    for number in range(n_parts):
        part = Part(str(path), Path(path).stat().st_size, number, n_parts)
        yield from _file_chunks(part, columns, tuple(kinds), 1)


@pytest.mark.parametrize("n_parts", [1, 2, 3, 5, 9])
def test_parts_of_a_file_are_all_its_rows(folder, n_parts):
    chunks = list(chunks_of(folder / "0.parquet", n_parts))
    np.testing.assert_array_equal(np.concatenate([chunk.points for chunk in chunks]), X[:1700])
    starts = np.cumsum([0, *(len(chunk) for chunk in chunks)])[:-1]
    assert [chunk.first for chunk in chunks] == starts.tolist()


def test_files_that_are_not_as_expected_raise(folder, tmp_path):
    from meanshiftpp.engines.spark.tasks import OtherFileError, Part, _file_chunks

    path = folder / "0.parquet"
    with pytest.raises(OtherFileError, match="has changed"):
        list(_file_chunks(Part(str(path), 5, 0, 1), [], (), 1))
    with pytest.raises(OtherFileError, match="cannot be read"):
        list(_file_chunks(Part(str(folder / "gone.parquet"), 5, 0, 1), [], (), 1))
    for change in ({"x": "float32"}, {"missing": "float32"}, {"X": "float64"}):
        with pytest.raises(OtherFileError, match="other columns"):
            list(chunks_of(path, 1, **change))
    both = tmp_path / "both.parquet"
    pq.write_table(table(X=X[:, 0]), both)
    with pytest.raises(OtherFileError, match="other columns"):
        list(chunks_of(both, 1))
    damaged = tmp_path / "damaged.parquet"
    damaged.write_bytes(path.read_bytes()[:-8] + b"01234567")
    with pytest.raises(OtherFileError, match="cannot be read"):
        list(chunks_of(damaged, 1))
