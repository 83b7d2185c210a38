"""An image as a table: one row per pixel, in reading order, its colours in the space asked for.

What users hand in is checked here: shape, type, mask, range.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from meanshiftpp import _kernel
from meanshiftpp._support.checks import thread_count, white_of
from meanshiftpp._support.devices import as_array, module_of, on_gpu
from meanshiftpp.errors import InvalidInputError

SPACES = ("rgb", "lab", "luv", "hsv")
_SCALE = 15.0  # spread that bands without a colour space are brought to


@dataclass(frozen=True)
class Pixels:
    """An image as a table: one row per pixel, in reading order."""

    values: NDArray[Any]  # (n, channels), as given
    features: NDArray[Any]  # (n, k): the colours, in `space`
    space: str | None
    shape: tuple[int, ...]
    mask: NDArray[np.bool_] | None  # (n,)
    channel_axis: int | None
    coloured: int  # how many channels are colours; one more is alpha
    given: np.dtype[Any]  # type of the image as it came

    def three(self) -> NDArray[np.float32]:
        """Three numbers a pixel, of a spread that contrasts can be judged by."""
        if self.space is not None and self.features.shape[1] == 3:
            return np.ascontiguousarray(self.features, np.float32)
        out = np.zeros((len(self.features), 3), np.float32)
        if self.space is not None:
            out[:, 0] = self.features[:, 0]
        else:
            main = principal(self.features, self.mask)
            out[:, : main.shape[1]] = main
        return out

    def restore(self, values: NDArray[Any]) -> NDArray[Any]:
        """Bring a table of pixels back to the image's shape and type."""
        values = self.as_given(values)
        if self.channel_axis is None:
            return values.reshape(self.shape)
        return np.moveaxis(values.reshape(*self.shape, -1), -1, self.channel_axis)

    def as_given(self, values: NDArray[Any]) -> NDArray[Any]:
        """Undo what `_as_image` did to the type of the image."""
        return values > 127 if self.given.kind == "b" else values.astype(self.given, copy=False)


def read_pixels(
    image: ArrayLike,
    space: str | None,
    mask: ArrayLike | None,
    channel_axis: int | None,
    n_threads: int | None,
) -> Pixels:
    """Check an image and read it as a table of pixels, with features in a colour space.

    Four channels in a colour space are RGBA: the pixels that cannot be seen are masked.
    """
    if space is not None and space not in SPACES:
        raise InvalidInputError(f"space must be one of {', '.join(SPACES)} or None, got {space!r}")
    array, channel_axis = _channels_last(_as_image(image), channel_axis)
    shape = array.shape if channel_axis is None else array.shape[:-1]
    if len(shape) not in (2, 3):
        raise InvalidInputError(
            "an image has two dimensions or three, and channels; "
            f"got shape {np.shape(image)} with channel_axis={channel_axis}"
        )
    if 0 in array.shape:
        raise InvalidInputError(f"the image is empty: shape {np.shape(image)}")
    values = array.reshape(math.prod(shape), -1)
    alpha = space is not None and values.shape[1] == 4
    colours = 3 if alpha else values.shape[1]
    inside = _inside(_as_mask(mask, shape), values[:, 3] > 0 if alpha else None)
    _refuse_not_finite(values, inside, shape)
    if space is not None and colours not in (1, 3):
        space = None
    features = _features(values[:, :colours], space, inside, thread_count(n_threads))
    given = as_array(image).dtype
    return Pixels(values, features, space, shape, inside, channel_axis, colours, given)


def _channels_last(
    array: NDArray[Any], channel_axis: int | None
) -> tuple[NDArray[Any], int | None]:
    """Move the channels to the end; an image of two dimensions has none."""
    if array.ndim == 2 or channel_axis is None:
        return array, None
    if not -array.ndim <= channel_axis < array.ndim:
        raise InvalidInputError(
            f"channel_axis {channel_axis} is not an axis of an image of shape {array.shape}"
        )
    return np.moveaxis(array, channel_axis, -1), channel_axis


def _inside(
    mask: NDArray[np.bool_] | None, opaque: NDArray[np.bool_] | None
) -> NDArray[np.bool_] | None:
    """Say which pixels count; None where all do."""
    both = mask if opaque is None else opaque if mask is None else mask & opaque
    if both is None or both.all():
        return None
    if not both.any():
        raise InvalidInputError("the mask leaves no pixel of the image")
    return both


