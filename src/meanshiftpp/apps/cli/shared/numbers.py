"""Positive numbers and lengths: one rule, and one wording, for every option that takes them."""

from __future__ import annotations

import math

import typer

LENGTHS = "lengths in m or km"  # in messages; `metres` parses them


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
