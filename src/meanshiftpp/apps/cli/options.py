"""What the commands have in common: options, how they are read, the first pass over points."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from meanshiftpp._support.extras import need
from meanshiftpp.apps.cli.console import row_progress, say
from meanshiftpp.errors import InvalidInputError

if TYPE_CHECKING:
    from meanshiftpp._support.checks import Periodic
    from meanshiftpp.core.grid import Grid
    from meanshiftpp.io.sources import Source

COLUMNS_SHOWN = 8
PICTURES = (".png", ".svg", ".pdf")

Files = Annotated[
    list[Path],
    typer.Argument(
        metavar="FILE...",
        help="Points: .parquet, .csv, .csv.gz, .arrow, .npy, .zarr, .tif, .las, .laz; "
        "a folder, or several.",
    ),
]
Bandwidth = Annotated[
    str | None,
    typer.Option(
        "--bandwidth",
        "-b",
        metavar="H[,H2,...]",
        help="Side of a cell, for all columns or for each. Without it, chosen from the data.",
    ),
]
Columns = Annotated[
    str | None,
    typer.Option(metavar="A,B,...", help="Columns to use. Without it, all of numbers."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
Threads = Annotated[
    int | None, typer.Option(min=1, metavar="N", help="Threads. Without it, all cores.")
]
Resolution = Annotated[
    int,
    typer.Option(min=1, max=64, metavar="R", help="Cells from a window's middle to its edge."),
]
Periods = Annotated[
    str | None,
    typer.Option(
        "--periodic",
        metavar="P,...",
        help="Period of each column, - for none: 360,- for longitude and latitude.",
    ),
]
CheckpointFile = Annotated[
    Path | None,
    typer.Option(
        "--checkpoint",
        metavar="FILE",
        help="Save the grid so far and the position here, to go on after a crash. Gone when done.",
    ),
]
Every = Annotated[
    float, typer.Option("--checkpoint-every", min=0, metavar="S", help="Seconds between them.")
]


def read_sides(text: str, option: str = "--bandwidth", features: int | None = None) -> list[float]:
    """Read a bandwidth, or several: `0.5`, or `0.5,1,2`; one or `features` where that is known."""
    try:
        sides = [float(part) for part in text.split(",")]
    except ValueError:
        sides = [math.nan]
    right = features is None or len(sides) in (1, features)
    if not (right and all(math.isfinite(side) and side > 0 for side in sides)):
        many = features or "several"
        raise typer.BadParameter(
            f"expected numbers above 0, one or {many}, as 0.5,1,2; got {text!r}",
            param_hint=f"'{option}'",
        )
    return sides


def read_periods(text: str | None) -> list[float | None] | None:
    """Read periods: `360,-` is one of 360 for the first column, and none for the second."""
    if text is None:
        return None
    try:
        periods = [None if part.strip() in ("", "-") else float(part) for part in text.split(",")]
    except ValueError:
        periods = [math.nan]
    if not all(period is None or 0 < period < math.inf for period in periods):
        raise typer.BadParameter(
            f"expected a number above 0 or - for each column, as 360,-; got {text!r}",
            param_hint="'--periodic'",
        )
    return periods


def check_picture(path: Path) -> None:
    """Refuse a picture that could not be drawn, before the work is done."""
    from meanshiftpp._support.files import check_writable, known_suffix

    known_suffix(path, PICTURES)
    check_writable(path)
    need("matplotlib", "plot")


def open_source(files: Path | list[Path], columns: str | None) -> Source:
    """Open files of points, and say which columns are left out where none were asked for."""
    from meanshiftpp.io.streams import open_points

    source = open_points(files, None if columns is None else _names(columns))
    if source.left_out:
        shown = [f"{name!r} ({what})" for name, what in source.left_out.items()]
        rest = f" and {len(shown) - COLUMNS_SHOWN} more" if len(shown) > COLUMNS_SHOWN else ""
        say(f"left out, not numbers: {', '.join(shown[:COLUMNS_SHOWN])}{rest}")
    for name in source.index:
        if name:
            say(f"left out, the names of rows of pandas: {name!r}; --columns takes it")
        else:
            say("left out, a column without a name: name it in the first line to take it")
    return source


def same_columns(
    path: Path | str,
    columns: Sequence[str] | None,
    other: Path | str,
    expected: Sequence[str] | None,
    *,
    asked_for: bool = False,
) -> None:
    """Refuse other columns than expected; with other names, unless they were asked for.

    Columns of arrays are only counted, and may stand for any.
    """
    if columns is None or expected is None or list(columns) == list(expected):
        return
    here, there = ", ".join(columns), ", ".join(expected)
    numbered = [f"x{j}" for j in range(len(expected))] in (list(columns), list(expected))
    if sorted(columns) == sorted(expected) or not (numbered or asked_for):
        raise InvalidInputError(
            f"{path} has the columns {here}, but {other} has {there}; "
            "--columns names those to take, in order"
        )
    say(f"{path} has the columns {here}, taken for {there} of {other}")


def _names(text: str) -> list[str]:
    """Read names with commas between them."""
    names = [name.strip() for name in text.split(",")]
    if not all(names) or len({*names}) < len(names):
        raise typer.BadParameter(
            f"expected names of columns, each once, as x,y; got {text!r}", param_hint="'--columns'"
        )
    return names


def read_bytes(text: str) -> int:
    """Read a size: `500M`, or `2G`."""
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kMGT]?)i?B?\s*", text, re.IGNORECASE)
    if not match:
        raise typer.BadParameter(
            f"expected a size as 500M or 2G, got {text!r}", param_hint="'--memory'"
        )
    return int(float(match[1]) * 1024 ** " kmgt".index(match[2].lower() or " "))


def free_memory() -> int:
    """Say how much memory could be used now, as far as the system tells."""
    free = 4 << 30
    if hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        free = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    meminfo = Path("/proc/meminfo")
    if meminfo.exists():
        available = re.search(r"MemAvailable:\s*(\d+) kB", meminfo.read_text())
        free = int(available[1]) * 1024 if available else free
    limit = Path("/sys/fs/cgroup/memory.max")  # of a container
    if limit.exists() and (text := limit.read_text().strip()).isdigit():
        free = min(free, int(text))
    return free


def first_pass(
    source: Source,
    bandwidth: Any,
    periods: Periodic,
    checkpoint: Path | None,
    every: float,
    threads: int | None,
) -> Grid:
    """Build the grid of a source, with a bar."""
    from meanshiftpp.io.streams import build_grid

    with row_progress() as bar:
        task = bar.add_task("binning", total=source.rows)
        return build_grid(
            source,
            bandwidth,
            periodic=periods,
            checkpoint=checkpoint,
            every=every,
            n_threads=threads,
            progress=lambda rows: bar.advance(task, rows),
        )
