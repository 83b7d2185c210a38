"""The clips: always the same, what they promise to show, and how trackers fare in them."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from meanshiftpp import Tracker
from meanshiftpp.tracking.clips import CLIPS, FRAMES, HEIGHT, WIDTH, overlap


@cache
def drawn(name: str, seed: int = 0):
    return list(CLIPS[name](seed))


def truth(name: str, seed: int = 0):
    return [window for _, window in drawn(name, seed)]


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


def hidden(name: str, seed: int = 0) -> list[tuple[int, int]]:
    return runs([window is None for window in truth(name, seed)])


def test_what_happens_in_each():
    assert hidden("light") == hidden("lookalike") == []
    assert len(hidden("occlusion")) == 2
    assert len(hidden("leaving")) == 1
    first, last = (drawn("light")[i][0].reshape(-1, 3).mean(axis=0) for i in (0, -1))
    assert (last < 0.65 * first).all()


def test_overlap():
    assert overlap((0, 0, 4, 4), (0, 0, 4, 4)) == 1
    assert overlap((0, 0, 4, 4), (4, 0, 4, 4)) == 0
    assert overlap((0, 0, 4, 4), (9, 9, 1, 1)) == 0
    assert overlap((0, 0, 4, 4), (2, 2, 4, 4)) == 4 / 28


# -- trackers --------------------------------------------------------------------------------------

SEEDS = (0, 1, 2)


@cache
def followed(name: str, seed: int, adapt: str | None = "robust"):
    """What a tracker says in every frame, `ok` and window, and how well it overlaps the truth."""
    tracker = Tracker(adapt=adapt)
    tracker.init(*drawn(name, seed)[0])
    found = [(True, tracker.window), *(tracker.update(frame) for frame, _ in drawn(name, seed)[1:])]
    overlaps = [
        None if there is None else overlap(window, there)
        for (_, window), there in zip(found, truth(name, seed))
    ]
    return [ok for ok, _ in found], [window for _, window in found], overlaps


@pytest.mark.parametrize("seed", SEEDS)
def test_changing_light_is_followed_where_fixed_colours_are_not(seed):
    ok, _, overlaps = followed("light", seed)
    assert all(ok)
    assert min(overlaps) > 0.4
    assert max(followed("light", seed, None)[2][-15:]) < 0.1


@pytest.mark.parametrize("seed", SEEDS)
def test_what_leaves_is_lost_and_what_returns_is_found(seed):
    ok, _, overlaps = followed("leaving", seed)
    ((gone, back),) = hidden("leaving", seed)
    assert all(ok[: gone - 5])
    assert not any(ok[gone + 5 : back])
    assert all(ok[back + 5 :])
    assert min(overlaps[: gone - 5] + overlaps[back + 5 :]) > 0.4


@pytest.mark.parametrize("seed", SEEDS)
def test_a_look_alike_is_not_followed(seed):
    ok, windows, overlaps = followed("lookalike", seed)
    assert all(ok)
    assert min(overlaps) > 0.5
    centres = np.array([(x + w / 2, y + h / 2) for x, y, w, h in windows])
    assert np.abs(np.diff(centres, axis=0)).max() < 15  # it never jumps


@pytest.mark.parametrize("seed", SEEDS)
def test_what_a_post_hid_is_found_again(seed):
    ok, _, overlaps = followed("occlusion", seed)
    (_, first), (second, last) = hidden("occlusion", seed)
    assert all(ok[first + 10 : second - 5])
    assert all(ok[last + 10 :])
    assert min(overlaps[first + 10 : second - 5] + overlaps[last + 10 :]) > 0.4


@pytest.mark.parametrize("adapt", ["robust", "paper", None])
@pytest.mark.parametrize("name", CLIPS)
def test_windows_have_an_area_and_lie_in_the_frame(name, adapt):
    for x, y, w, h in followed(name, 0, adapt)[1]:
        assert w > 0
        assert h > 0
        assert 0 <= x <= WIDTH - w
        assert 0 <= y <= HEIGHT - h
