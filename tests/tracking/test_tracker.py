"""The trackers: Algorithm 3 against its reference, and the laws of the robust tracker."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.helpers import fit_labels
from tests.tracking.scenes import BLUE, RED, noise, scene

from meanshiftpp import Tracker, _kernel, reference


def track(tracker: Tracker, frames, window, clusters=None) -> list[tuple]:
    tracker.init(frames[0], window, clusters)
    return [tracker.update(frame) for frame in frames[1:]]


def assert_valid(window, frame: np.ndarray) -> None:
    x, y, w, h = window
    assert all(type(value) is int for value in window)
    assert w >= 1
    assert h >= 1
    assert x >= 0
    assert y >= 0
    assert x + w <= frame.shape[1]
    assert y + h <= frame.shape[0]


# -- Algorithm 3 -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Video:
    frames: np.ndarray
    window: tuple[int, int, int, int]
    bandwidth: float | list[float]


@st.composite
def videos(draw: st.DrawFn) -> Video:
    """Draw short videos of few colours, many of them in neighbouring cells, with a window."""
    height, width = draw(st.integers(1, 12)), draw(st.integers(1, 14))
    x, y = draw(st.integers(0, width - 1)), draw(st.integers(0, height - 1))
    window = (x, y, draw(st.integers(1, width - x)), draw(st.integers(1, height - y)))
    each = st.sampled_from((0.3, 1.0, 2.5, 16.0, 49.0, 300.0))
    bandwidth = draw(each | st.lists(each, min_size=3, max_size=3))
    shape = (draw(st.integers(2, 4)), height, width, 3)
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    levels = random.choice(256, draw(st.integers(1, 4)), replace=False)
    frames = random.choice(levels, shape) + random.integers(0, draw(st.integers(1, 20)), shape)
    return Video(frames.clip(0, 255).astype(np.uint8), window, bandwidth)


@given(video=videos(), adapt=st.sampled_from(("paper", None)), data=st.data())
def test_algorithm_3_equals_the_reference(video, adapt, data):
    tracker = Tracker(video.bandwidth, adapt=adapt)
    n = len(tracker.clusters(video.frames[0], video.window))
    chosen = data.draw(st.lists(st.integers(0, n - 1), min_size=1, max_size=3))
    expected = reference.track(
        video.frames, video.window, video.bandwidth, chosen, adapt=adapt == "paper"
    )
    assert track(tracker, video.frames, video.window, chosen) == expected
    for _, window in expected:
        assert_valid(window, video.frames[0])


def test_fixed_cells_are_the_cells_of_the_chosen_clusters():
    frame = scene(60, 50)
    tracker = Tracker(32, adapt=None)
    tracker.init(frame, (55, 45, 40, 34))
    red = frame[50:74, 60:90].reshape(-1, 3)
    assert tracker.cells.tolist() == np.unique(red // 32, axis=0).tolist()
    assert tracker.cells.dtype == np.int64


@pytest.mark.parametrize("distance", [-2, -1, 1, 2])
@pytest.mark.parametrize("channel", [0, 1, 2])
def test_the_update_of_algorithm_3_adds_adjacent_cells_on_both_sides(channel, distance):
    """A pixel enters the cells if its cell is adjacent to them, below or above, in any channel."""
    object_cell = np.array([5, 6, 7])
    other_cell = object_cell.copy()
    other_cell[channel] += distance
    first = np.full((20, 20, 3), 250, np.uint8)
    first[8:12, 8:12] = object_cell * 16 + 8
    second = first.copy()
    second[9, 9] = other_cell * 16 + 8
    tracker = Tracker(16, adapt="paper")
    ((ok, _),) = track(tracker, [first, second], (8, 8, 4, 4), [0])
    assert ok
    expected = {tuple(object_cell.tolist())}
    if abs(distance) == 1:
        expected.add(tuple(other_cell.tolist()))
    assert set(map(tuple, tracker.cells.tolist())) == expected


def test_the_mask_of_algorithm_3_is_its_set_r():
    frames = [scene(60, 50), scene(64, 47, seed=1)]
    tracker = Tracker(adapt="paper")
    ((ok, (x, y, w, h)),) = track(tracker, frames, (55, 45, 40, 34))
    assert ok
    expected = np.zeros(frames[1].shape[:2], bool)
    tracked_cells = set(map(tuple, tracker.cells.tolist()))
    cells = frames[1] // 16
    for j in range(y, y + h):
        for i in range(x, x + w):
            expected[j, i] = tuple(cells[j, i].tolist()) in tracked_cells
    assert tracker.mask.dtype == np.bool_
    np.testing.assert_array_equal(tracker.mask, expected)


def test_algorithm_3_waits_for_a_lost_object_to_return():
    frames = [scene(60, 50), noise((200, 240), seed=1), scene(66, 54, seed=2)]
    tracker = Tracker(32, adapt=None)
    gone, back = track(tracker, frames, (60, 50, 30, 24))
    assert gone == (False, (60, 50, 30, 24))
    # The window stops a pixel short: the mean of the pixels that it then holds is at its centre.
    assert back == (True, (65, 53, 30, 24))


# -- laws of the default ---------------------------------------------------------------------------


PATH = [(80, 70), (84, 72), (91, 71), (97, 75), (99, 80), (96, 84)]


@pytest.mark.parametrize("scale", [True, False])
@settings(max_examples=25)
@given(dx=st.integers(-9, 9), dy=st.integers(-9, 9))
def test_moving_the_scene_by_whole_pixels_moves_the_window_equally(scale, dx, dy):
    ground = noise((260, 300))

    def frames(ox: int, oy: int) -> list[np.ndarray]:
        large = [ground.copy() for _ in PATH]
        for frame, (x, y) in zip(large, PATH, strict=True):
            frame[y + 20 : y + 45, x + 20 : x + 51] = scene(0, 0, 31, 25)[:25, :31]
        return [frame[20 - oy : 220 - oy, 20 - ox : 260 - ox] for frame in large]

    here = track(Tracker(scale=scale), frames(0, 0), (*PATH[0], 31, 25))
    there = track(Tracker(scale=scale), frames(dx, dy), (PATH[0][0] + dx, PATH[0][1] + dy, 31, 25))
    assert there == [(ok, (x + dx, y + dy, w, h)) for ok, (x, y, w, h) in here]


def test_distant_pixels_have_no_influence():
    frames = [scene(x, y) for x, y in PATH]
    window = (*PATH[0], 30, 24)
    plain = track(Tracker(), frames, window)
    for frame in frames:
        frame[170:], frame[:, 200:] = 255, RED
    assert track(Tracker(), frames, window) == plain


VIEWS = {
    "bgr": lambda frame: frame[..., ::-1].copy()[..., ::-1],
    "planes": lambda frame: np.moveaxis(np.ascontiguousarray(np.moveaxis(frame, 2, 0)), 0, 2),
    "upside down": lambda frame: frame[::-1, ::-1].copy()[::-1, ::-1],
    "every other": lambda frame: np.repeat(np.repeat(frame, 2, 0), 2, 1)[::2, ::2],
    "one of four": lambda frame: np.dstack([frame, frame[..., :1]])[..., :3],
    "fortran": np.asfortranarray,
}


@pytest.mark.parametrize("adapt", ["robust", "paper", None])
@pytest.mark.parametrize("view", VIEWS)
def test_strides_have_no_influence(view, adapt):
    frames = [scene(x, y) for x, y in PATH]
    views = [VIEWS[view](frame) for frame in frames]
    views[1].flags.writeable = False
    assert views[0].strides != frames[0].strides
    one, other = Tracker(adapt=adapt), Tracker(adapt=adapt)
    window = (*PATH[0], 30, 24)
    assert track(other, views, window) == track(one, frames, window)
    np.testing.assert_array_equal(other.mask, one.mask)
    np.testing.assert_array_equal(other.cells, one.cells)
    assert other.confidence == one.confidence


@pytest.mark.parametrize("adapt", ["robust", "paper", None])
def test_a_restarted_tracker_has_the_same_results(adapt):
    frames = [scene(x, y, seed=k) for k, (x, y) in enumerate(PATH)]
    tracker = Tracker(adapt=adapt)
    first = track(tracker, frames, (*PATH[0], 30, 24))
    track(tracker, [scene(20, 20, colour=BLUE), noise((200, 240))] * 4, (20, 20, 30, 24))
    assert track(tracker, frames, (*PATH[0], 30, 24)) == first


@settings(max_examples=60)
@given(
    size=st.tuples(st.integers(1, 40), st.integers(1, 50)),
    place=st.tuples(*[st.floats(0, 1)] * 4),
    kinds=st.lists(st.sampled_from(("black", "white", "noise", "same", "half")), max_size=12),
    adapt=st.sampled_from(("robust", "paper", None)),
    scale=st.booleans(),
    seed=st.integers(0, 99),
)
def test_the_window_is_always_valid(size, place, kinds, adapt, scale, seed):
    first = noise(size, 0, 255, seed)
    half = first.copy()
    half[: size[0] // 2] = 0
    pictures = {"black": first * 0, "white": first * 0 + 255, "same": first, "half": half}
    x, y = int(place[0] * (size[1] - 1)), int(place[1] * (size[0] - 1))
    window = (x, y, 1 + int(place[2] * (size[1] - 1 - x)), 1 + int(place[3] * (size[0] - 1 - y)))
    tracker = Tracker(adapt=adapt, scale=scale)
    tracker.init(first, window)
    assert tracker.window == window
    assert tracker.confidence > 0.98
    for k, kind in enumerate(kinds):
        frame = noise(size, 0, 255, seed + k) if kind == "noise" else pictures[kind]
        ok, window = tracker.update(frame)
        assert type(ok) is bool
        assert_valid(window, frame)
        assert tracker.window == window
        assert 0 <= tracker.confidence <= 1
        assert tracker.score == tracker.confidence
        rows, columns = np.nonzero(tracker.mask)
        x, y, w, h = window
        assert ((rows >= y) & (rows < y + h) & (columns >= x) & (columns < x + w)).all()


# -- purpose of the default ------------------------------------------------------------------------


def test_the_default_tracks_and_masks_the_object():
    frames = [scene(x, y, seed=k) for k, (x, y) in enumerate(PATH)]
    tracker = Tracker()
    for (x, y), (ok, window) in zip(
        PATH[1:], track(tracker, frames, (*PATH[0], 30, 24)), strict=True
    ):
        assert ok
        assert max(np.abs(np.subtract(window, (x, y, 30, 24)))) <= 2
    x, y = PATH[-1]
    truth = np.zeros((200, 240), bool)
    truth[y : y + 24, x : x + 30] = True
    assert (tracker.mask & truth).sum() / (tracker.mask | truth).sum() > 0.9


def test_every_pixel_of_the_smallest_windows_counts():
    """Four pixels lie at the same distance from the centre, so all of their colours are tracked."""
    colours = [(200, 40, 40), (40, 200, 40), (40, 40, 200), (200, 200, 40)]
    frame = np.full((40, 50, 3), 90, np.uint8)
    frame[20:22, 30:32] = np.reshape(colours, (2, 2, 3))
    tracker = Tracker()
    tracker.init(frame, (30, 20, 2, 2))
    alone = []
    for colour in colours:
        plain = np.full((40, 50, 3), 90, np.uint8)
        plain[20:22, 30:32] = colour
        one = Tracker()
        one.init(plain, (30, 20, 2, 2))
        alone += one.cells.tolist()
    assert sorted(tracker.cells.tolist()) == sorted(alone)


def test_the_mask_has_no_pixel_of_the_surroundings():
    """A disc leaves the corners of its window to the ground, whose weight is negative."""

    def disc(x: int) -> tuple[np.ndarray, np.ndarray]:
        rows, columns = np.ogrid[:100, :140]
        distance = np.hypot(rows - 50, columns - x)
        return np.where((distance <= 14)[..., None], RED, (90, 100, 110)).astype(np.uint8), distance

    tracker = Tracker()
    tracker.init(disc(60)[0], (45, 35, 30, 30))
    for x in (62, 65, 68):
        frame, distance = disc(x)
        assert tracker.update(frame)[0]
        assert tracker.mask[distance <= 11].all()
        assert not tracker.mask[distance > 17].any()  # cells also hold edges, up to 3 pixels away


@pytest.mark.parametrize("factor", [0.985, 1.015])
def test_the_window_grows_and_shrinks_with_the_object(factor):
    sizes = [(round(60 * factor**k), round(48 * factor**k)) for k in range(40)]
    frames = [scene(120 - w // 2, 100 - h // 2, w, h, seed=k) for k, (w, h) in enumerate(sizes)]
    window = (90, 76, 60, 48)
    _, (_, _, w, h) = track(Tracker(), frames, window)[-1]
    assert w == pytest.approx(sizes[-1][0], rel=0.15)
    assert h == pytest.approx(sizes[-1][1], rel=0.15)
    _, (_, _, w, h) = track(Tracker(scale=False), frames, window)[-1]
    assert (w, h) == (60, 48)


@pytest.mark.parametrize("place", [(20, 20), (190, 160), (40, 150)])
def test_a_lost_object_is_reported_and_found_elsewhere(place):
    there = [scene(x, y, seed=k) for k, (x, y) in enumerate(PATH)]
    away = [noise((200, 240), seed=50 + k) for k in range(20)]
    back = [scene(*place, seed=80 + k) for k in range(10)]
    results = track(Tracker(), there + away + back, (*PATH[0], 30, 24))[len(there) - 1 :]
    oks = [ok for ok, _ in results]
    assert not any(oks[5 : len(away)])
    assert all(oks[len(away) + 5 :])
    _, window = results[-1]
    assert max(np.abs(np.subtract(window, (*place, 30, 24)))) <= 3


def test_another_object_is_not_tracked():
    there = [scene(x, y, seed=k) for k, (x, y) in enumerate(PATH)]
    other = [scene(170, 150, seed=50 + k, colour=BLUE) for k in range(30)]
    results = track(Tracker(), there + other, (*PATH[0], 30, 24))[len(there) - 1 :]
    assert not any(ok for ok, _ in results[5:])
    assert all(x < 140 and y < 130 for _, (x, y, _, _) in results)


# -- clusters --------------------------------------------------------------------------------------


def test_clusters_partition_the_window():
    frame = scene(60, 50)
    for adapt in ("robust", "paper"):
        clusters = Tracker(adapt=adapt).clusters(frame, (55, 45, 40, 34))
        shares = [cluster.share for cluster in clusters]
        assert shares == sorted(shares, reverse=True)
        assert sum(shares) == pytest.approx(1)
        together = sum(cluster.mask.astype(int) for cluster in clusters)
        expected = np.zeros((200, 240), int)
        expected[45:79, 55:95] = 1
        np.testing.assert_array_equal(together, expected)
        for cluster in clusters:
            mean = frame[cluster.mask].mean(axis=0)
            np.testing.assert_allclose(cluster.color, mean, atol=0.5)


@pytest.mark.parametrize(
    ("adapt", "default", "space"), [("robust", (20, 8, 8), "lab"), (None, 16, "rgb")]
)
def test_clusters_are_those_of_the_colours_in_cells_of_the_default_size(adapt, default, space):
    frame = noise((40, 50), 0, 256)
    colours = _kernel.convert_colours(frame[10:30, 5:45].reshape(-1, 3), space, 255.0, 1)
    _, labels = fit_labels(colours, default)
    for bandwidth in (None, default):
        clusters = Tracker(bandwidth, adapt=adapt).clusters(frame, (5, 10, 40, 20))
        assert len(clusters) == labels.max() + 1
        for k, cluster in enumerate(clusters):
            expected = np.zeros((40, 50), bool)
            expected[10:30, 5:45] = labels.reshape(20, 40) == k
            np.testing.assert_array_equal(cluster.mask, expected)


def test_each_channel_has_its_bandwidth():
    frame = np.full((40, 50, 3), 5, np.uint8)
    frame[10:20, 10:20] = 200, 90, 130
    tracker = Tracker((10, 20, 40), adapt=None)
    tracker.init(frame, (10, 10, 10, 10))
    assert tracker.cells.tolist() == [[20, 4, 3]]


@pytest.mark.parametrize("adapt", ["robust", None])
@pytest.mark.parametrize("colour", [RED, BLUE])
def test_the_chosen_clusters_are_tracked(adapt, colour):
    """Two objects move apart; the tracker follows the one whose cluster was chosen."""

    def frame(k: int) -> np.ndarray:
        picture = scene(100 - 4 * k, 80, 20, 30, seed=k)
        blue = scene(120 + 4 * k, 80, 20, 30, seed=k, colour=BLUE)
        picture[80:110, 120 + 4 * k : 140 + 4 * k] = blue[80:110, 120 + 4 * k : 140 + 4 * k]
        return picture

    frames = [frame(k) for k in range(12)]
    window = (100, 80, 40, 30)
    tracker = Tracker(60 if adapt is None else None, adapt=adapt)
    differences = [np.subtract(c.color, colour) for c in tracker.clusters(frames[0], window)]
    chosen = [k for k, difference in enumerate(differences) if np.abs(difference).max() < 60]
    assert chosen
    _, (x, _, w, _) = track(tracker, frames, window, chosen)[-1]
    centre = 110 - 4 * 11 if colour == RED else 130 + 4 * 11
    assert abs(x + w / 2 - centre) <= 12


def test_algorithm_3_tracks_distinctive_clusters_by_default():
    frame = scene(60, 50)
    tracker = Tracker(60, adapt=None)
    tracker.init(frame, (50, 40, 50, 44))
    truth = np.zeros((200, 240), bool)
    truth[50:74, 60:90] = True
    np.testing.assert_array_equal(tracker.mask, truth)


def test_at_least_one_cluster_is_tracked():
    tracker = Tracker(adapt=None)
    tracker.init(np.full((20, 20, 3), 7, np.uint8), (5, 5, 4, 4))
    assert tracker.mask.sum() == 16


@pytest.mark.parametrize(("x", "y"), [(20, 30), (0, 0), (50, 40)])  # in the middle, in two corners
def test_a_colour_as_frequent_around_the_window_as_inside_is_not_tracked(x, y):
    """The surroundings reach half the window's size beyond it, but not beyond the frame."""
    frame = np.full((50, 60, 3), BLUE, np.uint8)
    around = frame[max(y - 5, 0) : y + 15, max(x - 5, 0) : x + 15]
    around[:] = 90
    ring = [(i, j) for i, j in np.ndindex(50, 60) if (frame[i, j] == 90).all()]
    ring = [(i, j) for i, j in ring if not (y <= i < y + 10 and x <= j < x + 10)]
    frame[y : y + 10, x : x + 5], frame[y : y + 10, x + 5 : x + 10] = RED, BLUE
    half = len(ring) / 2
    for n, tracked in ((math.ceil(half) - 1, True), (math.ceil(half), False)):
        for i, j in ring[len(ring) - n :]:
            frame[i, j] = BLUE
        tracker = Tracker(adapt=None)
        tracker.init(frame, (x, y, 10, 10))
        assert tracker.mask[y : y + 10, x : x + 5].all()
        assert tracker.mask[y : y + 10, x + 5 : x + 10].all() == tracked


def test_a_single_pixel_around_the_window_counts():
    frame = np.array([[RED, RED, BLUE, RED]], np.uint8)
    tracker = Tracker(adapt=None)
    tracker.init(frame, (0, 0, 3, 1))
    assert tracker.mask.tolist() == [[False, False, True, False]]


def test_the_surroundings_of_the_smallest_windows_are_a_pixel_wide():
    frame = np.array([[RED, BLUE, RED, BLUE, BLUE, RED]], np.uint8)
    tracker = Tracker(adapt=None)
    tracker.init(frame, (2, 0, 2, 1))
    assert tracker.mask.tolist() == [[False, False, True, False, False, False]]


def test_all_clusters_of_a_window_without_surroundings_are_tracked():
    tracker = Tracker(adapt=None)
    tracker.init(np.array([[RED, BLUE, BLUE]], np.uint8), (0, 0, 3, 1))
    assert tracker.mask.all()