def _as_image(image: ArrayLike) -> NDArray[Any]:
    try:
        array: NDArray[Any] = as_array(image)
    except ValueError as error:  # rows of different lengths
        raise InvalidInputError(f"an image must be an array of numbers: {error}") from error
    if array.dtype.kind not in "biuf" or array.dtype.itemsize > 8:
        raise InvalidInputError(f"an image must hold real numbers, got dtype {array.dtype}")
    if array.dtype.kind == "b":
        return array.view(np.uint8) * np.uint8(255)
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


def _as_mask(mask: ArrayLike | None, shape: tuple[int, ...]) -> NDArray[np.bool_] | None:
    if mask is None:
        return None
    inside: NDArray[Any] = as_array(mask)
    if inside.shape != shape:
        raise InvalidInputError(f"the mask has shape {inside.shape}, the image {shape}")
    return inside.astype(bool).ravel()


def _refuse_not_finite(
    values: NDArray[Any], inside: NDArray[np.bool_] | None, shape: tuple[int, ...]
) -> None:
    if values.dtype.kind != "f":
        return
    bad = ~np.isfinite(values).all(axis=1)
    if inside is not None:
        bad &= inside
    if bad.any():
        where = tuple(int(i) for i in np.unravel_index(int(bad.argmax()), shape))
        raise InvalidInputError(
            f"pixel {where} is NaN or infinite; mask such pixels out with mask=np.isfinite(...)"
        )


def _white(values: NDArray[Any]) -> float:
    """Give the value of full brightness for the image's type."""
    if values.dtype == np.uint8:
        return 255.0
    if values.dtype.kind in "iu":
        return _white_of_integers(values)
    peak = float(np.nanmax(values, initial=0.0, where=np.isfinite(values)))
    low = float(np.nanmin(values, initial=0.0, where=np.isfinite(values)))
    if peak > 1.0 + 1e-6 or low < -1e-6:
        raise InvalidInputError(
            f"a float image must lie between 0 and 1 for a colour space, got {low:g} to {peak:g}; "
            "divide it, or take space=None"
        )
    return 1.0


def _white_of_integers(values: NDArray[Any]) -> float:
    low, peak = int(values.min()), int(values.max())
    if low < 0 or peak > 65535:
        raise InvalidInputError(
            "an image of integers must lie between 0 and 65,535 for a colour space, got "
            f"{low:,} to {peak:,}; scale it, or take space=None"
        )
    white, near = white_of(peak, values.dtype)
    if not near:
        warnings.warn(
            f"the image's values go up to {peak:,} of {white:,}, so that all of it is dark: "
            "scale it to the full range, or take space=None",
            stacklevel=6,
        )
    return float(white)


def _features(
    values: NDArray[Any], space: str | None, inside: NDArray[np.bool_] | None, n_threads: int
) -> NDArray[Any]:
    if values.dtype != np.uint8 and inside is not None:  # bytes cannot be out of range
        values = module_of(values).where(inside[:, None], values, values.dtype.type(0))
    if space is None or (space == "rgb" and values.dtype == np.uint8):
        return values
    if on_gpu(values):
        raise InvalidInputError(
            f"on a GPU an image is taken in RGB bytes or as it is, not in {space!r}: "
            'give space="rgb" for bytes, space=None, or image.get()'
        )
    grey = values.shape[1] == 1
    rgb = np.broadcast_to(values, (len(values), 3)) if grey else values
    if rgb.dtype == np.float16:
        rgb = rgb.astype(np.float32)
    colours = _kernel.convert_colours(rgb, space, _white(values), n_threads)
    # A grey pixel has one number: L, its value, or any of three equal ones.
    return np.ascontiguousarray(colours[:, 2 if space == "hsv" else 0, None]) if grey else colours


def principal(features: NDArray[Any], inside: NDArray[np.bool_] | None) -> NDArray[np.float32]:
    """Project bands on their (at most) three main directions, brought to one overall spread."""
    bands = features.astype(np.float64)
    used = bands if inside is None else bands[inside]
    centred = bands - used.mean(axis=0)
    covariance = (
        np.atleast_2d(np.cov(used, rowvar=False)) if len(used) > 1 else np.eye(bands.shape[1])
    )
    spread = math.sqrt(float(np.trace(covariance))) or 1.0
    _, directions = np.linalg.eigh(covariance)
    main = centred @ directions[:, ::-1][:, :3]
    return np.asarray(main * (_SCALE / spread), np.float32)
