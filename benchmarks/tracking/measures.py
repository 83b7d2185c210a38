"""How good a track is: overlap with the truth, distance from it, and whether `ok` was honest.

The first frame is given to the tracker and not counted. Neither are frames where there is nothing
to see, except when it comes to honesty: there, "lost" is the right answer.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.tracking.data import Boxes

Values = NDArray[np.float64]
Flags = NDArray[np.bool_]

NEAR = 20.0  # pixels between the centres
THRESHOLDS = np.linspace(0, 1, 21)


class Track(NamedTuple):
    """What a tracker answered in the frames after the first, and its processor seconds."""

    boxes: Boxes
    ok: Flags
    seconds: float


class Scores(NamedTuple):
    """Of one track, or the mean of several; more is better."""

    iou: float
    auc: float
    precision: float


class Honesty(NamedTuple):
    """Counts of frames."""

    frames: int
    lost: int  # the box has nothing of the object
    said: int  # ok was False
    both: int

    @property
    def precision(self) -> float:
        """Of the frames said to be lost, the part that was."""
        return self.both / self.said if self.said else float("nan")

    @property
    def recall(self) -> float:
        """Of the frames that were lost, the part that was said to be."""
        return self.both / self.lost if self.lost else float("nan")

    @property
    def false_alarms(self) -> float:
        """Of the frames that were not lost, the part that was said to be."""
        held = self.frames - self.lost
        return (self.said - self.both) / held if held else float("nan")


def overlaps(boxes: Boxes, truth: Boxes) -> Values:
    """Give intersection over union, row by row; 0 for a box of no area, NaN without a truth."""
    low = np.maximum(boxes[:, :2], truth[:, :2])
    high = np.minimum(boxes[:, :2] + boxes[:, 2:], truth[:, :2] + truth[:, 2:])
    both = np.prod(np.maximum(high - low, 0), axis=1)
    union = np.prod(boxes[:, 2:].clip(min=0), axis=1) + np.prod(truth[:, 2:], axis=1) - both
    return np.asarray(both / union)


def distances(boxes: Boxes, truth: Boxes) -> Values:
    """Give the distance between the centres, row by row."""
    centres = (each[:, :2] + each[:, 2:] / 2 for each in (boxes, truth))
    return np.hypot(*np.subtract(*centres).T)


def success(iou: Values) -> Values:
    """Give the share of frames that overlap by more than each threshold."""
    seen = iou[~np.isnan(iou)]
    return np.array([(seen > threshold).mean() for threshold in THRESHOLDS])


def score(track: Track, truth: Boxes) -> Scores:
    """Hold a track against the truth of all frames, the first included."""
    iou, far = (measure(track.boxes, truth[1:]) for measure in (overlaps, distances))
    seen = ~np.isnan(iou)
    near = float((far[seen] <= NEAR).mean())
    return Scores(float(iou[seen].mean()), float(success(iou).mean()), near)


def mean(scores: Iterable[Scores]) -> Scores:
    return Scores(*np.mean(list(scores), axis=0).tolist())


def honesty(pairs: Iterable[tuple[Track, Boxes]]) -> Honesty:
    """Count over all frames of several tracks."""
    total = np.zeros(4, int)
    for track, truth in pairs:
        lost = ~(overlaps(track.boxes, truth[1:]) > 0)
        total += len(lost), lost.sum(), (~track.ok).sum(), (lost & ~track.ok).sum()
    return Honesty(*total.tolist())
