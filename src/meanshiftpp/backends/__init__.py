"""Which loops work on an array: the CPU's, or those of the GPU it is on.

A backend is a module with the functions below, alike in arguments and equal in results, bit for
bit; `host` and `cuda` are the two. The array chooses: CuPy's go to the GPU, others to the CPU.
"""

from __future__ import annotations

import re
from importlib import import_module
from typing import Any, Protocol, cast

from meanshiftpp._arrays import on_gpu
from meanshiftpp.errors import InvalidInputError


class Backend(Protocol):
    """What a backend does; see `_kernel.pyi` for the arguments."""

    bin_points: Any
    merge_cells: Any
    seek_modes: Any
    find_cells: Any
    window_counts: Any
    nearest_modes: Any


def backend_of(array: Any) -> Backend:
    """Choose the loops for an array."""
    return cast(Backend, import_module(f"{__name__}.{'cuda' if on_gpu(array) else 'host'}"))


def gpu_of(device: str) -> Any:
    """Give the GPU of that name, which copies arrays to itself; None for "cpu"."""
    named = re.fullmatch(r"cuda(?::(\d+))?|cpu", device) if isinstance(device, str) else None
    if not named:
        raise InvalidInputError(f'a device is "cpu", "cuda" or "cuda:1", ...; got {device!r}')
    if device == "cpu":
        return None
    return import_module(f"{__name__}.cuda").Gpu(int(named[1] or 0))
