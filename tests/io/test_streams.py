"""Files in chunks: every format, labels as output, checkpoints, and invalid files."""

from __future__ import annotations

import datetime
import gzip
import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import pytest
from tests.helpers import fit_labels

from meanshiftpp import Grid, seek
from meanshiftpp._support.files import atomic_path
from meanshiftpp.errors import (
    FileAccessError,
    GridFileError,
    GridMismatchError,
    InvalidInputError,
    MissingExtraError,
)
from meanshiftpp.io import table_formats
from meanshiftpp.io.checkpoint import Checkpoint
from meanshiftpp.io.streams import build_grid, check_output, open_points, write_labels

TOWNS = pa.table({"name": ["A", "B", "C"], "x": [1.5, -2.0, 3.0], "n": [4, 5, 6]})
TABLES = [".parquet", ".csv", ".arrow", ".feather"]


@pytest.fixture
def small_chunks(monkeypatch):
    """Limit chunks to 1,000 rows, so that small files have many."""
    monkeypatch.setattr("meanshiftpp.io.sources.MAX_ROWS", 1000)
    monkeypatch.setattr("meanshiftpp.io.table_formats._CSV_BLOCK", 1 << 14)
    monkeypatch.setattr("meanshiftpp.io.table_formats._CSV_HEAD_BLOCK", 1 << 14)


@pytest.fixture(scope="module")
def X() -> np.ndarray:  # noqa: N802
    rng = np.random.default_rng(5)
    return rng.normal(size=(12_345, 3)) + rng.integers(0, 3, (12_345, 1)) * 5


def write(path: Path, table: pa.Table = TOWNS, **options: int) -> Path:
    if path.suffix == ".csv":
        pa.csv.write_csv(table, path)
    elif path.suffix == ".parquet":
        pa.parquet.write_table(table, path, **options)
    else:
        pa.feather.write_feather(table, path, chunksize=options.get("row_group_size"))
    return path


def read(path: Path) -> pa.Table:
    if path.suffix == ".csv":
        return pa.csv.read_csv(path)
    return pa.parquet.read_table(path) if path.suffix == ".parquet" else pa.feather.read_table(path)


def as_table(X: np.ndarray) -> pa.Table:
    names = [f"row {i}" for i in range(len(X))]
    return pa.table({"name": names, **{f"c{j}": column for j, column in enumerate(X.T)}})


def write_array(path: Path, X: np.ndarray) -> Path:
    if path.suffix == ".zarr":
        import zarr

        array = zarr.create_array(path, shape=X.shape, chunks=(300, 2), dtype=X.dtype)
        array[:] = X
    else:
        np.save(path, X)
    return path


# -- every format, in chunks -----------------------------------------------------------------------


@pytest.mark.parametrize("suffix", [*TABLES, ".npy", ".zarr"])
def test_grid_and_labels_equal_those_of_all_points_at_once(tmp_path, X, suffix, small_chunks):
    path = tmp_path / f"points{suffix}"
    if suffix in TABLES:
        write(path, as_table(X), row_group_size=3333)
    else:
        write_array(path, X)
    source = open_points(path)
    assert sum(1 for _ in source) > 12
    modes, labels = fit_labels(X, 0.7)
    grid = build_grid(source, 0.7)
    assert grid == modes.grid
    assert source.rows == len(X)
    assert write_labels(tmp_path / "out.npy", source, seek(grid).label) is None
    assert np.array_equal(np.load(tmp_path / "out.npy"), labels)
    for out in TABLES:
        assert write_labels(tmp_path / f"out{out}", source, seek(grid).label) == "label"
        table = read(tmp_path / f"out{out}")
        assert np.array_equal(table["label"], labels)
        assert np.array_equal(table[source.columns[1]], X[:, 1])
        assert ("name" in table.column_names) == (suffix in TABLES)


def test_one_large_row_group_is_read_in_chunks(tmp_path, X, small_chunks):
    path = write(tmp_path / "one.parquet", as_table(X), row_group_size=len(X))
    assert [len(chunk) for chunk in open_points(path)][:2] == [1000, 1000]


