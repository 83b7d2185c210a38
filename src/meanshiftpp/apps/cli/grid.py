"""`meanshiftpp grid`: grids as files, to bin where the data is and merge elsewhere."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from meanshiftpp.apps.cli.console import counted, errors_in_words, show_facts, status
from meanshiftpp.apps.cli.options import (
    AsJson,
    CheckpointFile,
    Columns,
    Every,
    Files,
    Periods,
    Threads,
    first_pass,
    open_source,
    read_periods,
    read_sides,
    same_columns,
)

if TYPE_CHECKING:
    from meanshiftpp.core.grid import Grid

FEATURES_SHOWN = 12

grid = typer.Typer(
    help="Make, add up and look at grids: all that clustering needs of the data, in a small file.",
    no_args_is_help=True,
)
Output = Annotated[Path, typer.Option("--output", "-o", metavar="GRID", help="The grid's file.")]


@grid.command()
def build(
    files: Files,
    output: Output,
    bandwidth: Annotated[
        str,
        typer.Option(
            "--bandwidth",
            "-b",
            metavar="H[,H2,...]",
            help="Side of a cell, for all columns or for each; grids to be merged need the same.",
        ),
    ],
    periodic: Periods = None,
    columns: Columns = None,
    as_json: AsJson = False,
    threads: Threads = None,
    checkpoint: CheckpointFile = None,
    every: Every = 30.0,
) -> None:
    """Bin the points in FILE, in one pass, to a grid."""
    sides, periods = read_sides(bandwidth), read_periods(periodic)
    with errors_in_words():
        from meanshiftpp._support.files import check_no_overwrite, check_writable

        check_writable(output)
        source = open_source(files, columns)
        check_no_overwrite([output, checkpoint], source.paths)
        side = sides[0] if len(sides) == 1 else sides
        made = first_pass(source, side, periods, checkpoint, every, threads)
        made.save(output, columns=source.columns)
        if checkpoint:
            checkpoint.unlink(missing_ok=True)
        _show(output, made, as_json)


@grid.command()
def merge(
    files: Annotated[list[Path], typer.Argument(metavar="GRID...", help="Grids of one bandwidth.")],
    output: Output,
    as_json: AsJson = False,
) -> None:
    """Add grids up: the result is the grid of all their points together."""
    with errors_in_words():
        from meanshiftpp._support.files import check_no_overwrite, check_writable
        from meanshiftpp.core.grid import Grid, GridSum
        from meanshiftpp.core.gridfile import columns_of

        check_no_overwrite([output], files)
        check_writable(output)
        with status(f"merging {counted(len(files), 'grid')}"):
            total, columns = GridSum(Grid.load(files[0])), columns_of(files[0])
            for file in files[1:]:
                total.add(Grid.load(file), str(file))
                same_columns(file, columns_of(file), files[0], columns)
            made = total.grid()
            made.save(output, columns=columns)
        _show(output, made, as_json)


@grid.command()
def info(
    file: Annotated[Path, typer.Argument(metavar="GRID", help="A grid's file.")],
    as_json: AsJson = False,
) -> None:
    """Say what is in a grid."""
    with errors_in_words():
        from meanshiftpp.core.grid import Grid

        _show(file, Grid.load(file), as_json)


def _show(path: Path, made: Grid, as_json: bool) -> None:
    facts = _facts(path, made)
    if as_json:
        typer.echo(json.dumps(facts))
        return
    show_facts(str(path), _lines(facts))


def _lines(facts: dict[str, Any]) -> Iterator[tuple[str, str]]:
    features: int = facts["features"]
    yield "cells", f"{facts['cells']:,} in {counted(features, 'feature')}"
    yield "weight", f"{facts['weight']:,}, at most {facts['heaviest']:,} in a cell"
    for j in range(min(features, FEATURES_SHOWN)):
        steps = f"steps of {facts['bandwidth'][j]:.6g}"
        if facts["cells"]:
            steps = f"cells from {facts['lowest'][j]:.6g} to {facts['highest'][j]:.6g} in {steps}"
        yield facts["columns"][j] if facts["columns"] else f"feature {j}", steps
    if features > FEATURES_SHOWN:
        yield "", f"and {features - FEATURES_SHOWN} more"
    yield "size", f"{facts['bytes']:,} bytes"


def _facts(path: Path, made: Grid) -> dict[str, Any]:
    from meanshiftpp.core.gridfile import columns_of

    heaviest = int(made.counts.max(initial=0))
    return {
        "file": str(path),
        "cells": len(made),
        "features": made.n_features,
        "columns": columns_of(path),
        "weight": made.total,
        "heaviest": heaviest if made.unit == 1 else heaviest * made.unit,
        "unit": made.unit,
        "bandwidth": made.bandwidth.tolist(),
        "lowest": (made.cells.min(axis=0) * made.bandwidth).tolist() if len(made) else None,
        "highest": ((made.cells.max(axis=0) + 1) * made.bandwidth).tolist() if len(made) else None,
        "bytes": path.stat().st_size,
    }
