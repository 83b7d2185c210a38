"""Conditions on rows: the same clusters as those of the selected points alone."""

from __future__ import annotations

from datetime import date

import numpy as np
import pytest
from tests.helpers import fit_labels

from meanshiftpp import seek
from meanshiftpp.errors import GridMismatchError, InvalidInputError
from meanshiftpp.io.selection import Condition, Where
from meanshiftpp.io.tables.column_kinds import Kind, kinds_of_columns
from meanshiftpp.stream import build_grid, open_points, write_labels

BANDWIDTH = 0.8


def table(X: np.ndarray) -> np.ndarray:
    """Return a table with three features and the columns kind, a whole number, and w."""
    kind = np.arange(len(X)) % 5
    return np.column_stack([X, kind, 1 + kind % 2])


def write_table(path, rows: np.ndarray) -> None:
    pa = pytest.importorskip("pyarrow")
    columns = {name: rows[:, j] for j, name in enumerate(["x", "y", "z"])}
    names = np.array(["oak", "New York", "fir and pine", "", "elm"])[rows[:, 3].astype(int)]
    columns |= {"kind": rows[:, 3].astype(np.int64), "w": rows[:, 4], "name": names}
    save_table(path, pa.table(columns))


def save_table(path, data) -> None:
    if path.suffix == ".csv":
        pytest.importorskip("pyarrow.csv").write_csv(data, path)
    else:
        pytest.importorskip("pyarrow.parquet").write_table(data, path)


CONDITIONS = {
    "kind != 2": lambda rows: rows[:, 3] != 2,
    "kind>=1 and kind < 3.5 AND x > -1e1": lambda r: np.isin(r[:, 3], [1, 2, 3]) & (r[:, 0] > -10),
    "z <= 0.25": lambda rows: rows[:, 2] <= 0.25,
    "name == 'New York'": lambda rows: rows[:, 3] == 1,
    'name != "fir and pine" and kind = 2': lambda rows: np.zeros(len(rows), bool),
    'name = "fir and pine" and kind = 2': lambda rows: rows[:, 3] == 2,
}  # fmt: skip


@pytest.mark.parametrize("suffix", [".parquet", ".csv"])
@pytest.mark.parametrize("where", CONDITIONS)
def test_rows_of_tables(tmp_path, small_chunks, X, suffix, where):
    rows, path = table(X), tmp_path / f"a{suffix}"
    write_table(path, rows)
    inside = CONDITIONS[where](rows)
    source = open_points(path, ["x", "y", "z"], where=where)
    if not inside.any():
        with pytest.raises(InvalidInputError, match="has no rows with name"):
            source.read()
        return
    assert (source.read() == X[inside]).all()
    modes, labels = fit_labels(X[inside], BANDWIDTH)
    grid = build_grid(source, BANDWIDTH)
    assert grid == modes.grid
    assert source.count_points() == inside.sum() == len(source.sample(10**6))
    write_labels(tmp_path / f"out{suffix}", source, seek(grid).label)
    write_labels(tmp_path / "out.npy", source, labels)
    expected = np.full(len(X), -1)
    expected[inside] = labels
    assert (np.load(tmp_path / "out.npy") == expected).all()
    written = open_points(tmp_path / f"out{suffix}", ["kind", "label"]).read()
    assert (written == np.column_stack([rows[:, 3], expected])).all()


def test_arrays_clouds_and_weights(tmp_path, small_chunks, X):
    laspy = pytest.importorskip("laspy")
    rows = table(X)
    np.save(tmp_path / "a.npy", rows)
    cloud = laspy.create(point_format=0)
    cloud.header.scales = [1e-6] * 3
    cloud.x, cloud.y, cloud.z = X.T
    cloud.classification = rows[:, 3].astype(np.uint8)
    cloud.intensity = rows[:, 4].astype(np.uint16)
    cloud.write(tmp_path / "a.laz")
    inside = rows[:, 3] != 2
    for name, columns, where, weight in [
        ("a.npy", ["x0", "x1"], "x3 != 2", "x4"),
        ("a.laz", ["x", "y"], "classification != 2", "intensity"),
    ]:
        source = open_points(tmp_path / name, columns, where=where, weight=weight)
        points, weights = source.read_weighted()
        assert points == pytest.approx(X[inside][:, :2], abs=1e-6)
        assert (weights == rows[inside, 4]).all()
        assert build_grid(source, 1.0).total == rows[inside, 4].sum()
    labels = np.arange(inside.sum(), dtype=np.int32)
    write_labels(tmp_path / "out.laz", source, labels)
    found = np.asarray(laspy.read(tmp_path / "out.laz").label)
    assert (found[inside] == labels).all()
    assert (found[~inside] == -1).all()
    write_labels(tmp_path / "out.parquet", source, labels)
    out = open_points(tmp_path / "out.parquet").read()
    assert out[:, :2] == pytest.approx(X[:, :2], abs=1e-6)
    assert (out[:, 2] == found).all()


