"""Threads segment stripes of rows: labels do not depend on where the seams are.

A thread gets at least 16,384 pixels, so wide images are cut into stripes of one row.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.images.scenes import assert_connected, assert_ordered, same_partition, scene

from meanshiftpp import hierarchy, segment

WIDTH = 20_000
DARK, BRIGHT = (20, 30, 40), (230, 220, 60)


def assert_same_for_all_threads(image: np.ndarray, **options: object) -> np.ndarray:
    one = segment(image, n_threads=1, **options)
    for n in (2, 3, 8):
        assert np.array_equal(segment(image, n_threads=n, **options), one)
    return one


@settings(max_examples=15)
@given(
    seed=st.integers(0, 2**32),
    height=st.integers(1, 9),
    min_size=st.sampled_from([None, 40, 500]),
    masked=st.booleans(),
)
def test_labels_do_not_depend_on_seams(seed, height, min_size, masked):
    rng = np.random.default_rng(seed)
    blocks = rng.integers(0, 5, (height, WIDTH // 25, 3)) * 50
    image = np.repeat(blocks, 25, axis=1) + rng.integers(0, 12, (height, WIDTH, 3))
    mask = np.repeat(rng.random((height, WIDTH // 20)) < 0.8, 20, axis=1) if masked else None
    labels = assert_same_for_all_threads(
        image.astype(np.uint8), detail=5.0, min_size=min_size, mask=mask
    )
    assert_ordered(labels)
    assert (labels == -1).sum() == (0 if mask is None else (~mask).sum())


@pytest.mark.parametrize("turned", [False, True])
def test_arms_that_meet_below_all_seams_are_one_region(turned):
    """Combs: every tooth is a part of its own in the stripes above the bar."""
    image = np.full((8, WIDTH, 3), DARK, np.uint8)
    for left in range(0, WIDTH, 5000):
        image[:, left + 500 : left + 1000] = image[:, left + 2000 : left + 2500] = BRIGHT
        image[7, left + 500 : left + 2500] = BRIGHT
    image = image[::-1] if turned else image
    labels = assert_same_for_all_threads(image, detail=100.0)
    assert_connected(labels)
    is_bright = image[..., 0] > 100
    assert len(np.unique(labels[is_bright])) == 4
    assert not np.isin(labels[is_bright], labels[~is_bright]).any()


@pytest.mark.parametrize("shape", [(1, 70_000), (70_000, 1), (2, 70_000), (70_000, 2)])
def test_images_of_one_row_or_column(shape):
    image = np.full((*shape, 3), DARK, np.uint8)
    long = 0 if shape[0] > shape[1] else 1
    np.moveaxis(image, long, 0)[10_000:30_000] = BRIGHT
    labels = np.moveaxis(assert_same_for_all_threads(image), long, 0)
    for part, label in ((slice(10_000), 2), (slice(10_000, 30_000), 1), (slice(30_000, None), 0)):
        assert (labels[part] == label).all()


def test_a_mask_along_a_seam_separates_regions():
    image = np.full((8, WIDTH, 3), BRIGHT, np.uint8)
    mask = np.ones((8, WIDTH), bool)
    mask[4] = False
    labels = assert_same_for_all_threads(image, mask=mask)
    assert (labels[:4] == 0).all()
    assert (labels[5:] == 1).all()
    mask[4, 700] = True  # a bridge across the seam
    assert (assert_same_for_all_threads(image, mask=mask)[mask] == 0).all()


def test_volumes_whose_seams_lie_within_and_between_slices():
    rng = np.random.default_rng(5)
    blocks = rng.integers(0, 5, (6, 3, 160)) * 50
    volume = np.repeat(blocks, 50, axis=2) + rng.integers(0, 12, (6, 3, 8000))
    volume = volume.astype(np.uint8)
    for min_size in (None, 300):
        labels = assert_same_for_all_threads(
            volume, channel_axis=None, detail=5.0, min_size=min_size
        )
        assert_ordered(labels)
        assert_connected(labels)


def test_a_transposed_image_has_the_same_regions():
    """Its seams run across other objects; runs of pixels become columns."""
    image = scene(300, 500, noise=2)
    upright = segment(image, n_threads=8)
    turned = segment(image.transpose(1, 0, 2), n_threads=8)
    assert same_partition(upright, turned.T)


def test_cuts_with_min_size_do_not_depend_on_threads():
    image = scene(150, 500, noise=14)
    one, many = (hierarchy(image, n_threads=n) for n in (1, 8))
    for detail in (0.5, 5.0, 100.0):
        for min_size in (1, 30, 3000):
            cut = one.cut(detail, min_size=min_size)
            assert np.array_equal(many.cut(detail, min_size=min_size), cut)
