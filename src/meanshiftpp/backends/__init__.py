"""Which loops work on an array: the CPU's, or those of the GPU it is on.

A backend is a module with the functions below, alike in arguments and equal in results, bit for
bit; `host` and `cuda` are the two. The array chooses: CuPy's go to the GPU, others to the CPU.
"""

from __future__ import annotations

import re
from importlib import import_module
from typing import Any, Protocol, cast

from meanshiftpp._support.devices import on_gpu
from meanshiftpp.errors import InvalidInputError


class Backend(Protocol):
    """What a backend does; `_kernel.pyi` says more of the arguments. Arrays are in one place."""

    def bin_points(
        self,
        points: Any,
        bandwidth: Any,
        weights: Any,
        ids: Any,
        n_threads: int,
    ) -> Any:
        """Give cells, counts, sums, and the assignment of points to cells; OUT `ids` for that."""

    def merge_cells(self, cells: Any, counts: Any, sums: Any) -> Any:
        """Give rows sorted, those of the same cell added up, and where each row went."""

    def seek_modes(
        self,
        cells: Any,
        counts: Any,
        sums: Any,
        period: Any,
        reach: int,
        tol: float,
        max_iter: int,
        n_threads: int,
    ) -> Any:
        """Give cell labels, the modes' cells, places and weights, steps, and whether it ended."""

    def find_cells(
        self, cells: Any, counts: Any, query: Any, period: Any, reach: int, n_threads: int
    ) -> Any:
        """Give the index of each query cell, else of the heaviest within reach, else -1."""

    def window_counts(
        self, cells: Any, counts: Any, query: Any, period: Any, reach: int, n_threads: int
    ) -> Any:
        """Give the sum of the counts within reach of each query cell."""

    def nearest_modes(self, places: Any, modes: Any, period: Any) -> Any:
        """Give the nearest mode of each place, the first of equals; both in cells."""


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
