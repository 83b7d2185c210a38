"""Images of every kind: scikit-image's conventions for shapes, types, masks and labels."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import ndimage
from tests.images.scenes import SPACES, assert_connected, assert_ordered, same_partition

import meanshiftpp
from meanshiftpp import palette, quantize, segment
from meanshiftpp.errors import InvalidInputError


def test_the_names_are_public():
    for name in ("segment", "hierarchy", "quantize", "palette", "Hierarchy", "Palette"):
        assert name in meanshiftpp.__all__


# -- shapes and types ------------------------------------------------------------------------------


def test_segments_are_the_objects_of_the_scene(image):
    labels = segment(image)
    assert labels.shape == (60, 80)
    assert labels.dtype == np.int32
    assert_ordered(labels)
    assert_connected(labels)
    middle = [labels[5, 5], labels[57, 40], labels[30, 24], labels[21, 60]]
    assert len(set(middle)) == 4
    assert labels.max() == 3


@pytest.mark.parametrize("space", [*SPACES, None])
@pytest.mark.parametrize("regions", [True, False])
def test_labels_are_ordered_in_every_space(image, space, regions):
    labels = segment(image, space=space, regions=regions)
    assert labels.shape == image.shape[:2]
    assert labels.dtype == np.int32
    assert labels.min() == 0
    assert labels.max() >= 1
    assert_ordered(labels)
    if regions:
        assert_connected(labels)


@pytest.mark.parametrize(
    "convert",
    [
        lambda image: image.astype(np.uint16) * 257,
        lambda image: image / np.float32(255),
        lambda image: image / 255.0,
        lambda image: image.tolist(),
        lambda image: np.asfortranarray(image),
        lambda image: image[::-1, ::-1][::-1, ::-1],
        lambda image: (image.astype(np.uint16) * 257).astype(">u2"),
    ],
    ids=["uint16", "float32", "float64", "list", "fortran", "strides", "big-endian"],
)
@pytest.mark.parametrize("regions", [True, False])
def test_types_with_the_same_colours_have_the_same_labels(image, convert, regions):
    labels = segment(convert(image), regions=regions)
    expected = segment(image, regions=regions)
    # Types round differently in the last bit, which can move a pixel at the edge of a cell.
    agree = max((labels == expected).mean(), same_partition(labels, expected))
    assert agree > 0.995


@pytest.mark.parametrize("dtype", ["i2", "u2", "i4", "u4", "i8", "u8", ">u2"])
@pytest.mark.parametrize("space", SPACES)
def test_values_up_to_255_are_bytes_in_every_integer_type(image, dtype, space):
    for regions in (True, False):
        expected = segment(image, space=space, regions=regions)
        assert np.array_equal(segment(image.astype(dtype), space=space, regions=regions), expected)
    assert np.array_equal(palette(image.astype(dtype)).colors, palette(image, space="rgb").colors)


@pytest.mark.parametrize("dtype", ["u2", "i4", "u4", "i8"])
def test_16_bit_values_are_equal_in_every_integer_type(image, dtype):
    wide = image.astype(np.uint16) * 257
    assert np.array_equal(segment(wide.astype(dtype)), segment(wide))


def test_masked_pixels_do_not_count_in_the_range(image):
    mask = np.ones((60, 80), bool)
    mask[:20, :30] = False
    for other in (-9999, 32767):
        values = image.astype(np.int16)
        values[~mask] = other
        assert np.array_equal(segment(values, mask=mask), segment(image, mask=mask))


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.int16, np.float16, np.float32, bool])
def test_results_have_the_type_of_the_image(image, dtype):
    if dtype is bool:
        values = image > 100
    elif np.dtype(dtype).kind == "f":
        values = (image / 255).astype(dtype)
    else:
        values = (image * (np.iinfo(dtype).max / 255)).astype(dtype)
    assert segment(values).shape == (60, 80)
    quantized = quantize(values)
    colours = palette(values)
    assert quantized.shape == values.shape
    assert quantized.dtype == colours.colors.dtype == values.dtype
    assert colours.colors.shape == (len(colours), 3)


def test_channels_can_be_on_any_axis(image):
    expected, colours = segment(image), quantize(image, 24)
    for axis in (0, 1, -2, -3):
        moved = np.moveaxis(image, -1, axis)
        assert np.array_equal(segment(moved, channel_axis=axis), expected)
        back = np.moveaxis(quantize(moved, 24, channel_axis=axis), axis, -1)
        assert np.array_equal(back, colours)
        assert len(palette(moved, 24, channel_axis=axis)) == len(palette(image, 24))


def test_grey_images(image):
    grey = image[..., 0]
    labels = segment(grey)
    assert labels.shape == grey.shape
    assert np.array_equal(labels, segment(grey, channel_axis=None))
    assert np.array_equal(labels, segment(grey[..., None]))
    assert_connected(labels)
    assert quantize(grey).shape == grey.shape
    assert palette(grey).colors.shape[1] == 1


def test_a_grey_image_has_the_regions_of_its_rgb_copy(image):
    grey = image[..., 1]
    assert same_partition(segment(grey, space="lab"), segment(np.dstack([grey] * 3), space="lab"))


@pytest.mark.parametrize("bands", [2, 6])
@pytest.mark.parametrize("regions", [True, False])
def test_bands_that_are_not_colours(bands, regions):
    rng = np.random.default_rng(3)
    image = rng.normal(0, 4, (40, 50, bands))
    image[:, 25:] += np.arange(1, bands + 1) * 30
    for values in (image, (image + 100).clip(0, 255).astype(np.uint8)):
        labels = segment(values, regions=regions)
        left, right = np.bincount(labels[:, :25].ravel()), np.bincount(labels[:, 25:].ravel())
        assert left.argmax() != right.argmax()
        if regions:
            assert labels.max() == 1


@pytest.mark.parametrize("channels", [None, 3])
def test_volumes(channels):
    rng = np.random.default_rng(4)
    volume = np.full((10, 24, 30), 40.0)
    volume[2:8, 6:18, 8:24] = 200
    if channels:
        volume = np.stack([volume, volume[::-1], 255 - volume], axis=-1)
    volume = (volume + rng.normal(0, 4, volume.shape)).clip(0, 255).astype(np.uint8)
    labels = segment(volume, channel_axis=-1 if channels else None)
    assert labels.shape == (10, 24, 30)
    assert labels.max() == 1
    assert (labels[3:7, 7:17, 9:23] == 1).all()
    assert_connected(labels)
    clusters = segment(volume, channel_axis=-1 if channels else None, regions=False)
    assert clusters.shape == labels.shape
    assert quantize(volume, channel_axis=-1 if channels else None).shape == volume.shape


@pytest.mark.parametrize("shape", [(1, 1, 3), (1, 40, 3), (40, 1, 3), (1, 1), (2, 2, 3), (5, 7)])
def test_tiny_images(shape):
    image = np.full(shape, 100, np.uint8)
    for regions in (True, False):
        labels = segment(image, regions=regions)
        assert labels.shape == shape[:2]
        assert (labels == 0).all()
    assert np.array_equal(quantize(image), image)
    assert palette(image).shares.tolist() == [1.0]


def test_the_image_is_not_changed(image):
    before = image.copy()
    image.flags.writeable = False
    try:
        segment(image)
        quantize(image)
        palette(image)
    finally:
        image.flags.writeable = True
    assert np.array_equal(image, before)


# -- masks and labels ------------------------------------------------------------------------------


@pytest.mark.parametrize("regions", [True, False])
@pytest.mark.parametrize("start", [0, 1, 10, -5, 2**30, -(2**30)])
def test_masked_pixels_get_the_label_below_the_first(image, regions, start):
    mask = np.ones((60, 80), bool)
    mask[:20, :30] = False
    labels = segment(image, mask=mask, regions=regions, start_label=start)
    assert (labels[~mask] == start - 1).all()
    assert (labels[mask] >= start).all()
    assert_ordered(labels, start)
    plain = segment(image, mask=mask, regions=regions)
    assert np.array_equal(plain + start, labels)


@pytest.mark.parametrize("regions", [True, False])
def test_masked_pixels_have_no_influence(image, regions):
    mask = np.ones((60, 80), bool)
    mask[:20, :30] = False
    other = image.copy()
    other[~mask] = 255, 0, 255
    options = {"mask": mask, "regions": regions}
    assert np.array_equal(segment(image, **options), segment(other, **options))
    finite = (image / 255).astype(np.float32)
    with_nan = finite.copy()
    with_nan[~mask] = np.nan
    assert np.array_equal(segment(with_nan, **options), segment(finite, **options))


@pytest.mark.parametrize("alpha", [False, True])
def test_hidden_pixels_do_not_count_in_texture_and_edges(alpha):
    rng = np.random.default_rng(1)
    clouds = sum(
        ndimage.gaussian_filter(rng.normal(size=(120, 120, 3)), (s, s, 0)) * s for s in (2, 9)
    )
    clouds = (127 + 90 * clouds / np.abs(clouds).max()).astype(np.uint8)
    y, x = np.ogrid[:120, :120]
    mask = (y - 60) ** 2 + (x - 60) ** 2 < 45**2
    results = []
    for hidden in (clouds, 0, 255):
        image = np.where(mask[..., None], clouds, hidden).astype(np.uint8)
        image = np.dstack([image, mask * np.uint8(255)]) if alpha else image
        results.append(segment(image, mask=None if alpha else mask))
    assert results[0].max() > 3
    assert np.array_equal(results[0], results[1])
    assert np.array_equal(results[0], results[2])


def test_a_full_mask_has_no_effect(image):
    assert np.array_equal(segment(image, mask=np.ones((60, 80))), segment(image))


def test_transparent_pixels_are_masked(image):
    alpha = np.full((60, 80), 255, np.uint8)
    alpha[:20, :30] = 0
    rgba = np.dstack([image, alpha])
    for regions in (True, False):
        labels = segment(rgba, regions=regions)
        assert np.array_equal(labels, segment(image, mask=alpha > 0, regions=regions))
    quantized = quantize(rgba)
    assert quantized.shape == rgba.shape
    assert np.array_equal(quantized[alpha == 0], rgba[alpha == 0])
    assert np.array_equal(quantized[..., 3], alpha)
    assert palette(rgba).colors.shape[1] == 3


def test_a_pixel_counts_if_it_is_opaque_and_in_the_mask(image):
    alpha = np.full((60, 80), 255, np.uint8)
    alpha[:20, :30], alpha[30:40, :30] = 0, 1  # an alpha of 1 is not transparent
    mask = np.ones((60, 80), bool)
    mask[10:30, 20:50] = False
    labels = segment(np.dstack([image, alpha]), mask=mask)
    assert np.array_equal(labels, segment(image, mask=mask & (alpha > 0)))


def test_a_mask_separates_regions():
    image = np.full((20, 41, 3), 90, np.uint8)
    mask = np.ones((20, 41), bool)
    mask[:, 20] = False
    labels = segment(image, mask=mask)
    assert labels[:, :20].max() == labels[:, :20].min()
    assert labels[:, 21:].max() == labels[:, 21:].min()
    assert labels[0, 0] != labels[0, 40]
    assert (segment(image, mask=mask, regions=False)[mask] == 0).all()


def test_regions_of_equal_size_are_numbered_in_reading_order():
    image = np.zeros((20, 40, 3), np.uint8)
    image[:, 20:] = 200
    expected = np.repeat([[0] * 20 + [1] * 20], 20, axis=0)
    for same in (image, image[:, ::-1]):
        for n in (1, 2, 8):
            assert np.array_equal(segment(same, n_threads=n), expected)


def test_detail_and_a_number_of_regions_exclude_each_other():
    image = np.zeros((20, 20, 3), np.uint8)
    with pytest.raises(InvalidInputError, match="detail must be 1 with a number of regions, got 3"):
        segment(image, regions=5, detail=3)
