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
from meanshiftpp._support.checks import as_positive, as_whole, thread_count
from meanshiftpp._support.devices import module_of, on_gpu
from meanshiftpp.bandwidth.choice import select_bandwidth
from meanshiftpp.core.modes import Modes
from meanshiftpp.core.recipe import Recipe
from meanshiftpp.errors import InvalidInputError
from meanshiftpp.images.pixels import Pixels, principal, read_pixels

CLUSTER_BANDWIDTH = {"rgb": 24.0, "lab": 8.0, "luv": 10.0, "hsv": 8.0}
PIECE_BANDWIDTH = {"rgb": 8.0, "lab": 3.0, "luv": 4.0, "hsv": 3.0}
PIECE_SIZE = 20  # of 481 x 321 pixels; smaller pieces join a neighbour before regions are compared
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
        Grey, RGB, RGBA or any number of bands; two dimensions or three (a volume). Four channels
        are RGBA in a colour space, pixels of alpha 0 being masked out; ``space=None`` takes them as
        four bands. In a colour space: integers up to 255 (bytes, in any type) or up to 65,535 (16
        bits, with a warning where they use less than an eighth of that), or floats from 0 to 1.
    bandwidth : float, optional
        Side of a cell in units of the colour space. By default one that suits `space`; without
        regions, one that suits the image, by `select_bandwidth`.
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
    first = _first(start_label)
    pixels = read_pixels(image, space, mask, channel_axis, n_threads)
    _, labels = _cluster(pixels, bandwidth, None, spatial, n_threads)
    return _shaped(labels, pixels, first)


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
    if on_gpu(image):
        raise InvalidInputError(
            "regions are found on the CPU: give image.get(), or take regions=False"
        )
    first = _first(start_label)
    pixels = read_pixels(image, space, mask, channel_axis, n_threads)
    threads = thread_count(n_threads)
    _, labels = _cluster(pixels, bandwidth, PIECE_BANDWIDTH, spatial, n_threads)
    colours = pixels.three()
    weights = _LAB_WEIGHTS if pixels.space in ("lab", "luv") else (1.0, 1.0, 1.0)
    shape = (1,) * (3 - len(pixels.shape)) + pixels.shape
    piece = round(PIECE_SIZE * max(1.0, shape[1] * shape[2] / (481 * 321)))
    tree = _kernel.Hierarchy(colours, labels, shape, weights, piece, max_level, threads)
    return Hierarchy(tree, colours, pixels, first)


