"""Segment images: colour clusters, and regions in a hierarchy.

Pixels are points in colour space, so `segment(..., regions=False)` is plain MeanShift++. Regions
start from these clusters: connected pieces of one cluster merge across their weakest borders, and
the order of the merges is a hierarchy that can be cut at any level of detail.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from meanshiftpp import _kernel
from meanshiftpp._support.checks import as_not_negative, as_positive, as_whole, thread_count
from meanshiftpp._support.devices import on_gpu
from meanshiftpp._support.warnings import warn_user
from meanshiftpp.errors import InvalidInputError
from meanshiftpp.images.bands import SCENE_CELL, scene_level
from meanshiftpp.images.colours import cluster_pixels
from meanshiftpp.images.levels import ValueRange
from meanshiftpp.images.merge_table import merge_table
from meanshiftpp.images.pixels import Pixels, read_pixels

PIECE_BANDWIDTH = {"rgb": 8.0, "lab": 3.0, "luv": 4.0, "hsv": 3.0}
# Smaller pieces join a neighbour before borders are compared. In pixels of an image of 481 x 321,
# the size of the photographs of BSDS500; the limit grows with larger images.
PIECE_SIZE, PIECE_IMAGE_SIZE = 20, 481 * 321
_LAB_WEIGHTS = (0.5, 1.0, 1.0)


def segment(
    image: ArrayLike,
    bandwidth: float | None = None,
    *,
    space: str | None = "lab",
    spatial: float | None = None,
    regions: bool | int = True,
    detail: float = 1.0,
    min_size: int | None = None,
    mask: ArrayLike | None = None,
    channel_axis: int | None = -1,
    value_range: ValueRange = None,
    start_label: int = 0,
    n_threads: int | None = None,
) -> NDArray[np.int32]:
    """Segment an image into regions, or into the clusters of its colours.

    Parameters
    ----------
    image : array-like
        A grey, RGB, RGBA or multi-band image in two dimensions, or a volume in three. In a colour
        space, four channels are RGBA and pixels of alpha 0 are masked; ``space=None`` treats them
        as four bands. Values in a colour space are integers, or floats from 0 to 1.
    bandwidth : float, optional
        Cell size in units of the colour space. By default a fixed value for `space`; without
        regions, the value that `select_bandwidth` chooses for the image.
    space : {"lab", "rgb", "luv", "hsv"} or None
        Colour space in which pixels are compared: L from 0 to 100, RGB from 0 to 255, "hsv" on its
        cone, where hue is a circle. None compares bands of any unit, as is always done for images
        that have neither one, three nor four channels: clusters of a given bandwidth in the values
        themselves, regions in values that are scaled by their range. The number of regions then
        grows with the image, as on a map.
    spatial : float, optional
        Cell size in pixels: adds the coordinates as features, as in (r, g, b, x, y).
    regions : bool or int
        Whether to return connected regions, merged across their weakest borders, or the colour
        clusters. A number returns that many regions (superpixels, for large numbers); more only if
        the mask has more parts, fewer if the image has fewer pieces or `min_size` joins some.
    detail : float
        Values above 1 return more regions, values below 1 fewer. Only with ``regions=True``.
    min_size : int, optional
        Regions of fewer pixels join the neighbour of nearest colour. Only with regions. Pieces
        of less than 20 pixels always do, in images above 481 x 321 pixels more: 0.013 % of the
        image, unless `min_size` is smaller.
    mask : array-like of bool, optional
        True for the pixels to segment.
    channel_axis : int or None
        The axis of the channels; None for a grey image or volume. A two-dimensional image is always
        grey.
    value_range : {"image", "dtype"} or (low, high), optional
        The values that are black and white in a colour space; values beyond are clipped. "image":
        the range of the image's values, without the 0.01 % at each end. "dtype": 0 to 255 for
        integers up to 255, 0 to 65,535 for others (32,767 for int16), 0 to 1 for floats. By
        default "dtype", except for integers above 255 that use less than half of 16 bits, such as
        those of a sensor with 12 bits: these are scaled by the range of the image. Pass numbers,
        such as ``(0, 4095)``, to treat all images of a series alike.
    start_label : int
        Label of the largest segment; masked pixels get ``start_label - 1``.
    n_threads : int, optional
        By default all cores that this process may use. The result does not depend on it.

    Returns
    -------
    ndarray of int32
        Labels in order of decreasing size, in the shape of the image without its channels.

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
    n_regions = None if isinstance(regions, bool | np.bool_) else as_whole(regions, "regions", 1)
    if regions:
        tree = hierarchy(
            image,
            bandwidth,
            space=space,
            spatial=spatial,
            mask=mask,
            channel_axis=channel_axis,
            value_range=value_range,
            start_label=start_label,
            n_threads=n_threads,
            max_level=level_of(detail) if n_regions is None else math.inf,
            min_size=min_size,
        )
        return tree.cut(detail, regions=n_regions, min_size=min_size)
    first_label = _checked_start_label(start_label)
    pixels = read_pixels(image, space, mask, channel_axis, n_threads, value_range)
    _, labels = cluster_pixels(pixels, bandwidth, None, spatial, n_threads)
    return _label_image(labels, pixels, first_label)


