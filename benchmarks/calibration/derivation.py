"""Critical values from the strictness that nulls needed.

A quantile of the strictness that the seeds of a law needed keeps their rate of false splits at a
limit. Strictness is a factor of all critical values, so the quantile of the worst law is the factor
by which to change them:

    plane and least   by blobs
    line              by rings; by blobs for one feature
    slope             so that the factor is `plane` from the same dimension as before

All sizes count alike for a law. No value falls by more than `LOOSEST` in one run.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from math import ceil
from pathlib import Path

import numpy as np

from benchmarks.calibration.cases import BLOBS, RINGS, Case
from benchmarks.calibration.simulation import Table

MAX_BLOBS = 0.02  # rates of false splits
MAX_RINGS = {2: 0.1, 3: 0.2}
_TABLE = re.compile(r"(?<=^CRITICAL = \{\n).*?(?=^\})", re.MULTILINE | re.DOTALL)

Needed = Mapping[Case, Sequence[float]]  # strictness by case, one for each seed


def quantile(samples: Sequence[Sequence[float]], share: float) -> float:
    """Return the least value that `share` of the values do not exceed; all samples count alike."""
    values = np.concatenate([np.asarray(sample, float) for sample in samples])
    weights = np.concatenate([np.full(len(sample), 1 / len(sample)) for sample in samples])
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(weights[order]) / len(samples)
    return float(values[order][np.searchsorted(reached, share - 1e-9)])


def needed_factor(needed: Needed, family: str, d: int, limit: float) -> float | None:
    """Return the strictness that keeps every law of a family at the limit; None without any."""
    laws = defaultdict(list)
    for case, sample in needed.items():
        if (case.family, case.d) == (family, d):
            laws[case.name].append(sample)
    return max((quantile(samples, 1 - limit) for samples in laws.values()), default=None)


def derive(needed: Needed, current: Table) -> Table:
    """Return the critical values for every number of features that was simulated."""
    table = dict(current)
    for d in sorted({case.d for case in needed if case.family == BLOBS}):
        line, plane, slope, least = current[min(d, max(current))]
        by_blobs = needed_factor(needed, BLOBS, d, MAX_BLOBS) or 1.0
        new_plane, new_least = _rounded(plane * by_blobs), _rounded(least * by_blobs)
        if d == 1:
            table[d] = (new_plane, new_plane, slope, new_least)
            continue
        rings = min(d, max(MAX_RINGS))
        by_rings = needed_factor(needed, RINGS, rings, MAX_RINGS[rings]) or 1.0
        new_line = max(_rounded(line * by_rings), new_plane)
        if line > plane and new_line > new_plane:
            slope = round(slope * (new_line - new_plane) / (line - plane), 2)
        table[d] = (new_line, new_plane, slope, new_least)
    return table


def _rounded(value: float) -> float:
    """Round up: a rate stays at its limit."""
    return ceil(value * 100 - 1e-6) / 100


def write(table: Table, path: Path) -> None:
    """Replace the table of `core/tree/critical.py`."""
    text = path.read_text(encoding="utf-8")
    rows = "".join(f"    {d}: {table[d]},\n" for d in sorted(table))
    changed, count = _TABLE.subn(rows, text)
    if count != 1:
        raise ValueError(f"expected one table `CRITICAL = {{...}}` in {path}; found {count}")
    path.write_text(changed, encoding="utf-8")
