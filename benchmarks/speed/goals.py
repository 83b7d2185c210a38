"""The goals, as data: the work, the target, and how it is measured.

All targets are ratios of medians that are measured in turns in one run, on two cores, or plain
sizes. Every run reports for each goal whether it was reached. A goal may be missed, but it stays
in the list.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from benchmarks.common.synthetic import IRIS, Data
from benchmarks.speed.contenders import (
    AUTOMATIC,
    DEFAULT_SWEEP,
    FEW_FITS,
    FEW_SWEEP,
    FITS,
    FLOOR,
    JOINED,
    OURS,
    SWEEP,
    Case,
)


@dataclass(frozen=True)
class Goal:
    """A row of the table of goals."""

    key: str
    work: str
    target: float
    unit: str
    how: str
    case: Case | None = None
    peer: str | None = None  # the contender of the ratio
    contender: str = OURS  # the one that is judged
    at_least: bool = False  # otherwise at most
    separated: bool = True  # whether the true clusters can be found at this bandwidth
    stretch: float | None = None  # a more ambitious target

    def is_reached(self, value: float) -> bool:
        return value >= self.target if self.at_least else value <= self.target

    @property
    def target_text(self) -> str:
        sign = "≥" if self.at_least else "≤"
        stretch = f" (stretch: {self.stretch:,g})" if self.stretch else ""
        return f"{sign} {self.target:,g} {self.unit}{stretch}"


IN_TURNS = "fit_predict and X.sum() in turns in one process"
SEPARATE = "fit_predict of both in turns, each in a separate process"
GAUSSIANS = "10 unit Gaussians in a box of 20"

SWEEP_IN_TURNS = "the sweep, Grid.from_points and seek at each bandwidth, and a fit, in turns"
MIXTURE = Case(Data(10_000_000))
ONE_GAUSSIAN = (
    Case(Data(100_000, 8, k=1), bandwidth=0.42),
    Case(Data(3_000_000, 5, k=1), bandwidth=0.214),
    Case(Data(30_000_000, 3, k=1), bandwidth=0.123),
)

FEW_BANDWIDTHS = (Case(Data(100_000)), Case(Data(1_000_000)))
JOINED_CASES = (
    Case(Data(1_000_000, 2), bandwidth=1.08),
    Case(Data(1_000_000, 3), bandwidth=2.0),
    Case(Data(3_000_000, 5, k=1), bandwidth=0.376),
    Case(Data(100_000, 8, k=1), bandwidth=0.607),
)

GOALS = (
    Goal(
        "floor-float32",
        f"10M x 3 float32, {GAUSSIANS}, h=1",
        8,
        "x X.sum()",
        IN_TURNS,
        Case(Data(10_000_000)),
        FLOOR,
        stretch=5,
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
        "10M x 3 float32, h=0.1: over a million cells, about a hundred steps",
        250,
        "x X.sum()",
        IN_TURNS,
        Case(Data(10_000_000), bandwidth=0.1),
        FLOOR,
        separated=False,
        stretch=120,
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
        "1M x 3, compared with scikit-learn's KMeans(10, n_init=1)",
        10,
        "x faster",
        SEPARATE,
        Case(Data(1_000_000)),
        "KMeans",
        at_least=True,
    ),
    Goal(
        "meanshift",
        "100k x 3, compared with scikit-learn's MeanShift(bandwidth=2, bin_seeding=True)",
        10_000,
        "x faster",
        f"{SEPARATE}; ours at h=4/3, where the window is as wide as the ball of radius 2",
        Case(Data(100_000), bandwidth=4 / 3),
        "MeanShift",
        at_least=True,
    ),
    Goal(
        "sweep-list",
        "10M x 3 float32: sweep(X, linspace(0.5, 4, 50))",
        1,
        "x the separate fits",
        SWEEP_IN_TURNS,
        MIXTURE,
        FITS,
        contender=SWEEP,
        stretch=0.6,
    ),
    Goal(
        "sweep-fit",
        "the same",
        20,
        "x a fit at h=1",
        SWEEP_IN_TURNS,
        MIXTURE,
        OURS,
        contender=SWEEP,
    ),
    *(
        Goal(
            f"sweep-default-{case.data.d}d",
            f"{case.data}, one Gaussian: sweep(X)",
            3,
            "seconds",
            "on two cores",
            case,
            contender=DEFAULT_SWEEP,
        )
        for case in ONE_GAUSSIAN
    ),
    *(
        Goal(
            f"automatic-{case.data.d}d",
            f"{case.data}, one Gaussian: MeanShiftPP(select_bandwidth(X))",
            5,
            "x MeanShiftPP(h)",
            f"fit_predict of both in turns in one process; h={case.bandwidth:g}, near the choice",
            case,
            OURS,
            contender=AUTOMATIC,
        )
        for case in ONE_GAUSSIAN[:2]
    ),
    *(
        Goal(
            f"sweep-few-{case.data.n}",
            f"{case.data}: sweep(X, [0.5, 1.25, 3.125])",
            1,
            "x the separate fits",
            SWEEP_IN_TURNS,
            case,
            FEW_FITS,
            contender=FEW_SWEEP,
        )
        for case in FEW_BANDWIDTHS
    ),
    *(
        Goal(
            f"joined-{case.data.d}d",
            f"{case.data}, {'one Gaussian' if case.data.k == 1 else GAUSSIANS}: MeanShiftPP()",
            5,
            "x MeanShiftPP(h)",
            f"fit_predict of both in turns in one process; h={case.bandwidth:g}, near the choice",
            case,
            OURS,
            contender=JOINED,
        )
        for case in JOINED_CASES
    ),
    Goal(
        "features",
        "1M points, six to ten features: binning with one feature more",
        1.5,
        "x the time before",
        "the largest growth, medians in turns in one process",
    ),
    *(
        Goal(
            f"density-{d}d",
            f"10,000 x {d}, three Gaussians: root mean squared error of GridDensity()",
            1.15,
            "x that of KernelDensity",
            "medians of seven samples, both with their normal reference rule",
        )
        for d in (1, 2)
    ),
    Goal(
        "grid-build",
        "20M x 3 float32 in Parquet: build_grid",
        1.5,
        "x reading by pyarrow and binning in memory",
        "CPU time, in turns in one process",
    ),
    Goal(
        "label-parquet",
        "20M x 3 float32 from Parquet to Parquet with labels",
        1.3,
        "x reading and writing by pyarrow alone, and labelling",
        "CPU time, in turns in one process",
    ),
    Goal("csv-open", "1M x 3 in CSV: open_points", 50, "ms of CPU time", "without reading rows"),
    Goal("segment", "segment, 12 megapixels", 600, "ms", "on two cores"),
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
        "Iris: the whole call of the estimator",
        2_000,
        "microseconds",
        "MeanShiftPP(0.7).fit_predict(X)",
        Case(IRIS, bandwidth=0.7),
    ),
    Goal(
        "large-time",
        "1e8 x 3 float32, h=1: linear time",
        12,
        "x the time of 1e7",
        "all rows and the first tenth of them, in turns in one process",
        Case(Data(100_000_000)),
    ),
    Goal(
        "large-memory",
        "1e8 x 3 float32, h=1: memory in addition to input and labels",
        5,
        "bytes per point",
        "peak resident memory of a separate process, minus that before the call",
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
        "from meanshiftpp import Grid, seek (also loads the kernel)",
        1.3,
        "x import numpy",
        "the import statement, in fresh interpreters in turns",
    ),
    Goal(
        "help",
        "meanshiftpp --help",
        150,
        "ms of CPU time",
        "the whole process, in turns with the imports",
    ),
    Goal(
        "cluster-tiny",
        "meanshiftpp cluster, a table of 100 rows",
        250,
        "ms of CPU time",
        "the whole process, in turns with the imports",
    ),
)
BY_KEY: Mapping[str, Goal] = {goal.key: goal for goal in GOALS}


def goals_with(*contenders: str) -> tuple[Goal, ...]:
    """Return the goals that are ratios to one of these contenders."""
    return tuple(goal for goal in GOALS if goal.peer in contenders)


def goals_of(*contenders: str) -> dict[Case, list[Goal]]:
    """Return the goals that judge one of these contenders, by their case."""
    found: dict[Case, list[Goal]] = {}
    for goal in GOALS:
        if goal.contender in contenders and goal.case is not None:
            found.setdefault(goal.case, []).append(goal)
    return found


def verdict(goal: Goal, value: float | None) -> str:
    """Return whether a goal is reached, missed or not measured."""
    if value is None:
        return "not measured"
    if goal.stretch is not None and value <= goal.stretch:
        return "reached, stretch too"
    return "reached" if goal.is_reached(value) else "MISSED"
