"""Many features: no recursion per feature, no copies per corner, and a limit with a clear error."""

import subprocess
import sys

import numpy as np
import pytest

from meanshiftpp import Grid, GridDensity, MeanShiftPP, _kernel, seek, select_bandwidth
from meanshiftpp.core.gridfile import write
from meanshiftpp.errors import GridFileError, InvalidInputError

TOO_MANY = _kernel.MAX_FEATURES + 1

IN_A_SMALL_THREAD = """
import threading
import numpy as np
from meanshiftpp import Grid, GridDensity, MeanShiftPP, seek, select_bandwidth

def run():
    X = np.random.default_rng(0).normal(size=(3, 80_000))
    assert len(seek(Grid.from_points(X, 1.0))) == 3
    assert sorted(MeanShiftPP(1.0).fit(X).labels_) == [0, 1, 2]
    assert (select_bandwidth(X[:, :60_000]) > 0).all()
    assert np.isfinite(GridDensity().fit(X[:, :60_000]).score_samples(X[:, :60_000])).all()
    print("ended")

threading.stack_size(512 * 1024)  # that of a thread on macOS
thread = threading.Thread(target=run)
thread.start()
thread.join()
"""


def test_a_small_stack_is_enough_for_many_features():
    done = subprocess.run([sys.executable, "-c", IN_A_SMALL_THREAD], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "ended\n"), done.stderr


IN_LIMITED_TIME = """
import resource
import numpy as np
from meanshiftpp import Grid, seek

resource.setrlimit(resource.RLIMIT_CPU, (40, 40))
X = np.random.default_rng(0).normal(size=(5000, 64))
for bandwidth in (1.0, 2.0, 3.0):
    seek(Grid.from_points(X, bandwidth), n_threads=1)
print("ended")
"""


def test_a_search_in_many_features_does_not_follow_the_axes_of_a_window():
    """The limit is about ten times the usual time."""
    done = subprocess.run([sys.executable, "-c", IN_LIMITED_TIME], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "ended\n"), done.stderr


@pytest.mark.parametrize("period", [5.0, 10.0])
def test_points_in_corners_of_many_periods(period):
    """Every point is near all edges, so a copy for each corner would be 2**40 copies."""
    d = 40
    edges = np.random.default_rng(0).integers(0, 2, (6, d)) * (period - 0.5) + 0.25
    X = np.concatenate([edges, np.full((2, d), period / 2)])
    modes = seek(Grid.from_points(X, 1.0, periodic=[period] * d))
    assert len(modes) < len(X)
    assert (modes.label(edges) == modes.label(edges)[0]).all()


@pytest.mark.parametrize(
    "call",
    [
        lambda X: Grid.from_points(X, 1.0),
        lambda X: Grid.from_chunks([X], 1.0),
        lambda X: Grid.empty(1.0, TOO_MANY),
        lambda X: MeanShiftPP(1.0).fit(X),
        lambda X: GridDensity(1.0).fit(X),
        select_bandwidth,
    ],
)
def test_too_many_features_raise(call):
    X = np.broadcast_to(np.float32(1), (2, TOO_MANY))
    with pytest.raises(InvalidInputError, match="at most 1,048,576 features, got 1,048,577"):
        call(X)


def test_a_file_of_too_many_features_raises(tmp_path):
    one = np.ones((1, TOO_MANY))
    fields = {
        "bandwidth": one[0],
        "cells": one.astype(np.int64),
        "counts": np.ones(1, np.uint64),
        "sums": one.astype(np.uint64),
        "unit": 1.0,
        "cells_per_period": np.zeros(TOO_MANY, np.int64),
    }
    write(tmp_path / "wide.grid", fields)
    with pytest.raises(GridFileError, match="damaged: it has 1048577 features"):
        Grid.load(tmp_path / "wide.grid")


def test_the_kernel_rejects_axes_that_it_cannot_count():
    points = np.broadcast_to(np.uint8(1), (1, 2**31))
    with pytest.raises(ValueError, match="1 to MAX_FEATURES axes"):
        _kernel.bin_points(points, np.ones(1), None, None, 1)
