"""Options shared by the commands, their parsing, and the first pass over a file."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from meanshiftpp._support.extras import need
from meanshiftpp._support.text import pluralize, split_names
from meanshiftpp.apps.cli.shared.console import first_columns, print_stderr, row_progress
from meanshiftpp.apps.cli.shared.numbers import LENGTHS, check_positive, positive_number
from meanshiftpp.apps.cli.shared.row_options import Rows
from meanshiftpp.errors import InvalidInputError

if TYPE_CHECKING:
    from meanshiftpp.io.checkpoint import Total
    from meanshiftpp.io.sources import Source

PLOT_FORMATS = (".png", ".svg", ".pdf")
MAP_FORMATS = (".gpkg", ".geojson")  # of `io.maps.vectors`, which imports NumPy

Files = Annotated[
    list[Path],
    typer.Argument(
        metavar="FILE...",
        help="Points: .parquet, .csv, .csv.gz, .arrow, .npy, .zarr, .tif, .las or .laz files, "
        "or folders of them.",
    ),
]
Bandwidth = Annotated[
    str | None,
    typer.Option(
        "--bandwidth",
        "-b",
        metavar="H[,H2,...]",
        help="A third of the search window, for all columns or for each; 200m or 2km for longitude "
        "and latitude. Default: none, for clusters that significant valleys separate.",
    ),
]
Strictness = Annotated[
    float | None,
    typer.Option(
        "--strictness",
        metavar="S",
        callback=check_positive,
        help="Multiplies the required depth of a valley: below 1 for more clusters, above for "
        "fewer. Default: 1.",
    ),
]
Columns = Annotated[
    str | None,
    typer.Option(
        metavar="A,B,...",
        help="Columns to use; quote a name with a comma, as in a CSV file. Default: all numeric "
        "columns except identifiers and constants.",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
Threads = Annotated[
    int | None, typer.Option(min=1, metavar="N", help="Number of threads. Default: all cores.")
]
Resolution = Annotated[
    int,
    typer.Option(
        min=1, max=64, metavar="R", help="Cells from the centre of a window to its border."
    ),
]
Periods = Annotated[
    str | None,
    typer.Option(
        "--periodic",
        metavar="P,...",
        help="Period of each column, or - for none; 360,- for longitude and latitude.",
    ),
]
CheckpointFile = Annotated[
    Path | None,
    typer.Option(
        "--checkpoint",
        metavar="FILE",
        help="Save the progress here, to continue after a crash. Removed when done.",
    ),
]
Every = Annotated[
    float,
    typer.Option("--checkpoint-every", min=0, metavar="S", help="Seconds between checkpoints."),
]


def parse_bandwidth(
    text: str, n_features: int | None = None, *, or_lengths: bool = False
) -> float | list[float]:
    """Parse a bandwidth: `0.5` for all features, or `0.5,1,2` with one value for each.

    `or_lengths` tells whether the command accepts lengths, which `metres` parses.
    """
    lengths = f", or {LENGTHS} for longitude and latitude, such as 200m or 2km"
    values = parse_positive_numbers(text, "--bandwidth", n_features, lengths if or_lengths else "")
    return values[0] if len(values) == 1 else values


def parse_positive_numbers(
    text: str, option: str, n_features: int | None = None, alternative: str = ""
) -> list[float]:
    """Parse numbers separated by commas: any number of them, or one or `n_features`.

    The message of an error ends with the `alternative` that the option accepts.
    """
    try:
        values = [positive_number(part) for part in text.split(",")]
    except ValueError:
        values = []
    if not values or (n_features is not None and len(values) not in (1, n_features)):
        number = "one or more" if n_features is None else f"one or {n_features}"
        raise typer.BadParameter(
            f"expected {number} positive numbers, such as 0.5 or 0.5,1,2{alternative}; "
            f"got {text!r}",
            param_hint=f"'{option}'",
        )
    return values


def parse_periods(text: str | None) -> list[float | None] | None:
    """Parse periods: `360,-` is a period of 360 in the first column and none in the second."""
    if text is None:
        return None
    parts = [part.strip() for part in text.split(",")]
    try:
        return [None if part in ("", "-") else positive_number(part) for part in parts]
    except ValueError:
        raise typer.BadParameter(
            f"expected a positive number or - for each column, such as 360,-; got {text!r}",
            param_hint="'--periodic'",
        ) from None


def check_periods(text: str | None, columns: Sequence[str]) -> None:
    """Check that there is a period, or - for none, for each column."""
    if text is not None and len(text.split(",")) != len(columns):
        raise InvalidInputError(
            f"--periodic must have {pluralize(len(columns), 'value')}, a positive number or - for "
            f"each of the columns {', '.join(columns)}; got {text!r}"
        )


def is_map(path: Path) -> bool:
    """Return whether an output is a file of features on a map."""
    return path.suffix.lower() in MAP_FORMATS


def check_plot(path: Path) -> None:
    """Check before a long computation that its plot can be drawn and written."""
    from meanshiftpp._support.files import check_writable, known_suffix

    known_suffix(path, PLOT_FORMATS)
    check_writable(path)
    need("matplotlib", "plot")


def open_source(
    files: Path | list[Path],
    columns: str | None,
    rows: Rows = Rows(),  # noqa: B008 - immutable
    grid: Path | None = None,
) -> Source:
    """Open files of points; if no columns were chosen, report those that are not used.

    The columns of a `grid` are the default, if it has names that the files have.
    """
    from meanshiftpp._support.files import exists
    from meanshiftpp.io.streams import open_points

    names = None if columns is None else _parse_columns(columns)
    _reject_pictures([files] if isinstance(files, Path) else files)
    source = open_points(files, names, **rows._asdict())
    if columns is None and grid is not None and exists(grid):
        from meanshiftpp.core.gridfile import columns_of

        names = columns_of(grid)
        if names is not None and {*names} <= {*source.columns}:
            return open_points(files, names, **rows._asdict())
    if source.left_out:
        texts = [f"{name!r} ({content})" for name, content in source.left_out.items()]
        print_stderr(f"ignored, not numeric: {first_columns(texts)}")
    for name in source.index:
        if name:
            print_stderr(f"ignored, an index of pandas: {name!r}; --columns can select it")
        else:
            print_stderr("ignored, a column without a name; to use it, name it in the first line")
    source.warn_of_no_data()
    return source if columns is not None else _with_features(source)


def _reject_pictures(files: Sequence[Path]) -> None:
    """Raise for pictures and videos, which another command reads."""
    from meanshiftpp._support.files import is_file, suffix_of
    from meanshiftpp.io.streams import FORMATS

    for file in files:
        if suffix_of(file) in FORMATS or not is_file(file):
            continue
        from meanshiftpp.images.picture import PICTURE_FORMATS
        from meanshiftpp.video.frames import is_video

        if suffix_of(file) in PICTURE_FORMATS or is_video(file):
            problem = "is a picture or a video, not a file of points; use meanshiftpp segment"
            raise InvalidInputError.for_file(file, problem)


def _with_features(source: Source) -> Source:
    from meanshiftpp.io.tables.source import TableSource

    if not isinstance(source, TableSource):
        return source
    from meanshiftpp.apps.cli.shared.features import use_features  # imports NumPy

    return use_features(source)


def check_columns(
    path: Path | str,
    columns: Sequence[str] | None,
    other: Path | str,
    expected: Sequence[str] | None,
    *,
    chosen: bool = False,
    advice: str = "select columns in that order with --columns",
) -> None:
    """Raise InvalidInputError if columns differ from those expected.

    Other names are allowed, with a message, if the user chose them (`chosen`) or if one file is an
    array, whose columns have numbers instead of names. `advice` ends the message of the error.
    """
    if columns is None or expected is None or list(columns) == list(expected):
        return
    names, expected_names = ", ".join(columns), ", ".join(expected)
    numbered = [f"x{j}" for j in range(len(expected))] in (list(columns), list(expected))
    if sorted(columns) == sorted(expected) or not (numbered or chosen):
        raise InvalidInputError(
            f"{path} has the columns {names}, but {other} has {expected_names}; {advice}"
        )
    print_stderr(f"{path} has the columns {names}, used as {expected_names} of {other}")


def _parse_columns(text: str) -> list[str]:
    """Parse distinct names separated by commas."""
    try:
        names = split_names(text)
    except ValueError:
        names = []
    if not (names and all(names)) or len({*names}) < len(names):
        raise typer.BadParameter(
            "expected distinct names of columns, such as x,y, or '\"x, m\",y' if a name has a "
            f"comma; got {text!r}",
            param_hint="'--columns'",
        )
    return names


def parse_size(text: str) -> int:
    """Parse a number of bytes: `500M` or `2G`."""
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kMGT]?)i?B?\s*", text, re.IGNORECASE)
    size = float(match[1]) * 1024 ** " kmgt".index(match[2].lower() or " ") if match else math.inf
    if size == math.inf:
        raise typer.BadParameter(
            f"expected a size in bytes, k, M, G or T, such as 500M or 2G; got {text!r}",
            param_hint="'--memory'",
        )
    return int(size)


def free_memory() -> int:
    """Return the bytes of memory that are available, as far as the system reports it."""
    free = 4 << 30
    if hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        free = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    meminfo = Path("/proc/meminfo")
    if meminfo.exists():
        available = re.search(r"MemAvailable:\s*(\d+) kB", meminfo.read_text())
        free = int(available[1]) * 1024 if available else free
    limit = Path("/sys/fs/cgroup/memory.max")  # the limit of a container
    if limit.exists() and (text := limit.read_text().strip()).isdigit():
        free = min(free, int(text))
    return free


def add_points_with_progress(
    source: Source,
    start: Total,
    checkpoint: Path | None,
    every: float,
    n_threads: int | None,
) -> Total:
    """Add the points of a source to an empty grid or tally and show a progress bar."""
    from meanshiftpp.io.streams import add_points

    with row_progress() as bar:
        task = bar.add_task("reading", total=source.rows)
        return add_points(
            source,
            start,
            checkpoint=checkpoint,
            every=every,
            n_threads=n_threads,
            progress=lambda rows: bar.advance(task, rows),
        )
