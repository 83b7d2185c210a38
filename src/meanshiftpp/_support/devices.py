"""Arrays on the host and on GPUs: where an array is, and how to copy another one there."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np
from numpy.typing import NDArray

from meanshiftpp._support.extras import need
from meanshiftpp.errors import InvalidInputError

_DLPACK_CUDA = 2  # DLPack's number for CUDA devices


def on_gpu(array: object) -> bool:
    """Return whether an array is a CuPy array."""
    kind = type(array)
    return kind is not np.ndarray and kind.__module__.partition(".")[0] == "cupy"


def as_array(values: Any) -> Any:
    """Return a NumPy array, or a CuPy view of an array that is on a GPU.

    Rows of different lengths and masked values raise `InvalidInputError`.
    """
    if on_gpu(values) or type(values) is np.ndarray:
        return values
    check_unmasked(values)
    device = getattr(values, "__dlpack_device__", None)
    if device is not None and device()[0] == _DLPACK_CUDA:
        return need("cupy", "gpu").from_dlpack(values)
    try:
        return np.asarray(values)
    except ValueError as error:
        raise InvalidInputError(
            f"an array must hold numbers in rows of equal length, got {values!r:.60}; fill or "
            "remove the shorter rows"
        ) from error


def check_unmasked(values: object) -> None:
    """Raise if values of a masked array are masked; NumPy would ignore the mask silently."""
    ma = sys.modules.get("numpy.ma")  # slow to import, and there are no masked arrays without it
    if ma is not None and isinstance(values, ma.MaskedArray) and ma.is_masked(values):
        raise InvalidInputError(
            f"an array must not have masked values, got {int(values.mask.sum()):,} of "
            f"{values.size:,}; remove the rows with X[~numpy.ma.getmaskarray(X).any(axis=1)], "
            "replace the values with X.filled(value), or pass the mask of an image as mask"
        )


def module_of(array: object) -> Any:
    """Return the array module of an array: NumPy or CuPy."""
    return need("cupy", "gpu") if on_gpu(array) else np


def device_of(array: Any) -> str:
    """Return the device of an array: "cpu", or "cuda:0" for the first GPU, and so on."""
    return f"cuda:{array.device.id}" if on_gpu(array) else "cpu"


def to_host(array: Any) -> NDArray[Any]:
    """Copy a GPU array to the host; return a NumPy array unchanged."""
    host: NDArray[Any] = array.get() if on_gpu(array) else array
    return host


def current_device(array: Any) -> AbstractContextManager[Any]:
    """Make the array's GPU the current one, for new arrays and for kernels."""
    return array.device if on_gpu(array) else nullcontext()


def to_device_of(array: Any, values: Any) -> Any:
    """Copy values to the device of an array, unless they are there already."""
    values = as_array(values)
    if not on_gpu(array):
        return to_host(values)
    with array.device:
        return module_of(array).asarray(values)
