"""The tasks of the Spark engine, called without Spark: results, and errors as rows."""

from __future__ import annotations

import pickle

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from meanshiftpp import Grid, seek
from meanshiftpp.core.chunk import Chunk
from meanshiftpp.core.recipe import Recipe
from meanshiftpp.core.tree.significant import Significant
from meanshiftpp.engines.spark import tasks
from meanshiftpp.engines.spark.files import Column
from meanshiftpp.errors import GridMismatchError, InvalidInputError

NAMES = ("x", "y")
X = np.random.default_rng(0).normal(size=(1000, 2))
WEIGHT = np.arange(1000) % 3
RECIPE = Recipe(bandwidth=0.5)
TREE = Significant()


@pytest.fixture(autouse=True)
def context(monkeypatch):
    """Run as the task of partition 7, with one core, in calls of few rows."""
    monkeypatch.setattr(tasks, "_task_context", lambda: (7, 1))
    monkeypatch.setattr(tasks, "ROWS", 250)


def table(points=X, **columns):
    return pa.table({**dict(zip(NAMES, points.T)), **columns})


def vectors(rows):
    return pa.table({"features": pa.array(rows, pa.list_(pa.float64()))})


def run(task, data, rows=100):
    """Return the results of a task for a table in batches."""
    return list(task(iter(data.to_batches(max_chunksize=rows))))


def total_of(results):
    (row,) = [row for result in results for row in result.to_pylist()]
    assert (row["part"], row["error"]) == (7, None)
    return pickle.loads(row["total"])


def error_of(results):
    (row,) = [row for result in results for row in result.to_pylist()]
    assert (row["part"], row["total"]) == (7, None)
    return pickle.loads(row["error"])


# -- binning ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("rows", [1, 100, 1000])
def test_the_grid_of_a_partition_is_that_of_its_points(rows):
    task = tasks.bin_task(RECIPE, NAMES)
    assert total_of(run(task, table(), rows)) == Grid.from_points(X, 0.5)
    assert total_of(run(task, vectors(X.tolist()), rows)) == Grid.from_points(X, 0.5)


def test_a_column_of_weights_is_not_a_feature():
    found = total_of(run(tasks.bin_task(RECIPE, NAMES), table(**{tasks.WEIGHT: WEIGHT})))
    assert found == Grid.from_points(X, 0.5, sample_weight=WEIGHT)


@pytest.mark.parametrize("rows", [100, 1000])
def test_the_tally_of_a_partition_has_the_tree_of_its_points(rows):
    task = tasks.bin_task(TREE, NAMES)
    for data, weight in [
        (table(), None),
        (vectors(X.tolist()), None),
        (table(**{tasks.WEIGHT: WEIGHT}), WEIGHT),
    ]:
        assert_tree_of(total_of(run(task, data, rows)), weight)


def assert_tree_of(tally, weight=None):
    recipe = TREE.checked(2)
    clusters, expected = recipe.search(tally), recipe.fit(X, weight)
    assert clusters.tree.splits == expected.clusters.tree.splits
    np.testing.assert_array_equal(clusters.label(X), expected.labels)


@pytest.mark.parametrize("recipe", [RECIPE, TREE], ids=["grid", "tally"])
@pytest.mark.parametrize("empty", [table(X[:0]), vectors([])])
def test_a_partition_without_rows_has_no_result(empty, recipe):
    batches = [pa.RecordBatch.from_pylist([], empty.schema)]
    assert list(tasks.bin_task(recipe, NAMES)(iter(batches))) == []
    assert list(tasks.bin_task(recipe, NAMES)(iter([]))) == []


@pytest.mark.parametrize("recipe", [RECIPE, TREE], ids=["grid", "tally"])
def test_a_bad_value_is_a_row_with_its_place(recipe):
    bad = X.copy()
    bad[612, 1] = np.nan
    error = error_of(run(tasks.bin_task(recipe, NAMES), table(bad)))
    assert isinstance(error, InvalidInputError)
    assert str(error).startswith("partition 7, row 613, column 'y' is NaN")


@pytest.mark.parametrize(
    ("rows", "place"),
    [
        ([[1.0, 2.0], [3.0]], "row 2 has 1 numbers"),
        ([[1.0, 2.0], None], "row 2 has no vector"),
        ([None, [1.0, 2.0]], "row 1 has no vector"),
        ([[], []], "row 1 has 0 numbers"),
    ],
)
def test_vectors_must_have_one_length(rows, place):
    error = error_of(run(tasks.bin_task(RECIPE, NAMES), vectors(rows)))
    assert str(error) == (
        f"partition 7, {place}; every row must hold a vector of the same length, at least 1"
    )


# -- files -----------------------------------------------------------------------------------------

COLUMNS = [Column("x", "double", "x"), Column("y", "double", "y")]


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "a.parquet"
    pq.write_table(table(), path, row_group_size=90)
    return path


