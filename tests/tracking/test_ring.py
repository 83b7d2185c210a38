"""The pixels around a window, against a plain set."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from meanshiftpp.tracking.tracker import RING, _ring

HEIGHT, WIDTH = 14, 18
NUMBERS = np.arange(HEIGHT * WIDTH, dtype=np.uint8).reshape(HEIGHT, WIDTH, 1)
FRAME = np.concatenate([NUMBERS, NUMBERS ^ 85, NUMBERS // 2], axis=2)  # no two pixels are equal


@st.composite
def boxes(draw):
    """Draw a window that lies inside the frame."""
    x, y = draw(st.integers(0, WIDTH - 1)), draw(st.integers(0, HEIGHT - 1))
    return x, y, draw(st.integers(1, WIDTH - x)), draw(st.integers(1, HEIGHT - y))


@given(boxes())
@example((0, 0, 4, 3))
@example((1, 1, 5, 5))
@example((6, 5, 5, 4))
@example((13, 10, 5, 4))
@example((12, 9, 5, 4))
@example((0, 0, WIDTH, HEIGHT))
def test_a_ring_is_the_pixels_near_a_window_but_not_in_it(box):
    x, y, w, h = box
    margin = max(1, round(RING * math.sqrt(w * h)))
    expected = [
        tuple(FRAME[row, column].tolist())
        for row in range(HEIGHT)
        for column in range(WIDTH)
        if y - margin <= row < y + h + margin and x - margin <= column < x + w + margin
        if not (y <= row < y + h and x <= column < x + w)
    ]
    assert [tuple(colour) for colour in _ring(FRAME, box).tolist()] == expected
