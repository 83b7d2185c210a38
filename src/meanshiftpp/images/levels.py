"""Choose the values that count as black and white, and scale images between them.

Bytes, floats from 0 to 1, and integers that use at least half of 16 bits state their range by their
type. All other integers, such as those of a sensor with 12 bits, are scaled by their own range.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from meanshiftpp.errors import InvalidInputError

ValueRange = str | tuple[float, float] | None
RANGES = ("image", "dtype")
_CLIPPED = 10_000  # one value in so many is beyond each end of the range: hot and dead pixels


def checked_range(value_range: Any) -> ValueRange:
    """Check the parameter `value_range`: None, a name, or two finite increasing numbers."""
    if value_range is None or (isinstance(value_range, str) and value_range in RANGES):
        return value_range
    try:
        low, high = (float(limit) for limit in value_range)
    except (OverflowError, TypeError, ValueError):
        low, high = 0.0, 0.0
    if not (low < high and np.isfinite([low, high]).all()) or isinstance(value_range, str):
        expected = "None, 'image', 'dtype' or two finite numbers, the smaller first"
        raise InvalidInputError.for_parameter("value_range", expected, value_range)
    return low, high


def value_limits(values: NDArray[Any], value_range: ValueRange = None) -> tuple[float, float]:
    """Return the values of black and white in an image; masked pixels are left out before.

    Examples
    --------
    >>> import numpy as np
    >>> from meanshiftpp.images.levels import value_limits
    >>> value_limits(np.array([100, 4000], np.uint16))
    (100.0, 4000.0)
    >>> value_limits(np.array([100, 60_000], np.uint16))
    (0.0, 65535.0)
    """
    if isinstance(value_range, tuple):
        return value_range
    if value_range == "image":
        return data_range(values)
    if value_range == "dtype" and values.dtype.kind != "f":
        return 0.0, _white(values)
    if values.dtype.kind == "f":
        return _unit_range(values)
    return type_limits(values) or data_range(values)


def type_limits(values: NDArray[Any]) -> tuple[float, float] | None:
    """Return the limits that the type of integers states; None if they do not use its range."""
    if values.dtype == np.uint8:
        return 0.0, 255.0
    low, high = values.min(), values.max()
    if low < 0 or high > 65535:
        return None
    white = _white(values)
    is_used = white == 255.0 or 2 * data_range(values)[1] > white
    return (0.0, white) if is_used else None


def data_range(values: NDArray[Any]) -> tuple[float, float]:
    """Return the range of the values without the 0.01 % at each end; all of it if that is empty."""
    flat = values.ravel()
    if not flat.size:
        return 0.0, 1.0
    low = high = flat[0]
    if first := flat.size // _CLIPPED:
        last = flat.size - 1 - first
        ordered = np.partition(flat, (first, last))
        low, high = ordered[first], ordered[last]
    if low == high:
        low, high = flat.min(), flat.max()
    black, white = float(low), float(high)
    if white > black:
        return black, white
    return black, max(black + 1.0, math.nextafter(black, math.inf))  # 1 is lost beside 2**53


def scale(values: NDArray[Any], limits: tuple[float, float]) -> NDArray[Any]:
    """Return floats from 0 at the lower limit to 1 at the upper one; others are clipped."""
    low, high = limits
    if not math.isfinite(high - low):
        advice = "divide the values first"
        raise InvalidInputError.for_parameter("image", "of a finite range", limits, advice)
    kind = np.float32 if values.dtype.itemsize <= 2 else np.float64
    scaled: NDArray[Any] = values.astype(kind)
    scaled -= kind(low)
    scaled /= kind(high - low)
    return np.clip(scaled, 0.0, 1.0, out=scaled).astype(np.float32, copy=False)


def _white(values: NDArray[Any]) -> float:
    """Return full brightness by the type: integers up to 255 are bytes in every type."""
    if values.dtype == np.uint8:
        return 255.0
    low, high = int(values.min()), int(values.max())
    if low < 0 or high > 65535:
        raise _range_error("between 0 and 65,535 for the range of their type", low, high)
    return 255.0 if high <= 255 else float(min(int(np.iinfo(values.dtype).max), 65535))


def are_unit_floats(values: NDArray[Any]) -> bool:
    """Return whether floats are between 0 and 1, but for rounding errors."""
    return not values.size or bool(values.min() >= -1e-6 and values.max() <= 1.0 + 1e-6)


def _unit_range(values: NDArray[Any]) -> tuple[float, float]:
    if not are_unit_floats(values):
        low, high = float(values.min()), float(values.max())
        raise _range_error("between 0 and 1 for floats in a colour space", low, high)
    return 0.0, 1.0


def _range_error(expected: str, low: float, high: float) -> InvalidInputError:
    advice = 'use value_range="image" to scale them, or space=None for raw values'
    return InvalidInputError.for_parameter("image", expected, (low, high), advice=advice)