@pytest.mark.parametrize("suffix", [*TABLES, ".npy", ".zarr"])
def test_reading_continues_where_a_chunk_ended(tmp_path, X, suffix, small_chunks):
    (tmp_path / "folder").mkdir()
    for name, part in (("a", X[:5000]), ("b", X[:0]), ("c", X[5000:])):
        path = tmp_path / "folder" / f"{name}{suffix}"
        write(path, as_table(part)) if suffix in TABLES else write_array(path, part)
    source = open_points(tmp_path / "folder", None if suffix != ".csv" else ["c0", "c1", "c2"])
    chunks = list(source)
    assert chunks[-1].end == len(X)
    assert {Path(chunk.source).name for chunk in chunks if len(chunk)} == {
        f"a{suffix}",
        f"c{suffix}",
    }
    for k in (0, 3, len(chunks) // 2, len(chunks) - 2):
        rest = [chunk.points for chunk in source.chunks(chunks[k].end)]
        assert np.array_equal(np.concatenate(rest), X[chunks[k].end :])


def test_only_the_required_columns_are_read(tmp_path, X):
    source = open_points(write(tmp_path / "t.parquet", as_table(X)), ["c2", "c0"])
    first = next(iter(source))
    assert first.columns == ("c2", "c0")
    assert np.array_equal(source.read(), X[:, [2, 0]])
    assert first.data is None
    assert next(source.chunks(whole=True)).data.column_names == ["name", "c0", "c1", "c2"]
    np.save(tmp_path / "a.npy", X)
    assert np.array_equal(open_points(tmp_path / "a.npy", ["x2", "x0"]).read(), X[:, [2, 0]])


def test_numeric_columns_are_features_and_keep_their_types(tmp_path):
    for suffix in TABLES:
        source = open_points(write(tmp_path / f"towns{suffix}"))
        assert source.columns == ("x", "n")
        assert source.read().tolist() == [[1.5, 4], [-2.0, 5], [3.0, 6]]
    assert open_points(tmp_path / "towns.parquet", ["n"]).read().dtype == np.int64
    narrow = pa.table({"a": pa.array([1.5], pa.float32()), "b": pa.array([2.5], pa.float32())})
    assert open_points(write(tmp_path / "n.parquet", narrow)).read().dtype == np.float32
    index = pa.table({"a": [1.5], "__index_level_0__": [7]})
    assert open_points(write(tmp_path / "i.parquet", index)).columns == ("a",)


def test_an_array_is_memory_mapped_with_its_type(tmp_path):
    np.save(tmp_path / "a.npy", np.arange(12, dtype=np.float32).reshape(4, 3))
    source = open_points(tmp_path / "a.npy")
    assert isinstance(source.read(), np.memmap)
    assert source.read().dtype == np.float32
    assert source.columns == ("x0", "x1", "x2")


def test_a_sample_is_evenly_spaced_over_the_data(tmp_path, small_chunks):
    X = np.arange(90_000.0)[:, None]
    np.save(tmp_path / "a.npy", X)
    write(tmp_path / "a.parquet", pa.table({"x": X[:, 0]}), row_group_size=5000)
    write(tmp_path / "a.csv", pa.table({"x": X[:, 0]}))
    for suffix in (".npy", ".parquet", ".csv"):
        sample, rows = open_points(tmp_path / f"a{suffix}").sample(2000)
        assert rows == len(X)
        assert 2000 <= len(sample) <= 4000
        shares = np.histogram(sample, 10, (0, 90_000))[0] / len(sample)
        assert 0.05 < shares.min() <= shares.max() < 0.15
        assert np.array_equal(sample, open_points(tmp_path / f"a{suffix}").sample(2000)[0])


def peak_of(path: Path) -> int:
    """Return the peak memory, in bytes, of a process that builds a grid and writes labels."""
    code = (
        "import re, sys\n"
        "from meanshiftpp import seek\nfrom meanshiftpp.io import sources\n"
        "sources.CHUNK_BYTES = 1 << 20\n"  # many chunks, also of the smaller file
        "from meanshiftpp.stream import build_grid, open_points, write_labels\n"
        "source = open_points(sys.argv[1])\n"
        "write_labels(sys.argv[1] + '.out.npy', source, seek(build_grid(source, 1)).label)\n"
        "print(re.search(r'VmHWM:\\s*(\\d+) kB', open('/proc/self/status').read())[1])"
    )
    run = subprocess.run([sys.executable, "-c", code, path], capture_output=True, check=True)
    return int(run.stdout) * 1024


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux reports the peak in /proc")
def test_memory_does_not_grow_with_the_file(tmp_path):
    """The file has one row group, so only the size of a chunk limits the memory."""
    column = np.random.default_rng(0).normal(size=16_000_000)
    for suffix in (".npy", ".parquet"):
        peaks = []
        for n in (4_000_000, 16_000_000):
            path = tmp_path / f"{n}{suffix}"
            if suffix == ".npy":
                np.save(path, column[:n, None])
            else:
                options = {"row_group_size": n, "use_dictionary": False}
                pa.parquet.write_table(pa.table({"x": column[:n]}), path, **options)
            peaks.append(peak_of(path))
        assert peaks[1] - peaks[0] < 32e6, peaks  # the larger file has 96 MB more
        path.unlink()


# -- several files ---------------------------------------------------------------------------------


def test_the_files_of_a_folder_are_sorted_by_name(tmp_path):
    folder = tmp_path / "parts"
    (folder / "_temporary").mkdir(parents=True)
    write(folder / "b.parquet", TOWNS.slice(2))
    write(folder / "a.parquet", TOWNS.slice(0, 2))
    write(folder / "_temporary" / "z.parquet")
    (folder / "_SUCCESS").touch()
    source = open_points(folder)
    assert source.read().tolist() == [[1.5, 4], [-2.0, 5], [3.0, 6]]
    assert source.name == f"{folder / 'a.parquet'} and 1 more"
    (tmp_path / "empty").mkdir()
    with pytest.raises(InvalidInputError, match="must contain files of points"):
        open_points(tmp_path / "empty")
    with pytest.raises(InvalidInputError, match=r"must be of one kind, got .parquet and .npy"):
        open_points([folder, write_array(tmp_path / "a.npy", np.zeros((2, 2)))])
    with pytest.raises(InvalidInputError, match="expected at least one file, got none"):
        open_points([])


def test_the_error_of_differing_columns_names_them(tmp_path):
    write(tmp_path / "a.parquet", pa.table({"x": [1.0], "y": [2.0]}))
    write(tmp_path / "b.parquet", pa.table({"x": [1.0], "z": [2.0]}))
    with pytest.raises(InvalidInputError, match=r"b.parquet' has the columns 'x', 'z', but '.*a.p"):
        open_points(tmp_path)
    write(tmp_path / "b.parquet", pa.table({"y": ["high"], "x": [1.0]}))
    with pytest.raises(InvalidInputError, match=r"b.parquet' do not fit those of .*: .*y"):
        open_points(tmp_path)
    np.save(tmp_path / "a.npy", np.zeros((2, 2)))
    np.save(tmp_path / "b.npy", np.zeros((2, 3)))
    with pytest.raises(InvalidInputError, match=r"b.npy' has 3 columns, but .*a.npy' has 2"):
        open_points([tmp_path / "a.npy", tmp_path / "b.npy"])


def test_files_can_differ_in_column_order_and_types(tmp_path):
    write(
        tmp_path / "a.parquet", pa.table({"x": pa.array([1], pa.int32()), "y": [2.5], "t": ["a"]})
    )
    write(tmp_path / "b.parquet", pa.table({"t": ["b"], "y": pa.nulls(1), "x": [1.25]}))
    (tmp_path / "b.parquet").rename(tmp_path / "c.parquet")
    write(
        tmp_path / "b.parquet",
        pa.table({"t": ["b"], "y": pa.array([3.0], pa.float32()), "x": [4.25]}),
    )
    source = open_points([tmp_path / "a.parquet", tmp_path / "b.parquet"])
    assert source.read().tolist() == [[1, 2.5], [4.25, 3]]
    write_labels(tmp_path / "o.parquet", source, lambda points: np.zeros(len(points), np.int32))
    assert read(tmp_path / "o.parquet").to_pydict() == {
        "x": [1.0, 4.25],
        "y": [2.5, 3.0],
        "t": ["a", "b"],
        "label": [0, 0],
    }
    with pytest.raises(InvalidInputError, match=r"c.parquet, row 1, column 'y' is NaN"):
        build_grid(open_points([tmp_path / "a.parquet", tmp_path / "c.parquet"]), 1)


def test_a_partition_without_rows_is_valid(tmp_path):
    for suffix in (".parquet", ".csv"):
        folder = tmp_path / suffix
        folder.mkdir()
        write(folder / f"a{suffix}", TOWNS.slice(0, 0))
        write(folder / f"b{suffix}")
        assert len(open_points(folder, ["x", "n"]).read()) == 3
    (folder / "c.csv").touch()  # not even a header
    assert build_grid(open_points(folder, ["x", "n"]), 1).total == 3
    assert write_labels(tmp_path / "o.csv", open_points(folder, ["x", "n"]), _zeros) == "label"
    with pytest.raises(InvalidInputError, match="has no rows"):
        build_grid(open_points(folder / "a.csv", ["x", "n"]), 1)


def _zeros(points: np.ndarray) -> np.ndarray:
    return np.zeros(len(points), np.int32)


# -- CSV has no types ------------------------------------------------------------------------------


def test_a_csv_column_with_a_late_real_number_is_real(tmp_path, small_chunks):
    path = tmp_path / "late.csv"
    path.write_text("x,t\n" + "1234567,3\n" * 20_000 + "0.5,south\n" + "2,4\n" * 20_000)
    source = open_points(path, ["x"])
    points = source.read()
    assert points.shape == (40_001, 1)
    assert points[20_000, 0] == 0.5
    write_labels(tmp_path / "o.parquet", source, _zeros)
    back = read(tmp_path / "o.parquet")
    assert back.schema.field("x").type == pa.float64()
    assert back["t"][19_999:20_002].to_pylist() == ["3", "south", "4"]
    # The types are known before the first row is written, although that needs a whole pass.
    assert write_labels(tmp_path / "p.parquet", open_points(path, ["x"]), _zeros) == "label"
    assert read(tmp_path / "p.parquet").equals(back)


def test_columns_that_are_not_features_are_written_unchanged(tmp_path, small_chunks):
    path, rest = tmp_path / "in.csv", "7,5,True,2020-01-01 10:00:00,1.50,,south"
    lines = [f"{rest},1.5"] * 2000
    lines[1] = "8,12345678901234567890123,False,2021-01-01,-2,NA,h\xf6he,2.5"
    lines[1999] = "00123,7,True,2020-01-01,1.0,3,x,3.5"  # long after the first block
    path.write_text("\n".join(["zip,id,on,at,r,gap,t,x", *lines]), encoding="latin-1")
    source = open_points(path, ["x"])
    for _ in range(2):
        write_labels(tmp_path / "o.csv", source, _zeros)
        text = (tmp_path / "o.csv").read_text(encoding="latin-1").replace('"', "")
        assert text.split("\n")[1:-1] == [f"{line},0" for line in lines]
        # A format with types keeps them if no information is lost.
        write_labels(tmp_path / "o.parquet", source, _zeros)
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
    write_labels(tmp_path / "o.parquet", source, _zeros)
    back = read(tmp_path / "o.parquet").to_pydict()
    assert (back["zip"], back["n"]) == (["7", "007"], [1, 2])
    write(tmp_path / "c.parquet", pa.table({"zip": [7], "n": [3], "x": [1.5]}))
    mixed = open_points([tmp_path / "c.parquet", tmp_path / "a.csv"], ["x"])
    write_labels(tmp_path / "o.csv", mixed, _zeros)
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
    with pytest.raises(InvalidInputError, match=r"text.csv.*column 'x' holds string, not numbers"):
        build_grid(open_points(path), 1)


def test_column_that_begins_empty_is_a_feature(tmp_path):
    """Types come from a small block, but a column without values in it needs a larger one."""
    path = tmp_path / "sparse.csv"
    path.write_text("x,y,z\n" + "12.5,,0.25\n" * 150_000 + "1,2.5,3\n")
    assert path.stat().st_size > 1.5 * table_formats._CSV_HEAD_BLOCK
    assert open_points(path).columns == ("x", "y", "z")
    with pytest.raises(InvalidInputError, match=r"sparse.csv, row 1, column 'y' is NaN"):
        build_grid(open_points(path), 1)


def test_columns_that_are_not_numeric_are_listed(tmp_path):
    """One value that is not a number makes a column text; the source reports that value."""
    path = tmp_path / "late.csv"
    path.write_text("town,x,y,z\nA,1,2,3\n" + "B,0.5,2,3\n" * 50_000 + "C,oops,2,3\n")
    source = open_points(path)
    assert source.columns == ("y", "z")
    assert source.left_out == {"town": "'A' in row 1", "x": "'oops' in row 50002"}
    with pytest.raises(InvalidInputError, match=r"'x' holds string.*: 'oops' in row 50002$"):
        open_points(path, ["x", "y"])
    assert open_points(path, ["y"]).left_out == {}  # the caller chose columns
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


# -- invalid files --------------------------------------------------------------------------


def test_a_compressed_csv_is_read_directly(tmp_path, X, small_chunks):
    table = pa.table({f"c{k}": X[:, k] for k in range(3)})
    plain = write(tmp_path / "p.csv", table)
    packed = tmp_path / "p.CSV.gz"
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    source = open_points(packed)
    assert source.columns == ("c0", "c1", "c2")
    assert np.array_equal(source.read(), X)
    assert build_grid(open_points([plain, packed]), 0.5) == Grid.from_points(np.r_[X, X], 0.5)
    column = write_labels(tmp_path / "o.parquet", source, _zeros)
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


@pytest.mark.parametrize("suffix", [".npy", ".parquet", ".arrow"])
@pytest.mark.parametrize("content", [b"", b"PAR1 not really", b"\x93NUMPY\x01\x00"])
def test_a_broken_binary_file_is_an_error(tmp_path, suffix, content):
    path = tmp_path / f"t{suffix}"
    path.write_bytes(content)
    with pytest.raises(InvalidInputError, match=f"'.*t{suffix}' is not a {suffix}"):
        open_points(path)


@pytest.mark.parametrize("suffix", [".parquet", ".arrow", ".npy"])
def test_the_error_of_a_truncated_file_names_it(tmp_path, X, suffix):
    path = tmp_path / f"t{suffix}"
    write(path, as_table(X)) if suffix != ".npy" else write_array(path, X)
    os.truncate(path, path.stat().st_size * 2 // 3)
    with pytest.raises(InvalidInputError, match=f"t{suffix}' is not a {suffix}"):
        open_points(path)


def test_damage_within_a_parquet_file_is_an_error_when_it_is_read(tmp_path, X):
    path = write(tmp_path / "t.parquet", as_table(X))
    content = bytearray(path.read_bytes())
    content[100:30_000] = bytes(29_900)
    path.write_bytes(content)
    source = open_points(path)
    with pytest.raises(InvalidInputError, match=r"t.parquet' is not a .parquet table, or is"):
        write_labels(tmp_path / "o.parquet", source, _zeros)
    assert [p.name for p in tmp_path.iterdir()] == ["t.parquet"]


@pytest.mark.parametrize("suffix", [*TABLES, ".npy", ".zarr"])
def test_the_error_of_a_nan_names_file_row_and_column(tmp_path, X, suffix, small_chunks):
    bad = X.copy()
    bad[7777, 1] = np.nan
    for name, part in (("a", X[:100]), ("b", bad)):
        path = tmp_path / f"{name}{suffix}"
        write(path, as_table(part)) if suffix in TABLES else write_array(path, part)
    source = open_points([tmp_path / f"a{suffix}", path])
    name = "c1" if suffix in TABLES else "x1"
    message = f"b{suffix}, row 7778, column '{name}' is NaN"
    with pytest.raises(InvalidInputError, match=message) as caught:
        build_grid(source, 0.5)
    assert caught.tb
    assert "meanshiftpp reader" not in [thread.name for thread in threading.enumerate()]
    with pytest.raises(InvalidInputError, match=message), source.locating_errors():
        Grid.from_points(source.read(), 0.5)


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.zeros(3), r"2-D array of numbers, got float64 of shape \(3,\)"),
        (np.zeros((2, 2, 2)), r"2-D array of numbers, got float64 of shape \(2, 2, 2\)"),
        (np.zeros((2, 2), complex), "2-D array of numbers, got complex128"),
        (np.array([["a", "b"]]), "2-D array of numbers, got <U1"),
        (np.zeros((0, 2)), "has no rows"),
        (np.zeros((2, 0)), "has no columns"),
    ],
)
def test_an_array_of_the_wrong_kind_is_an_error(tmp_path, array, message):
    np.save(tmp_path / "a.npy", array)
    with pytest.raises(InvalidInputError, match=message):
        open_points(tmp_path / "a.npy").read()


