"""Draw pictures of flat and textured areas whose regions are known, to train the learned cost."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Image = NDArray[np.uint8]
HEIGHT, WIDTH = 321, 481


def draw(number: int) -> tuple[Image, list[NDArray[Any]]]:
    """Return a picture and its regions: two to five areas, each flat or with its own texture."""
    rng = np.random.default_rng([number, 7])
    regions = divide(rng, int(rng.integers(2, 6)))
    image = np.zeros((HEIGHT, WIDTH, 3))
    for label in range(int(regions.max()) + 1):
        kind = TEXTURES[int(rng.integers(len(TEXTURES)))]
        inside = regions == label
        image[inside] = kind(rng)[inside]
    image += rng.normal(0, rng.choice([0.0, 2.0, 6.0]), image.shape)
    return np.rint(image).clip(0, 255).astype(np.uint8), [regions]


def divide(rng: np.random.Generator, count: int) -> NDArray[np.int64]:
    """Divide the picture into bands, or into the cells around random points."""
    y, x = np.mgrid[:HEIGHT, :WIDTH]
    if rng.random() < 0.4:
        edges = np.sort(rng.uniform(0.1, 0.9, count - 1))
        along = x / WIDTH if rng.random() < 0.7 else y / HEIGHT
        return np.searchsorted(edges, along)
    centres = rng.uniform(0, 1, (count, 2)) * [HEIGHT, WIDTH]
    distance = [(y - cy) ** 2 + (x - cx) ** 2 for cy, cx in centres]
    return np.argmin(distance, axis=0)


def _colours(rng: np.random.Generator, count: int, contrast: float) -> NDArray[np.float64]:
    middle = rng.uniform(50, 205, 3)
    if rng.random() < 0.5:
        middle[:] = middle.mean()
    return middle + rng.uniform(-contrast, contrast, (count, 1)) * rng.uniform(0.7, 1, 3)


def flat(rng: np.random.Generator) -> NDArray[np.float64]:
    return np.broadcast_to(_colours(rng, 1, 50)[0], (HEIGHT, WIDTH, 3))


def checkerboard(rng: np.random.Generator) -> NDArray[np.float64]:
    y, x = np.mgrid[:HEIGHT, :WIDTH]
    side = int(rng.integers(4, 28))
    pair = _colours(rng, 1, 30) + np.array([[-1.0], [1.0]]) * rng.uniform(20, 110)
    return pair[(y // side + x // side) % 2]


def stripes(rng: np.random.Generator) -> NDArray[np.float64]:
    y, x = np.mgrid[:HEIGHT, :WIDTH]
    angle, period = rng.uniform(0, np.pi), rng.uniform(6, 40)
    pair = _colours(rng, 1, 30) + np.array([[-1.0], [1.0]]) * rng.uniform(20, 110)
    return pair[((x * np.cos(angle) + y * np.sin(angle)) % period < period / 2).astype(int)]


def spots(rng: np.random.Generator) -> NDArray[np.float64]:
    """Return smoothed noise, stretched to a few colours."""
    from scipy.ndimage import gaussian_filter

    noise = gaussian_filter(rng.normal(size=(HEIGHT, WIDTH)), rng.uniform(1, 7))
    colours = _colours(rng, 3, 70)
    levels = np.quantile(noise, [rng.uniform(0.2, 0.45), rng.uniform(0.55, 0.8)])
    return colours[np.searchsorted(levels, noise.ravel()).reshape(noise.shape)]


def ramp(rng: np.random.Generator) -> NDArray[np.float64]:
    start, end = _colours(rng, 2, 70)
    along = np.linspace(0, 1, WIDTH)[None, :, None]
    return np.broadcast_to(start + along * (end - start), (HEIGHT, WIDTH, 3))


TEXTURES: list[Callable[[np.random.Generator], NDArray[np.float64]]] = [
    flat,
    checkerboard,
    stripes,
    spots,
    ramp,
]
