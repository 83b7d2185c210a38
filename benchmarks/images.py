"""Time colour clusters and regions of 8-bit photographs against an image copy and OpenCV.

    python -m benchmarks.images [PHOTO]

All contenders take turns in one process; medians are printed. Without a photograph, one from
scikit-image is enlarged. Clusters are checked against plain MeanShift++, regions against one
thread.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from benchmarks.common.command_line import command_parser
from benchmarks.common.timing import median_times
from meanshiftpp import MeanShiftPP, segment

BANDWIDTH = 24.0
PIXELS, REGION_PIXELS = 8e6, 12e6
GOALS = {"cv2.pyrMeanShiftFiltering": 200, "slic": 50}  # times as fast
COPY_GOAL = 8  # times as slow
SEEDS_REGIONS, SEEDS_LEVELS, SEEDS_ROUNDS = 400, 4, 4  # OpenCV's superpixels


def colour_clusters(image: NDArray[np.uint8]) -> NDArray[np.int32]:
    return segment(image, BANDWIDTH, space="rgb", regions=False)


def check(image: NDArray[np.uint8]) -> None:
    """Check that the segmentation has the labels of MeanShiftPP."""
    expected = MeanShiftPP(bandwidth=BANDWIDTH).fit_predict(image.reshape(-1, 3).astype(float))
    assert np.array_equal(colour_clusters(image).ravel(), expected), (
        "labels differ from MeanShiftPP"
    )


def compare_with_peers(rounds: int) -> None:
    """Time a photograph of 512 x 512 pixels against OpenCV and scikit-image."""
    import cv2
    from skimage import data, segmentation

    image = data.astronaut()
    check(image)
    times = median_times(
        {
            "ours": lambda: colour_clusters(image),
            "cv2.pyrMeanShiftFiltering": lambda: cv2.pyrMeanShiftFiltering(image, 16, BANDWIDTH),
            "slic": lambda: segmentation.slic(image, n_segments=100),
        },
        rounds,
        warm_up=1,
    )
    for name, goal in GOALS.items():
        print(
            f"512 x 512: {name} {times[name] * 1e3:.1f} ms, ours {times['ours'] * 1e3:.2f} ms: "
            f"{times[name] / times['ours']:.0f}x (goal {goal}x)"
        )


def photograph(photo: str | None, pixels: float) -> NDArray[np.uint8]:
    """Return a photograph, resized to about that many pixels."""
    from skimage import data

    source = Image.open(photo).convert("RGB") if photo else Image.fromarray(data.astronaut())
    width = round((pixels * source.width / source.height) ** 0.5)
    return np.asarray(source.resize((width, round(pixels / width))))


def compare_with_copy(photo: str | None, rounds: int) -> None:
    """Time a photograph of 8 megapixels against a copy of the image."""
    image = photograph(photo, PIXELS)
    check(image)
    calls = {"copy": image.copy, "ours": lambda: colour_clusters(image)}
    times = median_times(calls, rounds, warm_up=1)
    print(
        f"{image.shape[1]} x {image.shape[0]}: image.copy() {times['copy'] * 1e3:.2f} ms, "
        f"ours {times['ours'] * 1e3:.2f} ms: {times['ours'] / times['copy']:.1f}x "
        f"(goal at most {COPY_GOAL}x)"
    )


def superpixels(image: NDArray[np.uint8]) -> NDArray[np.int32]:
    """Label an image with OpenCV's SEEDS."""
    import cv2

    height, width, _ = image.shape
    seeds = cv2.ximgproc.createSuperpixelSEEDS(width, height, 3, SEEDS_REGIONS, SEEDS_LEVELS)
    seeds.iterate(cv2.cvtColor(image, cv2.COLOR_RGB2Lab), SEEDS_ROUNDS)
    return np.asarray(seeds.getLabels())


def compare_regions(photo: str | None, rounds: int) -> None:
    """Time the regions of 12 megapixels against a copy of the image and OpenCV's SEEDS."""
    image = photograph(photo, REGION_PIXELS)
    assert np.array_equal(segment(image), segment(image, n_threads=1)), "labels depend on threads"
    calls = {
        "image.copy()": image.copy,
        "SEEDS": lambda: superpixels(image),
        "one thread": lambda: segment(image, n_threads=1),
        "ours": lambda: segment(image),
    }
    times = median_times(calls, rounds, warm_up=1)
    ours = times.pop("ours")
    for name, seconds in times.items():
        print(
            f"{image.shape[1]} x {image.shape[0]} regions: {name} {seconds * 1e3:.1f} ms, "
            f"ours {ours * 1e3:.1f} ms: {ours / seconds:.2f}x"
        )


def main(arguments: Sequence[str] | None = None) -> int:
    parser = command_parser("images", __doc__)
    parser.add_argument("photo", nargs="?", help="a photograph, resized to 8 and 12 megapixels")
    parser.add_argument("--rounds", type=int, default=15, help="timed rounds (15)")
    options = parser.parse_args(arguments)
    compare_with_peers(options.rounds)
    compare_with_copy(options.photo, options.rounds)
    compare_regions(options.photo, options.rounds)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
