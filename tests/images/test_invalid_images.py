"""Invalid images and options raise errors that state the problem."""

from __future__ import annotations

import numpy as np
import pytest

from meanshiftpp import hierarchy, palette, quantize, segment
from meanshiftpp.errors import InvalidInputError

ANY = np.zeros((8, 9, 3), np.uint8)
FUNCTIONS = [segment, hierarchy, quantize, palette]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
@pytest.mark.parametrize(
    ("image", "options", "message"),
    [
        (np.zeros((0, 9, 3), np.uint8), {}, "empty"),
        (np.zeros((8, 0), np.uint8), {}, "empty"),
        (np.zeros((8, 9, 0), np.uint8), {}, "empty"),
        (np.zeros(5, np.uint8), {}, "dimensions"),
        (np.uint8(5), {}, "shape"),
        (np.zeros((2, 2, 2, 2, 3), np.uint8), {}, "dimensions"),
        (np.zeros((2, 2, 2, 3), np.uint8), {"channel_axis": None}, "dimensions"),
        (ANY, {"channel_axis": 3}, "channel_axis"),
        (ANY, {"channel_axis": -4}, "channel_axis"),
        (ANY, {"channel_axis": "last"}, r"channel_axis must be None or an axis .*got 'last'; the"),
        (ANY, {"channel_axis": 1.5}, "channel_axis must be"),
        (ANY, {"channel_axis": True}, "channel_axis must be"),
        (ANY, {"space": ["lab"]}, "space must be one of"),
        (ANY, {"space": np.array(["lab"])}, "space must be one of"),
        (ANY, {"mask": np.ones((9, 8), bool)}, "mask"),
        (ANY, {"mask": np.ones((8, 9, 3), bool)}, "mask"),
        (ANY, {"mask": np.zeros((8, 9), bool)}, "no pixel"),
        (np.dstack([ANY, ANY[..., 0]]), {}, "no pixel"),
        (np.where(np.indices((8, 9)).sum(0)[..., None] == 5, np.nan, ANY / 255), {}, r"\(0, 5\)"),
        (np.where(np.indices((8, 9)).sum(0)[..., None] == 5, np.inf, ANY / 255), {}, r"\(0, 5\)"),
        (np.where(np.indices((8, 9, 3)).sum(0) == 7, np.nan, ANY / 255), {}, r"\(0, 5\)"),
        (ANY + 1.5, {}, "between 0 and 1"),
        (ANY - 0.5, {}, "between 0 and 1"),
        (ANY.astype(np.int16) - 1, {"value_range": "dtype"}, r"between 0 and 65,535 .*\(-1, -1\)"),
        (
            ANY + np.int32(100_000),
            {"value_range": "dtype"},
            r"\(100000, 100000\); .* space=None",
        ),
        (ANY, {"value_range": "full"}, "value_range must be None, 'image', 'dtype' or two finite"),
        (ANY, {"value_range": "09"}, "value_range must be"),
        (ANY, {"value_range": (5, 5)}, r"the smaller first, got \(5, 5\)"),
        (ANY, {"value_range": (0, np.inf)}, "value_range must be"),
        (ANY, {"value_range": 3}, "value_range must be"),
        (ANY * 1j, {}, "complex"),
        (np.full((8, 9), "red"), {}, "dtype"),
        (np.full((8, 9), None), {}, "dtype"),
        ([[1, 2], [3]], {}, "rows of equal length"),
        (np.ma.array(ANY, mask=True), {}, "masked values"),
        (ANY, {"mask": np.ma.array(np.ones((8, 9), bool), mask=True)}, "masked values"),
        (ANY, {"space": "cmyk"}, "space"),
        (ANY, {"space": "LAB"}, "space"),
        (ANY, {"bandwidth": 0}, "bandwidth"),
        (ANY, {"bandwidth": -3.0}, "bandwidth"),
        (ANY, {"bandwidth": float("nan")}, "bandwidth"),
        (ANY, {"n_threads": 0}, "n_threads"),
    ],
)
def test_invalid_images_raise(function, image, options, message):
    with pytest.raises(InvalidInputError, match=message):
        function(image, **options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"detail": 0}, "detail"),
        ({"detail": -1.0}, "detail"),
        ({"detail": float("nan")}, "detail"),
        ({"detail": float("inf")}, "detail"),
        ({"min_size": 0}, "min_size"),
        ({"min_size": -4}, "min_size"),
        ({"detail": "high"}, "detail must be a positive number, got 'high'"),
        ({"detail": None}, "detail must be a positive number, got None"),
        ({"detail": True}, "detail"),
        ({"min_size": "small"}, "min_size must be a whole number from 1, got 'small'"),
        ({"min_size": 2.5}, "min_size"),
    ],
)
def test_invalid_options_of_regions_raise(options, message):
    with pytest.raises(InvalidInputError, match=message):
        segment(ANY, **options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"spatial": 0.0}, "spatial must be a positive number, got 0.0"),
        ({"spatial": -1}, "spatial must be a positive number, got -1"),
        ({"spatial": "near"}, "spatial must be a positive number, got 'near'"),
        ({"start_label": 1.5}, r"start_label must be a whole number from .* got 1.5"),
        ({"start_label": "one"}, "start_label"),
        ({"start_label": 2**30 + 1}, "start_label"),
        ({"start_label": -(2**30) - 1}, "start_label"),
    ],
)
@pytest.mark.parametrize("regions", [True, False])
def test_invalid_options_of_segment_raise(options, message, regions):
    with pytest.raises(InvalidInputError, match=message):
        segment(ANY, regions=regions, **options)


