"""Colour clusters of 8-bit photographs against a copy of the image, OpenCV's mean shift and slic.

    python -m benchmarks.images [PHOTO]

One process, all contenders in turn, medians. Without a photograph, one that ships with
scikit-image is enlarged to eight megapixels. Every answer is checked against plain MeanShift++.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Callable, Mapping
from time import perf_counter

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from meanshiftpp import MeanShiftPP, segment

BANDWIDTH = 24.0


def times(contenders: Mapping[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """Give the median time of each in milliseconds, all taken in turn after a round to warm up."""
    taken: dict[str, list[float]] = {name: [] for name in contenders}
    for turn in range(rounds + 1):
        for name, call in contenders.items():
            start = perf_counter()
            call()
            if turn:
                taken[name].append((perf_counter() - start) * 1e3)
    return {name: statistics.median(times) for name, times in taken.items()}


def clusters(image: NDArray[np.uint8]) -> NDArray[np.int32]:
    return segment(image, BANDWIDTH, space="rgb", regions=False)


def check(image: NDArray[np.uint8]) -> None:
    expected = MeanShiftPP(bandwidth=BANDWIDTH).fit_predict(image.reshape(-1, 3).astype(float))
    assert np.array_equal(clusters(image).ravel(), expected), "the labels are not MeanShift++'s"


def small(rounds: int) -> None:
    import cv2
    from skimage import data, segmentation

    image = data.astronaut()
    check(image)
    found = times(
        {
            "ours": lambda: clusters(image),
            "cv2.pyrMeanShiftFiltering": lambda: cv2.pyrMeanShiftFiltering(image, 16, BANDWIDTH),
            "slic": lambda: segmentation.slic(image, n_segments=100),
        },
        rounds,
    )
    for name in ("cv2.pyrMeanShiftFiltering", "slic"):
        goal = {"slic": 50}.get(name, 200)
        print(
            f"512 x 512: {name} {found[name]:.1f} ms, ours {found['ours']:.2f} ms: "
            f"{found[name] / found['ours']:.0f}x (goal {goal}x)"
        )


def large(photo: str | None, rounds: int) -> None:
    from skimage import data

    source = Image.open(photo).convert("RGB") if photo else Image.fromarray(data.astronaut())
    wide = round((8e6 * source.width / source.height) ** 0.5)
    image = np.asarray(source.resize((wide, round(8e6 / wide))))
    check(image)
    found = times({"copy": image.copy, "ours": lambda: clusters(image)}, rounds)
    print(
        f"{image.shape[1]} x {image.shape[0]}: image.copy() {found['copy']:.2f} ms, "
        f"ours {found['ours']:.2f} ms: {found['ours'] / found['copy']:.1f}x (goal at most 8x)"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("photo", nargs="?", help="a photograph; it is brought to 8 megapixels")
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()
    small(options.rounds)
    large(options.photo, options.rounds)


if __name__ == "__main__":
    main()
