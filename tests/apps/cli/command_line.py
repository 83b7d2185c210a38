"""A way to run the program in this process."""

from __future__ import annotations

from typer.testing import CliRunner

from meanshiftpp.apps.cli.app import app


def run(*arguments: object) -> tuple[int, str, str]:
    """Return the exit status, the output and the errors."""
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    return result.exit_code, result.stdout, result.stderr
