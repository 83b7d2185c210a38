"""The report: tables for the screen and for Markdown, JSON with every case."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.calibration.cases import (
    BLOBS,
    CLOSE,
    LATTICES,
    RINGS,
    SOLIDS,
    SURFACES,
    Case,
    Mixture,
)
from benchmarks.calibration.derivation import MAX_BLOBS, MAX_RINGS, Needed, quantile
from benchmarks.calibration.rates import Rate
from benchmarks.calibration.simulation import LOOSEST, STRICTEST, Found, Outcome
from benchmarks.calibration.simulation import Table as CriticalTable
from benchmarks.common import machine
from benchmarks.common.reporting import Table, machine_table, markdown_table, write_report

WORST = 12  # cells listed
SHARES = (0.5, 0.9, 0.98)  # quantiles of the needed strictness
NAMES = ("now", "derived")
LIMITS = {BLOBS: {}, RINGS: MAX_RINGS, SOLIDS: MAX_RINGS, SURFACES: MAX_RINGS, LATTICES: {}}


@dataclass(frozen=True)
class Report:
    """Everything that is printed and written."""

    current: CriticalTable
    derived: CriticalTable
    needed: Needed
    nulls: Mapping[Case, Sequence[Outcome]]
    mixtures: Mapping[Mixture, Sequence[Outcome]]
    facts: dict[str, str] = field(default_factory=machine.describe)


def rates_of(outcomes: Iterable[Outcome], event: Callable[[Found], bool]) -> tuple[Rate, Rate]:
    """Return the rates of an event with the table in use and with the derived one."""
    now, derived = zip(*outcomes, strict=True)
    return Rate(sum(map(event, now)), len(now)), Rate(sum(map(event, derived)), len(derived))


def is_split(found: Found) -> bool:
    """Return whether a null is split falsely."""
    return not found.is_whole


def split_rates(outcomes: Iterable[Outcome]) -> tuple[Rate, Rate]:
    return rates_of(outcomes, is_split)


def right_rates(mixture: Mixture, outcomes: Iterable[Outcome]) -> tuple[Rate, Rate]:
    """Return the rates of as many clusters as Gaussians."""
    return rates_of(outcomes, lambda found: found.clusters == mixture.k)


def limit_of(family: str, d: int) -> float:
    """Return the rate of false splits that is aimed at."""
    return LIMITS[family].get(d, MAX_BLOBS)


# -- tables ----------------------------------------------------------------------------------------


def critical_table(report: Report) -> Table:
    rows = []
    for d in sorted(report.current.keys() | report.derived.keys()):
        tables = (report.current, report.derived)
        before, after = (table[min(d, max(table))] for table in tables)
        rows.append([str(d), *(f"{a:g} -> {b:g}" for a, b in zip(before, after, strict=True))])
    return ["critical values, d", "line", "plane", "slope", "least"], rows


def summary_table(report: Report) -> Table:
    """Return the rate of every family and number of features, over all laws and sizes."""
    rows = []
    for family, d in sorted({(case.family, case.d) for case in report.nulls}):
        members = [case for case in report.nulls if (case.family, case.d) == (family, d)]
        rates = split_rates(each for case in members for each in report.nulls[case])
        limit = limit_of(family, d)
        verdicts = ["" if rate.share <= limit else "missed" for rate in rates]
        cells = [x for pair in zip(map(str, rates), verdicts, strict=True) for x in pair]
        rows.append([f"{family}, d = {d}", str(rates[0].seeds), f"{limit:.0%}", *cells])
    return ["false splits in %", "seeds", "limit", "now", "", "derived", ""], rows


def nulls_table(report: Report, which: int) -> Table:
    """Return the rate of false splits of every law and size."""
    cells = {(c.name, c.n): split_rates(each)[which] for c, each in report.nulls.items()}
    return _by_size(f"false splits in %, {NAMES[which]}", cells)


def mixtures_table(report: Report, which: int) -> Table:
    """Return the rate of right numbers of clusters of every mixture."""
    cells = {(m.name, m.n): right_rates(m, each)[which] for m, each in report.mixtures.items()}
    return _by_size(f"right k in %, {NAMES[which]}", cells)


def needed_table(report: Report) -> Table:
    """Return quantiles of the strictness that the nulls of each law needed, all sizes alike."""
    laws: dict[str, list[Sequence[float]]] = {}
    for case, sample in report.needed.items():
        laws.setdefault(case.name, []).append(sample)
    rows = [
        [name, str(sum(map(len, samples))), *(_needed(quantile(samples, x)) for x in SHARES)]
        for name, samples in laws.items()
    ]
    return ["needed strictness", "seeds", *(f"{share:.0%}" for share in SHARES)], rows


def worst_table(report: Report) -> Table:
    """Return the cells with the highest rates, relative to their limit."""
    found = {case: split_rates(each) for case, each in report.nulls.items()}

    def excess(case: Case) -> float:
        return max(rate.share for rate in found[case]) / limit_of(case.family, case.d)

    rows = []
    for case in sorted(filter(excess, found), key=excess, reverse=True)[:WORST]:
        limit = limit_of(case.family, case.d)
        rows.append([str(case), str(found[case][0].seeds), *map(str, found[case]), f"{limit:.0%}"])
    return ["worst cells, false splits in %", "seeds", *NAMES, "limit"], rows


def page_table(report: Report) -> list[str]:
    """Return the Markdown table of the documentation: right numbers of clusters, in %."""
    rates: dict[tuple[str, int], Rate] = {}
    blobs: dict[tuple[str, int], list[Outcome]] = {}
    for case, each in report.nulls.items():
        if case.family in (BLOBS, RINGS, SOLIDS):
            rates[case.name, case.n] = one_rate(each)
        if case.family == BLOBS:
            blobs.setdefault(("all blobs", case.n), []).extend(each)
    rates |= {cell: one_rate(each) for cell, each in blobs.items()}
    for mixture, each in report.mixtures.items():
        if mixture.separation == CLOSE:
            rates[mixture.name, mixture.n], _ = right_rates(mixture, each)
    return markdown_table(_by_size("right k in % (seeds)", rates, lambda rate: rate.short))


def one_rate(outcomes: Iterable[Outcome]) -> Rate:
    """Return the rate of exactly one cluster with the table in use."""
    return rates_of(outcomes, lambda found: found.clusters == 1)[0]


def _by_size(
    corner: str, cells: Mapping[tuple[str, int], Rate], text: Callable[[Rate], str] = str
) -> Table:
    sizes = sorted({n for _, n in cells})
    rows = [
        [name, *(text(cells[name, n]) if (name, n) in cells else "" for n in sizes)]
        for name in dict.fromkeys(name for name, _ in cells)
    ]
    return [corner, *(f"{n:,}" for n in sizes)], rows


def _needed(value: float) -> str:
    if value <= LOOSEST:
        return f"<= {LOOSEST:g}"
    return f"{value:.2f}" if value < STRICTEST else f">= {STRICTEST:g}"


def tables(report: Report) -> list[Table]:
    both: Sequence[int] = range(len(NAMES)) if report.derived != report.current else (0,)
    parts: list[Callable[[Report, int], Table]] = [nulls_table, mixtures_table]
    return [
        *([needed_table(report)] if report.needed else []),
        *(part(report, which) for part in parts for which in both),
        summary_table(report),
        worst_table(report),
        *([critical_table(report)] if report.needed else []),
    ]


def notes(report: Report) -> list[str]:
    return [
        "A null is split falsely if no cluster has 95 % of its points. In brackets: the 95 % "
        "interval (Wilson).",
        "The needed strictness and the derived values come from one set of seeds, all rates from "
        "another.",
        "now: the critical values in use. derived: those that keep the rate of every law at "
        f"{MAX_BLOBS:.0%} for blobs and at "
        + " and ".join(f"{limit:.0%} (d = {d})" for d, limit in MAX_RINGS.items())
        + " for rings.",
        "Mixtures are unit Gaussians; the distance is that of the nearest neighbour.",
        "The table of the documentation counts a null as right only if it is exactly one cluster.",
    ]


# -- output ----------------------------------------------------------------------------------------


def markdown(report: Report) -> str:
    lines = ["# Calibration of the tree", "", *page_table(report), ""]
    for table in tables(report):
        lines += [*markdown_table(table), ""]
    lines += [*(f"- {note}" for note in notes(report)), ""]
    return "\n".join([*lines, *markdown_table(machine_table(report.facts))]) + "\n"


def as_json(report: Report) -> dict[str, Any]:
    return {
        "machine": report.facts,
        "notes": notes(report),
        "critical": {"now": report.current, "derived": report.derived},
        "needed": {str(case): sorted(sample) for case, sample in report.needed.items()},
        "false splits": {str(c): _as_json(split_rates(each)) for c, each in report.nulls.items()},
        "right counts": {
            str(m): _as_json(right_rates(m, each)) for m, each in report.mixtures.items()
        },
    }


def _as_json(both: tuple[Rate, Rate]) -> dict[str, Any]:
    rates = dict(zip(NAMES, both, strict=True))
    return {name: rate._asdict() | {"interval": rate.interval} for name, rate in rates.items()}


def write(report: Report, folder: Path) -> None:
    write_report(folder, "calibration", markdown(report), as_json(report))
