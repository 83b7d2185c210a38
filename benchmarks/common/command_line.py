"""The argument parser of the commands `python -m benchmarks.NAME`."""

from __future__ import annotations

import argparse
from pathlib import Path

from benchmarks.common import RESULTS


def command_parser(name: str, description: str | None) -> argparse.ArgumentParser:
    """Return a parser for `python -m benchmarks.NAME` whose help keeps the description's lines."""
    return argparse.ArgumentParser(
        prog=f"python -m benchmarks.{name}",
        description=description,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )


def add_output_option(parser: argparse.ArgumentParser, *flags: str) -> None:
    """Add the option for the folder of the results, `--out` unless other flags are passed."""
    names = flags or ("--out",)
    parser.add_argument(*names, type=Path, default=RESULTS, help="folder for the results")
