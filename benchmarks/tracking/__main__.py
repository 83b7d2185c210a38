"""Trackers on sequences with a box for every frame: ours, the paper's Algorithm 3, and OpenCV's.

    python -m benchmarks.tracking DATA_DIR                      # all, some minutes for CSRT
    python -m benchmarks.tracking DATA_DIR --only Bird2 Couple  # to see that it runs
    python -m benchmarks.tracking DATA_DIR --backwards --out DIR  # from the last frames on

One pass over every sequence from the truth of its first frame, one setting for all. A track is
kept in a journal with what it depends on, so that a second run only does what is missing. Then a
race: a window of 100 x 100 in frames of 640 x 480, in turns, on one thread. It writes tracking.md,
tracking.json, tracking.png (curves and bars) and strips/NAME.jpg (to look at). Backwards, the
sequences are other films with other beginnings, if not independent ones.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from benchmarks.common import RESULTS
from benchmarks.common.shown import show
from benchmarks.tracking import plots, report
from benchmarks.tracking.data import load
from benchmarks.tracking.evaluation import run


def main(arguments: Sequence[str] | None = None) -> int:
    """Run from the command line; give the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.tracking",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("data", type=Path, metavar="DATA_DIR", help="has a folder a sequence")
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME", help="some sequences")
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder for the results")
    parser.add_argument("--backwards", action="store_true", help="play from the last frames on")
    parser.add_argument("--no-race", action="store_true", help="leave the race out")
    given = parser.parse_args(arguments)
    try:
        films = load(given.data, given.only, given.backwards)
    except (FileNotFoundError, ValueError) as error:
        parser.error(str(error))
    outcome = run(films, given.out, not given.no_race)
    report.write(outcome, given.out)
    plots.overview(outcome, given.out / "tracking.png")
    plots.strips(outcome, given.out / "strips")
    show(report.tables(outcome), Console())
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
