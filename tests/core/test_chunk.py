"""Points that come in parts: the same grid as all at once, and errors that say where."""

from __future__ import annotations

import threading
from queue import Queue

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from meanshiftpp import Grid
from meanshiftpp._support.read_ahead import _get, read_ahead
from meanshiftpp.core.accumulate import GridSum
from meanshiftpp.core.chunk import Chunk, as_chunk
from meanshiftpp.errors import GridMismatchError, InvalidInputError

X = np.random.default_rng(7).normal(size=(500, 3)).astype(np.float32)
WHOLE = Grid.from_points(X, 0.4)


@given(cuts=st.lists(st.integers(0, len(X)), max_size=30))
def test_however_the_data_is_cut_the_grid_is_the_same(cuts):
    parts = np.split(X, sorted(cuts))
    assert Grid.from_chunks(parts, 0.4) == WHOLE


def as_arrow(part: np.ndarray) -> pa.RecordBatch:
    return pa.record_batch([pa.array(column) for column in part.T], names=["a", "b", "c"])


KINDS = {
    "rows": lambda part: part,
    "columns": np.asfortranarray,
    "lists": lambda part: part.tolist(),
    "batch": as_arrow,
    "table": lambda part: pa.Table.from_batches([as_arrow(part[:10]), as_arrow(part[10:])]),
    "pandas": lambda part: pd.DataFrame(part),
    "polars": lambda part: pl.DataFrame(part, schema=["a", "b", "c"]),
    "pair": lambda part: (part, np.ones(len(part), int)),
    "chunk": lambda part: Chunk(part, source="a file"),
}


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_every_kind_of_chunk(kind):
    assert Grid.from_chunks((kind(part) for part in np.split(X, 5)), 0.4) == WHOLE


def test_whole_weights_are_repetitions():
    w = np.random.default_rng(1).integers(0, 4, len(X))
    pairs = zip(np.split(X, 5), np.split(w, 5))
    assert Grid.from_chunks(pairs, 0.4) == Grid.from_points(np.repeat(X, w, axis=0), 0.4)


def test_real_weights_add_up_to_what_was_given():
    w = np.random.default_rng(1).random(len(X))
    grid = Grid.from_chunks(zip(np.split(X, 5), np.split(w, 5)), 0.4)
    assert np.array_equal(grid.cells, WHOLE.cells)
    assert grid.total == pytest.approx(w.sum())


def test_parts_without_rows_are_no_error():
    nothing = [np.empty((0, 3)), pd.DataFrame(columns=["a", "b", "c"]), as_arrow(X[:0]), []]
    assert Grid.from_chunks([*nothing, X, *nothing], 0.4) == WHOLE
    assert Grid.from_chunks(nothing, 0.4) == Grid.empty(0.4, 3)
    assert Grid.from_chunks([], [0.4, 0.5]) == Grid.empty([0.4, 0.5])
    with pytest.raises(InvalidInputError, match="number of features is unknown"):
        Grid.from_chunks([], 0.4)


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (np.array([[0, 0, 0], [0, np.nan, 0]]), "chunk 2, row 2, column 2 is NaN"),
        (pd.DataFrame({"a": [np.inf], "b": [0], "c": [0]}), "chunk 2, row 1, column 'a' is inf"),
        (pa.table({"a": [1.0], "b": [None], "c": [0.0]}), "chunk 2, row 1, column 'b' is NaN"),
        (pa.table({"a": [1, None], "b": [0, 0], "c": [0, 0]}), "chunk 2, row 2, column 'a' is NaN"),
        (pa.table({"a": ["x"], "b": [0], "c": [0]}), "column 'a' holds string, not numbers"),
        (pa.table({"a": [2**60], "b": [0.5], "c": [0]}), "chunk 2, row 1, column 'a' is 11529215"),
        (np.zeros(3), "chunk 2: X must have 2 dimensions"),
        ((X, [1.0]), r"chunk 2: sample_weight must have shape \(500,\), got \(1,\)"),
        (Chunk(X * np.nan, source="b.npy", first=90), "b.npy, row 91, column 1 is NaN"),
    ],
)
def test_a_bad_value_is_named_with_its_place(bad, words):
    with pytest.raises(InvalidInputError, match=words):
        Grid.from_chunks([X, bad], 0.4)


def test_parts_of_another_width_are_refused():
    with pytest.raises(GridMismatchError, match="chunk 2 has 2 features, but 3 were expected"):
        Grid.from_chunks([X, X[:, :2]], 0.4)


def test_a_decimal_is_a_number_and_a_type_is_kept():
    table = pa.table({"a": pa.array(["1.25"]).cast(pa.decimal128(6, 2))})
    assert as_chunk(table).points.tolist() == [[1.25]]
    assert as_chunk(as_arrow(X)).points.dtype == np.float32
    assert as_chunk(pa.table({"a": [2**60]})).points.dtype == np.int64


