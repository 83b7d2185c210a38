"""`meanshiftpp studio`: the page on which bandwidths are dragged and colours are clicked."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from meanshiftpp._support.extras import need
from meanshiftpp.apps.cli.console import print_stderr, report_errors

DEFAULT_UPLOAD = 2048


def studio(
    file: Annotated[
        Path | None,
        typer.Argument(metavar="FILE", help="A picture, table or video to begin with."),
    ] = None,
    port: Annotated[
        int, typer.Option(min=0, max=65535, metavar="N", help="Port. Without it, a free one.")
    ] = 0,
    open_page: Annotated[
        bool, typer.Option("--open/--no-open", help="Whether to open the page in the browser.")
    ] = True,
    max_upload: Annotated[
        int, typer.Option(min=1, metavar="MB", help="Largest file that may be dropped on the page.")
    ] = DEFAULT_UPLOAD,
) -> None:
    """Open a page to segment, cluster and track by eye.

    It runs on this machine only, until Ctrl-C. The address has a token in it: share neither.
    """
    with report_errors():
        from meanshiftpp._support.files import check_readable

        for module in ("fastapi", "uvicorn", "websockets"):
            need(module, "studio")
        if file is not None:
            check_readable(file)
        from meanshiftpp.apps.studio.server import serve

        def ready(address: str) -> None:
            typer.echo(address)
            print_stderr("The studio is open at this address; Ctrl-C ends it.")
            if open_page:
                import webbrowser

                webbrowser.open(address)

        serve(file, port=port, max_upload=max_upload * 2**20, ready=ready)
