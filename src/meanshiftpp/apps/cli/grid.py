"""`meanshiftpp grid`: build grids where the data is, and merge the files elsewhere."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from meanshiftpp._support.text import pluralize
from meanshiftpp.apps.cli.commands import Command, Group
from meanshiftpp.apps.cli.shared.console import (
    naming_columns,
    print_table,
    report_errors,
    spinner,
)
from meanshiftpp.apps.cli.shared.options import (
    AsJson,
    CheckpointFile,
    Columns,
    Every,
    Files,
    Periods,
    Threads,
    add_points_with_progress,
    check_columns,
    check_periods,
    open_source,
    parse_bandwidth,
    parse_periods,
)
from meanshiftpp.apps.cli.shared.row_options import (
    MissingOption,
    MissingRows,
    Rows,
    Weight,
    WhereOption,
)

if TYPE_CHECKING:
    from meanshiftpp.core.grid import Grid

FEATURES_SHOWN = 12
MERGE_ADVICE = "build all grids with the same --columns of `grid build`"

grid = typer.Typer(
    cls=Group,
    help="Build, merge and inspect grids: small files with all the data that clustering needs.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)
Output = Annotated[
    Path, typer.Option("--output", "-o", metavar="GRID", help="The grid file to write.")
]


@grid.command(cls=Command)
def build(
    files: Files,
    output: Output,
    bandwidth: Annotated[
        str,
        typer.Option(
            "--bandwidth",
            "-b",
            metavar="H[,H2,...]",
            help="Size of a cell, for all columns or for each; merging needs equal bandwidths.",
        ),
    ],
    periodic: Periods = None,
    columns: Columns = None,
    weight: Weight = None,
    missing: MissingOption = MissingRows.error,
    where: WhereOption = None,
    as_json: AsJson = False,
    threads: Threads = None,
    checkpoint: CheckpointFile = None,
    every: Every = 30.0,
) -> None:
    """Build the grid of the points in FILE, in one pass."""
    cell_size, periods = parse_bandwidth(bandwidth), parse_periods(periodic)
    with report_errors():
        from meanshiftpp._support.files import check_no_overwrite, check_writable
        from meanshiftpp.core.grid import Grid

        check_writable(output)
        source = open_source(files, columns, Rows(weight, missing.value, where))
        check_periods(periodic, source.columns)
        check_no_overwrite([output, checkpoint], source.paths)
        with naming_columns(source.columns):
            empty = Grid.empty(cell_size, len(source.columns), periodic=periods)
        built = add_points_with_progress(source, empty, checkpoint, every, threads)
        built.save(output, columns=source.columns)
        if checkpoint:
            checkpoint.unlink(missing_ok=True)
        _print_grid(output, built, source.columns, as_json)


@grid.command(cls=Command)
def merge(
    files: Annotated[
        list[Path], typer.Argument(metavar="GRID...", help="Grids of equal bandwidth.")
    ],
    output: Output,
    as_json: AsJson = False,
) -> None:
    """Add grids: the result is the grid of all their points together."""
    with report_errors():
        from meanshiftpp._support.files import check_no_overwrite, check_writable
        from meanshiftpp.core.accumulate import GridSum
        from meanshiftpp.core.grid import Grid
        from meanshiftpp.core.gridfile import columns_of

        check_no_overwrite([output], files)
        check_writable(output)
        with spinner(f"merging {pluralize(len(files), 'grid')}"):
            total, columns = GridSum(Grid.load(files[0])), columns_of(files[0])
            for file in files[1:]:
                total.add(Grid.load(file), str(file))
                check_columns(file, columns_of(file), files[0], columns, advice=MERGE_ADVICE)
            merged = total.total()
            merged.save(output, columns=columns)
        _print_grid(output, merged, columns, as_json)


@grid.command(cls=Command)
def info(
    file: Annotated[Path, typer.Argument(metavar="GRID", help="A grid file.")],
    as_json: AsJson = False,
) -> None:
    """Show the size and extent of a grid."""
    with report_errors():
        from meanshiftpp.core.grid import Grid
        from meanshiftpp.core.gridfile import columns_of

        _print_grid(file, Grid.load(file), columns_of(file), as_json)


def _print_grid(path: Path, grid: Grid, columns: Sequence[str] | None, as_json: bool) -> None:
    summary = _summary(path, grid, columns)
    if as_json:
        typer.echo(json.dumps(summary))
        return
    print_table(str(path), _rows(summary))


def _rows(summary: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the rows of the printed table."""
    features: int = summary["features"]
    yield "cells", f"{summary['cells']:,} in {pluralize(features, 'feature')}"
    yield "weight", f"{summary['weight']:,}, at most {summary['heaviest']:,} in a cell"
    for j in range(min(features, FEATURES_SHOWN)):
        text = f"steps of {summary['bandwidth'][j]:.6g}"
        if summary["cells"]:
            lowest, highest = summary["lowest"][j], summary["highest"][j]
            text = f"cells from {lowest:.6g} to {highest:.6g} in {text}"
        yield summary["columns"][j] if summary["columns"] else f"feature {j}", text
    if features > FEATURES_SHOWN:
        yield "", f"and {features - FEATURES_SHOWN} more"
    yield "size", f"{summary['bytes']:,} bytes"


def _summary(path: Path, grid: Grid, columns: Sequence[str] | None) -> dict[str, Any]:
    """Return the object for --json."""
    heaviest = int(grid.counts.max(initial=0))
    return {
        "file": str(path),
        "cells": len(grid),
        "features": grid.n_features,
        "columns": None if columns is None else list(columns),
        "weight": grid.total,
        "heaviest": heaviest if grid.whole else heaviest * grid.unit,
        "unit": grid.unit,
        "bandwidth": grid.bandwidth.tolist(),
        "lowest": (grid.cells.min(axis=0) * grid.bandwidth).tolist() if len(grid) else None,
        "highest": ((grid.cells.max(axis=0) + 1) * grid.bandwidth).tolist() if len(grid) else None,
        "bytes": path.stat().st_size,
    }
