"""What the commands share: facts in a table; words, times, progress on stderr; errors in a line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import typer

from meanshiftpp.errors import MeanShiftPPError


def counted(n: int, noun: str) -> str:
    """Write a number of things: 1 point, 2,000 points."""
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


def duration(seconds: float) -> str:
    """Write a time, short."""
    return f"{seconds:.2f} s" if seconds >= 1 else f"{seconds * 1e3:.3g} ms"


def say(words: str) -> None:
    """Print to stderr: stdout is for results."""
    typer.echo(words, err=True)


def show_facts(title: str, facts: Iterable[tuple[str, str]]) -> None:
    """Print names and what is to be said of them, in two columns."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    # As Text, names are names: rich would take the brackets of "speed [m/s]" for its own.
    table = Table(box=box.SIMPLE, show_header=False, title=Text(title), title_justify="left")
    table.add_column(style="dim")
    table.add_column(overflow="fold")
    for name, value in facts:
        table.add_row(name, Text(value))
    Console(highlight=False).print(table)


@contextmanager
def status(words: str) -> Iterator[None]:
    """Show on a terminal what is going on."""
    from rich.console import Console

    with Console(stderr=True).status(f"{words} ..."):
        yield


def progress() -> Any:
    """Make a bar for work that can be counted; it shows on a terminal only, and goes when done."""
    from rich import progress as rich
    from rich.console import Console

    console = Console(stderr=True)
    columns = (
        rich.TextColumn("{task.description}"),
        rich.BarColumn(),
        rich.MofNCompleteColumn(),
        rich.TimeRemainingColumn(),
    )
    return rich.Progress(*columns, console=console, transient=True, disable=not console.is_terminal)


def row_progress() -> Any:
    """Make a bar for passes over rows: how many, how fast, how long still."""
    from rich import progress as rich
    from rich.console import Console
    from rich.text import Text

    class Rate(rich.ProgressColumn):
        def render(self, task: rich.Task) -> Text:
            done = f"{_short(task.completed)} rows"
            return Text(f"{done}, {_short(task.speed)}/s" if task.speed else done)

    console = Console(stderr=True)
    columns = (
        rich.TextColumn("{task.description}", markup=False),
        rich.BarColumn(),
        rich.TaskProgressColumn(),
        Rate(),
        rich.TimeRemainingColumn(),
    )
    return rich.Progress(*columns, console=console, transient=True, disable=not console.is_terminal)


def _short(n: float) -> str:
    """Write a large number in a few characters: 12.3M."""
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if n >= size:
            return f"{n / size:.3g}{letter}"
    return f"{n:.0f}"


@contextmanager
def errors_in_words() -> Iterator[None]:
    """Say what is wrong in a line, and exit with 1; a traceback is for our own mistakes."""
    try:
        yield
    except (MeanShiftPPError, MemoryError) as error:
        say(f"error: {error or 'out of memory'}")
        raise typer.Exit(1) from error
    except ModuleNotFoundError as error:
        say(f"error: this needs {error.name}: pip install {error.name}")
        raise typer.Exit(1) from error
