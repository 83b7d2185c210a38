"""When the robust tracker reports a lost object, and when it searches the whole frame.

The object is one flat colour on another, so that a frame without it yields exactly no evidence.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

from meanshiftpp import Tracker, _kernel

START = (30, 40, 30, 24)
FAR_AWAY = (180, 150, 30, 24)


def frame(window: tuple[int, int, int, int] | None) -> np.ndarray:
    """Draw a red rectangle on grey, or grey alone."""
    picture = np.full((200, 240, 3), 90, np.uint8)
    if window is not None:
        x, y, w, h = window
        picture[y : y + h, x : x + w] = 200, 40, 40
    return picture


@pytest.fixture
def tracker() -> Tracker:
    started = Tracker()
    started.init(frame(START), START)
    return started


def test_an_object_is_lost_at_the_first_confidence_below_the_documented_threshold(tracker):
    oks, confidences = [], []
    for _ in range(6):
        oks.append(tracker.update(frame(None))[0])
        confidences.append(tracker.confidence)
    # The log odds of a loss start at -4; without evidence, those of a frame are 1.8 and count 0.2.
    odds = [-4 * 0.8**k + 1.8 * (1 - 0.8**k) for k in range(1, 7)]
    assert confidences == pytest.approx([1 / (1 + math.exp(each)) for each in odds])
    assert oks == [confidence >= 0.8 for confidence in confidences]
    assert oks == [True] * 2 + [False] * 4


def test_the_whole_frame_is_searched_after_three_frames_without_the_object(tracker):
    results = [tracker.update(frame(FAR_AWAY)) for _ in range(8)]
    assert results[:5] == [(True, START)] * 2 + [(False, START)] * 3
    assert results[5:] == [(True, FAR_AWAY)] * 3


def test_an_object_that_returns_in_time_is_not_searched_elsewhere(tracker):
    both = frame(START)
    x, y, w, h = FAR_AWAY
    both[y : y + h, x : x + w] = 200, 40, 40
    pictures = [frame(None)] * 5 + [both] * 3
    assert [tracker.update(picture)[1] for picture in pictures] == [START] * 8


@pytest.mark.parametrize(
    ("shown", "confidence", "ok"), [("-+--", 0.789, False), ("--+-", 0.818, True)]
)
def test_confidences_close_to_the_threshold_are_on_their_side_of_it(tracker, shown, confidence, ok):
    """A frame with the object has log odds of -4, one without it 1.8; the threshold is 0.8."""
    results = [tracker.update(frame(START if each == "+" else None))[0] for each in shown]
    assert tracker.confidence == pytest.approx(confidence, abs=1e-3)
    assert results == [True] * 3 + [ok]


@pytest.mark.parametrize(("present_from", "ok"), [(0.5, True), (1.5, False)])
def test_benchmarks_can_change_a_setting_and_read_the_evidence(present_from, ok):
    cells = _kernel.ColourCells((16.0, 16.0, 16.0))
    engine = _kernel.ColourTracker(cells, True, {"present_from": present_from})
    engine.init(frame(START), START, None)
    assert engine.update(frame(START)) == (ok, START)
    likeness, contrast, peak = engine.signals()
    assert (likeness, contrast) == (pytest.approx(1.0), 1.0)
    assert 0 < peak <= 1
    engine.update(frame(None))
    assert engine.signals() == [0.0, 0.0, 0.0]
