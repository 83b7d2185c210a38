"""The GPU against the CPU, with ==. Without a GPU these tests say that they did not run.

What needs none: the kernels compile where there is a compiler, so that they cannot rot, and without
CuPy an error says how to install it.
"""

import os
import re
import shutil
import subprocess
import sys
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_iris
from tests.helpers import fit_labels

import meanshiftpp
from meanshiftpp import Grid, GridDensity, MeanShiftPP, palette, quantize, seek, segment, sweep
from meanshiftpp.backends import gpu_of
from meanshiftpp.errors import GridMismatchError, InvalidInputError, MissingExtraError

FOLDER = Path(meanshiftpp.__file__).parent / "backends" / "cuda"
TYPES = ("float", "double", "unsigned char", "long long")
KERNELS = {  # some of each: all would take minutes to compile
    "box": [
        f"{name}<{t}, {d}>" for name in ("sample_box", "keys_of") for t in TYPES for d in (1, 6)
    ],
    "binning": [
        *(f"bin_global<{t}, {d}, {way}>" for t in TYPES for d in (1, 6) for way in range(3)),
        *(f"bin_cached<{t}, {d}>" for t in TYPES for d in (1, 3, 6)),
    ],
    "wide": [f"{name}<{t}>" for name in ("cells_of", "add_rows") for t in TYPES],
    "table": ["count_rows", "list_rows", "collect", "spread", "take"],
    "cells": ["merge_rows", "extent_of"],
    "search": [
        *(f"search<{d}, {h}, {r}>" for d in (1, 3, 6) for h in (0, 1) for r in (0, 1)),
        *(f"{name}<3, {h}>" for name in ("set_out", "list_modes", "read_modes") for h in (0, 1)),
        "end_labels",
    ],
    "near": [
        *(
            f"{name}<{d}>"
            for name in ("index_cells", "near_cells", "window_counts")
            for d in (1, 6)
        ),
        "nearest_mode",
    ],
}


def gpus() -> int:
    try:
        import cupy

        return cupy.cuda.runtime.getDeviceCount()
    except Exception:
        return 0


needs_gpu = pytest.mark.skipif(not gpus(), reason="no CuPy or no GPU here: not run on a GPU")


# -- without a GPU ---------------------------------------------------------------------------------