def test_pickles_are_not_opened(tmp_path):
    np.save(tmp_path / "a.npy", np.array([{}], dtype=object))
    with pytest.raises(InvalidInputError, match=r"is not a \.npy array"):
        open_points(tmp_path / "a.npy")


def test_a_zarr_group_or_an_empty_folder_is_an_error(tmp_path):
    import zarr

    zarr.open_group(tmp_path / "g.zarr", mode="w").create_array("a", shape=(3, 2), dtype="f4")
    expected = r"g.zarr' is not a zarr array: .*; for a group, name one of its arrays"
    with pytest.raises(InvalidInputError, match=expected):
        open_points(tmp_path / "g.zarr")
    assert open_points(tmp_path / "g.zarr" / "a").read().shape == (3, 2)
    (tmp_path / "n.zarr").mkdir()
    with pytest.raises(InvalidInputError, match="is not a zarr array"):
        open_points(tmp_path / "n.zarr")


def test_the_error_of_a_wrong_column_lists_the_columns(tmp_path):
    path = write(tmp_path / "towns.csv")
    with pytest.raises(InvalidInputError, match="no column 'z', only 'name', 'x', 'n'"):
        open_points(path, ["x", "z"])
    with pytest.raises(InvalidInputError, match="column 'name' holds string, not numbers"):
        open_points(path, ["name"])
    twice = pa.Table.from_arrays([pa.array([1.0])] * 2, names=["x", "x"])
    with pytest.raises(InvalidInputError, match="2 columns 'x'"):
        open_points(write(tmp_path / "twice.csv", twice), ["x"])


