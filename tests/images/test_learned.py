"""The learned cost: its table, where it applies, and that nothing but the image decides labels."""

from __future__ import annotations

import json

import numpy as np
import pytest
from tests.images.scenes import SPACES, assert_connected, assert_ordered, same_partition, scene

from meanshiftpp import _kernel, hierarchy, segment
from meanshiftpp.errors import InvalidInputError
from meanshiftpp.images import segmentation
from meanshiftpp.images.merge_table import make_table, merge_table, table_text
from meanshiftpp.images.pixels import read_pixels
from meanshiftpp.images.segmentation import merge_regions

STORED = json.loads(table_text())


def scores_of(stored: dict, features: np.ndarray) -> np.ndarray:
    """Score borders as the table's description says, one comparison after the other."""
    scores = np.full(len(features), stored["bias"])
    for columns, thresholds, values in zip(
        stored["features"], stored["thresholds"], stored["values"], strict=True
    ):
        passed = features[:, columns] > np.float32(thresholds)
        scores += np.array(values)[passed @ (1 << np.arange(5))]
    return scores


def test_the_checked_in_file_is_what_the_kernel_loads():
    rng = np.random.default_rng(0)
    thresholds = [[] for _ in range(38)]
    for columns, borders in zip(STORED["features"], STORED["thresholds"], strict=True):
        for column, border in zip(columns, borders, strict=True):
            thresholds[column].append(border)
    features = np.zeros((300, 38), np.float32)
    for column, borders in enumerate(thresholds):
        if borders:  # values at, just above and between thresholds
            drawn = rng.choice(np.float32(borders), len(features))
            above = np.nextafter(drawn, np.float32(np.inf))
            features[:, column] = np.where(rng.random(len(features)) < 0.5, drawn, above)
    assert np.array_equal(merge_table().score(features), scores_of(STORED, features))


def test_the_table_states_where_it_comes_from():
    about = STORED["about"]
    assert {"command", "data", "rows", "seed", "versions"} <= set(about)
    assert len(STORED["values"]) == 500
    assert np.abs(STORED["values"]).max() < 2**15


@pytest.mark.parametrize(
    ("features", "thresholds", "values", "message"),
    [
        (np.full((2, 5), 38), np.zeros((2, 5)), np.zeros((2, 32)), "unknown feature"),
        (np.zeros((2, 5)), np.zeros((2, 4)), np.zeros((2, 32)), "five thresholds"),
        (np.zeros((30, 5)), np.arange(150).reshape(30, 5), np.zeros((30, 32)), "127 thresholds"),
    ],
)
def test_a_table_that_does_not_fit_is_an_error(features, thresholds, values, message):
    stored = {"features": features, "thresholds": thresholds, "values": values, "bias": 0}
    with pytest.raises(ValueError, match=message):
        make_table(stored)


# -- where it applies ------------------------------------------------------------------------------


def with_and_without(monkeypatch, image, **options):
    learned = segment(image, detail=2.0, **options)
    with monkeypatch.context() as patch:
        patch.setattr(segmentation, "merge_table", lambda: None)
        plain = segment(image, detail=2.0, **options)
    return learned, plain


def test_volumes_bands_and_small_images_keep_the_plain_cost(monkeypatch):
    picture = scene(70, 90, noise=12)
    volume = np.stack([scene(70, 70, noise=12, seed=s)[..., 0] for s in range(3)])
    two_pieces = np.zeros((80, 120, 3), np.uint8)
    two_pieces[:, 50:] = 200
    for image, options in [
        (volume, {"channel_axis": None}),
        (picture, {"space": None}),
        (scene(63, 300, noise=12), {}),
        (two_pieces, {}),
    ]:
        assert np.array_equal(*with_and_without(monkeypatch, image, **options))


def test_a_picture_has_the_learned_cost(monkeypatch):
    learned, plain = with_and_without(monkeypatch, scene(200, 300, noise=20))
    assert not np.array_equal(learned, plain)


# -- only the image decides ------------------------------------------------------------------------


@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("masked", [False, True])
def test_labels_do_not_depend_on_threads(space, masked):
    image = scene(500, 700, noise=20)  # more than twice the pixels of 481 x 321
    mask = np.ones(image.shape[:2], bool)
    if masked:
        mask[200:230] = mask[:, 300:310] = False
        mask[210:215, 50:90] = True
    one, two, eight = (segment(image, space=space, mask=mask, n_threads=n) for n in (1, 2, 8))
    assert np.array_equal(one, two)
    assert np.array_equal(one, eight)
    assert (one == -1).sum() == (~mask).sum()
    assert_ordered(one)


