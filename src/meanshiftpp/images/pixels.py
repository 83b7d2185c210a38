"""Read an image as a table: one row per pixel, in reading order, with features in a colour space.

This module checks the shape, type, mask and range of the images that users pass in.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from meanshiftpp import _kernel
from meanshiftpp._support.checks import thread_count
from meanshiftpp._support.devices import as_array, module_of, on_gpu
from meanshiftpp.errors import InvalidInputError
from meanshiftpp.images.bands import BandAxes
from meanshiftpp.images.levels import ValueRange, checked_range, scale, value_limits

SPACES = ("rgb", "lab", "luv", "hsv")
_EXACT = 2**53  # whole numbers beyond are rounded in float64


@dataclass(frozen=True)
class Pixels:
    """An image as a table: one row per pixel, in reading order."""

    values: NDArray[Any]  # (n, channels), as passed in
    features: NDArray[Any]  # (n, k): the colours, in `space`
    space: str | None
    shape: tuple[int, ...]  # of the image, without its channels
    mask: NDArray[np.bool_] | None  # (n,)
    channel_axis: int | None
    n_colour_channels: int  # an alpha channel may follow them
    image_dtype: np.dtype[Any]  # of the image as passed in
    limits: tuple[float, float]  # the values of black and white in a colour space
    axes: BandAxes | None = None  # of the scene that this is a part of; by default its own

    def colour_vectors(self) -> NDArray[np.float32]:
        """Return three numbers per pixel, on a scale that suits the comparison of borders."""
        return _padded(self.components() if self.space is None else self.features)

    def components(self) -> NDArray[np.float32]:
        """Return at most three numbers per pixel for bands that are not in a colour space."""
        axes = self.axes or BandAxes.of(self.features, self.mask)
        return axes(self.features)

    def lab(self, n_threads: int) -> NDArray[np.float32]:
        """Return the colours in Lab, whatever `space` is; it may not be None."""
        values = self.values[:, : self.n_colour_channels]
        return _padded(_features(values, "lab", self.mask, self.limits, n_threads))

    def to_image(self, values: NDArray[Any]) -> NDArray[Any]:
        """Convert a table of pixels to an image of the original shape and type."""
        values = self.to_image_dtype(values)
        if self.channel_axis is None:
            return values.reshape(self.shape)
        return np.moveaxis(values.reshape(*self.shape, -1), -1, self.channel_axis)

    def to_image_dtype(self, values: NDArray[Any]) -> NDArray[Any]:
        """Convert values to the type of the image, undoing the conversion by `_as_image`."""
        if self.image_dtype.kind == "b":
            return values > 127
        return values.astype(self.image_dtype, copy=False)


def read_pixels(
    image: ArrayLike,
    space: str | None,
    mask: ArrayLike | None,
    channel_axis: int | None,
    n_threads: int | None,
    value_range: ValueRange = None,
) -> Pixels:
    """Check an image and convert it to a table of pixels, with features in a colour space.

    Four channels in a colour space are RGBA: transparent pixels are masked.
    """
    if space is not None and not is_space(space):
        raise InvalidInputError.for_parameter("space", f"one of {', '.join(SPACES)} or None", space)
    value_range = checked_range(value_range)
    array, channel_axis = channels_last(_as_image(image), channel_axis)
    shape = array.shape if channel_axis is None else array.shape[:-1]
    if len(shape) not in (2, 3):
        raise InvalidInputError(
            "an image must have two or three dimensions besides its channels, "
            f"got shape {np.shape(image)} with channel_axis={channel_axis}"
        )
    if 0 in array.shape:
        raise InvalidInputError(
            f"an image must have at least one pixel, got an empty one of shape {np.shape(image)}"
        )
    values = array.reshape(math.prod(shape), -1)
    has_alpha = space is not None and values.shape[1] == 4
    n_colour_channels = 3 if has_alpha else values.shape[1]
    inside = _combined_mask(_as_mask(mask, shape), values[:, 3] > 0 if has_alpha else None)
    _check_finite(values, inside, shape)
    if n_colour_channels not in (1, 3):
        space = None
    colours, threads = values[:, :n_colour_channels], thread_count(n_threads)
    limits = (0.0, 1.0) if space is None else _limits(colours, inside, value_range)
    features = _features(colours, space, inside, limits, threads)
    dtype = as_array(image).dtype
    return Pixels(
        values, features, space, shape, inside, channel_axis, n_colour_channels, dtype, limits
    )


# -- checks ------------------------------------------------------------------------------------


def _as_image(image: ArrayLike) -> NDArray[Any]:
    array: NDArray[Any] = as_array(image)
    if array.dtype.kind not in "biuf" or array.dtype.itemsize > 8:
        raise InvalidInputError(
            f"an image must hold real numbers of at most 64 bits, got dtype {array.dtype}"
        )
    if array.dtype.kind == "b":
        return array.view(np.uint8) * np.uint8(255)
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


def is_space(space: object) -> bool:
    """Return whether a value is the name of a colour space."""
    return isinstance(space, str) and space in SPACES


def channels_last(array: NDArray[Any], channel_axis: int | None) -> tuple[NDArray[Any], int | None]:
    """Move the channels to the last axis; a two-dimensional image has no channel axis."""
    if array.ndim == 2 or channel_axis is None:
        return array, None
    is_whole = isinstance(channel_axis, int | np.integer) and not isinstance(channel_axis, bool)
    if not is_whole or not -array.ndim <= channel_axis < array.ndim:
        expected = f"None or an axis of the image, from {-array.ndim} to {array.ndim - 1}"
        raise InvalidInputError.for_parameter(
            "channel_axis", expected, channel_axis, f"the image has shape {array.shape}"
        )
    return np.moveaxis(array, channel_axis, -1), channel_axis


def _as_mask(mask: ArrayLike | None, shape: tuple[int, ...]) -> NDArray[np.bool_] | None:
    if mask is None:
        return None
    inside: NDArray[Any] = as_array(mask)
    if inside.shape != shape:
        raise InvalidInputError(
            f"the mask must have the shape of the image, {shape}, got {inside.shape}"
        )
    return inside.astype(bool).ravel()


def _combined_mask(
    mask: NDArray[np.bool_] | None, opaque: NDArray[np.bool_] | None
) -> NDArray[np.bool_] | None:
    """Return the pixels that are both in the mask and opaque; None if all are."""
    both = mask if opaque is None else opaque if mask is None else mask & opaque
    if both is None or both.all():
        return None
    if not both.any():
        raise InvalidInputError(
            "the mask must leave at least one visible pixel, but no pixel of the image is left"
        )
    return both


def _check_finite(
    values: NDArray[Any], inside: NDArray[np.bool_] | None, shape: tuple[int, ...]
) -> None:
    if values.dtype.kind == "f":
        bad = ~np.isfinite(values).all(axis=1)
        problem = "is NaN or infinite: values must be finite; mask such pixels out with "
        problem += "mask=np.isfinite(...)"
    elif values.dtype.itemsize == 8:
        bad = ((values > _EXACT) | (values < -_EXACT)).any(axis=1)
        problem = "is a whole number beyond +-2**53, which float64 cannot hold exactly; subtract "
        problem += "an offset, or mask such pixels out"
    else:
        return
    if inside is not None:
        bad &= inside
    if bad.any():
        index = tuple(int(i) for i in np.unravel_index(int(bad.argmax()), shape))
        raise InvalidInputError(f"pixel {index} {problem}")


# -- colours -----------------------------------------------------------------------------------


def _padded(features: NDArray[Any]) -> NDArray[np.float32]:
    """Return three columns of floats; missing ones are 0."""
    if features.shape[1] == 3:
        return np.ascontiguousarray(features, np.float32)
    vectors = np.zeros((len(features), 3), np.float32)
    vectors[:, : features.shape[1]] = features
    return vectors


def _limits(
    values: NDArray[Any], inside: NDArray[np.bool_] | None, value_range: ValueRange
) -> tuple[float, float]:
    """Return the values of black and white, from the pixels that are not masked."""
    if values.dtype == np.uint8 and value_range != "image":
        return value_limits(values[:0], value_range)
    return value_limits(values if inside is None else values[inside], value_range)


def _features(
    values: NDArray[Any],
    space: str | None,
    inside: NDArray[np.bool_] | None,
    limits: tuple[float, float],
    n_threads: int,
) -> NDArray[Any]:
    if values.dtype != np.uint8 and inside is not None:  # bytes cannot be out of range
        values = module_of(values).where(inside[:, None], values, values.dtype.type(0))
    are_bytes = values.dtype == np.uint8 and limits == (0.0, 255.0)
    if space is None or (space == "rgb" and are_bytes):
        return values
    if on_gpu(values):
        raise InvalidInputError(
            f"colours are converted to {space!r} on the CPU, got an image on a GPU; "
            'use space="rgb" with bytes, space=None, or pass image.get()'
        )
    white = limits[1]
    if not are_bytes and (limits[0] != 0 or values.min() < 0 or values.max() > white):
        values, white = scale(values, limits), 1.0
    is_grey = values.shape[1] == 1
    rgb = np.broadcast_to(values, (len(values), 3)) if is_grey else values
    if rgb.dtype == np.float16:
        rgb = rgb.astype(np.float32)
    colours = _kernel.convert_colours(rgb, space, white, n_threads)
    if is_grey:  # one feature is enough: L in Lab and Luv, V in HSV, any channel in RGB
        return np.ascontiguousarray(colours[:, 2 if space == "hsv" else 0, None])
    return colours
