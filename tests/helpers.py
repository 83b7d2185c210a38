"""Helpers of several test modules: fixed random cases of seven kinds, and equality of results."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing
from tests.strategies import Case

from meanshiftpp import Grid, Modes, _kernel
from meanshiftpp._support.checks import as_bandwidth, as_points, as_weights, thread_count
from meanshiftpp.core.recipe import Recipe

THREADS = (1, 2, 8)

Maker = Callable[[np.random.Generator, int, int], Case]

# Cases


def blobs(rng: np.random.Generator, n: int, d: int) -> Case:
    """Draw a few Gaussians on both sides of zero."""
    centers = rng.uniform(-20, 20, size=(rng.integers(1, 6), d))
    X = centers[rng.integers(len(centers), size=n)] + rng.normal(size=(n, d))
    return Case(X, rng.uniform(0.5, 3.0))


def uniform(rng: np.random.Generator, n: int, d: int) -> Case:
    """Draw uniform points, with a different bandwidth for every feature."""
    return Case(rng.uniform(-3, 2, size=(n, d)), rng.uniform(0.3, 1.5, size=d))


def lattice(rng: np.random.Generator, n: int, d: int) -> Case:
    """Draw whole numbers at bandwidths that put points and means on the edges of cells."""
    limit = int(rng.integers(2, 12))
    X = rng.integers(-limit, limit + 1, size=(n, d))
    return Case(X, float(rng.choice([0.3, 0.5, 1.0, 1.5, 2.0, 3.0, 7.0])))


def decimals(rng: np.random.Generator, n: int, d: int) -> Case:
    """Draw tenths at bandwidths such as 0.1 and 0.3: points miss the edges by one bit."""
    limit = int(rng.integers(3, 20))
    X = rng.integers(-limit, limit + 1, size=(n, d)) / 10
    return Case(X, float(rng.choice([0.1, 0.2, 0.3, 0.6, 0.7])))


def duplicates(rng: np.random.Generator, n: int, d: int) -> Case:
    """Draw few distinct positions, each of them many times."""
    positions = rng.normal(scale=3, size=(rng.integers(1, 12), d)).astype(np.float32)
    return Case(positions[rng.integers(len(positions), size=n)], rng.uniform(0.3, 3.0))


def tight(rng: np.random.Generator, n: int, d: int) -> Case:
    """Draw points at a bandwidth so small that nearly every point is alone in its cell."""
    return Case(rng.normal(size=(n, d)), 0.02 * 8 ** rng.uniform(0, d / 6))


def wide(rng: np.random.Generator, n: int, d: int) -> Case:
    """Draw points at a bandwidth so large that all are in a few cells around the origin."""
    return Case(rng.normal(size=(n, d)).astype(np.float32), rng.uniform(5, 500))


KINDS: tuple[Maker, ...] = (blobs, uniform, lattice, decimals, duplicates, tight, wide)


def make(kind: Maker, d: int, seed: int) -> Case:
    """Draw the case of a kind, a number of features and a seed; 1 to 150 points."""
    rng = np.random.default_rng([KINDS.index(kind), d, seed])
    return kind(rng, int(rng.integers(1, 151)), d)


def around(case: Case, seed: int) -> np.ndarray:
    """Draw points in occupied cells, in cells next to them, and far away."""
    rng = np.random.default_rng([seed, 1])
    X = np.asarray(case.X, dtype=np.float64)[rng.integers(len(case.X), size=90)]
    distance = np.repeat([0.5, 1.5, 40.0], 30)[:, None]  # in cells
    return X + rng.uniform(-distance, distance, size=X.shape) * case.bandwidth


# Clustering


def fit_labels(
    X: np.typing.ArrayLike,
    bandwidth: float | np.typing.ArrayLike,
    *,
    sample_weight: np.typing.ArrayLike | None = None,
    n_threads: int | None = None,
    **options: Any,
) -> tuple[Modes, np.typing.NDArray[np.int32]]:
    """Cluster points in memory by a `Recipe` of these options."""
    recipe = Recipe(bandwidth, **options).checked(as_points(X).shape[1])
    return recipe.fit(X, sample_weight, n_threads=n_threads)


def bin_by(
    X: np.typing.ArrayLike,
    bandwidth: float | np.typing.ArrayLike,
    strategy: str,
    isa: str | None = None,
    sample_weight: np.typing.ArrayLike | None = None,
    ids: np.typing.NDArray[np.int32] | None = None,
    n_threads: int | None = None,
) -> tuple[Grid, _kernel.Assignment]:
    """Bin points on the CPU by a given strategy and instruction set, as `Grid.bin` does."""
    points = as_points(X)
    cell_size = as_bandwidth(bandwidth, points.shape[1])
    weights, unit = None, 1.0
    if sample_weight is not None:
        checked = as_weights(sample_weight, points)
        weights, unit = checked.counts, checked.unit
    threads = thread_count(n_threads)
    binned = _kernel.bin_points_by(points, cell_size, weights, ids, threads, strategy, isa)
    cells, counts, sums, assignment = binned
    return Grid(cell_size, cells, counts, sums, unit), assignment


# Equality


def assert_equal(actual: Grid, expected: Grid, context: object = "") -> None:
    for name in ("cells", "counts", "sums", "bandwidth", "unit"):
        a, e = getattr(actual, name), getattr(expected, name)
        assert np.array_equal(a, e), f"{name} differ, {context}: got\n{a}\nexpected\n{e}"
    assert actual == expected, context


def assert_same_modes(actual: Modes, expected: Modes, context: object = "") -> None:
    for name in ("cells", "fractions", "weights", "cell_labels", "n_iter", "converged"):
        a, e = getattr(actual, name), getattr(expected, name)
        assert np.array_equal(a, e), f"{name} differ, {context}: got\n{a}\nexpected\n{e}"


def assert_close_modes(actual: Modes, expected: Modes) -> None:
    """Compare two searches whose grids may differ in the rounding of sums."""
    assert np.array_equal(actual.grid.cells, expected.grid.cells)
    assert np.array_equal(actual.grid.counts, expected.grid.counts)
    assert np.array_equal(actual.cell_labels, expected.cell_labels)
    assert np.array_equal(actual.weights, expected.weights)
    assert np.allclose(actual.centers, expected.centers, rtol=0, atol=1e-6)
