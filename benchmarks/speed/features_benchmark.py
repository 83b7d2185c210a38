"""The benchmark of features: the time of binning must not jump with one feature more."""

from __future__ import annotations

from functools import partial
from itertools import pairwise

from benchmarks.common.synthetic import Data, draw
from benchmarks.common.timing import median_times
from benchmarks.speed.checks import WrongResultError
from benchmarks.speed.presets import Preset
from benchmarks.speed.results import Measurement, OnMeasurement, Result
from meanshiftpp import Grid

POINTS = 1_000_000
FEATURES = range(6, 11)


def features(preset: Preset, on_measurement: OnMeasurement) -> Result:
    """Bin the same number of points with six to ten features, in turns."""
    n = max(POINTS // preset.goal_divisor, 1_000)
    points = {d: draw(Data(n, d))[0] for d in FEATURES}
    for d, X in points.items():
        if (total := Grid.from_points(X, 1.0).total) != n:
            raise WrongResultError(f"the grid in {d} features holds {total:,} points of {n:,}")
    calls = {f"bin, {d} features": partial(Grid.from_points, X, 1.0) for d, X in points.items()}
    times = median_times(calls, min(preset.rounds, 5))
    measured = [Measurement(name, times=(seconds,)) for name, seconds in times.items()]
    for row in measured:
        on_measurement(row)
    growth = max(later / earlier for earlier, later in pairwise(times.values()))
    reached = {"features": growth} if preset.full_size else {}
    return Result("features", f"Binning {n:,} points, h=1", measured, reached)