def test_a_missing_file_or_unknown_suffix_is_an_error(tmp_path):
    with pytest.raises(FileAccessError, match=r"cannot read '.*none\.csv': No such file"):
        open_points(tmp_path / "none.csv")
    with pytest.raises(InvalidInputError, match=r"must end in \.parquet, \.csv"):
        open_points(tmp_path / "points.xls")


@pytest.mark.parametrize(
    ("module", "suffix", "extra"),
    [
        ("pyarrow", ".parquet", "io"),
        ("zarr", ".zarr", "zarr"),
        ("rasterio", ".tif", "raster"),
        ("laspy", ".laz", "lidar"),
    ],
)
def test_a_missing_extra_is_an_error_on_use(tmp_path, monkeypatch, module, suffix, extra):
    monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.setitem(sys.modules, f"{module}.parquet", None)
    (tmp_path / f"a{suffix}").write_bytes(b"x")
    with pytest.raises(MissingExtraError, match=rf'pip install "meanshiftpp\[{extra}\]"'):
        open_points(tmp_path / f"a{suffix}")


# -- writing ---------------------------------------------------------------------------------------


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
        write_labels(tmp_path / "o.parquet", open_points(tmp_path / "a.parquet"), _zeros)
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
        write_labels(tmp_path / "o.csv", source, _zeros)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["nested.parquet"]


