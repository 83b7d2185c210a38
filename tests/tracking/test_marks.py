"""Windows and masks drawn on frames."""

from __future__ import annotations

import numpy as np

from meanshiftpp.tracking.marks import FOLLOWED, LOST, box, tint, tracked


def test_a_box_changes_only_its_line():
    plain = np.full((40, 60, 3), 100, np.uint8)
    for where in ((0, 0, 60, 40), (0, 0, 1, 1), (59, 39, 1, 1), (20, 10, 15, 12)):
        for options in ({}, {"dashed": True}, {"caption": "lost"}):
            drawn = box(plain, where, **options)
            assert drawn.shape == plain.shape
            assert (drawn != plain).any()
    assert (plain == 100).all()
    drawn = box(plain, (20, 10, 15, 12))
    assert np.array_equal(drawn[10:22, 20:35], plain[10:22, 20:35])
    assert np.array_equal(drawn[:7], plain[:7])
    dashed = box(plain, (20, 10, 15, 12), dashed=True)
    whole, parts = ((each == FOLLOWED).all(axis=2).sum() for each in (drawn, dashed))
    assert 0.2 * whole < parts < 0.8 * whole


def test_a_lost_object_is_marked_and_not_tinted():
    plain, where = np.full((60, 80, 3), 100, np.uint8), (30, 30, 12, 9)
    mask = np.zeros((60, 80), bool)
    mask[32:36, 32:36] = True
    assert np.array_equal(tracked(plain, where, True), box(plain, where))
    assert np.array_equal(tracked(plain, where, True, mask), box(tint(plain, mask), where))
    lost = tracked(plain, where, False, mask)
    assert np.array_equal(lost, box(plain, where, LOST, dashed=True, caption="lost"))
    assert np.array_equal(lost[32:36, 32:36], plain[32:36, 32:36])


def test_a_tint_changes_only_the_mask():
    plain = np.full((4, 5, 3), 255, np.uint8)
    mask = np.zeros((4, 5), bool)
    mask[1, 2] = True
    drawn = tint(plain, mask, (1, 0, 101))
    assert drawn[1, 2].tolist() == [128, 127, 178]
    assert (drawn[~mask] == 255).all()
