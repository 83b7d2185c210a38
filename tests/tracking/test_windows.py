"""The overlap of windows."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from meanshiftpp import clips
from meanshiftpp.tracking.windows import Window, overlap, row

place, size = st.integers(-5, 12), st.integers(1, 9)
windows = st.tuples(place, place, size, size)


def test_overlap_is_intersection_over_union():
    assert overlap((0, 0, 4, 4), (0, 0, 4, 4)) == 1
    assert overlap((0, 0, 4, 4), (4, 0, 4, 4)) == 0
    assert overlap((0, 0, 4, 4), (9, 9, 1, 1)) == 0
    assert overlap((0, 0, 4, 4), (2, 2, 4, 4)) == 4 / 28


@given(windows, windows)
def test_overlap_counts_pixels(a, b):
    def pixels(window: Window) -> set[tuple[int, int]]:
        x, y, w, h = window
        return {(i, j) for i in range(x, x + w) for j in range(y, y + h)}

    assert overlap(a, b) == len(pixels(a) & pixels(b)) / len(pixels(a) | pixels(b))


def test_a_row_of_the_table_has_its_columns():
    assert row(3, 7, (-1, 90, 48, 54), False, 1 / 3) == "3,7,-1,90,48,54,0,0.3333"


def test_overlap_is_public():
    assert clips.overlap is overlap
