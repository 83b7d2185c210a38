"""The command `meanshiftpp`; `python -m meanshiftpp` is the same."""

from __future__ import annotations

import os
import signal
import sys

from meanshiftpp._support.extras import need
from meanshiftpp.errors import MissingExtraError


def main() -> None:
    """Run the command line; if a package is missing, print how to install it."""
    try:
        need("typer", "cli")
        need("rich", "cli")
    except MissingExtraError as error:
        sys.exit(f"error: {error}")
    # Commands do not use BLAS, whose threads NumPy would start when it is imported.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from meanshiftpp.apps.cli.app import app

    for name in ("SIGTERM", "SIGHUP"):  # Windows has no SIGHUP
        number = getattr(signal, name, None)
        if number and signal.getsignal(number) == signal.SIG_DFL:  # `nohup` ignores SIGHUP
            signal.signal(number, _exit_on_signal)
    _open_streams()
    app(prog_name="meanshiftpp")


def _open_streams() -> None:
    """Open streams that the caller closed, as `2>&-` does: a data file must not get their place."""
    while (number := os.open(os.devnull, os.O_RDWR)) <= 2:
        os.set_inheritable(number, True)
    os.close(number)
    for number, name in ((1, "stdout"), (2, "stderr")):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(number, "w", encoding="utf-8", closefd=False))


def _exit_on_signal(number: int, _: object) -> None:
    """Exit with an exception, as Ctrl-C does, so that temporary files are removed."""
    raise SystemExit(128 + number)


if __name__ == "__main__":
    main()
