"""Backends: the loops for an array, on the CPU or on the GPU where the array is.

`protocol` states the interface; `host` and `cuda` implement it with equal results.
"""

from __future__ import annotations

import re

from meanshiftpp._support.devices import on_gpu
from meanshiftpp.backends import host
from meanshiftpp.backends.protocol import Backend, Gpu
from meanshiftpp.errors import InvalidInputError


def backend_of(array: object) -> Backend:
    """Return the backend of an array: `cuda` for CuPy arrays, `host` for all others."""
    if not on_gpu(array):
        return host
    from meanshiftpp.backends import cuda  # needs CuPy

    return cuda


def gpu_of(device: str) -> Gpu | None:
    """Return the GPU of a device name, or None for "cpu"."""
    match = re.fullmatch(r"cuda(?::(\d+))?|cpu", device) if isinstance(device, str) else None
    if not match:
        expected = '"cpu", "cuda" or "cuda:N" for the GPU of number N'
        raise InvalidInputError.for_parameter("device", expected, device)
    if device == "cpu":
        return None
    from meanshiftpp.backends.cuda import CudaGpu  # needs CuPy

    return CudaGpu(int(match[1] or 0))
