"""Compare superpixels: `python -m benchmarks.bsds.superpixels DATA_DIR`.

`segment(image, regions=n)` against slic, SEEDS (OpenCV contrib) and felzenszwalb, whose scale is
searched for each photograph until about n segments are left.

    undersegmentation  pixels of segments that cross a drawn border, on the smaller side   0 is best
    boundary recall    drawn border pixels within 2 pixels of a found one                  1 is best
    accuracy           pixels that are right if each segment gets its majority region      1 is best

Each is a mean over the people who drew regions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from time import process_time
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

import meanshiftpp
from benchmarks.bsds.photos import PARTS, Photo, load
from benchmarks.bsds.scales import boundary, within
from benchmarks.common.command_line import command_parser
from benchmarks.common.reporting import markdown_table

Image = NDArray[np.uint8]
Labels = NDArray[np.integer]
RECALL_RADIUS = 2.0


def ours(image: Image, n: int) -> Labels:
    return meanshiftpp.segment(image, regions=n, n_threads=1)


def slic(image: Image, n: int) -> Labels:
    from skimage.segmentation import slic

    return slic(image, n_segments=n, compactness=10, start_label=0)


def seeds(image: Image, n: int) -> Labels:
    import cv2

    height, width = image.shape[:2]
    lab = cv2.cvtColor(image, cv2.COLOR_RGB2LAB)
    method = cv2.ximgproc.createSuperpixelSEEDS(width, height, 3, n, 4, 2, 5)
    method.iterate(lab, 10)
    return method.getLabels()


def felzenszwalb(image: Image, n: int) -> Labels:
    """Search the scale by bisection: its number of segments cannot be set."""
    from skimage.segmentation import felzenszwalb

    low, high = 1.0, 5000.0
    for _ in range(8):
        middle = float(np.sqrt(low * high))
        labels = felzenszwalb(image, scale=middle, sigma=0.5, min_size=20)
        low, high = (middle, high) if labels.max() + 1 > n else (low, middle)
    return labels


METHODS: dict[str, Callable[[Image, int], Labels]] = {
    "segment": ours,
    "slic": slic,
    "SEEDS": seeds,
    "felzenszwalb": felzenszwalb,
}


class Quality(NamedTuple):
    """The measures of one segmentation."""

    undersegmentation: float
    recall: float
    accuracy: float
    segments: float
    seconds: float


def measure(photo: Photo, method: str, n: int) -> Quality:
    image = photo.image
    start = process_time()
    labels = METHODS[method](image, n)
    seconds = process_time() - start
    near = within(boundary(labels), RECALL_RADIUS)
    codes = np.unique(labels, return_inverse=True)[1].ravel()
    count = int(codes.max()) + 1
    results = []
    for truth in photo.truths:
        drawn = boundary(truth)
        width = int(truth.max()) + 1
        shared = np.bincount(codes * np.int64(width) + truth.ravel(), minlength=count * width)
        shared = shared.reshape(count, width)
        sizes = shared.sum(axis=1, keepdims=True)
        leaks = np.where(shared > 0, np.minimum(shared, sizes - shared), 0).sum()
        recall = (drawn & near).sum() / max(drawn.sum(), 1)
        results.append((leaks / codes.size, recall, shared.max(axis=1).sum() / codes.size))
    return Quality(*np.mean(results, axis=0), count, seconds)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run from the command line and return the exit status."""
    parser = command_parser("bsds.superpixels", __doc__)
    parser.add_argument("data", type=Path, metavar="DATA_DIR", help="BSDS500")
    parser.add_argument("--part", choices=PARTS, default="val")
    parser.add_argument("--step", type=int, default=1, metavar="N", help="every N-th photograph")
    parser.add_argument("--regions", type=int, nargs="+", default=[100, 300])
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    parser.add_argument("--jobs", type=int, default=2, help="processes (2)")
    options = parser.parse_args(arguments)
    photos = [p for p in load(options.data) if p.path.parent.name == options.part]
    rows = []
    with ProcessPoolExecutor(options.jobs, get_context("spawn")) as pool:
        for n in options.regions:
            for method in options.methods:
                work = partial(measure, method=method, n=n)
                results = list(pool.map(work, photos[:: options.step], chunksize=4))
                *scores, count, seconds = np.mean(results, axis=0)
                cells = [f"{score:.3f}" for score in scores]
                rows.append([str(n), method, *cells, f"{count:.0f}", f"{1e3 * seconds:.0f} ms"])
    header = ["n", "method", "undersegmentation", "boundary recall", "accuracy", "segments", "CPU"]
    print("\n".join(markdown_table((header, rows))))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
