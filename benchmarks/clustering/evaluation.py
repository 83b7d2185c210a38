"""Run every method on every data set and score the labels.

All methods run on one thread in another process, which is killed at a time limit. Scores are stored
as soon as they are known, with everything that they depend on (a version; for our methods, the
code), so a second run computes only the missing ones. Failures are not stored.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich.progress import Progress

from benchmarks.clustering.methods import Method, Request, labels_of
from benchmarks.clustering.scoring import Score, assign_rejected, score
from benchmarks.clustering.suite import DataSet
from benchmarks.common.result_cache import ResultCache
from benchmarks.common.time_limit import CallFailedError, LimitedProcess, TimeLimitError

CACHE = "clustering_scores.jsonl"
TO_NEAREST = ", noise to the nearest"
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
FAILED = Score(0.0, 0.0, 0, False)

Variants = dict[str, Score]  # by the suffix of the title: noise as one class, or to the nearest


@dataclass
class Outcome:
    """The scores of all methods on all data sets."""

    sets: list[DataSet]
    methods: list[Method]
    scores: dict[str, dict[str, Score]] = field(default_factory=dict)  # by title and data set
    absent: dict[str, str] = field(default_factory=dict)  # reasons by title
    failures: dict[str, dict[str, str]] = field(default_factory=dict)  # by title and data set

    def titles(self, *, knows_count: bool) -> list[str]:
        """Return the rows of a table: the titles of the methods that ran, with variants."""
        return [
            title
            for method in self.methods
            if method.knows_count == knows_count
            for title in (method.title + suffix for suffix in suffixes(method))
            if title in self.scores
        ]


def run(
    sets: Sequence[DataSet], methods: Sequence[Method], folder: Path, limit: float, bar: Progress
) -> Outcome:
    """Score all methods that can run here; the reasons of the others are part of the outcome."""
    outcome, cache = Outcome(list(sets), list(methods)), ResultCache(folder / CACHE)
    outcome.absent = {each.title: why for each in methods if (why := each.reason_absent)}
    present = [each for each in methods if each.title not in outcome.absent]
    task = bar.add_task("data sets", total=len(sets) * len(present))
    with one_thread(), LimitedProcess() as process:
        for method in present:
            for data in sets:
                bar.update(task, description=f"{method.title}: {data.name}")
                _add(outcome, method, data, _scores(method, data, cache, process, limit))
                bar.advance(task)
    return outcome


def suffixes(method: Method) -> tuple[str, ...]:
    """Return the endings of the titles under which a method is scored."""
    return ("", TO_NEAREST) if method.rejects else ("",)


@contextmanager
def one_thread() -> Iterator[None]:
    """Let the processes started in this context use one thread each."""
    before = {name: os.environ.get(name) for name in THREADS}
    os.environ.update(dict.fromkeys(THREADS, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name)
            if value is not None:
                os.environ[name] = value


def _add(outcome: Outcome, method: Method, data: DataSet, found: Variants | str) -> None:
    """Add scores, or the reason of a failure, which scores 0."""
    if isinstance(found, str):
        outcome.failures.setdefault(method.title, {})[data.name] = found
        found = dict.fromkeys(suffixes(method), FAILED)
    for suffix, each in found.items():
        outcome.scores.setdefault(method.title + suffix, {})[data.name] = each


def _scores(
    method: Method, data: DataSet, cache: ResultCache, process: LimitedProcess, limit: float
) -> Variants | str:
    key = (method.key, method.version, data.name, data.checksum)
    stored: dict[str, Any] | None = cache.get(*key)
    if stored is None:
        try:
            stored = cache.store(*key, value=compute(method, data, process, limit))
        except (CallFailedError, TimeLimitError) as reason:
            return str(reason)
    return {suffix: Score(*values) for suffix, values in stored.items()}


def compute(method: Method, data: DataSet, process: LimitedProcess, limit: float) -> Variants:
    """Score a method; if it is told the number of clusters, the best of the numbers counts."""
    found: dict[str, list[Score]] = {suffix: [] for suffix in suffixes(method)}
    for count in data.counts if method.knows_count else [None]:
        labels = process.call(labels_of, method.key, data.X, Request(count), limit=limit)
        found[""].append(score(labels, data.references))
        if method.rejects:
            assigned = assign_rejected(data.X, labels)
            found[TO_NEAREST].append(score(assigned, data.references))
    return {suffix: max(scores) for suffix, scores in found.items()}
