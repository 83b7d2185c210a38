"""The options, folders and helpers that all sections of a run share."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic, process_time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.common import reporting
from benchmarks.common.result_cache import ResultCache
from benchmarks.common.time_limit import CallFailedError, LimitedProcess, TimeLimitError
from benchmarks.paper.datasets import Library

DNF = "DNF"
LIMIT, QUICK_LIMIT = 60.0, 5.0  # seconds for one call of a peer


@dataclass
class Run:
    """A run of the report."""

    data: Path
    out: Path
    cache: ResultCache
    library: Library
    peer_process: LimitedProcess
    quick: bool = False
    limit: float = LIMIT
    photos: int = 24  # of BSDS500
    shared: dict[str, Any] = field(default_factory=dict)  # results that several sections use
    start: float = field(default_factory=monotonic)

    def call_peer(
        self, function: Callable[..., Any], *arguments: Any
    ) -> tuple[Any, dict[str, Any]]:
        """Call a peer; return its answer, or None and a dictionary with the reason as "why"."""
        try:
            return self.peer_process.call(function, *arguments, limit=self.limit), {}
        except TimeLimitError:
            return None, {"why": f"{DNF} > {self.limit:g} s"}
        except CallFailedError as error:
            return None, {"why": f"failed: {error}"}

    def cached_attempt(self, *key: str, compute: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """Return the cached result of a peer, or compute and store it.

        A success (it has "seconds") is valid for every time limit, a failure only for this one.
        The elapsed seconds are added as "wall".
        """
        key_with_limit = (*key, f"limit {self.limit:g}")
        known = self.cache.get(*key) or self.cache.get(*key_with_limit)
        if known is not None:
            return known
        begin = monotonic()
        result = compute() | {"wall": monotonic() - begin}
        return self.cache.store(*(key if "seconds" in result else key_with_limit), value=result)

    def log(self, text: str) -> None:
        """Print progress with the time since the start."""
        minutes, seconds = divmod(int(monotonic() - self.start), 60)
        print(f"[{minutes:2}:{seconds:02}] {text}", file=sys.stderr, flush=True)


def mean_shift(X: NDArray[Any], bandwidth: float) -> tuple[NDArray[np.int32], float]:
    """Run scikit-learn's MeanShift as in the paper, every point a seed; return CPU seconds too."""
    from sklearn.cluster import MeanShift

    begin = process_time()
    labels = MeanShift(bandwidth=bandwidth).fit_predict(X)
    return labels.astype(np.int32), process_time() - begin


def duration(seconds: float) -> str:
    """Format a time with three digits; in minutes from 100 s, in hours from 3600 s."""
    if seconds >= 3600:
        return f"{seconds / 3600:.3g} h"
    if seconds >= 100:
        return f"{int(seconds // 60)}m {seconds % 60:02.0f}s"
    return reporting.duration(seconds)


def duration_or_reason(result: dict[str, Any]) -> str:
    """Format the time of a result, or the reason why there is none."""
    return duration(result["seconds"]) if "seconds" in result else result["why"]
