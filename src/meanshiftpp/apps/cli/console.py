"""Output shared by the commands: results on stdout; messages, progress and errors on stderr."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TextIO

import typer

from meanshiftpp.errors import InvalidInputError, MeanShiftPPError

CONVERGENCE_ADVICE = "use a larger --bandwidth, or raise --max-iter or --tol"

# The options that stand for parameters of Python functions in error messages.
OPTIONS = {
    "adapt": "--adapt",
    "bandwidth": "--bandwidth",
    "bandwidths": "--bandwidths",
    "columns": "--columns",
    "detail": "--detail",
    "every": "--checkpoint-every",
    "max_iter": "--max-iter",
    "min_cluster_size": "--min-cluster-size",
    "min_size": "--min-size",
    "min_weight": "--min-cluster-size",
    "n_jobs": "--threads",
    "n_threads": "--threads",
    "periodic": "--periodic",
    "resolution": "--resolution",
    "scale": "--scale",
    "space": "--space",
    "spatial": "--spatial",
    "tol": "--tol",
    "window": "--window",
}


def duration(seconds: float) -> str:
    """Format a time: 3.20 s, 15 ms."""
    return f"{seconds:.2f} s" if seconds >= 1 else f"{seconds * 1e3:.3g} ms"


def print_stderr(text: str) -> None:
    """Print a message to stderr; stdout is for results."""
    typer.echo(text, err=True)


def print_table(title: str, rows: Iterable[tuple[str, str]]) -> None:
    """Print pairs of a name and a value in two columns."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    # In a plain string, rich would parse the brackets of "speed [m/s]" as markup.
    table = Table(box=box.SIMPLE, show_header=False, title=Text(title), title_justify="left")
    table.add_column(style="dim")
    table.add_column(overflow="fold")
    for name, value in rows:
        table.add_row(name, Text(value))
    Console(highlight=False).print(table)


@contextmanager
def spinner(text: str) -> Iterator[None]:
    """Show a message on a terminal while the block runs."""
    from rich.console import Console

    with Console(stderr=True).status(f"{text} ..."):
        yield


def progress() -> Any:
    """Return a progress bar that counts items; it is shown on terminals and removed when done."""
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
        return str(error.named(OPTIONS[error.parameter]))
    return str(error) or "out of memory"


def warning_text(warning: Warning | str, advice: str) -> str:
    """Return the text of a warning; one about convergence gets the advice of the command."""
    problem = getattr(warning, "problem", None)
    return str(warning) if problem is None else f"{problem}; {advice}"


@contextmanager
def _report_warnings(convergence_advice: str) -> Iterator[None]:
    """Print each distinct warning once, as one line without the file and line of its source."""
    printed: set[str] = set()

    def print_warning(
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: TextIO | None = None,
        line: str | None = None,
    ) -> None:
        text = " ".join(warning_text(message, convergence_advice).split())
        if text not in printed:
            printed.add(text)
            print_stderr(f"warning: {text}")

    with warnings.catch_warnings():  # also restores showwarning
        if not sys.warnoptions:  # python -W takes precedence
            warnings.simplefilter("always", UserWarning)
        warnings.showwarning = print_warning
        yield
