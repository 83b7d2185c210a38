"""What the commands share: words, times and progress on stderr, errors in a line."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer

from meanshiftpp.errors import InvalidInputError, MeanShiftPPError

PICTURES = (".png", ".svg", ".pdf")


def counted(n: int, noun: str) -> str:
    """Write a number of things: 1 point, 2,000 points."""
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


def duration(seconds: float) -> str:
    """Write a time, short."""
    return f"{seconds:.2f} s" if seconds >= 1 else f"{seconds * 1e3:.3g} ms"


def say(words: str) -> None:
    """Print to stderr: stdout is for results."""
    typer.echo(words, err=True)


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


@contextmanager
def cells_named(file: Path, columns: Sequence[str]) -> Iterator[None]:
    """Turn the X[4, 1] of an error into the row and column of the file."""
    try:
        yield
    except InvalidInputError as error:
        place = re.match(r"X\[(\d+), (\d+)\]", str(error))
        if not place:
            raise
        row, column = int(place[1]), columns[int(place[2])]
        where = f"{file}, row {row + 1}, column {column!r}"
        raise InvalidInputError(where + str(error)[place.end() :]) from error
