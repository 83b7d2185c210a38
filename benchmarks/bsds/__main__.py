"""Compare segmentations of BSDS500 with human drawings: ours, the paper's, and the peers'.

    python -m benchmarks.bsds DATA_DIR              # everything, about 40 minutes on two cores
    python -m benchmarks.bsds DATA_DIR --limit 12   # to check that it runs

Every method with settings runs with all settings of its grid on every eighth photograph; the
setting with the highest mean of ARI, Fowlkes-Mallows and covering then runs on all photographs.
`segment` runs with its defaults. Then all methods take turns for their times. Scores are kept, so
a second run computes only the missing ones. The outputs are bsds.md, bsds.json, bsds.png (wins and
losses) and bsds_sheet.png (a contact sheet).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from benchmarks.bsds import plots, report
from benchmarks.bsds.evaluation import run
from benchmarks.bsds.photos import load
from benchmarks.common.command_line import add_output_option, command_parser
from benchmarks.common.reporting import print_tables


def main(arguments: Sequence[str] | None = None) -> int:
    """Run from the command line and return the exit status."""
    parser = command_parser("bsds", __doc__)
    parser.add_argument(
        "data", type=Path, metavar="DATA_DIR", help="folder with images/ and groundTruth/"
    )
    parser.add_argument("--limit", type=int, metavar="N", help="only N photographs")
    parser.add_argument("--jobs", type=int, default=2, help="processes (2)")
    add_output_option(parser)
    options = parser.parse_args(arguments)
    if min(options.jobs, options.limit or 1) < 1:
        parser.error("--jobs and --limit must be at least 1")
    try:
        photos = load(options.data, options.limit)
    except FileNotFoundError as error:
        parser.error(str(error))
    outcome = run(photos, options.jobs, options.out)
    report.write(outcome, options.out)
    plots.draw_wins(outcome, options.out / "bsds.png")
    plots.draw_contact_sheet(outcome, options.out / "bsds_sheet.png")
    print_tables(report.tables(outcome), Console())
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
