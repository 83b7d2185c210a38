"""Several trackers on one frame."""

from __future__ import annotations

import numpy as np
import pytest
from tests.tracking.scenes import BLUE, scene

from meanshiftpp import Tracker, update_trackers
from meanshiftpp.errors import InvalidInputError

WINDOWS = [(40, 60, 30, 24), (150, 60, 30, 24)]


def frame(k: int) -> np.ndarray:
    """Draw a red object on the left and a blue one on the right."""
    picture = scene(40 + 2 * k, 60, seed=k)
    picture[:, 120:] = scene(150 - 3 * k, 60 + k, seed=k, colour=BLUE)[:, 120:]
    return picture


def started() -> list[Tracker]:
    trackers = [Tracker(), Tracker(adapt=None)]
    for tracker, window in zip(trackers, WINDOWS, strict=True):
        tracker.init(frame(0), window)
    return trackers


def test_each_object_has_the_result_of_a_tracker_alone():
    together, alone = started(), started()
    for k in range(1, 6):
        results = update_trackers(together, frame(k))
        assert results == [tracker.update(frame(k)) for tracker in alone]
    for one, other in zip(together, alone, strict=True):
        np.testing.assert_array_equal(one.mask, other.mask)


def test_the_frame_is_converted_once():
    class Counted:
        conversions = 0

        def __array__(self, dtype=None, copy=None):
            self.conversions += 1
            return frame(1)

    counted = Counted()
    update_trackers(started(), counted)
    assert counted.conversions == 1


def test_an_error_leaves_every_tracker_as_it_was():
    trackers = started()
    with pytest.raises(InvalidInputError, match="the tracker has not started"):
        update_trackers([*trackers, Tracker()], frame(1))
    other = Tracker()
    other.init(frame(0)[:100], (40, 60, 30, 24))
    with pytest.raises(InvalidInputError, match="must have the same size, 240x100, got 240x200"):
        update_trackers([*trackers, other], frame(1))
    assert [tracker.window for tracker in trackers] == WINDOWS
    with pytest.raises(InvalidInputError, match="trackers must be an iterable of Tracker"):
        update_trackers(trackers[0], frame(1))
    assert update_trackers([], frame(1)) == []
