"""Checks of user input, made once at the public edge, with conversion to the kernel's types.

Each message states what was expected and what was received.
"""

from __future__ import annotations

import math
import os
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from meanshiftpp._kernel import COUNT_LIMIT, MAX_CELL, MAX_FEATURES, MAX_REACH
from meanshiftpp._support.columns import array_from_table, is_table
from meanshiftpp._support.devices import as_array, module_of, to_device_of, to_host
from meanshiftpp._support.warnings import warn_user
from meanshiftpp.errors import InvalidInputError

Periodic = float | Sequence[float | None] | None
MAX_THREADS = 256
_LABEL_LIMIT = 2**31
_REAL_WEIGHT_BITS = 31
_INFLATION = 2.0**-20  # share of the total weight that tiny weights may gain without a warning
_MIN_EXPONENT = -1022  # of a normal double
_LEAST_BANDWIDTH = 2.0**_MIN_EXPONENT  # smaller numbers have fewer bits


def as_points(X: ArrayLike) -> NDArray[np.generic]:
    """Check an array of points and convert it, without loss, to a type the kernel reads."""
    if type(X) is not np.ndarray and hasattr(X, "toarray") and hasattr(X, "nnz"):
        raise InvalidInputError("X must be dense, got a sparse matrix; X.toarray() makes it dense")
    points: NDArray[np.generic] = array_from_table(X) if is_table(X) else as_array(X)
    if points.ndim != 2:
        hint = "; reshape(-1, 1) makes it a column" if points.ndim == 1 else ""
        raise InvalidInputError(
            f"X must have 2 dimensions (samples, features), got {points.ndim}{hint}"
        )
    if points.shape[1] == 0:
        raise InvalidInputError(f"X must have at least one feature, got shape {points.shape}")
    check_features(points.shape[1])
    kind, size = points.dtype.kind, points.dtype.itemsize
    if kind not in "biuf" or size > 8:
        raise InvalidInputError(
            f"X must hold real numbers of at most 64 bits, got dtype {points.dtype}"
        )
    if not points.flags.c_contiguous and any(stride % size for stride in points.strides):
        # The column is a field of a structured array.
        points = module_of(points).ascontiguousarray(points)
    if kind == "b":
        return points.view(np.uint8)
    if kind == "f" and size == 2:
        return points.astype(np.float32)
    return points if points.dtype.isnative else points.astype(points.dtype.newbyteorder("="))


def check_features(n_features: int) -> None:
    """Raise if there are more features than the kernel counts."""
    if n_features > MAX_FEATURES:
        raise InvalidInputError(
            f"there must be at most {MAX_FEATURES:,} features, got {n_features:,}; "
            "select or project features first"
        )


def as_bandwidth(bandwidth: float | ArrayLike | None, n_features: int) -> NDArray[np.float64]:
    """Check a bandwidth and return one value per feature."""
    check_features(n_features)
    if type(bandwidth) is float and _LEAST_BANDWIDTH <= bandwidth < math.inf:
        return np.full(n_features, bandwidth)
    expected = "one number" + (f" or {n_features}, one per feature" if n_features > 1 else "")
    if bandwidth is None:
        advice = "select_bandwidth(X) chooses one"
        raise InvalidInputError.for_parameter("bandwidth", expected, None, advice)
    try:
        given = as_array(bandwidth)
        if given.dtype.kind not in "iuf" and not all(map(is_number, given.ravel().tolist())):
            raise TypeError
        h = np.array(given, dtype=np.float64)
    except (OverflowError, TypeError, ValueError):
        raise InvalidInputError.for_parameter("bandwidth", expected, bandwidth) from None
    if h.ndim > 1 or (h.ndim == 1 and len(h) != n_features):
        raise InvalidInputError.for_parameter("bandwidth", expected, h.tolist())
    if not all(0 < size < math.inf for size in h.ravel().tolist()):
        raise InvalidInputError.for_parameter("bandwidth", "positive and finite", bandwidth)
    if (h < _LEAST_BANDWIDTH).any():
        expected, advice = f"at least {_LEAST_BANDWIDTH:.3g}", "scale up the data and the bandwidth"
        raise InvalidInputError.for_parameter("bandwidth", expected, bandwidth, advice)
    return h if h.ndim else np.full(n_features, h)


