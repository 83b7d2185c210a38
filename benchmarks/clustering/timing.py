"""Times from 1e4 to 1e7 points of ten Gaussians, in two and three features.

Each method has its own process, draws the same points and may use all cores. The methods take turns
and medians count. A method that exceeds the limit is stopped and does not run at larger sizes; one
whose time would exceed it if it grew linearly is not started. The adjusted Rand index to the true
labels shows whether the timed result is any good.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import lru_cache
from statistics import median
from time import perf_counter

import numpy as np
from numpy.typing import NDArray
from rich.progress import Progress

from benchmarks.clustering.methods import AT_BANDWIDTH, Method, Request, labels_of
from benchmarks.common.machine import limit_memory
from benchmarks.common.synthetic import Data, draw
from benchmarks.common.time_limit import (
    START_LIMIT,
    CallFailedError,
    LimitedProcess,
    TimeLimitError,
)

SIZES = (10_000, 100_000, 1_000_000, 10_000_000)
FEATURES = (2, 3)
ROUNDS = 5
BUDGET = 20.0  # seconds: a method that has run as long starts no further round
WARM_UP_ROWS, ARI_ROWS = 1_000, 1_000_000


@dataclass
class Timing:
    """The times of one method on one array."""

    title: str
    n: int
    d: int
    seconds: list[float] = field(default_factory=list)
    ari: float | None = None
    note: str = ""  # why there is no time

    @property
    def median(self) -> float | None:
        return median(self.seconds) if self.seconds else None


def measure(
    methods: Sequence[Method], sizes: Sequence[int], limit: float, bar: Progress
) -> list[Timing]:
    """Time the methods, and ours with a given bandwidth, on arrays of all sizes."""
    contenders = [AT_BANDWIDTH, *methods]
    absent = {each.key: why for each in contenders if (why := each.reason_absent)}
    task = bar.add_task("times", total=len(FEATURES) * len(sizes))
    timings: list[Timing] = []
    for d in FEATURES:
        excluded = dict(absent)
        with ExitStack() as stack:
            processes = {m.key: stack.enter_context(LimitedProcess()) for m in contenders}
            for size, larger in zip(sizes, (*sizes[1:], None), strict=True):
                bar.update(task, description=f"times: {size:,} x {d}")
                found = measure_in_turns(contenders, processes, Data(size, d), excluded, limit)
                timings += found.values()
                if larger:
                    exclude_slow(found, excluded, larger / size, limit)
                bar.advance(task)
    return timings


def measure_in_turns(
    methods: Sequence[Method],
    processes: dict[str, LimitedProcess],
    data: Data,
    excluded: dict[str, str],
    limit: float,
) -> dict[str, Timing]:
    """Let the methods that are not excluded take turns on one array."""
    found = {
        each.key: Timing(each.title, data.n, data.d, note=excluded.get(each.key, ""))
        for each in methods
    }
    for turn in range(ROUNDS):
        for key, timing in found.items():
            if timing.note or sum(timing.seconds) > BUDGET:
                continue
            try:
                if turn == 0:
                    processes[key].call(prepare, key, data, limit=START_LIMIT)
                seconds, timing.ari = processes[key].call(run_once, key, data, limit=limit)
                timing.seconds.append(seconds)
            except (CallFailedError, TimeLimitError) as reason:
                timing.note = str(reason)
    return found


def exclude_slow(
    found: dict[str, Timing], excluded: dict[str, str], growth: float, limit: float
) -> None:
    """Exclude methods that failed, and those that linear growth would take beyond the limit."""
    for key, timing in found.items():
        if key in excluded:
            continue
        if timing.note:
            excluded[key] = f"not run: {timing.note} at {timing.n:,}"
        elif timing.seconds and min(timing.seconds) * growth > limit:
            excluded[key] = f"not run: {min(timing.seconds):.3g} s at {timing.n:,}"


# -- in the process of a method --------------------------------------------------------------------


def prepare(key: str, data: Data) -> None:
    """Draw the points and run on a few of them, so that imports and compilation are not timed."""
    limit_memory()
    X, _ = points(data)
    labels_of(key, X[:WARM_UP_ROWS], Request(data.k, threads=None))


def run_once(key: str, data: Data) -> tuple[float, float]:
    """Return the seconds of one run and the ARI of the first million labels."""
    from sklearn.metrics import adjusted_rand_score

    X, truth = points(data)
    start = perf_counter()
    labels = labels_of(key, X, Request(data.k, threads=None))
    seconds = perf_counter() - start
    return seconds, float(adjusted_rand_score(truth[:ARI_ROWS], labels[:ARI_ROWS]))


@lru_cache(maxsize=1)
def points(data: Data) -> tuple[NDArray[np.floating], NDArray[np.integer]]:
    return draw(data)
