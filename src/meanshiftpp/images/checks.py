"""Checks of the arguments of drawing functions: labels, colours, shares and pictures."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from meanshiftpp._support.checks import as_amounts, as_labels, as_shaped
from meanshiftpp._support.text import pluralize
from meanshiftpp.errors import InvalidInputError


def as_label_image(labels: ArrayLike) -> NDArray[np.integer[Any]]:
    """Check an array of labels for each pixel; labels below 0 are masked."""
    return as_labels(labels, "(height, width)", (None, None))


def as_picture(rgb: ArrayLike, labels: NDArray[Any], kinds: str = "biuf") -> NDArray[Any]:
    """Check a picture of the size of some labels; an alpha channel may follow the colours."""
    numbers = "bytes" if kinds == "u" else "numbers"
    height, width = labels.shape
    expected = f"{numbers} of shape {(height, width, 3)}, RGB for each pixel of labels"
    array = as_shaped(rgb, "rgb", expected, (height, width, None), kinds)
    if array.shape[2] not in (3, 4):
        raise InvalidInputError.for_parameter("rgb", expected, array.shape)
    if kinds == "u" and array.dtype != np.uint8:
        raise InvalidInputError.for_parameter("rgb", expected, array.dtype)
    return array


def as_colors(colors: ArrayLike, least: int = 0) -> NDArray[np.float64]:
    """Check a table of colours of at least some rows; NaN counts as 0, and values are clipped."""
    rows = f"at least {pluralize(least, 'row')}" if least else "rows"
    expected = f"{rows} of three numbers, RGB from 0 to 255"
    array = as_shaped(colors, "colors", expected, (None, 3)).astype(np.float64)
    if len(array) < least:
        raise InvalidInputError.for_parameter("colors", expected, array.shape)
    return np.nan_to_num(array).clip(0, 255)


def as_label_colors(colors: ArrayLike, labels: NDArray[np.integer[Any]]) -> NDArray[np.float64]:
    """Check a table with a colour for each label."""
    return as_colors(colors, max(int(labels.max()) + 1, 0) if labels.size else 0)


def as_color_weights(
    weights: ArrayLike, parameter: str, n_colors: int, *, positive: bool = False
) -> NDArray[np.float64]:
    """Check a weight or a share for each of some colours."""
    return as_amounts(weights, parameter, n_colors, "one for each colour", positive=positive)
