"""Rates over seeds, with Wilson's interval."""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

_NORMAL_95 = 1.959963984540054


class Rate(NamedTuple):
    """How many of a number of seeds an event happened in."""

    events: int
    seeds: int

    @property
    def share(self) -> float:
        return self.events / self.seeds

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % interval of the true share (Wilson 1927)."""
        square = _NORMAL_95**2 / self.seeds
        middle = (self.share + square / 2) / (1 + square)
        variance = self.share * (1 - self.share) + square / 4
        half = _NORMAL_95 / (1 + square) * sqrt(variance / self.seeds)
        return max(middle - half, 0.0), min(middle + half, 1.0)

    @property
    def short(self) -> str:
        """The share in % and the number of seeds."""
        return f"{100 * self.share:.3g} ({self.seeds})"

    def __str__(self) -> str:
        low, high = self.interval
        return f"{100 * self.share:.1f} ({100 * low:.1f}-{100 * high:.1f})"
