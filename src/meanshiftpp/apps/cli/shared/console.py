"""Output shared by the commands: results on stdout; messages, progress and errors on stderr.

Only progress on a terminal imports rich, which takes longer than clustering a small file.
"""

from __future__ import annotations

import math
import shutil
import sys
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Self
from unicodedata import east_asian_width

import typer

from meanshiftpp._support.text import printable
from meanshiftpp._support.warnings import shown_by
from meanshiftpp.errors import InvalidInputError, MeanShiftPPError

MIN_VALUE_WIDTH = 20  # characters of a value in a line of a table
COLUMNS_SHOWN = 8  # in a message
CONVERGENCE_ADVICE = "raise --max-iter; without --max-iter and --tol, every search ends"

# The options that stand for parameters of Python functions in error messages.
OPTIONS = {
    "adapt": "--adapt",
    "bandwidth": "--bandwidth",
    "bandwidths": "--bandwidths",
    "cluster_all": "--cluster-all",
    "columns": "--columns",
    "detail": "--detail",
    "every": "--checkpoint-every",
    "max_iter": "--max-iter",
    "min_cluster_size": "--min-cluster-size",
    "min_size": "--min-size",
    "min_weight": "--min-cluster-size",
    "missing": "--missing",
    "n_clusters": "--n-clusters",
    "n_jobs": "--threads",
    "n_threads": "--threads",
    "periodic": "--periodic",
    "regions": "--regions",
    "resolution": "--resolution",
    "sample_weight": "--weight",
    "scale": "--scale",
    "space": "--space",
    "spatial": "--spatial",
    "start": "--start",
    "strictness": "--strictness",
    "tol": "--tol",
    "value_range": "--range",
    "weight": "--weight",
    "where": "--where",
    "window": "--window",
}


def duration(seconds: float) -> str:
    """Format a time: 3.20 s, 15 ms."""
    return f"{seconds:.2f} s" if seconds >= 1 else f"{seconds * 1e3:.3g} ms"


def first_columns(texts: Sequence[str]) -> str:
    """Join texts about columns; of many, the first ones and the number of others."""
    rest = len(texts) - COLUMNS_SHOWN
    return ", ".join(texts[:COLUMNS_SHOWN]) + (f" and {rest} more" if rest > 0 else "")


def print_stderr(text: str) -> None:
    """Print a message to stderr; stdout is for results."""
    typer.echo(printable(text), err=True)


def print_table(title: str, rows: Iterable[tuple[str, str]]) -> None:
    """Print pairs of a name and a value in two columns; long values continue on the next line."""
    pairs = [(printable(name), printable(value)) for name, value in rows]
    indent = max((_columns(name) for name, _ in pairs), default=0) + 5
    width = max(shutil.get_terminal_size().columns - indent, MIN_VALUE_WIDTH)
    typer.echo(f"{printable(title)}\n")
    for name, value in pairs:
        first, *rest = textwrap.wrap(value, width, break_on_hyphens=False) or [""]
        padding = " " * (indent - 2 - _columns(name))
        typer.echo(f"  {typer.style(name, dim=True)}{padding}{first}")
        for line in rest:
            typer.echo(" " * indent + line)
    typer.echo()


def _columns(text: str) -> int:
    """Return the columns that a text takes on a terminal."""
    return sum(2 if east_asian_width(letter) in "FW" else 1 for letter in text)


@contextmanager
def spinner(text: str) -> Iterator[None]:
    """Show a message on a terminal while the block runs."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console

    with Console(stderr=True).status(f"{text} ..."):
        yield


class _Hidden:
    """The methods of a progress bar that the commands use, for outputs that are not terminals."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def add_task(self, description: str, total: float | None = None) -> int:
        return 0

    def advance(self, task: int, advance: float = 1) -> None:
        pass

    def remove_task(self, task: int) -> None:
        pass


def progress() -> Any:
    """Return a progress bar that counts items; it is shown on terminals and removed when done."""
    if not sys.stderr.isatty():
        return _Hidden()
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
    """Return a progress bar for a pass over rows, with their number, rate and remaining time."""
    if not sys.stderr.isatty():
        return _Hidden()
    from rich import progress as rich
    from rich.console import Console
    from rich.text import Text

    class Rate(rich.ProgressColumn):
        def render(self, task: rich.Task) -> Text:
            done = f"{_abbreviate(task.completed)} rows"
            return Text(f"{done}, {_abbreviate(task.speed)}/s" if task.speed else done)

    console = Console(stderr=True)
    columns = (
        rich.TextColumn("{task.description}", markup=False),
        rich.BarColumn(),
        rich.TaskProgressColumn(),
        Rate(),
        rich.TimeRemainingColumn(),
    )
    return rich.Progress(*columns, console=console, transient=True, disable=not console.is_terminal)


def _abbreviate(n: float) -> str:
    """Format a large number with three digits: 12.3M."""
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if n >= size:
            return f"{n / size:.3g}{letter}"
    return f"{n:.0f}"


@contextmanager
def report_errors(convergence_advice: str = CONVERGENCE_ADVICE) -> Iterator[None]:
    """Print errors and warnings as one line each; exit with 1 after an error.

    Unexpected exceptions are bugs and keep their traceback. `convergence_advice` follows the
    warning about a search that did not converge, in terms of the command's own options.
    """
    with _report_warnings(convergence_advice):
        try:
            yield
        except (MeanShiftPPError, MemoryError) as error:
            print_stderr(f"error: {error_text(error)}")
            raise typer.Exit(1) from error
        except ModuleNotFoundError as error:
            print_stderr(f"error: this needs {error.name}: pip install {error.name}")
            raise typer.Exit(1) from error


def error_text(error: MeanShiftPPError | MemoryError) -> str:
    """Return the message of an error, with options in place of Python parameters."""
    if isinstance(error, InvalidInputError) and error.parameter in OPTIONS:
        return str(error.named(OPTIONS))
    if isinstance(error, InvalidInputError) and error.row is not None and _is_nan(error.got):
        # A .csv has no NaN of its own: most are empty fields.
        is_csv = (error.source or "").lower().endswith((".csv", ".csv.gz"))
        problem = "is empty or NaN" if is_csv else error.problem
        return f"{error.place} {problem}; --missing drop or --missing label leaves such rows out"
    return str(error) or "out of memory"


def _is_nan(value: object) -> bool:
    return isinstance(value, float) and math.isnan(value)


def warning_text(warning: Warning | str, advice: str) -> str:
    """Return the text of a warning; one about convergence gets the advice of the command."""
    problem = getattr(warning, "problem", None)
    return str(warning) if problem is None else f"{problem}; {advice}"


@contextmanager
def _report_warnings(convergence_advice: str) -> Iterator[None]:
    """Print each distinct warning once, as one line without the file and line of its source."""
    printed: set[str] = set()

    def show(message: Warning | str) -> bool:
        text = " ".join(warning_text(message, convergence_advice).split())
        if text not in printed:
            printed.add(text)
            print_stderr(f"warning: {text}")
        return True

    with shown_by(show):
        yield


@contextmanager
def naming_columns(columns: Sequence[str]) -> Iterator[None]:
    """Word errors about a feature with the name of its column."""
    from meanshiftpp.core.chunk import relocate_errors  # imports NumPy

    def relocate(error: InvalidInputError) -> InvalidInputError:
        return error if error.column is None else error.at(f"column {columns[error.column]!r}")

    with relocate_errors(relocate):
        yield
