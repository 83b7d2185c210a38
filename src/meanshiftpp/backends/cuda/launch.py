"""Launching: kernels compiled when first used, and their arguments."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from meanshiftpp._support.extras import need

cp: Any = need("cupy", "gpu")
Array = Any  # a CuPy array

NULL = np.uint64(0)
MAX_AXES = 6  # kernels for up to this many axes are unrolled
FULL = "the table of cells was too small; please report this"
OPTIONS = ("--std=c++17", "--fmad=false")
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
    """The kernels of one file beside this one."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._found: dict[tuple[str, bool, bool, int], Any] = {}

    @functools.cached_property
    def source(self) -> str:
        """The file with its headers in it: CuPy's cache goes by the text it is given."""
        return _with_headers(self._file)

    def get(self, name: str, *, cooperative: bool = False, shared: bool = False) -> Any:
        """Give a kernel, compiled for the current device; `shared`: launches say how much."""
        key = name, cooperative, shared, cp.cuda.runtime.getDevice()
        if key not in self._found:
            module = cp.RawModule(
                code=self.source,
                options=OPTIONS,
                name_expressions=(name,) if "<" in name else None,
                enable_cooperative_groups=cooperative,
            )
            kernel = module.get_function(name)
            if shared:  # the most there is, so that launches do not undo each other's
                kernel.max_dynamic_shared_size_bytes = here()["shared"]
            self._found[key] = kernel
        return self._found[key]

    def launch(
        self, name: str, size: int, *args: Any, threads: int = 256, blocks: int = 0, shared: int = 0
    ) -> None:
        """Run a kernel with a thread for each of `size`, or with that many blocks."""
        kernel = self.get(name, shared=shared > 0)
        kernel((blocks or -(-size // threads) or 1,), (threads,), args, shared_mem=shared)


def _with_headers(file: str) -> str:
    text = (Path(__file__).parent / file).read_text("utf-8")
    return re.sub(r'#include "(.+)"', lambda found: _with_headers(found[1]), text)


@functools.cache
def _device(index: int) -> dict[str, int]:
    attributes = cp.cuda.Device(index).attributes
    return {
        "processors": attributes["MultiProcessorCount"],
        "shared": attributes["MaxSharedMemoryPerBlockOptin"],
    }


def here() -> dict[str, int]:
    """Say what the current device has."""
    return _device(cp.cuda.runtime.getDevice())


def many_blocks() -> int:
    """How many blocks fill the device, where each takes what comes."""
    return 16 * here()["processors"]


def has_room(size: int) -> bool:
    """Whether a table of that many bytes is a fair share of the GPU's memory."""
    if size <= 2**26:
        return True
    free = cp.cuda.runtime.memGetInfo()[0] + cp.get_default_memory_pool().free_bytes()
    return bool(size <= free // 4)


def by_value(numbers: Iterable[Any], size: int, dtype: Any) -> NDArray[Any]:
    """Return numbers, filled up to the size of the struct they are passed as, as that struct."""
    filled = np.zeros(size, dtype)
    given = list(numbers)
    filled[: len(given)] = given
    return filled.view(f"V{filled.nbytes}")


def points_args(points: Array) -> tuple[Any, ...]:
    """Give what kernels are told of points: where, how many, and the strides in numbers."""
    item = points.dtype.itemsize
    return points, np.int64(len(points)), *(np.int64(s // item) for s in points.strides)


def type_of(points: Array) -> str:
    """Name a type as CUDA does."""
    return _TYPES[points.dtype]