@pytest.mark.skipif(not shutil.which("nvcc"), reason="no nvcc here: the CUDA kernels not compiled")
@pytest.mark.parametrize("part", KERNELS)
def test_nvcc_compiles_the_kernels_without_warnings(part, tmp_path):
    pointers = ", ".join(f"(const void*)&{name}" for name in KERNELS[part])
    unit = tmp_path / "all.cu"
    unit.write_text(
        f'#include "{FOLDER / part}.cu"\nconst void* kernels[] = {{{pointers}}};\n', "utf-8"
    )
    flags = ["--fmad=false", "-std=c++17", "-arch=sm_90", "-Werror", "all-warnings"]
    command = ["nvcc", *flags, "-ptx", str(unit), "-o", str(tmp_path / "all.ptx")]
    run = subprocess.run(command, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr


@pytest.mark.parametrize("part", KERNELS)
def test_nvrtc_compiles_the_kernels(part):
    """It comes with CuPy and needs no GPU; this is how users' kernels are compiled."""
    nvrtc = pytest.importorskip("cupy", reason="no CuPy here: NVRTC not tried").cuda.nvrtc
    from meanshiftpp.backends.cuda.launch import OPTIONS, Kernels

    program = nvrtc.createProgram(Kernels(f"{part}.cu").source, f"{part}.cu", (), ())
    for name in KERNELS[part]:
        nvrtc.addNameExpression(program, name)
    try:
        nvrtc.compileProgram(program, (*OPTIONS, "-ftz=true", "-arch=compute_90"))  # as CuPy does
    except nvrtc.NVRTCError:
        pytest.fail(nvrtc.getProgramLog(program))
    for name in KERNELS[part]:
        assert nvrtc.getLoweredName(program, name)


@pytest.mark.parametrize("part", KERNELS)
def test_each_part_launches_the_kernels_beside_it(part):
    host = (FOLDER / f"{part}.py").read_text("utf-8")
    launched = set(re.findall(r'(?:\.launch|_name|_near)\(\s*f?"(\w+)', host))
    launched |= set(re.findall(r'name = f"(\w+)<', host))
    source = (FOLDER / f"{part}.cu").read_text("utf-8")
    heads = re.findall(r"__global__ void\s+(?:__launch_bounds__\([^)]*\)\s*)?(\w+)\(", source)
    assert launched == set(heads) == {name.partition("<")[0] for name in KERNELS[part]}


def test_every_file_of_kernels_is_compiled():
    assert {path.stem for path in FOLDER.glob("*.cu")} == set(KERNELS)


def test_without_cupy_the_error_says_how_to_install_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", None)
    for name in [name for name in sys.modules if name.startswith("meanshiftpp.backends.cuda")]:
        monkeypatch.delitem(sys.modules, name)
    with pytest.raises(MissingExtraError, match=r'pip install "meanshiftpp\[gpu\]"'):
        Grid.from_points([[1.0]], 1.0, device="cuda")


@pytest.mark.parametrize("device", ["gpu", "cuda:x", 0, "CUDA"])
def test_a_device_has_a_name(device):
    with pytest.raises(InvalidInputError, match='"cpu", "cuda" or "cuda:1"'):
        gpu_of(device)


# -- on a GPU --------------------------------------------------------------------------------------


def blobs(d, dtype, n=3000, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) + 5 * rng.integers(0, 3, (n, 1))
    return (
        (X * 10 + 60).clip(0, 255).astype(dtype)
        if np.dtype(dtype).kind in "iu"
        else X.astype(dtype)
    )


def there(array):
    import cupy

    return cupy.asarray(array)


def same(a, b):
    return np.array_equal(a.get() if hasattr(a, "get") else a, b)


@needs_gpu
@pytest.mark.parametrize(
    ("d", "dtype"),
    [
        *product(range(1, 9), ["float32", "float64", "uint8", "int64"]),
        *product([3], ["bool", "int8", "uint16", "int16", "uint32", "int32", "uint64", "float16"]),
    ],
)
def test_grid_modes_and_labels_are_the_cpus(d, dtype):
    X = blobs(d, dtype)
    h = 5.0 if np.dtype(dtype).kind in "iu" else 0.5
    modes, labels = fit_labels(X, h)
    found, found_labels = fit_labels(there(X), h)
    assert found.grid.device == "cuda:0"
    assert found.grid == modes.grid
    assert same(found_labels, labels)
    for name in ("cell_labels", "cells", "fractions", "weights", "centers"):
        assert same(getattr(found, name), getattr(modes, name)), name
    assert (found.n_iter, found.converged) == (modes.n_iter, modes.converged)


@needs_gpu
@pytest.mark.parametrize("strategy", ["dense", "hash", "sorted", "wide"])
@pytest.mark.parametrize("weighted", [False, True])
def test_every_strategy_gives_the_same_grid(strategy, weighted):
    X = blobs(3, "float32")
    X[::500] += 30
    w = np.random.default_rng(1).integers(0, 4, len(X)) if weighted else None
    grid = Grid.from_points(X, 0.3, sample_weight=w)
    import cupy

    from meanshiftpp.backends.cuda.binning import bin_points_by

    ids = cupy.empty(len(X), np.int32)
    weights = None if w is None else there(w.astype(np.uint64))
    *rows, assignment = bin_points_by(there(X), grid.bandwidth, weights, ids, strategy)
    assert Grid(grid.bandwidth, *rows) == grid
    assignment.take(cupy.arange(len(grid), dtype=np.int32), ids, ids)
    own = np.floor(X.astype(np.float64) / 0.3).astype(np.int64)
    kept = ids.get() >= 0
    assert np.array_equal(grid.cells[ids.get()[kept]], own[kept])
    assert kept.all() or (w[~kept] == 0).all()


@needs_gpu
@pytest.mark.parametrize("resolution", [1, 2, 4])
@pytest.mark.parametrize("seed", range(5))
def test_the_search_of_lattices_is_the_cpus(resolution, seed):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 12, (400, 2)).astype(float)
    for h in (0.3, 0.7, 1.0, 2.5):
        grid = Grid.from_points(X, h)
        a, b = (seek(g, resolution=resolution) for g in (grid, grid.to("cuda")))
        assert same(b.cell_labels, a.cell_labels)
        assert same(b.fractions, a.fractions)
        assert (b.n_iter, b.converged) == (a.n_iter, a.converged)


