"""The command `sweep`: clusterings of a file at many bandwidths, as a table and a picture."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass, field
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated

import typer

from meanshiftpp.apps.cli.console import counted, duration, errors_in_words, say, status
from meanshiftpp.apps.cli.options import (
    AsJson,
    Columns,
    Resolution,
    Threads,
    check_picture,
    open_source,
    read_sides,
)

if TYPE_CHECKING:
    from meanshiftpp.bandwidth.sweep import Sweep
    from meanshiftpp.io.sources import Source

SIDES_SHOWN = 2  # bandwidths in a line of the table


@dataclass
class Entry:
    """One bandwidth of a sweep: `steps` times the smallest side of each column.

    `sizes` are those of the clusters of 1 % or more.
    """

    bandwidth: list[float]
    steps: int
    clusters: int
    sizes: list[int]
    stability: float | None
    iterations: int
    converged: bool


@dataclass
class Report:
    """What a sweep found, for people and for machines."""

    file: str
    columns: list[str]
    points: int
    cells: int
    entries: list[Entry]
    best: int
    seconds: dict[str, float] = field(default_factory=dict)
    plot: str | None = None


def sweep(
    file: Annotated[
        Path,
        typer.Argument(metavar="FILE", help="Points: a table, an array, a raster, a point cloud."),
    ],
    bandwidths: Annotated[
        str | None,
        typer.Option(
            "--bandwidths",
            "-b",
            metavar="H,H2,...",
            help="Bandwidths, each for all columns. Without it, 17 from the data.",
        ),
    ] = None,
    columns: Columns = None,
    as_json: AsJson = False,
    plot: Annotated[
        Path | None, typer.Option(metavar="PNG", help="Draw the curves; also .svg and .pdf.")
    ] = None,
    resolution: Resolution = 1,
    threads: Threads = None,
) -> None:
    """Cluster the points in FILE at many bandwidths, reading it once.

    Prints how many clusters there are at each and how stable they are; the one that lasts longest
    is marked.
    """
    wanted = None if bandwidths is None else read_sides(bandwidths, "--bandwidths")
    with errors_in_words():
        from meanshiftpp._support.files import check_no_overwrite
        from meanshiftpp.bandwidth.sweep import sweep as swept

        if plot:
            check_picture(plot)
        with status(f"reading {file}"):
            start = perf_counter()
            source = open_source(file, columns)
            check_no_overwrite([plot], source.paths)
            points = source.read()
            read_seconds = perf_counter() - start
        with status(f"clustering {len(points):,} points"), source.locating_errors():
            start = perf_counter()
            found = swept(points, wanted, resolution=resolution, n_threads=threads)
            report = _report(source, len(points), found)
            report.seconds = {"read": read_seconds, "sweep": perf_counter() - start}
        if plot:
            with status(f"drawing {plot}"):
                _draw(plot, found)
                report.plot = str(plot)
    if not all(entry.converged for entry in report.entries):
        say("warning: at some bandwidths points still moved after the last step")
    _show(report, as_json)


def _report(source: Source, points: int, found: Sweep) -> Report:
    entries = []
    numbers = (found.bandwidths, found.multiples, found.n_large, found.stability)
    for h, steps, large, stability, modes in zip(*numbers, found.modes, strict=True):
        entries.append(
            Entry(
                h.tolist(),
                int(steps),
                len(modes),
                [int(size) for size in modes.weights[:large]],
                None if math.isnan(stability) else float(stability),
                modes.n_iter,
                modes.converged,
            )
        )
    return Report(
        file=source.name,
        columns=list(source.columns),
        points=points,
        cells=len(found.base),
        entries=entries,
        best=found.best,
    )


def _draw(path: Path, found: Sweep) -> None:
    from meanshiftpp._support.files import atomic_path

    figure = found.plot().figure
    with atomic_path(path) as target:
        figure.savefig(target)


def _show(report: Report, as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps(asdict(report)))
        return
    from rich import box
    from rich.console import Console
    from rich.table import Table as Lines
    from rich.text import Text

    # As Text, names are names: rich would take the brackets of "speed [m/s]" for its own.
    columns = ", ".join(report.columns)
    title = Text(f"{report.file}: {counted(report.points, 'point')} in {columns}")
    lines = Lines(box=box.SIMPLE_HEAD, title=title, title_justify="left")
    first = report.entries[0]
    alike = all(math.isclose(h, first.bandwidth[0], rel_tol=1e-6) for h in first.bandwidth)
    sides = ("bandwidth",) if len(first.bandwidth) <= SIDES_SHOWN or alike else ()
    steps = () if alike else ("steps",)  # what the picture's axis counts then
    for name in (*sides, *steps, "clusters", "of 1 % or more", "stability", ""):
        lines.add_column(name, justify="right" if name else "left")
    for number, entry in enumerate(report.entries):
        stability = "" if entry.stability is None else f"{entry.stability:.2f}"
        best = "lasts longest" if number == report.best else ""
        side = (_side(entry.bandwidth),) if sides else ()
        number_of_steps = () if alike else (f"{entry.steps}",)
        row = (f"{entry.clusters:,}", f"{len(entry.sizes):,}", stability, best)
        lines.add_row(*side, *number_of_steps, *row, style="bold" if best else None)
    Console(highlight=False).print(lines)
    if not alike:
        each = zip(first.bandwidth, report.columns, strict=True)
        step = ", ".join(f"{h / first.steps:.4g} of {name}" for h, name in each)
        say(f"a step is {step}")
    took, reading = (duration(report.seconds[part]) for part in ("sweep", "read"))
    say(f"{took}, reading {reading}" + (f"; picture {report.plot}" if report.plot else ""))


def _side(bandwidth: list[float]) -> str:
    values = [f"{h:.4g}" for h in bandwidth]
    return values[0] if len(set(values)) == 1 else ", ".join(values)
