"""Hierarchies of regions: cuts at every level of detail, and equal results for all threads."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from tests.images.scenes import assert_connected, assert_ordered, scene

from meanshiftpp import _kernel, hierarchy, palette, quantize, segment
from meanshiftpp.images.segmentation import piece_size

DETAILS = [0.05, 0.2, 0.5, 0.9, 1.0, 1.3, 2.0, 5.0, 20.0, 100.0]


def test_a_cut_equals_segment(image):
    tree = hierarchy(image)
    for detail in DETAILS:
        labels = tree.cut(detail)
        assert np.array_equal(labels, segment(image, detail=detail))
        assert tree.n_regions(detail) == labels.max() + 1
    assert np.array_equal(tree.cut(), segment(image))


def test_more_detail_never_has_fewer_regions_and_cuts_are_nested():
    image = scene(noise=14)
    tree = hierarchy(image)
    counts = [tree.n_regions(detail) for detail in DETAILS]
    assert counts == sorted(counts)
    assert counts[0] < counts[-1]
    for few, many in pairwise(DETAILS):
        coarse, fine = tree.cut(few), tree.cut(many)
        pairs = np.unique(np.stack([coarse.ravel(), fine.ravel()]), axis=1)
        assert pairs.shape[1] == fine.max() + 1, "each fine region must lie in one coarse region"
    assert_connected(tree.cut(100.0))


def test_fewer_pieces_than_regions_warn():
    image = np.zeros((80, 90, 3), np.uint8)
    image[:, 40:] = 200
    for n in (3, 5):
        with pytest.warns(UserWarning, match=f"expected {n} regions, found 2; use a smaller band"):
            assert segment(image, regions=n).max() == 1


def test_fewer_regions_because_of_their_size_do_not_warn():
    image = scene(noise=14)
    assert segment(image, regions=9).max() == 8
    assert segment(image, regions=9, min_size=500).max() < 8


@pytest.mark.parametrize("min_size", [1, 30, 200, 4000, 10**6])
def test_no_region_is_smaller_than_min_size(min_size):
    image = scene(noise=14)
    labels = segment(image, detail=20.0, min_size=min_size)
    assert_ordered(labels)
    assert_connected(labels)
    assert np.bincount(labels.ravel()).min() >= min(min_size, labels.size)
    assert np.array_equal(labels, hierarchy(image).cut(20.0, min_size=min_size))


def test_min_size_keeps_a_small_region_without_neighbours():
    image = scene()
    mask = np.ones((60, 80), bool)
    mask[:4, 3] = mask[3, :4] = False  # separates a corner of nine pixels
    labels = segment(image, mask=mask, min_size=100)
    corner = labels == labels[0, 0]
    assert corner[:3, :3].all()
    assert corner.sum() == 9, "the corner must not join a region beyond the mask"
    assert np.bincount(labels[mask & ~corner]).max() > 100


def stripes(*colours: tuple[int, int, int]) -> np.ndarray:
    """Return a volume of stripes; the learned cost, which is of Lab, does not apply to it."""
    return np.tile(np.repeat(np.array(colours, np.uint8), 30, axis=0), (2, 30, 1, 1))


@pytest.mark.parametrize("weak", range(3))
@pytest.mark.parametrize("strong", range(3))
def test_channels_of_rgb_count_alike(weak, strong):
    left, middle, right = np.array([[120, 110, 100]] * 3)
    left[weak] += 34
    right[strong] += 36
    labels = segment(stripes(left, middle, right), 2.0, space="rgb", regions=2)
    assert labels[0, 0, [0, 45, 89]].tolist() == [0, 0, 1]


@pytest.mark.parametrize(("space", "red"), [("lab", (168, 141, 141)), ("luv", (162, 144, 144))])
def test_brightness_counts_less_than_colour(space, red):
    colours = np.array([(120, 120, 120), (150, 150, 150), red], np.uint8)
    values = _kernel.convert_colours(colours, space, 255.0, 1)
    brightness, colour = (np.linalg.norm(pair) for pair in np.diff(values, axis=0))
    assert colour < brightness
    labels = segment(stripes(*colours), 2.0, space=space, regions=2)
    assert labels[0, 0, [0, 45, 89]].tolist() == [0, 0, 1]


@pytest.mark.parametrize(
    ("n_pixels", "min_size", "expected"),
    [
        (0, None, 20),
        (481 * 321, None, 20),
        (2 * 481 * 321, None, 40),
        (10_000 * 481 * 321, None, 200_000),
        (1000 * 1000, None, 130),
        (1000 * 1000, 1, 20),
        (1000 * 1000, 60, 60),
        (1000 * 1000, 500, 130),
        (100, 500, 20),
    ],
)
def test_pieces_grow_with_large_images_up_to_min_size(n_pixels, min_size, expected):
    assert piece_size(n_pixels, min_size) == expected


def test_a_cut_does_not_change_the_hierarchy(image):
    tree = hierarchy(image)
    first = tree.cut(3.0)
    tree.cut(0.1)
    tree.cut(1.0, min_size=500)
    assert np.array_equal(tree.cut(3.0), first)


# -- threads ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("space", ["rgb", "lab", "hsv"])
@pytest.mark.parametrize("regions", [True, False])
def test_labels_do_not_depend_on_threads(space, regions):
    image = scene(150, 190, noise=12)
    one, two, eight = (
        segment(image, space=space, regions=regions, detail=4.0, n_threads=n) for n in (1, 2, 8)
    )
    assert np.array_equal(one, two)
    assert np.array_equal(one, eight)


def test_colours_and_shares_do_not_depend_on_threads():
    image = scene(150, 190, noise=12)
    for n in (2, 8):
        assert np.array_equal(quantize(image, n_threads=n), quantize(image, n_threads=1))
        many, one = palette(image, n_threads=n), palette(image, n_threads=1)
        assert np.array_equal(many.colors, one.colors)
        assert np.array_equal(many.shares, one.shares)


def test_volumes_do_not_depend_on_threads():
    volume = np.stack([scene(30, 40, noise=12, seed=s)[..., 0] for s in range(12)])
    one, two, eight = (segment(volume, channel_axis=None, n_threads=n) for n in (1, 2, 8))
    assert np.array_equal(one, two)
    assert np.array_equal(one, eight)
