"""What all parts of a run share: where the data is, how much is done, where results go."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic, process_time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.common.notes import Notes
from benchmarks.paper.bounded import Bounded, FailedError, LateError
from benchmarks.paper.tables import Library

DNF = "DNF"
LIMIT, QUICK_LIMIT = 60.0, 5.0  # seconds for one call of a peer


@dataclass
class Run:
    """A run of the report."""

    data: Path
    out: Path
    notes: Notes
    library: Library
    peer: Bounded
    quick: bool = False
    limit: float = LIMIT
    photos: int = 24  # of BSDS500
    shared: dict[str, Any] = field(default_factory=dict)  # between sections
    start: float = field(default_factory=monotonic)

    def ask(self, function: Callable[..., Any], *arguments: Any) -> tuple[Any, dict[str, Any]]:
        """Call a peer: give its answer, or None and why there is none."""
        try:
            return self.peer.call(function, *arguments, limit=self.limit), {}
        except LateError:
            return None, {"why": f"{DNF} > {self.limit:g} s"}
        except FailedError as error:
            return None, {"why": f"failed: {error}"}

    def tried(self, *key: str, make: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """Give what is noted of a peer, or note it: an answer for good, a failure for this limit.

        `wall` is added to it: the seconds that went by.
        """
        bounded = (*key, f"limit {self.limit:g}")
        known = self.notes.get(*key) or self.notes.get(*bounded)
        if known is not None:
            return known
        begin = monotonic()
        found = make() | {"wall": monotonic() - begin}
        return self.notes.keep(*(key if "seconds" in found else bounded), value=found)

    def say(self, text: str) -> None:
        """Show progress, with the time since the start."""
        minutes, seconds = divmod(int(monotonic() - self.start), 60)
        print(f"[{minutes:2}:{seconds:02}] {text}", file=sys.stderr, flush=True)


def mean_shift(X: NDArray[Any], bandwidth: float) -> tuple[NDArray[np.int32], float]:
    """Run scikit-learn's MeanShift as the paper did, every point a seed; give processor seconds."""
    from sklearn.cluster import MeanShift

    begin = process_time()
    labels = MeanShift(bandwidth=bandwidth).fit_predict(X)
    return labels.astype(np.int32), process_time() - begin


def duration(seconds: float) -> str:
    """Write a time in three digits and a unit that suits."""
    if seconds >= 3600:
        return f"{seconds / 3600:.3g} h"
    if seconds >= 100:
        return f"{int(seconds // 60)}m {seconds % 60:02.0f}s"
    for unit, name in ((1, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if seconds >= unit:
            return f"{seconds / unit:.3g} {name}"
    return f"{seconds * 1e6:.2g} µs"


def told(row: dict[str, Any]) -> str:
    """Write the time of a result, or why there is none."""
    return duration(row["seconds"]) if "seconds" in row else row["why"]
