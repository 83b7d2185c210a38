"""The clips: always the same, what they promise to show, and how trackers fare in them."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from meanshiftpp.clips import CLIPS, FRAMES, HEIGHT, WIDTH


@cache
def drawn(name: str, seed: int = 0):
    return list(CLIPS[name](seed))


def truth(name: str):
    return [window for _, window in drawn(name)]


@pytest.mark.parametrize("name", CLIPS)
def test_a_seed_draws_one_clip(name):
    again = CLIPS[name]()
    for frame, window in drawn(name)[:5]:
        same, there = next(again)
        assert np.array_equal(frame, same)
        assert window == there
    assert not np.array_equal(drawn(name)[0][0], next(CLIPS[name](1))[0])


@pytest.mark.parametrize("name", CLIPS)
def test_frames_and_windows_are_what_a_tracker_takes(name):
    assert len(drawn(name)) == FRAMES
    for frame, window in drawn(name):
        assert frame.shape == (HEIGHT, WIDTH, 3)
        assert frame.dtype == np.uint8
        if window is not None:
            x, y, w, h = window
            assert all(isinstance(side, int) for side in window)
            assert w > 0
            assert h > 0
            assert 0 <= x <= WIDTH - w
            assert 0 <= y <= HEIGHT - h
    assert truth(name)[0] is not None


@pytest.mark.parametrize("name", CLIPS)
def test_the_window_is_where_the_ball_is(name):
    """In the middle of the window it is as red as the ground never is on the whole."""
    for frame, window in drawn(name)[:20]:
        x, y, w, h = window
        inner = frame[y + h // 4 : y + 3 * h // 4, x + w // 4 : x + 3 * w // 4].astype(float)
        redness = [np.mean(part[..., 0] - part[..., 2]) for part in (inner, frame.astype(float))]
        assert redness[0] > redness[1] + 30


def runs(flags: list[bool]) -> list[tuple[int, int]]:
    """The stretches of True: first frame, and the one after the last."""
    edges = np.flatnonzero(np.diff([False, *flags, False]))
    return list(zip(edges[::2].tolist(), edges[1::2].tolist()))


def hidden(name: str) -> list[tuple[int, int]]:
    return runs([window is None for window in truth(name)])


def test_what_happens_in_each():
    assert hidden("light") == hidden("lookalike") == []
    assert len(hidden("occlusion")) == 2
    assert len(hidden("leaving")) == 1
    first, last = (drawn("light")[i][0].reshape(-1, 3).mean(axis=0) for i in (0, -1))
    assert (last < 0.65 * first).all()