def test_a_sum_of_many_grids_is_the_sum_whenever_it_is_asked_for():
    parts = [Grid.from_points(part, 0.4) for part in np.split(X, 50)]
    total, expected = GridSum(Grid.empty(0.4, 3)), Grid.empty(0.4, 3)
    for number, part in enumerate(parts):
        total.add(part)
        expected = expected + part
        assert number % 7 or total.grid() == expected
    assert total.grid() == WHOLE


def test_a_cell_that_gets_too_full_is_refused():
    heavy = Grid.from_points([[0.5]], 1, sample_weight=[2**31])
    total = GridSum(heavy)
    total.add(heavy)  # waits
    with pytest.raises(InvalidInputError, match="a cell of weight 4,294,967,296"):
        total.grid()


# -- reading ahead ---------------------------------------------------------------------------------


def readers() -> int:
    return sum(thread.name == "meanshiftpp reader" for thread in threading.enumerate())


def test_reading_ahead_keeps_order_and_errors():
    def items():
        yield from range(100)
        raise KeyError("gone")

    seen = []
    with pytest.raises(KeyError, match="gone"):
        seen.extend(read_ahead(items()))
    assert seen == list(range(100))
    assert readers() == 0


def test_what_cannot_be_iterated_over_is_said_and_not_waited_for():
    class Broken:
        def __iter__(self):
            raise KeyError("no beginning")

    with pytest.raises(KeyError, match="no beginning"):
        list(read_ahead(Broken()))
    with pytest.raises(TypeError, match="not iterable"):
        list(read_ahead(5))
    assert readers() == 0


def test_nobody_waits_for_a_reader_that_is_gone():
    gone = threading.Thread(target=int)
    gone.start()
    gone.join()
    queue: Queue = Queue()
    queue.put(("item", 7))
    assert _get(queue, gone) == ("item", 7)  # its last words
    with pytest.raises(RuntimeError, match="ended unexpectedly"):
        _get(queue, gone)


def test_reading_ahead_stays_within_its_depth():
    given, taken = [], 0

    def items():
        for item in range(50):
            given.append(item)
            yield item

    for _ in read_ahead(items(), depth=3):
        taken += 1
        assert len(given) <= taken + 3 + 1  # waiting, and the one in the reader's hand
    assert taken == 50


def test_a_reader_ends_when_nobody_listens():
    closed = threading.Event()

    def items():
        try:
            while True:
                yield 0
        finally:
            closed.set()

    ahead = read_ahead(items())
    assert next(ahead) == 0
    ahead.close()
    assert closed.is_set()
    assert readers() == 0


def test_columns_in_another_order_are_refused():
    """By position they would be added up wrongly, without a word."""
    frame = pd.DataFrame({"x": [0.0, 1.0], "y": [5.0, 6.0]})
    with pytest.raises(InvalidInputError, match=r"columns y, x, but .* have x, y"):
        Grid.from_chunks([frame, frame[["y", "x"]]], 1.0)
    unnamed = Grid.from_chunks([frame, frame.to_numpy()], 1.0)
    assert unnamed == Grid.from_points(np.vstack([frame, frame]), 1.0)


@pytest.mark.parametrize("garbage", [None, "x", 3.0])
def test_what_is_no_chunk_is_said(garbage):
    with pytest.raises(InvalidInputError, match=r"chunk 2 must be an array .* or a table, got"):
        Grid.from_chunks([np.zeros((2, 2)), garbage], 1.0)
    if not isinstance(garbage, str):
        with pytest.raises(InvalidInputError, match="chunks must be an iterable"):
            Grid.from_chunks(garbage, 1.0)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_frame_is_read_column_by_column(library):
    frames = pytest.importorskip(library)
    frame = frames.DataFrame({"id": np.array([2**53 + 1, 7]), "x": [0.5, 1.5]})
    with pytest.raises(InvalidInputError, match="chunk 1, row 1, column 'id' is 9007199254740993"):
        Grid.from_chunks([frame], 1.0)
    words = frames.DataFrame({"x": [0.5], "name": ["a"]})
    with pytest.raises(InvalidInputError, match=r"column 'name' holds .*, not numbers"):
        Grid.from_chunks([words], 1.0)
    some = frames.DataFrame({"n": np.array([3, 7]), "x": [0.5, 1.5]})
    assert Grid.from_chunks([some], 1.0) == Grid.from_points([[3, 0.5], [7, 1.5]], 1.0)


def test_columns_that_may_miss_values():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"n": pandas.array([3, 7], dtype="Int64"), "x": [0.5, 1.5]})
    assert Grid.from_chunks([frame], 1.0) == Grid.from_points([[3, 0.5], [7, 1.5]], 1.0)
    frame.loc[1, "n"] = pandas.NA
    with pytest.raises(InvalidInputError, match="chunk 1, row 2, column 'n' is NaN"):
        Grid.from_chunks([frame], 1.0)
