"""Chunks of Arrow, pandas and polars tables."""

from __future__ import annotations

import numpy as np
import pytest

from meanshiftpp import Grid
from meanshiftpp.core.chunk import as_chunk
from meanshiftpp.errors import InvalidInputError

pa = pytest.importorskip("pyarrow")
pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")

X = np.random.default_rng(7).normal(size=(500, 3)).astype(np.float32)
GRID = Grid.from_points(X, 0.4)


def as_arrow(part: np.ndarray) -> pa.RecordBatch:
    return pa.record_batch([pa.array(column) for column in part.T], names=["a", "b", "c"])


KINDS = {
    "batch": as_arrow,
    "table": lambda part: pa.Table.from_batches([as_arrow(part[:10]), as_arrow(part[10:])]),
    "pandas": lambda part: pd.DataFrame(part),
    "polars": lambda part: pl.DataFrame(part, schema=["a", "b", "c"]),
}


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_every_kind_of_table(kind):
    assert Grid.from_chunks((kind(part) for part in np.split(X, 5)), 0.4) == GRID


def test_empty_tables_are_skipped():
    empty = [pd.DataFrame(columns=["a", "b", "c"]), as_arrow(X[:0])]
    assert Grid.from_chunks([*empty, X, *empty], 0.4) == GRID
    assert Grid.from_chunks(empty, 0.4) == Grid.empty(0.4, 3)


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (pd.DataFrame({"a": [np.inf], "b": [0], "c": [0]}), "chunk 2, row 1, column 'a' is inf"),
        (pa.table({"a": [1.0], "b": [None], "c": [0.0]}), "chunk 2, row 1, column 'b' is NaN"),
        (pa.table({"a": [1, None], "b": [0, 0], "c": [0, 0]}), "chunk 2, row 2, column 'a' is NaN"),
        (pa.table({"a": ["x"], "b": [0], "c": [0]}), "column 'a' holds string, not numbers"),
        (pa.table({"a": [2**60], "b": [0.5], "c": [0]}), "chunk 2, row 1, column 'a' is 11529215"),
    ],
)
def test_errors_state_the_place_of_a_bad_value(bad, message):
    with pytest.raises(InvalidInputError, match=message):
        Grid.from_chunks([X, bad], 0.4)


def test_decimals_are_numbers_and_types_are_kept():
    table = pa.table({"a": pa.array(["1.25"]).cast(pa.decimal128(6, 2))})
    assert as_chunk(table).points.tolist() == [[1.25]]
    assert as_chunk(as_arrow(X)).points.dtype == np.float32
    assert as_chunk(pa.table({"a": [2**60]})).points.dtype == np.int64


def test_columns_in_another_order_raise():
    """Added by position, they would give a wrong grid without notice."""
    frame = pd.DataFrame({"x": [0.0, 1.0], "y": [5.0, 6.0]})
    with pytest.raises(InvalidInputError, match=r"columns y, x, but .* have x, y"):
        Grid.from_chunks([frame, frame[["y", "x"]]], 1.0)
    unnamed = Grid.from_chunks([frame, frame.to_numpy()], 1.0)
    assert unnamed == Grid.from_points(np.vstack([frame, frame]), 1.0)


@pytest.mark.parametrize("frames", [pd, pl], ids=["pandas", "polars"])
def test_frames_are_converted_column_by_column(frames):
    frame = frames.DataFrame({"id": np.array([2**53 + 1, 7]), "x": [0.5, 1.5]})
    with pytest.raises(InvalidInputError, match="chunk 1, row 1, column 'id' is 9007199254740993"):
        Grid.from_chunks([frame], 1.0)
    text = frames.DataFrame({"x": [0.5], "name": ["a"]})
    with pytest.raises(InvalidInputError, match=r"column 'name' holds .*, not numbers"):
        Grid.from_chunks([text], 1.0)
    numbers = frames.DataFrame({"n": np.array([3, 7]), "x": [0.5, 1.5]})
    assert Grid.from_chunks([numbers], 1.0) == Grid.from_points([[3, 0.5], [7, 1.5]], 1.0)


def test_nullable_columns():
    frame = pd.DataFrame({"n": pd.array([3, 7], dtype="Int64"), "x": [0.5, 1.5]})
    assert Grid.from_chunks([frame], 1.0) == Grid.from_points([[3, 0.5], [7, 1.5]], 1.0)
    frame.loc[1, "n"] = pd.NA
    with pytest.raises(InvalidInputError, match="chunk 1, row 2, column 'n' is NaN"):
        Grid.from_chunks([frame], 1.0)
