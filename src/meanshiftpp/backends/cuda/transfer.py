"""From the host to a GPU: whole arrays, or points in batches."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from meanshiftpp.backends.cuda.launch import Array, cp
from meanshiftpp.backends.protocol import Points
from meanshiftpp.errors import InvalidInputError

BATCH_BYTES = 1 << 28  # of points that are copied to the GPU at a time


class CudaGpu:
    """A GPU that copies arrays to itself."""

    def __init__(self, index: int) -> None:
        try:
            count = cp.cuda.runtime.getDeviceCount()
        except cp.cuda.runtime.CUDARuntimeError:
            count = 0
        if index >= count:
            expected = f'"cpu" or one of the {count} GPUs that CUDA finds'
            advice = "nvidia-smi lists the GPUs of this machine"
            raise InvalidInputError.for_parameter("device", expected, f"cuda:{index}", advice)
        self.device = cp.cuda.Device(index)

    def __call__(self, array: NDArray[Any]) -> NDArray[Any]:
        """Copy an array to the GPU, unless it is there."""
        with self.device:
            copy: NDArray[Any] = cp.asarray(array)
        return copy

    def batches(self, points: Points) -> Iterator[tuple[int, Points]]:
        """Yield the rows of a host array in batches, each with the number of its first row.

        The next batch is copied through pinned memory while the caller processes this one.
        """
        n, d = points.shape
        rows = max(1, min(n, BATCH_BYTES // (points.dtype.itemsize * d)))
        with self.device:
            copying = cp.cuda.Stream(non_blocking=True)
            buffers = [_Buffer(rows, d, points.dtype) for _ in range(2)]
            try:
                buffers[0].send(points[:rows], copying)
                for number, start in enumerate(range(0, n, rows)):
                    buffer, other = buffers[number % 2], buffers[1 - number % 2]
                    if start + rows < n:
                        other.send(points[start + rows : start + 2 * rows], copying)
                    yield start, buffer.receive()
                    buffer.processed.record()
            finally:
                copying.synchronize()  # before the memory that it writes to is freed


class _Buffer:
    """Room for a batch, in pinned memory on the host and on the GPU."""

    def __init__(self, rows: int, d: int, dtype: Any) -> None:
        memory = cp.cuda.alloc_pinned_memory(rows * d * dtype.itemsize)
        self.on_host = np.frombuffer(memory, dtype, rows * d).reshape(rows, d)
        self.on_gpu = cp.empty((rows, d), dtype)
        self.sent, self.processed = cp.cuda.Event(), cp.cuda.Event()
        self.processed.record()
        self.rows = 0

    def send(self, points: NDArray[Any], copying: Any) -> None:
        """Copy a batch to the GPU, as soon as the previous one has been processed."""
        self.processed.synchronize()
        self.rows = len(points)
        np.copyto(self.on_host[: self.rows], points)
        self.on_gpu[: self.rows].set(self.on_host[: self.rows], stream=copying)
        self.sent.record(copying)

    def receive(self) -> Array:
        """Return the batch; the current stream waits for the copy."""
        cp.cuda.get_current_stream().wait_event(self.sent)
        return self.on_gpu[: self.rows]
