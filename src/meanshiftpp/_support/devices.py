"""Arrays on the host and on GPUs: where an array is, and how to copy another one there."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np
from numpy.typing import NDArray

from meanshiftpp._support.extras import need

_DLPACK_CUDA = 2  # DLPack's number for CUDA devices


def on_gpu(array: object) -> bool:
    """Return whether an array is a CuPy array."""
    kind = type(array)
    return kind is not np.ndarray and kind.__module__.partition(".")[0] == "cupy"


def as_array(values: Any) -> Any:
    """Return a NumPy array, or a CuPy view of an array that is on a GPU."""
    if on_gpu(values) or isinstance(values, np.ndarray):
        return values
    device = getattr(values, "__dlpack_device__", None)
    if device is not None and device()[0] == _DLPACK_CUDA:
        return need("cupy", "gpu").from_dlpack(values)
    return np.asarray(values)


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
