"""Warnings for the page, collected for the job that raised them and worded for its controls.

`warnings.catch_warnings` changes the whole process, so two jobs at a time would mix their warnings.
One hook for the whole process therefore looks up the job of the current thread.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from meanshiftpp._support.warnings import shown_by

__all__ = ["collecting", "routed_warnings", "warning_message"]

_current = threading.local()
_ADVICE = "move Bandwidth to the right"


@contextmanager
def collecting(caught: list[Warning]) -> Iterator[None]:
    """Collect the warnings of the current thread."""
    _current.caught = caught
    try:
        yield
    finally:
        _current.caught = None


@contextmanager
def routed_warnings() -> Iterator[None]:
    """Pass user warnings to the list that collects those of their thread; print all others."""

    def collect(message: Warning | str) -> bool:
        caught = getattr(_current, "caught", None)
        if caught is None or not isinstance(message, UserWarning):
            return False
        caught.append(message)
        return True

    with shown_by(collect):
        yield


def warning_message(warning: Warning) -> str:
    """Return the text that the page shows.

    Examples
    --------
    >>> from meanshiftpp.apps.studio.page_warnings import warning_message
    >>> warning_message(UserWarning("masked 12 pixels"))
    'masked 12 pixels'
    """
    problem = getattr(warning, "problem", None)  # of a search that did not converge
    if problem is not None:
        return f"Not converged: {problem}; {_ADVICE}"
    return str(warning)