def test_big_endian_arrays_can_be_written(tmp_path):
    np.save(tmp_path / "a.npy", np.array([[1.5]], ">f8"))
    write_labels(tmp_path / "o.csv", open_points(tmp_path / "a.npy"), _zeros)
    assert (tmp_path / "o.csv").read_text().splitlines()[1] == "1.5,0"


def test_an_error_while_labelling_leaves_the_old_file(tmp_path, X, small_chunks):
    path = write(tmp_path / "a.parquet", as_table(X))
    (tmp_path / "o.parquet").write_text("old")
    calls = []

    def fail(points: np.ndarray) -> np.ndarray:
        calls.append(len(points))
        if len(calls) == 5:
            raise RuntimeError("failed")
        return _zeros(points)

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
    with pytest.raises(FileAccessError, match=r"no folder '.*gone'"):
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


# -- checkpoints -----------------------------------------------------------------------------------


class StoppedError(Exception):
    pass


def stop_after(rows: int):
    done = 0

    def progress(more: int) -> None:
        nonlocal done
        done += more
        if done >= rows:
            raise StoppedError

    return progress


@pytest.mark.parametrize("suffix", [".parquet", ".csv", ".npy"])
def test_a_run_continues_from_its_checkpoint(tmp_path, X, suffix, small_chunks):
    path = tmp_path / f"t{suffix}"
    write(path, as_table(X)) if suffix != ".npy" else write_array(path, X)
    names = None if suffix == ".npy" else ["c0", "c1", "c2"]
    options = {"checkpoint": tmp_path / "c", "every": 0}
    for rows in (3000, 9000):
        with pytest.raises(StoppedError):
            build_grid(open_points(path, names), 0.5, **options, progress=stop_after(rows))
    start = Grid.empty(0.5, 3)
    saved = Checkpoint.resume(tmp_path / "c", open_points(path, names), start)
    assert 3000 < saved.rows == saved.position < 9500
    seen: list[int] = []
    grid = build_grid(open_points(path, names), 0.5, **options, progress=seen.append)
    assert grid == Grid.from_points(X, 0.5)
    assert (seen[0], sum(seen)) == (saved.rows, len(X))
    # A complete checkpoint needs no further pass.
    seen.clear()
    assert build_grid(open_points(path, names), 0.5, **options, progress=seen.append) == grid
    assert seen == [len(X)]


