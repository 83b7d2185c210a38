"""Calibrate the tree of significant clusters with simulated data, and report how often it is wrong.

    python -m benchmarks.calibration             # about ten minutes of one core
    python -m benchmarks.calibration --quick     # small sizes, to check that it runs
    python -m benchmarks.calibration --write     # also write the critical values to the library

A null is data without clusters: blobs, rings, discs, surfaces, lattices. It is split falsely if no
cluster has at least 95 % of its points. The first set of seeds shows which strictness the nulls
would have needed, and the critical values are derived from that. The rates of false splits, and of
right numbers of clusters in mixtures, come from a second set of seeds: with the table in use, and
with the derived one. The outputs are calibration.md and calibration.json.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from rich.console import Console
from rich.progress import Progress

from benchmarks.calibration import cases, derivation, report
from benchmarks.calibration.cases import Case, Mixture
from benchmarks.calibration.report import Report
from benchmarks.calibration.simulation import (
    false_splits,
    needed_strictness,
    right_counts,
    simulate,
)
from benchmarks.common.command_line import add_output_option, command_parser
from benchmarks.common.reporting import print_tables, progress_bar
from meanshiftpp.core.tree import critical

SEEDS, QUICK_SEEDS = 120, 6
DERIVED_FEATURES = (1, 2, 3, 4, 5)  # the last row holds for all higher numbers
DERIVED_SIZES = cases.SIZES[:-1]


class Plan(NamedTuple):
    """The cases of a run."""

    derived: list[Case]
    reported: list[Case]
    mixtures: list[Mixture]


FULL = Plan(
    [*cases.blobs(DERIVED_SIZES, DERIVED_FEATURES), *cases.rings(DERIVED_SIZES)],
    [
        *cases.blobs(cases.SIZES, cases.FEATURES),
        *cases.rings(cases.SIZES),
        *cases.others(cases.SIZES),
        *cases.large_nulls(),
    ],
    [*cases.mixtures((1_000, 10_000)), *cases.mixtures((1_000_000,), (2, 3))],
)
QUICK = Plan(
    [*cases.blobs((100, 300), (1, 2)), *cases.rings((300,))],
    [*cases.blobs((100, 300), (1, 2)), *cases.rings((300,)), *cases.others((100,))],
    [*cases.mixtures((300,), (1, 2))],
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run from the command line and return the exit status."""
    parser = command_parser("calibration", __doc__)
    parser.add_argument("--quick", action="store_true", help="few small cases, in seconds")
    parser.add_argument(
        "--seeds",
        type=int,
        metavar="N",
        help=f"seeds of the cheapest cases ({SEEDS}); dearer ones have fewer",
    )
    parser.add_argument(
        "--write", action="store_true", help="write the derived values to core/tree/critical.py"
    )
    add_output_option(parser)
    options = parser.parse_args(arguments)
    if options.seeds is not None and options.seeds < 1:
        parser.error("--seeds must be positive")
    seeds = options.seeds or (QUICK_SEEDS if options.quick else SEEDS)
    with progress_bar() as bar:
        result = run(QUICK if options.quick else FULL, seeds, bar)
    report.write(result, options.out)
    print_tables(report.tables(result), console := Console())
    for note in report.notes(result):
        console.print(f"- {note}", markup=False, highlight=False)
    if options.write:
        derivation.write(result.derived, Path(critical.__file__))
    return 0


def run(plan: Plan, seeds: int, bar: Progress) -> Report:
    """Derive critical values, then report on new seeds."""
    current = dict(critical.CRITICAL)
    needed = simulate(needed_strictness, plan.derived, seeds, bar)
    derived = derivation.derive(needed, current)
    nulls = simulate(false_splits, plan.reported, seeds, bar, derived)
    mixtures = simulate(right_counts, plan.mixtures, seeds, bar, derived)
    return Report(current, derived, needed, nulls, mixtures)


if __name__ == "__main__":
    raise SystemExit(main())
