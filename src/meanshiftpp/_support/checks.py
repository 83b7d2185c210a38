"""What users hand in, checked once at the public edge and brought to the types the kernel reads.

Each message says what was expected and what came.
"""

from __future__ import annotations

import math
import os
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from meanshiftpp._support.devices import as_array, module_of
from meanshiftpp.errors import InvalidInputError

OFFSET_BITS = 32  # of a point's place in its cell
COUNT_LIMIT = 2**32 - 1  # a fuller cell could overflow its 64-bit sums of 32-bit offsets
MAX_RESOLUTION = 64
_REAL_WEIGHT_BITS = 31


def as_points(X: ArrayLike) -> NDArray[np.generic]:
    """Check an array of points and bring it to a type the loops read, without loss."""
    if hasattr(X, "toarray") and hasattr(X, "nnz"):
        raise InvalidInputError("X must be dense, got a sparse matrix; X.toarray() makes it dense")
    points: NDArray[np.generic] = as_array(X)
    if points.ndim != 2:
        hint = "; reshape(-1, 1) makes a column of it" if points.ndim == 1 else ""
        raise InvalidInputError(
            f"X must have 2 dimensions (samples, features), got {points.ndim}{hint}"
        )
    if points.shape[1] == 0:
        raise InvalidInputError(f"X must have at least one feature, got shape {points.shape}")
    kind, size = points.dtype.kind, points.dtype.itemsize
    if kind not in "biuf" or size > 8:
        raise InvalidInputError(
            f"X must hold real numbers of at most 64 bits, got dtype {points.dtype}"
        )
    if any(stride % size for stride in points.strides):  # a field of records: read a copy
        points = module_of(points).ascontiguousarray(points)
    if kind == "b":
        return points.view(np.uint8)
    if kind == "f" and size == 2:
        return points.astype(np.float32)
    return points if points.dtype.isnative else points.astype(points.dtype.newbyteorder("="))


