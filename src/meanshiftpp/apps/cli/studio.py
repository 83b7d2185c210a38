"""`meanshiftpp studio`: a local web page for clustering and tracking by eye."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from meanshiftpp._support.extras import need
from meanshiftpp.apps.cli.shared.console import print_stderr, report_errors

DEFAULT_MAX_UPLOAD = 2048  # MB


def studio(
    file: Annotated[
        Path | None,
        typer.Argument(metavar="FILE", help="A picture, table or video to open first."),
    ] = None,
    port: Annotated[
        int,
        typer.Option(min=0, max=65535, metavar="N", help="Port to listen on; 0 uses a free port."),
    ] = 0,
    open_page: Annotated[
        bool, typer.Option("--open/--no-open", help="Open the page in the browser.")
    ] = True,
    max_upload: Annotated[
        int,
        typer.Option(min=1, metavar="MB", help="Largest file that can be uploaded to the page."),
    ] = DEFAULT_MAX_UPLOAD,
) -> None:
    """Open a web page to segment pictures, cluster tables and track objects by eye.

    The server accepts connections from this machine only and runs until Ctrl-C. Its address
    contains an access token: do not share it.
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
