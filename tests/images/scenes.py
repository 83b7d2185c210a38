"""Helpers for tests of images: a small picture with noise, and checks of label images."""

from __future__ import annotations

import numpy as np
from scipy import ndimage

SPACES = ["rgb", "lab", "luv", "hsv"]


def scene(height: int = 60, width: int = 80, noise: float = 6.0, seed: int = 0) -> np.ndarray:
    """Draw a bright wall, a dark floor, a red box and a blue ball, with noise."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[:height, :width] / [[[height]], [[width]]]
    image = np.full((height, width, 3), (190.0, 200.0, 180.0))
    image[y > 0.6] = 70, 60, 50
    image[(abs(x - 0.3) < 0.15) & (abs(y - 0.5) < 0.25)] = 180, 40, 30
    image[(x - 0.75) ** 2 + (y - 0.35) ** 2 < 0.03] = 40, 60, 170
    image += rng.normal(0, noise, image.shape)
    return image.clip(0, 255).round().astype(np.uint8)


def same_partition(a: np.ndarray, b: np.ndarray) -> bool:
    """Return whether two label images are equal up to the names of the labels."""
    pairs = np.unique(np.stack([a.ravel(), b.ravel()]), axis=1).shape[1]
    return pairs == len(np.unique(a)) == len(np.unique(b))


def assert_connected(labels: np.ndarray) -> None:
    for label in range(int(labels.max()) + 1):
        assert ndimage.label(labels == label)[1] == 1, f"region {label} is in parts"


def assert_ordered(labels: np.ndarray, start: int = 0) -> None:
    """Check that labels have no gaps and are in order of decreasing size."""
    sizes = np.bincount(labels[labels >= start] - start)
    assert (sizes > 0).all()
    assert (np.diff(sizes) <= 0).all()
