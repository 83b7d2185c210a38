"""Colour clusters: the paper's method on pixels, palettes, and colour spaces."""

from __future__ import annotations

import numpy as np
import pytest
from tests.helpers import fit_labels
from tests.images.scenes import SPACES, assert_connected, same_partition, scene

from meanshiftpp import _kernel, palette, quantize, segment
from meanshiftpp.reference.algorithms import mean_shift_pp

# -- the paper's method ----------------------------------------------------------------------------


@pytest.mark.parametrize("bandwidth", [7.0, 16.0, 24.0, 40.5])
def test_clusters_of_rgb_equal_clusters_of_points(image, bandwidth):
    labels = segment(image, bandwidth, space="rgb", regions=False)
    _, expected = fit_labels(image.reshape(-1, 3), bandwidth)
    assert np.array_equal(labels.ravel(), expected)


@pytest.mark.parametrize("space", ["lab", "luv", "hsv"])
def test_clusters_of_a_space_equal_clusters_of_its_points(image, space):
    labels = segment(image, 6.0, space=space, regions=False)
    colours = _kernel.convert_colours(image.reshape(-1, 3), space, 255.0, 1)
    _, expected = fit_labels(colours, 6.0)
    assert np.array_equal(labels.ravel(), expected)
    grey = image[..., :1].repeat(3, axis=-1)
    assert np.array_equal(
        segment(grey[..., 0], 6.0, space=space, regions=False),
        segment(grey, 6.0, space=space, regions=False),
    )


@pytest.mark.parametrize("bandwidth", [16.0, 30.0])
def test_clusters_of_rgb_equal_algorithm_2(bandwidth):
    image = scene(14, 18)
    labels = segment(image, bandwidth, space="rgb", regions=False)
    reference = mean_shift_pp(image.reshape(-1, 3).astype(float), bandwidth)
    assert same_partition(labels, np.asarray(reference.labels))


def test_spatial_adds_the_coordinates_as_features(image):
    labels = segment(image, 24.0, space="rgb", spatial=16.0, regions=False)
    y, x = np.indices((60, 80))
    features = np.column_stack([image.reshape(-1, 3).astype(np.float32), y.ravel(), x.ravel()])
    _, expected = fit_labels(features, [24.0, 24.0, 24.0, 16.0, 16.0])
    assert np.array_equal(labels.ravel(), expected)
    assert labels.max() > segment(image, 24.0, space="rgb", regions=False).max()
    regions = segment(image, spatial=20.0)
    assert_connected(regions)


def test_without_a_space_the_values_are_the_features():
    rng = np.random.default_rng(8)
    image = rng.normal(0, 1, (20, 30, 2)) + np.array([-5.0, 1e4])
    labels = segment(image, 0.7, space=None, regions=False)
    assert np.array_equal(labels.ravel(), fit_labels(image.reshape(-1, 2), 0.7)[1])
    four = rng.normal(0, 1, (20, 30, 4))  # the fourth band is alpha in a colour space only
    labels = segment(four, 0.7, space=None, regions=False)
    assert np.array_equal(labels.ravel(), fit_labels(four.reshape(-1, 4), 0.7)[1])


def test_palette_and_quantized_image_agree(image):
    result, quantized = palette(image, 24), quantize(image, 24)
    labels = segment(image, 24, space="rgb", regions=False)
    assert np.array_equal(result.colors[labels], quantized)
    assert np.allclose(result.shares, np.bincount(labels.ravel()) / labels.size)
    assert (np.diff(result.shares) <= 0).all()
    assert result.shares.sum() == pytest.approx(1)
    assert np.abs(quantized.astype(int) - image).mean() < 12


NOISE = np.random.default_rng(4).integers(0, 256, (30, 40, 3), np.uint8)


def test_quantize_replaces_pixels_by_their_mode():
    modes, labels = fit_labels(NOISE.reshape(-1, 3), 24)
    expected = np.rint(modes.centers)[labels].reshape(NOISE.shape)
    assert np.array_equal(quantize(NOISE, 24), expected)
    assert np.array_equal(quantize(NOISE), expected)
    assert np.array_equal(quantize(NOISE, 24, space=None), expected)


@pytest.mark.parametrize(
    ("convert", "factor"),
    [
        (lambda image: image.astype(int), 1),
        (lambda image: image.astype(np.uint16) * 257, 1 / 257),
        (lambda image: image / 255, 255),
        (lambda image: (image / 255).astype(np.float32), 255),
        (lambda image: image[..., 0].astype(int), 1),
    ],
    ids=["int", "uint16", "float64", "float32", "grey"],
)
def test_colours_are_modes_in_every_type(convert, factor):
    converted = convert(NOISE)
    image = NOISE if converted.ndim == 3 else NOISE[..., 0]
    found, expected = palette(converted), palette(image)
    assert np.array_equal(found.shares, expected.shares)
    assert np.abs(found.colors * factor - expected.colors).max() <= 0.5  # bytes are rounded
    difference = quantize(converted) * factor - quantize(image)
    assert np.abs(difference).max() <= 0.5


