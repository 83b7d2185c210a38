"""The process of a contender: it reads one line of JSON per request and writes one per answer.

It draws its array once, runs contenders and measures by itself, so that no communication between
processes happens while the clock runs.
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

from benchmarks.common.machine import limit_memory
from benchmarks.common.synthetic import Data, checksum, draw
from benchmarks.speed import checks
from benchmarks.speed.contenders import CONTENDERS, Case

WARM_UP_ROWS = 1000


class Session:
    """An array and the labels of the contenders. Each public method answers a request."""

    def __init__(self) -> None:
        self.X: NDArray[Any] = np.empty((0, 1))
        self.truth: NDArray[Any] = np.empty(0, int)
        self.labels: dict[tuple[str, Case], NDArray[Any] | None] = {}

    def load(self, data: dict[str, Any]) -> dict[str, Any]:
        """Draw an array; the previous one is released first."""
        self.X, self.truth, self.labels = np.empty((0, 1)), np.empty(0, int), {}
        self.X, self.truth = draw(Data(**data))
        return {"checksum": checksum(self.X)}

    def warm_up(self, contender: str, case: dict[str, Any]) -> dict[str, Any]:
        """Run on a few rows, so that imports and compilation are not timed."""
        CONTENDERS[contender](self.X[:WARM_UP_ROWS], _as_case(case))
        return {}

    def run(self, contender: str, case: dict[str, Any], min_seconds: float) -> dict[str, Any]:
        """Time a call; one shorter than `min_seconds` is repeated and the mean returned."""
        function, parsed = CONTENDERS[contender], _as_case(case)
        points = self.X[: parsed.rows]
        self.labels.pop((contender, parsed), None)
        start = perf_counter()
        labels = function(points, parsed)
        seconds = perf_counter() - start
        if seconds < min_seconds:
            loops = int(min_seconds / max(seconds, 1e-7)) + 1
            start = perf_counter()
            for _ in range(loops):
                labels = function(points, parsed)
            seconds = (perf_counter() - start) / loops
        self.labels[contender, parsed] = labels
        return {"seconds": seconds}

    def agreement(self, contender: str, case: dict[str, Any]) -> dict[str, Any]:
        """Return the adjusted Rand index of the last labels to the true ones."""
        parsed = _as_case(case)
        labels = self.labels[contender, parsed]
        truth = self.truth[: parsed.rows]
        return {"ari": None if labels is None else checks.agreement(truth, labels)}

    def examine(self, contender: str, case: dict[str, Any]) -> dict[str, Any]:
        """Return facts about the last labels, which must be ours."""
        parsed = _as_case(case)
        labels = self.labels[contender, parsed]
        assert labels is not None
        points, truth = self.X[: parsed.rows], self.truth[: parsed.rows]
        return asdict(checks.examine(points, truth, labels, parsed))

    def memory(self, contender: str, case: dict[str, Any]) -> dict[str, Any]:
        """Return the peak bytes of a run in addition to the points and the labels."""
        parsed = _as_case(case)
        before = _reset_peak()
        labels = CONTENDERS[contender](self.X, parsed)
        additional = _peak() - before - (0 if labels is None else labels.nbytes)
        self.labels[contender, parsed] = labels
        return {"bytes": max(additional, 0)}


def _as_case(case: dict[str, Any]) -> Case:
    return Case(**{**case, "data": Data(**case["data"])})


def _peak() -> int:
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def _reset_peak() -> int:
    """Reset the peak to the current memory, if the system can (Linux), and return it."""
    with suppress(OSError):  # on other systems a peak below an earlier one is not seen
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    return _peak()


def main() -> None:
    warnings.simplefilter("ignore")
    limit_memory()
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # output of libraries must not mix with the answers
    session = Session()
    for line in sys.stdin:
        request, arguments = json.loads(line)
        try:
            answer = getattr(session, request)(**arguments)
        except Exception as error:  # an exception of a peer is its result
            first_line = str(error).partition("\n")[0]
            answer = {"error": f"{type(error).__name__}: {first_line}".rstrip(": ")}
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
