"""Pictures unlike the photographs that taught the learned cost, and photographs that were changed.

The bounds are figures of this release with a margin; a picture in which people see several regions
never becomes one, and a picture of one thing never falls apart.
"""

from __future__ import annotations

import io

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


def test_a_grey_patch_is_found():
    image = np.full((200, 300, 3), 120, np.uint8)
    image[60:140, 100:200] = 160
    assert count(image) == 2


def test_a_ramp_and_noise_are_one_region():
    ramp = np.broadcast_to(np.linspace(40, 215, 300).astype(np.uint8)[None, :, None], (200, 300, 3))
    assert count(ramp) == 1
    noise = np.random.default_rng(0).normal(128, 25, (200, 300, 3)).clip(0, 255).astype(np.uint8)
    assert count(noise) == 1


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (checkerboard(20, (WHITE, BLACK)), checkerboard(20, (RED, BLUE))),
        (checkerboard(16, (WHITE, BLACK)), checkerboard(16, (WHITE, GREY))),
        (checkerboard(10, (WHITE, BLACK)), checkerboard(25, (WHITE, BLACK))),
    ],
    ids=["colours", "contrast", "size"],
)
def test_two_checkerboards_are_two_regions(left, right):
    labels = segment(np.hstack([left, right]))
    truth = np.repeat([0, 1], 240)[None].repeat(321, axis=0)
    assert agreement(labels, truth) > 0.9


@pytest.mark.parametrize("side", [1, 2, 3, 4, 6, 8, 12, 16])
def test_checkerboards_of_every_side_keep_to_their_area(side):
    """Squares below the size of a piece must not be absorbed across the edge of their board."""
    left, right = (checkerboard(side, pair, (200, 150)) for pair in ((WHITE, BLACK), (RED, BLUE)))
    truth = np.repeat([0, 1], 150)[None].repeat(200, axis=0)
    assert agreement(segment(np.hstack([left, right])), truth) > 0.9
    image = np.full((200, 300, 3), (90, 140, 90), np.uint8)
    image[40:160, 60:240] = checkerboard(side, (WHITE, BLACK), (120, 180))
    inside = np.zeros((200, 300), int)
    inside[40:160, 60:240] = 1
    assert agreement(segment(image), inside) > 0.9


def test_a_page_of_icons_keeps_them_all():
    """More objects than the regions with which the learned cost begins in a photograph."""
    rng = np.random.default_rng(0)
    image = np.full((800, 800, 3), 250, np.uint8)
    for y in range(0, 800, 40):
        for x in range(0, 800, 40):
            image[y + 8 : y + 32, x + 8 : x + 32] = rng.integers(0, 200, 3)
    assert segment(image, detail=10).max() == 400


def test_windows_of_a_screenshot_stay_apart():
    image = np.full((300, 480, 3), (236, 240, 244), np.uint8)
    image[:24] = 60, 64, 72
    image[40:280, 20:220] = 255
    image[40:280, 240:460] = 30, 34, 40
    for y in range(60, 270, 14):  # lines of text
        image[y : y + 6, 32:190:3] = 70
        image[y : y + 6, 252:430:3] = 200, 210, 160
    labels = segment(image)
    places = labels[12, 240], labels[290, 240], labels[50, 205], labels[50, 445]
    assert len(set(places)) == 4
    assert labels.max() < 40


def test_line_art_is_not_one_region():
    y, x = np.mgrid[:300, :400]
    image = np.full((300, 400, 3), 250, np.uint8)
    radius = np.hypot(y - 150, x - 130)
    image[abs(radius - 80) < 2.5] = 10
    image[(abs(y - 150) < 100) & (abs(abs(x - 300) - 60) < 3)] = 10
    image[(abs(x - 300) < 60) & (abs(abs(y - 150) - 98) < 3)] = 10
    labels = segment(image)
    assert len({labels[10, 10], labels[150, 130], labels[150, 300]}) == 3


def test_a_scan_of_text_does_not_fall_into_letters():
    page = pytest.importorskip("skimage.data").page()
    assert 1 < count(page) < 60


# -- changed photographs ---------------------------------------------------------------------------


def changed(photo: np.ndarray) -> dict[str, np.ndarray]:
    """Return the regions of changed copies, brought back to the shape of the photograph."""
    from PIL import Image

    stored = io.BytesIO()
    Image.fromarray(photo).save(stored, "JPEG", quality=40)
    noise = np.random.default_rng(0).normal(0, 15, photo.shape)
    high, wide = photo.shape[0] // 2, photo.shape[1] // 2
    small = segment(np.asarray(Image.fromarray(photo).resize((wide, high))))
    rows, columns = np.arange(photo.shape[0]) // 2, np.arange(photo.shape[1]) // 2
    return {
        "flipped": segment(photo[:, ::-1])[:, ::-1],
        "upside down": segment(photo[::-1])[::-1],
        "turned": np.rot90(segment(np.rot90(photo)), -1),
        "JPEG": segment(np.asarray(Image.open(stored))),
        "noise": segment((photo + noise).round().clip(0, 255).astype(np.uint8)),
        "grey": segment((photo @ [0.299, 0.587, 0.114]).round().astype(np.uint8)),
        "half size": small[np.ix_(rows.clip(max=high - 1), columns.clip(max=wide - 1))],
    }


def test_changed_photographs_keep_their_regions():
    pytest.importorskip("PIL.Image")
    found: dict[str, list[float]] = {}
    for name in ("astronaut", "coffee", "chelsea"):
        photo = photograph(name)
        labels = segment(photo)
        for change, other in changed(photo).items():
            found.setdefault(change, []).append(agreement(labels, other))
            assert 1 < other.max() + 1 < 4 * labels.max() + 12, (name, change)
    figures = {change: round(float(np.mean(values)), 2) for change, values in found.items()}
    assert min(figures[change] for change in ("flipped", "upside down", "turned")) > 0.6, figures
    assert min(figures.values()) > 0.35, figures
