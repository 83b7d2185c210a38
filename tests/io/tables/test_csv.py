"""CSV files, plain and compressed: columns have no types, and broken files are errors."""

from __future__ import annotations

import datetime
import gzip

import numpy as np
import pyarrow as pa
import pytest
from tests.io.table_files import read, write, zeros

from meanshiftpp import Grid
from meanshiftpp.errors import InvalidInputError
from meanshiftpp.io.tables import formats
from meanshiftpp.stream import build_grid, check_output, open_points, write_labels


def test_a_csv_column_with_a_late_real_number_is_real(tmp_path, small_chunks):
    path = tmp_path / "late.csv"
    path.write_text("x,t\n" + "1234567,3\n" * 20_000 + "0.5,south\n" + "2,4\n" * 20_000)
    source = open_points(path, ["x"])
    points = source.read()
    assert points.shape == (40_001, 1)
    assert points[20_000, 0] == 0.5
    write_labels(tmp_path / "o.parquet", source, zeros)
    back = read(tmp_path / "o.parquet")
    assert back.schema.field("x").type == pa.float64()
    assert back["t"][19_999:20_002].to_pylist() == ["3", "south", "4"]
    # The types are known before the first row is written, although that needs a whole pass.
    assert write_labels(tmp_path / "p.parquet", open_points(path, ["x"]), zeros) == "label"
    assert read(tmp_path / "p.parquet").equals(back)


def test_columns_that_are_not_features_are_written_unchanged(tmp_path, small_chunks):
    path, rest = tmp_path / "in.csv", "7,5,True,2020-01-01 10:00:00,1.50,,south"
    lines = [f"{rest},1.5"] * 2000
    lines[1] = "8,12345678901234567890123,False,2021-01-01,-2,NA,h\xf6he,2.5"
    lines[1999] = "00123,7,True,2020-01-01,1.0,3,x,3.5"  # long after the first block
    path.write_text("\n".join(["zip,id,on,at,r,gap,t,x", *lines]), encoding="latin-1")
    source = open_points(path, ["x"])
    for _ in range(2):
        write_labels(tmp_path / "o.csv", source, zeros)
        text = (tmp_path / "o.csv").read_text(encoding="latin-1")
        assert text.split("\n")[1:] == [f"{line},0" for line in lines]
        # A format with types keeps them if no information is lost.
        write_labels(tmp_path / "o.parquet", source, zeros)
        back = read(tmp_path / "o.parquet")
        assert back["zip"].to_pylist()[-3:] == ["7", "7", "00123"]
        assert back["id"][1].as_py() == "12345678901234567890123"
        kinds = {name: str(back.schema.field(name).type) for name in ("on", "r", "gap", "x")}
        assert kinds == {"on": "bool", "r": "double", "gap": "double", "x": "double"}
        assert back["gap"].null_count == 1999


def test_all_csv_files_read_the_same_columns_as_text(tmp_path):
    (tmp_path / "a.csv").write_text("zip,n,x\n7,1,1.5\n")
    (tmp_path / "b.csv").write_text("zip,n,x\n007,2,1.5\n")
    source = open_points([tmp_path / "a.csv", tmp_path / "b.csv"], ["x"])
    write_labels(tmp_path / "o.parquet", source, zeros)
    back = read(tmp_path / "o.parquet").to_pydict()
    assert (back["zip"], back["n"]) == (["7", "007"], [1, 2])
    write(tmp_path / "c.parquet", pa.table({"zip": [7], "n": [3], "x": [1.5]}))
    mixed = open_points([tmp_path / "c.parquet", tmp_path / "a.csv"], ["x"])
    write_labels(tmp_path / "o.csv", mixed, zeros)
    assert (tmp_path / "o.csv").read_text().splitlines()[1:] == ["7,3,1.5,0", "7,1,1.5,0"]


def test_integers_are_not_rounded_because_of_a_late_real_number(tmp_path, small_chunks):
    path = tmp_path / "late.csv"
    path.write_text("x\n1\n9007199254740993\n" + "12\n" * 20_000 + "0.5\n")
    with pytest.raises(InvalidInputError, match=r"late.csv, row 2, column 'x' is 90071992547409"):
        open_points(path).read()
    with pytest.raises(InvalidInputError, match=r"late.csv, row 2, column 'x' is 90071992547409"):
        build_grid(open_points(path), 1)


def test_text_among_numbers_is_an_error(tmp_path, small_chunks):
    path = tmp_path / "text.csv"
    path.write_text("x\n" + "12\n" * 20_000 + "tall\n")
    with pytest.raises(InvalidInputError, match=r"text.csv, row 20001, column 'x' is 'tall'"):
        build_grid(open_points(path), 1)


def test_column_that_begins_empty_is_a_feature(tmp_path):
    """Types come from a small block, but a column without values in it needs a larger one."""
    path = tmp_path / "sparse.csv"
    path.write_text("x,y,z\n" + "12.5,,0.25\n" * 150_000 + "1,2.5,3\n")
    assert path.stat().st_size > 1.5 * formats._CSV_HEAD_BLOCK
    assert open_points(path).columns == ("x", "y", "z")
    with pytest.raises(InvalidInputError, match=r"sparse.csv, row 1, column 'y' is NaN"):
        build_grid(open_points(path), 1)