def hierarchy(
    image: ArrayLike,
    bandwidth: float | None = None,
    *,
    space: str | None = "lab",
    spatial: float | None = None,
    mask: ArrayLike | None = None,
    channel_axis: int | None = -1,
    value_range: ValueRange = None,
    start_label: int = 0,
    n_threads: int | None = None,
    max_level: float = math.inf,
    min_size: int | None = None,
) -> Hierarchy:
    """Compute all regions of an image, from the finest to the whole image.

    The parameters are those of `segment`. `max_level` skips merges above a level, which saves time
    if no coarser cut is needed. `min_size` keeps smaller objects in large images; it does not
    remove regions, as that of `cut` does.

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
            "regions are computed on the CPU, got an image on a GPU; pass image.get(), or use "
            "regions=False"
        )
    first_label = _checked_start_label(start_label)
    max_level = as_not_negative(max_level, "max_level")
    pixels = read_pixels(image, space, mask, channel_axis, n_threads, value_range)
    smallest = None if min_size is None else as_whole(min_size, "min_size", 1)
    tree, colours = merge_regions(
        pixels, bandwidth, spatial, max_level, n_threads, merge_table(), min_size=smallest
    )
    return Hierarchy(tree, colours, pixels, first_label, n_threads)


def merge_regions(
    pixels: Pixels,
    bandwidth: float | None,
    spatial: float | None,
    max_level: float,
    n_threads: int | None,
    table: _kernel.MergeTable | None,
    trace: _kernel.MergeTrace | None = None,
    min_size: int | None = None,
) -> tuple[_kernel.Hierarchy, NDArray[np.float32]]:
    """Return the merges of an image and the colours that were compared; training traces them.

    The learned cost needs colours or grey; volumes and bands have the hand-made one only.
    """
    if _is_scene(pixels) and spatial is None:
        spatial = SCENE_CELL
    _, labels = cluster_pixels(pixels, bandwidth, PIECE_BANDWIDTH, spatial, n_threads)
    colours = pixels.colour_vectors()
    weights = _LAB_WEIGHTS if pixels.space in ("lab", "luv") else (1.0, 1.0, 1.0)
    shape = (1,) * (3 - len(pixels.shape)) + pixels.shape
    n_pixels = 0 if _is_scene(pixels) else shape[1] * shape[2]  # a map has pieces of one size
    threads = thread_count(n_threads)
    is_picture = pixels.space is not None and shape[0] == 1
    lab = pixels.lab(threads) if is_picture and pixels.space != "lab" else None
    tree = _kernel.Hierarchy(
        colours,
        labels,
        shape,
        weights,
        piece_size(n_pixels, min_size),
        max_level * _level_factor(pixels, colours),
        threads,
        table if is_picture else None,
        lab,
        trace,
    )
    return tree, colours


def piece_size(n_pixels: int, min_size: int | None) -> int:
    """Return the least size of a piece in an image or a slice of so many pixels."""
    size = round(PIECE_SIZE * max(1.0, n_pixels / PIECE_IMAGE_SIZE))
    return size if min_size is None else max(PIECE_SIZE, min(size, min_size))


class Hierarchy:
    """The regions of an image at every level of detail, as returned by `hierarchy`.

    A cut reuses the stored merges, so it is fast enough to follow a slider.

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
        n_threads: int | None,
    ) -> None:
        self._tree, self._colours = tree, colours
        self._pixels, self._start_label = pixels, start_label
        self._n_threads = n_threads
        self._level_factor = _level_factor(pixels, colours)

    def cut(
        self, detail: float = 1.0, *, regions: int | None = None, min_size: int | None = None
    ) -> NDArray[np.int32]:
        """Label the image at a level of detail, or with a number of regions; see `segment`."""
        smallest = 1 if min_size is None else as_whole(min_size, "min_size", 1)
        smallest = min(smallest, len(self._colours))
        n_threads = thread_count(self._n_threads)
        if regions is None:
            wanted = self.n_regions(detail)
        elif detail != 1:
            raise InvalidInputError.for_parameter(
                "detail", "1 with a number of regions", detail, "leave out one of the two"
            )
        else:
            wanted = min(as_whole(regions, "regions", 1), len(self._colours))
        labels = self._tree.cut(self._colours, wanted, smallest, n_threads)
        if regions is not None and min_size is None and labels.max() + 1 < regions:
            warn_user(
                UserWarning(
                    f"expected {regions} regions, found {labels.max() + 1}; use a smaller bandwidth"
                )
            )
        return _label_image(labels, self._pixels, self._start_label)

    def n_regions(self, detail: float = 1.0) -> int:
        """Count the regions at a level of detail, without labelling the image."""
        return self._tree.count(level_of(detail) * self._level_factor)


# -- internals ---------------------------------------------------------------------------------


def _label_image(labels: NDArray[np.int32], pixels: Pixels, start_label: int) -> NDArray[np.int32]:
    if start_label:
        labels = labels + np.int32(start_label)
    return labels.reshape(pixels.shape)


def level_of(detail: float) -> float:
    """Return the contrast up to which borders are merged; it is 1 for the default detail."""
    return 1.0 / as_positive(detail, "detail")


def _is_scene(pixels: Pixels) -> bool:
    """Return whether an image shows bands, whose regions have a size of their own."""
    return pixels.space is None and len(pixels.shape) == 2


def _level_factor(pixels: Pixels, colours: NDArray[np.float32]) -> float:
    if not _is_scene(pixels):
        return 1.0
    return scene_level(colours if pixels.mask is None else colours[pixels.mask])


def _checked_start_label(start_label: int) -> int:
    """Check the first label; labels above it and the one below it must fit into 32 bits."""
    return as_whole(start_label, "start_label", -(2**30), 2**30)
