"""Criteria of a correct result. A wrong result ends its benchmark, and no time is reported.

`examine` runs in the process that has the data and returns plain facts; `verify` judges them. The
facts compare different ways to the same result: one thread and several, the whole data and its
parts, the package and, if affordable, the reference implementation in NumPy.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.speed.contenders import Case

MIN_ARI = 0.98  # to the true labels, if the clusters are well separated
ARI_ROWS = 1_000_000
REFERENCE_ROWS = 2_000


class WrongResultError(AssertionError):
    """Our result on a case is wrong; the message lists the failed checks."""


@dataclass(frozen=True)
class Facts:
    """Facts about our result on a case."""

    n: int
    total: float
    cells: int
    clusters: int
    steps: int
    converged: bool
    same_for_threads: bool
    same_in_parts: bool
    ordered: bool
    as_reference: bool | None  # None if the reference would take too long
    ari: float


def agreement(truth: NDArray[Any], labels: NDArray[Any]) -> float:
    """Return the adjusted Rand index of the first million rows."""
    from sklearn.metrics import adjusted_rand_score

    return float(adjusted_rand_score(truth[:ARI_ROWS], labels[:ARI_ROWS]))


def examine(X: NDArray[Any], truth: NDArray[Any], labels: NDArray[Any], case: Case) -> Facts:
    """Compare the labels of a timed run with other ways to compute them."""
    from meanshiftpp import Grid, MeanShiftPP, seek

    h, third = case.bandwidth, len(X) // 3
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # non-convergence is one of the facts
        single, threaded = (MeanShiftPP(h, n_jobs=threads).fit(X) for threads in (1, 3))
        grid = Grid.from_points(X[third:], h) + Grid.from_points(X[:third], h)
        modes = seek(grid)
    sizes = np.bincount(labels, minlength=1)
    return Facts(
        n=len(X),
        total=grid.total,
        cells=len(grid),
        clusters=len(modes),
        steps=modes.n_iter,
        converged=modes.converged,
        same_for_threads=_equal(labels, single.labels_) and _equal(labels, threaded.labels_),
        same_in_parts=grid == threaded.grid_ and _equal(labels, modes.label(X)),
        ordered=bool((np.diff(sizes) <= 0).all()) and _equal(sizes, modes.weights),
        as_reference=_equals_reference(X, labels, h) if len(X) <= REFERENCE_ROWS else None,
        ari=agreement(truth, labels),
    )


def _equal(a: NDArray[Any], b: NDArray[Any]) -> bool:
    return bool(np.array_equal(a, b))


def _equals_reference(X: NDArray[Any], labels: NDArray[Any], h: float) -> bool:
    from meanshiftpp.reference import general_mean_shift_pp

    return _equal(labels, general_mean_shift_pp(X, h, tol=1e-3, max_iter=300).labels)


def verify(
    facts: Facts, case: object, *, separated: bool = True, must_converge: bool = True
) -> None:
    """Raise `WrongResultError` with a list of all failed checks.

    `separated` demands that the true clusters are found.
    """
    demands = {
        f"the grid holds {facts.total:,} points of {facts.n:,}": facts.total == facts.n,
        "labels depend on the number of threads": facts.same_for_threads,
        "labels differ from those of the sum of two grids": facts.same_in_parts,
        "labels are not numbered by falling weight": facts.ordered,
        "labels differ from the reference's": facts.as_reference is not False,
        f"not converged after {facts.steps} steps": facts.converged or not must_converge,
        f"adjusted Rand index {facts.ari:.3f}, expected at least {MIN_ARI}": (
            facts.ari >= MIN_ARI or not separated
        ),
    }
    failed = [text for text, holds in demands.items() if not holds]
    if failed:
        raise WrongResultError(f"{case}: {'; '.join(failed)}")
