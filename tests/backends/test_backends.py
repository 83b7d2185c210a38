"""The interface of the backends; these tests need no GPU."""

import inspect
import sys
from importlib import import_module
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import spatial

from meanshiftpp import Grid
from meanshiftpp._kernel import COUNT_LIMIT
from meanshiftpp.backends import backend_of, gpu_of, host
from meanshiftpp.backends.protocol import Backend, Binned, FoundModes, Merged
from meanshiftpp.errors import InvalidInputError, MissingExtraError

FUNCTIONS = [name for name, value in vars(Backend).items() if inspect.isfunction(value)]
FUNCTIONS = [name for name in FUNCTIONS if not name.startswith("_")]

CELLS = np.array([[0, 0], [0, 1], [5, 5]])
COUNTS = np.array([2, 3, 4], np.uint64)
SUMS = np.ones((3, 2), np.uint64)
NO_PERIOD = np.zeros(2, np.int64)


@pytest.fixture
def fallback(cuda):
    return import_module(f"{cuda.__name__}.fallback")


def test_the_protocol_has_ten_functions():
    assert len(FUNCTIONS) == 10


@pytest.mark.parametrize("name", FUNCTIONS)
def test_cuda_functions_have_the_parameters_of_the_protocol(cuda, name):
    parameters = list(inspect.signature(getattr(Backend, name)).parameters)
    assert list(inspect.signature(getattr(cuda, name)).parameters) == parameters[1:]  # no self


def test_host_functions_have_the_parameters_and_types_of_the_protocol():
    backend = backend_of(CELLS)
    assert backend is host
    grid = {"cells": CELLS, "counts": COUNTS}
    windows = {"cells_per_period": NO_PERIOD, "reach": 1, "n_threads": 1}
    points, size = CELLS.astype(float), np.ones(2)
    binned = backend.bin_points(points=points, cell_size=size, weights=None, ids=None, n_threads=1)
    assert isinstance(binned, Binned)
    assert np.array_equal(binned.cells, CELLS)
    merged = backend.merge_cells(**grid, sums=SUMS)
    assert isinstance(merged, Merged)
    assert merged.position.dtype == np.uint32
    modes = backend.seek_modes(**grid, sums=SUMS, **windows, tol=0.0, max_iter=9)
    assert isinstance(modes, FoundModes)
    assert modes.weights.dtype == np.float64
    assert modes.weights.tolist() == [5, 4]
    assert backend.find_cells(**grid, query=CELLS[1:] + 1, **windows).tolist() == [1, 2]
    assert backend.window_counts(**grid, query=CELLS[:1], **windows).tolist() == [5]
    nearest = backend.nearest_modes(positions=points, modes=points[::2], cells_per_period=NO_PERIOD)
    assert nearest.dtype == np.int32
    assert nearest.tolist() == [0, 0, 1]


def test_few_nearest_modes_are_searched_at_once(monkeypatch):
    """SciPy does not answer Ctrl-C while it searches."""
    searched = []

    class Tree(spatial.KDTree):
        def query(self, x, **options):
            searched.append(len(x))
            return super().query(x, **options)

    monkeypatch.setattr(spatial, "KDTree", Tree)
    rng = np.random.default_rng(0)
    positions, modes = rng.normal(size=(200_000, 2)), rng.normal(size=(90, 2))
    nearest = host.nearest_modes(positions, modes, NO_PERIOD)
    assert (sum(searched), max(searched) < 70_000) == (200_000, True)
    for rows in (slice(100), slice(-100, None)):
        squares = ((positions[rows, None] - modes) ** 2).sum(axis=2)
        assert np.array_equal(nearest[rows], squares.argmin(axis=1))


@pytest.mark.parametrize("device", ["gpu", "cuda:x", 0, "CUDA"])
def test_an_unknown_device_name_raises(device):
    with pytest.raises(InvalidInputError, match='"cpu", "cuda" or "cuda:N"') as error:
        gpu_of(device)
    assert (error.value.parameter, error.value.got) == ("device", device)


