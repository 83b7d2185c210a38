"""SVG drawings: filled with the even-odd rule, the paths give back the label image."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from tests.images.svg import read_svg

from meanshiftpp.draw import label_colors
from meanshiftpp.errors import InvalidInputError
from meanshiftpp.picture import write_svg


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
    with pytest.raises(InvalidInputError, match=r"\(height, width\), got \(2, 2, 2\)"):
        write_svg(tmp_path / "a.svg", np.zeros((2, 2, 2), int), [[0, 0, 0]])
