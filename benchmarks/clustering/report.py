"""The report: tables for the screen and for Markdown, JSON with every score and every time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from textwrap import shorten
from typing import Any

from benchmarks.clustering.evaluation import Outcome, suffixes
from benchmarks.clustering.methods import AT_BANDWIDTH, Method
from benchmarks.clustering.scoring import OVERLAP, SOLVED, Mean, Score, mean
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
LINES = ("ours", "noise", "cut")  # our methods that are compared with the strongest rival
MEASURES = {"ari": "ARI", "ami": "AMI", "found": "found"}


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
        groups: dict[str, list[str]] = {half: [] for half in (ALL, *HALVES)}
        for each in self.outcome.sets:
            mixed = self.half == ALL and each.group in HALVES
            groups.setdefault(ALL if mixed else each.group, []).append(each.name)
        return {group: names for group, names in groups.items() if names}

    def means(self, group: str, *, knows_count: bool) -> dict[str, Mean]:
        """Return the means of all methods over a group of data sets, the best ARI first."""
        assert self.outcome is not None
        scores, names = self.outcome.scores, self.groups[group]
        found = {
            title: mean(scores[title][name] for name in names)
            for title in self.outcome.titles(knows_count=knows_count)
        }
        return dict(sorted(found.items(), key=lambda item: -item[1].ari))

    def rivals(self, group: str, *, knows_count: bool) -> dict[str, Mean]:
        """Return the means of the methods of other packages that finished."""
        assert self.outcome is not None
        own = {title for each in self.outcome.methods if each.own for title in titles_of(each)}
        means = self.means(group, knows_count=knows_count)
        return {title: each for title, each in means.items() if title not in own and each.clusters}


def titles_of(method: Method) -> list[str]:
    """Return the titles under which a method is scored."""
    return [method.title + suffix for suffix in suffixes(method)]


# -- tables ----------------------------------------------------------------------------------------


def means_table(report: Report, group: str, kind: str) -> Table:
    header = [f"{group}, {kind}", "sets", "ARI", "AMI", f"ARI >= {SOLVED:g}", "right k", "found"]
    rows = [
        [title, str(each.sets), f"{each.ari:.3f}", f"{each.ami:.3f}"]
        + [f"{share:.0%}" for share in (each.solved, each.right_count)]
        + [value_of(each, "found")]
        for title, each in report.means(group, knows_count=KINDS[kind]).items()
    ]
    return header, rows


def rivals_table(report: Report, kind: str) -> Table:
    """Return our scores beside those of the strongest rival, for each group and measure."""
    assert report.outcome is not None
    ours = [each.title for each in report.outcome.methods if each.own and each.key in LINES]
    rows = []
    for group in report.groups:
        means = report.means(group, knows_count=KINDS[kind])
        rivals = report.rivals(group, knows_count=KINDS[kind])
        for title in filter(means.get, ours):
            cells = [part for name in MEASURES for part in _beside(means[title], rivals, name)]
            rows.append([group, title, str(means[title].clusters), *cells])
    header = [part for name in MEASURES.values() for part in (name, f"strongest: {name}")]
    return [kind, "ours", "clusters", *header], rows


def _beside(ours: Mean, rivals: dict[str, Mean], measure: str) -> list[str]:
    """Return our value, and the strongest rival with its value."""
    if not rivals:
        return [value_of(ours, measure), "none finished"]
    best = max(rivals, key=lambda title: float(getattr(rivals[title], measure)))
    return [value_of(ours, measure), f"{value_of(rivals[best], measure)} {best}"]


def value_of(scores: Mean, measure: str) -> str:
    """Return a measure for a table."""
    if measure == "found" and scores.sets == 1:
        return f"{scores.found:,} of {scores.true:,}"
    if measure == "found":
        return f"{scores.found / scores.true:.0%}" if scores.true else ""
    return f"{getattr(scores, measure):.3f}"


def sets_table(report: Report, kind: str) -> Table:
    """Return the scores of every method on every data set, or why there are none."""
    outcome = report.outcome
    assert outcome is not None
    methods = {title: each.title for each in outcome.methods for title in titles_of(each)}
    titles = outcome.titles(knows_count=KINDS[kind])
    rows = []
    for each in outcome.sets:
        size = f"{len(each.X):,} x {each.X.shape[1]}"
        cells = [
            outcome.failures.get(methods[title], {}).get(each.name)
            or _score_cell(outcome.scores[title][each.name])
            for title in titles
        ]
        rows.append([each.name, each.half, size, ", ".join(map(str, each.counts)), *cells])
    return ["data set", "half", "n x d", "k", *titles], rows


def _score_cell(cell: Score) -> str:
    return f"{cell.ari:.3f}, {cell.ami:.3f}, {cell.found} of {cell.clusters}, {cell.seconds:.2g} s"


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
            f"Found: a cluster overlaps the true one by more than {OVERLAP:.0%} of their union.",
            "Every method runs with its defaults, on one thread; seconds are CPU time.",
            "The strongest is the best of all other packages, by each measure.",
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
        means = [group for group in report.groups if group in (ALL, *HALVES)]
        found += [means_table(report, group, kind) for group in means for kind in KINDS]
        found += [rivals_table(report, kind) for kind in KINDS]
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
            lines += [f"## Every data set, {kind}", ""]
            lines += ["ARI, AMI, true clusters found of those returned, CPU time.", ""]
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
