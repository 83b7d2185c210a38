"""Kills, forks, threads on one estimator, and data that changes during a fit.

A lost worker is tested with its engine, in `tests/engines`; full disks in `tests/apps`.
"""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from meanshiftpp import MeanShiftPP

X = np.random.default_rng(0).normal(size=(20_000, 2)).cumsum(axis=0) / 9


def run(program: str, *arguments: object) -> str:
    """Run a program that may crash in a process of its own, and return its output."""
    done = subprocess.run(
        [sys.executable, "-c", program, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def test_runs_that_are_killed_leave_old_or_whole_outputs_and_can_be_resumed():
    program = "from tests.faults.kills import kill_runs\nprint(kill_runs(20))"
    assert "failures=[]" in run(program)


def test_many_threads_share_one_estimator():
    expected = MeanShiftPP(0.5).fit(X)
    model = MeanShiftPP(0.5).fit(X)

    def work(number: int) -> np.ndarray:
        return model.fit(X).labels_ if number % 2 else model.predict(X)

    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(work, range(48)))
    for labels in (*results, model.labels_):
        np.testing.assert_array_equal(labels, expected.labels_)
    assert model.grid_ == expected.grid_


def test_a_fit_by_another_thread_does_not_mix_with_a_cut():
    parts = X[:3000], X[:500]
    models = [MeanShiftPP().fit(part) for part in parts]

    def results(model: MeanShiftPP) -> list[bytes]:
        table = model.describe(parts[1])
        values = model.cut(persistence=0.5).labels_, model.probabilities_, table["size"]
        return [*(value.tobytes() for value in values), model.explain().encode()]

    expected = [set(pair) for pair in zip(*map(results, models), strict=True)]
    assert all(len(pair) == 2 for pair in expected)
    model = MeanShiftPP().fit(parts[0])
    with ThreadPoolExecutor(3) as pool:
        fits = [pool.submit(model.fit, parts[k % 2]) for k in range(100)]
        while not fits[-1].done():
            for result, pair in zip(results(model), expected, strict=True):
                assert result in pair
    for fit in fits:
        fit.result()


FORK = """
import multiprocessing, warnings
import numpy as np
from meanshiftpp import MeanShiftPP

warnings.simplefilter("ignore", DeprecationWarning)  # of forks in processes with threads
X = np.random.default_rng(0).normal(size=(200_000, 2)).cumsum(axis=0) / 9
labels = MeanShiftPP(0.5, n_jobs=4).fit(X).labels_

def fit(n_jobs):
    return MeanShiftPP(0.5, n_jobs=n_jobs).fit(X).labels_

with multiprocessing.get_context("fork").Pool(2) as pool:
    for result in pool.map(fit, [1, 4, 2, 4]):
        assert np.array_equal(result, labels)
print("equal")
"""


def test_a_process_can_fork_after_a_fit_with_threads():
    assert run(FORK) == "equal\n"


MUTATED = """
import sys, threading
import numpy as np
from meanshiftpp import Grid, MeanShiftPP
from meanshiftpp.errors import MeanShiftPPError

n_features, offset, threads = int(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3])
rng = np.random.default_rng(0)
X = np.asfortranarray(rng.normal(size=(40_000, n_features)) * 20 + offset)
stop = threading.Event()

def mutate():
    values = [0.0, -1e9, 1e9, np.nan, np.inf, -np.inf, 1e300, 2.0**51, 7.5]
    rng = np.random.default_rng(1)
    while not stop.is_set():
        X[rng.integers(0, len(X), 50), rng.integers(0, n_features)] = values[rng.integers(9)]
        X[rng.integers(0, len(X), 2000)] = rng.normal(size=n_features) * 20 + offset

other = threading.Thread(target=mutate)
other.start()
fitted = 0
try:
    for k in range(6):
        try:
            labels = MeanShiftPP(1.0 + k, n_jobs=threads).fit(X).labels_
            assert labels.min() >= 0 and len(labels) == len(X)
            grid = Grid.from_points(X, 1.0 + k, n_threads=threads)
            assert (grid.counts > 0).all()
            fitted += 1
        except MeanShiftPPError:
            pass
finally:
    stop.set()
    other.join()
print("alive")
"""


@pytest.mark.parametrize(
    ("n_features", "offset", "n_threads"), [(1, 0.0, 4), (2, 0.0, 1), (3, 1e6, 4), (8, 0.0, 4)]
)
def test_data_that_changes_during_a_fit_never_crashes(n_features, offset, n_threads):
    assert run(MUTATED, n_features, offset, n_threads) == "alive\n"


POOLS = """
import multiprocessing
import numpy as np
from joblib import Parallel, delayed
from tests.faults.test_faults import X, labels

if __name__ == "__main__":
    expected = [labels(None), labels(0.5)]
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        found = pool.map(labels, [None, 0.5])
    found += Parallel(2, backend="loky")(delayed(labels)(h) for h in (None, 0.5))
    print(all(map(np.array_equal, found, expected * 2)))
"""


def labels(bandwidth: float | None) -> np.ndarray:
    return MeanShiftPP(bandwidth).fit(X[:3000]).labels_


def test_new_processes_of_spawn_and_loky_find_the_same_clusters():
    assert run(POOLS).split() == ["True"]
