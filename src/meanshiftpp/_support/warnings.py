"""Warnings that point to the user's own line."""

from __future__ import annotations

import sys
import warnings
from itertools import count

_SKIPPED = ("meanshiftpp", "sklearn")  # frames between the user's call and the warning


def warn_user(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the first line of the call stack that is outside this package and scikit-learn."""
    frame = sys._getframe(1)
    for level in count(2):
        package = frame.f_globals.get("__name__", "").partition(".")[0]
        if package not in _SKIPPED or frame.f_back is None:
            break
        frame = frame.f_back
    warnings.warn(message, category, stacklevel=level)