def test_missing_values_and_conditions(tmp_path, X):
    rows = table(X)
    rows[7, 0] = rows[8, 3] = np.nan  # of a feature, and of a condition
    np.save(tmp_path / "a.npy", rows)
    inside = (rows[:, 3] > 0) & np.isfinite(rows[:, 0])
    for missing, n in (("label", len(X)), ("drop", inside.sum())):
        source = open_points(tmp_path / "a.npy", ["x0", "x1"], where="x3 > 0", missing=missing)
        assert (source.read() == rows[inside, :2]).all()
        write_labels(tmp_path / "out.parquet", source, np.zeros(inside.sum(), np.int32))
        assert len(open_points(tmp_path / "out.parquet").read()) == n


@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz", "a.parquet", "dictionary", "large"])
def test_missing_texts_satisfy_no_condition(tmp_path, name):
    pa = pytest.importorskip("pyarrow")
    texts = pa.array(["oak", None, "elm", "", "oak"])
    path = tmp_path / (name if "." in name else "a.parquet")
    if "csv" in name:
        with pa.output_stream(str(path)) as file:  # compresses because of the suffix
            file.write(b'x,kind\n0,oak\n1,\n2,elm\n3,""\n4,oak\n')
    else:
        kinds = {"dictionary": texts.dictionary_encode(), "large": texts.cast(pa.large_string())}
        data = pa.table({"x": range(5), "kind": kinds.get(name, texts)})
        pytest.importorskip("pyarrow.parquet").write_table(data, path)
    empty = [] if "csv" in name else [3]  # a .csv has no empty texts
    for where, expected in [
        ("kind == 'oak'", [0, 4]),
        ("kind != 'oak'", [2, *empty]),
        ("kind <= 'elm'", [2, *empty]),
        ("kind > 'elm'", [0, 4]),
    ]:
        assert open_points(path, ["x"], where=where).read().ravel().tolist() == expected


def test_kinds_of_columns_are_those_of_the_selected_rows(tmp_path):
    lines = [f"{'a' if i % 2 else 'b'},{i % 2},{i % 2 * 9 + i // 50},{i / 7}" for i in range(100)]
    (tmp_path / "a.csv").write_text("group,flag,n,x\n" + "\n".join(lines) + "\n")
    for where, expected in [
        ("group == 'a'", {"flag": Kind.constant}),
        ("flag == 0", {"flag": Kind.constant, "n": Kind.flag}),
        ("x >= 0", {"flag": Kind.flag}),
    ]:
        assert kinds_of_columns(open_points(tmp_path / "a.csv", where=where)) == expected


def test_a_column_that_is_read_for_several_reasons_counts_once(tmp_path, X):
    write_table(tmp_path / "a.parquet", table(X))
    source = open_points(tmp_path / "a.parquet", ["x", "y", "w"])
    for where in ("x > 0", "w > 0"):
        both = open_points(tmp_path / "a.parquet", ["x", "y"], weight="w", where=where)
        assert both.nbytes == source.nbytes


def test_pixels(tmp_path):
    rasterio = pytest.importorskip("rasterio")
    values = np.arange(24, dtype=np.uint8).reshape(2, 3, 4)
    place = {"crs": "EPSG:32633", "transform": rasterio.Affine(10, 0, 0, 0, -10, 0)}
    with rasterio.open(
        tmp_path / "a.tif", "w", "GTiff", 4, 3, 2, dtype="uint8", nodata=5, **place
    ) as file:
        file.write(values)
    source = open_points(tmp_path / "a.tif", ["band1"], where="band2 >= 14")
    assert source.read().ravel().tolist() == [2, 3, 4, 6, 7, 8, 9, 10, 11]
    write_labels(tmp_path / "out.tif", source, np.arange(9, dtype=np.int32))
    with rasterio.open(tmp_path / "out.tif") as file:
        assert file.read(1).ravel().tolist() == [-1, -1, 0, 1, 2, -1, *range(3, 9)]


def test_errors_name_the_row_of_the_file(tmp_path):
    np.save(tmp_path / "a.npy", np.array([[0.0, 1], [0, 2], [np.inf, 3]]))
    source = open_points(tmp_path / "a.npy", ["x0"], where="x1 > 1.5")
    with pytest.raises(InvalidInputError, match=r"a\.npy, row 3, column 'x0' is inf"):
        build_grid(source, 1)


