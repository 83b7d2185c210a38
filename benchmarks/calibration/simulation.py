"""Trees of all cases over many seeds, on two processes.

The seeds of the derivation and of the report are different, so the reported rates are those of new
data. Results depend on the number of seeds, and not on the processes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, NamedTuple, Protocol

import numpy as np
from joblib import Parallel, delayed
from rich.progress import Progress

from benchmarks.calibration.cases import Case, Mixture, Points
from meanshiftpp.core.tree import Observed, Tree, critical, grow

DERIVE, REPORT = 1, 2  # stages
PROCESSES = 2
LEAST_SEEDS = 5
CHEAP = 2e-3  # seconds: cases of this cost get all seeds, dearer ones fewer
WHOLE = 0.95  # share of the points that one cluster of a null must have
LOOSEST, STRICTEST, BISECTIONS = 0.6, 2.4, 6

Table = dict[int, tuple[float, float, float, float]]


class Drawn(Protocol):
    """A case or a mixture."""

    @property
    def cost(self) -> float: ...
    def draw(self, stage: int, seed: int) -> Points: ...


class Outcome(NamedTuple):
    """Whether a tree is right: with the table in use, and with the derived one."""

    now: bool
    derived: bool


def seeds_of(case: Drawn, seeds: int) -> int:
    """Return the number of seeds of a case, of which the cheapest have `seeds`."""
    share: float = min(1.0, (CHEAP / case.cost) ** (2 / 3))
    return max(min(LEAST_SEEDS, seeds), round(seeds * share))


def simulate(
    measure: Callable[..., Any], cases: Sequence[Drawn], seeds: int, bar: Progress, *arguments: Any
) -> dict[Any, list[Any]]:
    """Return `measure(case, seed, *arguments)` of all seeds of each case."""
    name = measure.__name__.replace("_", " ")
    tasks = [(case, seed) for case in cases for seed in range(seeds_of(case, seeds))]
    results: dict[Any, list[Any]] = {case: [] for case in cases}
    pool = Parallel(n_jobs=PROCESSES, return_as="generator", batch_size="auto")
    found = pool(delayed(measure)(case, seed, *arguments) for case, seed in tasks)
    for (case, _), value in bar.track(
        zip(tasks, found, strict=True), total=len(tasks), description=name
    ):
        results[case].append(value)
    return results


# -- measurements of one seed ----------------------------------------------------------------------


def needed_strictness(case: Case, seed: int) -> float:
    """Return the least strictness at which a null is whole, to 2 %; `LOOSEST` if it is there.

    The scores of the splits of a loose tree would be cheaper. But after a first false split, later
    levels see only parts of the data, whose scores a tree that is strict enough never meets.
    """
    tree = grow_all(case.draw(DERIVE, seed), LOOSEST)
    if is_whole(tree):
        return LOOSEST
    low, high = LOOSEST, STRICTEST
    for _ in range(BISECTIONS):
        middle = float(np.sqrt(low * high))
        if is_whole(_regrow(tree, middle)):
            high = middle
        else:
            low = middle
    return high


def false_splits(case: Case, seed: int, derived: Table) -> Outcome:
    """Return whether a null is split."""
    tree, other = _grow_twice(case.draw(REPORT, seed), derived)
    return Outcome(not is_whole(tree), not is_whole(other))


def right_counts(mixture: Mixture, seed: int, derived: Table) -> Outcome:
    """Return whether a mixture has as many clusters as Gaussians."""
    trees = _grow_twice(mixture.draw(REPORT, seed), derived)
    return Outcome(*(tree.n_clusters == mixture.k for tree in trees))


def is_whole(tree: Tree) -> bool:
    """Return whether one cluster has at least 95 % of the points."""
    weights = np.bincount(tree.labels, weights=tree.sizes)
    return bool(weights.max() >= WHOLE * weights.sum())


def _grow_twice(X: Points, derived: Table) -> tuple[Tree, Tree]:
    """Return the trees with the table in use and with the derived one."""
    tree, before = grow_all(X), critical.critical_values(X.shape[1])
    with critical_table(derived):
        changed = (critical.critical_values(X.shape[1]) != before).any()
        return tree, _regrow(tree, 1.0) if changed else tree


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
