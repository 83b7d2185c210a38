"""Helpers of the tests on a GPU: data, copies and comparisons."""

import numpy as np
import pytest

from meanshiftpp._support.devices import on_gpu, to_host


def _gpu_count() -> int:
    try:
        import cupy

        return cupy.cuda.runtime.getDeviceCount()
    except Exception:
        return 0


needs_gpu = pytest.mark.skipif(not _gpu_count(), reason="no CuPy or no GPU: not tested on a GPU")


def blobs(d, dtype, n=3000, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) + 5 * rng.integers(0, 3, (n, 1))
    if np.dtype(dtype).kind in "iu":
        return (X * 10 + 60).clip(0, 255).astype(dtype)
    return X.astype(dtype)


def to_gpu(array):
    import cupy

    return cupy.asarray(array)


def same(a, b):
    return np.array_equal(to_host(a), b)


def assert_equal_arrays(actual, expected):
    """Compare the arrays of a GPU with those of the host, and their types."""
    for a, e in zip(actual, expected, strict=True):
        assert on_gpu(a)
        assert a.dtype == e.dtype
        assert same(a, e)
