"""The process of a contender: one line of JSON in, one out, until the input ends.

It draws its array once, runs what it is asked to and measures by itself, so that no time is spent
on the way between the processes while the clock runs.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import warnings
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.common.data import Data, checksum, draw
from benchmarks.speed import checks
from benchmarks.speed.contenders import CONTENDERS, Case

WARM_ROWS = 1000
SHARE_OF_MEMORY = 0.75  # what a process may take: a peer that wants more fails, and alone


class Session:
    """An array and the labels the contenders gave for it. Methods answer requests."""

    def __init__(self) -> None:
        self.X: NDArray[Any] = np.empty((0, 1))
        self.truth: NDArray[Any] = np.empty(0, int)
        self.labels: dict[tuple[str, Case], NDArray[Any] | None] = {}

    def load(self, data: dict[str, Any]) -> dict[str, Any]:
        self.X, self.truth, self.labels = np.empty((0, 1)), np.empty(0, int), {}
        self.X, self.truth = draw(Data(**data))
        return {"checksum": checksum(self.X)}

    def warm(self, contender: str, case: dict[str, Any]) -> dict[str, Any]:
        """Import and compile what a first run would, on few rows."""
        CONTENDERS[contender](self.X[:WARM_ROWS], _case(case))
        return {}

    def run(self, contender: str, case: dict[str, Any], at_least: float) -> dict[str, Any]:
        """Time a call; one shorter than `at_least` seconds is repeated and the mean taken."""
        function, asked = CONTENDERS[contender], _case(case)
        points = self.X[: asked.rows]
        self.labels.pop((contender, asked), None)
        start = perf_counter()
        labels = function(points, asked)
        seconds = perf_counter() - start
        if seconds < at_least:
            loops = int(at_least / max(seconds, 1e-7)) + 1
            start = perf_counter()
            for _ in range(loops):
                labels = function(points, asked)
            seconds = (perf_counter() - start) / loops
        self.labels[contender, asked] = labels
        return {"seconds": seconds}

    def agree(self, contender: str, case: dict[str, Any]) -> dict[str, Any]:
        """Hold the last labels against the truth."""
        asked = _case(case)
        labels = self.labels[contender, asked]
        truth = self.truth[: asked.rows]
        return {"ari": None if labels is None else checks.agreement(truth, labels)}

    def examine(self, contender: str, case: dict[str, Any]) -> dict[str, Any]:
        """Find out about the last labels, which must be ours."""
        asked = _case(case)
        labels = self.labels[contender, asked]
        assert labels is not None
        points, truth = self.X[: asked.rows], self.truth[: asked.rows]
        return asdict(checks.examine(points, truth, labels, asked))

    def memory(self, contender: str, case: dict[str, Any]) -> dict[str, Any]:
        """Give the bytes that a run takes at its peak, beyond the points and the labels."""
        asked = _case(case)
        before = _rewound_peak()
        labels = CONTENDERS[contender](self.X, asked)
        beyond = _peak() - before - (0 if labels is None else labels.nbytes)
        self.labels[contender, asked] = labels
        return {"bytes": max(beyond, 0)}


def _case(case: dict[str, Any]) -> Case:
    return Case(**{**case, "data": Data(**case["data"])})


def _peak() -> int:
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def _rewound_peak() -> int:
    """Let the peak start from what is in use now, where the system can (Linux), and give it."""
    with suppress(OSError):  # elsewhere a peak below an earlier one stays unseen
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    return _peak()


def _limit_memory() -> None:
    with suppress(ValueError, OSError):  # some systems cannot
        whole = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        limit = int(whole * SHARE_OF_MEMORY)
        resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))


def main() -> None:
    warnings.simplefilter("ignore")
    _limit_memory()
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what libraries print goes elsewhere
    session = Session()
    for line in sys.stdin:
        request, arguments = json.loads(line)
        try:
            answer = getattr(session, request)(**arguments)
        except Exception as error:  # whatever a peer raises is its result
            words = str(error).partition("\n")[0]
            answer = {"error": f"{type(error).__name__}: {words}".rstrip(": ")}
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
