"""Score clusterings against reference labellings, with and without the number of clusters.

    python -m benchmarks.clustering DATA                             # both halves, side by side
    python -m benchmarks.clustering DATA --half choose --methods ours plscan
    python -m benchmarks.clustering --generated                      # 1e6 and 1e7 points, no DATA
    python -m benchmarks.clustering --generated bump --seeds 0 1 2 --methods ours
    python -m benchmarks.clustering --times                          # 1e4 to 1e7 points, no DATA

DATA has a folder for each battery with NAME.data.gz and NAME.labels0.gz, NAME.labels1.gz, ... The
best of the reference labellings counts, and points that it marks as noise (0) are left out. Choose
settings on the half `choose`; the half `report` is for figures that no choice has seen. The halves
are mixed only by `--half all`. Data sets of more than 20,000 points, and those that are generated,
have a line each. Scores are kept, so a second run computes only the missing ones: after a change of
the library, only ours. The outputs are clustering.md and clustering.json.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from benchmarks.clustering import evaluation, report, timing
from benchmarks.clustering.generated import GENERATED, draw
from benchmarks.clustering.methods import METHODS, Method
from benchmarks.clustering.report import ALL, Report
from benchmarks.clustering.suite import HALVES, DataSet, load
from benchmarks.common.command_line import add_output_option, command_parser
from benchmarks.common.reporting import print_tables, progress_bar

SCORE_LIMIT, TIME_LIMIT = 300.0, 120.0


def main(arguments: Sequence[str] | None = None) -> int:
    """Run from the command line and return the exit status."""
    parser = make_parser()
    options = parser.parse_args(arguments)
    if options.data is None and options.generated is None and not options.times:
        parser.error("expected DATA, --generated, --times or several of them")
    if min(options.max_points or 1, options.max_timed) < 1 or (options.limit or 1) <= 0:
        parser.error("--max-points, --max-timed and --limit must be positive")
    try:
        result = run(options, [METHODS[key] for key in options.methods])
    except (FileNotFoundError, ValueError) as error:
        parser.error(str(error))
    report.write(result, options.out)
    print_tables(report.tables(result), console := Console())
    for note in report.notes(result):
        console.print(f"- {note}", markup=False, highlight=False)
    return 0


def make_parser() -> argparse.ArgumentParser:
    parser = command_parser("clustering", __doc__)
    parser.add_argument("data", type=Path, nargs="?", metavar="DATA", help="folder of batteries")
    parser.add_argument("--half", choices=(*HALVES, ALL), help="one half, or both in one mean")
    add_method_option(parser)
    parser.add_argument(
        "--generated",
        nargs="*",
        choices=GENERATED,
        metavar="NAME",
        help=f"also draw data: all or some of {', '.join(GENERATED)}",
    )
    parser.add_argument("--seeds", type=int, nargs="+", default=[0], help="of the drawn data (0)")
    parser.add_argument(
        "--max-points", type=int, metavar="N", help="leave out larger data sets of DATA"
    )
    parser.add_argument("--times", action="store_true", help="also measure times")
    parser.add_argument(
        "--max-timed",
        type=float,
        default=timing.SIZES[-1],
        metavar="N",
        help=f"the largest array that is timed ({timing.SIZES[-1]:.0e})",
    )
    parser.add_argument(
        "--limit",
        type=float,
        metavar="SECONDS",
        help=f"time limit of a call ({SCORE_LIMIT:g} for scores, {TIME_LIMIT:g} for times)",
    )
    add_output_option(parser)
    return parser


def add_method_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--methods",
        nargs="+",
        choices=METHODS,
        default=list(METHODS),
        metavar="NAME",
        help=f"some of: {', '.join(METHODS)}",
    )


def run(options: argparse.Namespace, methods: Sequence[Method]) -> Report:
    """Score the methods, measure their times, or both."""
    outcome, timings = None, []
    sets, too_large = data_sets(options)
    with progress_bar() as bar:
        if sets:
            limit = options.limit or SCORE_LIMIT
            outcome = evaluation.run(sets, methods, options.out, limit, bar)
        if options.times:
            sizes = [n for n in timing.SIZES if n <= options.max_timed]
            timings = timing.measure(methods, sizes, options.limit or TIME_LIMIT, bar)
    return Report(outcome, options.half, too_large, timings)


def data_sets(options: argparse.Namespace) -> tuple[list[DataSet], list[str]]:
    """Return the data sets of the folder and generated ones, and the names of those left out."""
    sets: list[DataSet] = []
    too_large: list[str] = []
    if options.data is not None:
        half = None if options.half == ALL else options.half
        sets, too_large = load(options.data, half, options.max_points)
        if not sets:
            raise ValueError(f"expected data sets of at most {options.max_points} points")
    if options.generated is not None:
        names = options.generated or GENERATED
        sets += [draw(name, seed) for name in names for seed in options.seeds]
    return sets, too_large


if __name__ == "__main__":
    raise SystemExit(main())
