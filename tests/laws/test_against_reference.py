"""Compare the fast search with Algorithm 2 in NumPy, on well over a thousand fixed random cases."""

from __future__ import annotations

import numpy as np
import pytest
from tests.helpers import (
    KINDS,
    THREADS,
    Maker,
    around,
    blobs,
    decimals,
    duplicates,
    lattice,
    make,
    tight,
)
from tests.strategies import Case

from meanshiftpp import Grid, reference, seek

DIMENSIONS = range(1, 7)
SEEDS = range(30)
CENTER_TOLERANCE = 1e-6  # of a cell: a grid stores 32 bits of a position, the reference 53


def check(case: Case, where: str, **options: float) -> None:
    """Compare labels, weights and centers with the reference, for every number of threads."""
    expected = reference.general_mean_shift_pp(case.X, case.bandwidth, **options)
    results = []
    for n_threads in THREADS:
        grid = Grid.from_points(case.X, case.bandwidth, n_threads=n_threads)
        modes = seek(grid, n_threads=n_threads, **options)
        results.append((modes, modes.label(case.X, n_threads=n_threads)))
    modes, labels = results[0]
    context = f"\n{where}, {options}\n{case!r}\ngot      {labels}\nexpected {expected.labels}"
    assert np.array_equal(labels, expected.labels), "labels differ" + context
    assert np.array_equal(modes.weights, np.bincount(labels)), f"weights {modes.weights}" + context
    means = np.array([expected.points[labels == k].mean(axis=0) for k in range(labels.max() + 1)])
    error = np.abs(modes.centers - means) / case.bandwidth
    assert (error <= CENTER_TOLERANCE).all(), f"centers differ by {error.max()} cells" + context
    # A grid does not know how far the first step moves the points, so that step may not be the end.
    converged = modes.converged or not expected.converged or modes.n_iter == 1
    assert converged, "did not converge" + context
    for n_threads, (other, other_labels) in zip(THREADS[1:], results[1:]):
        same = np.array_equal(other.centers, modes.centers) and other.n_iter == modes.n_iter
        same = same and np.array_equal(other_labels, labels)
        assert same, f"the result differs on {n_threads} threads" + context


@pytest.mark.filterwarnings("ignore:the search still moved")
@pytest.mark.parametrize("options", [{}, {"tol": 0.0}, {"max_iter": 1}, {"max_iter": 2}], ids=str)
@pytest.mark.parametrize("d", DIMENSIONS)
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_same_clusters(kind: Maker, d: int, options: dict[str, float]):
    for seed in SEEDS:
        check(make(kind, d, seed), f"make({kind.__name__}, d={d}, seed={seed})", **options)


def test_there_are_enough_cases_and_they_differ():
    cases = [make(kind, d, seed) for kind in KINDS for d in DIMENSIONS for seed in SEEDS]
    assert len({case.X.tobytes() for case in cases}) > 1000
    assert min(len(case.X) for case in cases) < 5
    assert max(len(case.X) for case in cases) > 140
    assert sum((np.asarray(case.X) < 0).any() for case in cases) > 900


@pytest.mark.parametrize("weight", ["whole", "large"])
@pytest.mark.parametrize("d", DIMENSIONS)
def test_same_clusters_with_weights(d: int, weight: str):
    for seed in SEEDS:
        case = make(blobs, d, seed)
        rng = np.random.default_rng(seed)
        w = rng.integers(1, 6 if weight == "whole" else 10**6, size=len(case.X))
        expected = reference.general_mean_shift_pp(case.X, case.bandwidth, sample_weight=w)
        modes = seek(Grid.from_points(case.X, case.bandwidth, sample_weight=w))
        where = f"make(blobs, d={d}, seed={seed}), weights {w.tolist()}"
        assert np.array_equal(modes.label(case.X), expected.labels), where
        assert np.array_equal(modes.weights, np.bincount(expected.labels, weights=w)), where


def test_a_first_mean_on_an_edge_has_neighbours_in_the_second_step():
    """No two raw cells are adjacent, but 0.3 / 0.1 is one bit below 3: the mean is in cell 3.

    The first step is therefore not the last one, even if no raw cell has an occupied neighbour.
    """
    X = np.array([[0.3, 0.01], [0.3, 0.09], [0.45, 0.05]])
    for tol in (1e-3, 0.0):
        check(Case(X, 0.1), "mean on an edge", tol=tol)


@pytest.mark.parametrize("tol", [1e-3, 0.0])
def test_a_first_step_that_moves_nothing(tol: float):
    """Each point is alone, so step 1 moves nothing; by the tie rule 0.3 is then next to 0.45.

    The search and the reference must agree that this step does not end the search.
    """
    check(Case(np.array([[0.3], [0.45]]), 0.1), "the first step moves nothing", tol=tol)


@pytest.mark.parametrize("cluster_all", [True, False])
@pytest.mark.parametrize("d", DIMENSIONS)
def test_predict_follows_the_rule(d: int, cluster_all: bool):
    for kind in (blobs, lattice, decimals, duplicates, tight):
        for seed in SEEDS[:10]:
            case = make(kind, d, seed)
            modes = seek(Grid.from_points(case.X, case.bandwidth))
            new = around(case, seed)
            grid = modes.grid
            expected = reference.predict(
                new,
                case.bandwidth,
                grid.cells,
                grid.counts,
                modes.cell_labels,
                modes.centers,
                cluster_all=cluster_all,
            )
            for n_threads in THREADS:
                actual = modes.label(new, cluster_all=cluster_all, n_threads=n_threads)
                wrong = np.flatnonzero(actual != expected)
                assert not len(wrong), (
                    f"make({kind.__name__}, d={d}, seed={seed}), {n_threads} threads\n{case!r}\n"
                    f"new points {new[wrong].tolist()}\ngot      {actual[wrong]}\n"
                    f"expected {expected[wrong]}"
                )