class Hierarchy:
    """The regions of an image at every level of detail; made by `hierarchy`.

    A cut computes nothing again, so that a slider can move through the levels.

    Examples
    --------
    >>> import numpy as np
    >>> from meanshiftpp import hierarchy
    >>> image = np.full((40, 60, 3), 30, np.uint8)
    >>> image[:, 20:40] = (200, 60, 40)
    >>> image[:, 40:] = (40, 60, 200)
    >>> tree = hierarchy(image)
    >>> tree.n_regions(), np.unique(tree.cut()).tolist()
    (3, [0, 1, 2])
    """

    def __init__(
        self,
        tree: _kernel.Hierarchy,
        colours: NDArray[np.float32],
        pixels: Pixels,
        start_label: int,
    ) -> None:
        self._tree, self._colours = tree, colours
        self._pixels, self._start_label = pixels, start_label

    def cut(self, detail: float = 1.0, *, min_size: int | None = None) -> NDArray[np.int32]:
        """Label the image at a level of detail; see `segment`."""
        least = 1 if min_size is None else as_whole(min_size, "min_size", 1)
        smallest = min(least, len(self._colours))
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

    The parameters are those of `segment`, except that `space` is "rgb" by default and `bandwidth`
    is then fixed: 24 in RGB, 8 in Lab and HSV, 10 in Luv. Masked pixels, and an alpha channel, stay
    as they are.

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
    pixels = read_pixels(image, space, mask, channel_axis, n_threads)
    modes, labels = _cluster(pixels, bandwidth, CLUSTER_BANDWIDTH, None, n_threads)
    colours = _colours_of(pixels, modes, labels, bandwidth)
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

    Examples
    --------
    >>> import numpy as np
    >>> from meanshiftpp import palette
    >>> image = np.zeros((10, 10, 3), np.uint8)
    >>> image[:, :3] = (255, 128, 0)
    >>> found = palette(image, 16)
    >>> [(colour.tolist(), float(share)) for colour, share in zip(found.colors, found.shares)]
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
    n_threads: int | None = None,
) -> Palette:
    """Find the colours of an image: the modes of its pixels, with their shares.

    The parameters are those of `segment`, except that `space` is "rgb" by default and `bandwidth`
    is then fixed: 24 in RGB, 8 in Lab and HSV, 10 in Luv.

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
    pixels = read_pixels(image, space, mask, channel_axis, n_threads)
    modes, labels = _cluster(pixels, bandwidth, CLUSTER_BANDWIDTH, None, n_threads)
    colours = pixels.as_given(_colours_of(pixels, modes, labels, bandwidth))
    return Palette(colours, modes.weights / modes.weights.sum())


# -- within -----------------------------------------------------------------------------------


def _cluster(
    pixels: Pixels,
    bandwidth: float | None,
    defaults: dict[str, float] | None,
    spatial: float | None,
    n_threads: int | None,
) -> tuple[Modes, NDArray[np.int32]]:
    """Cluster the pixels; label -1 outside the mask. Without defaults, the image has its own."""
    points = pixels.features
    if bandwidth is None:
        if pixels.space is None:
            points = principal(points, pixels.mask)
        if defaults is not None:
            bandwidth = defaults[pixels.space or "lab"]
        else:
            seen = points if pixels.mask is None else points[pixels.mask]
            bandwidth = _own_bandwidth(seen, n_threads)
    sides: Any = bandwidth
    if spatial is not None:
        xp = module_of(points)
        axes = xp.indices(pixels.shape, np.float32).reshape(len(pixels.shape), -1).T
        side = as_positive(spatial, "spatial")
        sides = [bandwidth] * points.shape[1] + [side] * axes.shape[1]
        points = xp.hstack([points.astype(np.float32, copy=False), axes])
    recipe = Recipe(sides).checked(points.shape[1])
    if pixels.mask is None:
        return recipe.fit(points, n_threads=n_threads)
    modes, inside = recipe.fit(points[pixels.mask], n_threads=n_threads)
    labels: NDArray[np.int32] = module_of(points).full(len(points), -1, np.int32)
    labels[pixels.mask] = inside
    return modes, labels


def _own_bandwidth(points: NDArray[Any], n_threads: int | None) -> float:
    """Choose a bandwidth for the pixels there are: one, because colours have one unit."""
    return float(select_bandwidth(points, per_feature=False, n_threads=n_threads).max())


def _modes_are_colours(pixels: Pixels, bandwidth: float | None) -> bool:
    """Tell whether what was clustered are the image's own values."""
    if pixels.space is None:
        return bandwidth is not None  # without one, in the main directions of the bands
    return pixels.space == "rgb" and pixels.values.dtype == np.uint8


def _colours_of(
    pixels: Pixels, modes: Modes, labels: NDArray[np.int32], bandwidth: float | None
) -> NDArray[Any]:
    """Colour of each cluster in the image's own type: its mode where that is one, else its mean."""
    channels = pixels.coloured
    if _modes_are_colours(pixels, bandwidth):
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


def _shaped(labels: NDArray[np.int32], pixels: Pixels, start_label: int) -> NDArray[np.int32]:
    if start_label:
        labels = labels + np.int32(start_label)
    return labels.reshape(pixels.shape)


def _level(detail: float) -> float:
    """Turn detail into the cost up to which borders are merged, the default being 1."""
    return 1.0 / as_positive(detail, "detail")


def _first(start_label: int) -> int:
    """Check the first label: labels have 32 bits, and there is one below the first."""
    return as_whole(start_label, "start_label", -(2**30), 2**30)