def as_bandwidth(bandwidth: float | ArrayLike, d: int) -> NDArray[np.float64]:
    """Check a bandwidth and give one value per feature."""
    if bandwidth is None:
        raise InvalidInputError("a bandwidth is needed, got None; select_bandwidth(X) chooses one")
    try:
        h = np.array(bandwidth, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidInputError(
            f"bandwidth must be a number or one number per feature, got {bandwidth!r}"
        ) from None
    if h.ndim > 1 or (h.ndim == 1 and len(h) != d):
        raise InvalidInputError(
            f"bandwidth must be one number or {d}, one per feature; got shape {h.shape}"
        )
    if not all(0 < side < math.inf for side in h.ravel().tolist()):
        raise InvalidInputError(f"bandwidth must be positive and finite, got {bandwidth!r}")
    return h if h.ndim else np.full(d, h)


def as_periods(periodic: object, d: int) -> list[float]:
    """Check the periods of the features; 0 stands for none."""
    if periodic is None:
        return [0.0] * d
    given = np.asarray(periodic, dtype=object)
    values: list[Any] = given.tolist() if given.ndim == 1 else [periodic] * d
    if given.ndim > 1 or len(values) != d:
        raise InvalidInputError(
            f"periodic must be None or {d} values, a period or None for each feature; "
            f"got {periodic!r}"
        )
    for value in values:
        number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
        if value is not None and not (number and math.isfinite(value) and value > 0):
            raise InvalidInputError(
                f"a period must be a positive, finite number or None, got {value!r} in {periodic!r}"
            )
    return [0.0 if value is None else float(value) for value in values]


def snap(
    bandwidth: float | ArrayLike,
    periodic: object,
    d: int,
    window: int = 3,
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Take the nearest bandwidth that divides each period, and the number of cells in it.

    A period must hold a window of so many cells: wider ones would see a cell twice.
    """
    h, period = as_bandwidth(bandwidth, d), np.zeros(d, np.int64)
    for j, length in enumerate(as_periods(periodic, d)):
        if length == 0:
            continue
        cells = float(np.rint(length / h[j]))
        if cells < window:
            raise InvalidInputError(
                f"a period must be as long as a window, {window} cells, but the period {length:g} "
                f"of feature {j} has {cells:g} of side {h[j]:g}; take a bandwidth of at most "
                f"{length / 3:g} there"
            )
        if cells >= 2.0**51:
            raise InvalidInputError(
                f"the period {length:g} of feature {j} has {cells:g} cells of side {h[j]:g}, too "
                "many to number; take a larger bandwidth"
            )
        period[j], h[j] = int(cells), length / cells
    return h, period


def refuse_short_periods(period: NDArray[np.int64], window: int, advice: str) -> None:
    """Refuse a window that would see a cell twice."""
    if any(0 < cells < window for cells in period.tolist()):
        raise InvalidInputError(
            f"a period must be as long as a window, {window} cells, but periods have "
            f"{period[period > 0].tolist()}; {advice}"
        )


def as_weights(sample_weight: ArrayLike, n: int) -> tuple[NDArray[np.uint64], float]:
    """Check weights and give them as whole multiples of a unit."""
    w = as_array(sample_weight)
    w = w.astype(np.float64) if w.dtype == np.float16 else w
    if w.shape != (n,):
        raise InvalidInputError(f"sample_weight must have shape ({n},), got {w.shape}")
    if w.dtype.kind not in "biuf":
        raise InvalidInputError(f"sample_weight must hold real numbers, got dtype {w.dtype}")
    bad = np.flatnonzero(~(np.isfinite(w) & (w >= 0)))
    if bad.size:
        raise InvalidInputError(
            f"sample_weight must be finite and not negative, got {w[bad[0]]} at {bad[0]}"
        )
    whole = w.dtype.kind in "biu"
    peak = w.max() if w.size else 0
    if whole and peak > COUNT_LIMIT:
        raise InvalidInputError(
            f"a whole sample_weight must be at most {COUNT_LIMIT:,}, got {peak} at {w.argmax()}"
        )
    if whole or (peak <= COUNT_LIMIT and (w == np.floor(w)).all()):
        return module_of(w).ascontiguousarray(w, dtype=np.uint64), 1.0
    return _real_weights(w.astype(np.float64))


def _real_weights(w: NDArray[np.float64]) -> tuple[NDArray[np.uint64], float]:
    # Summed as whole parts of the largest, so that the order of the rows does not matter.
    part = math.ldexp(1.0, max(math.frexp(float(w.max()))[1] - 30, -1022))
    total = float(np.rint(w / part).astype(np.int64).sum()) * part
    if not math.isfinite(total):
        raise InvalidInputError("the sum of sample_weight overflows; scale the weights down")
    exponent = math.frexp(total)[1] - _REAL_WEIGHT_BITS
    if exponent < -1022 or not total:
        raise InvalidInputError(
            f"the largest sample_weight, {w.max():g}, is too small to be divided; "
            "scale the weights up"
        )
    unit = math.ldexp(1.0, exponent)
    counts = np.where(w > 0, np.maximum(np.rint(w / unit), 1), 0)
    return counts.astype(np.uint64), unit


def as_positive(value: object, name: str) -> float:
    """Check a number above 0."""
    number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    if not number or not 0 < value < math.inf:  # type: ignore[operator]
        raise InvalidInputError(f"{name} must be a positive number, got {value!r}")
    return float(value)  # type: ignore[arg-type]


def as_whole(value: object, name: str, low: int, high: int | None = None) -> int:
    """Check a whole number."""
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not whole or value < low or (high is not None and value > high):  # type: ignore[operator]
        upto = "" if high is None else f" to {high:,}"
        raise InvalidInputError(f"{name} must be a whole number from {low:,}{upto}, got {value!r}")
    return int(value)  # type: ignore[call-overload,no-any-return]


def thread_count(n_threads: int | None) -> int:
    """Resolve a number of threads: by default the cores this process may use."""
    if n_threads is not None:
        return min(as_whole(n_threads, "n_threads", 1), 256)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    limit = os.environ.get("OMP_NUM_THREADS", "")  # how schedulers and joblib ask for restraint
    return max(1, min(cores or 1, int(limit) if limit.isdigit() and int(limit) else 256))
