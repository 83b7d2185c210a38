"""Files in, labels out: every format, and every way a file can be wrong."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from meanshiftpp.errors import FileAccessError, InvalidInputError
from meanshiftpp.stream import Table, atomic_path, check_output, read_points, write_labels

TOWNS = pa.table({"name": ["A", "B", "C"], "x": [1.5, -2.0, 3.0], "n": [4, 5, 6]})


def write(path: Path, table: pa.Table = TOWNS) -> Path:
    if path.suffix == ".csv":
        pa.csv.write_csv(table, path)
    else:
        pa.parquet.write_table(table, path)
    return path


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_numeric_columns_are_taken_and_the_others_kept(tmp_path, suffix):
    table = read_points(write(tmp_path / f"towns{suffix}"))
    assert table.columns == ("x", "n")
    assert table.points.tolist() == [[1.5, 4], [-2.0, 5], [3.0, 6]]
    assert table.table.column_names == ["name", "x", "n"]


def test_columns_are_taken_in_the_order_asked_for(tmp_path):
    path = write(tmp_path / "towns.parquet")
    assert read_points(path, ["n", "x"]).points[0].tolist() == [4, 1.5]
    assert read_points(path, ["n"]).points.dtype == np.int64


def test_an_array_is_mapped_with_its_type(tmp_path):
    X = np.arange(12, dtype=np.float32).reshape(4, 3)
    np.save(tmp_path / "a.npy", X)
    table = read_points(tmp_path / "a.npy")
    assert isinstance(table.points, np.memmap)
    assert table.points.dtype == np.float32
    assert table.columns == ("x0", "x1", "x2")
    assert read_points(tmp_path / "a.npy", ["x2", "x0"]).points[1].tolist() == [5, 3]


def test_numbers_of_one_width_keep_it_and_others_are_widened(tmp_path):
    narrow = pa.table({"a": pa.array([1.5], pa.float32()), "b": pa.array([2.5], pa.float32())})
    assert read_points(write(tmp_path / "n.parquet", narrow)).points.dtype == np.float32
    exact = pa.table({"a": pa.array(["1.25"]).cast(pa.decimal128(6, 2))})
    assert read_points(write(tmp_path / "d.parquet", exact)).points.tolist() == [[1.25]]


def test_a_column_that_turns_from_integers_to_reals_late_is_real(tmp_path):
    path = tmp_path / "late.csv"
    path.write_text("x\n" + "1234567\n" * 200_000 + "0.5\n")
    points = read_points(path).points
    assert points.dtype == np.float64
    assert points[-1, 0] == 0.5


def test_a_missing_value_is_a_nan_for_the_binning_to_name(tmp_path):
    path = tmp_path / "gap.csv"
    path.write_text("x,y\n1,2\n,4\n")
    assert np.isnan(read_points(path).points[1, 0])


BROKEN = {
    "empty": (b"", "is no .csv table"),
    "only names": (b"x,y\n", "has no rows"),
    "uneven": (b"x,y\n1,2\n3\n", "is no .csv table"),
    "no numbers": (b"x,y\na,b\n", "no column of numbers, only 'x', 'y'"),
    "no names": (b"1.5,2\n3,4\n", "must name its columns, but holds '1.5', '2'"),
    "binary": (b"\x00\xff\xfe" * 9, "is no .csv table|has no"),
}


@pytest.mark.parametrize(("content", "words"), BROKEN.values(), ids=BROKEN)
def test_a_broken_csv_is_refused_in_words(tmp_path, content, words):
    (tmp_path / "t.csv").write_bytes(content)
    with pytest.raises(InvalidInputError, match=words):
        read_points(tmp_path / "t.csv")


@pytest.mark.parametrize("suffix", [".npy", ".parquet"])
@pytest.mark.parametrize("content", [b"", b"PAR1 not really", b"\x93NUMPY\x01\x00"])
def test_a_broken_binary_is_refused_in_words(tmp_path, suffix, content):
    path = tmp_path / f"t{suffix}"
    path.write_bytes(content)
    with pytest.raises(InvalidInputError, match=f"'.*t{suffix}' is no {suffix}"):
        read_points(path)


@pytest.mark.parametrize(
    ("array", "words"),
    [
        (np.zeros(3), r"2-D array of numbers, not float64 of shape \(3,\)"),
        (np.zeros((2, 2, 2)), r"2-D array of numbers, not float64 of shape \(2, 2, 2\)"),
        (np.zeros((2, 2), complex), "2-D array of numbers, not complex128"),
        (np.array([["a", "b"]]), "2-D array of numbers, not <U1"),
        (np.zeros((0, 2)), "has no rows"),
    ],
)
def test_an_array_of_the_wrong_kind_is_refused(tmp_path, array, words):
    np.save(tmp_path / "a.npy", array)
    with pytest.raises(InvalidInputError, match=words):
        read_points(tmp_path / "a.npy")


def test_pickles_are_not_opened(tmp_path):
    np.save(tmp_path / "a.npy", np.array([{}], dtype=object))
    with pytest.raises(InvalidInputError, match=r"is no \.npy array"):
        read_points(tmp_path / "a.npy")


def test_a_wrong_column_names_those_there_are(tmp_path):
    path = write(tmp_path / "towns.csv")
    with pytest.raises(InvalidInputError, match="no column 'z', only 'name', 'x', 'n'"):
        read_points(path, ["x", "z"])
    with pytest.raises(InvalidInputError, match="column 'name' holds string, not numbers"):
        read_points(path, ["name"])
    twice = pa.Table.from_arrays([pa.array([1.0])] * 2, names=["x", "x"])
    with pytest.raises(InvalidInputError, match="2 columns 'x'"):
        read_points(write(tmp_path / "twice.csv", twice), ["x"])


def test_a_file_that_is_not_there_or_not_known(tmp_path):
    with pytest.raises(FileAccessError, match=r"cannot read '.*none\.csv': No such file"):
        read_points(tmp_path / "none.csv")
    with pytest.raises(InvalidInputError, match=r"must end in \.csv, \.parquet or \.npy"):
        read_points(tmp_path / "points.xls")
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(FileAccessError, match="cannot read"):
        read_points(tmp_path / "folder.csv")


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_labels_are_written_beside_the_columns(tmp_path, suffix):
    table = read_points(write(tmp_path / "towns.csv"), ["x"])
    out = tmp_path / f"out{suffix}"
    assert write_labels(out, table, np.array([0, -1, 0], np.int32)) == "label"
    back = pa.csv.read_csv(out) if suffix == ".csv" else pa.parquet.read_table(out)
    assert back.column_names == ["name", "x", "n", "label"]
    assert back["label"].to_pylist() == [0, -1, 0]


def test_a_label_column_that_is_there_is_left_alone(tmp_path):
    table = Table(np.zeros((1, 2)), ("label", "label_2"))
    assert write_labels(tmp_path / "o.csv", table, np.array([7])) == "label_3"
    assert (tmp_path / "o.csv").read_text().splitlines()[1] == "0,0,7"


def test_labels_alone_go_to_npy(tmp_path):
    labels = np.array([2, 0, 1], np.int32)
    assert write_labels(tmp_path / "o.npy", Table(np.zeros((3, 1)), ("x0",)), labels) is None
    assert np.array_equal(np.load(tmp_path / "o.npy"), labels)


def test_what_a_format_cannot_hold_is_said_and_nothing_left(tmp_path):
    nested = pa.table({"x": [1.0], "tags": [["a", "b"]]})
    table = read_points(write(tmp_path / "nested.parquet", nested))
    with pytest.raises(InvalidInputError, match="cannot write"):
        write_labels(tmp_path / "o.csv", table, np.array([0]))
    assert sorted(p.name for p in tmp_path.iterdir()) == ["nested.parquet"]


def test_big_endian_arrays_are_written_like_others(tmp_path):
    table = Table(np.array([[1.5]], ">f8"), ("x",))
    write_labels(tmp_path / "o.csv", table, np.array([0]))
    assert (tmp_path / "o.csv").read_text().splitlines()[1] == "1.5,0"


def test_a_failure_while_writing_leaves_the_old_file(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old")

    def fail() -> None:
        with atomic_path(path) as target:
            target.write_text("half")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_link_keeps_pointing_where_it_did(tmp_path):
    (tmp_path / "link.txt").symlink_to(tmp_path / "real.txt")
    with atomic_path(tmp_path / "link.txt") as target:
        target.write_text("new")
    assert (tmp_path / "link.txt").is_symlink()
    assert (tmp_path / "real.txt").read_text() == "new"


def test_an_output_that_cannot_be_is_found_out_before(tmp_path):
    check_output(tmp_path / "o.csv")
    assert not list(tmp_path.iterdir())
    with pytest.raises(FileAccessError, match=r"no folder '.*gone'"):
        check_output(tmp_path / "gone" / "o.csv")
    (tmp_path / "f.npy").mkdir()
    with pytest.raises(FileAccessError, match="it is a folder"):
        check_output(tmp_path / "f.npy")
    with pytest.raises(InvalidInputError, match=r"must end in \.png or \.svg"):
        check_output(tmp_path / "o.csv", (".png", ".svg"))
    with pytest.raises(FileAccessError, match="cannot write"):
        check_output("/proc/o.csv")
