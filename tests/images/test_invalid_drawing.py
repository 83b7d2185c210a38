"""Wrong arguments of the drawing functions raise errors that name the parameter."""

from __future__ import annotations

import numpy as np
import pytest

from meanshiftpp import draw, picture
from meanshiftpp.errors import InvalidInputError

LABELS = np.array([[0, 0, 1], [1, 1, 2]])
UNCOLOURED = LABELS + 1  # the last label has no row in COLORS
RGB = np.zeros((2, 3, 3), np.uint8)
COLORS = [[200, 0, 0], [0, 200, 0], [0, 0, 200]]
PANELS = [("a", "b", RGB), ("c", "d", RGB)]
ANY = (None, object(), "a", [[1, 2], [3]], 1.5, np.array(["a"]), np.zeros((2, 3), complex))

# A valid call of each function, and wrong values of each argument besides those of ANY.
CALLS = {
    draw.as_rgb: {
        "image": (RGB, [np.zeros(3)]),
        "channel_axis": (-1, [5, "x", 1.5]),
        "limits": ([0, 9], [[1], [1, 2, 3], [[0, 1], [2, 3]], "ab", object(), np.zeros((2, 2, 2))]),
    },
    draw.limits: {
        "image": (RGB, [np.zeros(3)]),
        "mask": (np.ones((2, 3), bool), [np.ones((3, 2), bool), [True], "a", object()]),
    },
    draw.region_colors: {
        "rgb": (RGB, [RGB[:, :2], RGB[..., :2], RGB[..., 0]]),
        "labels": (LABELS, [LABELS[0], LABELS / 2, LABELS[None], [[2**40]]]),
    },
    draw.label_colors: {"n": (3, [-1, 2.5, "3", None, True])},
    draw.outlines: {
        "labels": (LABELS, [LABELS[0], LABELS / 2, LABELS[None]]),
        "width": (2, [0, -3, 1.5, "2", True]),
    },
    draw.fill: {
        "labels": (LABELS, [LABELS[0], LABELS / 2, UNCOLOURED]),
        "colors": (COLORS, [COLORS[:2], [1, 2, 3], [[1, 2]] * 3]),
    },
    draw.overlay: {
        "rgb": (RGB, [RGB[:, :2], RGB[..., :2], RGB / 2]),
        "labels": (LABELS, [LABELS[0], LABELS / 2]),
    },
    draw.palette_strip: {
        "colors": (COLORS, [[], [1, 2, 3], [[1, 2]] * 3, np.empty((0, 3))]),
        "shares": ([0.5, 0.3, 0.2], [[0.5, 0.5], [0, 0, 0], [1, -1, 1], [1, np.nan, 1]]),
        "width": (90, [0, -1, 2.5, "9", 10**9]),
    },
    draw.contact_sheet: {
        "panels": (
            PANELS,
            [
                [],
                [("a", "b")],
                [(1, "b", RGB)],
                [("a", "b", RGB / 2)],
                [("a", "b", RGB[..., 0]), PANELS[0]],
                [PANELS[0], ("c", "d", RGB[:1])],
            ],
        ),
        "columns": (2, [0, 1.5, "2"]),
        "gap": (4, [-1, 1.5, "2"]),
    },
    draw.merge_colors: {
        "colors": (COLORS, [[], [1, 2, 3], [[1, 2]] * 3]),
        "weights": ([1, 2, 3], [[1, 2], [1, 0, 2], [1, -1, 1], [1, np.nan, 1]]),
        "n_colors": (2, [0, 1.5, "2"]),
    },
    picture.write_svg: {
        "labels": (LABELS, [LABELS[0], LABELS / 2, UNCOLOURED]),
        "colors": (COLORS, [COLORS[:2], [1, 2, 3], [[1, 2]] * 3]),
    },
    picture.write_palette: {
        "colors": (COLORS, [[1, 2, 3], [[1, 2]] * 3]),
        "shares": ([0.5, 0.3, 0.2], [[0.5, 0.5], [1, -1, 1], [1, np.nan, 1]]),
    },
}
OPTIONAL = {"limits", "mask", "width", "channel_axis"}
WHOLE = {"n", "width", "columns", "gap", "n_colors", "channel_axis"}


def cases():
    for function, arguments in CALLS.items():
        for parameter, (_, wrong) in arguments.items():
            unusable = () if parameter in WHOLE else ANY
            values = [*wrong, *unusable]
            for k, value in enumerate(values):
                if value is None and parameter in OPTIONAL:
                    continue
                name = f"{function.__name__}-{parameter}-{k}"
                yield pytest.param(function, parameter, value, id=name)


def call(function, tmp_path, changed=()):
    good = {parameter: good for parameter, (good, _) in CALLS[function].items()}
    suffix = {picture.write_svg: ".svg", picture.write_palette: ".css"}.get(function)
    path = [tmp_path / f"a{suffix}"] if suffix else []
    return function(*path, **{**good, **dict(changed)})


@pytest.mark.parametrize("function", CALLS, ids=lambda function: function.__name__)
def test_valid_arguments_are_drawn(function, tmp_path):
    call(function, tmp_path)


@pytest.mark.parametrize(("function", "parameter", "value"), [*cases()])
def test_a_wrong_argument_is_named(function, parameter, value, tmp_path):
    with pytest.raises(InvalidInputError) as caught:
        call(function, tmp_path, {parameter: value})
    # labels without a colour are as much an error of the colours
    assert caught.value.parameter in (
        (parameter, "colors") if value is UNCOLOURED else (parameter,)
    )
    assert caught.value.expected
    assert f"{caught.value.parameter} must be {caught.value.expected}, got" in str(caught.value)
    assert not list(tmp_path.iterdir())


def test_labels_below_minus_one_are_masked():
    labels = np.array([[-5, 0, 1], [1, -1, 1]])
    assert np.isfinite(draw.region_colors(RGB, labels)).all()
    assert draw.fill(labels, COLORS)[..., 3].tolist() == [[0, 255, 255], [255, 0, 255]]


def test_lines_wider_than_the_picture_cover_it():
    assert draw.outlines(LABELS, width=10**9).all()


def test_colours_beyond_bytes_are_clipped():
    strip = draw.palette_strip([[300, -9, 128]], [1])
    assert strip[0, 0].tolist() == [255, 0, 128]


def test_labels_too_large_for_a_table_of_colours():
    labels = np.array([[0, 2**31 - 1]])
    with pytest.raises(InvalidInputError, match=r"below 16,777,216 .*2147483647; number them anew"):
        draw.region_colors(np.zeros((1, 2, 3), np.uint8), labels)
