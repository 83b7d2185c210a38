"""Values that look like "no data" although the file of a map does not declare them, as -9999."""

from __future__ import annotations

import os
import shlex
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["SAMPLE", "undeclared_no_data"]

SAMPLE = 100_000  # pixels that are compared
_LEAST_SHARE = 0.001  # of the pixels
_LEAST_LEVELS = 16  # different other values; fewer are classes, not a measurement


def undeclared_no_data(
    path: str | os.PathLike[str], pixels: NDArray[Any], mask: NDArray[np.bool_] | None = None
) -> str | None:
    """Return a warning if one extreme value of a band occurs often and far from all others.

    The pixels have a row each; those where `mask` is False do not count.

    Far means farther than the width of the middle 98 % of the other values. Zero and the values of
    bytes are never suspicious: borders are black, and skies are white.

    Examples
    --------
    >>> import numpy as np
    >>> from meanshiftpp.images.no_data import undeclared_no_data
    >>> heights = np.append(np.linspace(400, 600, 970), np.full(30, -9999))
    >>> print(undeclared_no_data("dem.tif", heights[:, None]))
    dem.tif: -9999 is the value of 3 % of the pixels, far from all others; if it means "no data", \
declare it: rio edit-info --nodata=-9999 dem.tif
    """
    if pixels.dtype.itemsize == 1:
        return None
    step = max(len(pixels) // SAMPLE, 1)
    sample = pixels[::step] if mask is None else pixels[::step][mask[::step]]
    for band in sample.T:
        for value, share in _extremes(band[np.isfinite(band)]):
            whole = value == np.rint(value) and abs(value) < 2**63
            text = str(int(value)) if whole else repr(value)
            return (
                f"{path}: {text} is the value of {100 * share:.2g} % of the pixels, far from all "
                f'others; if it means "no data", declare it: rio edit-info --nodata={text} '
                f"{shlex.quote(str(path))}"
            )
    return None


def _extremes(band: NDArray[Any]) -> list[tuple[float, float]]:
    """Return the least and the greatest value with their shares, as far as they are suspicious."""
    found: list[tuple[float, float]] = []
    values = band.astype(np.float64)
    for value in (values.min(), values.max()) if len(values) else ():
        others = values[values != value]
        share = 1 - len(others) / len(values)
        if value == 0 or share < _LEAST_SHARE or len(np.unique(others)) < _LEAST_LEVELS:
            continue
        low, high = np.percentile(others, [1, 99])
        if np.abs(others - value).min() > high - low:
            found.append((float(value), share))
    return found
