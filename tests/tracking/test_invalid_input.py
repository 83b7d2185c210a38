"""Invalid frames, windows and options of a tracker raise errors that state the problem."""

from __future__ import annotations

import numpy as np
import pytest
from tests.tracking.scenes import scene

from meanshiftpp import Tracker
from meanshiftpp.errors import InvalidInputError

FRAME = scene(60, 50)
BAD_FRAMES = {
    "grey": (FRAME[..., 0], r"\(height, width, 3\), got \(200, 240\); .*grey"),
    "one channel": (FRAME[..., :1], r"got \(200, 240, 1\); .*grey"),
    "four channels": (np.zeros((4, 4, 4), np.uint8), r"got \(4, 4, 4\)$"),
    "one dimension": (np.zeros(4, np.uint8), r"got \(4,\)$"),
    "four dimensions": (np.zeros((4, 4, 1, 1), np.uint8), r"got \(4, 4, 1, 1\)$"),
    "empty": (np.zeros((0, 4, 3), np.uint8), r"got \(0, 4, 3\)"),
    "float": (FRAME / 255.0, "uint8.*float64"),
    "16 bits": (FRAME.astype(np.uint16), "uint8.*uint16"),
    "nothing": (None, "uint8.*object"),
}


class OnGpu:
    """A stand-in for a CuPy array: it has the module, and raises on conversion to NumPy."""

    __module__ = "cupy"

    def __array__(self, *_: object, **__: object) -> None:
        raise TypeError("Implicit conversion to a NumPy array is not allowed.")


BAD_FRAMES["on a GPU"] = (OnGpu(), r"on a GPU.*frame\.get\(\)")


@pytest.mark.parametrize("name", BAD_FRAMES)
def test_invalid_frames_raise(name):
    bad, message = BAD_FRAMES[name]
    tracker = Tracker()
    for call in (tracker.init, tracker.clusters):
        with pytest.raises(InvalidInputError, match=message):
            call(bad, (0, 0, 1, 1))
    tracker.init(FRAME, (60, 50, 30, 24))
    with pytest.raises(InvalidInputError, match=message):
        tracker.update(bad)
    assert tracker.update(scene(61, 50))[0], "an invalid frame must not change the tracker"


@pytest.mark.parametrize(
    ("window", "message"),
    [
        ((240, 0, 10, 10), "inside the frame of 240x200"),
        ((-10, 0, 10, 10), "inside the frame"),
        ((0, -10, 10, 10), "inside the frame"),
        ((0, 200, 10, 10), "inside the frame"),
        ((10, 10, 0, 10), "at least 1 pixel"),
        ((10, 10, 10, -3), "at least 1 pixel"),
        ((10, 10, 0.4, 10), "at least 1 pixel"),
        ((10, 10, 10), "four numbers"),
        ((10, 10, 10, 10, 10), "four numbers"),
        ((10, 10, 10, float("nan")), "four numbers"),
        ((float("inf"), 10, 10, 10), "four numbers"),
        ("window", "four numbers"),
        (None, "four numbers"),
        (7, "four numbers"),
    ],
)
def test_invalid_windows_raise(window, message):
    tracker = Tracker()
    for call in (tracker.init, tracker.clusters):
        with pytest.raises(InvalidInputError, match=message):
            call(FRAME, window)


@pytest.mark.parametrize(
    ("window", "expected"),
    [
        (np.array([-5.4, 190.2, 20.1, 30.0]), (0, 190, 15, 10)),
        ((230, -20, 20, 30), (230, 0, 10, 10)),
        ((239, 199, 1, 1), (239, 199, 1, 1)),
        ((-9, -9, 10, 10), (0, 0, 1, 1)),
        ((-9, -9, 999, 999), (0, 0, 240, 200)),
        ((7, 8, 0.6, 1.4), (7, 8, 1, 1)),
    ],
)
def test_a_window_is_rounded_and_cut_to_the_frame(window, expected):
    tracker = Tracker()
    tracker.init(FRAME, window)
    assert tracker.window == expected


@pytest.mark.parametrize("name", ["window", "confidence", "score", "mask", "cells"])
def test_results_before_init_raise(name):
    with pytest.raises(InvalidInputError, match="call init"):
        getattr(Tracker(), name)


def test_update_before_init_raises():
    with pytest.raises(InvalidInputError, match="call init"):
        Tracker().update(FRAME)


def test_a_frame_of_another_size_raises():
    tracker = Tracker()
    tracker.init(FRAME, (60, 50, 30, 24))
    with pytest.raises(InvalidInputError, match="240x200, got 240x199"):
        tracker.update(FRAME[:-1])


@pytest.mark.parametrize("adapt", ["robust", "paper"])
@pytest.mark.parametrize(
    ("clusters", "message"),
    [
        ([], "at least one"),
        ([0, 9999], "from 0 to"),
        ([-1], "from 0 to"),
        ([-1, 0], "from 0 to"),
        ([0.5], "whole numbers"),
    ],
)
def test_invalid_clusters_raise(adapt, clusters, message):
    with pytest.raises(InvalidInputError, match=message):
        Tracker(adapt=adapt).init(FRAME, (60, 50, 30, 24), clusters)


@pytest.mark.parametrize("bandwidth", [0, -1, float("nan"), [8, 8], "wide"])
def test_invalid_bandwidths_raise(bandwidth):
    with pytest.raises(InvalidInputError, match="bandwidth"):
        Tracker(bandwidth)


def test_the_first_number_that_is_not_a_cluster_raises():
    tracker = Tracker()
    n = len(tracker.clusters(FRAME, (60, 50, 30, 24)))
    tracker.init(FRAME, (60, 50, 30, 24), [n - 1])
    with pytest.raises(InvalidInputError, match=f"whole numbers from 0 to {n - 1}"):
        tracker.init(FRAME, (60, 50, 30, 24), [n])


def test_too_many_cells_raise():
    with pytest.raises(InvalidInputError, match=r"colour cells, more than 20000; .*larger"):
        Tracker(0.5).init(FRAME, (60, 50, 30, 24))


def test_an_unknown_adapt_raises():
    with pytest.raises(InvalidInputError, match='"robust", "paper" or None'):
        Tracker(adapt="literal")


@pytest.mark.parametrize("bandwidth", [1e-30, (20, 1e-30, 8)])
def test_a_tiny_bandwidth_raises(bandwidth):
    with pytest.raises(InvalidInputError, match="at least 1e-06"):
        Tracker(bandwidth)
    Tracker(1e-6)


@pytest.mark.parametrize(
    ("call", "parameter", "got"),
    [
        (lambda: Tracker(1e-30), "bandwidth", 1e-30),
        (lambda: Tracker(adapt="literal"), "adapt", "literal"),
        (lambda: Tracker().init(FRAME, (1, 2, 0, 4)), "window", (1, 2, 0, 4)),
        (lambda: Tracker().init(FRAME, (60, 50, 30, 24), [-1]), "clusters", [-1]),
    ],
)
def test_errors_carry_the_parameter(call, parameter, got):
    with pytest.raises(InvalidInputError) as caught:
        call()
    assert (caught.value.parameter, caught.value.got) == (parameter, got)
