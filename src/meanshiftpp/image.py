"""Images: colour clusters, regions in a hierarchy, palettes.

Pixels are points in colour space, so `segment(..., regions=False)` is plain MeanShift++. Regions go
on from there: connected pieces of one colour merge across their weakest borders, and the order
of merging is a hierarchy from which any level of detail can be cut.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from meanshiftpp import _kernel
from meanshiftpp._input import thread_count
from meanshiftpp.errors import InvalidInputError
from meanshiftpp.modes import Modes, fit_labels

SPACES = ("rgb", "lab", "luv", "hsv")
CLUSTER_BANDWIDTH = {"rgb": 24.0, "lab": 8.0, "luv": 10.0, "hsv": 8.0}
PIECE_BANDWIDTH = {"rgb": 6.0, "lab": 2.5, "luv": 3.0, "hsv": 2.5}
PIECE_SIZE = 20  # of 481 x 321 pixels; smaller pieces join a neighbour before regions are compared
_SCALE = 15.0  # spread that bands without a colour space are brought to
_LAB_WEIGHTS = (0.5, 1.0, 1.0)


def segment(
    image: ArrayLike,
    bandwidth: float | None = None,
    *,
    space: str | None = "lab",
    spatial: float | None = None,
    regions: bool = True,
    detail: float = 1.0,
    min_size: int | None = None,
    mask: ArrayLike | None = None,
    channel_axis: int | None = -1,
    start_label: int = 0,
    n_threads: int | None = None,
) -> NDArray[np.int32]:
    """Segment an image into regions, or into the clusters of its colours.

    Parameters
    ----------
    image : array-like
        Grey, RGB, RGBA (alpha 0 is masked out) or any number of bands; two dimensions or three (a
        volume). Bytes, 16-bit integers, or floats from 0 to 1.
    bandwidth : float, optional
        Side of a cell in units of the colour space. By default one that suits `space`.
    space : {"lab", "rgb", "luv", "hsv"} or None
        Colours are compared in this space: L from 0 to 100, RGB from 0 to 255; "hsv" on its cone,
        where hue is a circle. None takes the values as they are, as is done with images that have
        neither one, three nor four channels.
    spatial : float, optional
        Side of a cell in pixels: adds the coordinates as features, as in (r, g, b, x, y).
    regions : bool
        Connected regions merged by border contrast; False: the colour clusters themselves.
    detail : float
        More than 1 gives more regions, less gives fewer. Only with regions.
    min_size : int, optional
        Regions of fewer pixels join the neighbour of nearest colour. Only with regions.
    mask : array-like of bool, optional
        True where the image is to be segmented.
    channel_axis : int or None
        Which axis holds the channels; None for a grey image or volume. A two-dimensional image is
        grey in any case.
    start_label : int
        Label of the largest segment; masked pixels get ``start_label - 1``.
    n_threads : int, optional
        By default every core this process may use. The result does not depend on it.

    Returns
    -------
    ndarray of int32
        Labels by falling size, in the shape of the image without its channels.

    Examples
    --------
    >>> import numpy as np
    >>> from meanshiftpp import segment
    >>> image = np.zeros((40, 60, 3), np.uint8)
    >>> image[:, 40:] = 200, 30, 30
    >>> labels = segment(image)
    >>> labels.shape, np.bincount(labels.ravel()).tolist()
    ((40, 60), [1600, 800])
    """
    if regions:
        tree = hierarchy(
            image,
            bandwidth,
            space=space,
            spatial=spatial,
            mask=mask,
            channel_axis=channel_axis,
            start_label=start_label,
            n_threads=n_threads,
            max_level=_level(detail),
        )
        return tree.cut(detail, min_size=min_size)
    pixels = _pixels(image, space, mask, channel_axis)
    _, labels = _cluster(pixels, bandwidth, CLUSTER_BANDWIDTH, spatial, n_threads)
    return _shaped(labels, pixels, start_label)


def hierarchy(
    image: ArrayLike,
    bandwidth: float | None = None,
    *,
    space: str | None = "lab",
    spatial: float | None = None,
    mask: ArrayLike | None = None,
    channel_axis: int | None = -1,
    start_label: int = 0,
    n_threads: int | None = None,
    max_level: float = math.inf,
) -> Hierarchy:
    """Compute all regions of an image, from the finest to the whole.

    The parameters are those of `segment`. `max_level` leaves out merges beyond a level, for when
    coarser cuts will not be asked for.

    Returns
    -------
    Hierarchy

    Examples
    --------
    >>> import numpy as np
    >>> from meanshiftpp import hierarchy
    >>> image = np.zeros((40, 60, 3), np.uint8)
    >>> image[:, 20:40] = 200, 30, 30
    >>> image[:, 40:] = 220, 40, 30
    >>> tree = hierarchy(image)
    >>> [tree.n_regions(detail) for detail in (0.01, 1.0, 10.0)]
    [1, 2, 3]
    """
    pixels = _pixels(image, space, mask, channel_axis)
    threads = thread_count(n_threads)
    _, labels = _cluster(pixels, bandwidth, PIECE_BANDWIDTH, spatial, n_threads)
    colours = pixels.three()
    weights = _LAB_WEIGHTS if pixels.space in ("lab", "luv") else (1.0, 1.0, 1.0)
    shape = (1,) * (3 - len(pixels.shape)) + pixels.shape
    piece = round(PIECE_SIZE * max(1.0, shape[1] * shape[2] / (481 * 321)))
    tree = _kernel.Hierarchy(colours, labels, shape, weights, piece, max_level, threads)
    return Hierarchy(tree, colours, pixels, start_label)


class Hierarchy:
    """The regions of an image at every level of detail; made by `hierarchy`.

    A cut computes nothing again, so that a slider can move through the levels.
    """

    def __init__(
        self,
        tree: _kernel.Hierarchy,
        colours: NDArray[np.float32],
        pixels: _Pixels,
        start_label: int,
    ) -> None:
        self._tree, self._colours = tree, colours
        self._pixels, self._start_label = pixels, start_label

    def cut(self, detail: float = 1.0, *, min_size: int | None = None) -> NDArray[np.int32]:
        """Label the image at a level of detail; see `segment`."""
        if min_size is not None and min_size < 1:
            raise InvalidInputError(f"min_size must be at least 1, got {min_size!r}")
        smallest = min(min_size or 1, len(self._colours))
        labels = self._tree.cut(self._colours, _level(detail), smallest)
        return _shaped(labels, self._pixels, self._start_label)

    def n_regions(self, detail: float = 1.0) -> int:
        """Count the regions at a level of detail, without drawing them."""
        return self._tree.count(_level(detail))


def quantize(
    image: ArrayLike,
    bandwidth: float | None = None,
    *,
    space: str | None = "rgb",
    mask: ArrayLike | None = None,
    channel_axis: int | None = -1,
    n_threads: int | None = None,
) -> NDArray[Any]:
    """Give every pixel the colour of its cluster.

    The parameters are those of `segment`. Masked pixels, and an alpha channel, stay as they are.

    Returns
    -------
    ndarray
        An image of the same shape and type.

    Examples
    --------
    >>> import numpy as np
    >>> from meanshiftpp import quantize
    >>> image = np.array([[[10, 10, 10], [12, 10, 10], [200, 0, 0]]], np.uint8)
    >>> quantize(image, 24).tolist()
    [[[11, 10, 10], [11, 10, 10], [200, 0, 0]]]
    """
    pixels = _pixels(image, space, mask, channel_axis)
    modes, labels = _cluster(pixels, bandwidth, CLUSTER_BANDWIDTH, None, n_threads)
    colours = _colours_of(pixels, modes, labels)
    out = pixels.values.copy()
    inside = labels >= 0
    out[inside, : colours.shape[1]] = colours[labels[inside]]
    return pixels.restore(out)


@dataclass(frozen=True)
class Palette:
    """Colours of an image and their shares, most frequent first.

    Attributes
    ----------
    colors : ndarray of shape (n_colors, n_channels)
        In the image's own type and range.
    shares : ndarray of shape (n_colors,)
        Parts of the image; they sum to 1.
    """

    colors: NDArray[Any]
    shares: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.shares)


def palette(
    image: ArrayLike,
    bandwidth: float | None = None,
    *,
    space: str | None = "rgb",
    mask: ArrayLike | None = None,
    channel_axis: int | None = -1,
    n_threads: int | None = None,
) -> Palette:
    """Find the colours of an image: the modes of its pixels, with their shares.

    The parameters are those of `segment`.

    Returns
    -------
    Palette

    Examples
    --------
    >>> import numpy as np
    >>> from meanshiftpp import palette
    >>> image = np.array([[[10, 10, 10], [12, 10, 10], [200, 0, 0], [200, 0, 0]]], np.uint8)
    >>> found = palette(image, 24)
    >>> found.colors.tolist(), found.shares.tolist()
    ([[11, 10, 10], [200, 0, 0]], [0.5, 0.5])
    """
    pixels = _pixels(image, space, mask, channel_axis)
    modes, labels = _cluster(pixels, bandwidth, CLUSTER_BANDWIDTH, None, n_threads)
    colours = pixels.as_given(_colours_of(pixels, modes, labels))
    return Palette(colours, modes.weights / modes.weights.sum())


# -- within -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Pixels:
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
            main = _principal(self.features, self.mask)
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


def _pixels(
    image: ArrayLike, space: str | None, mask: ArrayLike | None, channel_axis: int | None
) -> _Pixels:
    if space is not None and space not in SPACES:
        raise InvalidInputError(f"space must be one of {', '.join(SPACES)} or None, got {space!r}")
    array = _as_image(image)
    if array.ndim == 2:
        channel_axis = None
    if channel_axis is not None:
        if not -array.ndim <= channel_axis < array.ndim:
            raise InvalidInputError(
                f"channel_axis {channel_axis} is not an axis of an image of shape {array.shape}"
            )
        array = np.moveaxis(array, channel_axis, -1)
    shape = array.shape if channel_axis is None else array.shape[:-1]
    if len(shape) not in (2, 3):
        raise InvalidInputError(
            "an image has two dimensions or three, and channels; "
            f"got shape {np.shape(image)} with channel_axis={channel_axis}"
        )
    if 0 in array.shape:
        raise InvalidInputError(f"the image is empty: shape {np.shape(image)}")
    values = array.reshape(math.prod(shape), -1)
    inside = _as_mask(mask, shape)
    colours = values.shape[1]
    if space is not None and colours == 4:  # RGBA
        colours = 3
        opaque = values[:, 3] > 0
        inside = opaque if inside is None else inside & opaque
    if inside is not None and inside.all():
        inside = None
    if inside is not None and not inside.any():
        raise InvalidInputError("the mask leaves no pixel of the image")
    _refuse_not_finite(values, inside, shape)
    if space is not None and colours not in (1, 3):
        space = None
    features = _features(values[:, :colours], space, inside)
    given = np.asarray(image).dtype
    return _Pixels(values, features, space, shape, inside, channel_axis, colours, given)


def _as_image(image: ArrayLike) -> NDArray[Any]:
    try:
        array = np.asarray(image)
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
    inside = np.asarray(mask)
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
    if values.dtype.kind in "iu":
        # Wide integers come from lists and from arithmetic: bytes, or 16 bits, in a larger room.
        wide = values.dtype.itemsize > 2
        fits = [limit for limit in (255, 65535) if wide and values.max() <= limit]
        return float(fits[0] if fits else np.iinfo(values.dtype).max)
    peak = float(np.nanmax(values, initial=0.0, where=np.isfinite(values)))
    low = float(np.nanmin(values, initial=0.0, where=np.isfinite(values)))
    if peak > 1.0 + 1e-6 or low < -1e-6:
        raise InvalidInputError(
            f"a float image must lie between 0 and 1 for a colour space, got {low:g} to {peak:g}; "
            "divide it, or take space=None"
        )
    return 1.0


def _features(
    values: NDArray[Any], space: str | None, inside: NDArray[np.bool_] | None
) -> NDArray[Any]:
    if values.dtype.kind == "f" and inside is not None:
        values = np.where(inside[:, None], values, values.dtype.type(0))
    if space is None or (space == "rgb" and values.dtype == np.uint8):
        return values
    grey = values.shape[1] == 1
    rgb = np.broadcast_to(values, (len(values), 3)) if grey else values
    if rgb.dtype == np.float16:
        rgb = rgb.astype(np.float32)
    colours = _kernel.convert_colours(rgb, space, _white(values), thread_count(None))
    # A grey pixel has one number: L, its value, or any of three equal ones.
    return np.ascontiguousarray(colours[:, 2 if space == "hsv" else 0, None]) if grey else colours


def _principal(features: NDArray[Any], inside: NDArray[np.bool_] | None) -> NDArray[np.float32]:
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


def _cluster(
    pixels: _Pixels,
    bandwidth: float | None,
    defaults: dict[str, float],
    spatial: float | None,
    n_threads: int | None,
) -> tuple[Modes, NDArray[np.int32]]:
    """Cluster the pixels; label -1 outside the mask."""
    points = pixels.features
    if bandwidth is None:
        if pixels.space is None:
            points = _principal(points, pixels.mask)
        bandwidth = defaults[pixels.space or "lab"]
    sides: Any = bandwidth
    if spatial is not None:
        axes = np.indices(pixels.shape, np.float32).reshape(len(pixels.shape), -1).T
        sides = [bandwidth] * points.shape[1] + [spatial] * axes.shape[1]
        points = np.hstack([points.astype(np.float32, copy=False), axes])
    if pixels.mask is None:
        return fit_labels(points, sides, n_threads=n_threads)
    modes, inside = fit_labels(points[pixels.mask], sides, n_threads=n_threads)
    labels = np.full(len(points), -1, np.int32)
    labels[pixels.mask] = inside
    return modes, labels


def _colours_of(pixels: _Pixels, modes: Modes, labels: NDArray[np.int32]) -> NDArray[Any]:
    """Colour of each cluster in the image's own type: its mode where that is one, else its mean."""
    channels = pixels.coloured
    if pixels.features.dtype == pixels.values.dtype and modes.centers.shape[1] == channels:
        colours = modes.centers
    else:
        inside = labels >= 0
        values = pixels.values[inside, :channels].astype(np.float64)
        sums = [np.bincount(labels[inside], values[:, c], len(modes)) for c in range(channels)]
        colours = (
            np.stack(sums, axis=1) / np.bincount(labels[inside], minlength=len(modes))[:, None]
        )
    dtype = pixels.values.dtype
    return (np.rint(colours) if dtype.kind in "iu" else colours).astype(dtype)


def _shaped(labels: NDArray[np.int32], pixels: _Pixels, start_label: int) -> NDArray[np.int32]:
    if start_label:
        labels = labels + np.int32(start_label)
    return labels.reshape(pixels.shape)


def _level(detail: float) -> float:
    """Turn detail into the cost up to which borders are merged, the default being 1."""
    if not 0 < detail < math.inf:
        raise InvalidInputError(f"detail must be a positive number, got {detail!r}")
    return 1.0 / detail