def feature_count(bandwidth: float | ArrayLike | None) -> int:
    """Return the number of features that a bandwidth is for, 1 for a number."""
    try:
        given = np.asarray(bandwidth)  # None is reported by as_bandwidth
    except ValueError:  # rows of different lengths
        given = np.empty(0)
    if given.ndim > 1 or given.size == 0:
        expected = "one number, or one per feature"
        raise InvalidInputError.for_parameter("bandwidth", expected, bandwidth)
    return int(given.size)


def as_resolution(resolution: int) -> int:
    """Check a resolution, the number of cells from the centre of a window to its border."""
    return as_whole(resolution, "resolution", 1, MAX_REACH)


def as_periods(periodic: Periodic, n_features: int) -> list[float]:
    """Check the periods of the features, in data units; return 0 for a feature without one."""
    if periodic is None:
        return [0.0] * n_features
    given = np.asarray(periodic, dtype=object)
    values: list[Any] = given.tolist() if given.ndim == 1 else [periodic] * n_features
    if given.ndim > 1 or len(values) != n_features:
        expected = f"None or {n_features} values, a period or None for each feature"
        raise InvalidInputError.for_parameter("periodic", expected, periodic)
    for value in values:
        if value is not None and not (is_number(value) and math.isfinite(value) and value > 0):
            expected = "a positive, finite number or None for each feature"
            raise InvalidInputError.for_parameter("periodic", expected, value)
    return [0.0 if value is None else float(value) for value in values]


