"""SVG drawings: filled with the even-odd rule, the paths give back the label image."""

import re
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from meanshiftpp.draw import label_colors
from meanshiftpp.errors import InvalidInputError
from meanshiftpp.picture import write_svg


def draw_path(data, shape):
    """Fill a path of horizontal and vertical steps with the even-odd rule."""
    crossings = np.zeros((shape[0], shape[1] + 1), int)
    x = y = first = None
    for command in re.findall(r"M\d+ \d+|[hv]-?\d+|z", data):
        before = x, y
        if command[0] == "M":
            x, y = first = tuple(map(int, command[1:].split()))
            continue
        if command == "z":
            x, y = first
        elif command[0] == "h":
            x += int(command[1:])
        else:
            y += int(command[1:])
        assert (x == before[0]) != (y == before[1])
        if x == before[0]:
            crossings[min(y, before[1]) : max(y, before[1]), x] += 1
    return crossings.cumsum(axis=1)[:, :-1] % 2 == 1


def read_svg(path, shape):
    """Return the label image of a drawing and the colours of its labels."""
    root = ElementTree.parse(path).getroot()
    assert root.get("viewBox") == f"0 0 {shape[1]} {shape[0]}"
    labels, colours = np.full(shape, -1), {}
    for each in root:
        label = int(each.get("id").removeprefix("region-")) - 1
        covered = draw_path(each.get("d"), shape)
        assert (labels[covered] == -1).all()
        labels[covered] = label
        colours[label] = each.get("fill")
    return labels, colours


@given(
    arrays(np.int32, st.tuples(st.integers(1, 9), st.integers(1, 9)), elements=st.integers(-1, 3))
)
def test_a_drawing_gives_back_the_label_image(tmp_path_factory, labels):
    path = tmp_path_factory.mktemp("svg") / "regions.svg"
    colors = label_colors(4)
    write_svg(path, labels, colors)
    read, colours = read_svg(path, labels.shape)
    np.testing.assert_array_equal(read, labels)
    used = np.unique(labels[labels >= 0]).tolist()
    assert colours == {k: f"#{colors[k].tobytes().hex()}" for k in used}


def test_straight_borders_are_one_step(tmp_path):
    labels = np.zeros((50, 80), int)
    labels[10:20, 30:60] = 1
    write_svg(tmp_path / "a.svg", labels, [[0, 0, 0], [255, 255, 255]])
    text = (tmp_path / "a.svg").read_text()
    assert 'd="M0 0h80v50h-80zM30 10v10h30v-10z"' in text
    assert 'd="M30 10h30v10h-30z"' in text


def test_another_suffix_is_reported(tmp_path):
    with pytest.raises(InvalidInputError, match=r"\.svg"):
        write_svg(tmp_path / "a.png", np.zeros((2, 2), int), [[0, 0, 0]])
