"""What a right answer is. A wrong one ends its benchmark, and no time is reported for it.

`examine` runs where the data is and gives plain facts; `verify` judges them. The facts come from
roads that must lead to the same place: one thread and several, the whole and its parts, the
package and the algorithm written out in NumPy where that is affordable.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.speed.contenders import Case

LEAST_ARI = 0.98  # to the truth, where the clusters are well apart
ARI_ROWS = 1_000_000
REFERENCE_ROWS = 2_000


class WrongAnswerError(AssertionError):
    """A contender of ours gave an answer that cannot be right."""


@dataclass(frozen=True)
class Facts:
    """What was found out about our answer to a case."""

    n: int
    total: float
    cells: int
    clusters: int
    steps: int
    converged: bool
    same_for_threads: bool
    same_in_parts: bool
    ordered: bool
    as_reference: bool | None  # None where the reference would take too long
    ari: float


def agreement(truth: NDArray[Any], labels: NDArray[Any]) -> float:
    """Give the adjusted Rand index, of the first rows where there are very many."""
    from sklearn.metrics import adjusted_rand_score

    return float(adjusted_rand_score(truth[:ARI_ROWS], labels[:ARI_ROWS]))


def examine(X: NDArray[Any], truth: NDArray[Any], labels: NDArray[Any], case: Case) -> Facts:
    """Find out about labels that a timed run gave."""
    from meanshiftpp import Grid, MeanShiftPP, seek

    h, third = case.bandwidth, len(X) // 3
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that it did not converge is one of the facts
        alone, many = (MeanShiftPP(h, n_jobs=threads).fit(X) for threads in (1, 3))
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
        same_for_threads=_same(labels, alone.labels_) and _same(labels, many.labels_),
        same_in_parts=grid == many.grid_ and _same(labels, modes.label(X)),
        ordered=bool((np.diff(sizes) <= 0).all()) and _same(sizes, modes.weights),
        as_reference=_as_reference(X, labels, h) if len(X) <= REFERENCE_ROWS else None,
        ari=agreement(truth, labels),
    )


def _same(a: NDArray[Any], b: NDArray[Any]) -> bool:
    return bool(np.array_equal(a, b))


def _as_reference(X: NDArray[Any], labels: NDArray[Any], h: float) -> bool:
    from meanshiftpp.reference import general_mean_shift_pp

    return _same(labels, general_mean_shift_pp(X, h, tol=1e-3, max_iter=300).labels)


def verify(facts: Facts, what: object, *, separated: bool = True, ends: bool = True) -> None:
    """Raise `WrongAnswerError` with all that is wrong.

    `separated` says that the clusters should be found, `ends` that the search should converge.
    """
    demands = {
        f"the grid holds {facts.total:,} points of {facts.n:,}": facts.total == facts.n,
        "labels depend on the number of threads": facts.same_for_threads,
        "labels differ from those of the sum of two grids": facts.same_in_parts,
        "labels are not numbered by falling weight": facts.ordered,
        "labels differ from the reference's": facts.as_reference is not False,
        f"not converged after {facts.steps} steps": facts.converged or not ends,
        f"adjusted Rand index {facts.ari:.3f}, expected {LEAST_ARI} at least": (
            facts.ari >= LEAST_ARI or not separated
        ),
    }
    wrong = [text for text, holds in demands.items() if not holds]
    if wrong:
        raise WrongAnswerError(f"{what}: {'; '.join(wrong)}")
