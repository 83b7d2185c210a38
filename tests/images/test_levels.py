"""The values of black and white: by the type, by the image, or as passed in."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.images.scenes import scene

from meanshiftpp import _kernel, hierarchy, palette, quantize, segment
from meanshiftpp.errors import InvalidInputError
from meanshiftpp.images.levels import are_unit_floats, data_range, scale, value_limits
from meanshiftpp.images.pixels import SPACES, read_pixels

FUNCTIONS = [segment, hierarchy, quantize, palette]


def sensor(bits: int, dtype: str = "u2", dark: int = 0) -> np.ndarray:
    """Return the scene as a sensor of so many bits stores it."""
    image = scene(120, 160)
    return (image.astype(np.int64) * ((2**bits - 1 - dark) / 255) + dark).astype(dtype)


@pytest.mark.parametrize(
    ("values", "dtype", "value_range", "limits"),
    [
        ([3, 9], "u1", None, (0, 255)),
        ([3, 9], "u1", "dtype", (0, 255)),
        ([3, 9], "u1", "image", (3, 9)),
        ([0, 100], "i4", None, (0, 255)),
        ([9, 255], "i4", None, (0, 255)),
        ([9, 256], "i4", None, (9, 256)),
        ([5, 16383], "i2", None, (5, 16383)),
        ([5, 16384], "i2", None, (0, 32767)),
        ([0, 60_000], "i4", None, (0, 65535)),
        ([9, 65535], "i4", None, (0, 65535)),
        ([0, 65536], "i4", None, (0, 65536)),
        ([-1, 60_000], "i4", None, (-1, 60_000)),
        ([3, 4000], "u2", "dtype", (0, 65535)),
        ([3, 4000], "i2", "dtype", (0, 32767)),
        ([3, 4000], "i8", "dtype", (0, 65535)),
        ([3, 255], "i4", "dtype", (0, 255)),
        ([0.25, 0.5], "f4", None, (0, 1)),
        ([0.25, 0.5], "f8", "dtype", (0, 1)),
        ([0.25, 0.5], "f8", "image", (0.25, 0.5)),
        ([0.25, 0.5], "f8", (0.0, 0.75), (0, 0.75)),
    ],
)
def test_black_and_white_follow_from_type_and_values(values, dtype, value_range, limits):
    assert value_limits(np.array(values, dtype), value_range) == limits


@pytest.mark.parametrize(
    ("values", "value_range"),
    [
        ([-0.5, 0.5], None),
        ([0.5, 1.05], None),
        ([-0.5, 2.0], "dtype"),
        ([-5, 100], "dtype"),
        ([5, 65536], "dtype"),
    ],
)
def test_values_beyond_the_range_of_their_type_raise(values, value_range):
    with pytest.raises(InvalidInputError, match="image must be between 0 and") as caught:
        value_limits(np.array(values), value_range)
    assert caught.value.got == tuple(values)


def test_rounding_errors_of_unit_floats_are_not_beyond_the_range():
    assert are_unit_floats(np.array([-5e-7, 1 + 5e-7]))
    assert not are_unit_floats(np.array([-2e-6, 1.0]))
    assert not are_unit_floats(np.array([0.0, 1 + 2e-6]))
    assert are_unit_floats(np.empty(0))


def test_an_array_can_set_the_range():
    image = sensor(12)
    labels = segment(image, value_range=np.array([0, 4095]))
    assert np.array_equal(labels, segment(image, value_range=(0, 4095)))


@pytest.mark.parametrize("bits", [9, 10, 12, 14])
@pytest.mark.parametrize("dtype", ["u2", "i2", "i4", ">u2"])
def test_fewer_bits_in_16_have_the_regions_of_the_scaled_image(bits, dtype):
    image = sensor(bits, dtype, dark=20)
    labels = segment(image)
    assert labels.max() == 3
    low, high = np.sort(image, axis=None)[[5, -6]].tolist()  # 0.01 % of 57,600 values are beyond
    assert np.array_equal(labels, segment((image.clip(low, high) - low) / (high - low)))


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_the_type_or_numbers_can_set_the_range(function):
    image = sensor(12)

    def result(image, **options):
        found = function(image, **options)
        if function is palette:
            return found.shares
        return found.cut() if function is hierarchy else found

    by_type = result((image / 65535).astype(np.float32))
    if function is not quantize:  # it returns colours of the image
        assert np.array_equal(result(image, value_range="dtype"), by_type)
        by_numbers = result((image / 4095).astype(np.float32))
        assert np.array_equal(result(image, value_range=(0, 4095)), by_numbers)
    default = result(image)
    assert np.array_equal(default, result(image, value_range="image"))
    assert np.array_equal(default, result(image, value_range=data_range(image)))


def test_bytes_and_floats_can_be_scaled_by_their_range():
    image = scene(120, 160)
    dim = image // 8
    assert segment(dim).max() < segment(dim, value_range="image").max()
    wide = image * 1e5 - 3e6
    assert segment(wide, value_range="image").max() == 3
    colours = palette(dim, value_range="image").colors
    assert colours.dtype == np.uint8
    assert colours.max() <= dim.max()


def test_hot_and_dead_pixels_do_not_change_the_range():
    image = sensor(12, dark=100)
    expected = value_limits(image)
    spoiled = image.copy()
    spoiled[3, 5], spoiled[90, 20] = 65535, 0
    low, high = value_limits(spoiled)
    assert abs(low - expected[0]) < 50
    assert abs(high - expected[1]) < 50
    assert segment(spoiled).max() == segment(image).max()


def test_a_few_bright_pixels_on_black_are_kept():
    image = np.zeros((200, 300), np.uint16)
    image[7, 9] = 900
    assert value_limits(image) == (0.0, 900.0)
    assert value_limits(np.full((200, 300), 700, np.uint16)) == (700.0, 701.0)


def test_negative_and_large_integers_are_scaled():
    image = scene(120, 160)[..., 0].astype(np.int32)
    expected = segment(image / 255, value_range="image")
    for values in (image * 9 - 1000, image * 100_000, image.astype(np.int64) << 40):
        assert np.array_equal(segment(values), expected)


def test_one_value_in_10000_is_beyond_each_end_of_the_range():
    values = np.random.default_rng(0).permutation(10_000)
    assert data_range(values) == (1.0, 9998.0)
    assert data_range(np.append(values, values)) == (1.0, 9998.0)
    assert data_range(values[values > 0]) == (1.0, 9999.0)


def test_the_range_of_no_values_is_that_of_floats():
    assert data_range(np.empty((0, 3))) == (0.0, 1.0)
    assert data_range(np.array([7])) == (7.0, 8.0)


def test_masked_values_are_not_in_the_range():
    image = sensor(12)
    mask = np.ones((120, 160), bool)
    mask[:20, :30] = False
    expected = segment(image, mask=mask)
    image[~mask] = 65535
    assert np.array_equal(segment(image, mask=mask), expected)


@given(st.integers(256, 65535), st.integers(0, 200))
def test_half_of_16_bits_is_the_border(high, low):
    values = np.array([low, high], np.uint16)
    assert value_limits(values) == ((0.0, 65535.0) if high >= 2**15 else (low, high))


@given(st.lists(st.integers(0, 65535), min_size=2, max_size=50), st.integers(0, 3))
def test_scaled_values_are_in_order_from_0_to_1(numbers, power):
    values = np.array(numbers, np.int64) << (10 * power)
    scaled = scale(values, data_range(values))
    assert scaled.dtype == np.float32
    assert scaled.min() == 0
    assert scaled.max() == (1 if len(set(numbers)) > 1 else 0)
    order = np.argsort(values, kind="stable")
    assert (np.diff(scaled[order]) >= 0).all()


def test_scaled_values_beyond_the_limits_are_clipped():
    assert scale(np.array([0, 2, 4, 6, 9]), (2.0, 6.0)).tolist() == [0, 0, 0.5, 1, 1]
    far = np.array([0, 1, 2]) + 2**40  # beyond the precision of 32-bit floats
    assert scale(far, (2.0**40, 2.0**40 + 2)).tolist() == [0, 0.5, 1]


@pytest.mark.parametrize("dtype", ["u2", "i2", "i4"])
@pytest.mark.parametrize("space", SPACES)
def test_the_kernel_scales_values_in_the_range_of_their_type(space, dtype):
    white = 32767 if dtype == "i2" else 65535
    values = np.random.default_rng(0).integers(0, white, (2000, 3)).astype(dtype)
    values[0], values[1] = 0, white
    features = read_pixels(values.reshape(40, 50, 3), space, None, -1, 1).features
    assert (features == _kernel.convert_colours(values, space, float(white), 1)).all()


@pytest.mark.parametrize("dtype", ["u1", "i2", "f2"])
def test_values_of_at_most_16_bits_are_scaled_in_32(dtype):
    values = np.arange(101).astype(dtype)
    low, width = np.float32(0.1), np.float32(100.7 - 0.1)
    expected = ((values.astype(np.float32) - low) / width).clip(0, 1)
    assert (scale(values, (0.1, 100.7)) == expected).all()


def test_values_of_more_than_16_bits_are_scaled_in_64():
    values = np.arange(101, dtype=np.int32)
    expected = ((values - 0.1) / (100.7 - 0.1)).clip(0, 1).astype(np.float32)
    assert (scale(values, (0.1, 100.7)) == expected).all()
