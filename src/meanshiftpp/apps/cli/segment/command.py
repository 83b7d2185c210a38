"""The command `meanshiftpp segment`: its options, and the table of its results.

As in every command, heavy libraries are imported only when it runs.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from meanshiftpp._support.extras import need
from meanshiftpp._support.files import known_suffix, new_folders
from meanshiftpp._support.text import pluralize
from meanshiftpp.apps.cli.segment.files import Style, Task, plan_jobs
from meanshiftpp.apps.cli.segment.maps import Metres
from meanshiftpp.apps.cli.segment.measure import Measurements
from meanshiftpp.apps.cli.segment.run import Report, Result, run_jobs
from meanshiftpp.apps.cli.shared.console import OPTIONS, duration, print_stderr, report_errors
from meanshiftpp.apps.cli.shared.metres import to_metres
from meanshiftpp.apps.cli.shared.numbers import check_positive, positive_number
from meanshiftpp.apps.cli.shared.options import AsJson, Threads

COLORS_SHOWN = 5


class Space(StrEnum):
    """Colour spaces, as the command line spells them."""

    lab = "lab"
    rgb = "rgb"
    luv = "luv"
    hsv = "hsv"
    none = "none"


def _as_spatial(text: str | None) -> float | None:
    """Convert --spatial to pixels, or to metres on the ground."""
    if text is None:
        return None
    metres = to_metres(text)
    try:
        return positive_number(text) if metres is None else Metres(positive_number(metres))
    except ValueError:
        raise typer.BadParameter(
            f"expected a positive number of pixels, or a length in m or km, such as 200m; "
            f"got {text!r}",
            param_hint="'--spatial'",
        ) from None


def _as_range(text: str | None) -> Any:
    """Convert --range to the parameter `value_range` of `segment`."""
    if text in (None, "image", "dtype"):
        return text
    try:
        low, high = (float(limit) for limit in str(text).split(","))
    except ValueError:
        low, high = 0.0, 0.0
    if not -float("inf") < low < high < float("inf"):
        raise typer.BadParameter(
            f"expected image, dtype or two increasing numbers such as 0,4095; got {text!r}",
            param_hint="'--range'",
        )
    return low, high


def segment(
    photos: Annotated[
        list[Path], typer.Argument(metavar="PHOTO", help="Pictures, videos, or folders of them.")
    ],
    output: Annotated[
        str,
        typer.Option(
            "--output",
            "-o",
            metavar="OUT",
            help="Output file; for several inputs, a folder or a path with {name} in it.",
        ),
    ],
    bandwidth: Annotated[
        float | None,
        typer.Option(
            "--bandwidth",
            "-b",
            metavar="H",
            callback=check_positive,
            help="Cell size, in units of the colour space.",
        ),
    ] = None,
    space: Annotated[
        Space | None, typer.Option(help="Colour space of the comparison; none: raw values.")
    ] = None,
    value_range: Annotated[
        str | None,
        typer.Option(
            "--range",
            metavar="LOW,HIGH",
            help="Values of black and white; image: the range of the values; dtype: of the type.",
        ),
    ] = None,
    clusters: Annotated[
        bool, typer.Option("--clusters", help="Colour clusters instead of connected regions.")
    ] = False,
    spatial: Annotated[
        str | None,
        typer.Option(
            metavar="PX",
            help="Cluster by position too: cell size in pixels, or on the ground, such as 200m.",
        ),
    ] = None,
    detail: Annotated[
        float | None,
        typer.Option(
            metavar="X", callback=check_positive, help="Above 1: more regions; below 1: fewer."
        ),
    ] = None,
    regions: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Number of regions, instead of --detail.")
    ] = None,
    min_size: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Smaller regions join a neighbour.")
    ] = None,
    overlay: Annotated[
        bool, typer.Option("--overlay", help="Draw outlines on the photograph.")
    ] = False,
    labels: Annotated[
        bool,
        typer.Option("--labels", help="Write a label image, from 1: 16-bit .png, or .tif."),
    ] = False,
    palette: Annotated[
        bool,
        typer.Option(
            "--palette",
            help="Draw the colours and their shares, or write them to .ase, .gpl, .css or .json.",
        ),
    ] = False,
    measure: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.csv",
            help="Write area, centroid, box and mean intensities of each region, of all pictures.",
        ),
    ] = None,
    as_json: AsJson = False,
    threads: Threads = None,
) -> None:
    """Segment photographs and videos into regions.

    Draws each region in its mean colour, or writes the output of --overlay, --labels or --palette.
    A file that fails does not stop the others; the exit code is then 1.
    """
    options: dict[str, Any] = {"bandwidth": bandwidth, "n_threads": threads}
    if space:
        options["space"] = None if space is Space.none else str(space)
    region_options = {"spatial": _as_spatial(spatial), "detail": detail, "min_size": min_size}
    region_options = {name: value for name, value in region_options.items() if value is not None}
    wanted = not clusters if regions is None else regions
    style, limits = _style(overlay, labels, palette), _as_range(value_range)
    measurements = None if measure is None else Measurements(measure)
    task = Task(style, wanted, options, region_options, limits, measurements)
    _reject_unused_options(task, "--clusters" if clusters else "")
    with report_errors():
        need("PIL", "image")
        if measure is not None:
            known_suffix(measure, (".csv",))
        jobs, folders = plan_jobs(photos, output, task.style)
        with new_folders(folders):
            report = run_jobs(jobs, task)
    _print_report(report, len(jobs), as_json)
    if report.failed:
        raise typer.Exit(1)


def _style(overlay: bool, labels: bool, palette: bool) -> Style:
    flags = {Style.overlay: overlay, Style.labels: labels, Style.palette: palette}
    chosen = [style for style, flag in flags.items() if flag]
    if len(chosen) > 1:
        names = " and ".join(f"--{style}" for style in chosen)
        raise typer.BadParameter(f"expected one kind of output, got {names}; run one at a time")
    return chosen[0] if chosen else Style.fill


def _reject_unused_options(task: Task, clusters: str) -> None:
    """Raise for options that would have no effect, because they are likely a mistake."""
    used = {OPTIONS[name] for name in task.region_options}
    if not isinstance(task.regions, bool):
        used.add("--regions")
    if task.measurements is not None:
        used.add("--measure")
    unused: set[str] = set()
    if task.style is Style.palette:
        unused = {"--spatial", "--detail", "--regions", "--min-size", "--measure"}
        flag = "--palette"
    elif clusters:
        unused, flag = {"--detail", "--regions", "--min-size"}, clusters
    elif "--regions" in used:
        unused, flag = {"--detail"}, "--regions"
    for option in sorted(unused & used):
        raise typer.BadParameter(f"{option} has no effect with {flag}; leave one of them out")


# -- output ------------------------------------------------------------------------------------


def _print_report(report: Report, n_jobs: int, as_json: bool) -> None:
    if as_json:
        files = [asdict(result) for result in report.results]
        typer.echo(json.dumps({"files": files, "failed": report.failed}))
    elif report.results:
        _print_table(report.results)
    for warning in report.warnings:
        print_stderr(warning)
    for each in report.failed:
        print_stderr(f"error: {each['error']}")
    if report.failed and n_jobs > 1:
        print_stderr(f"{len(report.failed)} of {pluralize(n_jobs, 'file')} failed")


def _print_table(results: list[Result]) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table

    table = Table(box=SIMPLE_HEAD)
    for name in ("file", "size", "found", "time", "written to"):
        is_number = name in ("size", "time")
        table.add_column(name, justify="right" if is_number else "left", no_wrap=is_number)
    for result in results:
        size = " x ".join(map(str, result.size))
        found = pluralize(result.found, result.what.removesuffix("s"))
        if result.frames is not None:
            size += f", {pluralize(result.frames, 'frame')}"
            found += " a frame"
        if result.palette:
            found = "  ".join(each["color"] for each in result.palette[:COLORS_SHOWN])
        name, time = Path(result.file).name, duration(result.seconds)
        table.add_row(name, size, found, time, result.output)
    Console(highlight=False).print(table)
