"""Without memory, native operations raise MemoryError, and the process can be used after it."""

import os
import subprocess
import sys

import pytest

CALLS = {
    "bin": "Grid.from_points(points, 0.001, n_threads=4)",
    "fit": "MeanShiftPP(0.1, n_jobs=4).fit(points)",
    "label": "MeanShiftPP(0.5, n_jobs=4).fit_predict(points)",
    "seek": "seek(grid, n_threads=4)",
    "coarsen": "grid.coarsen(2, n_threads=4)",
    "density": "density.score_samples(points)",
    "segment": "segment(image, n_threads=4)",
    "marginals": "_kernel.marginals(points, None, np.zeros(3), 4)",
    "tree": "_kernel.grow_tree(lattice, points[:10_000], ones, ones.astype(float), None, 1e4, "
    "np.ones(1), 0, np.ones(4), 4)",
    "significant": "MeanShiftPP(n_jobs=4).fit(points)",
}
SCRIPT = """
import resource, sys
import numpy as np
from meanshiftpp import Grid, GridDensity, MeanShiftPP, _kernel, seek, segment

rng = np.random.default_rng(0)
points = rng.normal(size=(100_000, 3))
ones = np.ones(10_000, np.int64)
whole, real = (np.full(3, value) for value in (0, 1.0))
lattice = _kernel.Lattice(real, whole, whole, whole + 1, whole, real, real, real)
grid = Grid.from_points(points, 0.1, n_threads=4)
density = GridDensity(0.2, n_jobs=4).fit(points)
image = rng.integers(0, 255, (150, 200, 3), np.uint8)

def used():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[0]) * resource.getpagesize()

def limit(size):
    resource.setrlimit(resource.RLIMIT_AS, (size, resource.RLIM_INFINITY))

def fill():
    blocks = []
    for size in (2**20, 2**16, 2**12):
        try:
            while True:
                blocks.append(bytearray(size))
        except MemoryError:
            pass
    return blocks

def raises(call, spare):
    size = used()
    limit(size)
    blocks = fill()  # free blocks of the heap would be spare memory
    limit(int(size + spare * 2**20))
    try:
        eval(call)
    except MemoryError:
        return True
    finally:
        limit(resource.RLIM_INFINITY)
    return False

for call in sys.argv[1:]:
    eval(call)  # imports, and starts threads for the first time
    raised = [raises(call, spare) for spare in (0, 0.5, 1, 2, 4, 8)]
    eval(call)
    print("raises" if raised[0] else "does not raise", flush=True)
"""
# One arena, and a map for each large array: without spare memory, no such array can be had.
MALLOC = {"MALLOC_ARENA_MAX": "1", "MALLOC_MMAP_THRESHOLD_": "65536", "MALLOC_TRIM_THRESHOLD_": "0"}


@pytest.fixture(scope="module")
def outcomes():
    """Run all calls in one process: each must leave it usable for the next."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, *CALLS.values()],
        capture_output=True,
        text=True,
        timeout=300,
        env=os.environ | MALLOC,
    )
    return dict(zip(CALLS, done.stdout.splitlines())), done.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits the address space")
@pytest.mark.parametrize("call", CALLS)
def test_lack_of_memory_raises(call, outcomes):
    results, errors = outcomes
    assert results.get(call) == "raises", errors