@pytest.mark.parametrize("row", [1, 2, 50_002])
def test_one_value_that_is_not_a_number_is_an_error_and_no_column_is_lost(tmp_path, row):
    path = tmp_path / "bad.csv"
    lines = ["A,0.5,2,3"] * 50_001
    lines.insert(row - 1, "C,oops,2,3")
    path.write_text("\n".join(["town,x,y,z", *lines]))
    problem = f"bad.csv, row {row}, column 'x' is 'oops', not a number; correct it, or select"
    for columns in (None, ["x", "y"]):
        with pytest.raises(InvalidInputError, match=problem):
            open_points(path, columns)
    source = open_points(path, ["y", "z"])
    assert source.left_out == {}  # the caller chose columns
    assert len(source.read()) == 50_002


def test_columns_of_text_are_left_out_and_listed(tmp_path):
    path = tmp_path / "late.csv"
    path.write_text("town,x,note\nA,1,\n" + "B,0.5,7 or 8\n" * 50 + "C,,\n")
    source = open_points(path)
    assert source.columns == ("x",)
    assert source.left_out == {"town": "'A' in row 1", "note": "'7 or 8' in row 2"}
    with pytest.raises(InvalidInputError, match=r"late.csv, row 1, column 'town' is 'A', not a nu"):
        open_points(path, ["town", "x"])
    table = pa.table({"name": ["A"], "x": [1.5], "on": [datetime.date(2020, 1, 1)]})
    for suffix in (".parquet", ".arrow"):
        source = open_points(write(tmp_path / f"t{suffix}", table))
        assert source.left_out == {"name": "string", "on": "date32[day]"}


def test_columns_must_be_distinct_and_not_empty(tmp_path):
    np.save(tmp_path / "a.npy", np.zeros((3, 2)))
    for path, name in ((write(tmp_path / "t.csv"), "x"), (tmp_path / "a.npy", "x1")):
        with pytest.raises(
            InvalidInputError, match=f"columns must be distinct.*got .{name!r}, {name!r}"
        ):
            open_points(path, [name, name])
        with pytest.raises(InvalidInputError, match=r"distinct names, at least one, .*got \[\]"):
            open_points(path, [])


BROKEN = {
    "empty": (b"", "is not a .csv table"),
    "only names": (b"x,y\n", "t.csv' has no rows"),
    "only names, no end": (b"x,y", "t.csv' has no rows"),
    "semicolons": (b"x;y\n1;2\n", r"t.csv' must separate .* commas, .* use ';': .* 'x;y'"),
    "decimal commas": (b"x;y\n1,5;2,5\n", "must separate its columns with commas, .* use ';'"),
    "tabs": (b"x\ty\n1\t2\n", r"use '\\t': it begins with 'x\\ty'"),
    "only names, tabs": (b"x\ty\n", r"use '\\t': "),
    "uneven": (b"x,y\n1,2\n3\n", "is not a .csv table"),
    "no numbers": (b"x,y\na,b\n", "no column of numbers, only 'x', 'y'"),
    "no names": (b"1.5,2\n3,4\n", "must name its columns in the first line, got '1.5', '2'"),
    "binary": (b"\x00\xff\xfe" * 9, "is not a .csv table|has no"),
}


@pytest.mark.parametrize(("content", "message"), BROKEN.values(), ids=BROKEN)
def test_a_broken_csv_is_an_error(tmp_path, content, message):
    (tmp_path / "t.csv").write_bytes(content)
    with pytest.raises(InvalidInputError, match=message):
        open_points(tmp_path / "t.csv").read()


def test_a_column_name_may_contain_a_separator(tmp_path):
    (tmp_path / "a.csv").write_text("speed; max\n1.5\n")
    (tmp_path / "b.csv").write_text("a|b,c\n1.5,2\n")
    assert open_points(tmp_path / "a.csv").columns == ("speed; max",)
    assert open_points(tmp_path / "b.csv").columns == ("a|b", "c")


def test_a_compressed_csv_is_read_directly(tmp_path, X, small_chunks):
    table = pa.table({f"c{k}": X[:, k] for k in range(3)})
    plain = write(tmp_path / "p.csv", table)
    packed = tmp_path / "p.CSV.gz"
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    source = open_points(packed)
    assert source.columns == ("c0", "c1", "c2")
    assert np.array_equal(source.read(), X)
    assert build_grid(open_points([plain, packed]), 0.5) == Grid.from_points(np.r_[X, X], 0.5)
    column = write_labels(tmp_path / "o.parquet", source, zeros)
    assert read(tmp_path / "o.parquet").num_rows == len(X)
    assert column == "label"
    with pytest.raises(InvalidInputError, match="must end in"):
        check_output(tmp_path / "o.csv.gz", source)


@pytest.mark.parametrize("cut", [0, 5, 200])
def test_a_broken_compressed_csv_is_an_error(tmp_path, cut):
    whole = gzip.compress(b"x,y\n" + b"1.25,2\n" * 9999)
    (tmp_path / "t.csv.gz").write_bytes(whole[: len(whole) - cut] if cut else b"x,y\n1,2\n")
    with pytest.raises(InvalidInputError, match=r"t\.csv\.gz' is not a \.csv\.gz table"):
        open_points(tmp_path / "t.csv.gz").read()


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_utf_16_is_named_in_the_error(tmp_path, encoding):
    text = "\ufeffx,y\n1.5,2\n2.5,3\n"
    (tmp_path / "t.csv").write_bytes(text.encode(encoding))
    with pytest.raises(InvalidInputError, match="must be text in UTF-8, got UTF-16; save it as"):
        open_points(tmp_path / "t.csv")
