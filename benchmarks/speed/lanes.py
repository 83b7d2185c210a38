"""The race: contenders in processes of their own take turns on the same array.

A lane is the near end of a worker. It holds a peer to a time limit: one that is too slow is ended,
and sits out the larger sizes with the reason beside its name. Nothing is ever extrapolated: a
guess decides only whether a larger size is tried.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from statistics import median
from threading import Event, Timer
from time import sleep
from typing import Any, Self

from benchmarks.common.data import Data
from benchmarks.speed.checks import WrongAnswerError
from benchmarks.speed.contenders import FLOOR, NOTHING, OURS, Case, absent

ROOT = Path(__file__).parents[2]
PATIENCE = 300.0  # seconds for drawing arrays, importing and compiling
AT_LEAST = 0.01  # seconds a single measurement takes: shorter calls are repeated
REST = 0.01  # seconds before each run: the threads of the one before may still spin


class DroppedOutError(Exception):
    """A contender takes no further part; the message says why."""


class Lane:
    """A worker process."""

    def __init__(self) -> None:
        self.errors = tempfile.TemporaryFile()  # noqa: SIM115 (closed on leaving, as the process)
        self.process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.speed.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.errors,
            text=True,
            cwd=ROOT,
        )
        self.data: Data | None = None
        self.checksum = 0
        self.warmed: set[str] = set()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()
        for file in (self.process.stdin, self.process.stdout, self.errors):
            if file is not None:
                file.close()

    def ask(self, request: str, limit: float = PATIENCE, **arguments: Any) -> dict[str, Any]:
        """Send a request and wait for the answer, `limit` seconds at most."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        late = Event()

        def stop() -> None:
            late.set()
            self.process.kill()

        timer = Timer(limit, stop)
        timer.start()
        try:
            print(json.dumps([request, arguments]), file=self.process.stdin, flush=True)
            line = self.process.stdout.readline()
        except OSError:
            line = ""
        finally:
            timer.cancel()
        if late.is_set():
            raise DroppedOutError(f"more than {limit:g} s")
        if not line:
            raise DroppedOutError(f"ended by itself ({self._last_words()})")
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise DroppedOutError(answer["error"])
        return answer

    def load(self, data: Data) -> None:
        if data != self.data:
            self.checksum = self.ask("load", data=asdict(data))["checksum"]
            self.data = data

    def warm(self, contender: str, case: Case) -> None:
        if contender not in self.warmed:
            self.ask("warm", contender=contender, case=asdict(case))
            self.warmed.add(contender)

    def _last_words(self) -> str:
        self.errors.seek(0)
        lines = self.errors.read().decode(errors="replace").split("\n")
        return next((line.strip() for line in reversed(lines) if line.strip()), "no message")


@dataclass(frozen=True)
class Row:
    """What was measured for one contender and case; times are seconds."""

    contender: str
    case: Case = NOTHING
    times: tuple[float, ...] = ()
    ari: float | None = None
    to_floor: float | None = None  # ratio of the medians, this one to X.sum()
    to_ours: float | None = None
    bytes: int | None = None
    facts: dict[str, Any] | None = None
    note: str = ""

    @property
    def best(self) -> float | None:
        return min(self.times, default=None)

    @property
    def median(self) -> float | None:
        return median(self.times) if self.times else None


class Entry:
    """A contender with its case and its lane, while they race."""

    def __init__(self, lane: Lane, contender: str, case: Case) -> None:
        self.lane, self.contender, self.case = lane, contender, case
        self.times: list[float] = []
        self.note = ""

    def attempt(self, work: Callable[[], Any]) -> Any:
        """Do something unless the contender is out; note why if it drops out."""
        if not self.note:
            try:
                return work()
            except DroppedOutError as reason:
                self.note = str(reason)
                if self.contender == OURS:  # a peer may fail, we may not
                    raise WrongAnswerError(f"{self.case}: {reason}") from None
        return None

    def ready(self) -> None:
        self.lane.load(self.case.data)
        self.lane.warm(self.contender, self.case)

    def run(self, limit: float) -> None:
        answer = self.lane.ask(
            "run", limit, contender=self.contender, case=asdict(self.case), at_least=AT_LEAST
        )
        self.times.append(answer["seconds"])

    def row(self) -> Row:
        agree = partial(self.lane.ask, "agree", contender=self.contender, case=asdict(self.case))
        answer = self.attempt(agree) if self.times else None
        ari = answer["ari"] if answer else None
        return Row(self.contender, self.case, tuple(self.times), ari, note=self.note)


def race(entries: Sequence[Entry], rounds: int, budget: float, limit: float) -> list[Row]:
    """Let the entries take turns.

    Everyone runs once; one that has spent `budget` seconds by then runs no further rounds. The
    limit is for peers.
    """
    for entry in entries:
        entry.attempt(entry.ready)
    if len({entry.lane.checksum for entry in entries if not entry.note}) > 1:
        raise WrongAnswerError("the processes did not draw the same array")
    for _ in range(rounds):
        for entry in entries:
            if sum(entry.times) <= budget:
                sleep(REST)
                patience = PATIENCE if entry.contender in (OURS, FLOOR) else limit
                entry.attempt(partial(entry.run, patience))
    return with_ratios([entry.row() for entry in entries])


def with_ratios(rows: Iterable[Row]) -> list[Row]:
    """Relate the medians of each case to those of the floor and of ours."""
    rows = list(rows)

    def base(row: Row, contender: str) -> float | None:
        alike = (r for r in rows if r.contender == contender and r.case.rows == row.case.rows)
        return next((r.median for r in alike), None)

    def ratio(row: Row, contender: str) -> float | None:
        other = base(row, contender)
        return row.median / other if row.median and other else None

    return [
        r if r.contender == FLOOR else replace(r, to_floor=ratio(r, FLOOR), to_ours=ratio(r, OURS))
        for r in rows
    ]


class Field:
    """A lane for ours and the floor together, and one for each peer, kept through a sweep."""

    def __init__(self, peers: Iterable[str]) -> None:
        self.stack = ExitStack()
        self.peers = tuple(peers)
        self.out = {peer: reason for peer in self.peers if (reason := absent(peer))}
        self.lanes: dict[str, Lane] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stack.close()

    def lane(self, contender: str) -> Lane:
        home = OURS if contender == FLOOR else contender
        if home not in self.lanes:
            self.lanes[home] = self.stack.enter_context(Lane())
        return self.lanes[home]

    def race(self, case: Case, rounds: int, budget: float, limit: float) -> list[Row]:
        """Race everyone who is still in; those who are out get a row that says why."""
        running = [name for name in (OURS, FLOOR, *self.peers) if name not in self.out]
        rows = race([Entry(self.lane(c), c, case) for c in running], rounds, budget, limit)
        sitting = [Row(peer, case, note=reason) for peer, reason in self.out.items()]
        for row in rows:
            if row.note:
                self.out[row.contender] = f"not run: {row.note} at {case.data}"
        return rows + sitting

    def spare(self, rows: Iterable[Row], growth: float, limit: float) -> None:
        """Take out who, growing only linearly, would pass the limit at the next size."""
        for row in rows:
            known = row.contender in self.peers and row.contender not in self.out
            if known and row.best and row.best * growth > limit:
                self.out[row.contender] = f"not run: {row.best:.3g} s at {row.case.data}"
