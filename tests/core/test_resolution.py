"""A window of (2r+1)^d smaller cells: the laws of 3^d cells hold, and r = 1 is the paper's."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from tests.helpers import KINDS, THREADS, Maker, around, assert_same_modes, fit_labels, make

from meanshiftpp import Grid, MeanShiftPP, _kernel, reference, seek
from meanshiftpp.core.recipe import fine_bandwidth
from meanshiftpp.errors import InvalidInputError

REACHES = (2, 3, 4)
CENTER_TOLERANCE = 1e-6  # of a cell


@pytest.mark.parametrize("reach", REACHES)
@pytest.mark.parametrize("d", range(1, 7))
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_same_clusters_as_the_reference(kind: Maker, d: int, reach: int):
    for seed in range(6):
        case = make(kind, d, seed)
        h = fine_bandwidth(case.bandwidth, reach)
        tol = 1e-3 * ((2 * reach + 1) / 3)
        expected = reference.general_mean_shift_pp(case.X, h, reach=reach, tol=tol)
        grid = Grid.from_points(case.X, h)
        modes = seek(grid, resolution=reach, n_threads=1)
        labels = modes.label(case.X)
        context = f"make({kind.__name__}, d={d}, seed={seed}), reach {reach}"
        assert_array_equal(labels, expected.labels, context)
        means = [expected.points[labels == k].mean(axis=0) for k in range(labels.max() + 1)]
        assert (np.abs(modes.centers - means) / h <= CENTER_TOLERANCE).all(), context
        for n_threads in THREADS[1:]:
            assert_same_modes(seek(grid, resolution=reach, n_threads=n_threads), modes, context)


@pytest.mark.parametrize("reach", REACHES)
@pytest.mark.parametrize("d", [1, 2, 3])
def test_prediction_looks_as_far_as_the_search(d: int, reach: int):
    for kind in KINDS[:4]:
        case = make(kind, d, 1)
        h = fine_bandwidth(case.bandwidth, reach)
        modes = seek(Grid.from_points(case.X, h), resolution=reach)
        new = around(case, 1)
        expected = reference.predict(
            new,
            h,
            modes.grid.cells,
            modes.grid.counts,
            modes.cell_labels,
            modes.centers,
            reach=reach,
            cluster_all=False,
        )
        assert_array_equal(modes.label(new, cluster_all=False), expected)
        assert modes.resolution == reach


def search(grid: Grid, reach: int, n_threads: int, window_sums: str) -> tuple:
    return _kernel.seek_modes_by(
        grid.cells,
        grid.counts,
        grid.sums,
        grid.cells_per_period,
        reach,
        1e-3,
        300,
        n_threads,
        window_sums,
    )


@pytest.mark.parametrize("reach", [1, 2, 4, 7])
@pytest.mark.parametrize(("d", "h"), [(2, 0.02), (3, 0.1), (4, 0.3), (6, 0.6), (7, 0.8)])
def test_window_sums_are_bit_identical_for_every_method(d: int, h: float, reach: int):
    rng = np.random.default_rng([d, reach])
    X = np.r_[rng.normal(size=(9_000, d)), rng.uniform(-9, 9, size=(200, d))]
    grid = Grid.from_points(X, h)
    assert len(grid) > 2_000
    expected = search(grid, reach, 1, "rows")
    for window_sums in ("planes", "auto"):
        for n_threads in (1, 3):
            for got, want in zip(
                search(grid, reach, n_threads, window_sums), expected, strict=True
            ):
                assert_array_equal(got, want, f"{window_sums}, {n_threads} threads")


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_window_sums_of_a_few_cells(kind: Maker):
    for d in (3, 4, 6):
        for seed in range(10):
            case = make(kind, d, seed)
            grid = Grid.from_points(case.X, case.bandwidth)
            for reach in (1, 3):
                expected = search(grid, reach, 1, "rows")
                for got, want in zip(search(grid, reach, 1, "planes"), expected, strict=True):
                    assert_array_equal(got, want, f"make({kind.__name__}, d={d}, seed={seed})")


def test_unknown_window_sums_are_rejected():
    with pytest.raises(ValueError, match="window_sums must be auto, rows or planes"):
        search(Grid.from_points([[1.0]], 1.0), 1, 1, "fast")


def test_resolution_of_one_is_the_paper_s():
    X = np.random.default_rng(0).normal(size=(2_000, 2))
    h = np.array([0.3, 0.7])
    assert_array_equal(fine_bandwidth(h, 1), h)
    grid = Grid.from_points(X, h)
    assert_same_modes(seek(grid, resolution=1), seek(grid))


def test_window_stays_three_bandwidths_wide():
    """Two points just inside and just outside of one window, at every resolution."""
    for r in (1, 2, 4, 10):
        fine = fine_bandwidth(1.0, r)
        middle = 0.5 * fine  # of cell 0
        near = np.array([[middle], [middle + 1.5 - 0.01 * fine]])
        assert len(fit_labels(near, 1.0, resolution=r)[0]) == 1, r
        apart = np.array([[middle], [middle + 1.5 + 0.01 * fine]])
        assert len(fit_labels(apart, 1.0, resolution=r)[0]) == 2, r


def test_estimator_keeps_the_bandwidth_and_bins_finer():
    X = np.random.default_rng(1).normal(size=(500, 2))
    model = MeanShiftPP(bandwidth=0.9, resolution=4).fit(X)
    assert_array_equal(model.bandwidth_, [0.9, 0.9])
    assert_array_equal(model.grid_.bandwidth, fine_bandwidth([0.9, 0.9], 4))
    assert_array_equal(model.predict(X), model.labels_)
    chunked = MeanShiftPP(bandwidth=0.9, resolution=4)
    for chunk in np.array_split(X, 3):
        chunked.partial_fit(chunk)
    assert chunked.grid_ == model.grid_
    assert_array_equal(chunked.cluster_centers_, model.cluster_centers_)


@pytest.mark.parametrize("resolution", [0, -1, 65, 1.5, True, "4", None])
def test_bad_resolution_raises(resolution):
    grid = Grid.from_points([[1.0]], 1.0)
    with pytest.raises(InvalidInputError, match="resolution must be a whole number from 1 to 64"):
        seek(grid, resolution=resolution)
    with pytest.raises(InvalidInputError, match="resolution must be a whole number"):
        fit_labels([[1.0]], 1.0, resolution=resolution)


@pytest.mark.filterwarnings("ignore:the search still moved")
@pytest.mark.parametrize("resolution", [1, 2, 4, 64])
def test_weight_too_large_for_the_window_raises(resolution):
    n = 2**32 - 1
    heap = Grid.from_points(np.arange(1000.0)[:, None], 1.0, sample_weight=np.full(1000, n))
    bits = 43 - int(2 * resolution + 1).bit_length()
    cells = (1 << bits) // n
    fits = Grid(heap.bandwidth, *(a[:cells].copy() for a in (heap.cells, heap.counts, heap.sums)))
    assert seek(fits, resolution=resolution, max_iter=3).weights.sum() == fits.total
    with pytest.raises(InvalidInputError, match=rf"less than 2\*\*{bits} exactly"):
        seek(heap, resolution=resolution)
