"""The overlap of windows."""

from __future__ import annotations

from meanshiftpp import clips
from meanshiftpp.tracking.windows import overlap


def test_overlap_is_intersection_over_union():
    assert overlap((0, 0, 4, 4), (0, 0, 4, 4)) == 1
    assert overlap((0, 0, 4, 4), (4, 0, 4, 4)) == 0
    assert overlap((0, 0, 4, 4), (9, 9, 1, 1)) == 0
    assert overlap((0, 0, 4, 4), (2, 2, 4, 4)) == 4 / 28


def test_overlap_is_public():
    assert clips.overlap is overlap
