"""A synthetic field of cell nuclei as a microscope of 12 bits records it."""

from __future__ import annotations

import numpy as np
from scipy import ndimage

BACKGROUND, BRIGHTNESS, READ_NOISE, PHOTONS = 150.0, (700.0, 2500.0), 8.0, 0.25
RADII, GAP, BLUR = (9.0, 15.0), 4.0, 2.0


def nuclei(n: int = 80, size: int = 768, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return an image of blurred ellipses of different brightness, and their labels from 1."""
    rng = np.random.default_rng(seed)
    truth, image = np.zeros((size, size), np.int32), np.full((size, size), BACKGROUND)
    placed: list[tuple[np.ndarray, float]] = []
    while len(placed) < n:
        radius, centre = rng.uniform(*RADII), rng.uniform(20, size - 20, 2)
        if any(np.hypot(*(centre - other)) < radius + r + GAP for other, r in placed):
            continue
        placed.append((centre, radius))
        top, left = (max(0, int(c) - 25) for c in centre)
        y, x = np.mgrid[top : min(size, top + 51), left : min(size, left + 51)]
        y, x = y - centre[0], x - centre[1]
        angle, stretch = rng.uniform(0, np.pi), rng.uniform(0.8, 1.2)
        along = (x * np.cos(angle) + y * np.sin(angle)) / (radius * stretch)
        across = (y * np.cos(angle) - x * np.sin(angle)) * stretch / radius
        inside = along**2 + across**2 < 1
        truth[top : top + 51, left : left + 51][inside] = len(placed)
        image[top : top + 51, left : left + 51][inside] += np.exp(rng.uniform(*np.log(BRIGHTNESS)))
    image = ndimage.gaussian_filter(image, BLUR)
    image = rng.poisson(image * PHOTONS) / PHOTONS + rng.normal(0, READ_NOISE, image.shape)
    return image.clip(0, 4095).round().astype(np.uint16), truth


def matched(labels: np.ndarray, truth: np.ndarray) -> int:
    """Count the nuclei that a region covers with an intersection over union of at least 0.5."""
    n = int(labels.max()) + 1
    pairs = truth.astype(np.int64) * n + labels
    both = np.bincount(pairs.ravel(), minlength=(truth.max() + 1) * n).reshape(-1, n)
    either = both.sum(axis=1)[:, None] + both.sum(axis=0) - both
    return int(((both / either)[1:].max(axis=1) >= 0.5).sum())
