"""Point clouds in LAS and LAZ files: scaled coordinates, and labels as an extra dimension."""

from __future__ import annotations

import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

laspy = pytest.importorskip("laspy")
lazrs = pytest.importorskip("lazrs")

from tests.helpers import fit_labels  # noqa: E402
from tests.io.clouds.fuzz_laz import fuzz, write_cloud  # noqa: E402

from meanshiftpp import seek  # noqa: E402
from meanshiftpp.errors import InvalidInputError  # noqa: E402
from meanshiftpp.stream import build_grid, open_points, write_labels  # noqa: E402


def write(path: Path, n: int = 5000, offset: float = 400_000, scale: float = 0.001) -> np.ndarray:
    rng = np.random.default_rng(n)
    header = laspy.LasHeader(point_format=3, version="1.2")
    header.scales, header.offsets = [scale] * 3, [offset, 0, 0]
    cloud = laspy.LasData(header)
    centres = rng.integers(0, 3, (n, 1)) * 9
    cloud.xyz = rng.normal(size=(n, 3)) + centres + [400_000, 0, 0]
    cloud.intensity = rng.integers(0, 1000, n)
    cloud.write(path)
    return np.array(cloud.xyz)


@pytest.mark.parametrize("suffix", [".las", ".laz"])
def test_labels_equal_those_of_all_points_at_once(tmp_path, monkeypatch, suffix):
    monkeypatch.setattr("meanshiftpp.io.sources.MAX_ROWS", 700)
    X = write(tmp_path / f"in{suffix}")
    source = open_points(tmp_path / f"in{suffix}")
    assert source.columns == ("x", "y", "z")
    assert [len(chunk) for chunk in source] == [700] * 7 + [100]
    assert np.array_equal(source.read(), X)
    modes, labels = fit_labels(X, 0.8)
    assert build_grid(source, 0.8) == modes.grid
    for out in (".las", ".laz"):
        assert write_labels(tmp_path / f"out{out}", source, modes.label) == "label"
        before, after = laspy.read(tmp_path / f"in{suffix}"), laspy.read(tmp_path / f"out{out}")
        assert np.array_equal(after["label"], labels)
        assert np.array_equal(after.xyz, before.xyz)
        assert np.array_equal(after.intensity, before.intensity)
    assert write_labels(tmp_path / "again.laz", open_points(tmp_path / "out.laz"), zeros) == (
        "label_2"
    )
    write_labels(tmp_path / "out.npy", source, modes.label)
    assert np.array_equal(np.load(tmp_path / "out.npy"), labels)
    assert labels.max() > 1


def zeros(points: np.ndarray) -> np.ndarray:
    return np.zeros(len(points), np.int32)


def test_reading_continues_from_a_row_inside_a_file(tmp_path, monkeypatch):
    monkeypatch.setattr("meanshiftpp.io.sources.MAX_ROWS", 700)
    X = np.concatenate([write(tmp_path / "a.laz"), write(tmp_path / "b.laz", 1000)])
    source = open_points(tmp_path)
    for chunk in list(source)[::3]:
        rest = [later.points for later in source.chunks(chunk.end)]
        assert np.array_equal(np.concatenate([X[:0], *rest]), X[chunk.end :])


BOX_AT = 179  # in the header: the largest and the least x, then those of y and z
CHUNK_SIZE_AT = 12  # in the record of LAZ


def laz_record(path: Path) -> tuple[int, bytes]:
    """Return the position and the content of the record that describes the compression."""
    with laspy.open(path) as file:
        record = bytes(file.header.vlrs.get("LasZipVlr")[0].record_data)
    return path.read_bytes().index(record), record


def write_with_chunks(path: Path, sizes: list[int]) -> np.ndarray:
    """Write a file whose chunks have these numbers of points, as in a COPC file."""
    X = write(path, sum(sizes))
    at, record = laz_record(path)
    points = np.frombuffer(laspy.read(path).points.array.tobytes(), np.uint8)
    corrupt(path, at + CHUNK_SIZE_AT, b"\xff" * 4)
    vlr = lazrs.LazVlr(path.read_bytes()[at : at + len(record)])
    head = path.read_bytes()[: points_at(path)]
    with path.open("wb") as file:
        file.write(head)
        compressor = lazrs.LasZipCompressor(file, vlr)
        first = 0
        for size in sizes:
            end = first + size * vlr.item_size()
            compressor.compress_many(points[first:end])
            compressor.finish_current_chunk()
            first = end
        compressor.done()
    return X


