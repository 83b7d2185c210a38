"""Ctrl-C ends native loops, and the process can be used after it.

tests/kernel/test_interrupt.cpp interrupts every operation of the kernel, also the short ones.
"""

import subprocess
import sys

import pytest

# Each call takes minutes unless it is interrupted: a loop that does not poll meets the timeout.
CALLS = {
    "bin": "Grid.from_points(np.broadcast_to(np.float32(1), (10**11, 3)), 1.0, n_threads=N)",
    "bin-wide": "Grid.from_points(np.broadcast_to(np.float32(1), (10**10, 20)), 1.0, n_threads=N)",
    "hash": "_kernel.hash_rows(np.broadcast_to(np.float32(1), (10**11, 3)), 2**64 - 1, N)",
    "seek": "seek(Grid.from_points(rows(40_000, 48) / 4, 1.0), n_threads=N)",
    "seek-periodic": "seek(Grid.from_points(rows(40_000, 48) % 3, 1, periodic=3.0), n_threads=N)",
    "density": "GridDensity(4.0, n_jobs=N).fit(rows(90_000, 48)).score_samples(rows(90_000, 48))",
    "tree": "_kernel.grow_tree(rows(900_000, 12), ones, np.zeros(12), 1.0, np.ones(4), N)",
}
SCRIPT = """
import os, signal, sys, threading
import numpy as np
from meanshiftpp import Grid, GridDensity, _kernel, seek

def rows(n, d):
    return np.random.default_rng(0).normal(size=(n, d))

N, ones = int(sys.argv[2]), np.ones(900_000, np.int64)
timer = threading.Timer(1.5, os.kill, (os.getpid(), signal.SIGINT))
timer.daemon = True
try:
    timer.start()
    eval(sys.argv[1])
except KeyboardInterrupt:
    print("interrupted")
assert len(seek(Grid.from_points(rows(1000, 2), 1.0, n_threads=N), n_threads=N))
print("usable")
"""


@pytest.mark.parametrize(
    ("call", "n_threads"), [*((call, 2) for call in CALLS), ("bin", 1), ("seek", 1)]
)
def test_ctrl_c_ends_a_native_loop(call, n_threads):
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, CALLS[call], str(n_threads)],
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert done.stdout.split() == ["interrupted", "usable"], done.stderr