@needs_gpu
@pytest.mark.parametrize("d", [1, 2, 3])
def test_means_on_the_upper_edge_of_the_box(d):
    """0.3 / 0.1 lies a last bit below 3: by the tie rule, a step leads beyond."""
    axis = np.arange(12) * 0.1
    X = np.stack(np.meshgrid(*[axis] * d), axis=-1).reshape(-1, d)
    for points in (X, X[::-1] - 0.5, np.array([[0.0] * d, [0.3] * d])):
        grid = Grid.from_points(points, 0.1)
        for resolution in (1, 2):
            a, b = (seek(g, resolution=resolution, tol=0) for g in (grid, grid.to("cuda")))
            assert same(b.cell_labels, a.cell_labels)
            assert same(b.cells, a.cells)
            assert same(b.fractions, a.fractions)


@needs_gpu
def test_windows_of_very_many_cells():
    X = blobs(5, "float64", n=400)
    a, b = (fit_labels(x, 0.7, resolution=20) for x in (X, there(X)))
    assert same(b[1], a[1])


@needs_gpu
def test_many_rows_that_are_no_numbers():
    X = blobs(3, "float32", n=20_000)
    X[5000:11_000, 1] = np.nan
    with pytest.raises(InvalidInputError, match=r"X\[5000, 1\] is NaN"):
        Grid.from_points(there(X), 0.5)


@needs_gpu
def test_grids_of_two_devices_do_not_add_up():
    grid = Grid.from_points(blobs(2, "float32"), 0.5)
    with pytest.raises(GridMismatchError, match="on cpu and cuda:0"):
        _ = grid + grid.to("cuda")


@needs_gpu
def test_millions_of_points_with_some_far_away():
    X = np.random.default_rng(0).normal(size=(2_000_000, 3)).astype(np.float32)
    X[1::100_000] += 50  # not among the rows that are looked at for a box
    for h in (1.0, 0.05, 1e-3):
        assert Grid.from_points(there(X), h) == Grid.from_points(X, h)
    assert same(fit_labels(there(X), 1.0)[1], fit_labels(X, 1.0)[1])
    turned = there(np.asfortranarray(X))[:, ::-1]
    assert Grid.from_points(turned, 0.3) == Grid.from_points(X[:, ::-1], 0.3)


@needs_gpu
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("h", [0.5, 0.01])  # labels by way of shared memory, and of global
def test_labels_with_points_of_no_weight_and_points_far_away(h, weighted):
    X = blobs(1, "float32", n=40_000)
    X[1::5000] += 1e4
    w = np.random.default_rng(1).integers(0, 3, len(X)) if weighted else None
    (a, labels), (b, found) = (fit_labels(x, h, sample_weight=w) for x in (X, there(X)))
    assert b.grid == a.grid
    assert same(found, labels)


@needs_gpu
def test_floats_next_to_zero_are_in_the_cpus_cells():
    tiny = np.array([[-1e-40], [1e-40], [-0.0], [0.0], [1.0]], np.float32)
    for X in (tiny, np.repeat(tiny, 8, axis=1)):
        assert Grid.from_points(there(X), 1.0) == Grid.from_points(X, 1.0)


@needs_gpu
def test_weights_may_be_elsewhere_than_the_points():
    X, w = blobs(2, "float64"), np.random.default_rng(0).integers(0, 3, 3000)
    expected = MeanShiftPP(0.7).fit(X, sample_weight=w)
    for points, weight in ((there(X), w), (there(X), w.tolist()), (X, there(w))):
        found = MeanShiftPP(0.7).fit(points, sample_weight=weight)
        assert found.grid_ == expected.grid_
        assert same(found.labels_, expected.labels_)
        chosen = MeanShiftPP().fit(points, sample_weight=weight)
        assert np.array_equal(chosen.bandwidth_, MeanShiftPP().fit(X, sample_weight=w).bandwidth_)
        assert GridDensity(0.5).fit(points, sample_weight=weight).grid_.total == w.sum()
        found, expected_sweep = (sweep(x, sample_weight=y) for x, y in ((points, weight), (X, w)))
        assert np.array_equal(found.n_clusters, expected_sweep.n_clusters)
    assert Grid.from_points(there([[1.0]]), 1.0, sample_weight=[2]).total == 2


