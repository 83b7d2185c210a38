"""Kinds of columns: identifiers and constants are not features, flags divide clusters."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from meanshiftpp.io import sources
from meanshiftpp.io.tables import column_kinds, formats
from meanshiftpp.io.tables.column_kinds import Kind, kind_of, kinds_of_columns, leave_out
from meanshiftpp.stream import open_points

N = 40
IDS = np.random.default_rng(0).permutation(N) + 100_000


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (np.arange(N), Kind.identifier),
        (IDS * 1.0, Kind.identifier),
        (IDS**3, Kind.identifier),  # far apart, but in many rows
        ([1, 2, 3, 4], Kind.identifier),
        (2**60 + np.arange(N), Kind.identifier),  # float64 would round them to one value
        (2**60 + np.arange(N) % 9, None),
        ([1, 200, 40, 77], None),  # ages of four people
        ([*range(N), 3], None),
        (np.arange(N) / 8, None),
        (np.full(N, 7.5), Kind.constant),
        ([7.5, np.nan, 7.5], Kind.constant),
        ([7.5], None),
        ([np.nan, np.nan], Kind.empty),
        ([0, 1, 1, np.nan], Kind.flag),
        ([0, 1, 2, 2], None),
        ([*np.arange(N, dtype=float), np.nan], Kind.identifier),
    ],
)
def test_the_values_of_a_column_show_its_kind(values, kind):
    assert kind_of(np.asarray(values)) is kind


def test_a_later_chunk_decides(tmp_path, monkeypatch):
    monkeypatch.setattr(formats, "_CSV_BLOCK", 256)
    monkeypatch.setattr(sources, "CHUNK_BYTES", 64)
    rows = [f"{i},{min(i, 380)},{i // 390},{int(i == 399)},7,{i / 7}" for i in range(400)]
    (tmp_path / "t.csv").write_text("id,order,step,last,same,x\n" + "\n".join(rows) + "\n")
    source = open_points(tmp_path / "t.csv")
    assert len([*source]) > 5
    assert kinds_of_columns(open_points(tmp_path / "t.csv")) == {
        "id": Kind.identifier,
        "step": Kind.flag,
        "last": Kind.flag,
        "same": Kind.constant,
    }


def test_large_identifiers_of_later_chunks(tmp_path, monkeypatch):
    monkeypatch.setattr(sources, "CHUNK_BYTES", 64)
    ids = 2**60 + np.arange(9000)
    pq.write_table(pa.table({"id": ids, "most": [*ids[:-1], 2**60]}), tmp_path / "t.parquet")
    kinds = kinds_of_columns(open_points(tmp_path / "t.parquet"))
    assert kinds == {"id": Kind.identifier}


def test_some_columns_always_remain():
    every = {"id": Kind.identifier, "same": Kind.constant, "flag": Kind.flag}
    assert leave_out(["id", "same", "flag", "x"], every) == ["id", "same"]
    assert leave_out(["id", "same"], every) == ["same"]
    assert leave_out(["same"], every) == []


def test_several_small_files_are_one_table(tmp_path):
    numbers = np.random.default_rng(1).permutation(10_000)[:90].reshape(30, 3)
    for k, part in enumerate(numbers):
        rows = [f"{number},{k / 7},3" for number in part]
        (tmp_path / f"{k:02}.csv").write_text("id,x,same\n" + "\n".join(rows) + "\n")
    kinds = kinds_of_columns(open_points(tmp_path))
    assert kinds == {"id": Kind.identifier, "same": Kind.constant}


def test_many_rows_decide_about_an_identifier(tmp_path, monkeypatch):
    monkeypatch.setattr(column_kinds, "_MANY", 50)
    monkeypatch.setattr(sources, "CHUNK_BYTES", 64)
    columns = {"id": [*range(9000), 1], "flag": [0, 1] * 4500 + [7], "same": [5] * 9000 + [6]}
    pq.write_table(pa.table(columns), tmp_path / "t.parquet")
    kinds = kinds_of_columns(open_points(tmp_path / "t.parquet"))
    assert kinds == {"id": Kind.identifier, "flag": Kind.flag}  # and a constant must be one


@pytest.mark.parametrize("first", [2**60, 2**63 + 2**60])
@pytest.mark.parametrize("where", [None, "x > 0.5"])
def test_large_identifiers_beside_real_numbers(tmp_path, first, where):
    ids = pa.array([first + i for i in range(N)], pa.uint64())
    table = pa.table({"x": np.arange(N) / 8, "id": ids, "n": [i % 5 for i in range(N)]})
    pq.write_table(table, tmp_path / "t.parquet")
    source = open_points(tmp_path / "t.parquet")
    source = source.selected(where) if where else source
    assert kinds_of_columns(source) == {"id": Kind.identifier}


def test_large_numbers_that_repeat_are_not_left_out(tmp_path):
    table = pa.table({"x": np.arange(N) / 8, "user": 2**60 + np.arange(N) % 9})
    pq.write_table(table, tmp_path / "t.parquet")
    assert kinds_of_columns(open_points(tmp_path / "t.parquet")) == {}


def test_large_numbers_are_inexact_only_beside_other_types(tmp_path):
    ids = pa.array([2**60 + i for i in range(N)])
    table = pa.table({"id": ids, "n": pa.array([None, *range(1, N)])})
    pq.write_table(table.append_column("x", pa.array(np.arange(N) / 8)), tmp_path / "t.parquet")
    assert open_points(tmp_path / "t.parquet").inexact_columns() == ["id"]
    pq.write_table(pa.table({"id": ids, "n": range(N)}), tmp_path / "whole.parquet")
    whole = open_points(tmp_path / "whole.parquet")
    assert whole.inexact_columns() == []
    assert whole.read().dtype == np.int64
