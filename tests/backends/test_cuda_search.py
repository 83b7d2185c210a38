"""The searches of the GPU against the CPU's, compared with ==. They are skipped without a GPU."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from tests.backends.gpu import assert_equal_arrays, blobs, needs_gpu, same, to_gpu
from tests.helpers import fit_labels

from meanshiftpp import Grid, seek
from meanshiftpp.backends import host

pytestmark = needs_gpu


def assert_equal_modes(grid, **options):
    expected, found = (seek(g, **options) for g in (grid, grid.to("cuda")))
    for name in ("cell_labels", "cells", "fractions", "weights"):
        assert same(getattr(found, name), getattr(expected, name)), name
    assert (found.n_iter, found.converged) == (expected.n_iter, expected.converged)
    return found


@pytest.fixture
def by_buckets(monkeypatch):
    """Sum all windows by buckets of cells."""
    from meanshiftpp.backends.cuda import buckets

    monkeypatch.setattr(buckets, "_MIN_AXES", 2)


def valleys(d, n=2000, seed=0):
    """Draw points of two near clusters and some that are far from all others."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) + 2.5 * rng.integers(0, 2, (n, 1))
    X[::97] += rng.uniform(-30, 30, (len(X[::97]), d))
    return X


@pytest.mark.parametrize("h", [0.2, 0.6, 1.5])
@pytest.mark.parametrize("d", range(1, 11))
def test_the_search_equals_that_of_the_cpu(d, h):
    for n in (150, 2000):
        assert_equal_modes(Grid.from_points(valleys(d, n), h))


@pytest.mark.parametrize("resolution", [1, 2, 3])
@pytest.mark.parametrize("d", range(2, 9))
@pytest.mark.usefixtures("by_buckets")
def test_windows_summed_by_buckets(d, resolution):
    grid = Grid.from_points(valleys(d, n=1500, seed=d), 0.8 / resolution)
    assert_equal_modes(grid, resolution=resolution)


@pytest.mark.parametrize("d", [1, 2, 3, 7])
def test_many_steps_on_few_cells(d):
    """A slope leads all cells to one end, a step at a time."""
    cells = np.zeros((120, d), np.int64)
    cells[:, 0] = np.arange(120)
    counts = np.arange(1, 121, dtype=np.uint64) ** 2
    sums = counts[:, None] * np.full((120, d), 1 << 31, np.uint64)
    args = (np.zeros(d, np.int64), 1, 0.0, 1000, 1)
    expected = host.seek_modes(cells, counts, sums, *args)
    from meanshiftpp.backends import cuda

    found = cuda.seek_modes(*map(to_gpu, (cells, counts, sums)), *args)
    assert expected.n_iter > 20
    assert_equal_arrays(found[:4], expected[:4])
    assert found[4:] == expected[4:]


@pytest.mark.parametrize("tol", [1e-6, 1e-3, 0.05])
@pytest.mark.parametrize("d", [1, 2, 3, 7])
def test_cells_that_creep_rest_and_join(d, tol):
    """Heavy cells with light ones between them, in chains, among cells that are far apart."""
    rng = np.random.default_rng(d)
    X = np.full((400, d), 0.5)
    X[:, 0] = np.arange(400) + np.arange(400) // 5 * 3 + rng.uniform(0.1, 0.9, 400)
    heavy = 10 ** rng.integers(2, 6, 400)
    weight = np.where(np.arange(400) % 5 % 2, rng.integers(1, 4, 400), heavy)
    grid = Grid.from_points(X, 1.0, sample_weight=weight)
    modes = assert_equal_modes(grid, tol=tol)
    assert 64 < modes.n_iter < 250
    with pytest.warns(ConvergenceWarning):
        assert_equal_modes(grid, tol=tol, max_iter=64)


@pytest.mark.parametrize("d", [1, 2, 7])
def test_evenly_spaced_cells_end(d):
    X = np.zeros((3000, d))
    X[:, 0] = np.arange(3000)
    for resolution in (1, 2):
        modes = assert_equal_modes(Grid.from_points(X, 1.0), resolution=resolution)
        assert modes.converged
        assert modes.n_iter > 64


def test_more_steps_than_one_launch_takes(monkeypatch):
    from meanshiftpp.backends.cuda import search

    monkeypatch.setattr(search, "_BATCH_STEPS", 2)
    for d in (2, 7):
        modes = assert_equal_modes(Grid.from_points(valleys(d), 0.5))
        assert modes.n_iter > 2


@pytest.mark.parametrize("d", [7, 8, 9, 10])
def test_keys_beyond_the_integers_of_a_double(d):
    """The box has up to 2**62 cells; a double holds integers up to 2**53."""
    X = valleys(d, n=40_000) * 0.02
    X[0], X[1] = -(2 ** (62 / d)) / 2.2, 2 ** (62 / d) / 2.2
    modes, labels = fit_labels(X, 1.0)
    found, found_labels = fit_labels(to_gpu(X), 1.0)
    assert found.grid == modes.grid
    assert same(found_labels, labels)


@pytest.mark.parametrize("d", [1, 2, 3, 8])
@pytest.mark.parametrize("n_far", [1, 50, 3000])
def test_points_outside_the_box_of_the_sample(d, n_far):
    X = blobs(d, "float32", n=200_000)
    rng = np.random.default_rng(1)
    far = 1 + 12 * rng.choice(len(X) // 12 - 1, n_far, replace=False)  # not in the sample
    X[far] += rng.uniform(5, 60, (n_far, d)).astype(np.float32)
    for h in (0.5, 2.0):
        (a, labels), (b, found) = (fit_labels(x, h) for x in (X, to_gpu(X)))
        assert b.grid == a.grid
        assert same(found, labels)