def test_reading_continues_from_a_row_if_chunks_have_several_sizes(tmp_path, monkeypatch):
    monkeypatch.setattr("meanshiftpp.io.sources.MAX_ROWS", 300)
    X = write_with_chunks(tmp_path / "a.laz", [100, 7, 900, 400, 93])
    source = open_points(tmp_path / "a.laz")
    assert np.array_equal(source.read(), X)
    for row in (0, 1, 100, 101, 300, 1000, 1007, 1499):
        rest = [chunk.points for chunk in source.chunks(row)]
        assert np.array_equal(np.concatenate(rest), X[row:]), row


def test_a_sample_decodes_a_file_of_chunks_of_several_sizes_once(tmp_path, monkeypatch):
    X = write_with_chunks(tmp_path / "a.laz", [100, 7, 900, 400, 93])
    decoded = []
    read = laspy.LasReader.read_points

    def read_points(self, n):
        record = read(self, n)
        decoded.append(len(record))
        return record

    monkeypatch.setattr(laspy.LasReader, "read_points", read_points)
    rows = open_points(tmp_path / "a.laz").sample(20)
    assert sum(decoded) == len(X)
    assert len(rows) >= 20


def test_files_with_other_scales_and_offsets_keep_their_coordinates(tmp_path):
    write(tmp_path / "a.las")
    write(tmp_path / "b.las", offset=300_000, scale=0.01)
    source = open_points([tmp_path / "a.las", tmp_path / "b.las"])
    write_labels(tmp_path / "o.las", source, seek(build_grid(source, 1)).label)
    assert np.allclose(laspy.read(tmp_path / "o.las").xyz, source.read(), atol=0.001, rtol=0)


def test_other_dimensions_can_be_columns(tmp_path):
    write(tmp_path / "a.las")
    source = open_points(tmp_path / "a.las", ["z", "intensity"])
    cloud = laspy.read(tmp_path / "a.las")
    assert np.array_equal(source.read(), np.column_stack([cloud.z, cloud.intensity]))
    with pytest.raises(InvalidInputError, match="no column 'colour', only 'x', 'y', 'z'"):
        open_points(tmp_path / "a.las", ["colour"])


@pytest.mark.parametrize("suffix", [".las", ".laz"])
def test_the_error_of_a_damaged_file_names_it(tmp_path, suffix):
    path = tmp_path / f"a{suffix}"
    path.write_bytes(b"LASF and no more")
    with pytest.raises(InvalidInputError, match=f"a{suffix}' is not a {suffix} point cloud"):
        open_points(path)
    write(path)
    path.write_bytes(path.read_bytes()[:20_000])
    with pytest.raises(InvalidInputError, match=f"a{suffix}' is .*damaged"):
        build_grid(open_points(path), 1)


@pytest.mark.parametrize("point_format", [3, 7])
def test_points_outside_the_box_of_the_header_are_reported_once(tmp_path, point_format):
    """A damaged byte changes all later points, and a file has no checksum that would tell."""
    write_cloud(tmp_path / "a.laz", point_format)
    whole = open_points(tmp_path / "a.laz").read()
    corrupt(tmp_path / "a.laz", points_at(tmp_path / "a.laz") + 300, b"\x55")
    source = open_points(tmp_path / "a.laz")
    message = r"a.laz', row \d+: [xyz] is .*, outside the .* to"
    with pytest.warns(UserWarning, match=message) as caught:
        damaged = source.read()
    assert np.array_equal(source.read(), damaged)  # without a warning
    assert len(caught) == 1
    row = int(str(caught[0].message).partition("row ")[2].partition(":")[0]) - 1
    assert not np.array_equal(damaged[row], whole[row])


def test_a_header_without_a_box_is_not_compared(tmp_path):
    X = write(tmp_path / "a.las")
    corrupt(tmp_path / "a.las", BOX_AT, bytes(48))
    assert np.array_equal(open_points(tmp_path / "a.las").read(), X)


def test_random_damage_is_an_error_and_never_ends_the_process():
    outcomes, failures = fuzz(150)
    assert failures == []
    assert outcomes["InvalidInputError"] > 15


def corrupt(path: Path, position: int, value: bytes) -> None:
    content = bytearray(path.read_bytes())
    content[position : position + len(value)] = value
    path.write_bytes(content)


def points_at(path: Path) -> int:
    return int.from_bytes(path.read_bytes()[96:100], "little")


