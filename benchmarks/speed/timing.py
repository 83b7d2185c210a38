"""Contenders in separate processes take turns on the same array.

A peer that exceeds its time limit is stopped and does not run at larger sizes; the reason is
reported beside its name. Nothing is extrapolated: an estimate only decides whether a larger size
is tried.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import asdict, replace
from functools import partial
from time import sleep
from typing import Any, Self

from benchmarks.speed.checks import Facts, WrongResultError, verify
from benchmarks.speed.contenders import FLOOR, OURS, Case, reason_absent
from benchmarks.speed.results import Measurement
from benchmarks.speed.worker_client import REQUEST_LIMIT, ContenderFailedError, WorkerClient

MIN_SECONDS = 0.01  # of a single measurement: shorter calls are repeated
REST = 0.01  # seconds before each run: the threads of the previous one may still spin


class Runner:
    """A contender with its case and its worker."""

    def __init__(self, worker: WorkerClient, contender: str, case: Case) -> None:
        self.worker, self.contender, self.case = worker, contender, case
        self.times: list[float] = []
        self.failure = ""

    def attempt(self, call: Callable[[], Any]) -> Any:
        """Call a function unless the contender has failed; record the reason if it fails now."""
        if not self.failure:
            try:
                return call()
            except ContenderFailedError as reason:
                self.failure = str(reason)
                if self.contender == OURS:  # a peer may fail, ours may not
                    raise WrongResultError(f"{self.case}: {reason}") from None
        return None

    def prepare(self) -> None:
        self.worker.load(self.case.data)
        self.worker.warm_up(self.contender, self.case)

    def run(self, limit: float) -> None:
        answer = self._send("run", limit, min_seconds=MIN_SECONDS)
        self.times.append(answer["seconds"])

    def measurement(self) -> Measurement:
        answer = self.attempt(partial(self._send, "agreement")) if self.times else None
        ari = answer["ari"] if answer else None
        return Measurement(self.contender, self.case, tuple(self.times), ari, note=self.failure)

    def _send(self, request: str, limit: float = REQUEST_LIMIT, **more: Any) -> dict[str, Any]:
        case = asdict(self.case)
        return self.worker.send(request, limit, contender=self.contender, case=case, **more)


def measure_in_turns(
    runners: Sequence[Runner], rounds: int, budget: float, limit: float
) -> list[Measurement]:
    """Let the contenders take turns.

    Every contender runs once; one that has then spent `budget` seconds runs no further rounds. The
    limit, in seconds for one call, applies to peers.
    """
    for runner in runners:
        runner.attempt(runner.prepare)
    if len({runner.worker.checksum for runner in runners if not runner.failure}) > 1:
        raise WrongResultError("the processes did not draw the same array")
    for _ in range(rounds):
        for runner in runners:
            if sum(runner.times) <= budget:
                sleep(REST)
                own_limit = REQUEST_LIMIT if runner.contender in (OURS, FLOOR) else limit
                runner.attempt(partial(runner.run, own_limit))
    return with_ratios([runner.measurement() for runner in runners])


def with_ratios(rows: Iterable[Measurement]) -> list[Measurement]:
    """Add the ratios of the medians to those of the floor and of ours for the same rows."""
    rows = list(rows)

    def median_of(row: Measurement, contender: str) -> float | None:
        same = (r for r in rows if r.contender == contender and r.case.rows == row.case.rows)
        return next((r.median for r in same), None)

    def ratio(row: Measurement, contender: str) -> float | None:
        base = median_of(row, contender)
        return row.median / base if row.median and base else None

    return [
        r if r.contender == FLOOR else replace(r, to_floor=ratio(r, FLOOR), to_ours=ratio(r, OURS))
        for r in rows
    ]


def examined(worker: WorkerClient, row: Measurement, **demands: bool) -> Measurement:
    """Verify our last result in a worker and add the facts about it to its measurement."""
    facts = worker.send("examine", contender=row.contender, case=asdict(row.case))
    verify(Facts(**facts), row.case, **demands)
    remark = "" if facts["converged"] else f"stopped after {facts['steps']} steps"
    return replace(row, facts=facts, note=row.note or remark)


class Excluded:
    """The peers that do not run, with the reasons."""

    def __init__(self, peers: Iterable[str]) -> None:
        self.peers = tuple(peers)
        self.reasons = {peer: reason for peer in self.peers if (reason := reason_absent(peer))}

    def add_failure(self, row: Measurement) -> None:
        """Exclude the peer of a measurement that failed."""
        if row.note and self._runs(row):
            self.reasons[row.contender] = f"not run: {row.note} at {row.case.data}"

    def add_slow(self, rows: Iterable[Measurement], growth: float, limit: float) -> None:
        """Exclude peers that exceed the limit at the next size if their time grows linearly."""
        for row in rows:
            if self._runs(row) and row.best and row.best * growth > limit:
                self.reasons[row.contender] = f"not run: {row.best:.3g} s at {row.case.data}"

    def _runs(self, row: Measurement) -> bool:
        return row.contender in self.peers and row.contender not in self.reasons


class Contest:
    """One worker for ours and the floor, and one for each peer, kept through a sweep."""

    def __init__(self, peers: Iterable[str]) -> None:
        self.stack = ExitStack()
        self.excluded = Excluded(peers)
        self.workers: dict[str, WorkerClient] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stack.close()

    def worker(self, contender: str) -> WorkerClient:
        """Return the worker of a contender, started on first use."""
        name = OURS if contender == FLOOR else contender
        if name not in self.workers:
            self.workers[name] = self.stack.enter_context(WorkerClient())
        return self.workers[name]

    def measure(
        self, case: Case, rounds: int, budget: float, limit: float, **demands: bool
    ) -> list[Measurement]:
        """Measure all contenders in turns and verify ours; excluded peers have only a note."""
        reasons = dict(self.excluded.reasons)
        running = [name for name in (OURS, FLOOR, *self.excluded.peers) if name not in reasons]
        runners = [Runner(self.worker(name), name, case) for name in running]
        rows = measure_in_turns(runners, rounds, budget, limit)
        for row in rows:
            self.excluded.add_failure(row)
        rows = [
            examined(self.worker(OURS), row, **demands) if row.contender == OURS else row
            for row in rows
        ]
        return rows + [Measurement(peer, case, note=reason) for peer, reason in reasons.items()]