@needs_gpu
def test_grids_add_up_coarsen_and_move():
    X = blobs(3, "float32")
    grid = Grid.from_points(X, 0.1)
    parts = [Grid.from_points(there(X[k::3]), 0.1) for k in range(3)]
    assert parts[0] + parts[1] + parts[2] == grid
    assert Grid.from_chunks((there(X[k::3]) for k in range(3)), 0.1) == grid
    assert grid.to("cuda").coarsen(4) == grid.coarsen(4)
    assert grid.to("cuda").to("cpu") == grid
    assert same(grid.to("cuda").means, grid.means)


@needs_gpu
def test_a_grid_of_a_gpu_is_saved_as_any(tmp_path):
    grid = Grid.from_points(blobs(2, "float64"), 0.5)
    grid.to("cuda").save(tmp_path / "g")
    assert Grid.load(tmp_path / "g") == grid


@needs_gpu
def test_periods():
    X = np.random.default_rng(0).uniform(-400, 800, (5000, 2))
    a, b = (fit_labels(x, 20.0, periodic=(360, None)) for x in (X, there(X)))
    assert b[0].grid == a[0].grid
    assert same(b[1], a[1])


@needs_gpu
def test_new_points_get_the_cpus_labels():
    X, new = blobs(3, "float32"), blobs(3, "float32", seed=7) * 3
    a, b = (MeanShiftPP(0.7).fit(x) for x in (X, there(X)))
    assert same(b.predict(there(new)), a.predict(new))
    a.set_params(cluster_all=False), b.set_params(cluster_all=False)
    assert same(b.predict(there(new)), a.predict(new))


@needs_gpu
def test_the_estimator_stays_on_the_gpu():
    import cupy

    X = blobs(3, "float32")
    w = np.random.default_rng(0).integers(0, 3, len(X))
    a = MeanShiftPP(0.7, min_cluster_size=20).fit(X, sample_weight=w)
    b = MeanShiftPP(0.7, min_cluster_size=20).fit(there(X), sample_weight=there(w))
    for name in ("labels_", "cluster_centers_", "cluster_weights_"):
        assert isinstance(getattr(b, name), cupy.ndarray), name
        assert same(getattr(b, name), getattr(a, name)), name
    assert b.n_features_in_ == 3
    many = blobs(3, "float32", n=40_000)
    assert same(MeanShiftPP().fit(there(many)).labels_, MeanShiftPP().fit(many).labels_)
    c = MeanShiftPP(0.7)
    for part in np.array_split(X, 3):
        c.partial_fit(there(part))
    assert c.grid_ == MeanShiftPP(0.7).fit(X).grid_


@needs_gpu
def test_the_array_api_dispatch_of_scikit_learn_changes_nothing():
    import sklearn

    X = blobs(3, "float32")
    expected = MeanShiftPP(0.7).fit_predict(X)
    if not os.environ.get("SCIPY_ARRAY_API"):
        pytest.skip("SCIPY_ARRAY_API is not set: scikit-learn cannot dispatch here")
    with sklearn.config_context(array_api_dispatch=True):
        found = MeanShiftPP(0.7).fit_predict(there(X))
    assert same(found, expected)


def tensor(X):
    torch = pytest.importorskip("torch", reason="no PyTorch here: its arrays not tried")
    return torch.from_numpy(X).cuda(), torch.from_dlpack


def jax_array(X):
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # leave memory to others
    jax = pytest.importorskip("jax", reason="no JAX here: its arrays not tried")
    gpus = [device for device in jax.devices() if device.platform == "gpu"]
    if not gpus:
        pytest.skip("this JAX knows no GPU: its arrays not tried")
    return jax.device_put(X, gpus[0]), jax.dlpack.from_dlpack


