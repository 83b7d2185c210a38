"""The command `meanshiftpp`, also as `python -m meanshiftpp`."""

from __future__ import annotations

import sys

from meanshiftpp.errors import MissingExtraError, need


def main() -> None:
    """Run the command line, or say how to install what it needs."""
    try:
        need("typer", "cli")
        need("rich", "cli")
    except MissingExtraError as error:
        sys.exit(f"error: {error}")
    from meanshiftpp.cli.app import app

    app(prog_name="meanshiftpp")


if __name__ == "__main__":
    main()
