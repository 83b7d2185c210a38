"""Parts of the reports: tables on the screen and in Markdown, goals, durations, files, progress."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from rich import box
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table as ScreenTable

Table = tuple[list[str], list[list[str]]]  # header and rows


class Goal(NamedTuple):
    """A lower limit for a measured value."""

    name: str
    at_least: float
    measured: float

    @property
    def verdict(self) -> str:
        return "reached" if self.measured >= self.at_least else "missed"


def goals_table(goals: Iterable[Goal]) -> Table:
    rows = [[g.name, f"{g.at_least:.4g}", f"{g.measured:.4g}", g.verdict] for g in goals]
    return ["goal", "at least", "measured", ""], rows


def goals_as_json(goals: Iterable[Goal]) -> list[dict[str, Any]]:
    return [goal._asdict() | {"verdict": goal.verdict} for goal in goals]


def machine_table(facts: dict[str, str]) -> Table:
    return ["machine", ""], [[name, value] for name, value in facts.items()]


def markdown_table(content: Table) -> list[str]:
    """Return the lines of a Markdown table."""
    header, rows = content
    return [markdown_row(header), f"|{'---|' * len(header)}", *map(markdown_row, rows)]


def markdown_row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |"


def duration(seconds: float | None) -> str:
    """Format a time with three digits in seconds, milliseconds or microseconds."""
    if seconds is None:
        return ""
    unit, factor = next(u for u in (("s", 1.0), ("ms", 1e3), ("µs", 1e6)) if _fits(seconds, u[1]))
    return f"{digits(seconds * factor)} {unit}"


def _fits(seconds: float, factor: float) -> bool:
    return seconds * factor >= 0.9995 or factor == 1e6


def digits(value: float) -> str:
    """Format a number with three significant digits, or all digits before the point if more."""
    return f"{value:,.0f}" if abs(value) >= 99.95 else f"{value:.3g}"


def print_tables(tables: Iterable[Table], console: Console) -> None:
    """Print tables; 160 columns wide if the output is not a terminal."""
    if not console.is_terminal:
        console.width = 160
    for header, rows in tables:
        table = ScreenTable(*header, box=box.SIMPLE_HEAD)
        for row in rows:
            table.add_row(*row)
        console.print(table)


def write_report(folder: Path, name: str, page: str, facts: object) -> None:
    """Write NAME.md and NAME.json to a folder, which is created if necessary."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.md").write_text(page, encoding="utf-8")
    text = json.dumps(facts, indent=1, ensure_ascii=False)
    (folder / f"{name}.json").write_text(text + "\n", encoding="utf-8")


def progress_bar() -> Progress:
    """Return a progress bar on stderr with elapsed and remaining time."""
    columns = ("{task.description}", BarColumn(), MofNCompleteColumn())
    times = (TimeElapsedColumn(), "left", TimeRemainingColumn())
    return Progress(*columns, *times, console=Console(stderr=True))
