"""Colour clusters of an image: the pixels as points in colour space, their modes as a palette."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from meanshiftpp._support.checks import as_positive
from meanshiftpp._support.devices import module_of
from meanshiftpp.bandwidth.choice import select_bandwidth
from meanshiftpp.core.modes import Modes
from meanshiftpp.core.recipe import Recipe
from meanshiftpp.images.levels import ValueRange
from meanshiftpp.images.pixels import Pixels, read_pixels

CLUSTER_BANDWIDTH = {"rgb": 24.0, "lab": 8.0, "luv": 10.0, "hsv": 8.0}


def quantize(
    image: ArrayLike,
    bandwidth: float | None = None,
    *,
    space: str | None = "rgb",
    mask: ArrayLike | None = None,
    channel_axis: int | None = -1,
    value_range: ValueRange = None,
    n_threads: int | None = None,
) -> NDArray[Any]:
    """Replace the colour of every pixel by the colour of its cluster.

    The parameters are those of `segment`, except that `space` is "rgb" by default and the default
    `bandwidth` is fixed: 24 in RGB, 8 in Lab and HSV, 10 in Luv. Masked pixels and an alpha channel
    are unchanged.

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
    pixels = read_pixels(image, space, mask, channel_axis, n_threads, value_range)
    modes, labels = cluster_pixels(pixels, bandwidth, CLUSTER_BANDWIDTH, None, n_threads)
    colours = _cluster_colours(pixels, modes, labels, bandwidth)
    out = pixels.values.copy()
    inside = labels >= 0
    out[inside, : colours.shape[1]] = colours[labels[inside]]
    return pixels.to_image(out)


@dataclass(frozen=True)
class Palette:
    """The colours of an image and their shares, most frequent first.

    Attributes
    ----------
    colors : ndarray of shape (n_colors, n_channels)
        In the type and range of the image.
    shares : ndarray of shape (n_colors,)
        Share of the image's pixels for each colour; they sum to 1.

    Examples
    --------
    >>> import numpy as np
    >>> from meanshiftpp import palette
    >>> image = np.zeros((10, 10, 3), np.uint8)
    >>> image[:, :3] = (255, 128, 0)
    >>> result = palette(image, 16)
    >>> [(colour.tolist(), float(share)) for colour, share in zip(result.colors, result.shares)]
    [([0, 0, 0], 0.7), ([255, 128, 0], 0.3)]
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
    value_range: ValueRange = None,
    n_threads: int | None = None,
) -> Palette:
    """Return the colours of an image, the modes of its pixels, with their shares.

    The parameters are those of `segment`, except that `space` is "rgb" by default and the default
    `bandwidth` is fixed: 24 in RGB, 8 in Lab and HSV, 10 in Luv.

    Returns
    -------
    Palette

    Examples
    --------
    >>> import numpy as np
    >>> from meanshiftpp import palette
    >>> image = np.array([[[10, 10, 10], [12, 10, 10], [200, 0, 0], [200, 0, 0]]], np.uint8)
    >>> result = palette(image, 24)
    >>> result.colors.tolist(), result.shares.tolist()
    ([[11, 10, 10], [200, 0, 0]], [0.5, 0.5])
    """
    pixels = read_pixels(image, space, mask, channel_axis, n_threads, value_range)
    modes, labels = cluster_pixels(pixels, bandwidth, CLUSTER_BANDWIDTH, None, n_threads)
    colours = pixels.to_image_dtype(_cluster_colours(pixels, modes, labels, bandwidth))
    return Palette(colours, modes.weights / modes.weights.sum())


def cluster_pixels(
    pixels: Pixels,
    bandwidth: float | None,
    defaults: dict[str, float] | None,
    spatial: float | None,
    n_threads: int | None,
) -> tuple[Modes, NDArray[np.int32]]:
    """Cluster the pixels; masked ones get label -1.

    Without `defaults`, a bandwidth of None is chosen from the image.
    """
    points = pixels.features
    if bandwidth is None:
        if pixels.space is None:
            points = pixels.components()
        if defaults is not None:
            bandwidth = defaults[pixels.space or "lab"]
        else:
            unmasked = points if pixels.mask is None else points[pixels.mask]
            bandwidth = _choose_bandwidth(unmasked, n_threads)
    cell_size: Any = bandwidth
    if spatial is not None:
        xp = module_of(points)
        coordinates = xp.indices(pixels.shape, np.float32).reshape(len(pixels.shape), -1).T
        pixels_per_cell = as_positive(spatial, "spatial")
        cell_size = [bandwidth] * points.shape[1] + [pixels_per_cell] * coordinates.shape[1]
        points = xp.hstack([points.astype(np.float32, copy=False), coordinates])
    recipe = Recipe(cell_size).checked(points.shape[1])
    if pixels.mask is None:
        return recipe.fit(points, n_threads=n_threads)
    modes, inside = recipe.fit(points[pixels.mask], n_threads=n_threads)
    labels: NDArray[np.int32] = module_of(points).full(len(points), -1, np.int32)
    labels[pixels.mask] = inside
    return modes, labels


def _choose_bandwidth(points: NDArray[Any], n_threads: int | None) -> float:
    """Choose one bandwidth for all channels, because they have the same unit."""
    return float(select_bandwidth(points, per_feature=False, n_threads=n_threads).max())


def _modes_as_values(
    pixels: Pixels, modes: Modes, bandwidth: float | None
) -> NDArray[np.float64] | None:
    """Return the modes in the range of the image; None if the features are not its values."""
    if pixels.space is None:
        return None if bandwidth is None else modes.centers  # or principal components
    if pixels.space != "rgb":
        return None
    low, high = pixels.limits
    return modes.centers if (low, high) == (0, 255) else low + modes.centers * ((high - low) / 255)


def _cluster_colours(
    pixels: Pixels, modes: Modes, labels: NDArray[np.int32], bandwidth: float | None
) -> NDArray[Any]:
    """Return the colour of each cluster: its mode if that is a colour, else its mean colour."""
    channels = pixels.n_colour_channels
    colours = _modes_as_values(pixels, modes, bandwidth)
    if colours is None:
        inside = labels >= 0
        values = pixels.values[inside, :channels].astype(np.float64)
        sums = [np.bincount(labels[inside], values[:, c], len(modes)) for c in range(channels)]
        colours = (
            np.stack(sums, axis=1) / np.bincount(labels[inside], minlength=len(modes))[:, None]
        )
    dtype = pixels.values.dtype
    return (np.rint(colours) if dtype.kind in "iu" else colours).astype(dtype)
