"""What the reports share: tables on the screen and in Markdown, goals, times, a bar for work."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from rich import box
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table as Screen

Table = tuple[list[str], list[list[str]]]  # header and rows


class Goal(NamedTuple):
    """Something aimed at: at least so much."""

    what: str
    aim: float
    measured: float

    @property
    def verdict(self) -> str:
        return "reached" if self.measured >= self.aim else "missed"


def goals_table(goals: Iterable[Goal]) -> Table:
    rows = [[g.what, f"{g.aim:.4g}", f"{g.measured:.4g}", g.verdict] for g in goals]
    return ["goal", "at least", "measured", ""], rows


def markdown_table(content: Table) -> list[str]:
    header, rows = content
    return [
        f"| {' | '.join(header)} |",
        f"|{'---|' * len(header)}",
        *(f"| {' | '.join(cell.replace('|', '/') for cell in row)} |" for row in rows),
    ]


def duration(seconds: float | None) -> str:
    """Write a time with three digits and the unit that suits it."""
    if seconds is None:
        return ""
    unit, factor = next(u for u in (("s", 1.0), ("ms", 1e3), ("µs", 1e6)) if _fits(seconds, u[1]))
    return f"{digits(seconds * factor)} {unit}"


def _fits(seconds: float, factor: float) -> bool:
    return seconds * factor >= 0.9995 or factor == 1e6


def digits(value: float) -> str:
    """Write three digits, in full also where there are more before the point."""
    return f"{value:,.0f}" if abs(value) >= 99.95 else f"{value:.3g}"


def show(tables: Iterable[Table], console: Console) -> None:
    """Print tables, wide where nobody looks."""
    if not console.is_terminal:
        console.width = 160
    for header, rows in tables:
        table = Screen(*header, box=box.SIMPLE_HEAD)
        for row in rows:
            table.add_row(*row)
        console.print(table)


def progress() -> Progress:
    columns = ("{task.description}", BarColumn(), MofNCompleteColumn())
    times = (TimeElapsedColumn(), "left", TimeRemainingColumn())
    return Progress(*columns, *times, console=Console(stderr=True))
