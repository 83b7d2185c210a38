"""The report: tables for the screen and for Markdown, JSON with every score."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.bsds.photos import Photo
from benchmarks.bsds.score_cache import Segmentation, format_setting
from benchmarks.bsds.segmenters import (
    FELZENSZWALB,
    METHODS,
    OURS,
    PAPER,
    PEERS,
    QUICKSHIFT,
    QUICKSHIFT_SMALL,
    SLIC,
    Setting,
)
from benchmarks.bsds.timing import Timings
from benchmarks.common import machine
from benchmarks.common.partition_metrics import Scores, mean
from benchmarks.common.reporting import (
    Goal,
    Table,
    goals_as_json,
    goals_table,
    machine_table,
    markdown_table,
    write_report,
)

TIE = 0.01  # a difference of at most this part of the larger score is a tie


def describe() -> dict[str, str]:
    """Return facts about the machine, and the versions of all methods."""
    return machine.describe() | {m.package: m.version for m in METHODS.values()}


class Trial(NamedTuple):
    """A setting and its mean scores on the sample."""

    setting: Setting
    scores: Scores


class Wins(NamedTuple):
    """The number of photographs on which a method was better, equal or worse."""

    win: int
    tie: int
    loss: int

    @property
    def not_lost(self) -> float:
        """The share of photographs that were won or tied."""
        return (self.win + self.tie) / sum(self)


@dataclass(frozen=True)
class Outcome:
    """All results of the benchmark."""

    machine: dict[str, str]
    photos: int
    sample_step: int  # the distance between two photographs of the sample
    trials: dict[str, list[Trial]]
    chosen: dict[str, Setting]
    segmentations: dict[str, dict[str, Segmentation]]  # by method and photograph
    timed: list[Photo]
    times: Timings
    large: Timings

    def mean(self, name: str, photos_of: str | None = None) -> Scores:
        """Average a method over its photographs, or over those of another method."""
        return mean(
            self.segmentations[name][photo].scores
            for photo in self.segmentations[photos_of or name]
        )

    def wins(self, name: str, peer: str, measure: str) -> Wins:
        """Count wins over the photographs that both methods have segmented."""
        common = [photo for photo in self.segmentations[name] if photo in self.segmentations[peer]]
        values = (
            [getattr(self.segmentations[method][photo].scores, measure) for photo in common]
            for method in (name, peer)
        )
        return count_wins(*values)


def count_wins(first: Sequence[float], second: Sequence[float]) -> Wins:
    """Compare two lists of scores photograph by photograph."""
    a, b = np.asarray(first), np.asarray(second)
    tie = np.abs(a - b) <= TIE * np.maximum(np.abs(a), np.abs(b))
    return Wins(int(((a > b) & ~tie).sum()), int(tie.sum()), int(((a < b) & ~tie).sum()))


# -- goals -----------------------------------------------------------------------------------------


def goals(outcome: Outcome) -> list[Goal]:
    """Compare the results with the goals."""
    ours = outcome.mean(OURS.name)
    lead = min(
        getattr(outcome.mean(OURS.name, peer.name), measure)
        - getattr(outcome.mean(peer.name), measure)
        for peer in PEERS
        for measure in ("ari", "fm", "covering")
    )
    not_lost = {
        peer.name: min(outcome.wins(PAPER.name, peer.name, m).not_lost for m in ("ari", "fm"))
        for peer in (SLIC, QUICKSHIFT, QUICKSHIFT_SMALL)
    }
    small, large = (times.to_ours(FELZENSZWALB.name) for times in (outcome.times, outcome.large))
    return [
        Goal("segment: mean ARI", 0.51, ours.ari),
        Goal("segment: mean Fowlkes-Mallows", 0.67, ours.fm),
        Goal("segment: mean covering", 0.58, ours.covering),
        Goal("segment: smallest lead over any peer in these three", 0.0, lead),
        Goal("felzenszwalb's time, relative to ours", 15, small),
        Goal(f"the same at {outcome.large.size}", 20, large),
        *(
            Goal(f"colour clusters: share not lost to {peer}", 0.5, share)
            for peer, share in not_lost.items()
        ),
    ]


# -- tables ----------------------------------------------------------------------------------------


def scores_table(outcome: Outcome) -> Table:
    """Return a row for each method; ours again for the photographs of a method on the sample."""
    lines = [(name, name) for name in outcome.segmentations]
    for name, method in METHODS.items():
        if method.sample_only:
            lines += [(own, name) for own in (OURS.name, PAPER.name)]
    rows = [_scores_row(outcome, name, photos_of) for name, photos_of in lines]
    header = ["method", "setting", "photographs", "ARI", "FM", "covering", "PRI", "VI", "regions"]
    return header, rows


def _scores_row(outcome: Outcome, name: str, photos_of: str) -> list[str]:
    photos = outcome.segmentations[photos_of]
    scores = [f"{value:.3f}" for value in outcome.mean(name, photos_of)]
    regions = np.median([outcome.segmentations[name][photo].regions for photo in photos])
    title = name if name == photos_of else f"{name}, on the sample"
    setting = format_setting(outcome.chosen[name]) or "defaults"
    return [title, setting, str(len(photos)), *scores, f"{regions:.0f}"]


def wins_table(outcome: Outcome) -> Table:
    rows = []
    for name in (OURS.name, PAPER.name):
        for peer in PEERS:
            both = [outcome.wins(name, peer.name, measure) for measure in ("ari", "fm")]
            cells = [" / ".join(map(str, wins)) for wins in both]
            rows.append([name, peer.name, str(sum(both[0])), *cells])
    return ["", "against", "photographs", "ARI: win / tie / loss", "FM: win / tie / loss"], rows


def times_table(outcome: Outcome) -> Table:
    rows = []
    for name in sorted(outcome.times.seconds, key=outcome.times.median):
        cells = [
            cell
            for times in (outcome.times, outcome.large)
            for cell in (
                (f"{times.median(name) * 1e3:.1f} ms", f"{times.to_ours(name):.3g}x")
                if name in times.seconds
                else ("", "")
            )
        ]
        rows.append([name, *cells])
    sizes = (outcome.times.size, outcome.large.size)
    return ["method", *(cell for size in sizes for cell in (size, "to ours"))], rows


def trials_table(outcome: Outcome, name: str) -> Table:
    """Return the settings of a method, the best first."""
    rows = []
    for setting, scores in sorted(
        outcome.trials[name], key=lambda trial: -trial.scores.selection_score
    ):
        values = (scores.selection_score, *scores)
        rows.append([format_setting(setting), *(f"{value:.3f}" for value in values)])
    return ["setting", "mean of three", "ARI", "FM", "covering", "PRI", "VI"], rows


def notes(outcome: Outcome) -> list[str]:
    return [
        f"Scores are means over {outcome.photos} photographs; each score is a mean over the people "
        "who drew regions on the photograph. VI is in bits, and smaller is better.",
        f"Each setting is the best of its grid by the mean of ARI, FM and covering on one of every "
        f"{outcome.sample_step} photographs; `segment` has no grid and runs with its defaults. "
        "Its constants were set on train and val; the grids of quickshift, MeanShift and the "
        "colour clusters were chosen after trials on 3 to 12 of these photographs.",
        "`shrink=2` segments the photograph at half its size; labels are scored at full size. "
        "Quickshift's time grows with the square of its kernel, so the kernel at full size is "
        "smaller than the best one; the shrunk variant shows what quickshift can achieve.",
        "MeanShift is scikit-learn's with seeds on a grid; it ran on the sample only, on which its "
        "bandwidth was chosen as well. The last rows are our scores on that sample.",
        f"A tie is a difference of at most {TIE:.0%} of the larger score.",
        f"Times are medians of single calls on {len(outcome.timed)} photographs, taken in turns; "
        f"ratios are medians of the ratios on each. {outcome.large.size}: mosaics of six.",
    ]


def tables(outcome: Outcome) -> list[Table]:
    first = [make(outcome) for make in (scores_table, wins_table, times_table)]
    return [*first, goals_table(goals(outcome))]


# -- output ----------------------------------------------------------------------------------------


def markdown(outcome: Outcome) -> str:
    lines = ["# Segmentation of BSDS500", "", *markdown_table(scores_table(outcome)), ""]
    lines += [f"- {note}" for note in notes(outcome)]
    lines += ["", "## Goals", "", *markdown_table(goals_table(goals(outcome)))]
    lines += [
        "",
        "## Wins, ties and losses",
        "",
        *markdown_table(wins_table(outcome)),
        "",
        "![](bsds.png)",
    ]
    lines += ["", "## Times", "", *markdown_table(times_table(outcome))]
    lines += ["", *markdown_table(machine_table(outcome.machine))]
    lines += ["", "## Contact sheet", "", "![](bsds_sheet.png)", "", "## Settings"]
    for name, trials in outcome.trials.items():
        if len(trials) > 1:
            lines += ["", f"### {name}", "", *markdown_table(trials_table(outcome, name))]
    return "\n".join(lines) + "\n"


def as_json(outcome: Outcome) -> dict[str, Any]:
    return {
        "machine": outcome.machine,
        "notes": notes(outcome),
        "goals": goals_as_json(goals(outcome)),
        "methods": {name: _method_as_json(outcome, name) for name in outcome.segmentations},
        "wins": [
            {
                "method": own,
                "peer": peer.name,
                "measure": m,
                **outcome.wins(own, peer.name, m)._asdict(),
            }
            for own in (OURS.name, PAPER.name)
            for peer in PEERS
            for m in ("ari", "fm")
        ],
        "seconds": {times.size: times.seconds for times in (outcome.times, outcome.large)},
        "timed": [photo.name for photo in outcome.timed],
    }


def _method_as_json(outcome: Outcome, name: str) -> dict[str, Any]:
    return {
        "setting": outcome.chosen[name],
        "mean": outcome.mean(name)._asdict(),
        "photographs": {
            photo: each.scores._asdict() | {"regions": each.regions}
            for photo, each in outcome.segmentations[name].items()
        },
        "tried": [
            {"setting": trial.setting, "mean": trial.scores._asdict()}
            for trial in outcome.trials[name]
        ],
    }


def write(outcome: Outcome, folder: Path) -> None:
    write_report(folder, "bsds", markdown(outcome), as_json(outcome))
