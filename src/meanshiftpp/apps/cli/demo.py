"""`meanshiftpp demo`: draw results for points, a photograph and a video."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from meanshiftpp.apps.cli.shared.console import report_errors


def demo(
    output: Annotated[
        Path,
        typer.Option("--output", "-o", metavar="FOLDER", help="The folder for the pictures."),
    ] = Path("demo"),
) -> None:
    """Cluster a million points and Iris, segment a photograph, track a ball; draw all results."""
    with report_errors():
        from meanshiftpp.apps.demo import run

        run(output)
