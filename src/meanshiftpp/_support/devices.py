"""Where an array is, on the host or on a GPU, and how to bring another one there."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np
from numpy.typing import NDArray

from meanshiftpp._support.extras import need

_CUDA = 2  # how DLPack names the devices of CUDA


def on_gpu(array: object) -> bool:
    """Whether an array is CuPy's."""
    return type(array).__module__.partition(".")[0] == "cupy"


def as_array(values: Any) -> Any:
    """Give a NumPy array, or, of an array on a GPU, CuPy's view of it."""
    if on_gpu(values) or isinstance(values, np.ndarray):
        return values
    where = getattr(values, "__dlpack_device__", None)
    if where is not None and where()[0] == _CUDA:
        return need("cupy", "gpu").from_dlpack(values)
    return np.asarray(values)


def module_of(array: object) -> Any:
    """Give the module an array's functions are in, NumPy or CuPy."""
    return need("cupy", "gpu") if on_gpu(array) else np


def device_of(array: Any) -> str:
    """Name where an array is: "cpu", or "cuda:0" for the first GPU, and so on."""
    return f"cuda:{array.device.id}" if on_gpu(array) else "cpu"


def on_host(array: Any) -> NDArray[Any]:
    """Copy a GPU's array to the host; NumPy's stay."""
    host: NDArray[Any] = array.get() if on_gpu(array) else array
    return host


def working_on(array: Any) -> AbstractContextManager[Any]:
    """Make the GPU an array is on the current one, for new arrays and for kernels."""
    return array.device if on_gpu(array) else nullcontext()


def beside(array: Any, values: Any) -> Any:
    """Copy values to where an array is, unless they are there."""
    values = as_array(values)
    if not on_gpu(array):
        return on_host(values)
    with array.device:
        return module_of(array).asarray(values)
