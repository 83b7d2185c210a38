"""Drawings of segmentations: colours, outlines, ranges of values, palettes, sheets."""

from __future__ import annotations

import numpy as np
import pytest
from tests.images.scenes import scene

from meanshiftpp.errors import InvalidInputError
from meanshiftpp.images.draw import (
    as_rgb,
    contact_sheet,
    fill,
    limits,
    outlines,
    overlay,
    palette_strip,
    region_colors,
)


def test_fill_draws_colours_and_outlines():
    labels = np.zeros((72, 96), np.int32)
    labels[:, 48:] = 1
    drawn = fill(labels, [(200, 200, 100), (10, 10, 10)])
    assert drawn.shape == (72, 96, 3)
    assert drawn[5, 5].tolist() == [200, 200, 100]
    assert (drawn[:, 47] < 200).all(), "a light region must have a dark outline"
    assert drawn[5, 90].tolist() == [10, 10, 10]
    assert np.array_equal(fill(labels, [(1, 2, 3)] * 2, lines=False)[0, 47], [1, 2, 3])
    labels[:9] = -1
    masked = fill(labels, [(200, 200, 100), (10, 10, 10)])
    assert (masked[:9, :, 3] == 0).all()
    assert (masked[9:, :, 3] == 255).all()


def test_labels_that_are_all_masked_are_transparent():
    labels, photo = np.full((4, 5), -1), np.zeros((4, 5, 3), np.uint8)
    assert not fill(labels, region_colors(photo, labels)).any()


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.uint64, np.int16])
def test_labels_of_any_type_are_drawn_alike(dtype):
    labels = np.kron(np.arange(256).reshape(16, 16), np.ones((3, 3), np.int64))
    colors, image = np.arange(768).reshape(256, 3) // 3, scene(48, 48)
    small = labels.astype(dtype)
    assert np.array_equal(fill(small, colors), fill(labels, colors))
    assert np.array_equal(fill(small, colors, lines=False), fill(labels, colors, lines=False))
    assert np.array_equal(region_colors(image, small), region_colors(image, labels))


def test_outlines_are_wider_in_larger_pictures():
    small, large = np.zeros((40, 60), int), np.zeros((4000, 600), int)
    small[:, 30:] = 1
    large[:, 300:] = 1
    assert outlines(small).sum() == 40
    assert outlines(large).sum() == 4000 * 2
    assert outlines(small, width=5).sum() == 40 * 5


def test_an_overlay_changes_only_the_lines():
    image, labels = scene(72, 96), (np.indices((72, 96))[1] > 50).astype(np.int32)
    drawn = overlay(image, labels)
    assert (drawn[:, 50] == 255).all()
    far = np.abs(np.arange(96) - 50) > 2
    assert np.array_equal(drawn[:, far], image[:, far])


def test_mean_colours_ignore_masked_pixels():
    image, labels = scene(72, 96), np.zeros((72, 96), np.int32)
    labels[:, 50:] = -1
    assert np.allclose(region_colors(image, labels), image[:, :50].mean(axis=(0, 1)))


@pytest.mark.parametrize(
    "image",
    [
        np.arange(12, dtype=np.uint8).reshape(3, 4),
        np.linspace(0, 1, 24, dtype=np.float32).reshape(2, 4, 3),
        np.linspace(-5, 1e6, 48).reshape(2, 4, 6),
        np.full((2, 4, 2), np.nan),
        np.eye(4, dtype=bool),
        np.arange(32, dtype=np.uint16).reshape(2, 4, 4),
    ],
)
def test_every_type_can_be_drawn(image):
    drawn = as_rgb(image)
    assert drawn.shape == (*image.shape[:2], 3)
    assert drawn.dtype == np.uint8


def test_integers_are_drawn_with_the_white_level_of_segment():
    rgb = scene(72, 96)
    for dtype in ("i2", "u2", "i4", "i8", ">u2"):
        assert np.array_equal(as_rgb(rgb.astype(dtype)), rgb)
    assert np.array_equal(as_rgb(rgb.astype(np.uint16) * 257), rgb)
    for values in (rgb.astype("u2") * 16, rgb.astype("i4") * 100_000, rgb.astype("i2") - 300):
        drawn = as_rgb(values)  # 12 bits, and values that are not colours, are stretched
        assert drawn.min() < 10
        assert drawn.max() > 245


def test_limits_ignore_masked_pixels():
    values = np.linspace(100, 900, 4000).reshape(50, 80)
    hole = values.copy()
    hole[:10, :10] = -9999
    mask = hole > 0
    low, high = limits(hole, mask=mask)
    assert 100 < low < high < 900
    drawn = as_rgb(hole, limits=(low, high))
    assert np.array_equal(drawn[mask], as_rgb(values, limits=(low, high))[mask])
    assert drawn[49, 79, 0] == 255
    assert 120 < drawn[25, 40, 0] < 136


def test_drawing_a_volume_raises():
    with pytest.raises(InvalidInputError, match="two dimensions"):
        as_rgb(np.zeros((4, 5, 6), np.uint8), channel_axis=None)


def test_the_codes_of_a_palette_end_before_the_next_colour():
    grey = np.full((12, 3), 136)  # no code is wider than "#888888"
    for share in (0.0004, 0.0006, 0.5, 1.0):
        strip = palette_strip(grey, np.full(12, share))
        for column in range(1, 5):
            gap = strip[200:, 300 * column - 18 : 300 * column]
            assert (gap == 255).all(), share


def test_a_colour_without_a_share_is_not_in_the_strip():
    strip = palette_strip([[9, 9, 9], [255, 0, 0], [7, 7, 7]], [0.5, 0.0, 0.5])
    bar = np.unique(strip[:100].reshape(-1, 3), axis=0)
    assert bar.tolist() == [[7, 7, 7], [9, 9, 9]]


def test_a_contact_sheet_has_all_panels():
    red, blue = (np.full((50, 80, 3), c, np.uint8) for c in ((200, 0, 0), (0, 0, 200)))
    sheet = contact_sheet([("red", "", red), ("blue", "", blue), ("red", "again", red)])
    assert (sheet == red[0, 0]).all(axis=2).sum() == 2 * 50 * 80
    assert (sheet == blue[0, 0]).all(axis=2).sum() == 50 * 80
