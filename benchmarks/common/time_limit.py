"""Calls in a separate process, which is killed when a call exceeds its time limit.

The process stays alive for the next call, so imports happen only once. The time limit starts when
the arguments have arrived.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from contextlib import suppress
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Any, Self

START_LIMIT = 300.0  # seconds for starting the process and importing the function


class TimeLimitError(Exception):
    """The call did not finish within its limit."""


class CallFailedError(Exception):
    """The call raised an exception or its process died; the message is the reason."""


class LimitedProcess:
    """A process for calls of functions that can be imported."""

    def __init__(self) -> None:
        self.process: Any = None
        self.connection: Connection | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def call(self, function: Callable[..., Any], *arguments: Any, limit: float) -> Any:
        """Return the result of a call, or raise TimeLimitError or CallFailedError."""
        if self.process is None:
            self._start()
        assert self.connection is not None
        try:
            self.connection.send((function, arguments))
            self._receive(START_LIMIT)  # confirms that the arguments have arrived
            succeeded, value = self._receive(limit)
        except (EOFError, OSError):
            code = self._exit_code()
            self.stop()
            raise CallFailedError(f"the process ended with status {code}") from None
        if not succeeded:
            raise CallFailedError(value)
        return value

    def stop(self) -> None:
        """Kill the process."""
        if self.process is not None:
            self.process.kill()
            self.process.join()
            self.connection.close()
        self.process = self.connection = None

    def _start(self) -> None:
        context = get_context("spawn")
        self.connection, child_connection = context.Pipe()
        self.process = context.Process(target=_serve, args=(child_connection,), daemon=True)
        self.process.start()
        child_connection.close()

    def _receive(self, limit: float) -> Any:
        if not self.connection.poll(limit):
            self.stop()
            raise TimeLimitError(f"not finished after {limit:g} s")
        return self.connection.recv()

    def _exit_code(self) -> int | None:
        self.process.join(5)
        return self.process.exitcode


def _serve(connection: Connection) -> None:
    """Answer calls until the parent closes the connection."""
    import warnings

    warnings.simplefilter("ignore")  # warnings of a peer do not matter
    with suppress(EOFError, OSError):
        while True:
            _answer_call(connection)


def _answer_call(connection: Connection) -> None:
    message = connection.recv_bytes()
    try:
        function, arguments = pickle.loads(message)
    except Exception as error:  # the function cannot be imported here
        function, arguments = _raise, (error,)
    connection.send(None)
    try:
        answer = True, function(*arguments)
    except Exception as error:  # an exception of a peer is its result
        answer = False, f"{type(error).__name__}: {error}"
    connection.send(answer)


def _raise(error: Exception) -> None:
    raise error