@pytest.mark.parametrize(
    ("field", "problem"),
    [
        ("number of chunks", "its table states 4,294,967,295 chunks"),
        ("position of the table", "its table of chunks is at byte 1,099,511,627,776"),
        ("records", "its header states 4,294,967,295 records"),
    ],
)
def test_sizes_that_a_laz_file_cannot_hold_are_errors(tmp_path, field, problem):
    path = tmp_path / "a.laz"
    write(path)
    start = points_at(path)
    table = int.from_bytes(path.read_bytes()[start : start + 8], "little")
    places = {"number of chunks": table + 4, "position of the table": start, "records": 100}
    value = (1 << 40).to_bytes(8, "little") if "position" in field else b"\xff" * 4
    corrupt(path, places[field], value)
    with pytest.raises(InvalidInputError, match=f"a.laz' is not a .laz .*or is damaged: {problem}"):
        open_points(path)


# Reads a file with little memory, and prints the number of its points and their sum.
READ = """
import sys
from tests.io.clouds.fuzz_laz import limit_memory
from meanshiftpp.stream import open_points

limit_memory()
source = open_points(sys.argv[1])
print(sum(len(chunk) for chunk in source.chunks(100)), source.read().sum().hex())
"""


def read_with_little_memory(path: Path) -> str:
    command = [sys.executable, "-c", READ, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    return done.stdout.strip() if done.returncode == 0 else done.stderr[-2000:]


@pytest.mark.parametrize("point_format", [3, 7])
def test_a_chunk_may_state_more_points_than_memory_holds(tmp_path, point_format):
    path = tmp_path / "a.laz"
    write_cloud(path, point_format)
    X = open_points(path).read()
    corrupt(path, laz_record(path)[0] + CHUNK_SIZE_AT, struct.pack("<I", 0xFFFFFFFE))
    assert read_with_little_memory(path) == f"{len(X) - 100} {X.sum().hex()}"


def test_layers_that_a_chunk_cannot_hold_are_errors(tmp_path):
    path = tmp_path / "a.laz"
    write_cloud(path, 7)
    start = points_at(path)
    content = path.read_bytes()
    first = start + 8 + 36 + 4  # the position of the table, a point, and the number of points
    for layer in range(10):
        path.write_bytes(content)
        corrupt(path, first + 4 * layer, b"\xf0" * 4)
        with pytest.raises(InvalidInputError, match=r"a\.laz' is .*states layers of 4,042,"):
            open_points(path)


def test_a_las_file_that_states_more_points_than_it_holds_is_an_error(tmp_path):
    path = tmp_path / "a.las"
    write(path)
    corrupt(path, 107, (1 << 31).to_bytes(4, "little"))  # the number of points
    with pytest.raises(InvalidInputError, match="it ends after 5000 of 2147483648 points"):
        open_points(path)


def write_14(path: Path) -> int:
    """Write a file of version 1.4 with a record after its points; return where the record is."""
    cloud = laspy.LasData(laspy.LasHeader(point_format=6, version="1.4"))
    cloud.xyz = np.random.default_rng(0).normal(size=(50, 3))
    cloud.evlrs = laspy.vlrs.vlrlist.VLRList([laspy.VLR("me", 7, "a note", b"x" * 30)])
    cloud.write(path)
    return int.from_bytes(path.read_bytes()[235:243], "little")


@pytest.mark.parametrize(
    ("place", "value", "problem"),
    [
        ("length", 31, "a record after its points is longer than the file"),
        ("start", 1 << 63, "it is too short"),
        ("number", 1 << 30, r"its header states 1,073,741,824 records after its points"),
    ],
)
def test_records_after_the_points_must_be_in_the_file(tmp_path, place, value, problem):
    path = tmp_path / "a.las"
    record = write_14(path)
    assert open_points(path).count_points() == 50
    at, size = {"length": (record + 20, 8), "start": (235, 8), "number": (243, 4)}[place]
    corrupt(path, at, value.to_bytes(size, "little"))
    with pytest.raises(InvalidInputError, match=f"a.las' is .*damaged: {problem}"):
        open_points(path)


def test_the_table_of_chunks_may_be_named_at_the_end(tmp_path):
    """As in a file that was written in one go, to a stream."""
    path = tmp_path / "a.laz"
    X = write(path)
    start = points_at(path)
    table = path.read_bytes()[start : start + 8]
    corrupt(path, start, b"\xff" * 8)
    path.write_bytes(path.read_bytes() + table)
    assert np.array_equal(open_points(path).read(), X)


def test_files_of_several_formats_are_not_written_to_one(tmp_path):
    write(tmp_path / "a.las")
    write_14(tmp_path / "b.las")
    source = open_points([tmp_path / "a.las", tmp_path / "b.las"])
    with pytest.raises(InvalidInputError, match=r"one point format .* 'b\.las|b\.las' differs"):
        write_labels(tmp_path / "out.las", source, zeros)
    assert not (tmp_path / "out.las").exists()
