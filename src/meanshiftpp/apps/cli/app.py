"""The command line: one command per task, results on stdout, everything else on stderr.

Commands import heavy libraries when they run, so that `--help` is fast, and the module of a command
is imported when the command is called: typer takes as long to inspect the options of all commands
as to import itself. Help is plain text for the same reason.
"""

from __future__ import annotations

import io
import sys
from typing import Annotated

import typer

from meanshiftpp.apps.cli.commands import MainGroup

app = typer.Typer(
    cls=MainGroup,
    help="MeanShift++: fast, exact clustering on a grid. The number of clusters need not be known.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # rich would take most of the time of --help
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(requested: bool) -> None:
    if requested:
        from meanshiftpp import __version__

        typer.echo(f"meanshiftpp {__version__}")
        raise typer.Exit


@app.callback()
def _app(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    # A file name that the terminal's encoding cannot represent must not stop a command.
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
