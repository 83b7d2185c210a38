"""The report: tables for the screen and for Markdown, JSON with the scores of every track."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.common import machine
from benchmarks.common.reporting import (
    Goal,
    Table,
    goals_as_json,
    goals_table,
    machine_table,
    markdown_table,
    write_report,
)
from benchmarks.tracking.metrics import (
    NEAR,
    LossReports,
    Scores,
    Track,
    loss_reports,
    mean,
    score,
)
from benchmarks.tracking.restarts import Segment, expected_average_overlap, usual_lengths
from benchmarks.tracking.sequences import VideoSequence
from benchmarks.tracking.timing import Timings
from benchmarks.tracking.trackers import MEAN_SHIFT, OURS, opencv_version

FACTS = ("processor", "cores", "load before the run", "system", "Python", "meanshiftpp", "numpy")


def describe() -> dict[str, str]:
    """Return facts about the machine, and the versions of all trackers."""
    facts = machine.describe()
    versions = {"ours": OURS.version, "OpenCV": opencv_version()}
    return {name: facts[name] for name in FACTS} | versions


@dataclass(frozen=True)
class Outcome:
    """All results of the benchmark."""

    machine: dict[str, str]
    sequences: list[VideoSequence]
    tracks: dict[str, dict[str, Track]]  # by contender and sequence
    segments: dict[str, list[Segment]]  # by contender, of all sequences
    timings: Timings | None

    def scores(self, name: str) -> dict[str, Scores]:
        """Score a contender on every sequence."""
        tracks = self.tracks[name]
        return {each.name: score(tracks[each.name], each.truth) for each in self.sequences}

    def mean(self, name: str) -> Scores:
        """Average over the sequences; all have the same weight."""
        return mean(self.scores(name).values())

    def loss_reports(self, name: str) -> LossReports:
        """Count over all frames of all sequences."""
        tracks = self.tracks[name]
        return loss_reports((tracks[each.name], each.truth) for each in self.sequences)

    def expected_overlap(self, name: str) -> float:
        """Return the expected average overlap, with restarts."""
        lengths = usual_lengths([len(each.files) - 1 for each in self.sequences])
        return expected_average_overlap(self.segments[name], lengths)

    def failures(self, name: str) -> int:
        """Return the number of failures, with restarts."""
        return sum(segment.failed for segment in self.segments[name])

    def per_second(self, name: str) -> float:
        """Return the updates per second over all sequences."""
        tracks = self.tracks[name].values()
        return sum(len(track.ok) for track in tracks) / sum(track.seconds for track in tracks)


# -- goals -----------------------------------------------------------------------------------------


def goals(outcome: Outcome) -> list[Goal]:
    """Compare the results with the goals."""
    ours = outcome.mean(OURS.name).iou
    all_goals = [Goal("mean IoU", 0.58, ours)]
    for name in outcome.tracks:
        if name != OURS.name:
            all_goals.append(
                Goal(f"lead over {name} in mean IoU", 0.0, ours - outcome.mean(name).iou)
            )
    if (times := outcome.timings) is not None:
        all_goals.append(Goal("updates per second, in turns", 2000, times.per_second(OURS.name)))
        all_goals.append(Goal("updates per second, 1920 x 1080", 1000, times.large))
        for name, at_least in ((MEAN_SHIFT.name, 1), ("CSRT", 50)):
            if name in times.seconds:
                all_goals.append(Goal(f"{name}'s time to ours", at_least, times.to_ours(name)))
    return all_goals


# -- tables ----------------------------------------------------------------------------------------


def scores_table(outcome: Outcome) -> Table:
    """Return a row for each contender."""
    rows = []
    for name in outcome.tracks:
        means, reports = outcome.mean(name), outcome.loss_reports(name)
        shares = [_percent(x) for x in (reports.precision, reports.recall, reports.false_alarms)]
        speed = f"{outcome.per_second(name):,.0f}"
        expected, failures = f"{outcome.expected_overlap(name):.3f}", str(outcome.failures(name))
        values = [f"{value:.3f}" for value in means]
        rows.append([name, *values, expected, failures, speed, str(reports.lost), *shares])
    header = ["tracker", "mean IoU", "AUC", f"within {NEAR:.0f} px", "EAO", "failures"]
    return [
        *header,
        "updates per second",
        "frames lost",
        "lost: precision",
        "recall",
        "false alarms",
    ], rows


def _percent(share: float) -> str:
    return "-" if np.isnan(share) else f"{share:.0%}"


def sequences_table(outcome: Outcome) -> Table:
    """Return a row for each sequence: the mean IoU of every contender, the best one marked."""
    scores = {name: outcome.scores(name) for name in outcome.tracks}
    rows = []
    for sequence in outcome.sequences:
        values = [scores[name][sequence.name].iou for name in scores]
        cells = [f"{value:.3f}{' *' if value == max(values) else ''}" for value in values]
        rows.append([sequence.name, str(len(sequence.files)), *cells])
    return ["mean IoU", "frames", *scores], rows


def loss_reports_table(outcome: Outcome) -> Table:
    """Return a row for each sequence: how often our `ok` was right."""
    rows = []
    for sequence in outcome.sequences:
        reports = loss_reports([(outcome.tracks[OURS.name][sequence.name], sequence.truth)])
        wrong = reports.reported - reports.correct
        rows.append([sequence.name, *map(str, reports), str(wrong)])
    header = ["ok of Tracker", "frames", "lost", "reported lost", "correctly", "wrongly"]
    return header, rows


def timings_table(times: Timings) -> Table:
    rows = [
        [name, f"{times.per_second(name):,.0f}", f"{times.to_ours(name):.3g}x"]
        for name in times.seconds
    ]
    rows.append([f"{OURS.name}, 200 x 200 in 1920 x 1080", f"{times.large:,.0f}", ""])
    return ["100 x 100 in 640 x 480, one thread", "updates per second", "time to ours"], rows


def tables(outcome: Outcome) -> list[Table]:
    content = [scores_table(outcome), sequences_table(outcome), loss_reports_table(outcome)]
    if outcome.timings is not None:
        content.append(timings_table(outcome.timings))
    return [*content, goals_table(goals(outcome))]


def notes(outcome: Outcome) -> list[str]:
    lines = [
        f"One pass over {len(outcome.sequences)} sequences from the true box of the first frame, "
        "which is not counted; the same settings for all. Means are over sequences.",
        "A box counts even if the tracker returned ok = False. AUC is the area under the curve of "
        "the share of frames whose overlap exceeds 0, 0.05, ... 1.",
        "EAO is VOT's expected average overlap: a tracker whose box does not overlap the object "
        "has failed and starts again five frames later.",
        "A frame is lost if the box does not overlap the object; precision and recall compare "
        "ok = False with that, over all frames.",
        "Times are CPU times of updates alone, with frames in memory and OpenCV on one thread; "
        "those of meanShift and CamShift include the back-projection of the frame.",
    ]
    absent = [name for name in ("KCF", "CSRT") if name not in outcome.tracks]
    if absent:
        lines.append(f"The installed OpenCV does not have {' and '.join(absent)}.")
    if outcome.timings is not None:
        side = outcome.timings.side
        lines.append(f"When taking turns, our window ended with a side of {side:.0f} pixels.")
    return lines


# -- output ----------------------------------------------------------------------------------------


def markdown(outcome: Outcome) -> str:
    lines = ["# Tracking", ""]
    lines += [f"- {note}" for note in notes(outcome)]
    for table in tables(outcome):
        lines += ["", *markdown_table(table)]
    lines += ["", "![](tracking.png)"]
    lines += ["", *markdown_table(machine_table(outcome.machine)), "", "## Strips", ""]
    lines.append("The truth is white, ours is blue (dashed if ok was False), CSRT is orange.")
    for sequence in outcome.sequences:
        lines += ["", f"![{sequence.name}](strips/{sequence.name}.jpg)"]
    return "\n".join(lines) + "\n"


def as_json(outcome: Outcome) -> dict[str, Any]:
    return {
        "machine": outcome.machine,
        "notes": notes(outcome),
        "goals": goals_as_json(goals(outcome)),
        "trackers": {
            name: {
                "mean": outcome.mean(name)._asdict(),
                "expected_average_overlap": outcome.expected_overlap(name),
                "failures": outcome.failures(name),
                "loss_reports": outcome.loss_reports(name)._asdict(),
                "updates_per_second": outcome.per_second(name),
                "sequences": {k: v._asdict() for k, v in outcome.scores(name).items()},
            }
            for name in outcome.tracks
        },
        "seconds_in_turns": outcome.timings.seconds if outcome.timings is not None else None,
        "updates_per_second_large": outcome.timings.large if outcome.timings is not None else None,
    }


def write(outcome: Outcome, folder: Path) -> None:
    write_report(folder, "tracking", markdown(outcome), as_json(outcome))
