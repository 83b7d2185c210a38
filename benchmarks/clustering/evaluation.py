"""Run every method on every data set and score the labels.

All methods run on one thread in another process, which is killed at a time limit; its memory is
limited too. Scores are stored as soon as they are known, with everything that they depend on (a
version; for our methods, the code), so a second run computes only the missing ones. Of the
failures, only those at the same time limit are stored.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from rich.progress import Progress

from benchmarks.clustering.methods import Method, Request, timed_labels
from benchmarks.clustering.scoring import Score, assign_rejected, score
from benchmarks.clustering.suite import DataSet
from benchmarks.common.result_cache import ResultCache
from benchmarks.common.time_limit import CallFailedError, LimitedProcess, TimeLimitError

CACHE = "clustering_results.jsonl"
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
        for data in sorted(sets, key=lambda each: len(each.X)):
            for method in present:
                bar.update(task, description=f"{data.name}: {method.title}")
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
    """Return the scores of a method, or the reason why there are none."""
    if reason := method.reason_skipped(len(data.X)):
        return reason
    key = (method.key, method.version, data.name, data.checksum)
    at_limit = (*key, f"limit {limit:g} s")
    stored = cache.get(*key)
    if stored is None and (reason := cache.get(*at_limit)):
        return str(reason)
    try:
        stored = stored or cache.store(*key, value=compute(method, data, process, limit))
    except TimeLimitError as error:
        return str(cache.store(*at_limit, value=str(error)))
    except CallFailedError as error:
        return str(error)
    return {suffix: Score(*values) for suffix, values in stored.items()}


def compute(method: Method, data: DataSet, process: LimitedProcess, limit: float) -> Variants:
    """Score a method; if it is told the number of clusters, the best of the numbers counts."""
    found: dict[str, list[Score]] = {suffix: [] for suffix in suffixes(method)}
    for count in data.counts if method.knows_count else [None]:
        request = Request(count)
        labels, seconds = process.call(timed_labels, method.key, data.X, request, limit=limit)
        for suffix, scores in found.items():
            final = assign_rejected(data.X, labels) if suffix == TO_NEAREST else labels
            scores.append(score(final, data.references)._replace(seconds=seconds))
    return {suffix: max(scores) for suffix, scores in found.items()}
