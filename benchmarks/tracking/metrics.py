"""Metrics of a track: overlap with the truth, distance to it, and whether `ok` was right.

The tracker receives the first frame's box, so that frame is not counted. Frames without an object
are not counted either, except in `LossReports`: there, "lost" is the correct answer.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.tracking.sequences import Boxes

Values = NDArray[np.float64]
Flags = NDArray[np.bool_]

NEAR = 20.0  # pixels between the centres
THRESHOLDS = np.linspace(0, 1, 21)


class Track(NamedTuple):
    """The boxes and flags of a tracker in the frames after the first, and its CPU seconds."""

    boxes: Boxes
    ok: Flags
    seconds: float


class Scores(NamedTuple):
    """Scores of one track, or means of several; larger is better."""

    iou: float
    auc: float
    precision: float


class LossReports(NamedTuple):
    """Counts of frames that show whether a tracker knows that it lost the object."""

    frames: int
    lost: int  # the box does not overlap the object
    reported: int  # ok was False
    correct: int  # ok was False and the object was lost

    @property
    def precision(self) -> float:
        """The share of reported frames that were lost."""
        return self.correct / self.reported if self.reported else float("nan")

    @property
    def recall(self) -> float:
        """The share of lost frames that were reported."""
        return self.correct / self.lost if self.lost else float("nan")

    @property
    def false_alarms(self) -> float:
        """The share of frames with an overlap that were reported as lost."""
        overlapping = self.frames - self.lost
        return (self.reported - self.correct) / overlapping if overlapping else float("nan")


def overlaps(boxes: Boxes, truth: Boxes) -> Values:
    """Return intersection over union, row by row: 0 for an empty box, NaN without a truth."""
    low = np.maximum(boxes[:, :2], truth[:, :2])
    high = np.minimum(boxes[:, :2] + boxes[:, 2:], truth[:, :2] + truth[:, 2:])
    both = np.prod(np.maximum(high - low, 0), axis=1)
    union = np.prod(boxes[:, 2:].clip(min=0), axis=1) + np.prod(truth[:, 2:], axis=1) - both
    return np.asarray(both / union)


def distances(boxes: Boxes, truth: Boxes) -> Values:
    """Return the distance between the centres, row by row."""
    centres = (each[:, :2] + each[:, 2:] / 2 for each in (boxes, truth))
    return np.hypot(*np.subtract(*centres).T)


def success_curve(iou: Values) -> Values:
    """Return the share of frames whose overlap exceeds each threshold."""
    known = iou[~np.isnan(iou)]
    return np.array([(known > threshold).mean() for threshold in THRESHOLDS])


def score(track: Track, truth: Boxes) -> Scores:
    """Score a track against the truth of all frames, the first included."""
    iou, distance = (metric(track.boxes, truth[1:]) for metric in (overlaps, distances))
    known = ~np.isnan(iou)
    near = float((distance[known] <= NEAR).mean())
    return Scores(float(iou[known].mean()), float(success_curve(iou).mean()), near)


def mean(scores: Iterable[Scores]) -> Scores:
    return Scores(*np.mean(list(scores), axis=0).tolist())


def loss_reports(pairs: Iterable[tuple[Track, Boxes]]) -> LossReports:
    """Count over all frames of several tracks and their truths."""
    total = np.zeros(4, int)
    for track, truth in pairs:
        lost = ~(overlaps(track.boxes, truth[1:]) > 0)
        total += len(lost), lost.sum(), (~track.ok).sum(), (lost & ~track.ok).sum()
    return LossReports(*total.tolist())
