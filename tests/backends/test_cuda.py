"""The GPU against the CPU, compared with ==. Without CuPy or a GPU these tests are skipped."""

from itertools import product

import numpy as np
import pytest
from tests.backends.gpu import assert_equal_arrays, blobs, needs_gpu, same, to_gpu
from tests.helpers import fit_labels

from meanshiftpp import Grid, seek
from meanshiftpp._kernel import COUNT_LIMIT
from meanshiftpp.backends import host
from meanshiftpp.errors import GridMismatchError, InvalidInputError

pytestmark = needs_gpu


@pytest.mark.parametrize(
    ("d", "dtype"),
    [
        *product(range(1, 12), ["float32", "float64", "uint8", "int64"]),
        *product([3], ["bool", "int8", "uint16", "int16", "uint32", "int32", "uint64", "float16"]),
    ],
)
def test_grid_modes_and_labels_equal_those_of_the_cpu(d, dtype):
    X = blobs(d, dtype)
    h = 5.0 if np.dtype(dtype).kind in "iu" else 0.5
    modes, labels = fit_labels(X, h)
    found, found_labels = fit_labels(to_gpu(X), h)
    assert found.grid.device == "cuda:0"
    assert found.grid == modes.grid
    assert same(found_labels, labels)
    for name in ("cell_labels", "cells", "fractions", "weights", "centers"):
        assert same(getattr(found, name), getattr(modes, name)), name
    assert (found.n_iter, found.converged) == (modes.n_iter, modes.converged)


@pytest.mark.parametrize("strategy", ["dense", "hash", "sorted", "wide"])
@pytest.mark.parametrize("weighted", [False, True])
def test_every_strategy_returns_the_same_grid(strategy, weighted):
    X = blobs(3, "float32")
    X[::500] += 30
    w = np.random.default_rng(1).integers(0, 4, len(X)) if weighted else None
    grid = Grid.from_points(X, 0.3, sample_weight=w)
    import cupy

    from meanshiftpp.backends.cuda.binning import bin_points_by

    ids = cupy.empty(len(X), np.int32)
    weights = None if w is None else to_gpu(w.astype(np.uint64))
    *rows, assignment = bin_points_by(to_gpu(X), grid.bandwidth, weights, ids, strategy)
    assert Grid(grid.bandwidth, *rows) == grid
    assignment.take(cupy.arange(len(grid), dtype=np.int32), ids, ids)
    own = np.floor(X.astype(np.float64) / 0.3).astype(np.int64)
    kept = ids.get() >= 0
    assert np.array_equal(grid.cells[ids.get()[kept]], own[kept])
    assert kept.all() or (w[~kept] == 0).all()


@pytest.mark.parametrize("resolution", [1, 2, 4])
@pytest.mark.parametrize("seed", range(5))
def test_the_search_of_a_lattice_equals_that_of_the_cpu(resolution, seed):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 12, (400, 2)).astype(float)
    for h in (0.3, 0.7, 1.0, 2.5):
        grid = Grid.from_points(X, h)
        a, b = (seek(g, resolution=resolution) for g in (grid, grid.to("cuda")))
        assert same(b.cell_labels, a.cell_labels)
        assert same(b.fractions, a.fractions)
        assert (b.n_iter, b.converged) == (a.n_iter, a.converged)


@pytest.mark.parametrize("d", [1, 2, 3])
def test_means_on_the_upper_edge_of_the_box(d):
    """0.3 / 0.1 is just below 3: by the tie rule, a step leads beyond the highest cell."""
    axis = np.arange(12) * 0.1
    X = np.stack(np.meshgrid(*[axis] * d), axis=-1).reshape(-1, d)
    for points in (X, X[::-1] - 0.5, np.array([[0.0] * d, [0.3] * d])):
        grid = Grid.from_points(points, 0.1)
        for resolution in (1, 2):
            a, b = (seek(g, resolution=resolution, tol=0) for g in (grid, grid.to("cuda")))
            assert same(b.cell_labels, a.cell_labels)
            assert same(b.cells, a.cells)
            assert same(b.fractions, a.fractions)


def test_windows_with_too_many_cells_for_the_kernels():
    X = blobs(5, "float64", n=400)
    a, b = (fit_labels(x, 0.7, resolution=20) for x in (X, to_gpu(X)))
    assert same(b[1], a[1])


