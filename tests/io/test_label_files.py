"""Labels as files: in every format, written whole or not at all."""

from __future__ import annotations

import threading

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from tests.io.table_files import TOWNS, as_table, read, write, zeros

from meanshiftpp._support.files import atomic_path
from meanshiftpp.errors import FileAccessError, InvalidInputError
from meanshiftpp.stream import check_output, open_points, write_labels


@pytest.mark.parametrize("suffix", [".parquet", ".csv", ".npy"])
def test_labels_can_be_an_array_in_the_order_of_the_points(tmp_path, X, suffix, small_chunks):
    source = open_points(write(tmp_path / "a.csv", as_table(X)))
    labels = np.arange(len(X), dtype=np.int32)[::-1]
    out = tmp_path / f"o{suffix}"
    write_labels(out, source, labels)
    assert np.array_equal(np.load(out) if suffix == ".npy" else read(out)["label"], labels)


@pytest.mark.parametrize("n_labels", [0, 999, 12_344, 12_346, 20_000])
def test_a_wrong_number_of_labels_is_an_error_with_both_counts(tmp_path, X, n_labels, small_chunks):
    source = open_points(write(tmp_path / "a.parquet", as_table(X)))
    message = f"must be an array of 12345 labels, one per point of the source, got {n_labels}"
    for name in ("o.parquet", "o.npy"):
        with pytest.raises(InvalidInputError, match=message) as caught:
            write_labels(tmp_path / name, source, np.zeros(n_labels, np.int32))
        assert (caught.value.parameter, caught.value.got) == ("labels", n_labels)
    assert [p.name for p in tmp_path.iterdir()] == ["a.parquet"]


@pytest.mark.parametrize("labels", [np.zeros(3), np.zeros((3, 1), np.int32), ["a", "b", "c"]])
def test_labels_of_the_wrong_type_are_an_error(tmp_path, labels):
    with pytest.raises(InvalidInputError, match="a function or a 1-D array of int32, got"):
        write_labels(tmp_path / "o.csv", open_points(write(tmp_path / "a.csv")), labels)
    assert not (tmp_path / "o.csv").exists()


def test_an_existing_label_column_is_kept(tmp_path):
    path = write(tmp_path / "t.parquet", pa.table({"label": [1.5], "label_2": ["x"]}))
    assert write_labels(tmp_path / "o.csv", open_points(path), lambda _: np.int32([7])) == "label_3"
    assert (tmp_path / "o.csv").read_text().splitlines()[1] == '1.5,"x",7'


def test_parquet_keeps_its_compression(tmp_path):
    for codec in ("ZSTD", "NONE", "SNAPPY"):
        pa.parquet.write_table(TOWNS, tmp_path / "a.parquet", compression=codec)
        write_labels(tmp_path / "o.parquet", open_points(tmp_path / "a.parquet"), zeros)
        written = pa.parquet.ParquetFile(tmp_path / "o.parquet").metadata.row_group(0)
        assert written.column(3).compression == codec.replace("NONE", "UNCOMPRESSED")


def test_a_column_that_the_format_cannot_hold_is_an_error_and_leaves_no_file(tmp_path):
    nested = pa.table({"x": [1.0], "tags": [["a", "b"]]})
    source = open_points(write(tmp_path / "nested.parquet", nested))
    message = r"o.csv' cannot be written: column 'tags' holds list<.*>, which a .csv cannot hold"
    with pytest.raises(InvalidInputError, match=message):
        check_output(tmp_path / "o.csv", source)
    check_output(tmp_path / "o.parquet", source)
    with pytest.raises(InvalidInputError, match=message):
        write_labels(tmp_path / "o.csv", source, zeros)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["nested.parquet"]


def test_big_endian_arrays_can_be_written(tmp_path):
    np.save(tmp_path / "a.npy", np.array([[1.5]], ">f8"))
    write_labels(tmp_path / "o.csv", open_points(tmp_path / "a.npy"), zeros)
    assert (tmp_path / "o.csv").read_text().splitlines()[1] == "1.5,0"


def test_an_error_while_labelling_leaves_the_old_file(tmp_path, X, small_chunks):
    path = write(tmp_path / "a.parquet", as_table(X))
    (tmp_path / "o.parquet").write_text("old")
    calls = []

    def fail(points: np.ndarray) -> np.ndarray:
        calls.append(len(points))
        if len(calls) == 5:
            raise RuntimeError("failed")
        return zeros(points)

    with pytest.raises(RuntimeError, match="failed") as caught:
        write_labels(tmp_path / "o.parquet", open_points(path), fail)
    assert caught.tb  # keeps the frames alive: reader threads must end anyway
    assert "meanshiftpp reader" not in [thread.name for thread in threading.enumerate()]
    assert (tmp_path / "o.parquet").read_text() == "old"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.parquet", "o.parquet"]


def test_a_link_keeps_its_target(tmp_path):
    (tmp_path / "link.txt").symlink_to(tmp_path / "real.txt")
    with atomic_path(tmp_path / "link.txt") as target:
        target.write_text("new")
    assert (tmp_path / "link.txt").is_symlink()
    assert (tmp_path / "real.txt").read_text() == "new"


def test_check_output_reports_outputs_that_cannot_be_written(tmp_path):
    check_output(tmp_path / "o.csv")
    assert not list(tmp_path.iterdir())
    with pytest.raises(FileAccessError, match=r"the folder '.*gone' does not exist"):
        check_output(tmp_path / "gone" / "o.csv")
    (tmp_path / "f.npy").mkdir()
    with pytest.raises(FileAccessError, match="it is a folder"):
        check_output(tmp_path / "f.npy")
    with pytest.raises(FileAccessError, match="cannot write"):
        check_output("/proc/o.csv")
    source = open_points(write(tmp_path / "a.csv"))
    with pytest.raises(FileAccessError, match="is an input and would be overwritten"):
        check_output(tmp_path / "a.csv", source)
    with pytest.raises(InvalidInputError, match=r"must end in .parquet, .csv, .arrow, .feather or"):
        check_output(tmp_path / "o.tif", source)


def test_a_read_only_file_is_not_replaced(tmp_path):
    """The mode decides, also for root."""
    out = tmp_path / "o.csv"
    out.write_text("old")
    out.chmod(0o444)
    for attempt in (lambda: check_output(out), lambda: atomic_path(out).__enter__()):
        with pytest.raises(FileAccessError, match=r"o.csv': it exists and is read-only; name"):
            attempt()
    assert out.read_text() == "old"
    assert [*tmp_path.iterdir()] == [out]
    out.chmod(0o644)
    check_output(out)


@pytest.mark.parametrize("suffix", [".npy", ".csv"])
@pytest.mark.parametrize("labels", [np.zeros(3, np.int32), np.zeros((10, 1), np.int32), None])
def test_a_function_that_returns_other_than_one_label_per_point_raises(tmp_path, suffix, labels):
    np.save(tmp_path / "points.npy", np.zeros((10, 2)))
    output = tmp_path / f"labels{suffix}"
    with pytest.raises(InvalidInputError, match="one label per point, 10 for"):
        write_labels(output, open_points(tmp_path / "points.npy"), lambda _: labels)
    assert not output.exists()
