"""What the reports share: tables on the screen and in Markdown, goals, and a bar for long work."""

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
