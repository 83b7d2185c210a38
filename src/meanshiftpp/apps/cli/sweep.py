"""`meanshiftpp sweep`: cluster a file at many bandwidths; print a table and draw a plot."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated

import typer

from meanshiftpp._support.text import pluralize
from meanshiftpp.apps.cli.shared.console import duration, print_stderr, report_errors, spinner
from meanshiftpp.apps.cli.shared.options import (
    AsJson,
    Columns,
    Resolution,
    Threads,
    check_plot,
    open_source,
    parse_positive_numbers,
)
from meanshiftpp.apps.cli.shared.row_options import (
    MissingOption,
    MissingRows,
    Rows,
    Weight,
    WhereOption,
)

if TYPE_CHECKING:
    from meanshiftpp.bandwidth.sweep import Sweep
    from meanshiftpp.io.sources import Source


@dataclass
class Entry:
    """The clustering at one bandwidth, which is `steps` times the smallest cell of each column.

    `sizes` are the sizes of the clusters with at least 1 % of the points.
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
    """The result of a sweep: the object for --json."""

    file: str
    columns: list[str]
    points: int
    weight: float
    cells: int
    entries: list[Entry]
    best: int
    weight_column: str | None = None
    missing: int = 0  # rows with missing values, which are not points
    seconds: dict[str, float] = field(default_factory=dict)
    plot: str | None = None


def sweep(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE", help="Points: a table, an array, a raster or a point cloud."
        ),
    ],
    bandwidths: Annotated[
        str | None,
        typer.Option(
            "--bandwidths",
            "-b",
            metavar="H,H2,...",
            help="Bandwidths, each for all columns. Default: 17, chosen from the data.",
        ),
    ] = None,
    columns: Columns = None,
    weight: Weight = None,
    missing: MissingOption = MissingRows.error,
    where: WhereOption = None,
    as_json: AsJson = False,
    plot: Annotated[
        Path | None, typer.Option(metavar="PNG", help="Draw the curves (.png, .svg or .pdf).")
    ] = None,
    resolution: Resolution = 1,
    threads: Threads = None,
) -> None:
    """Cluster the points in FILE at many bandwidths, reading it once.

    Prints the number of clusters at each bandwidth and their stability; the clustering that lasts
    longest is marked. The bandwidths are values of -b for `meanshiftpp cluster`.
    """
    values = None if bandwidths is None else parse_positive_numbers(bandwidths, "--bandwidths")
    with report_errors(convergence_advice="ignore these bandwidths, or use larger --bandwidths"):
        from meanshiftpp._support.files import check_no_overwrite
        from meanshiftpp.bandwidth.sweep import sweep as sweep_points

        if plot:
            check_plot(plot)
        with spinner(f"reading {file}"):
            start = perf_counter()
            source = open_source(file, columns, Rows(weight, missing.value, where))
            check_no_overwrite([plot], source.paths)
            points, weights = source.read_weighted()
            read_seconds = perf_counter() - start
        with spinner(f"clustering {len(points):,} points"), source.locating_errors():
            start = perf_counter()
            result = sweep_points(
                points, values, sample_weight=weights, resolution=resolution, n_threads=threads
            )
            report = _report(source, len(points), result)
            report.seconds = {"read": read_seconds, "sweep": perf_counter() - start}
        if plot:
            with spinner(f"drawing {plot}"):
                _draw(plot, result)
                report.plot = str(plot)
    _print_report(report, as_json)


def _report(source: Source, points: int, result: Sweep) -> Report:
    entries = []
    numbers = (result.bandwidths, result.multiples, result.n_large, result.stability)
    for h, steps, large, stability, modes in zip(*numbers, result.modes, strict=True):
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
        weight=result.base.total,
        cells=len(result.base),
        entries=entries,
        best=result.best,
        weight_column=source.weight,
        missing=source.rows_missing or 0,
    )


def _draw(path: Path, result: Sweep) -> None:
    from meanshiftpp.plot.style import save

    save(result.plot().figure, path)


def _print_report(report: Report, as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps(asdict(report)))
        return
    _print_table(report)
    best = report.entries[report.best].bandwidth
    print_stderr(f"agrees best with the others: -b {_option(best, repr)}")
    sweeping, reading = (duration(report.seconds[part]) for part in ("sweep", "read"))
    plot = f"; picture {report.plot}" if report.plot else ""
    print_stderr(f"{sweeping}, reading {reading}{plot}")


def _option(bandwidth: list[float], number: Callable[[float], str]) -> str:
    """Return a bandwidth as the option -b takes it: one number, or one for each column."""
    numbers = [number(h) for h in bandwidth]
    return numbers[0] if len({*numbers}) == 1 else ",".join(numbers)


def _print_table(report: Report) -> None:
    """Print a row per bandwidth, in a line however many columns there are."""
    from rich import box
    from rich.console import Console
    from rich.measure import Measurement
    from rich.table import Table
    from rich.text import Text

    # In a plain string, rich would parse the brackets of "speed [m/s]" as markup.
    columns = ", ".join(report.columns)
    heavy = "" if report.weight_column is None else f" of weight {report.weight:,.6g}"
    title = Text(f"{report.file}: {pluralize(report.points, 'point')}{heavy} in {columns}")
    if report.missing:
        title.append(f"; missing values in {pluralize(report.missing, 'row')}")
    table = Table(box=box.SIMPLE_HEAD, title=title, title_justify="left")
    for name in ("bandwidth (-b)", "clusters", "of 1 % or more", "stability", ""):
        table.add_column(name, justify="right" if name else "left", no_wrap=True)
    for number, entry in enumerate(report.entries):
        best = "agrees best" if number == report.best else ""
        table.add_row(
            _option(entry.bandwidth, "{:.6g}".format),
            f"{entry.clusters:,}",
            f"{len(entry.sizes):,}",
            "" if entry.stability is None else f"{entry.stability:.2f}",
            best,
            style="bold" if best else None,
        )
    console = Console(highlight=False)
    wide = console.options.update(max_width=10_000)
    console.width = max(console.width, Measurement.get(console, wide, table).maximum)
    console.print(table)
