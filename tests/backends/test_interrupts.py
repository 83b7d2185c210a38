"""Ctrl-C ends native loops, and the process can be used after it.

The tests of tests/kernel interrupt every operation of the kernel, also the short ones.
"""

import subprocess
import sys

import pytest

# The input of each call, and the call: it takes minutes unless it is interrupted, so a loop that
# does not poll meets the timeout.
CALLS = {
    "bin": ("ones(10**11, 3)", "Grid.from_points(data, 1.0, n_threads=N)"),
    "bin-wide": ("ones(10**10, 20)", "Grid.from_points(data, 1.0, n_threads=N)"),
    "finite": ("ones(10**11, 3)", "_kernel.check_finite(data, N)"),
    "marginals": ("ones(10**11, 3)", "_kernel.marginals(data, None, np.zeros(3), N)"),
    "seek": ("Grid.from_points(rows(40_000, 48) / 4, 1.0)", "seek(data, n_threads=N)"),
    "seek-periodic": (
        "Grid.from_points(rows(40_000, 48) % 3, 1, periodic=3.0)",
        "seek(data, n_threads=N)",
    ),
    "density": (
        "GridDensity(4.0, n_jobs=N).fit(rows(90_000, 48))",
        "data.score_samples(rows(90_000, 48))",
    ),
    "density-fit": ("ones(10**12, 3)", "GridDensity(n_jobs=N).fit(data)"),
    "tree": (
        "rows(900_000, 12)",
        "_kernel.grow_tree(lattice, data, weights, weights.astype(float), None, 9e5, "
        "np.ones(1), 0, np.ones(4), N)",
    ),
}
SCRIPT = """
import os, signal, sys, threading
import numpy as np
from meanshiftpp import Grid, GridDensity, _kernel, seek

signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may ignore it for jobs

def rows(n, d):
    return np.random.default_rng(0).normal(size=(n, d))

def ones(n, d):
    return np.broadcast_to(np.float32(1), (n, d))

weights = np.ones(900_000, np.int64)
whole, real = (np.full(12, value) for value in (0, 1.0))
lattice = _kernel.Lattice(real, whole, whole, whole + 1, whole, real, real, real)
for N, source, call in zip(map(int, sys.argv[1::3]), sys.argv[2::3], sys.argv[3::3]):
    data = eval(source)
    timer = threading.Timer(0.4, os.kill, (os.getpid(), signal.SIGINT))
    timer.daemon = True
    outcome = "ended"
    try:
        timer.start()
        eval(call)
    except KeyboardInterrupt:
        outcome = "interrupted"
    assert len(seek(Grid.from_points(rows(1000, 2), 1.0, n_threads=N), n_threads=N))
    print(outcome, flush=True)
"""
CASES = [*((call, 2) for call in CALLS), ("bin", 1), ("seek", 1)]


@pytest.fixture(scope="module")
def outcomes():
    """Interrupt all calls in one process: each must leave it usable for the next."""
    arguments = [text for call, n_threads in CASES for text in (str(n_threads), *CALLS[call])]
    command = [sys.executable, "-c", SCRIPT, *arguments]
    with subprocess.Popen(command, stdout=-1, stderr=-1, text=True) as process:
        try:
            printed, errors = process.communicate(timeout=400)
        except subprocess.TimeoutExpired:
            process.kill()
            printed, errors = process.communicate()
    return dict(zip(CASES, printed.split())), errors


@pytest.mark.parametrize(("call", "n_threads"), CASES)
def test_ctrl_c_ends_a_native_loop(call, n_threads, outcomes):
    results, errors = outcomes
    assert results.get((call, n_threads)) == "interrupted", errors
