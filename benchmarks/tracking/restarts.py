"""VOT's protocol with re-initialisation, and the expected average overlap.

A tracker that fails, because its box does not overlap the object, starts again five frames later
from the true box. The film becomes segments, each from a start to a failure or to the film's end.
The average overlap that a tracker is expected to have on a film of n frames is the mean over the
segments: after a failure the overlap is 0, and shorter segments without a failure do not count. The
expected average overlap is its mean over usual n, here from the first to the third quartile of the
films' lengths (VOT takes the middle of a smoothed histogram).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from benchmarks.tracking.metrics import Values, overlaps
from benchmarks.tracking.sequences import Boxes, Frame, whole_pixels
from benchmarks.tracking.trackers import Contender

WAIT = 5  # frames from a failure to the next start


class Segment(NamedTuple):
    """The overlaps after a start, and whether the last one is a failure."""

    overlaps: Values
    failed: bool


def track_segments(
    contender: Contender, frames: Sequence[Frame], truth: Boxes, on_frame: Callable[[], None]
) -> list[Segment]:
    """Track a film to its end, starting again after each failure."""
    segments, start = [], 0
    while (start := _next_start(truth, start)) < len(frames) - 1:
        segment = _track_until_failure(contender, frames[start:], truth[start:], on_frame)
        segments.append(segment)
        start += len(segment.overlaps) + WAIT
    return segments


def _next_start(truth: Boxes, first: int) -> int:
    """Return the first frame from `first` on that has an object."""
    known = np.flatnonzero(~np.isnan(truth[first:]).any(axis=1))
    return first + int(known[0]) if len(known) else len(truth)


def _track_until_failure(
    contender: Contender, frames: Sequence[Frame], truth: Boxes, on_frame: Callable[[], None]
) -> Segment:
    tracker = contender.make()
    tracker.init(contender.convert(frames[0]), whole_pixels(truth[0]))
    box, found = truth[0], []
    for frame, true_box in zip(frames[1:], truth[1:], strict=True):
        ok, window = tracker.update(contender.convert(frame))
        if contender.own or ok:
            box = np.array(window, np.float64)
        on_frame()
        found.append(float(overlaps(box[None], true_box[None])[0]))
        if found[-1] == 0:
            return Segment(np.array(found), True)
    return Segment(np.array(found), False)


def usual_lengths(lengths: Sequence[int]) -> range:
    """Return the numbers of frames over which the expected average overlap is a mean."""
    low, high = np.quantile(lengths, [0.25, 0.75])
    return range(round(low), round(high) + 1)


def expected_average_overlap(segments: Sequence[Segment], lengths: Sequence[int]) -> float:
    """Return the mean over the lengths for which there is a segment, or NaN without one."""
    expected = [_expected_overlap(segments, length) for length in lengths]
    known = [value for value in expected if not np.isnan(value)]
    return float(np.mean(known)) if known else float("nan")


def _expected_overlap(segments: Sequence[Segment], length: int) -> float:
    means = []
    for segment in segments:
        if segment.failed or len(segment.overlaps) >= length:
            first = segment.overlaps[:length]
            shown = np.count_nonzero(~np.isnan(first)) + max(length - len(first), 0)
            means.append(np.nansum(first) / max(shown, 1))
    return float(np.mean(means)) if means else float("nan")
