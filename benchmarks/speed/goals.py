"""What is aimed at, as data: the work, the figure, how it is measured.

All figures are ratios of medians taken in turns in one run, on two cores, or plain sizes. A run
says of each line whether it was reached. A goal may be missed; it may not be forgotten.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from benchmarks.common.data import IRIS, Data
from benchmarks.speed.contenders import FLOOR, Case


@dataclass(frozen=True)
class Goal:
    """A line of the table."""

    key: str
    work: str
    figure: float
    unit: str
    how: str
    case: Case | None = None
    against: str | None = None  # the contender the time is divided by, or that is divided by it
    at_least: bool = False  # else at most
    separated: bool = True  # whether the clusters can be found at this bandwidth
    dream: float | None = None

    def reached(self, value: float) -> bool:
        return value >= self.figure if self.at_least else value <= self.figure

    @property
    def aim(self) -> str:
        sign = "≥" if self.at_least else "≤"
        dream = f" (dream: {self.dream:,g})" if self.dream else ""
        return f"{sign} {self.figure:,g} {self.unit}{dream}"


IN_TURNS = "fit_predict and X.sum() in turns in one process"
APART = "fit_predict of both in turns, each in its own process"
RANGE = "unit Gaussians in a box of 20"

GOALS = (
    Goal(
        "floor-float32",
        f"10M x 3 float32, 10 {RANGE}, h=1",
        8,
        "x X.sum()",
        IN_TURNS,
        Case(Data(10_000_000)),
        FLOOR,
        dream=5,
    ),
    Goal(
        "floor-float64",
        "the same in float64",
        8,
        "x its own X.sum()",
        IN_TURNS,
        Case(Data(10_000_000, dtype="float64")),
        FLOOR,
    ),
    Goal(
        "floor-fine",
        "the same in float32 at h=0.1: over a million cells, over a hundred steps",
        250,
        "x X.sum()",
        IN_TURNS,
        Case(Data(10_000_000), bandwidth=0.1),
        FLOOR,
        separated=False,
    ),
    Goal(
        "floor-2d",
        "1M x 2 float32, h=1",
        15,
        "x X.sum()",
        IN_TURNS,
        Case(Data(1_000_000, d=2)),
        FLOOR,
    ),
    Goal(
        "floor-5d",
        "1M x 5 float32, h=1",
        60,
        "x X.sum()",
        IN_TURNS,
        Case(Data(1_000_000, d=5)),
        FLOOR,
    ),
    Goal(
        "kmeans",
        "1M x 3 against scikit-learn KMeans(10, n_init=1)",
        10,
        "x faster",
        APART,
        Case(Data(1_000_000)),
        "KMeans",
        at_least=True,
    ),
    Goal(
        "meanshift",
        "100k x 3 against scikit-learn MeanShift(bandwidth=2, bin_seeding=True)",
        10_000,
        "x faster",
        f"{APART}; ours at h=4/3, where our box is as wide as the ball of radius 2",
        Case(Data(100_000), bandwidth=4 / 3),
        "MeanShift",
        at_least=True,
    ),
    Goal(
        "iris-kernel",
        "Iris, 150 x 4, h=0.7: the kernel",
        150,
        "microseconds",
        "bin, search and label, with the checks of the arguments, without the estimator",
        Case(IRIS, bandwidth=0.7),
    ),
    Goal(
        "iris-estimator",
        "Iris, the whole estimator call",
        2_000,
        "microseconds",
        "MeanShiftPP(0.7).fit_predict(X)",
        Case(IRIS, bandwidth=0.7),
    ),
    Goal(
        "large-time",
        "1e8 x 3 float32, h=1: linear",
        12,
        "x the time of 1e7",
        "all rows and the first tenth of them, in turns in one process",
        Case(Data(100_000_000)),
    ),
    Goal(
        "large-memory",
        "1e8 x 3 float32, h=1: memory beyond input and labels",
        5,
        "bytes a point",
        "peak of the resident memory in a process of its own, less what it had before",
        Case(Data(100_000_000)),
    ),
    Goal(
        "import",
        "import meanshiftpp",
        1.3,
        "x import numpy",
        "the import statement, in fresh interpreters in turns",
    ),
    Goal(
        "import-kernel",
        "from meanshiftpp import Grid, seek: the kernel loaded too",
        1.3,
        "x import numpy",
        "the import statement, in fresh interpreters in turns",
    ),
)
BY_KEY: Mapping[str, Goal] = {goal.key: goal for goal in GOALS}


def against(*contenders: str) -> tuple[Goal, ...]:
    """Give the goals that are ratios to one of these contenders."""
    return tuple(goal for goal in GOALS if goal.against in contenders)


def verdict(goal: Goal, value: float | None) -> str:
    """Say in a word how a goal stands."""
    if value is None:
        return "not measured"
    if goal.dream is not None and value <= goal.dream:
        return "reached, and the dream"
    return "reached" if goal.reached(value) else "MISSED"
