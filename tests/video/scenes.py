"""A small scene for tests of videos."""

from __future__ import annotations

import numpy as np

BOX = (200, 30, 30)


def frame(x: int, y: int = 20, noise: float = 5.0, seed: int = 0) -> np.ndarray:
    """Draw a red box at (x, y), or none if x is below 0, on a grey floor under a light sky."""
    image = np.full((72, 96, 3), (170.0, 190.0, 220.0))
    image[40:] = 110, 105, 100
    if x >= 0:
        image[y : y + 24, x : x + 24] = BOX
    image += np.random.default_rng([seed, abs(x), y]).normal(0, noise, image.shape)
    return image.clip(0, 255).round().astype(np.uint8)
