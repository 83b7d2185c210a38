"""Calls in a process of their own, which is ended when a call takes longer than its limit.

The process stays for the next call, so that imports are paid for once. The clock of the limit
starts when the arguments have arrived.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from contextlib import suppress
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Any, Self

START = 300.0  # seconds for starting the process and importing what the call needs


class LateError(Exception):
    """The call did not finish within its limit."""


class FailedError(Exception):
    """The call raised something, or its process died; the message says what."""


class Bounded:
    """One process for calls; only functions at the top of a module can be called."""

    def __init__(self) -> None:
        self.process: Any = None
        self.near: Connection | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def call(self, function: Callable[..., Any], *arguments: Any, limit: float) -> Any:
        """Give what the function gives, or raise LateError or FailedError."""
        if self.process is None:
            self._start()
        assert self.near is not None
        try:
            self.near.send((function, arguments))
            self._answer(START)  # the arguments are there
            good, value = self._answer(limit)
        except (EOFError, OSError):
            code = self._exit_code()
            self.stop()
            raise FailedError(f"the process ended with status {code}") from None
        if not good:
            raise FailedError(value)
        return value

    def stop(self) -> None:
        """End the process, whatever it does."""
        if self.process is not None:
            self.process.kill()
            self.process.join()
            self.near.close()
        self.process = self.near = None

    def _start(self) -> None:
        context = get_context("spawn")
        self.near, far = context.Pipe()
        self.process = context.Process(target=_serve, args=(far,), daemon=True)
        self.process.start()
        far.close()

    def _answer(self, limit: float) -> Any:
        if not self.near.poll(limit):
            self.stop()
            raise LateError(f"not finished after {limit:g} s")
        return self.near.recv()

    def _exit_code(self) -> int | None:
        self.process.join(5)
        return self.process.exitcode


def _serve(far: Connection) -> None:
    """Do calls until the other end is gone."""
    import warnings

    warnings.simplefilter("ignore")  # a peer's warnings are not news
    with suppress(EOFError, OSError):
        while True:
            _answer_one(far)


def _answer_one(far: Connection) -> None:
    message = far.recv_bytes()
    try:
        function, arguments = pickle.loads(message)
    except Exception as error:  # it names something that cannot be imported here
        function, arguments = _raise, (error,)
    far.send(None)
    try:
        answer = True, function(*arguments)
    except Exception as error:  # whatever a peer raises is its result
        answer = False, f"{type(error).__name__}: {error}"
    far.send(answer)


def _raise(error: Exception) -> None:
    raise error
