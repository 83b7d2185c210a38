"""Columns of tables as one array: types are kept, and nothing is rounded silently."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from meanshiftpp._support.columns import (
    Memory,
    array_from_arrow,
    array_from_frame,
    check_exact,
    is_numeric,
    is_untyped,
)
from meanshiftpp.errors import InvalidInputError

pa = pytest.importorskip("pyarrow")
pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")

FRAMES = {"pandas": pd.DataFrame, "polars": pl.DataFrame}


def test_numeric_types_of_arrow():
    assert all(is_numeric(kind) for kind in (pa.int8(), pa.uint64(), pa.float32()))
    assert is_numeric(pa.decimal128(6, 2))
    assert not any(is_numeric(kind) for kind in (pa.string(), pa.bool_(), pa.null()))
    assert is_untyped(pa.null())
    assert not is_untyped(pa.float64())


def test_arrow_columns_keep_a_common_type():
    floats = pa.table({"a": pa.array([1, 2], pa.float32()), "b": pa.array([3, 4], pa.float32())})
    assert array_from_arrow(floats).dtype == np.float32
    assert array_from_arrow(pa.table({"a": [2**60]})).dtype == np.int64
    mixed = pa.table({"a": pa.array([1], pa.int32()), "b": [0.5]})
    assert array_from_arrow(mixed).tolist() == [[1.0, 0.5]]


def test_arrow_decimals_and_missing_values_become_floats():
    decimal = pa.table({"a": pa.array(["1.25"]).cast(pa.decimal128(6, 2))})
    assert array_from_arrow(decimal).tolist() == [[1.25]]
    missing = array_from_arrow(pa.table({"a": [1, None], "b": pa.nulls(2)}))
    assert np.array_equal(missing, [[1, np.nan], [np.nan, np.nan]], equal_nan=True)


def test_record_batch_equals_its_table():
    batch = pa.record_batch([pa.array([1.0, 2.0]), pa.array([3, 4])], names=["a", "b"])
    assert array_from_arrow(batch).tolist() == [[1.0, 3.0], [2.0, 4.0]]


@pytest.mark.parametrize("make", FRAMES.values(), ids=FRAMES)
def test_frame_columns_keep_a_common_type(make):
    frame = make({"n": np.array([3, 7]), "x": [0.5, 1.5]})
    assert array_from_frame(frame).tolist() == [[3, 0.5], [7, 1.5]]
    assert array_from_frame(frame[["n"]]).dtype == np.int64


def test_frame_without_columns_keeps_its_rows():
    assert array_from_frame(pd.DataFrame(index=range(3))).shape == (3, 0)


@pytest.mark.parametrize("make", FRAMES.values(), ids=FRAMES)
def test_large_whole_numbers_beside_floats_raise(make):
    frame = make({"x": [0.5, 1.5], "id": np.array([7, 2**53 + 1])})
    with pytest.raises(InvalidInputError, match="is 9007199254740993, which float64") as caught:
        array_from_frame(frame)
    assert (caught.value.row, caught.value.column) == (1, 1)


@pytest.mark.parametrize("columns", [["id"], ["id", "x"]])
def test_large_whole_numbers_among_missing_values_and_objects_raise(columns):
    """NaN makes the whole numbers beside it real ones, and so does a column of objects."""
    ids = [7, None, 2**53 + 1]
    table = pa.table({"id": pa.array(ids), "x": [0.5, 1.5, 2.5]}).select(columns)
    frame = pd.DataFrame({"id": pd.Series([7, 8, ids[2]], dtype=object), "x": [0.5, 1.5, 2.5]})
    for read, data in ((array_from_arrow, table), (array_from_frame, frame[columns])):
        with pytest.raises(InvalidInputError, match="is 9007199254740993, which float64") as caught:
            read(data)
        assert (caught.value.row, caught.value.column) == (2, 0)
    small = pa.table({"id": pa.array([7, None])})
    assert np.array_equal(array_from_arrow(small), [[7], [np.nan]], equal_nan=True)


@pytest.mark.parametrize("make", FRAMES.values(), ids=FRAMES)
def test_columns_of_text_raise(make):
    with pytest.raises(InvalidInputError, match=r"column 'name' holds .*, not numbers"):
        array_from_frame(make({"x": [0.5], "name": ["a"]}))


def test_nullable_columns_of_pandas():
    frame = pd.DataFrame({"n": pd.array([3, 7], dtype="Int64")})
    assert array_from_frame(frame).dtype == np.int64
    frame.loc[1, "n"] = pd.NA
    assert np.array_equal(array_from_frame(frame), [[3], [np.nan]], equal_nan=True)


def test_exactness_is_checked_for_64_bit_integers_only():
    large = np.array([0, 2**53])
    with pytest.raises(InvalidInputError, match="is 9007199254740992") as caught:
        check_exact(large, np.dtype(np.float64), 4)
    assert (caught.value.row, caught.value.column) == (1, 4)
    check_exact(large, np.dtype(np.int64), 0)
    check_exact(large - 1, np.dtype(np.float64), 0)
    check_exact(np.array([2**31 - 1], np.int32), np.dtype(np.float64), 0)


# -- memory that is used again ---------------------------------------------------------------------


@settings(max_examples=50)
@given(st.lists(st.tuples(st.integers(1, 3), st.integers(1, 40), st.integers(0, 3)), max_size=40))
def test_arrays_never_share_memory_while_in_use(requests):
    memory, kept = Memory(), []
    for number, (width, length, n_dropped) in enumerate(requests):
        dtype = np.dtype([np.float32, np.float64, np.int16][number % 3])
        array = memory.empty((width, length), dtype)
        assert (array.shape, array.dtype) == ((width, length), dtype)
        array[:] = number
        kept.append((number, array.T[length // 2 :]))  # a view is enough to keep the memory
        del array
        assert all((view == value).all() for value, view in kept)
        kept = kept[n_dropped:]


def test_memory_is_used_again():
    memory = Memory()
    places = set()
    for length in (100, 90, 100, 1):
        array = memory.empty((3, length), np.dtype(np.float32))
        places.add(array.ctypes.data)
        del array
    assert len(places) == 1


@pytest.mark.parametrize("single", [True, False])
def test_columns_in_used_memory_keep_their_values(single):
    memory, names = Memory(), ["a"] if single else ["a", "b", "c"]
    values = np.arange(4.0 * len(names)).reshape(4, -1)
    arrays = [array_from_arrow(pa.table([*(values.T + k)], names), memory) for k in range(3)]
    for k, array in enumerate(arrays):
        np.testing.assert_array_equal(array, values + k)


def test_columns_of_several_chunks_and_missing_values():
    parts = [pa.chunked_array([[1.5], [], [2.5, 3.5]]), pa.chunked_array([[1, 2], [None]])]
    array = array_from_arrow(pa.table(parts, ["a", "b"]))
    np.testing.assert_array_equal(array, [[1.5, 1], [2.5, 2], [3.5, np.nan]])
    empty = array_from_arrow(pa.table([pa.chunked_array([], pa.float32())], ["a"]))
    assert (empty.shape, empty.dtype) == ((0, 1), np.float32)