def bin_file(path, n_parts=1, columns=COLUMNS, size=None):
    size = path.stat().st_size if size is None else size
    parts = [[tasks.Part(str(path), size, k, n_parts)] for k in range(n_parts)]
    task = tasks.bin_files_task(RECIPE, columns, parts, NAMES)
    return [list(task(iter([pa.RecordBatch.from_pydict({"id": [k]})]))) for k in range(n_parts)]


@pytest.mark.parametrize("n_parts", [1, 3, 40])
def test_parts_of_a_file_have_all_its_rows_once(file, n_parts):
    grids = [total_of(result) for result in bin_file(file, n_parts) if result]
    assert sum(grids, Grid.empty(0.5, 2)) == Grid.from_points(X, 0.5)


def test_a_bad_value_of_a_file_has_its_row_there(tmp_path):
    bad, path = X.copy(), tmp_path / "a.parquet"
    bad[612, 1] = np.inf
    pq.write_table(table(bad), path, row_group_size=90)
    errors = [error_of(result) for result in bin_file(path, 3) if result[0]["error"][0].is_valid]
    assert [str(error).partition(" is ")[0] for error in errors] == [f"{path}, row 613, column 'y'"]


@pytest.mark.parametrize(
    "columns",
    [
        [Column("x", "double", "x"), Column("z", "double", "z")],
        [Column("x", "float", "x"), Column("y", "double", "y")],
        [Column("X", "double", "x"), Column("y", "double", "y")],
    ],
)
def test_a_file_with_other_columns_is_left_to_spark(file, columns):
    (error,) = map(error_of, bin_file(file, columns=columns))
    assert isinstance(error, tasks.OtherFileError)
    assert str(error) == f"{file} has other columns than the data frame"


def test_a_changed_or_damaged_file_is_left_to_spark(file):
    (error,) = map(error_of, bin_file(file, size=5))
    assert str(error) == f"{file} has changed"
    file.write_bytes(b"x" * 1000)
    (error,) = map(error_of, bin_file(file))
    assert isinstance(error, tasks.OtherFileError)
    assert str(error).startswith(f"{file} cannot be read: ")


# -- adding and labelling --------------------------------------------------------------------------


def test_grids_of_partitions_are_added():
    halves = [Grid.from_points(half, 0.5) for half in (X[:300], X[300:])]
    batches = [tasks._row(part, grid) for part, grid in zip((7, 9), halves)]
    assert total_of(list(tasks.add_task(iter(batches)))) == Grid.from_points(X, 0.5)
    assert list(tasks.add_task(iter([]))) == []


def test_tallies_of_partitions_are_added():
    recipe = TREE.checked(2)
    halves = [recipe.bin(Chunk(half)) for half in (X[:300], X[300:])]
    batches = [tasks._row(part, half) for part, half in zip((7, 9), halves)]
    assert_tree_of(total_of(list(tasks.add_task(iter(batches)))))
    other = TREE.checked(1).bin(Chunk(X[:, :1]))
    rows = [tasks._row(7, halves[0]), tasks._row(9, other)]
    error = error_of(list(tasks.add_task(iter(rows))))
    assert str(error) == "partition 9 has 1 feature, but 2 were expected"


def test_a_result_that_is_too_large_for_spark_is_an_error(monkeypatch):
    monkeypatch.setattr(tasks, "MAX_BYTES", 10_000)
    error = error_of(run(tasks.bin_task(TREE, NAMES), table()))
    assert isinstance(error, InvalidInputError)
    assert "but Spark's values have at most 10,000; set a bandwidth" in str(error)
    assert len(total_of(run(tasks.bin_task(TREE, NAMES), table(X[:100])))) == 100


def test_the_error_of_the_lowest_partition_is_kept():
    grid, other = Grid.from_points(X, 0.5), Grid.from_points(X, 0.25)
    errors = [tasks._row(part, error=InvalidInputError(f"of {part}")) for part in (9, 3, 5)]
    rows = [tasks._row(7, grid), *errors, tasks._row(8, grid)]
    assert str(error_of(list(tasks.add_task(iter(rows))))) == "of 3"
    rows = [tasks._row(7, grid), tasks._row(8, other)]
    assert isinstance(error_of(list(tasks.add_task(iter(rows)))), GridMismatchError)


@pytest.mark.parametrize("rows", [1, 400, 1000])
def test_rows_get_the_labels_of_their_points(rows):
    modes = seek(Grid.from_points(X, 0.5))
    task = tasks.label_task(modes.label, NAMES)
    structs = [batch.to_struct_array() for batch in table().to_batches(max_chunksize=rows)]
    lists = [batch.column(0) for batch in vectors(X.tolist()).to_batches(max_chunksize=rows)]
    for arrays in (structs, lists):
        labels = np.concatenate([part.to_numpy() for part in task(iter(arrays))])
        assert np.array_equal(labels, modes.label(X))


def test_a_bad_row_to_label_raises_with_its_place():
    task = tasks.label_task(seek(Grid.from_points(X[:, :1], 0.5)).label, ("x",))
    with pytest.raises(InvalidInputError, match="partition 7, row 2, column 'x' is NaN"):
        list(task(iter([pa.array([1.0, np.nan])])))
