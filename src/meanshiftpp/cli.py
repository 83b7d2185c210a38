"""The command line: one verb a task, the result on stdout, everything else on stderr.

Only typer is imported here at the top: `--help` must answer at once, so each command imports what
it needs when it runs.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any

import typer

from meanshiftpp._console import (
    PICTURES,
    cells_named,
    counted,
    duration,
    errors_in_words,
    say,
    status,
)
from meanshiftpp.cli_image import segment
from meanshiftpp.cli_studio import studio
from meanshiftpp.cli_sweep import sweep
from meanshiftpp.cli_track import track
from meanshiftpp.errors import need

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from meanshiftpp.modes import Modes
    from meanshiftpp.stream import Table

SIZES_SHOWN = 5

app = typer.Typer(
    help="MeanShift++: fast, exact mode seeking on a grid. Clusters, without choosing how many.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@dataclass
class Summary:
    """What a run found, for people and for machines."""

    file: str
    columns: list[str]
    points: int
    bandwidth: list[float]
    cells: int
    iterations: int
    converged: bool
    clusters: int
    sizes: list[int]
    centers: list[list[float]]
    noise: int
    seconds: dict[str, float] = field(default_factory=dict)
    output: str | None = None
    label_column: str | None = None
    plot: str | None = None


def _version(wanted: bool) -> None:
    if wanted:
        from meanshiftpp import __version__

        typer.echo(f"meanshiftpp {__version__}")
        raise typer.Exit


@app.callback()
def _app(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    pass


@app.command()
def cluster(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="Points: a .csv, .parquet or .npy file.")
    ],
    bandwidth: Annotated[
        str | None,
        typer.Option(
            "--bandwidth",
            "-b",
            metavar="H[,H2,...]",
            help="Side of a cell, for all columns or for each. Without it, chosen from the data.",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="OUT",
            help="Where labels go: .npy alone, .csv or .parquet beside all columns of FILE.",
        ),
    ] = None,
    columns: Annotated[
        str | None,
        typer.Option(metavar="A,B,...", help="Columns to use. Without it, all of numbers."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    plot: Annotated[
        Path | None, typer.Option(metavar="PNG", help="Draw the clusters; also .svg and .pdf.")
    ] = None,
    tol: Annotated[
        float, typer.Option(min=0, metavar="T", help="Stop once all points together move less.")
    ] = 1e-3,
    max_iter: Annotated[
        int, typer.Option(min=1, metavar="N", help="Stop after so many steps.")
    ] = 300,
    min_cluster_size: Annotated[
        int, typer.Option(min=1, metavar="N", help="Smaller clusters are noise: label -1.")
    ] = 1,
    threads: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Threads. Without it, all cores.")
    ] = None,
) -> None:
    """Find the clusters of the points in FILE.

    Prints a short table, and writes a label for each row to OUT: 0 is the largest cluster.
    """
    sides = None if bandwidth is None else _sides(bandwidth)
    with errors_in_words():
        from meanshiftpp.stream import check_output, read_points, write_labels

        if output:
            check_output(output)
        if plot:
            check_output(plot, PICTURES)
            need("matplotlib", "plot")
        with status(f"reading {file}"):
            start = perf_counter()
            table = read_points(
                file, [name.strip() for name in columns.split(",")] if columns else None
            )
            read_seconds = perf_counter() - start
        with status(f"clustering {len(table.points):,} points"), cells_named(file, table.columns):
            found = _find(table.points, sides, tol, max_iter, min_cluster_size, threads)
        modes, labels, cluster_seconds = found
        summary = _summary(file, table, modes, labels)
        summary.seconds = {"read": read_seconds, "cluster": cluster_seconds}
        if output:
            with status(f"writing {output}"):
                summary.label_column = write_labels(output, table, labels)
                summary.output = str(output)
        if plot:
            with status(f"drawing {plot}"):
                _draw(plot, table, modes, labels, summary)
                summary.plot = str(plot)
    _show(summary, as_json)


app.command()(segment)
app.command()(track)
app.command()(sweep)
app.command()(studio)


@app.command()
def demo(
    out: Annotated[Path, typer.Option(help="Folder for the pictures.")] = Path("demo"),
) -> None:
    """Cluster a million points and Iris, segment a photograph, track a ball, and draw it all."""
    with errors_in_words():
        from meanshiftpp.demo import run

        run(out)


# -- cluster, step by step -------------------------------------------------------------------------


def _sides(text: str) -> list[float]:
    """Read `0.5`, or `0.5,1,2`."""
    try:
        sides = [float(part) for part in text.split(",")]
    except ValueError:
        sides = [math.nan]
    if not all(math.isfinite(side) and side > 0 for side in sides):
        raise typer.BadParameter(
            f"expected a number above 0, or several as 0.5,1,2; got {text!r}",
            param_hint="'--bandwidth'",
        )
    return sides


def _find(
    points: NDArray[Any],
    sides: list[float] | None,
    tol: float,
    max_iter: int,
    min_size: int,
    threads: int | None,
) -> tuple[Modes, NDArray[np.int32], float]:
    """Return the modes, the labels and the seconds it took."""
    from meanshiftpp.modes import fit_labels

    bandwidth: Any = sides[0] if sides and len(sides) == 1 else sides
    if bandwidth is None:
        from meanshiftpp.bandwidth import select_bandwidth

        bandwidth = select_bandwidth(points, n_threads=threads)
    start = perf_counter()
    modes, labels = fit_labels(points, bandwidth, tol=tol, max_iter=max_iter, n_threads=threads)
    if not modes.converged:
        say(f"warning: points still moved after {modes.n_iter} iterations; see --max-iter")
    if min_size > 1:
        modes = modes.keep(min_size)
        labels[labels >= len(modes)] = -1  # labels are ordered by size
    return modes, labels, perf_counter() - start


def _summary(file: Path, table: Table, modes: Modes, labels: NDArray[np.int32]) -> Summary:
    return Summary(
        file=str(file),
        columns=list(table.columns),
        points=len(table.points),
        bandwidth=modes.grid.bandwidth.tolist(),
        cells=len(modes.grid),
        iterations=modes.n_iter,
        converged=modes.converged,
        clusters=len(modes),
        sizes=[int(weight) for weight in modes.weights],
        centers=modes.centers.tolist(),
        noise=int((labels == -1).sum()),
    )


def _draw(
    path: Path, table: Table, modes: Modes, labels: NDArray[np.int32], summary: Summary
) -> None:
    from meanshiftpp.plot import clusters
    from meanshiftpp.stream import atomic_path

    figure = clusters(
        table.points,
        labels,
        centers=modes.centers,
        weights=modes.weights,
        columns=table.columns,
        title=Path(summary.file).name,
        subtitle=f"{summary.points:,} points, {counted(summary.clusters, 'cluster')}, "
        f"bandwidth {_bandwidth(summary)}",
    )
    with atomic_path(path) as target:
        figure.savefig(target)


# -- what is said ----------------------------------------------------------------------------------


def _show(summary: Summary, as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps(asdict(summary)))
        return
    from rich import box
    from rich.console import Console
    from rich.table import Table as Lines
    from rich.text import Text

    # As Text, names are names: rich would take the brackets of "speed [m/s]" for its own.
    title = Text(summary.file)
    lines = Lines(box=box.SIMPLE, show_header=False, title=title, title_justify="left")
    lines.add_column(style="dim")
    lines.add_column(overflow="fold")
    for name, value in _lines(summary):
        lines.add_row(name, Text(value))
    Console(highlight=False).print(lines)


def _lines(summary: Summary) -> Iterator[tuple[str, str]]:
    yield "points", f"{summary.points:,} in {', '.join(summary.columns)}"
    yield "bandwidth", _bandwidth(summary)
    yield "cells", f"{summary.cells:,}"
    yield "iterations", f"{summary.iterations}{'' if summary.converged else ', not converged'}"
    yield "clusters", f"{summary.clusters:,}"
    yield "sizes", _sizes(summary.sizes)
    if summary.noise:
        yield "noise", counted(summary.noise, "point")
    took, reading = (duration(summary.seconds[part]) for part in ("cluster", "read"))
    yield "time", f"{took}, reading {reading}"
    if summary.output:
        column = f", column {summary.label_column}" if summary.label_column else ""
        yield "labels", f"{summary.output}{column}"
    if summary.plot:
        yield "picture", summary.plot


def _bandwidth(summary: Summary) -> str:
    distinct = dict.fromkeys(f"{side:.4g}" for side in summary.bandwidth)
    return ", ".join(distinct if len(distinct) == 1 else [f"{h:.4g}" for h in summary.bandwidth])


def _sizes(sizes: list[int]) -> str:
    first = "  ".join(f"{size:,}" for size in sizes[:SIZES_SHOWN])
    rest = len(sizes) - SIZES_SHOWN
    return f"{first}  and {rest:,} more" if rest > 0 else first or "none"
