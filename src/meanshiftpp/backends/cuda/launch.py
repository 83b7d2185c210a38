"""Kernels: compiled on first use, and launched with arguments as CUDA expects them."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from meanshiftpp import _kernel
from meanshiftpp._support.extras import need

cp: Any = need("cupy", "gpu")
Array = Any  # a CuPy array

NULL = np.uint64(0)
OVERFLOW = "internal error: a hash table of cells overflowed; please report this"

MAX_AXES = _kernel.MAX_KEY_AXES
MAX_KEYS = 1 << 63  # keys are 64-bit, and a hash table stores them plus one
_LIMITS = ("OFFSET_BITS", "TIE_BITS", "MAX_CELL", "FREE_STEPS", "DOUBLING_STEPS")  # of numbers.cuh
OPTIONS = (
    "--std=c++17",
    "--fmad=false",
    *(f"-DMSPP_{name}={getattr(_kernel, name)}" for name in _LIMITS),
    f"-DMSPP_MAX_AXES={MAX_AXES}",
)

_TYPES = {
    np.dtype("float32"): "float",
    np.dtype("float64"): "double",
    np.dtype("uint8"): "unsigned char",
    np.dtype("int8"): "signed char",
    np.dtype("uint16"): "unsigned short",
    np.dtype("int16"): "short",
    np.dtype("uint32"): "unsigned int",
    np.dtype("int32"): "int",
    np.dtype("uint64"): "unsigned long long",
    np.dtype("int64"): "long long",
}


class Kernels:
    """The kernels of one .cu file in this folder."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._compiled: dict[tuple[str, bool, bool, int], Any] = {}

    @functools.cached_property
    def source(self) -> str:
        """The file with its headers inserted, because CuPy's cache depends on this text only."""
        return _with_headers(self._file)

    def get(self, name: str, *, cooperative: bool = False, shared: bool = False) -> Any:
        """Return a kernel for the current device; `shared`: with dynamic shared memory."""
        key = name, cooperative, shared, cp.cuda.runtime.getDevice()
        if key not in self._compiled:
            module = cp.RawModule(
                code=self.source,
                options=OPTIONS,
                name_expressions=(name,) if "<" in name else None,
                enable_cooperative_groups=cooperative,
            )
            kernel = module.get_function(name)
            if shared:  # the device's maximum, so that no launch lowers the limit of another
                most = device_info().shared_bytes - kernel.shared_size_bytes
                kernel.max_dynamic_shared_size_bytes = most
            self._compiled[key] = kernel
        return self._compiled[key]

    def launch(
        self,
        name: str,
        size: int,
        *args: Any,
        threads: int = 256,
        blocks: int = 0,
        rows: int = 1,
        shared: int = 0,
    ) -> None:
        """Run a kernel with at least `size` threads, or with the given number of blocks.

        There are `rows` rows of blocks.
        """
        kernel = self.get(name, shared=shared > 0)
        kernel((blocks or -(-size // threads) or 1, rows), (threads,), args, shared_mem=shared)


def _with_headers(file: str) -> str:
    text = (Path(__file__).parent / file).read_text("utf-8")
    return re.sub(r'#include "(.+)"', lambda match: _with_headers(match[1]), text)


class DeviceInfo(NamedTuple):
    """The properties of a GPU that decide the shape of launches."""

    processors: int
    shared_bytes: int  # the most shared memory that a block can have


@functools.cache
def _info_of(index: int) -> DeviceInfo:
    attributes = cp.cuda.Device(index).attributes
    return DeviceInfo(attributes["MultiProcessorCount"], attributes["MaxSharedMemoryPerBlockOptin"])


def device_info() -> DeviceInfo:
    """Return the properties of the current device."""
    return _info_of(cp.cuda.runtime.getDevice())


def many_blocks() -> int:
    """Return the number of blocks that fill the device, for kernels that loop over their work."""
    return 16 * device_info().processors


def fits_in_memory(size: int) -> bool:
    """Return whether a table of that many bytes takes at most a quarter of the free memory."""
    if size <= 2**26:
        return True
    free = cp.cuda.runtime.memGetInfo()[0] + cp.get_default_memory_pool().free_bytes()
    return bool(size <= free // 4)


def as_struct(numbers: Iterable[Any], size: int, dtype: Any) -> NDArray[Any]:
    """Pack numbers into a struct of `size` members, to be passed by value; the rest is 0."""
    values = list(numbers)
    members = np.array(values + [0] * (size - len(values)), dtype)
    return members.view(f"V{members.nbytes}")


def points_args(points: Array) -> tuple[Any, ...]:
    """Return the kernel arguments of points: data, number, and strides in items."""
    item = points.dtype.itemsize
    return points, np.int64(len(points)), *(np.int64(s // item) for s in points.strides)


def type_of(points: Array) -> str:
    """Return the name of the points' type in CUDA."""
    return _TYPES[points.dtype]
