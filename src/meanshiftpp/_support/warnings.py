"""Warnings that point to the user's own line."""

from __future__ import annotations

import sys
import warnings
from types import FrameType

_SKIPPED = ("meanshiftpp", "sklearn")  # frames between the user's call and the warning


def warn_user(warning: Warning) -> None:
    """Warn at the first line of the call stack that is outside this package and scikit-learn."""
    frame: FrameType | None = sys._getframe(1)
    level = 2
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] in _SKIPPED:
        frame = frame.f_back
        level += 1
    warnings.warn(warning, stacklevel=level)
