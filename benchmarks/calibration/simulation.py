"""Trees of all cases over many seeds, on several processes, within a time budget.

The seeds of the derivation and of the report are different, so the reported rates are those of new
data. Results are kept in a file with the version of the code, so a stopped run continues where it
was. They depend on the number of seeds, and not on the processes. The cases take turns in
proportion to their seeds, so a run that ends early has seeds of every case.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import takewhile
from time import monotonic
from typing import Any, NamedTuple, Protocol, Self

import numpy as np
from joblib import Parallel, delayed
from rich.progress import Progress

from benchmarks.calibration.cases import Case, Points
from benchmarks.common.result_cache import ResultCache, code_version
from meanshiftpp.core.tree import Observed, Tree, critical, grow

DERIVE, REPORT = 1, 3  # stages; the seeds of stage 2 have been used for choices
LEAST_SEEDS = 5
CHEAP, POWER = 5e-3, 0.4  # seconds: cases of this cost get all seeds, dearer ones fewer
WHOLE = 0.95  # share of the points that one cluster of a null must have
LOOSEST, STRICTEST, BISECTIONS = 0.6, 2.4, 6
LAYERS = ("_support", "core")  # a tree depends on these

Table = dict[int, tuple[float, float, float, float]]


class Drawn(Protocol):
    """A case or a mixture."""

    @property
    def cost(self) -> float: ...
    def draw(self, stage: int, seed: int) -> Points: ...


class Found(NamedTuple):
    """The clusters of a tree: their number, and the share of the points in the heaviest."""

    clusters: int
    heaviest: float

    @property
    def is_whole(self) -> bool:
        """Whether one cluster has at least 95 % of the points."""
        return self.heaviest >= WHOLE


class Outcome(NamedTuple):
    """The clusters of one seed: with the table in use, and with the derived one."""

    now: Found
    derived: Found

    @classmethod
    def of_stored(cls, values: Sequence[Sequence[float]]) -> Self:
        """Return the outcome that a file holds as lists."""
        now, derived = (Found(int(clusters), heaviest) for clusters, heaviest in values)
        return cls(now, derived)


class Task(NamedTuple):
    """A seed of a case."""

    case: Any
    seed: int
    place: float  # in the order of all tasks


def seeds_of(case: Drawn, seeds: int) -> int:
    """Return the number of seeds of a case, of which the cheapest have `seeds`."""
    share: float = min(1.0, (CHEAP / case.cost) ** POWER)
    return max(min(LEAST_SEEDS, seeds), round(seeds * share))


def tasks_of(cases: Sequence[Drawn], seeds: int) -> list[Task]:
    """Return the seeds of all cases in turns, the cheapest first."""
    counts = {case: seeds_of(case, seeds) for case in cases}
    tasks = [Task(case, i, i / count) for case, count in counts.items() for i in range(count)]
    return sorted(tasks, key=lambda task: (task.place, task.case.cost))


@dataclass(frozen=True)
class Simulation:
    """How to run cases: the seeds of the cheapest, the processes, and the file of results."""

    seeds: int
    processes: int
    cache: ResultCache
    bar: Progress

    def run(
        self,
        measure: Callable[..., Any],
        cases: Sequence[Drawn],
        *arguments: Any,
        deadline: float = float("inf"),
    ) -> dict[Any, list[Any]]:
        """Return `measure(case, seed, *arguments)` of the seeds of each case until a deadline."""
        key = (measure.__name__, code_version(*LAYERS), repr(arguments))
        tasks = tasks_of(cases, self.seeds)
        stored = {task: self.cache.get(*key, str(task.case), str(task.seed)) for task in tasks}
        missing = [task for task, value in stored.items() if value is None]
        in_time = takewhile(lambda _: monotonic() < deadline, missing)
        pool = Parallel(self.processes, return_as="generator_unordered", pre_dispatch="n_jobs")
        calls = (delayed(_measured)(measure, task, arguments) for task in in_time)
        title = measure.__name__.replace("_", " ")
        for task, value in self.bar.track(pool(calls), len(missing), description=title):
            stored[task] = self.cache.store(*key, str(task.case), str(task.seed), value=value)
        results: dict[Any, list[Any]] = {case: [] for case in cases}
        for task, value in sorted(stored.items(), key=lambda item: item[0].seed):
            if value is not None:
                results[task.case].append(value)
        return {case: values for case, values in results.items() if values}


def _measured(measure: Callable[..., Any], task: Task, arguments: Any) -> tuple[Task, Any]:
    return task, measure(task.case, task.seed, *arguments)


# -- measurements of one seed ----------------------------------------------------------------------


def needed_strictness(case: Case, seed: int) -> float:
    """Return the least strictness at which a null is whole, to 2 %; `LOOSEST` if it is there.

    The scores of the splits of a loose tree would be cheaper. But after a first false split, later
    levels see only parts of the data, whose scores a tree that is strict enough never meets.
    """
    tree = grow_all(case.draw(DERIVE, seed), LOOSEST)
    if found_in(tree).is_whole:
        return LOOSEST
    low, high = LOOSEST, STRICTEST
    for _ in range(BISECTIONS):
        middle = float(np.sqrt(low * high))
        if found_in(_regrow(tree, middle)).is_whole:
            high = middle
        else:
            low = middle
    return high


def clusters_found(case: Drawn, seed: int, derived: Table) -> Outcome:
    """Return the clusters of the default, and with the derived table."""
    X = case.draw(REPORT, seed)
    tree, before = grow_all(X), critical.critical_values(X.shape[1])
    with critical_table(derived):
        changed = (critical.critical_values(X.shape[1]) != before).any()
        other = _regrow(tree, 1.0) if changed else tree
    return Outcome(found_in(tree), found_in(other))


def found_in(tree: Tree) -> Found:
    """Count the clusters of a tree."""
    weights = np.bincount(tree.labels, weights=tree.sizes)
    return Found(int(tree.n_clusters), float(weights.max() / weights.sum()))


def grow_all(X: Points, strictness: float = 1.0) -> Tree:
    """Return the tree of all points."""
    return grow(Observed(X), np.zeros(X.shape[1]), strictness=strictness, n_threads=1).tree


def _regrow(tree: Tree, strictness: float) -> Tree:
    """Return the tree of the same leaves with another strictness."""
    return replace(tree, strictness=strictness).regrown(1, n_threads=1)


@contextmanager
def critical_table(table: Table) -> Iterator[None]:
    """Grow trees with other critical values in this context."""
    before = critical.CRITICAL.copy()
    _replace(table)
    try:
        yield
    finally:
        _replace(before)


def _replace(table: Table) -> None:
    critical.CRITICAL.clear()
    critical.CRITICAL.update(table)
