"""The report: tables for the screen and for Markdown, JSON with every score and every time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from textwrap import shorten
from typing import Any

from benchmarks.clustering.evaluation import Outcome
from benchmarks.clustering.methods import AT_BANDWIDTH
from benchmarks.clustering.scoring import SOLVED, Mean, mean
from benchmarks.clustering.suite import HALVES
from benchmarks.clustering.timing import Timing
from benchmarks.common import machine
from benchmarks.common.reporting import (
    Table,
    digits,
    duration,
    machine_table,
    markdown_table,
    write_report,
)

ALL = "all"
NOTE_LENGTH = 28  # characters of a cell
KINDS = {"without k": False, "with k": True}


@dataclass(frozen=True)
class Report:
    """Everything that is printed and written."""

    outcome: Outcome | None
    half: str | None = None  # one half, `all`, or None for both halves side by side
    too_large: Sequence[str] = ()
    timings: Sequence[Timing] = ()
    facts: dict[str, str] = field(default_factory=machine.describe)

    @property
    def groups(self) -> dict[str, list[str]]:
        """The names of the data sets in each mean; only `--half all` mixes the halves."""
        assert self.outcome is not None
        sets = self.outcome.sets
        if self.half == ALL:
            return {ALL: [each.name for each in sets]}
        groups = {half: [each.name for each in sets if each.half == half] for half in HALVES}
        return {half: names for half, names in groups.items() if names}

    def means(self, group: str, *, knows_count: bool) -> dict[str, Mean]:
        """Return the means of all methods over a group of data sets, the best ARI first."""
        assert self.outcome is not None
        scores, names = self.outcome.scores, self.groups[group]
        found = {
            title: mean(scores[title][name] for name in names)
            for title in self.outcome.titles(knows_count=knows_count)
        }
        return dict(sorted(found.items(), key=lambda item: -item[1].ari))


# -- tables ----------------------------------------------------------------------------------------


def means_table(report: Report, group: str, kind: str) -> Table:
    header = [f"{group}, {kind}", "sets", "ARI", "AMI", f"ARI >= {SOLVED:g}", "right k"]
    rows = [
        [title, str(each.sets), f"{each.ari:.3f}", f"{each.ami:.3f}"]
        + [f"{share:.0%}" for share in (each.solved, each.right_count)]
        for title, each in report.means(group, knows_count=KINDS[kind]).items()
    ]
    return header, rows


def sets_table(report: Report, kind: str) -> Table:
    """Return the ARI and the number of clusters of every method on every data set."""
    outcome = report.outcome
    assert outcome is not None
    titles = outcome.titles(knows_count=KINDS[kind])
    rows = []
    for each in outcome.sets:
        size = f"{len(each.X):,} x {each.X.shape[1]}"
        cells = (outcome.scores[title][each.name] for title in titles)
        scores = [f"{cell.ari:.3f} ({cell.clusters})" for cell in cells]
        rows.append([each.name, each.half, size, ", ".join(map(str, each.counts)), *scores])
    return ["data set", "half", "n x d", "k", *titles], rows


def times_table(timings: Sequence[Timing]) -> Table:
    """Return the median times with their ARI, a row for each method and a column for each size."""
    columns = list(dict.fromkeys((each.n, each.d) for each in timings))
    cells = {(each.title, each.n, each.d): each for each in timings}
    base = {(each.n, each.d): each.median for each in timings if each.title == AT_BANDWIDTH.title}
    rows = [
        [title, *(_time_cell(cells[title, n, d], base.get((n, d))) for n, d in columns)]
        for title in dict.fromkeys(each.title for each in timings)
        if title not in never_timed(timings)
    ]
    return ["times", *(f"{n:,} x {d}" for n, d in columns)], rows


def never_timed(timings: Sequence[Timing]) -> dict[str, str]:
    """Return the methods without any time, with the first reason of each."""
    timed = {each.title for each in timings if each.seconds}
    return {each.title: each.note for each in reversed(timings) if each.title not in timed}


def _time_cell(timing: Timing, base: float | None) -> str:
    if timing.median is None:
        return shorten(timing.note, NOTE_LENGTH, placeholder="...")
    ratio = f", {digits(timing.median / base)}x" if base else ""
    return f"{duration(timing.median)}{ratio}, ARI {timing.ari:.3f}"


def notes(report: Report) -> list[str]:
    """Return what the tables do not show: methods that did not run, failures, rules."""
    absent = never_timed(report.timings) | (report.outcome.absent if report.outcome else {})
    lines = [f"{title}: {reason}." for title, reason in absent.items()]
    if report.outcome is not None:
        for title, failures in report.outcome.failures.items():
            reasons = "; ".join(f"{name} ({reason})" for name, reason in failures.items())
            lines.append(f"{title} failed and scores 0 on {reasons}.")
        if report.too_large:
            lines.append(f"Left out, with too many points: {', '.join(report.too_large)}.")
        lines += [
            "The best reference labelling counts for each measure; reference noise is left out.",
            "With k: a method is told the numbers of clusters of the references; the best counts.",
            "Noise of a method is one class, or goes to the nearest clustered point.",
            "Halves: in the sorted names of a battery, even positions (from 0) belong to `choose` "
            "and odd ones to `report`.",
        ]
    if report.timings:
        lines.append(
            f"Times are medians on all cores, relative to {AT_BANDWIDTH.title}, with the ARI to "
            "the ten true clusters."
        )
    return lines


def tables(report: Report) -> list[Table]:
    found = []
    if report.outcome is not None:
        found += [means_table(report, group, kind) for group in report.groups for kind in KINDS]
    if report.timings:
        found.append(times_table(report.timings))
    return [table for table in found if table[1]]


# -- output ----------------------------------------------------------------------------------------


def markdown(report: Report) -> str:
    lines = ["# Clusterings and reference labellings", ""]
    for table in tables(report):
        lines += [*markdown_table(table), ""]
    lines += [*(f"- {note}" for note in notes(report)), ""]
    if report.outcome is not None:
        for kind in KINDS:
            lines += [f"## Every data set, {kind}: ARI (clusters)", ""]
            lines += [*markdown_table(sets_table(report, kind)), ""]
    return "\n".join([*lines, *markdown_table(machine_table(report.facts))]) + "\n"


def as_json(report: Report) -> dict[str, Any]:
    facts: dict[str, Any] = {"machine": report.facts, "notes": notes(report)}
    if (outcome := report.outcome) is not None:
        facts["halves"] = {each.name: each.half for each in outcome.sets}
        facts["means"] = {
            group: {
                kind: {title: each._asdict() for title, each in means.items()}
                for kind, told in KINDS.items()
                if (means := report.means(group, knows_count=told))
            }
            for group in report.groups
        }
        facts["sets"] = {
            title: {name: each._asdict() for name, each in scores.items()}
            for title, scores in outcome.scores.items()
        }
        facts |= {"absent": outcome.absent, "failures": outcome.failures}
    facts["times"] = [asdict(each) for each in report.timings]
    return facts


def write(report: Report, folder: Path) -> None:
    write_report(folder, "clustering", markdown(report), as_json(report))
