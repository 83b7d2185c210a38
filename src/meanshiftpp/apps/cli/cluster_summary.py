"""The result of `meanshiftpp cluster`, as data for --json and as a printed table."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from meanshiftpp._support.text import format_bandwidth, pluralize
from meanshiftpp.apps.cli.console import duration, print_table

SIZES_SHOWN = 5
STAGES = {"cluster": "clustering", "label": "labelling", "read": "reading", "write": "writing"}


@dataclass
class Summary:
    """The result of a run; the field names are the keys of --json."""

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
    streamed: bool
    grid_weight: float | None = None  # of --grid, whose points may be others
    seconds: dict[str, float] = field(default_factory=dict)
    output: str | None = None
    label_column: str | None = None
    plot: str | None = None


def print_summary(summary: Summary) -> None:
    """Print a summary as a table."""
    print_table(summary.file, _table_rows(summary))


def _table_rows(summary: Summary) -> Iterator[tuple[str, str]]:
    yield "points", f"{summary.points:,} in {', '.join(summary.columns)}"
    yield "bandwidth", format_bandwidth(summary.bandwidth)
    weight = "" if summary.grid_weight is None else f", of a grid of weight {summary.grid_weight:,}"
    yield "cells", f"{summary.cells:,}{weight}"
    yield "iterations", f"{summary.iterations}{'' if summary.converged else ', not converged'}"
    yield "clusters", f"{summary.clusters:,}"
    yield "sizes", _format_sizes(summary.sizes)
    if summary.noise:
        yield "noise", pluralize(summary.noise, "point")
    times = [f"{STAGES[stage]} {duration(time)}" for stage, time in summary.seconds.items()]
    yield "time", ", ".join(times)
    if summary.output:
        column = f", column {summary.label_column}" if summary.label_column else ""
        yield "labels", f"{summary.output}{column}"
    if summary.plot:
        yield "picture", summary.plot


def _format_sizes(sizes: list[int]) -> str:
    first = "  ".join(f"{size:,}" for size in sizes[:SIZES_SHOWN])
    rest = len(sizes) - SIZES_SHOWN
    return f"{first}  and {rest:,} more" if rest > 0 else first or "none"
