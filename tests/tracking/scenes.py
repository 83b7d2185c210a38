"""Small scenes for tests of trackers: a speckled rectangle on noise."""

from __future__ import annotations

import numpy as np

RED = (190, 45, 40)
BLUE = (40, 60, 180)


def noise(shape: tuple[int, ...], low: int = 60, high: int = 120, seed: int = 0) -> np.ndarray:
    """Draw noise in dull colours, unlike those of the objects."""
    return np.random.default_rng(seed).integers(low, high, (*shape, 3), dtype=np.uint8)


def scene(x: int, y: int, w: int = 30, h: int = 24, *, seed: int = 0, colour=RED) -> np.ndarray:
    """Draw a frame of 240 x 200 pixels with a speckled rectangle."""
    frame = noise((200, 240), seed=seed)
    speckle = np.random.default_rng(99).integers(0, 30, (h, w, 3), dtype=np.uint8)
    frame[y : y + h, x : x + w] = np.array(colour, np.uint8) + speckle
    return frame