def test_a_total_weight_that_is_too_large_raises_the_same_error_as_on_the_cpu():
    X = np.argwhere(np.ones((40, 40))) + 0.5  # one point in each cell
    grid = Grid.from_points(X, 1.0, sample_weight=np.full(len(X), COUNT_LIMIT, np.uint64))
    with pytest.raises(InvalidInputError, match="weight") as expected:
        seek(grid)
    with pytest.raises(InvalidInputError) as actual:
        seek(grid.to("cuda"))
    assert str(actual.value) == str(expected.value)


@pytest.mark.parametrize(
    ("d", "period", "reach"), [(3, 0, 1), (7, 0, 1), (2, 0, 3), (2, 40, 1), (3, 0, 8), (11, 0, 1)]
)
def test_backend_functions_return_the_arrays_of_the_host(d, period, reach):
    """The types are compared, too; the last three cases are done by the host's fallback."""
    from meanshiftpp.backends import cuda

    rng = np.random.default_rng(0)
    cells_per_period = np.full(d, period)
    points, size = rng.uniform(0, 40, (500, d)), np.full(d, 2.0)
    binned = host.bin_points(points, size, None, None, 1)
    on_gpu = cuda.bin_points(to_gpu(points), size, None, None, 1)
    assert_equal_arrays(on_gpu[:3], binned[:3])
    rows = [np.concatenate([a, a[::-1]]) for a in binned[:3]]
    assert_equal_arrays(cuda.merge_cells(*map(to_gpu, rows)), host.merge_cells(*rows))
    grid, grid_on_gpu = binned[:3], on_gpu[:3]
    options = (cells_per_period, reach, 1e-3, 100, 1)
    modes = host.seek_modes(*grid, *options)
    found = cuda.seek_modes(*grid_on_gpu, *options)
    assert_equal_arrays(found[:4], modes[:4])
    assert found[4:] == modes[4:]
    query = np.unique(rng.integers(0, 20, (300, d)), axis=0)
    for name in ("find_cells", "window_counts"):
        options = (cells_per_period, reach, 1)
        expected = getattr(host, name)(*grid[:2], query, *options)
        actual = getattr(cuda, name)(*grid_on_gpu[:2], to_gpu(query), *options)
        assert_equal_arrays([actual], [expected])
    positions = (rng.uniform(0, 20, (100, d)), modes.cells + modes.fractions)
    expected = host.nearest_modes(*positions, cells_per_period)
    actual = cuda.nearest_modes(*map(to_gpu, positions), cells_per_period)
    assert_equal_arrays([actual], [expected])


def test_many_rows_of_nan():
    X = blobs(3, "float32", n=20_000)
    X[5000:11_000, 1] = np.nan
    with pytest.raises(InvalidInputError, match=r"X\[5000, 1\] is NaN"):
        Grid.from_points(to_gpu(X), 0.5)


def test_grids_of_two_devices_cannot_be_added():
    grid = Grid.from_points(blobs(2, "float32"), 0.5)
    with pytest.raises(GridMismatchError, match="on cpu and cuda:0"):
        _ = grid + grid.to("cuda")


def test_millions_of_points_with_some_far_away():
    X = np.random.default_rng(0).normal(size=(2_000_000, 3)).astype(np.float32)
    X[1::100_000] += 50  # not in the sample that gives the box
    for h in (1.0, 0.05, 1e-3):
        assert Grid.from_points(to_gpu(X), h) == Grid.from_points(X, h)
    assert same(fit_labels(to_gpu(X), 1.0)[1], fit_labels(X, 1.0)[1])
    turned = to_gpu(np.asfortranarray(X))[:, ::-1]
    assert Grid.from_points(turned, 0.3) == Grid.from_points(X[:, ::-1], 0.3)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("h", [0.5, 0.01])  # labels in shared memory, and in global memory
def test_labels_of_zero_weight_and_far_away_points(h, weighted):
    X = blobs(1, "float32", n=40_000)
    X[1::5000] += 1e4
    w = np.random.default_rng(1).integers(0, 3, len(X)) if weighted else None
    (a, labels), (b, found) = (fit_labels(x, h, sample_weight=w) for x in (X, to_gpu(X)))
    assert b.grid == a.grid
    assert same(found, labels)


def test_subnormal_floats_are_in_the_same_cells_as_on_the_cpu():
    tiny = np.array([[-1e-40], [1e-40], [-0.0], [0.0], [1.0]], np.float32)
    for X in (tiny, np.repeat(tiny, 8, axis=1)):
        assert Grid.from_points(to_gpu(X), 1.0) == Grid.from_points(X, 1.0)


