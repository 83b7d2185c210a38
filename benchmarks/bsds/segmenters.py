"""What is run on the photographs: ours, the paper's own setting, and the peers with their grids.

A peer gets its best single setting over its grid. Quickshift's regions grow with its kernel, and
its time with the square of that: one that suits these photographs would take about a minute each.
So it runs twice: on the photographs as they are with the kernels one can wait for, and on smaller
ones, where the same kernel reaches farther and scores far better. Mean shift works on half the
size, as in the paper, with seeds on a grid, and on a sample of the photographs only.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from importlib.metadata import version
from itertools import product
from pathlib import Path
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

import meanshiftpp
from meanshiftpp import _kernel

Image = NDArray[np.uint8]
Labels = NDArray[np.integer]
Setting = dict[str, float]


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

    return _enlarge(segmentation.quickshift(_shrink(image, shrink), **setting), shrink, image)


def mean_shift(image: Image, shrink: int, bandwidth: float) -> Labels:
    from sklearn.cluster import MeanShift

    small = _shrink(image, shrink)
    points = small.reshape(-1, small.shape[-1]).astype(np.float64)
    labels = MeanShift(bandwidth=bandwidth, bin_seeding=True).fit_predict(points)
    return _enlarge(labels.reshape(small.shape[:2]), shrink, image)


def quickshift_cut(image: Image, shrink: int, max_dist: float, **setting: float) -> Labels:
    """Do as `quickshift` does; another `max_dist` on the same image costs nothing.

    The tree does not depend on `max_dist`: a pixel hangs on its nearest denser neighbour, and
    links longer than that are then cut.
    """
    small = _shrink(image, shrink)
    parents, lengths = _tree(small.tobytes(), small.shape, **setting)
    roots = np.where(lengths > max_dist, np.arange(len(parents)), parents)
    while not np.array_equal(above := roots[roots], roots):
        roots = above
    return _enlarge(roots.reshape(small.shape[:2]), shrink, image)


@lru_cache(maxsize=1)
def _tree(
    pixels: bytes, shape: tuple[int, ...], **setting: float
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    from skimage import segmentation

    image = np.frombuffer(pixels, np.uint8).reshape(shape)
    tree = segmentation.quickshift(image, max_dist=np.inf, return_tree=True, **setting)
    return np.asarray(tree[1]).ravel(), np.asarray(tree[2]).ravel()


def _shrink(image: Image, factor: int) -> Image:
    """Average squares of pixels; what is over at the right and below is left out."""
    if factor == 1:
        return image
    high, wide = (side // factor for side in image.shape[:2])
    squares = image[: high * factor, : wide * factor].reshape(high, factor, wide, factor, -1)
    return np.rint(squares.mean(axis=(1, 3))).astype(np.uint8)


def _enlarge(labels: Labels, factor: int, image: Image) -> Labels:
    """Repeat labels to the size of the image."""
    rows, columns = (
        np.minimum(np.arange(side) // factor, small - 1)
        for side, small in zip(image.shape[:2], labels.shape, strict=True)
    )
    return labels[np.ix_(rows, columns)]


@dataclass(frozen=True)
class Method:
    """A way to segment, and the settings it is tried with."""

    name: str
    call: Callable[..., Labels]
    package: str
    grid: Sequence[Setting] = ({},)
    cut: Callable[..., Labels] | None = None  # the same answers, faster, where many are asked for
    sampled: bool = False  # too slow for every photograph
    own: bool = False

    def __str__(self) -> str:
        return self.name

    @cached_property
    def made_of(self) -> str:
        """Tell what its answers depend on: a package's version, or our own code as it is now."""
        return version(self.package) + (f", code {_own_code()}" if self.own else "")


@lru_cache
def _own_code() -> str:
    folder = Path(meanshiftpp.__file__).parent
    files = [
        Path(_kernel.__file__),
        *(folder / f"{name}.py" for name in ("images/pixels", "images/segmentation", "core/modes")),
    ]
    return f"{crc32(b''.join(path.read_bytes() for path in files)):08x}"


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
    sampled=True,
)
_ALL = (OURS, PAPER, FELZENSZWALB, SLIC, QUICKSHIFT, QUICKSHIFT_SMALL, MEAN_SHIFT)
METHODS = {method.name: method for method in _ALL}
PEERS = [method for method in METHODS.values() if not method.own]
