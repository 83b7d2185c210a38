"""What came of it: tables for the screen and for Markdown, JSON with the scores of every track."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.common import machine
from benchmarks.common.shown import Goal, Table, goals_table, markdown_table
from benchmarks.tracking.data import Film
from benchmarks.tracking.measures import NEAR, Honesty, Scores, Track, honesty, mean, score
from benchmarks.tracking.peers import MEAN_SHIFT, OURS, contenders, opencv
from benchmarks.tracking.race import Race


def describe() -> dict[str, str]:
    """Say where it runs and with what; of our own code also which state of it."""
    facts = machine.describe()
    kept = ("processor", "cores", "load before the run", "system", "Python", "meanshiftpp", "numpy")
    return {name: facts[name] for name in kept} | {"ours": OURS.made_of, "OpenCV": opencv()}


@dataclass(frozen=True)
class Outcome:
    """All that was found."""

    where: dict[str, str]  # it ran
    films: list[Film]
    found: dict[str, dict[str, Track]]  # by contender, by sequence
    race: Race | None

    def scores(self, name: str) -> dict[str, Scores]:
        """Score a contender on every sequence."""
        return {film.name: score(self.found[name][film.name], film.truth) for film in self.films}

    def mean(self, name: str) -> Scores:
        """Average over the sequences: each counts the same, however long it is."""
        return mean(self.scores(name).values())

    def honesty(self, name: str) -> Honesty:
        """Count over all frames of all sequences."""
        return honesty((self.found[name][film.name], film.truth) for film in self.films)

    def per_second(self, name: str) -> float:
        """Give the updates a second over all sequences."""
        tracks = self.found[name].values()
        return sum(len(track.ok) for track in tracks) / sum(track.seconds for track in tracks)


# The goals


def goals(outcome: Outcome) -> list[Goal]:
    """Hold the outcome against what was aimed at."""
    ours = outcome.mean(OURS.name).iou
    aims = [Goal("mean IoU", 0.58, ours)]
    for name in outcome.found:
        if name != OURS.name:
            aims.append(Goal(f"lead over {name} in mean IoU", 0.0, ours - outcome.mean(name).iou))
    if (times := outcome.race) is not None:
        aims.append(Goal("updates a second in the race", 2000, times.per_second(OURS.name)))
        for name, aim in ((MEAN_SHIFT.name, 1), ("CSRT", 50)):
            if name in times.seconds:
                aims.append(Goal(f"{name}'s time in ours", aim, times.to_ours(name)))
    return aims


# The tables


def scores_table(outcome: Outcome) -> Table:
    """One line a contender."""
    rows = []
    for name in outcome.found:
        means, honest = outcome.mean(name), outcome.honesty(name)
        said = [_percent(x) for x in (honest.precision, honest.recall, honest.false_alarms)]
        speed = f"{outcome.per_second(name):,.0f}"
        rows.append([name, *(f"{value:.3f}" for value in means), speed, str(honest.lost), *said])
    header = ["tracker", "mean IoU", "AUC", f"within {NEAR:.0f} px", "updates a second"]
    return [*header, "frames lost", "lost: precision", "recall", "false alarms"], rows


def _percent(share: float) -> str:
    return "-" if np.isnan(share) else f"{share:.0%}"


def sequences_table(outcome: Outcome) -> Table:
    """One line a sequence: the mean IoU of every contender, the best one marked."""
    scores = {name: outcome.scores(name) for name in outcome.found}
    rows = []
    for film in outcome.films:
        values = [scores[name][film.name].iou for name in scores]
        cells = [f"{value:.3f}{' *' if value == max(values) else ''}" for value in values]
        rows.append([film.name, str(len(film.files)), *cells])
    return ["mean IoU", "frames", *scores], rows


def honesty_table(outcome: Outcome) -> Table:
    """Where our `ok` was right, sequence by sequence."""
    rows = []
    for film in outcome.films:
        honest = honesty([(outcome.found[OURS.name][film.name], film.truth)])
        rows.append([film.name, *map(str, honest), str(honest.said - honest.both)])
    return ["ok of Tracker", "frames", "lost", "said lost", "rightly", "wrongly"], rows


def race_table(times: Race) -> Table:
    rows = [
        [name, f"{times.per_second(name):,.0f}", f"{times.to_ours(name):.3g}x"]
        for name in times.seconds
    ]
    return ["100 x 100 in 640 x 480, one thread", "updates a second", "time to ours"], rows


def tables(outcome: Outcome) -> list[Table]:
    raced = [race_table(outcome.race)] if outcome.race is not None else []
    first = [scores_table(outcome), sequences_table(outcome), honesty_table(outcome)]
    return [*first, *raced, goals_table(goals(outcome))]


def notes(outcome: Outcome) -> list[str]:
    absent = [name for name in ("KCF", "CSRT") if name not in contenders()]
    without = [f"This OpenCV has no {' and no '.join(absent)}."] if absent else []
    raced = []
    if outcome.race is not None:
        raced.append(
            f"In the race, our window ended with a side of {outcome.race.side:.0f} pixels."
        )
    return [
        f"One pass over {len(outcome.films)} sequences from the truth of the first frame, which is "
        "not counted; the same settings for all. Means are over sequences.",
        "A box counts whether or not the tracker says ok. AUC is the area under the curve of the "
        "share of frames that overlap by more than 0, 0.05, ... 1.",
        "A frame is lost where the box has nothing of the object; precision and recall are of "
        "ok = False against that, over all frames.",
        "Times are of updates alone, on the processor's clock, frames in memory, OpenCV on one "
        "thread; those of meanShift and CamShift include the back-projection of the frame.",
        *without,
        *raced,
    ]


# Where they go


def markdown(outcome: Outcome) -> str:
    lines = ["# Tracking", ""]
    lines += [f"- {note}" for note in notes(outcome)]
    for table in tables(outcome):
        lines += ["", *markdown_table(table)]
    lines += ["", "![](tracking.png)"]
    lines += ["", *markdown_table((["machine", ""], [[k, v] for k, v in outcome.where.items()]))]
    lines += [
        "",
        "## Strips",
        "",
        "Truth white, ours blue (dashed where it says lost), CSRT orange.",
    ]
    for film in outcome.films:
        lines += ["", f"![{film.name}](strips/{film.name}.jpg)"]
    return "\n".join(lines) + "\n"


def as_json(outcome: Outcome) -> dict[str, Any]:
    return {
        "machine": outcome.where,
        "notes": notes(outcome),
        "goals": [goal._asdict() | {"verdict": goal.verdict} for goal in goals(outcome)],
        "trackers": {
            name: {
                "mean": outcome.mean(name)._asdict(),
                "honesty": outcome.honesty(name)._asdict(),
                "updates a second": outcome.per_second(name),
                "sequences": {k: v._asdict() for k, v in outcome.scores(name).items()},
            }
            for name in outcome.found
        },
        "race": outcome.race.seconds if outcome.race is not None else None,
    }


def write(outcome: Outcome, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "tracking.json").write_text(json.dumps(as_json(outcome), indent=1) + "\n", "utf-8")
    (folder / "tracking.md").write_text(markdown(outcome), "utf-8")