def test_grids_can_be_added_coarsened_and_moved():
    X = blobs(3, "float32")
    grid = Grid.from_points(X, 0.1)
    parts = [Grid.from_points(to_gpu(X[k::3]), 0.1) for k in range(3)]
    assert parts[0] + parts[1] + parts[2] == grid
    assert Grid.from_chunks((to_gpu(X[k::3]) for k in range(3)), 0.1) == grid
    assert grid.to("cuda").coarsen(4) == grid.coarsen(4)
    assert grid.to("cuda").to("cpu") == grid
    assert same(grid.to("cuda").means, grid.means)


def test_a_grid_on_a_gpu_can_be_saved(tmp_path):
    grid = Grid.from_points(blobs(2, "float64"), 0.5)
    grid.to("cuda").save(tmp_path / "g")
    assert Grid.load(tmp_path / "g") == grid


def test_periods():
    X = np.random.default_rng(0).uniform(-400, 800, (5000, 2))
    a, b = (fit_labels(x, 20.0, periodic=(360, None)) for x in (X, to_gpu(X)))
    assert b[0].grid == a[0].grid
    assert same(b[1], a[1])


def test_the_work_is_on_the_current_stream():
    import cupy

    X = blobs(3, "float32")
    copy, busy = to_gpu(X), cupy.ones(1 << 24)
    stream = cupy.cuda.Stream(non_blocking=True)
    cupy.cuda.Device().synchronize()
    with stream:
        for _ in range(200):
            busy *= 1.0  # delays the copy of the points
        late = cupy.zeros_like(copy)
        late += copy
        found = fit_labels(late, 0.7)[1]
    stream.synchronize()
    assert same(found, fit_labels(X, 0.7)[1])


def test_host_data_passes_through_the_gpu_in_batches(monkeypatch):
    from meanshiftpp.backends.cuda import transfer

    monkeypatch.setattr(transfer, "BATCH_BYTES", 1 << 12)
    X = blobs(3, "float32")
    w = np.random.default_rng(0).random(len(X))
    assert Grid.from_points(X, 0.7, device="cuda") == Grid.from_points(X, 0.7)
    weighted = Grid.from_points(X, 0.7, sample_weight=w, device="cuda")
    assert weighted == Grid.from_points(X, 0.7, sample_weight=w)
    labels = seek(Grid.from_points(X, 0.7, device="cuda")).label(X)
    assert isinstance(labels, np.ndarray)
    assert np.array_equal(labels, fit_labels(X, 0.7)[1])
    X[2345, 1] = np.nan
    with pytest.raises(InvalidInputError, match=r"X\[2345, 1\] is NaN"):
        Grid.from_points(X, 0.7, device="cuda")


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e300])
@pytest.mark.parametrize("d", [3, 8])
def test_bad_values_raise_the_same_error_as_on_the_cpu(value, d):
    X = blobs(d, "float64", n=50_000)
    X[[4321, 30_000], 2] = value
    with pytest.raises(InvalidInputError) as expected:
        Grid.from_points(X, 0.5)
    with pytest.raises(InvalidInputError) as actual:
        Grid.from_points(to_gpu(X), 0.5)
    assert str(actual.value) == str(expected.value)


def raised_by(points, **options):
    with pytest.raises(InvalidInputError) as error:
        Grid.from_points(points, 1.0, **options)
    return str(error.value), error.value.row, error.value.column


@pytest.mark.parametrize("dtype", ["int64", "uint64"])
def test_integers_that_float64_cannot_hold_raise_the_same_error_as_on_the_cpu(dtype):
    X = np.array([[1, 5], [1, 2**60], [2**60, 5]], dtype)
    assert raised_by(to_gpu(X)) == raised_by(X)
    assert raised_by(X)[1:] == (1, 1)


def test_too_heavy_cells_raise_the_same_error_as_on_the_cpu():
    X, w = np.zeros((3, 1)), np.full(3, 2**31, np.uint64)
    assert raised_by(to_gpu(X), sample_weight=to_gpu(w)) == raised_by(X, sample_weight=w)


@pytest.mark.parametrize("bandwidth", [1e-307, 1e-300, 1e-14])
def test_bytes_with_a_bandwidth_that_is_too_small(bandwidth):
    X = np.array([[0], [255]], np.uint8)
    with pytest.raises(InvalidInputError) as expected:
        Grid.from_points(X, bandwidth)
    with pytest.raises(InvalidInputError) as actual:
        Grid.from_points(to_gpu(X), bandwidth)
    assert str(actual.value) == str(expected.value)
    zero = X[:1]
    assert Grid.from_points(to_gpu(zero), bandwidth).to("cpu") == Grid.from_points(zero, bandwidth)
