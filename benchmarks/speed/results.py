"""The measurements of a contender and the result of a benchmark."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from benchmarks.speed.contenders import NO_CASE, Case


@dataclass(frozen=True)
class Measurement:
    """The measurements of one contender on one case; times are in seconds."""

    contender: str
    case: Case = NO_CASE
    times: tuple[float, ...] = ()
    ari: float | None = None
    to_floor: float | None = None  # ratio of the median to that of X.sum()
    to_ours: float | None = None  # ratio of the median to ours
    bytes: int | None = None
    facts: dict[str, Any] | None = None
    note: str = ""  # why there are no times, or a remark

    @property
    def best(self) -> float | None:
        return min(self.times, default=None)

    @property
    def median(self) -> float | None:
        return median(self.times) if self.times else None


OnMeasurement = Callable[[Measurement], None]


@dataclass(frozen=True)
class Result:
    """The result of a benchmark."""

    name: str
    title: str
    rows: list[Measurement]
    reached: dict[str, float] = field(default_factory=dict)  # measured values by goal key
    notes: list[str] = field(default_factory=list)
    extra: dict[str, Any] = field(default_factory=dict)
