"""The command line: one command per task, results on stdout, everything else on stderr.

Commands import heavy libraries when they run, so that `--help` is fast; this module imports only
typer at the top. Help is plain text for the same reason.
"""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import Annotated

import typer

from meanshiftpp.apps.cli.cluster import cluster
from meanshiftpp.apps.cli.command import Command, Group
from meanshiftpp.apps.cli.console import report_errors
from meanshiftpp.apps.cli.grid import grid
from meanshiftpp.apps.cli.segment import segment
from meanshiftpp.apps.cli.studio import studio
from meanshiftpp.apps.cli.sweep import sweep
from meanshiftpp.apps.cli.track import track

app = typer.Typer(
    cls=Group,
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


for command in (cluster, segment, sweep, track):
    app.command(cls=Command)(command)
# Without short texts, the list of commands would cut the sentences off.
app.command(cls=Command, short_help="Open a web page for pictures, tables and videos.")(studio)
app.add_typer(grid, name="grid", short_help="Build, merge and inspect grids.")


@app.command(cls=Command, short_help="Draw results for points, a photograph and a video.")
def demo(
    out: Annotated[Path, typer.Option(help="The folder for the pictures.")] = Path("demo"),
) -> None:
    """Cluster a million points and Iris, segment a photograph, track a ball; draw all results."""
    with report_errors():
        from meanshiftpp.apps.demo import run

        run(out)
