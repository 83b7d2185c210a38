"""Times of single calls: the contenders take turns on each photograph, in one process.

What the machine does meanwhile hits all of them, and a ratio of two times on one photograph says
more than either. The answers are kept: they are what the contact sheet shows.
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
MOSAICS = 2
WARM_UP = 64  # pixels to a side

Contenders = dict[str, Callable[[Image], Labels]]


@dataclass
class Race:
    """Seconds of each contender on each photograph, in the same order for all."""

    size: str = ""
    seconds: dict[str, list[float]] = field(default_factory=dict)
    labels: dict[str, list[Labels]] = field(default_factory=dict)

    def median(self, name: str) -> float:
        return float(np.median(self.seconds[name]))

    def to_ours(self, name: str) -> float:
        """Give the median over the photographs of the ratio to the time of `segment`."""
        return float(np.median(np.divide(self.seconds[name], self.seconds[OURS.name])))


def contenders(chosen: dict[str, Setting]) -> Contenders:
    """Bind every method to the setting chosen for it."""
    calls = {name: partial(METHODS[name].call, **setting) for name, setting in chosen.items()}
    return calls | {ONE_THREAD: partial(OURS.call, n_threads=1)}


def race(images: Sequence[Image], calls: Contenders, done: Callable[[], None]) -> Race:
    """Time one call of each contender on each image, starting with another one each time."""
    result = Race(_size(images[0]), {name: [] for name in calls}, {name: [] for name in calls})
    for call in calls.values():
        call(images[0][:WARM_UP, :WARM_UP])
    names = list(calls)
    for number, image in enumerate(images):
        for name in np.roll(names, number):
            start = perf_counter()
            labels = calls[name](image)
            result.seconds[name].append(perf_counter() - start)
            result.labels[name].append(labels)
            done()
    return result


def mosaics(photos: Sequence[Photo]) -> list[Image]:
    """Put six photographs together, three rows of two: about a megapixel with real detail."""
    wide = [photo.image for photo in photos]
    wide = [image if image.shape[1] > image.shape[0] else np.rot90(image) for image in wide]
    tiles = islice(cycle(wide), 6 * MOSAICS)
    return [
        np.ascontiguousarray(np.vstack([np.hstack([next(tiles), next(tiles)]) for _ in range(3)]))
        for _ in range(MOSAICS)
    ]


def _size(image: Image) -> str:
    return f"{max(image.shape[:2])}x{min(image.shape[:2])}"