def test_cpu_is_not_a_gpu():
    assert gpu_of("cpu") is None


def test_a_missing_gpu_raises(cuda, monkeypatch):
    transfer = import_module(f"{cuda.__name__}.transfer")
    runtime = SimpleNamespace(getDeviceCount=lambda: 1, CUDARuntimeError=RuntimeError)
    monkeypatch.setattr(transfer, "cp", SimpleNamespace(cuda=SimpleNamespace(runtime=runtime)))
    with pytest.raises(InvalidInputError, match=r"device must be .* got 'cuda:1'; nvidia-smi"):
        gpu_of("cuda:1")


def test_without_cupy_the_error_states_the_install_command(monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", None)
    for name in [name for name in sys.modules if name.startswith("meanshiftpp.backends.cuda")]:
        monkeypatch.delitem(sys.modules, name)
    with pytest.raises(MissingExtraError, match=r'pip install "meanshiftpp\[gpu\]"'):
        Grid.from_points([[1.0]], 1.0, device="cuda")


@pytest.mark.parametrize(
    ("n_axes", "period", "reach", "supported"),
    [
        (7, 0, 1, True),
        (8, 0, 1, False),  # 6561 cells
        (11, 0, 0, False),  # too many axes
        (2, 10, 1, False),  # a period
        (3, 0, 7, True),
        (3, 0, 8, False),  # 4913 cells
        (1, 0, 64, True),
    ],
)
def test_windows_that_the_kernels_support(fallback, n_axes, period, reach, supported):
    periods = np.zeros(n_axes, np.int64)
    periods[-1] = period
    assert fallback.supports_windows(n_axes, periods, reach) == supported


@pytest.mark.parametrize(
    ("n_axes", "reach", "suits"),
    [(6, 1, False), (7, 1, True), (10, 1, True), (11, 1, False), (8, 2, True), (10, 2, False)],
)
def test_windows_that_are_summed_by_buckets(cuda, n_axes, reach, suits):
    buckets = import_module(f"{cuda.__name__}.buckets")
    assert buckets.suits_buckets(n_axes, reach) == suits


def test_cells_of_too_many_bits_have_no_buckets(cuda):
    buckets = import_module(f"{cuda.__name__}.buckets")
    low = [0] * 7
    assert buckets.make_packing(low, [20] * 7, 1, 100).n_slots == 256
    assert buckets.make_packing(low, [1] * 5 + [2**40, 2**30], 1, 100) is None


def test_the_fallback_copies_every_array_of_the_result(fallback, monkeypatch):
    monkeypatch.setattr(fallback, "cp", SimpleNamespace(asarray=lambda array: array.tolist()))
    modes = fallback.run_on_host(host.seek_modes, CELLS, COUNTS, SUMS, NO_PERIOD, 1, 0.0, 9, 1)
    assert isinstance(modes, FoundModes)
    assert modes.cell_labels == [0, 0, 1]
    assert modes.weights == [5.0, 4.0]
    assert modes.converged is True
    query = CELLS[1:] + 1
    found = fallback.run_on_host(host.find_cells, CELLS, COUNTS, query, NO_PERIOD, 1, 1)
    assert found == [1, 2]


def test_the_hosts_error_gets_the_row_of_the_point(fallback):
    with pytest.raises(InvalidInputError, match=r"^X\[7, 1\] is NaN") as error:
        fallback.raise_host_error(np.array([[1.0, np.nan]]), np.ones(2), 7)
    assert (error.value.row, error.value.column) == (7, 1)


def test_the_hosts_error_for_a_heavy_cell_has_no_row(fallback):
    weight = COUNT_LIMIT + 1
    with pytest.raises(InvalidInputError, match=str(weight)) as error:
        fallback.raise_host_error(np.zeros((1, 2)), np.ones(2), weight=weight)
    assert error.value.row is None


def test_a_point_that_the_host_accepts_is_an_internal_error(fallback):
    with pytest.raises(RuntimeError, match="internal error"):
        fallback.raise_host_error(np.zeros((1, 2)), np.ones(2), 0)