def divide_periods(
    cell_size: NDArray[np.float64], periodic: Periodic, window: int, bandwidths_in_window: int = 3
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return the nearest cell size that divides each period, and the cells in each period.

    A period must hold at least `window` cells, because a window must not contain a cell twice.
    `bandwidths_in_window` is the width of the window in the unit of the caller's parameter.
    """
    cell_size, cells_per_period = cell_size.copy(), np.zeros(len(cell_size), np.int64)
    if periodic is None:
        return cell_size, cells_per_period
    for j, length in enumerate(as_periods(periodic, len(cell_size))):
        if length == 0:
            continue
        cells = float(np.rint(length / cell_size[j]))
        if cells < window:
            raise InvalidInputError(
                f"has a period of {length:g}, which must hold at least a window of {window} cells, "
                f"got {cells:g} of size {cell_size[j]:g}; "
                f"use a bandwidth of at most {length / bandwidths_in_window:g} for it",
                place=f"feature {j}",
                column=j,
                parameter="periodic",
            )
        if cells >= MAX_CELL:
            raise InvalidInputError(
                f"has a period of {length:g}, which holds {cells:g} cells of size "
                f"{cell_size[j]:g}, too many to number; use a larger bandwidth",
                place=f"feature {j}",
                column=j,
                parameter="periodic",
            )
        cells_per_period[j], cell_size[j] = int(cells), length / cells
    return cell_size, cells_per_period


def has_periods(cells_per_period: NDArray[Any]) -> bool:
    """Return whether any feature is periodic, faster than `any` of so short an array."""
    return any(cells_per_period.tolist())


def check_window_fits(cells_per_period: NDArray[np.int64], window: int, advice: str) -> None:
    """Raise if a period is shorter than a window, which would contain a cell twice."""
    if any(0 < cells < window for cells in cells_per_period.tolist()):
        raise InvalidInputError(
            f"a period must hold at least a window of {window} cells, but the periods hold "
            f"{cells_per_period[cells_per_period > 0].tolist()}; {advice}"
        )


@dataclass(frozen=True, eq=False)
class Weights:
    """Checked weights of points, on the same device; made by `as_weights`, and array-like.

    Attributes
    ----------
    values : ndarray of shape (n,)
        The weights as they were given.
    counts : ndarray of shape (n,), uint64
        The weights as whole multiples of `unit`; 0 only for a weight of zero.
    unit : float
        1.0, or a power of two for real weights.
    whole : bool
        Whether all weights are whole numbers, in a unit of 1.
    """

    values: NDArray[Any]
    counts: NDArray[np.uint64]
    unit: float
    whole: bool

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        if copy is None:  # NumPy 1.26 has no such value of its parameter
            return np.asarray(self.values, dtype)
        return np.array(self.values, dtype, copy=copy)

    @property
    def total(self) -> float:
        """The sum of the weights."""
        return float(self.counts.sum(dtype=np.float64)) * self.unit

    def take(self, rows: NDArray[Any]) -> Weights:
        """Return the weights of some rows, in the same unit."""
        return Weights(self.values[rows], self.counts[rows], self.unit, self.whole)


def as_weights(sample_weight: ArrayLike, points: NDArray[Any]) -> Weights:
    """Check the weights of points; weights that were checked before are returned unchanged."""
    if isinstance(sample_weight, Weights):
        return sample_weight
    w, n = to_device_of(points, sample_weight), len(points)
    w = w.astype(np.float64) if w.dtype == np.float16 else w
    if w.shape != (n,):
        raise _weight_error(f"must have shape ({n},), got {w.shape}", got=w.shape)
    if w.dtype.kind not in "biuf":
        raise _weight_error(f"must hold real numbers, got dtype {w.dtype}", got=w.dtype)
    bad = np.flatnonzero(~(np.isfinite(w) & (w >= 0)))
    if bad.size:
        row = int(bad[0])
        raise _weight_error(f"must be finite and not negative, got {w[row]} at {row}", w[row], row)
    whole = w.dtype.kind in "biu"
    peak = w.max() if w.size else 0
    if whole and peak > COUNT_LIMIT:
        row = int(w.argmax())
        limit = f"must be at most {COUNT_LIMIT:,} if it is whole"
        raise _weight_error(f"{limit}, got {peak} at {row}", peak, row)
    if whole or (peak <= COUNT_LIMIT and (w == np.floor(w)).all()):
        return Weights(w, module_of(w).ascontiguousarray(w, dtype=np.uint64), 1.0, True)
    return Weights(w, *_real_weights(w.astype(np.float64)), False)


def _weight_error(problem: str, got: object = None, row: int | None = None) -> InvalidInputError:
    """Return an error about the weights, or the weight of a row."""
    parameter = "sample_weight"
    error = InvalidInputError(f"{parameter} {problem}", parameter=parameter, got=got)
    error.row = row
    return error


def _real_weights(w: NDArray[np.float64]) -> tuple[NDArray[np.uint64], float]:
    """Round real weights to whole multiples of a power of two; return them with this unit."""
    # Integers are summed, so that the total does not depend on the order of the rows.
    part = math.ldexp(1.0, max(math.frexp(float(w.max()))[1] - 30, _MIN_EXPONENT))
    total = float(np.rint(w / part).astype(np.int64).sum()) * part
    if not math.isfinite(total):
        raise _weight_error("has a sum that overflows; scale the weights down")
    exponent = math.frexp(total)[1] - _REAL_WEIGHT_BITS
    if exponent < _MIN_EXPONENT or not total:
        peak = w.max()
        problem = f"is too small to be divided, at most {peak:g}; scale the weights up"
        raise _weight_error(problem, peak, int(w.argmax()))
    unit = math.ldexp(1.0, exponent)
    counts = np.where(w > 0, np.maximum(np.rint(w / unit), 1), 0)
    _warn_of_inflation(w, unit, total)
    return counts.astype(np.uint64), unit


def _warn_of_inflation(w: NDArray[np.float64], unit: float, total: float) -> None:
    """Warn if weights too small to be divided become a noticeable part of the total."""
    small = w[(w > 0) & (w < unit / 2)]
    if len(small) * unit > _INFLATION * total:
        warn_user(
            UserWarning(
                f"{len(small):,} weights are below 2**-{_REAL_WEIGHT_BITS} of the sum of "
                f"sample_weight and count as {unit:g} each: together {len(small) * unit:g} instead "
                f"of {float(small.sum()):g}; remove them, or reduce the largest weights"
            )
        )


def is_number(value: object) -> bool:
    """Return whether a value is a number that a float can hold; booleans are not."""
    if isinstance(value, int):
        return not isinstance(value, bool) and abs(value) <= sys.float_info.max
    return isinstance(value, float | np.number)


def as_positive(value: Any, parameter: str) -> float:
    """Check a finite number above 0 and return it as a float."""
    if not is_number(value) or not 0 < value < math.inf:
        raise InvalidInputError.for_parameter(parameter, "a positive number", value)
    return float(value)


def as_not_negative(value: Any, parameter: str) -> float:
    """Check a number of at least 0 and return it as a float."""
    if not is_number(value) or not value >= 0:
        raise InvalidInputError.for_parameter(parameter, "a number of at least 0", value)
    return float(value)


def as_whole(value: Any, parameter: str, low: int, high: int | None = None) -> int:
    """Check a whole number from `low` to `high` and return it as an int."""
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not whole or value < low or (high is not None and value > high):
        upper = "" if high is None else f" to {high:,}"
        expected = f"a whole number from {low:,}{upper}"
        raise InvalidInputError.for_parameter(parameter, expected, value)
    return int(value)


def as_shaped(
    values: Any, parameter: str, expected: str, shape: tuple[Any, ...], kinds: str = "biuf"
) -> NDArray[Any]:
    """Check an array of numbers and return it, on the host.

    None in `shape` stands for any length, and ... at its end for any further axes. `kinds` are
    NumPy's letters for the types that the array may have; `expected` describes it in messages.
    """
    try:
        array = to_host(as_array(values))
    except InvalidInputError as error:
        raise InvalidInputError.for_parameter(parameter, expected, values) from error
    if array.dtype.kind not in kinds:
        got = values if array.dtype.kind in "OUS" else array.dtype
        raise InvalidInputError.for_parameter(parameter, expected, got)
    wanted = shape[:-1] if shape[-1] is ... else shape
    lengths = zip(wanted, array.shape, strict=False)
    has_axes = array.ndim >= len(wanted) if shape[-1] is ... else array.ndim == len(wanted)
    if not has_axes or any(want not in (None, have) for want, have in lengths):
        got = array.shape if array.ndim else values
        raise InvalidInputError.for_parameter(parameter, expected, got)
    return array


def as_labels(labels: Any, of_shape: str, shape: tuple[Any, ...]) -> NDArray[np.integer[Any]]:
    """Check an array of labels; `of_shape` is its shape in words. Labels below 0 are allowed."""
    expected = f"whole numbers below 2**31 of shape {of_shape}"
    array = as_shaped(labels, "labels", expected, shape, "biu")
    if (largest := int(array.max(initial=0))) >= _LABEL_LIMIT:
        raise InvalidInputError.for_parameter("labels", expected, largest)
    return array


def as_amounts(
    values: Any, parameter: str, n: int, of_what: str, *, positive: bool = False
) -> NDArray[np.float64]:
    """Check n finite numbers that are not negative; `of_what` tells what each is for."""
    sign = "positive" if positive else "not negative"
    expected = f"{n} finite numbers, {of_what}, {sign}"
    array = as_shaped(values, parameter, expected, (n,)).astype(np.float64)
    bad = array[~(np.isfinite(array) & ((array > 0) if positive else (array >= 0)))]
    if bad.size:
        raise InvalidInputError.for_parameter(parameter, expected, float(bad[0]))
    return array


def thread_count(n_threads: int | None) -> int:
    """Check a number of threads; None means all cores that this process may use.

    ``OMP_NUM_THREADS`` lowers the default, because schedulers and joblib set it.
    """
    if n_threads is not None:
        return min(as_whole(n_threads, "n_threads", 1), MAX_THREADS)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    text = os.environ.get("OMP_NUM_THREADS", "")
    limit = int(text) if re.fullmatch("[0-9]{1,9}", text) else 0
    return max(1, min(cores or 1, limit or MAX_THREADS))
