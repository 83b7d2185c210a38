"""From the host to a GPU: arrays whole, or a batch at a time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from meanshiftpp.backends.cuda.launch import Array, cp
from meanshiftpp.errors import InvalidInputError

BATCH_BYTES = 1 << 28  # of points that are copied to the GPU at a time


class Gpu:
    """A GPU to which arrays are copied, whole or a batch at a time."""

    def __init__(self, index: int) -> None:
        try:
            count = cp.cuda.runtime.getDeviceCount()
        except cp.cuda.runtime.CUDARuntimeError:
            count = 0
        if index >= count:
            raise InvalidInputError(
                f"there is no GPU {index}: CUDA sees {count} here; see nvidia-smi"
            )
        self.device = cp.cuda.Device(index)

    def __call__(self, array: Any) -> Array:
        """Copy an array, unless it is there."""
        with self.device:
            return cp.asarray(array)

    def batches(self, points: NDArray[Any]) -> Iterator[tuple[int, Array]]:
        """Give the rows of a host array in order, with the number of the first.

        While one batch is worked on, the next is copied, through memory that the GPU can read by
        itself.
        """
        n, d = points.shape
        rows = max(1, min(n, BATCH_BYTES // (points.dtype.itemsize * d)))
        with self.device:
            copying = cp.cuda.Stream(non_blocking=True)
            stages = [_Stage(rows, d, points.dtype) for _ in range(2)]
            try:
                stages[0].send(points[:rows], copying)
                for number, start in enumerate(range(0, n, rows)):
                    here, other = stages[number % 2], stages[1 - number % 2]
                    if start + rows < n:
                        other.send(points[start + rows : start + 2 * rows], copying)
                    yield start, here.receive()
                    here.free.record()
            finally:
                copying.synchronize()  # before the memory it copies to is given back


class _Stage:
    """A batch on its way: in pinned memory on the host, and its place on the GPU."""

    def __init__(self, rows: int, d: int, dtype: Any) -> None:
        memory = cp.cuda.alloc_pinned_memory(rows * d * dtype.itemsize)
        self.host = np.frombuffer(memory, dtype, rows * d).reshape(rows, d)
        self.there = cp.empty((rows, d), dtype)
        self.sent, self.free = cp.cuda.Event(), cp.cuda.Event()
        self.free.record()
        self.rows = 0

    def send(self, points: NDArray[Any], copying: Any) -> None:
        """Copy a batch, once the one before is done with."""
        self.free.synchronize()
        self.rows = len(points)
        np.copyto(self.host[: self.rows], points)
        self.there[: self.rows].set(self.host[: self.rows], stream=copying)
        self.sent.record(copying)

    def receive(self) -> Array:
        """Give the batch to the current stream, which waits for it."""
        cp.cuda.get_current_stream().wait_event(self.sent)
        return self.there[: self.rows]
