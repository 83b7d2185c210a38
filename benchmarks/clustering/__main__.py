"""Score clusterings of Gagolewski's benchmark suite, with and without the number of clusters.

    python -m benchmarks.clustering DATA                             # both halves, side by side
    python -m benchmarks.clustering DATA --half choose --methods ours plscan
    python -m benchmarks.clustering --times                          # 1e4 to 1e7 points, no DATA

DATA has a folder for each battery with NAME.data.gz and NAME.labels0.gz, NAME.labels1.gz, ... The
best of the reference labellings counts, and points that it marks as noise (0) are left out. Choose
settings on the half `choose`; the half `report` is for figures that no choice has seen. The halves
are mixed only by `--half all`. Scores are kept, so a second run computes only the missing ones. The
outputs are clustering.md and clustering.json.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from benchmarks.clustering import evaluation, report, timing
from benchmarks.clustering.methods import METHODS, Method
from benchmarks.clustering.report import ALL, Report
from benchmarks.clustering.suite import HALVES, load
from benchmarks.common.command_line import add_output_option, command_parser
from benchmarks.common.reporting import print_tables, progress_bar

MAX_POINTS, SCORE_LIMIT, TIME_LIMIT = 20_000, 300.0, 120.0


def main(arguments: Sequence[str] | None = None) -> int:
    """Run from the command line and return the exit status."""
    parser = make_parser()
    options = parser.parse_args(arguments)
    if options.data is None and not options.times:
        parser.error("expected DATA, --times or both")
    if min(options.max_points, options.max_timed) < 1 or (options.limit or 1) <= 0:
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
        "--max-points",
        type=int,
        default=MAX_POINTS,
        metavar="N",
        help=f"leave out larger data sets ({MAX_POINTS})",
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
    outcome, too_large, timings = None, [], []
    with progress_bar() as bar:
        if options.data is not None:
            half = None if options.half == ALL else options.half
            sets, too_large = load(options.data, half, options.max_points)
            if not sets:
                raise ValueError(f"expected data sets of at most {options.max_points} points")
            limit = options.limit or SCORE_LIMIT
            outcome = evaluation.run(sets, methods, options.out, limit, bar)
        if options.times:
            sizes = [n for n in timing.SIZES if n <= options.max_timed]
            timings = timing.measure(methods, sizes, options.limit or TIME_LIMIT, bar)
    return Report(outcome, options.half, too_large, timings)


if __name__ == "__main__":
    raise SystemExit(main())
