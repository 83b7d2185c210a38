"""Segmentations of BSDS500 held against what people drew: ours, the paper's own, and the peers.

    python -m benchmarks.bsds DATA_DIR              # all of it, about forty minutes on two cores
    python -m benchmarks.bsds DATA_DIR --limit 12   # to see that it runs

Every method with settings is tried with all of its grid on every eighth photograph; the one with
the highest mean of ARI, Fowlkes-Mallows and covering is then run on all of them. `segment` runs as
it ships. Then all take turns for their times. What was computed is kept: a second run only does
what is missing. It writes bsds.md, bsds.json, bsds.png (who wins) and bsds_sheet.png (to look at).
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from benchmarks.bsds import plots, report
from benchmarks.bsds.evaluation import run
from benchmarks.bsds.photos import load
from benchmarks.common import RESULTS
from benchmarks.common.shown import show


def main(arguments: Sequence[str] | None = None) -> int:
    """Run from the command line; give the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.bsds",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("data", type=Path, metavar="DATA_DIR", help="has images/ and groundTruth/")
    parser.add_argument("--limit", type=int, metavar="N", help="only N of the photographs")
    parser.add_argument("--jobs", type=int, default=2, help="processes (2)")
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder for the results")
    given = parser.parse_args(arguments)
    if min(given.jobs, given.limit or 1) < 1:
        parser.error("--jobs and --limit must be at least 1")
    try:
        photos = load(given.data, given.limit)
    except FileNotFoundError as error:
        parser.error(str(error))
    outcome = run(photos, given.jobs, given.out)
    report.write(outcome, given.out)
    plots.wins(outcome, given.out / "bsds.png")
    plots.sheet(outcome, given.out / "bsds_sheet.png")
    show(report.tables(outcome), Console())
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