@needs_gpu
@pytest.mark.parametrize("made", [tensor, jax_array])
def test_arrays_of_other_libraries_come_and_go_through_dlpack(made):
    X = load_iris().data.astype(np.float32)
    array, back = made(X)
    expected = MeanShiftPP(0.5).fit_predict(X)
    labels = MeanShiftPP(0.5).fit_predict(array)
    assert same(labels, expected)
    assert np.array_equal(np.from_dlpack(back(labels), device="cpu"), expected)
    assert Grid.from_points(array, 0.5) == Grid.from_points(X, 0.5)


@needs_gpu
def test_it_works_on_the_current_stream():
    import cupy

    X = blobs(3, "float32")
    copy, busy = there(X), cupy.ones(1 << 24)
    stream = cupy.cuda.Stream(non_blocking=True)
    cupy.cuda.Device().synchronize()
    with stream:
        for _ in range(200):
            busy *= 1.0  # until this is done, the points are not there
        late = cupy.zeros_like(copy)
        late += copy
        found = fit_labels(late, 0.7)[1]
    stream.synchronize()
    assert same(found, fit_labels(X, 0.7)[1])


@needs_gpu
def test_host_data_passes_through_in_batches(monkeypatch):
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


@needs_gpu
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e300])
@pytest.mark.parametrize("d", [3, 8])
def test_bad_values_are_named_as_on_the_cpu(value, d):
    X = blobs(d, "float64", n=50_000)
    X[[4321, 30_000], 2] = value
    with pytest.raises(InvalidInputError) as expected:
        Grid.from_points(X, 0.5)
    with pytest.raises(InvalidInputError) as found:
        Grid.from_points(there(X), 0.5)
    assert str(found.value) == str(expected.value)


@needs_gpu
def test_too_large_integers_and_weights_are_refused():
    with pytest.raises(InvalidInputError, match=r"X\[1, 0\].*2\*\*53"):
        Grid.from_points(there(np.array([[1], [2**60]])), 1.0)
    full = there(np.full(3, 2**31, np.uint64))
    with pytest.raises(InvalidInputError, match="more than the"):
        Grid.from_points(there(np.zeros((3, 1))), 1.0, sample_weight=full)


@needs_gpu
@pytest.mark.parametrize("bandwidth", [1e-307, 1e-300, 1e-14])
def test_bytes_in_cells_without_numbers(bandwidth):
    X = np.array([[0], [255]], np.uint8)
    with pytest.raises(InvalidInputError) as wanted:
        Grid.from_points(X, bandwidth)
    with pytest.raises(InvalidInputError) as found:
        Grid.from_points(there(X), bandwidth)
    assert str(found.value) == str(wanted.value)
    zero = X[:1]
    assert Grid.from_points(there(zero), bandwidth).to("cpu") == Grid.from_points(zero, bandwidth)


@needs_gpu
def test_images_in_rgb():
    image = blobs(3, "uint8", n=80 * 60).reshape(60, 80, 3)
    options = {"space": "rgb", "regions": False}
    assert same(segment(there(image), 16.0, **options), segment(image, 16.0, **options))
    assert same(segment(there(image), **options), segment(image, **options))
    assert same(quantize(there(image), 16.0), quantize(image, 16.0))
    assert same(palette(there(image), 16.0).colors, palette(image, 16.0).colors)
    with pytest.raises(InvalidInputError, match="regions=False"):
        segment(there(image))
    with pytest.raises(InvalidInputError, match="RGB bytes"):
        segment(there(image), regions=False)


@needs_gpu
def test_density_and_sweep():
    X = blobs(2, "float64")
    a, b = (GridDensity(0.5, resolution=1).fit(x) for x in (X, there(X)))
    assert np.allclose(b.score_samples(there(X)).get(), a.score_samples(X), rtol=1e-15, atol=0)
    assert np.array_equal(b.score_samples(X), a.score_samples(X))  # from the host, too
    assert GridDensity().fit(there(X)).grid_ == GridDensity().fit(X).grid_
    a, b = (sweep(x, [0.5, 1.0, 2.0]) for x in (X, there(X)))
    assert list(b.n_clusters) == list(a.n_clusters)
    assert same(b.labels(1, there(X)), a.labels(1, X))
