"""Weights and missing values of files: the grid and the labels are those of the points alone."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from meanshiftpp import Grid, seek
from meanshiftpp.core.tree.significant import Significant
from meanshiftpp.errors import GridMismatchError, InvalidInputError
from meanshiftpp.io import sources
from meanshiftpp.io.streams import add_points
from meanshiftpp.stream import build_grid, open_points, write_labels

N = 30_000
RNG = np.random.default_rng(5)
POINTS = RNG.normal(size=(N, 2)) + 8 * RNG.integers(0, 2, (N, 1))
MASS = RNG.integers(0, 4, N)
GAPS = RNG.random((N, 2)) < 0.01
COMPLETE = ~GAPS.any(axis=1)


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch):
    monkeypatch.setattr(sources, "CHUNK_BYTES", 1 << 12)


@pytest.fixture(params=[".parquet", ".csv", ".npy"])
def gaps(request, tmp_path):
    file, values = tmp_path / f"gaps{request.param}", np.where(GAPS, np.nan, POINTS)
    if request.param == ".npy":
        np.save(file, values)
        return file
    columns = {"x0": pa.array(values[:, 0], from_pandas=True), "x1": values[:, 1]}
    if request.param == ".parquet":
        pq.write_table(pa.table(columns | {"name": [f"n{i}" for i in range(N)]}), file)
        return file
    rows = [",".join("" if np.isnan(v) else repr(float(v)) for v in row) for row in values]
    file.write_text("x0,x1\n" + "\n".join(rows) + "\n")
    return file


def labels_of(file):
    if file.suffix == ".npy":
        return np.load(file)
    return open_points(file, ["label"]).read()[:, 0]


@pytest.mark.parametrize("missing", ["drop", "label"])
@pytest.mark.parametrize("out", ["o.npy", "o.parquet", "o.csv"])
def test_rows_with_missing_values_are_not_points(gaps, tmp_path, missing, out):
    source = open_points(gaps, ["x0", "x1"], missing=missing)
    grid = build_grid(source, 1.0)
    assert grid == Grid.from_points(POINTS[COMPLETE], 1.0)
    assert np.array_equal(source.read(), POINTS[COMPLETE])
    modes = seek(grid)
    write_labels(tmp_path / out, source, modes.label)
    expected = np.full(N, -1)
    expected[COMPLETE] = modes.label(POINTS[COMPLETE])
    kept = expected[COMPLETE] if missing == "drop" else expected
    assert np.array_equal(labels_of(tmp_path / out), kept)
    write_labels(tmp_path / out, source, modes.label(POINTS[COMPLETE]))
    assert np.array_equal(labels_of(tmp_path / out), kept)
    assert len(source.sample(10**6)) == COMPLETE.sum()


@pytest.mark.parametrize("gaps", [".parquet", ".csv"], indirect=True)
def test_rows_that_stay_keep_their_columns(gaps, tmp_path):
    for missing, rows in ("drop", COMPLETE), ("label", np.ones(N, bool)):
        source = open_points(gaps, ["x1"], missing=missing)
        write_labels(tmp_path / "o.parquet", source, lambda x: np.zeros(len(x), np.int32))
        written = pq.read_table(tmp_path / "o.parquet")
        kept = rows if missing == "label" else ~GAPS[:, 1]
        x0 = written["x0"].to_numpy()
        assert np.array_equal(x0, np.where(GAPS, np.nan, POINTS)[kept, 0], equal_nan=True)


def test_a_missing_value_is_an_error_by_default(gaps):
    with pytest.raises(InvalidInputError, match=r"column 'x.' is NaN"):
        build_grid(open_points(gaps, ["x0", "x1"]), 1.0)


def test_an_infinite_value_is_an_error_at_its_own_row(tmp_path):
    np.save(tmp_path / "a.npy", [[np.nan], [1.0], [np.inf]])
    with pytest.raises(InvalidInputError, match="row 3, column 'x0' is"):
        build_grid(open_points(tmp_path / "a.npy", missing="drop"), 1.0)
    np.save(tmp_path / "b.npy", [[np.nan], [np.nan]])
    with pytest.raises(InvalidInputError, match="has no rows without missing values"):
        open_points(tmp_path / "b.npy", missing="label").read()


@pytest.mark.parametrize("suffix", [".parquet", ".csv", ".npy"])
def test_weights_of_a_column_count_as_repeated_rows(tmp_path, suffix):
    file, expected = tmp_path / f"w{suffix}", np.repeat(POINTS, MASS, axis=0)
    names = ["x", "y", "mass"]
    if suffix == ".npy":
        np.save(file, np.column_stack([POINTS, MASS]))
        names = ["x0", "x1", "x2"]
    elif suffix == ".parquet":
        pq.write_table(pa.table({"mass": MASS, "x": POINTS[:, 0], "y": POINTS[:, 1]}), file)
    else:
        rows = [f"{x!r},{y!r},{m}" for (x, y), m in zip(POINTS.tolist(), MASS, strict=True)]
        file.write_text("x,y,mass\n" + "\n".join(rows) + "\n")
    source = open_points(file, weight=names[2])
    assert source.columns == tuple(names[:2])
    assert build_grid(source, 1.0) == Grid.from_points(expected, 1.0)
    points, weights = source.read_weighted()
    assert np.array_equal(points, POINTS)
    assert np.array_equal(weights, MASS)
    assert np.array_equal(source.sample(10**6), POINTS)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("1,2\n3,-4", "row 2, column 'mass' is -4: a weight must be a finite number of at least 0"),
        ("1,2\n3,", "row 2, column 'mass' is missing: a weight"),
        ("1,2\n3,inf", "row 2, column 'mass' is inf"),
        ("1,a\n3,b", "row 1, column 'mass' is 'a', not a number"),
    ],
)
def test_a_bad_weight_is_reported_with_its_place(tmp_path, rows, message):
    (tmp_path / "w.csv").write_text(f"x,mass\n{rows}\n")
    with pytest.raises(InvalidInputError, match=message):
        build_grid(open_points(tmp_path / "w.csv", weight="mass"), 1.0)


def test_weights_that_are_all_zero_are_an_error(tmp_path):
    (tmp_path / "w.csv").write_text("x,mass\n1,0\n3,0\n")
    source = open_points(tmp_path / "w.csv", weight="mass")
    tally = Significant().checked(1).empty()
    for read in (source.read_weighted, lambda: add_points(source, tally)):
        with pytest.raises(InvalidInputError, match="one positive weight in column 'mass'"):
            read()


def test_a_weight_is_another_column_than_the_features(tmp_path):
    (tmp_path / "w.csv").write_text("x,mass\n1,2\n")
    with pytest.raises(InvalidInputError, match="weight must be a column other than"):
        open_points(tmp_path / "w.csv", ["x", "mass"], weight="mass")
    with pytest.raises(InvalidInputError, match="has no column 'm', only 'x', 'mass'"):
        open_points(tmp_path / "w.csv", weight="m")
    with pytest.raises(InvalidInputError, match="a column of numbers besides that of weights"):
        open_points(tmp_path / "w.csv", weight="x").weighted("mass")
    with pytest.raises(InvalidInputError, match="missing must be 'error' or 'drop' or 'label'"):
        open_points(tmp_path / "w.csv", missing="keep")


def test_a_checkpoint_remembers_weights_and_missing_values(tmp_path):
    np.save(tmp_path / "w.npy", np.column_stack([POINTS, MASS]))
    checkpoint = tmp_path / "c"
    source = open_points(tmp_path / "w.npy", ["x0", "x1"], weight="x2")
    grid = build_grid(source, 1.0, checkpoint=checkpoint)
    assert build_grid(source, 1.0, checkpoint=checkpoint) == grid
    other = open_points(tmp_path / "w.npy", ["x0", "x1"])
    with pytest.raises(GridMismatchError, match="it has other weights or uses other rows"):
        build_grid(other, 1.0, checkpoint=checkpoint)
