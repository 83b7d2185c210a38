"""The contenders: ours, the paper's, and the peers, each with a grid of settings.

Each peer runs with its best single setting of the grid. The regions of quickshift grow with its
kernel, and its time with the square of the kernel: a kernel that suits these photographs would
take about a minute each. Quickshift therefore runs twice: at full size with small kernels, and on
shrunk photographs, where the same kernel covers more and scores far better. Mean shift works at
half the size, as in the paper, with seeds on a grid, and on a sample of the photographs only.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from importlib.metadata import version as package_version
from itertools import product

import numpy as np
from numpy.typing import NDArray

import meanshiftpp
from benchmarks.common.result_cache import code_version

Image = NDArray[np.uint8]
Labels = NDArray[np.integer]
Setting = dict[str, float]
LAYERS = ("_support", "backends", "core", "bandwidth", "images")  # our methods depend on these


def ours(image: Image, n_threads: int | None = None) -> Labels:
    return meanshiftpp.segment(image, n_threads=n_threads)


def paper(image: Image, bandwidth: float) -> Labels:
    return meanshiftpp.segment(image, bandwidth, space="rgb", regions=False)


def slic(image: Image, **setting: float) -> Labels:
    from skimage import segmentation

    return segmentation.slic(image, start_label=0, **setting)


def felzenszwalb(image: Image, **setting: float) -> Labels:
    from skimage import segmentation

    return segmentation.felzenszwalb(image, **setting)


def quickshift(image: Image, shrink: int, **setting: float) -> Labels:
    from skimage import segmentation

    labels = segmentation.quickshift(shrink_image(image, shrink), **setting)
    return enlarge_labels(labels, shrink, image)


def mean_shift(image: Image, shrink: int, bandwidth: float) -> Labels:
    from sklearn.cluster import MeanShift

    small = shrink_image(image, shrink)
    points = small.reshape(-1, small.shape[-1]).astype(np.float64)
    labels = MeanShift(bandwidth=bandwidth, bin_seeding=True).fit_predict(points)
    return enlarge_labels(labels.reshape(small.shape[:2]), shrink, image)


def quickshift_cut(image: Image, shrink: int, max_dist: float, **setting: float) -> Labels:
    """Return the labels of `quickshift`; another `max_dist` on the same image is almost free.

    The tree does not depend on `max_dist`: each pixel links to its nearest denser neighbour, and
    links longer than `max_dist` are then cut.
    """
    small = shrink_image(image, shrink)
    parents, lengths = _quickshift_tree(small.tobytes(), small.shape, **setting)
    roots = np.where(lengths > max_dist, np.arange(len(parents)), parents)
    while not np.array_equal(above := roots[roots], roots):
        roots = above
    return enlarge_labels(roots.reshape(small.shape[:2]), shrink, image)


@lru_cache(maxsize=1)
def _quickshift_tree(
    pixels: bytes, shape: tuple[int, ...], **setting: float
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    from skimage import segmentation

    image = np.frombuffer(pixels, np.uint8).reshape(shape)
    tree = segmentation.quickshift(image, max_dist=np.inf, return_tree=True, **setting)
    return np.asarray(tree[1]).ravel(), np.asarray(tree[2]).ravel()


def shrink_image(image: Image, factor: int) -> Image:
    """Average squares of pixels; incomplete squares at the right and bottom are dropped."""
    if factor == 1:
        return image
    high, wide = (side // factor for side in image.shape[:2])
    squares = image[: high * factor, : wide * factor].reshape(high, factor, wide, factor, -1)
    return np.rint(squares.mean(axis=(1, 3))).astype(np.uint8)


def enlarge_labels(labels: Labels, factor: int, image: Image) -> Labels:
    """Repeat labels up to the size of the image."""
    rows, columns = (
        np.minimum(np.arange(side) // factor, small - 1)
        for side, small in zip(image.shape[:2], labels.shape, strict=True)
    )
    return labels[np.ix_(rows, columns)]


@dataclass(frozen=True)
class Method:
    """A segmentation method and the grid of its settings."""

    name: str
    call: Callable[..., Labels]
    package: str
    grid: Sequence[Setting] = ({},)
    cut: Callable[..., Labels] | None = None  # the same labels, faster for several settings
    sample_only: bool = False  # too slow for every photograph
    own: bool = False

    def __str__(self) -> str:
        return self.name

    @cached_property
    def version(self) -> str:
        """The version of the package and, for our methods, of the code."""
        return package_version(self.package) + (f", {code_version(*LAYERS)}" if self.own else "")


def _grid(**axes: Sequence[float]) -> list[Setting]:
    return [dict(zip(axes, values, strict=True)) for values in product(*axes.values())]


OURS = Method("segment", ours, "meanshiftpp", own=True)
PAPER = Method(
    "colour clusters",
    paper,
    "meanshiftpp",
    _grid(bandwidth=(8, 10, 12, 14, 16, 18, 20, 24, 28, 32, 40)),
    own=True,
)
FELZENSZWALB = Method(
    "felzenszwalb",
    felzenszwalb,
    "scikit-image",
    _grid(scale=(100, 200, 400, 800), sigma=(0.5, 0.8), min_size=(250, 500, 1000, 2000)),
)
SLIC = Method(
    "slic",
    slic,
    "scikit-image",
    _grid(n_segments=(4, 6, 8, 12, 20), compactness=(1, 3, 10, 30), sigma=(0, 1)),
)
QUICKSHIFT = Method(
    "quickshift",
    quickshift,
    "scikit-image",
    _grid(shrink=(1,), kernel_size=(3, 5, 7), ratio=(0.5, 1.0), max_dist=(10, 20, 40, 80)),
    cut=quickshift_cut,
)
QUICKSHIFT_SMALL = Method(
    "quickshift, shrunk",
    quickshift,
    "scikit-image",
    _grid(shrink=(2, 3), kernel_size=(10,), ratio=(0.5, 1.0), max_dist=(10, 20, 40))
    + _grid(shrink=(3,), kernel_size=(16,), ratio=(0.5, 1.0), max_dist=(5, 10, 20, 40))
    + _grid(shrink=(4,), kernel_size=(6, 8, 12), ratio=(0.5, 1.0), max_dist=(5, 10, 20, 40)),
    cut=quickshift_cut,
)
MEAN_SHIFT = Method(
    "MeanShift",
    mean_shift,
    "scikit-learn",
    _grid(shrink=(2,), bandwidth=(20, 25, 30, 40)),
    sample_only=True,
)
_ALL = (OURS, PAPER, FELZENSZWALB, SLIC, QUICKSHIFT, QUICKSHIFT_SMALL, MEAN_SHIFT)
METHODS = {method.name: method for method in _ALL}
PEERS = [method for method in METHODS.values() if not method.own]
