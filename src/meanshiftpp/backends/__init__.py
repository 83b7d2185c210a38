"""Backends: the loops for an array, on the CPU or on the GPU where the array is.

`protocol` states the interface; `host` and `cuda` implement it with equal results.
"""

from __future__ import annotations

import re
from importlib import import_module
from typing import cast

from meanshiftpp._support.devices import on_gpu
from meanshiftpp.backends.protocol import Backend, Gpu
from meanshiftpp.errors import InvalidInputError


def backend_of(array: object) -> Backend:
    """Return the backend of an array: `cuda` for CuPy arrays, `host` for all others."""
    return cast(Backend, import_module(f"{__name__}.{'cuda' if on_gpu(array) else 'host'}"))


def gpu_of(device: str) -> Gpu | None:
    """Return the GPU of a device name, or None for "cpu"."""
    match = re.fullmatch(r"cuda(?::(\d+))?|cpu", device) if isinstance(device, str) else None
    if not match:
        expected = '"cpu", "cuda" or "cuda:N" for the GPU of number N'
        raise InvalidInputError.for_parameter("device", expected, device)
    if device == "cpu":
        return None
    gpu: Gpu = import_module(f"{__name__}.cuda").CudaGpu(int(match[1] or 0))
    return gpu
