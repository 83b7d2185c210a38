"""Runs that stop after some rows, as a killed one does."""

from __future__ import annotations

from collections.abc import Callable


class StoppedError(Exception):
    """Ends a run from its progress."""


def stop_after(rows: int) -> Callable[[int], None]:
    """Return a progress that raises StoppedError once so many rows are read."""
    done = 0

    def progress(more: int) -> None:
        nonlocal done
        done += more
        if done >= rows:
            raise StoppedError

    return progress
