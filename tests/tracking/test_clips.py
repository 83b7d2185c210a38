"""The clips: reproducible, with the promised difficulties, and how trackers perform on them."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from meanshiftpp import Tracker
from meanshiftpp.tracking.clips import CLIPS, FRAMES, HEIGHT, WIDTH
from meanshiftpp.tracking.windows import overlap


@cache
def drawn(name: str, seed: int = 0):
    return list(CLIPS[name](seed))


def truth(name: str, seed: int = 0):
    return [window for _, window in drawn(name, seed)]


@pytest.mark.parametrize("name", CLIPS)
def test_a_seed_always_draws_the_same_clip(name):
    again = CLIPS[name]()
    for frame, window in drawn(name)[:5]:
        other_frame, other_window = next(again)
        assert np.array_equal(frame, other_frame)
        assert window == other_window
    assert not np.array_equal(drawn(name)[0][0], next(CLIPS[name](1))[0])


@pytest.mark.parametrize("name", CLIPS)
def test_frames_and_windows_are_valid(name):
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
def test_the_window_surrounds_the_ball(name):
    """The middle of the window is redder than the frame as a whole."""
    for frame, window in drawn(name)[:20]:
        x, y, w, h = window
        inner = frame[y + h // 4 : y + 3 * h // 4, x + w // 4 : x + 3 * w // 4].astype(float)
        redness = [np.mean(part[..., 0] - part[..., 2]) for part in (inner, frame.astype(float))]
        assert redness[0] > redness[1] + 30


def intervals(flags: list[bool]) -> list[tuple[int, int]]:
    """Return the intervals of True: first frame, and the one after the last."""
    edges = np.flatnonzero(np.diff([False, *flags, False]))
    return list(zip(edges[::2].tolist(), edges[1::2].tolist()))


def hidden(name: str, seed: int = 0) -> list[tuple[int, int]]:
    return intervals([window is None for window in truth(name, seed)])


def test_each_clip_has_its_difficulty():
    assert hidden("light") == hidden("lookalike") == []
    assert len(hidden("occlusion")) == 2
    assert len(hidden("leaving")) == 1
    first, last = (drawn("light")[i][0].reshape(-1, 3).mean(axis=0) for i in (0, -1))
    assert (last < 0.65 * first).all()


# -- trackers --------------------------------------------------------------------------------------

SEEDS = (0, 1, 2)


@cache
def tracked(name: str, seed: int, adapt: str | None = "robust"):
    """Return `ok`, the window and its overlap with the truth, for every frame."""
    tracker = Tracker(adapt=adapt)
    tracker.init(*drawn(name, seed)[0])
    results = [(True, tracker.window)]
    results += [tracker.update(frame) for frame, _ in drawn(name, seed)[1:]]
    overlaps = [
        None if true_window is None else overlap(window, true_window)
        for (_, window), true_window in zip(results, truth(name, seed))
    ]
    return [ok for ok, _ in results], [window for _, window in results], overlaps


@pytest.mark.parametrize("seed", SEEDS)
def test_changing_light_is_tracked_and_defeats_fixed_colours(seed):
    ok, _, overlaps = tracked("light", seed)
    assert all(ok)
    assert min(overlaps) > 0.4
    assert max(tracked("light", seed, None)[2][-15:]) < 0.1


@pytest.mark.parametrize("seed", SEEDS)
def test_an_object_that_leaves_is_lost_and_found_again(seed):
    ok, _, overlaps = tracked("leaving", seed)
    ((gone, back),) = hidden("leaving", seed)
    assert all(ok[: gone - 5])
    assert not any(ok[gone + 5 : back])
    assert all(ok[back + 5 :])
    assert min(overlaps[: gone - 5] + overlaps[back + 5 :]) > 0.4


@pytest.mark.parametrize("seed", SEEDS)
def test_a_lookalike_is_not_tracked(seed):
    ok, windows, overlaps = tracked("lookalike", seed)
    assert all(ok)
    assert min(overlaps) > 0.5
    centres = np.array([(x + w / 2, y + h / 2) for x, y, w, h in windows])
    assert np.abs(np.diff(centres, axis=0)).max() < 15  # no jump to the other ball


@pytest.mark.parametrize("seed", SEEDS)
def test_a_hidden_object_is_found_again(seed):
    ok, _, overlaps = tracked("occlusion", seed)
    (_, first), (second, last) = hidden("occlusion", seed)
    assert all(ok[first + 10 : second - 5])
    assert all(ok[last + 10 :])
    assert min(overlaps[first + 10 : second - 5] + overlaps[last + 10 :]) > 0.4


@pytest.mark.parametrize("adapt", ["robust", "paper", None])
@pytest.mark.parametrize("name", CLIPS)
def test_windows_are_not_empty_and_lie_in_the_frame(name, adapt):
    for x, y, w, h in tracked(name, 0, adapt)[1]:
        assert w > 0
        assert h > 0
        assert 0 <= x <= WIDTH - w
        assert 0 <= y <= HEIGHT - h
