"""Median times of calls that take turns, so that a busy machine slows all of them alike."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from statistics import median
from time import perf_counter


def median_times(
    calls: Mapping[str, Callable[[], object]],
    rounds: int,
    *,
    warm_up: int = 0,
    min_seconds: float = 0.0,
) -> dict[str, float]:
    """Return the median seconds of each call over some rounds, after `warm_up` untimed rounds.

    A call is repeated until `min_seconds` have passed, and the mean of the repetitions counts.
    """
    times: dict[str, list[float]] = {name: [] for name in calls}
    for turn in range(warm_up + rounds):
        for name, call in calls.items():
            start, repetitions = perf_counter(), 0
            while not repetitions or perf_counter() - start < min_seconds:
                call()
                repetitions += 1
            if turn >= warm_up:
                times[name].append((perf_counter() - start) / repetitions)
    return {name: median(values) for name, values in times.items()}