def test_a_checkpoint_of_another_run_is_an_error_with_the_difference(tmp_path, X):
    path = write_array(tmp_path / "a.npy", X)
    saved = tmp_path / "c"
    build_grid(open_points(path), 0.5, checkpoint=saved)
    before = saved.read_bytes()

    def mismatch(message: str, path=path, bandwidth=0.5, columns=None):
        with pytest.raises(GridMismatchError, match=message):
            build_grid(open_points(path, columns), bandwidth, checkpoint=saved)

    mismatch(r"bandwidth 0.5, 0.5, 0.5, not 0.25, 0.25, 0.25", bandwidth=0.25)
    mismatch("columns 'x0', 'x1', 'x2', not 'x0', 'x2'", columns=["x0", "x2"])
    mismatch("the file 'a.npy' where 'b.npy' is now", path=write_array(tmp_path / "b.npy", X))
    mismatch("1 files, not 2", path=[path, tmp_path / "b.npy"])
    write_array(path, X[:-1])
    mismatch(r"'a.npy' had 296,408 bytes and now has 296,384")
    write_array(path, X + 1)
    os.utime(path, ns=(0, 0))
    mismatch("'a.npy' has been modified since")
    assert saved.read_bytes() == before
    Grid.from_points(X, 0.5).save(saved)
    with pytest.raises(GridFileError, match="is not a checkpoint and was left unchanged"):
        build_grid(open_points(path), 0.5, checkpoint=saved)
    saved.write_text("text")
    with pytest.raises(GridFileError, match=r"is not a checkpoint$"):
        build_grid(open_points(path), 0.5, checkpoint=saved)


