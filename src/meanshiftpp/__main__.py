"""The command `meanshiftpp`; `python -m meanshiftpp` is the same."""

from __future__ import annotations

import io
import os
import signal
import sys
from typing import Self

from meanshiftpp._support.extras import need
from meanshiftpp.errors import MissingExtraError


def main() -> None:
    """Run the command line; if a package is missing, print how to install it."""
    # Commands do not use BLAS, whose threads NumPy would start when it is imported.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        need("typer", "cli")
        need("rich", "cli")
        _run()
    except MissingExtraError as error:
        sys.exit(f"error: {error}")
    except KeyboardInterrupt:  # before a command runs, which exits by itself
        sys.exit(128 + signal.SIGINT)


def _run() -> None:
    from meanshiftpp.apps.cli.app import app
    from meanshiftpp.apps.cli.shared.clock import start_program

    for name in ("SIGTERM", "SIGHUP"):  # Windows has no SIGHUP
        number = getattr(signal, name, None)
        if number and signal.getsignal(number) == signal.SIG_DFL:  # `nohup` ignores SIGHUP
            signal.signal(number, _exit_on_signal)
    _open_streams()
    start_program()
    app(prog_name="meanshiftpp")


def _open_streams() -> None:
    """Open streams that the caller closed, as `2>&-` does: a data file must not get their place."""
    while (number := os.open(os.devnull, os.O_RDWR)) <= 2:
        os.set_inheritable(number, True)
    os.close(number)
    for number, name in ((1, "stdout"), (2, "stderr")):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, os.fdopen(number, "w", encoding="utf-8", closefd=False))
        elif type(stream) is io.TextIOWrapper:
            replaced = _Stream.replacing(stream)
            for each in (name, f"__{name}__"):  # the second name is of the detached stream too
                setattr(sys, each, replaced)


class _Stream(io.TextIOWrapper):
    """A standard stream: results that cannot be written end the program, messages are dropped."""

    @classmethod
    def replacing(cls, stream: io.TextIOWrapper) -> Self:
        """Return a stream with the settings of another, which is detached."""
        settings = (stream.encoding, stream.errors, None, stream.line_buffering)
        write_through = stream.write_through
        return cls(stream.detach(), *settings, write_through=write_through)

    def write(self, text: str, /) -> int:
        try:
            return super().write(text)
        except OSError as error:
            self._fail(error)
        return len(text)

    def flush(self) -> None:
        try:
            super().flush()
        except OSError as error:
            self._fail(error)

    def _fail(self, error: OSError) -> None:
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, self.fileno())  # Python flushes the stream again when it exits
        os.close(null)
        if self.fileno() == 2:
            return
        if isinstance(error, BrokenPipeError):  # the reader needs no more, as `head` does
            raise SystemExit(141)  # 128 + SIGPIPE, which Windows does not have
        raise SystemExit(f"error: cannot write to the standard output: {error.strerror}")


def _exit_on_signal(number: int, _: object) -> None:
    """Exit with an exception, as Ctrl-C does, so that temporary files are removed."""
    raise SystemExit(128 + number)


if __name__ == "__main__":
    main()
