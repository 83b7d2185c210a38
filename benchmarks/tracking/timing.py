"""Times of updates: a window of 100 x 100 in frames of 640 x 480, in turns, on one thread.

Ours is also timed alone with a window of 200 x 200 in frames of 1920 x 1080.

The contenders take turns in blocks of frames, so that background load affects all of them alike
while each still processes the frames in order. Times are CPU times.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from time import process_time

import numpy as np
from rich.progress import Progress

from benchmarks.tracking.sequences import Frame
from benchmarks.tracking.trackers import MEAN_SHIFT, OURS, Contender, Window
from meanshiftpp.tracking.clips import light

SIDE, BLOCK, ROUNDS = 100, 17, 3
TIMED = (OURS.name, MEAN_SHIFT.name, "CSRT")


@dataclass
class Timings:
    """CPU seconds of an update of each contender in each block, in the order of the blocks."""

    seconds: dict[str, list[float]]
    side: float  # of our window at the end; the times are comparable only if it is near SIDE
    large: float  # our updates per second in frames of 1920 x 1080

    def per_second(self, name: str) -> float:
        return 1 / float(np.median(self.seconds[name]))

    def to_ours(self, name: str) -> float:
        """Return the median over the blocks of the ratio to our time."""
        return float(np.median(np.divide(self.seconds[name], self.seconds[OURS.name])))


def make_scene() -> tuple[list[Frame], Window]:
    """Draw a ball in changing light, twice as large as in the clip, and a window around it."""
    clip = list(light())
    x, y, w, h = clip[0][1]
    start = 2 * x + w - SIDE // 2, 2 * y + h - SIDE // 2, SIDE, SIDE
    return [frame.repeat(2, axis=0).repeat(2, axis=1) for frame, _ in clip], start


def measure_in_turns(trackers: Mapping[str, Contender], bar: Progress) -> Timings:
    """Let all contenders track the same frames, block by block."""
    frames, start = make_scene()
    timed = [each for name, each in trackers.items() if name in TIMED]
    seconds: dict[str, list[float]] = {each.name: [] for each in timed}
    blocks = range(1, len(frames), BLOCK)
    task = bar.add_task("times", total=ROUNDS * len(blocks) * len(timed))
    inputs = {each.name: [each.convert(frame) for frame in frames] for each in timed}
    for _ in range(ROUNDS):
        running = [(each, each.make()) for each in timed]
        for each, tracker in running:
            tracker.init(inputs[each.name][0], start)
        for number, first in enumerate(blocks):
            for turn in np.roll(len(running) - 1 - np.arange(len(running)), number):
                each, tracker = running[turn]
                block = inputs[each.name][first : first + BLOCK]
                begin = process_time()
                for frame in block:
                    _, window = tracker.update(frame)
                seconds[each.name].append((process_time() - begin) / len(block))
                if each.own:
                    side = float(np.sqrt(window[2] * window[3]))
                bar.advance(task)
    return Timings(seconds, side, measure_large())


def make_large_scene() -> tuple[list[Frame], Window]:
    """Draw the scene twice as large, in the middle of frames of 1920 x 1080."""
    frames, (x, y, w, h) = make_scene()
    margin = ((60, 60), (320, 320), (0, 0))
    large = [np.pad(each.repeat(2, axis=0).repeat(2, axis=1), margin, "edge") for each in frames]
    return large, (2 * x + 320, 2 * y + 60, 2 * w, 2 * h)


def measure_large() -> float:
    """Return our updates per second in large frames, the median of the rounds."""
    frames, start = make_large_scene()
    rates = []
    for _ in range(ROUNDS):
        tracker = OURS.make()
        tracker.init(frames[0], start)
        begin = process_time()
        for frame in frames[1:]:
            tracker.update(frame)
        rates.append((len(frames) - 1) / (process_time() - begin))
    return float(np.median(rates))
