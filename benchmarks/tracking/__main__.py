"""Compare trackers on sequences with a box for every frame: ours, Algorithm 3, and OpenCV's.

    python -m benchmarks.tracking DATA_DIR                      # all; CSRT takes some minutes
    python -m benchmarks.tracking DATA_DIR --only Bird2 Couple  # to check that it runs
    python -m benchmarks.tracking DATA_DIR --nano BACKBONE HEAD --dasiamrpn MODEL CLS1 R1
    python -m benchmarks.tracking DATA_DIR --backwards --out DIR  # play from the last frame

Every tracker makes one pass over every sequence, from the true box of its first frame, with the
same settings for all, and one that starts again after each failure, as in VOT. Tracks are kept in a
file with everything that they depend on, so a second run computes only the missing ones. Then the
trackers take turns for their times: a window of 100 x 100 in frames of 640 x 480, on one thread.
The outputs are tracking.md, tracking.json, tracking.png (curves and bars) and strips/NAME.jpg
(frames with boxes). Played backwards, the sequences have other first frames, but they are not
independent data.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from benchmarks.common.command_line import add_output_option, command_parser
from benchmarks.common.reporting import print_tables
from benchmarks.tracking import plots, report
from benchmarks.tracking.evaluation import run
from benchmarks.tracking.sequences import load
from benchmarks.tracking.trackers import NETWORKS, contenders, network_tracker


def main(arguments: Sequence[str] | None = None) -> int:
    """Run from the command line and return the exit status."""
    parser = command_parser("tracking", __doc__)
    parser.add_argument(
        "data", type=Path, metavar="DATA_DIR", help="folder with a subfolder for each sequence"
    )
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME", help="some sequences")
    add_output_option(parser)
    parser.add_argument("--backwards", action="store_true", help="play from the last frame")
    parser.add_argument("--no-race", action="store_true", help="skip the timing in turns")
    for name, files in NETWORKS.items():
        names = tuple(field.upper() for field in files)
        parser.add_argument(
            f"--{name.lower()}",
            nargs=len(files),
            type=Path,
            metavar=names,
            help=f"the ONNX files of OpenCV's {name} tracker",
        )
    options = parser.parse_args(arguments)
    try:
        sequences = load(options.data, options.only, options.backwards)
        trackers = dict(contenders())
        for name in NETWORKS:
            if files := getattr(options, name.lower()):
                trackers[name] = network_tracker(name, files)
    except (FileNotFoundError, ValueError) as error:
        parser.error(str(error))
    outcome = run(sequences, trackers, options.out, take_times=not options.no_race)
    report.write(outcome, options.out)
    plots.draw_overview(outcome, options.out / "tracking.png")
    plots.draw_strips(outcome, options.out / "strips")
    print_tables(report.tables(outcome), Console())
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