# -- the benchmark ---------------------------------------------------------------------------------


def test_the_benchmark_compares_its_results(tmp_path):
    from benchmarks import scale

    path = tmp_path / "points.parquet"
    scale.make(path, 30_000)
    scale.cluster(path)
    scale.prefix(path)
    labelled = tmp_path / "labelled.parquet"
    table = read(labelled)
    write(labelled, table.set_column(3, "label", pa.array(np.zeros(30_000, np.int32) + 7)))
    with pytest.raises(AssertionError, match="labels differ from those in memory"):
        scale.prefix(path)


def test_a_sample_of_very_many_chunks_terminates(tmp_path):
    path = tmp_path / "logged.arrow"
    rows = pa.table({"x": np.arange(1000.0)})
    with pa.ipc.new_file(path, rows.schema) as file:
        for batch in rows.to_batches(max_chunksize=1):
            file.write_batch(batch)
    sample, total = open_points(path).sample(10)
    assert total == 1000
    assert 10 <= len(sample) <= 20
    assert np.ptp(np.diff(sample[:, 0])) <= 1  # equally spaced


@pytest.mark.parametrize("suffix", [".npy", ".csv"])
@pytest.mark.parametrize("labels", [np.zeros(3, np.int32), np.zeros((10, 1), np.int32), None])
def test_a_function_that_returns_other_than_one_label_per_point_raises(tmp_path, suffix, labels):
    np.save(tmp_path / "points.npy", np.zeros((10, 2)))
    output = tmp_path / f"labels{suffix}"
    with pytest.raises(InvalidInputError, match="one label per point, 10 for"):
        write_labels(output, open_points(tmp_path / "points.npy"), lambda _: labels)
    assert not output.exists()
