"""Times of single calls: the contenders take turns on each photograph, in one process.

Background load affects all of them alike, and the ratio of two times on the same photograph is
more reliable than either. The labels are kept for the contact sheet.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import cycle, islice
from time import perf_counter

import numpy as np

from benchmarks.bsds.photos import Photo
from benchmarks.bsds.segmenters import METHODS, OURS, Image, Labels, Setting

ONE_THREAD = "segment, one thread"
LARGE = (OURS.name, ONE_THREAD, "colour clusters", "felzenszwalb", "slic")
N_MOSAICS = 2
WARM_UP_SIDE = 64  # pixels

Contenders = dict[str, Callable[[Image], Labels]]


@dataclass
class Timings:
    """Seconds and labels of each contender on each image, in the order of the images."""

    size: str = ""
    seconds: dict[str, list[float]] = field(default_factory=dict)
    labels: dict[str, list[Labels]] = field(default_factory=dict)

    def median(self, name: str) -> float:
        return float(np.median(self.seconds[name]))

    def to_ours(self, name: str) -> float:
        """Return the median over the images of the ratio to the time of `segment`."""
        return float(np.median(np.divide(self.seconds[name], self.seconds[OURS.name])))


def contenders(chosen: dict[str, Setting]) -> Contenders:
    """Bind every method to its chosen setting."""
    calls = {name: partial(METHODS[name].call, **setting) for name, setting in chosen.items()}
    return calls | {ONE_THREAD: partial(OURS.call, n_threads=1)}


def measure_in_turns(
    images: Sequence[Image], calls: Contenders, on_call: Callable[[], None]
) -> Timings:
    """Time one call of each contender on each image; the order rotates from image to image."""
    result = Timings(_size(images[0]), {name: [] for name in calls}, {name: [] for name in calls})
    for call in calls.values():
        call(images[0][:WARM_UP_SIDE, :WARM_UP_SIDE])
    names = list(calls)
    for number, image in enumerate(images):
        for name in np.roll(names, number):
            start = perf_counter()
            labels = calls[name](image)
            result.seconds[name].append(perf_counter() - start)
            result.labels[name].append(labels)
            on_call()
    return result


def mosaics(photos: Sequence[Photo]) -> list[Image]:
    """Combine six photographs in three rows of two: about a megapixel with real detail."""
    images = [photo.image for photo in photos]
    wide = [image if image.shape[1] > image.shape[0] else np.rot90(image) for image in images]
    tiles = islice(cycle(wide), 6 * N_MOSAICS)
    return [
        np.ascontiguousarray(np.vstack([np.hstack([next(tiles), next(tiles)]) for _ in range(3)]))
        for _ in range(N_MOSAICS)
    ]


def _size(image: Image) -> str:
    return f"{max(image.shape[:2])}x{min(image.shape[:2])}"
