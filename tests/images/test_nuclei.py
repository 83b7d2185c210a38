"""Isolated dim objects survive in the images of a microscope."""

from __future__ import annotations

import numpy as np
import pytest
from tests.images.nuclei import matched, nuclei

from meanshiftpp import hierarchy, segment


@pytest.mark.parametrize("seed", [0, 1])
def test_the_recipe_finds_the_nuclei(seed):
    image, truth = nuclei(seed=seed)
    labels = segment(image, detail=10)
    assert matched(labels, truth) >= 76
    assert labels.max() <= 84, "noise must not become regions"


def test_min_size_keeps_small_objects_in_a_large_image():
    image, truth = nuclei(40, 1600)
    labels = segment(image, detail=10, min_size=100)
    assert matched(labels, truth) >= 38
    assert np.bincount(labels.ravel()).min() >= 100
    default, kept = (hierarchy(image, min_size=size).n_regions(1e9) for size in (None, 100))
    assert default < kept


def test_min_size_does_not_change_the_pieces_of_small_images():
    image, _ = nuclei(10, 300)
    tree = hierarchy(image)
    for size in (1, 5, 20, 400):
        assert np.array_equal(tree.cut(10), hierarchy(image, min_size=size).cut(10))


def test_an_empty_field_is_one_region():
    rng = np.random.default_rng(0)
    image = rng.poisson(150, (400, 500)).astype(np.uint16) * 4
    assert segment(image, detail=10).max() == 0