@pytest.mark.parametrize("thin", [False, True])
def test_masked_pixels_have_no_influence(thin):
    """Of a hole; and around strips as thin as the squares that borders are measured with."""
    image = scene(200, 300, noise=20)
    mask = np.ones(image.shape[:2], bool)
    if thin:
        mask[np.arange(200) % 40 >= 4] = False
    else:
        mask[50:120, 100:160] = False
    other = image.copy()
    other[~mask] = np.random.default_rng(0).integers(0, 256, ((~mask).sum(), 3))
    assert np.array_equal(segment(image, mask=mask), segment(other, mask=mask))
    rgba = np.dstack([other, np.where(mask, 255, 0).astype(np.uint8)])
    assert np.array_equal(segment(image, mask=mask), segment(rgba))


def test_many_separate_parts_keep_their_own_regions():
    """More parts than regions of the learned stage."""
    image = scene(400, 400, noise=20)
    mask = np.ones((400, 400), bool)
    mask[::20] = mask[:, ::20] = False
    labels = segment(image, mask=mask, regions=1)
    assert labels.max() + 1 == 20 * 20
    assert_connected(segment(image, mask=mask, detail=20.0))


def test_the_type_of_the_values_does_not_matter():
    image = scene(200, 300, noise=20)
    labels = segment(image)
    assert np.array_equal(segment(image.astype(np.uint16) * np.uint16(257)), labels)
    grey = image[..., 1]
    assert same_partition(segment(grey), segment(np.repeat(grey[..., None], 3, axis=2)))


def test_borders_are_compared_in_lab_whatever_the_space_of_the_clusters():
    colours = np.random.default_rng(1).integers(0, 256, (5, 6, 3))
    image = np.kron(colours, np.ones((20, 20, 1))).astype(np.uint8)
    expected = hierarchy(image, space="lab")
    assert expected.n_regions(1e9) == 30
    for space in ("rgb", "luv", "hsv"):
        tree = hierarchy(image, space=space)
        for n in range(1, 31):
            assert np.array_equal(tree.cut(regions=n), expected.cut(regions=n))


# -- a number of regions ---------------------------------------------------------------------------


def test_a_number_of_regions_is_a_cut():
    image = scene(200, 300, noise=20)
    tree, coarse = hierarchy(image), None
    for n in (1, 2, 7, 60, 199, 200, 201, 300):
        labels = segment(image, regions=n)
        assert labels.max() + 1 == n
        assert np.array_equal(tree.cut(regions=n), labels)
        assert_connected(labels)
        if coarse is not None:
            pairs = np.unique(np.stack([coarse.ravel(), labels.ravel()]), axis=1)
            assert pairs.shape[1] == n, "each region must lie in one of the coarser cut"
        coarse = labels


def test_more_regions_than_pieces_are_all_pieces():
    image = scene(80, 80, noise=0)
    finest = hierarchy(image).n_regions(1e9)
    for wanted in (10**6, 10**30):
        with pytest.warns(UserWarning, match=f"expected {wanted} regions, found {finest};"):
            assert segment(image, regions=wanted).max() == finest - 1


@pytest.mark.parametrize("regions", [0, -3, 2.5, "many", None])
def test_a_number_of_regions_is_checked(regions):
    with pytest.raises(InvalidInputError, match="regions must be a whole number from 1"):
        segment(scene(), regions=regions)


# -- training --------------------------------------------------------------------------------------


@pytest.mark.parametrize("masked", [False, True])
def test_a_trace_holds_the_regions_their_borders_and_all_merges(masked):
    image = scene(120, 160, noise=20)
    mask = np.ones(image.shape[:2], bool)
    mask[40:50, 60:90] = not masked
    pixels = read_pixels(image, "lab", mask if masked else None, -1, 1)
    trace = _kernel.MergeTrace()
    merge_regions(pixels, None, None, np.inf, 1, merge_table(), trace)
    regions = trace.region_of_pixels().reshape(mask.shape)
    n = int(regions[mask].max()) + 1
    assert (regions[~mask] == 2**32 - 1).all()
    touching = {
        tuple(sorted(pair))
        for a, b in ((regions[1:], regions[:-1]), (regions[:, 1:], regions[:, :-1]))
        for pair in zip(a[a != b].tolist(), b[a != b].tolist(), strict=True)
        if max(pair) < n
    }
    sides, merged = trace.sides(), trace.merged()
    assert trace.features().shape == (len(sides), 38)
    assert {tuple(sorted(pair)) for pair in sides.tolist() if max(pair) < n} == touching
    # Every merge makes the next node, until one is left.
    assert sorted(merged.ravel().tolist()) == list(range(2 * n - 2))
    assert (merged.max(axis=1) < n + np.arange(n - 1)).all()
