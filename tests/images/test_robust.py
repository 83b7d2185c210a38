"""Pictures unlike the photographs that taught the learned cost, and photographs that were changed.

The bounds are figures of this release with a margin; a picture in which people see several regions
never becomes one, and a picture of one thing never falls apart.
"""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from meanshiftpp import segment

WHITE, BLACK, GREY = (230, 230, 230), (20, 20, 20), (120, 120, 120)
RED, BLUE = (200, 40, 40), (40, 40, 200)


def count(image: np.ndarray) -> int:
    return int(segment(image).max()) + 1


def agreement(a: np.ndarray, b: np.ndarray) -> float:
    return float(adjusted_rand_score(a.ravel(), b.ravel()))


def photograph(name: str) -> np.ndarray:
    data = pytest.importorskip("skimage.data")
    return getattr(data, name)()[::2, ::2]


def checkerboard(side: int, pair: tuple, shape: tuple[int, int] = (321, 240)) -> np.ndarray:
    y, x = np.mgrid[: shape[0], : shape[1]]
    return np.array(pair, np.uint8)[(y // side + x // side) % 2]


# -- drawn pictures --------------------------------------------------------------------------------


def test_flat_shapes_are_the_regions():
    image = np.full((200, 300, 3), 200, np.uint8)
    image[20:120, 30:110] = RED
    image[60:180, 150:270] = BLUE
    image[150:190, 20:100] = 30, 160, 60
    assert count(image) == 4


def test_a_faint_patch_is_found():
    image = np.full((200, 300, 3), 120, np.uint8)
    image[60:140, 100:200] = 132
    assert count(image) == 2


def test_a_ramp_and_noise_are_one_region():
    ramp = np.broadcast_to(np.linspace(40, 215, 300).astype(np.uint8)[None, :, None], (200, 300, 3))
    assert count(ramp) == 1
    noise = np.random.default_rng(0).normal(128, 25, (200, 300, 3)).clip(0, 255).astype(np.uint8)
    assert count(noise) == 1


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (checkerboard(8, (WHITE, BLACK)), checkerboard(8, (RED, BLUE))),
        (checkerboard(16, (WHITE, BLACK)), checkerboard(16, (WHITE, GREY))),
        (checkerboard(10, (WHITE, BLACK)), checkerboard(25, (WHITE, BLACK))),
    ],
    ids=["colours", "contrast", "size"],
)
def test_two_checkerboards_are_two_regions(left, right):
    labels = segment(np.hstack([left, right]))
    truth = np.repeat([0, 1], 240)[None].repeat(321, axis=0)
    assert agreement(labels, truth) > 0.9
