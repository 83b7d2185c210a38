"""The command line: one verb a task, the result on stdout, everything else on stderr.

Only typer is imported here at the top: `--help` must answer at once, so each command imports what
it needs when it runs.
"""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import Annotated

import typer

from meanshiftpp.apps.cli.cluster import cluster
from meanshiftpp.apps.cli.console import errors_in_words
from meanshiftpp.apps.cli.grid import grid
from meanshiftpp.apps.cli.image import segment
from meanshiftpp.apps.cli.studio import studio
from meanshiftpp.apps.cli.sweep import sweep
from meanshiftpp.apps.cli.track import track

app = typer.Typer(
    help="MeanShift++: fast, exact mode seeking on a grid. Clusters, without choosing how many.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        from meanshiftpp import __version__

        typer.echo(f"meanshiftpp {__version__}")
        raise typer.Exit


@app.callback()
def _app(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    for stream in (sys.stdout, sys.stderr):  # a name it cannot write must not end the work
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


app.command()(cluster)
app.command()(segment)
app.command()(sweep)
app.command()(track)
app.command()(studio)
app.add_typer(grid, name="grid")


@app.command()
def demo(
    out: Annotated[Path, typer.Option(help="Folder for the pictures.")] = Path("demo"),
) -> None:
    """Cluster a million points and Iris, segment a photograph, track a ball, and draw it all."""
    with errors_in_words():
        from meanshiftpp.apps.demo import run

        run(out)
