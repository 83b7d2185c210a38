"""Files in chunks: every format, several files, checkpoints."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from tests.helpers import fit_labels
from tests.io.stopped_runs import StoppedError, stop_after
from tests.io.table_files import TABLES, TOWNS, as_table, read, write, write_array, zeros

from meanshiftpp import Grid, seek
from meanshiftpp.errors import GridFileError, GridMismatchError, InvalidInputError
from meanshiftpp.io.checkpoint import Checkpoint
from meanshiftpp.stream import build_grid, open_points, write_labels

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
        sample = open_points(tmp_path / f"a{suffix}").sample(2000)
        assert 2000 <= len(sample) <= 4000
        shares = np.histogram(sample, 10, (0, 90_000))[0] / len(sample)
        assert 0.05 < shares.min() <= shares.max() < 0.15
        assert np.array_equal(sample, open_points(tmp_path / f"a{suffix}").sample(2000))


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


def test_a_sample_of_very_many_chunks_terminates(tmp_path):
    path = tmp_path / "logged.arrow"
    rows = pa.table({"x": np.arange(1000.0)})
    with pa.ipc.new_file(path, rows.schema) as file:
        for batch in rows.to_batches(max_chunksize=1):
            file.write_batch(batch)
    sample = open_points(path).sample(10)
    assert 10 <= len(sample) <= 20
    assert np.ptp(np.diff(sample[:, 0])) <= 1  # equally spaced


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
    assert write_labels(tmp_path / "o.csv", open_points(folder, ["x", "n"]), zeros) == "label"
    with pytest.raises(InvalidInputError, match="has no rows"):
        build_grid(open_points(folder / "a.csv", ["x", "n"]), 1)


# -- checkpoints -----------------------------------------------------------------------------------


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
    with pytest.raises(GridFileError, match=r"' is not a checkpoint; name another file$"):
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


def test_a_checkpoint_of_a_changed_zarr_array_is_an_error(tmp_path, X):
    path, saved = write_array(tmp_path / "a.zarr", X), tmp_path / "c"
    grid = build_grid(open_points(path), 0.5, checkpoint=saved)
    assert build_grid(open_points(path), 0.5, checkpoint=saved) == grid
    chunk = next(file for file in sorted(path.rglob("*")) if file.is_file())
    os.utime(chunk, ns=(0, 2**62))
    with pytest.raises(GridMismatchError, match=r"'a\.zarr' has been modified since"):
        build_grid(open_points(path), 0.5, checkpoint=saved)
    chunk.write_bytes(chunk.read_bytes() + b" ")
    with pytest.raises(GridMismatchError, match=r"'a\.zarr' had [\d,]+ bytes and now has [\d,]+"):
        build_grid(open_points(path), 0.5, checkpoint=saved)


@pytest.mark.parametrize(
    "note",
    [
        {"files": [["a.npy", 1, 2, 3]]},
        {"files": [["a.npy", "1 kB", 2]]},
        {"files": [3]},
        {"rows": float("inf")},
        {"position": [1]},
    ],
)
def test_a_checkpoint_with_a_damaged_note_is_an_error(tmp_path, X, note):
    source, saved = open_points(write_array(tmp_path / "a.npy", X)), tmp_path / "c"
    build_grid(source, 0.5, checkpoint=saved)
    with np.load(saved) as archive:
        content = dict(archive)
    content["note"] = np.array(json.dumps(json.loads(str(content["note"])) | note))
    with saved.open("wb") as file:
        np.savez(file, **content)
    with pytest.raises(GridFileError, match="is not a checkpoint and was left unchanged"):
        build_grid(source, 0.5, checkpoint=saved)


def test_a_checkpoint_of_other_periods_is_an_error(tmp_path, X):
    source, saved = open_points(write_array(tmp_path / "a.npy", X)), tmp_path / "c"
    build_grid(source, 0.5, checkpoint=saved, periodic=[60.0, None, None])
    message = r"its periods have \[120, 0, 0\] cells, not \[0, 120, 0\]"
    with pytest.raises(GridMismatchError, match=message):
        build_grid(source, 0.5, checkpoint=saved, periodic=[None, 60.0, None])


def test_a_source_of_other_things_is_an_error(X):
    with pytest.raises(InvalidInputError, match="a source of points, as open_points returns it"):
        build_grid(X, 0.5)
    with pytest.raises(InvalidInputError, match="a path or a sequence of paths"):
        open_points([1.5])