def test_a_checkpoint_of_other_rows_is_an_error(tmp_path, X):
    np.save(tmp_path / "a.npy", X)
    build_grid(open_points(tmp_path / "a.npy", where="x0 > 0"), 1, checkpoint=tmp_path / "c")
    with pytest.raises(GridMismatchError, match="other weights or uses other rows"):
        build_grid(open_points(tmp_path / "a.npy"), 1, checkpoint=tmp_path / "c")


@pytest.mark.parametrize(
    "where",
    [
        "",
        "x0",
        "x0 >",
        "> 3",
        "x0 > b",
        "x0 > 1 or x1 > b",
        "f(x0) == g()",
        3,
        "x0 in 3",
        "name == 'Oslo",
        'name == "Oslo',
        "name == Oslo'",
        "name == '",
        "a == 'b\"",
    ],
)
def test_other_texts_are_errors(tmp_path, where):
    np.save(tmp_path / "a.npy", np.zeros((3, 2)))
    with pytest.raises(InvalidInputError, match="where must be comparisons of a column"):
        open_points(tmp_path / "a.npy", where=where)


def test_columns_that_do_not_exist_or_hold_another_type(tmp_path, X):
    write_table(tmp_path / "a.parquet", table(X))
    np.save(tmp_path / "a.npy", X)
    pa = pytest.importorskip("pyarrow")
    types = pa.table({"x": [1.0], "day": [date(2024, 1, 31)], "flag": [True]})
    pytest.importorskip("pyarrow.parquet").write_table(types, tmp_path / "types.parquet")
    for name, where, expected in [
        ("a.npy", "q > 3", "has no column 'q'"),
        ("a.npy", "x0 == 'a'", "only tables have columns of text"),
        ("a.parquet", "q > 3", "has no column 'q'"),
        ("a.parquet", "q == 'a'", "has no column 'q'"),
        ("a.parquet", "name > 3", "column 'name' holds"),
        ("a.parquet", "kind == 'a'", "a number to compare with column 'kind'"),
        ("types.parquet", "day == '2024-01-31'", r"a column of text.*'day' holds date32"),
        ("types.parquet", "flag == 'yes'", "true or false to compare with column 'flag'"),
    ]:
        with pytest.raises(InvalidInputError, match=expected):
            open_points(tmp_path / name, where=where)


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_flags_are_compared_with_true_and_false(tmp_path, suffix):
    pa = pytest.importorskip("pyarrow")
    flags = [True, False, None, True]
    rows = pa.table({"x": [1.0, 2.0, 3.0, 4.0], "flag": flags})
    save_table(tmp_path / f"flags{suffix}", rows)
    for where, expected in [
        ("flag == true", [1.0, 4.0]),
        ("flag != 'true'", [2.0]),
        ("flag = FALSE", [2.0]),
    ]:
        points = open_points(tmp_path / f"flags{suffix}", ["x"], where=where).read()
        assert points.ravel().tolist() == expected


def test_parsing():
    parsed = Where("a b!=-2.5e3 and town = 'x and y'  AND  z>=.5").conditions
    assert parsed == [
        Condition("a b", "!=", -2500.0),
        Condition("town", "=", "x and y"),
        Condition("z", ">=", 0.5),
    ]


@pytest.mark.parametrize("comparison", ["<=", ">=", "=="])
@pytest.mark.parametrize("columns", [["f"], ["f", "g"], ["g"], ["g", "k"]])
def test_the_type_of_a_column_does_not_depend_on_other_columns(tmp_path, columns, comparison):
    pa = pytest.importorskip("pyarrow")
    tenths = np.full(50, 0.1, np.float32)
    data = pa.table({"f": tenths, "g": np.arange(50.0), "k": np.arange(50)})
    save_table(tmp_path / "a.parquet", data)
    source = open_points(tmp_path / "a.parquet", columns, where=f"f {comparison} 0.1")
    assert len(source.read()) == 50


def test_the_type_of_a_dimension_of_a_cloud(tmp_path):
    laspy = pytest.importorskip("laspy")
    cloud = laspy.create(point_format=3)
    cloud.add_extra_dim(laspy.ExtraBytesParams("f", np.float32))
    cloud.x = cloud.y = cloud.z = np.arange(50.0)
    cloud.f = np.full(50, 0.1, np.float32)
    cloud.write(tmp_path / "a.las")
    assert len(open_points(tmp_path / "a.las", where="f <= 0.1").read()) == 50
    assert len(open_points(tmp_path / "a.las", where="x <= 0.1 and red = 0").read()) == 1


def test_a_number_beyond_the_type_of_a_column_is_not_rounded(tmp_path):
    np.save(tmp_path / "a.npy", np.array([[1.0], [np.inf]], np.float32))
    assert len(open_points(tmp_path / "a.npy", where="x0 < 1e300").read()) == 1
