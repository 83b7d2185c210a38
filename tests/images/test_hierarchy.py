"""Hierarchies of regions: cuts at every level of detail, and equal results for all threads."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from tests.images.scenes import assert_connected, assert_ordered, scene

from meanshiftpp import hierarchy, palette, quantize, segment
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
    with pytest.warns(UserWarning, match="expected 5 regions, found 2; use a smaller bandwidth"):
        assert segment(image, regions=5).max() == 1


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


@pytest.mark.parametrize(
    ("n_pixels", "min_size", "expected"),
    [
        (0, None, 20),
        (481 * 321, None, 20),
        (2 * 481 * 321, None, 40),
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