def test_invalid_cuts_raise():
    tree = hierarchy(ANY)
    with pytest.raises(InvalidInputError, match="detail"):
        tree.cut(0)
    with pytest.raises(InvalidInputError, match="detail"):
        tree.n_regions(-1)
    with pytest.raises(InvalidInputError, match="min_size"):
        tree.cut(min_size=0)


@pytest.mark.skipif(np.longdouble(0).itemsize <= 8, reason="needs floats of more than 64 bits")
def test_long_floats_raise():
    with pytest.raises(InvalidInputError, match="at most 64 bits, got dtype"):
        segment(ANY.astype(np.longdouble))


def test_errors_are_value_errors():
    with pytest.raises(ValueError, match="empty"):
        segment(np.zeros((0, 3)))


@pytest.mark.parametrize(
    ("options", "parameter"),
    [({"space": "cmyk"}, "space"), ({"channel_axis": 3}, "channel_axis")],
)
def test_errors_carry_the_parameter(options, parameter):
    with pytest.raises(InvalidInputError) as caught:
        segment(ANY, **options)
    assert (caught.value.parameter, caught.value.got) == (parameter, options[parameter])


BYTES = np.random.default_rng(0).integers(0, 255, (20, 30, 3), np.uint8)


@pytest.mark.parametrize("space", ["lab", None])
@pytest.mark.parametrize(("kind", "offset"), [("u8", 2**63), ("i8", -(2**62))])
def test_whole_numbers_that_would_be_rounded_raise(kind, offset, space):
    """Their range vanished in float64, and the kernel received NaN."""
    image = BYTES.astype(kind) + np.array(offset, kind)
    with pytest.raises(
        InvalidInputError, match=r"pixel \(0, 0\) is a whole number beyond .*offset"
    ):
        segment(image, space=space)
    mask = np.ones((20, 30), bool)
    mask[0, 0] = False
    few = BYTES.astype(kind)
    few[0, 0] = image[0, 0]
    assert segment(few, space=space, mask=mask)[0, 0] == -1


def test_equal_values_of_any_size_have_a_range():
    assert segment(np.full((9, 9), 1e300), value_range="image").max() == 0


def test_values_of_an_infinite_range_raise():
    image = np.where(BYTES > 99, 1.7e308, -1.7e308)
    with pytest.raises(InvalidInputError, match=r"finite range, got .*; divide the values first"):
        segment(image, value_range="image")
