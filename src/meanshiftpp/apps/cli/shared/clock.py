"""The time of a command, divided into stages that add up to its wall time, start-up included."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter

_program_start: float | None = None  # None if another program calls the commands


def start_program() -> None:
    """Count the time since the process began as the first stage of the command."""
    global _program_start
    _program_start = perf_counter() - _process_age()


class Stages:
    """A clock that never stops: time outside of all stages belongs to the gap before the next.

    Examples
    --------
    >>> from meanshiftpp.apps.cli.shared.clock import Stages
    >>> stages = Stages(first="start", between="describe")
    >>> with stages("read"):
    ...     pass
    >>> list(stages.seconds)
    ['start', 'read']
    """

    def __init__(self, first: str, between: str) -> None:
        self.seconds: dict[str, float] = {}
        self._gap, self._between = first, between
        self._last = perf_counter() if _program_start is None else _program_start

    @contextmanager
    def __call__(self, stage: str) -> Iterator[None]:
        """Time a stage; one that comes again adds to its time."""
        self.close_gap()
        yield
        self._add(stage)

    def close_gap(self) -> None:
        """Add the time since the last stage to the gap."""
        self._add(self._gap)
        self._gap = self._between

    def _add(self, stage: str) -> None:
        now = perf_counter()
        self.seconds[stage] = self.seconds.get(stage, 0.0) + now - self._last
        self._last = now


def _process_age() -> float:
    """Return the seconds since the process began; 0 where the system does not report it."""
    try:
        fields = Path("/proc/self/stat").read_text("utf-8", "replace").rpartition(")")[2].split()
        began = int(fields[19]) / os.sysconf("SC_CLK_TCK")  # since the system was started
        return max(time.clock_gettime(time.CLOCK_BOOTTIME) - began, 0.0)
    except (OSError, AttributeError, IndexError, ValueError):  # not Linux
        return 0.0
