"""Warnings that point to the user's own line, and a hook that shows them in another way."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TextIO

_SKIPPED = ("meanshiftpp", "sklearn")  # frames between the user's call and the warning


def warn_user(warning: Warning) -> None:
    """Warn at the first line of the call stack that is outside this package and scikit-learn."""
    frame: FrameType | None = sys._getframe(1)
    level = 2
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] in _SKIPPED:
        frame = frame.f_back
        level += 1
    warnings.warn(warning, stacklevel=level)


@contextmanager
def shown_by(show: Callable[[Warning | str], bool]) -> Iterator[None]:
    """Pass every warning to `show`; Python prints those for which it returns False.

    Deprecations are for developers, and `python -W` shows them. Python hides them by default, but
    not those of libraries whose class is also a `UserWarning`, as pyparsing's is.
    """
    with warnings.catch_warnings():  # restores the hook and the filters
        if not sys.warnoptions:  # python -W takes precedence
            warnings.simplefilter("always", UserWarning)
        print_warning = warnings.showwarning

        def hook(
            message: Warning | str,
            category: type[Warning],
            filename: str,
            lineno: int,
            file: TextIO | None = None,
            line: str | None = None,
        ) -> None:
            if issubclass(category, DeprecationWarning) and not sys.warnoptions:
                return
            if not show(message):
                print_warning(message, category, filename, lineno, file, line)

        warnings.showwarning = hook
        yield
