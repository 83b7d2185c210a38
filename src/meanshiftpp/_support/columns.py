"""Columns of Arrow tables and data frames as one array of numbers, without silent rounding."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any
from weakref import finalize

import numpy as np
from numpy.typing import NDArray

from meanshiftpp.errors import InvalidInputError

_EXACT = 2**53  # whole numbers of this magnitude or more may be rounded in float64


def is_numeric(arrow_type: Any) -> bool:
    """Return whether an Arrow type holds numbers."""
    from pyarrow import types

    return bool(
        types.is_integer(arrow_type)
        or types.is_floating(arrow_type)
        or types.is_decimal(arrow_type)
    )


def is_long_integer(arrow_type: Any) -> bool:
    """Return whether an Arrow type holds whole numbers of 64 bits."""
    from pyarrow import types

    return bool(types.is_int64(arrow_type) or types.is_uint64(arrow_type))


def is_untyped(arrow_type: Any) -> bool:
    """Return whether an Arrow type is null: the column is empty, or all its values are missing."""
    from pyarrow import types

    return bool(types.is_null(arrow_type))


def is_text(arrow_type: Any) -> bool:
    """Return whether an Arrow type holds texts, also as a dictionary."""
    from pyarrow import types

    kind = arrow_type.value_type if types.is_dictionary(arrow_type) else arrow_type
    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))


class Memory:
    """Memory for arrays of about one size, which is used again when no array refers to it.

    The system clears the pages of new memory, which takes as long as copying columns into it.
    """

    def __init__(self) -> None:
        self._free: list[NDArray[np.uint8]] = []

    def empty(self, shape: tuple[int, int], dtype: np.dtype[Any]) -> NDArray[Any]:
        """Return an array that is not initialised, as `numpy.empty` does."""
        size = shape[0] * shape[1] * dtype.itemsize
        block = self._free.pop() if self._free else np.empty(size, np.uint8)
        if len(block) < size:
            block = np.empty(size, np.uint8)
        # Views refer to `whole` and not to `block`, because `whole` is not a view of an array.
        whole = np.frombuffer(block.data, np.uint8)
        finalize(whole, self._free.append, block).atexit = False
        return whole[:size].view(dtype).reshape(shape)


def array_from_arrow(table: Any, memory: Memory | None = None) -> NDArray[Any]:
    """Return the columns of an Arrow table or batch as an array; missing values become NaN.

    The result may be a view of `memory`.
    """
    columns = [_arrow_column(column, j) for j, column in enumerate(table.columns)]
    return _stack_columns(columns, memory)


def is_table(X: Any) -> bool:
    """Return whether an object is an Arrow table or a data frame in memory."""
    named = hasattr(X, "column_names") or (hasattr(X, "columns") and hasattr(X, "dtypes"))
    shape = getattr(X, "shape", None)
    return named and isinstance(shape, tuple) and all(isinstance(n, int) for n in shape)


def array_from_table(X: Any) -> NDArray[Any]:
    """Return the columns of an Arrow table or a data frame as an array; each must hold numbers."""
    if not hasattr(X, "column_names"):
        return array_from_frame(X)
    from pyarrow import types, uint8

    for j, field in enumerate(X.schema):
        if types.is_boolean(field.type):
            X = X.set_column(j, field.name, X.column(j).cast(uint8()))
        elif not (is_numeric(field.type) or is_untyped(field.type)):
            raise _not_numbers(field.name, field.type)
    return array_from_arrow(X) if X.num_columns and len(X) else np.empty(X.shape)


def array_from_frame(frame: Any) -> NDArray[Any]:
    """Return the columns of a data frame as an array; missing values become NaN.

    Columns are converted one by one, because a conversion of the whole frame would round large
    whole numbers without notice.
    """
    arrays = [_frame_column(frame, j, name) for j, name in enumerate(frame.columns)]
    return _stack_columns(arrays) if arrays else np.empty((len(frame), 0))


def unique_names(
    names: Iterable[str], taken: Iterable[str] = (), *, key: Callable[[str], str] = str.lower
) -> list[str]:
    """Return names of columns that differ, also from those that are taken.

    By default they differ in more than upper and lower case, as GDAL requires.

    Examples
    --------
    >>> from meanshiftpp._support.columns import unique_names
    >>> unique_names(["x", "X", "size"], taken=["size"])
    ['x', 'X_2', 'size_2']
    """
    used, result = {key(name) for name in taken}, []
    for name in names:
        new, number = name, 1
        while key(new) in used:
            number += 1
            new = f"{name}_{number}"
        used.add(key(new))
        result.append(new)
    return result


def is_exact(array: NDArray[Any]) -> bool:
    """Return whether float64 holds all whole numbers of the array."""
    return not _inexact(array, np.dtype(np.float64)).any()


def _inexact(array: NDArray[Any], dtype: np.dtype[Any]) -> NDArray[np.bool_]:
    inexact: NDArray[np.bool_] = np.abs(array.astype(dtype)) >= _EXACT
    return inexact


def check_exact(array: NDArray[Any], dtype: np.dtype[Any], column: int) -> None:
    """Raise if conversion to a floating type could change whole numbers of the array."""
    if dtype.kind == "f" and array.dtype.kind in "iu" and array.dtype.itemsize == 8:
        bad = np.flatnonzero(_inexact(array, dtype))
        if bad.size:
            raise _rounded(array[bad[0]], int(bad[0]), column)


def _rounded(value: int, row: int, column: int) -> InvalidInputError:
    problem = "which float64 cannot hold reliably; leave the column out or subtract an offset"
    return InvalidInputError(f"is {value}, {problem}", row=row, column=column)


def _stack_columns(arrays: list[NDArray[Any]], memory: Memory | None = None) -> NDArray[Any]:
    """Put columns side by side, in the type that holds them all.

    The result is stored column by column: the kernel reads any strides, and copying a whole column
    is much faster than spreading it over rows.
    """
    if len(arrays) == 1:
        return arrays[0][:, None]
    empty = np.empty if memory is None else memory.empty
    points: NDArray[Any] = empty((len(arrays), len(arrays[0])), np.result_type(*arrays))
    for j, array in enumerate(arrays):
        points[j] = array
        check_exact(array, points.dtype, j)
    return points.T


def _arrow_column(column: Any, j: int) -> NDArray[Any]:
    from pyarrow import float64, types

    if column.null_count and is_long_integer(column.type):  # NaN makes the others real numbers
        check_exact(_arrow_column(column.fill_null(0), j), np.dtype(np.float64), j)
    if types.is_decimal(column.type) or types.is_null(column.type):
        column = column.cast(float64())
    chunked = hasattr(column, "num_chunks")
    parts = [part for part in (column.chunks if chunked else [column]) if len(part)]
    if column.null_count or not parts:  # seldom, because to_numpy imports pandas
        values: NDArray[Any] = column.to_numpy(**({} if chunked else {"zero_copy_only": False}))
        return values
    arrays = [np.from_dlpack(part) for part in parts]
    return arrays[0] if len(arrays) == 1 else np.concatenate(arrays)


def _frame_column(frame: Any, j: int, name: object) -> NDArray[Any]:
    column = frame.iloc[:, j] if hasattr(frame, "iloc") else frame[name]
    try:
        array: NDArray[Any] = np.asarray(column)
    except MemoryError:
        raise
    except Exception as error:  # such as 128 bits in polars, whose errors have no common class
        raise InvalidInputError(
            f"column {name!r} must hold real numbers of at most 64 bits, got {column.dtype}; "
            "convert it, or select the columns to cluster"
        ) from error
    if hasattr(column.dtype, "numpy_dtype"):  # one of pandas' nullable types
        dtype = np.dtype(np.float64) if column.hasnans else column.dtype.numpy_dtype
        array = column.to_numpy(dtype, na_value=np.nan) if column.hasnans else array.astype(dtype)
    if array.dtype == object:  # decimals, and numbers of several Python types
        try:
            numbers = array.astype(np.float64)
        except (OverflowError, TypeError, ValueError):
            raise _not_numbers(name, column.dtype) from None
        for row in np.flatnonzero(np.abs(numbers) >= _EXACT).tolist():
            if isinstance(array[row], (int, np.integer)):
                raise _rounded(array[row], row, j)
        return numbers
    if array.dtype.kind not in "biuf":
        raise _not_numbers(name, column.dtype)
    return array


def _not_numbers(name: object, kind: object) -> InvalidInputError:
    return InvalidInputError(
        f"column {name!r} holds {kind}, not numbers; select the columns to cluster"
    )