@pytest.mark.parametrize(("space", "bandwidth"), [("rgb", 24), ("lab", 8), ("luv", 10), ("hsv", 8)])
def test_palettes_have_a_fixed_bandwidth_in_each_space(space, bandwidth):
    default = quantize(NOISE, space=space)
    assert np.array_equal(default, quantize(NOISE, bandwidth, space=space))
    assert not np.array_equal(default, quantize(NOISE, 0.9 * bandwidth, space=space))


@pytest.mark.parametrize(
    "value_range", [(0, 255), (0, 100), (20, 100), (1, 255), (20, 255), (0, 700)]
)
@pytest.mark.parametrize("dtype", [np.uint8, np.int16])
@pytest.mark.parametrize("space", ["rgb", "lab"])
def test_values_beyond_the_range_are_clipped(value_range, dtype, space):
    low, high = value_range
    image = NOISE.astype(dtype) if dtype == np.uint8 else NOISE.astype(dtype) * 3 - 90
    options = {"regions": False, "bandwidth": 20.0, "space": space}
    scaled = (image.clip(low, high).astype(float) - low) / (high - low)
    expected = segment(scaled.astype(np.float32), **options)
    assert np.array_equal(segment(image, value_range=value_range, **options), expected)


def test_a_quantized_mask_is_a_mask():
    mask = np.arange(255).reshape(15, 17) < 127
    assert np.array_equal(quantize(mask), mask)
    assert not quantize(mask, 999).any()  # one cluster, and most pixels are false
    assert quantize(~mask, 999).all()


@pytest.mark.parametrize("space", ["lab", "luv", "hsv"])
def test_palettes_of_other_spaces_hold_mean_colours(image, space):
    result = palette(image, space=space)
    labels = segment(image, space=space, regions=False)
    first = image[labels == 0].mean(axis=0)
    assert np.abs(result.colors[0] - first).max() <= 0.5 + 1e-9


@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_palettes_of_floats_stay_between_0_and_1(image, space, dtype):
    result = palette((image / 255).astype(dtype), space=space)
    assert result.colors.dtype == dtype
    assert result.colors.min() >= 0
    assert result.colors.max() <= 1
    assert np.abs(result.colors[0] * 255 - palette(image, space=space).colors[0]).max() < 1


@pytest.mark.parametrize("channels", [1, 2, 3])
@pytest.mark.parametrize("dtype", [np.uint8, np.float32, np.float64])
def test_quantized_bands_are_the_means_of_clusters(image, channels, dtype):
    bands = image[..., :channels].astype(dtype)
    quantized = quantize(bands, space=None)  # clusters principal components
    colours, cluster_of = np.unique(quantized.reshape(-1, channels), axis=0, return_inverse=True)
    assert len(colours) > 1
    for k, colour in enumerate(colours):
        mean = bands.reshape(-1, channels)[cluster_of.ravel() == k].mean(axis=0, dtype=np.float64)
        assert np.abs(colour - mean).max() < (0.51 if dtype == np.uint8 else 1e-4)


# -- colour spaces ---------------------------------------------------------------------------------


def every_colour(dtype: type) -> np.ndarray:
    """Return colours from the whole RGB cube, and all greys."""
    axis = np.linspace(0, 255, 18).round()
    cube = np.stack(np.meshgrid(axis, axis, axis), axis=-1).reshape(-1, 3)
    greys = np.repeat(np.arange(256.0), 3).reshape(-1, 3)
    colours = np.vstack([cube, greys])
    return (colours / 255).astype(dtype) if dtype is not np.uint8 else colours.astype(np.uint8)


@pytest.mark.parametrize("dtype", [np.uint8, np.float32, np.float64])
@pytest.mark.parametrize("space", ["lab", "luv"])
def test_conversion_agrees_with_scikit_image(space, dtype):
    color = pytest.importorskip("skimage.color", reason="the reference for colour conversion")
    colours = every_colour(dtype)
    white = 255.0 if dtype is np.uint8 else 1.0
    ours = _kernel.convert_colours(colours, space, white, 1)
    convert = {"lab": color.rgb2lab, "luv": color.rgb2luv}[space]
    theirs = convert(colours[None].astype(np.float64) / white)[0]
    assert np.abs(ours - theirs).max() < 0.05


def test_hue_is_a_circle():
    """Reds on both sides of hue 0 are close to each other."""
    image = np.zeros((20, 40, 3), np.uint8)
    image[:, :20] = 230, 20, 28
    image[:, 20:] = 230, 28, 20
    assert segment(image, 8, space="hsv", regions=False).max() == 0
    image[:, 20:] = 20, 230, 28
    assert segment(image, space="hsv", regions=False).max() == 1
