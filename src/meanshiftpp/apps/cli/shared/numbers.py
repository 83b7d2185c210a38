"""Positive numbers on the command line: one rule for every option that takes them."""

from __future__ import annotations

import math

import typer


def positive_number(text: str | float) -> float:
    """Return a positive, finite number, or raise ValueError."""
    value = float(text)
    if not 0 < value < math.inf:
        raise ValueError
    return value


def check_positive(value: float | None) -> float | None:
    """Check the number of an option: its `callback`."""
    if value is not None and not 0 < value < math.inf:
        raise typer.BadParameter(f"expected a positive number; got {value:g}")
    return value
