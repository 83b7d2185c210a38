"""Columns of tables as one array: types are kept, and nothing is rounded silently."""

from __future__ import annotations

import numpy as np
import pytest

from meanshiftpp._support.columns import (
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
