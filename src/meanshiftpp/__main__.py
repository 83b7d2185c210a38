"""The command `meanshiftpp`, also as `python -m meanshiftpp`."""

from __future__ import annotations

import signal
import sys

from meanshiftpp._support.extras import need
from meanshiftpp.errors import MissingExtraError


def main() -> None:
    """Run the command line, or say how to install what it needs."""
    try:
        need("typer", "cli")
        need("rich", "cli")
    except MissingExtraError as error:
        sys.exit(f"error: {error}")
    from meanshiftpp.apps.cli.app import app

    signal.signal(signal.SIGTERM, _stop)
    app(prog_name="meanshiftpp")


def _stop(number: int, _: object) -> None:
    """End as Ctrl-C does, so that nothing half-written is left."""
    raise SystemExit(128 + number)


if __name__ == "__main__":
    main()
