"""Calibrate the tree of significant clusters with simulated data, and report how often it is wrong.

    python -m benchmarks.calibration                 # derive critical values, then report
    python -m benchmarks.calibration --rates         # report on the values in use
    python -m benchmarks.calibration --rates --processes 16 --minutes 8
    python -m benchmarks.calibration --quick         # small sizes, to check that it runs
    python -m benchmarks.calibration --write         # also write the critical values to the library

A null is data without clusters: blobs, rings, discs, surfaces, lattices. It is split falsely if no
cluster has at least 95 % of its points. The first set of seeds shows which strictness the nulls
would have needed, and the critical values are derived from that. The rates of false splits, and of
right numbers of clusters in mixtures, come from another set of seeds: with the table in use, and
with the derived one. Large data has fewer seeds. Results are kept, so a run that was stopped, or
that had too few minutes, continues. The outputs are calibration.md and calibration.json; the table
of the documentation is also printed.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from time import monotonic
from typing import NamedTuple

from rich.console import Console

from benchmarks.calibration import cases, derivation, report
from benchmarks.calibration.cases import Case, Mixture
from benchmarks.calibration.report import Report
from benchmarks.calibration.simulation import (
    Outcome,
    Simulation,
    clusters_found,
    needed_strictness,
)
from benchmarks.common.command_line import add_output_option, command_parser
from benchmarks.common.machine import cores
from benchmarks.common.reporting import print_tables, progress_bar
from benchmarks.common.result_cache import ResultCache
from meanshiftpp.core.tree import critical

SEEDS, QUICK_SEEDS = 200, 6
CACHE = "calibration_results.jsonl"


class Plan(NamedTuple):
    """The cases of a run."""

    derived: list[Case]
    reported: list[Case]
    mixtures: list[Mixture]


FULL = Plan(
    [*cases.blobs(cases.SMALL[:-1], cases.FEATURES), *cases.rings(cases.SMALL[:-1])],
    [
        *cases.blobs(cases.SIZES, cases.FEATURES),
        *cases.blobs(cases.SMALL, (6,)),
        *cases.rings(cases.SIZES),
        *cases.solids(cases.SIZES),
        *cases.others(cases.SMALL),
    ],
    [
        *cases.mixtures((1_000, 10_000)),
        *cases.mixtures((1_000_000,), (2, 3)),
        *cases.close_pairs(cases.SIZES[3:]),
    ],
)
QUICK = Plan(
    [*cases.blobs((100, 300), (1, 2)), *cases.rings((300,))],
    [*cases.blobs((100, 300), (1, 2)), *cases.rings((300,)), *cases.others((100,))],
    [*cases.mixtures((300,), (1, 2)), *cases.close_pairs((1_000,), (2,))],
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run from the command line and return the exit status."""
    parser = make_parser()
    options = parser.parse_args(arguments)
    positive = (options.seeds, options.processes, options.minutes)
    if any(value is not None and value <= 0 for value in positive):
        parser.error("--seeds, --processes and --minutes must be positive")
    if options.rates and options.write:
        parser.error("--rates derives no values that --write could write")
    result = run(QUICK if options.quick else FULL, options)
    report.write(result, options.out)
    print_tables(report.tables(result), console := Console())
    for line in (*(f"- {note}" for note in report.notes(result)), "", *report.page_table(result)):
        console.print(line, markup=False, highlight=False, soft_wrap=True)
    if options.write:
        derivation.write(result.derived, Path(critical.__file__))
    return 0


def make_parser() -> argparse.ArgumentParser:
    parser = command_parser("calibration", __doc__)
    parser.add_argument("--quick", action="store_true", help="few small cases, in seconds")
    parser.add_argument("--rates", action="store_true", help="only report on the values in use")
    parser.add_argument(
        "--seeds",
        type=int,
        metavar="N",
        help=f"seeds of the cheapest cases ({SEEDS}); dearer ones have fewer",
    )
    parser.add_argument(
        "--processes", type=int, default=cores(), metavar="N", help=f"at a time ({cores()})"
    )
    parser.add_argument(
        "--minutes", type=float, metavar="T", help="start no tree of the report after T minutes"
    )
    parser.add_argument(
        "--write", action="store_true", help="write the derived values to core/tree/critical.py"
    )
    add_output_option(parser)
    return parser


def run(plan: Plan, options: argparse.Namespace) -> Report:
    """Derive critical values unless the options say otherwise, then report on new seeds."""
    deadline = monotonic() + 60 * (options.minutes or float("inf"))
    seeds = options.seeds or (QUICK_SEEDS if options.quick else SEEDS)
    current = dict(critical.CRITICAL)
    with progress_bar() as bar:
        runner = Simulation(seeds, options.processes, ResultCache(options.out / CACHE), bar)
        needed = {} if options.rates else runner.run(needed_strictness, plan.derived)
        derived = derivation.derive(needed, current)
        drawn = [*plan.reported, *plan.mixtures]
        found = runner.run(clusters_found, drawn, derived, deadline=deadline)
    outcomes = {case: [*map(Outcome.of_stored, values)] for case, values in found.items()}
    nulls = {case: outcomes[case] for case in plan.reported if case in outcomes}
    mixtures = {case: outcomes[case] for case in plan.mixtures if case in outcomes}
    return Report(current, derived, needed, nulls, mixtures)


if __name__ == "__main__":
    raise SystemExit(main())
