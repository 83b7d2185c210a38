"""Times of updates: a window of 100 x 100 in frames of 640 x 480, all in turns, on one thread.

The contenders take turns in blocks of frames, so that what the machine does meanwhile hits all of
them, and each still works as in a film: one frame after the other. The clock is the processor's:
what other programs take of it is not counted, for none of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from time import process_time

import numpy as np
from rich.progress import Progress

from benchmarks.tracking.data import Frame
from benchmarks.tracking.peers import MEAN_SHIFT, OURS, Window, contenders
from meanshiftpp.tracking.clips import light

SIDE, BLOCK, ROUNDS = 100, 17, 3
RACERS = (OURS.name, MEAN_SHIFT.name, "CSRT")


@dataclass
class Race:
    """Processor seconds an update of each contender in each block, in the same order for all."""

    seconds: dict[str, list[float]]
    side: float  # of our window at the end: as large as it was, or the race means little

    def per_second(self, name: str) -> float:
        return 1 / float(np.median(self.seconds[name]))

    def to_ours(self, name: str) -> float:
        """Give the median over the blocks of the ratio to our time."""
        return float(np.median(np.divide(self.seconds[name], self.seconds[OURS.name])))


def scene() -> tuple[list[Frame], Window]:
    """Draw a ball in changing light, twice as large as in the clip, and a window around it."""
    clip = list(light())
    x, y, w, h = clip[0][1]
    start = 2 * x + w - SIDE // 2, 2 * y + h - SIDE // 2, SIDE, SIDE
    return [frame.repeat(2, axis=0).repeat(2, axis=1) for frame, _ in clip], start


def race(bar: Progress) -> Race:
    """Let all track the same film, block by block."""
    frames, start = scene()
    racers = [each for name, each in contenders().items() if name in RACERS]
    times: dict[str, list[float]] = {each.name: [] for each in racers}
    blocks = range(1, len(frames), BLOCK)
    work = bar.add_task("race", total=ROUNDS * len(blocks) * len(racers))
    seen = {each.name: [each.seen(frame) for frame in frames] for each in racers}
    for _ in range(ROUNDS):
        running = [(each, each.make()) for each in racers]
        for each, follower in running:
            follower.init(seen[each.name][0], start)
        for number, first in enumerate(blocks):
            for turn in np.roll(len(running) - 1 - np.arange(len(running)), number):
                each, follower = running[turn]
                block = seen[each.name][first : first + BLOCK]
                begin = process_time()
                for frame in block:
                    _, window = follower.update(frame)
                times[each.name].append((process_time() - begin) / len(block))
                if each.own:
                    side = float(np.sqrt(window[2] * window[3]))
                bar.advance(work)
    return Race(times, side)
