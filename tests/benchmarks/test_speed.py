"""The speed benchmarks run at tiny sizes, and a wrong result does not pass."""

import json
import platform
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from benchmarks.common import synthetic
from benchmarks.common.reporting import duration
from benchmarks.speed import (
    checks,
    contenders,
    goals,
    plots,
    presets,
    startup_benchmark,
    time_benchmarks,
)
from benchmarks.speed.results import Measurement
from benchmarks.speed.timing import Runner, measure_in_turns, with_ratios
from benchmarks.speed.worker_client import WorkerClient

from benchmarks import __main__ as command

ROOT = Path(__file__).parents[2]
CASE = contenders.Case(synthetic.Data(1500))


@pytest.fixture(scope="module")
def labelled():
    X, truth = synthetic.draw(CASE.data)
    return X, truth, contenders.ours(X, CASE)


@pytest.mark.parametrize("name", command.BENCHMARKS)
def test_every_benchmark_runs(name, tmp_path, monkeypatch):
    few = startup_benchmark.IMPORTS[:3]  # the others compile scikit-learn, for half a minute
    monkeypatch.setattr(startup_benchmark, "IMPORTS", few)
    assert command.run([name], presets.TINY, tmp_path) == 0
    written = json.loads((tmp_path / "results.json").read_text("utf-8"))
    rows = written["benchmarks"][name]["rows"]
    assert rows
    assert all(row["note"] == "" and row["median"] > 0 for row in rows)
    assert name in ("startup", "density", "features", "files") or any(row["facts"] for row in rows)
    assert (tmp_path / f"{name}.png").exists() == (name in plots.FIGURES)
    page = (tmp_path / "results.md").read_text("utf-8")
    assert written["benchmarks"][name]["title"] in page
    assert "WRONG" not in page


# -- checks of the result --------------------------------------------------------------------------


def test_a_correct_result_passes(labelled):
    X, truth, labels = labelled
    facts = checks.examine(X, truth, labels, CASE)
    checks.verify(facts, CASE)
    assert facts.as_reference is True


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"total": 1499}, "the grid holds 1,499 points of 1,500"),
        ({"same_for_threads": False}, "number of threads"),
        ({"same_in_parts": False}, "sum of two grids"),
        ({"ordered": False}, "falling weight"),
        ({"as_reference": False}, "the reference's"),
        ({"converged": False}, "not converged"),
        ({"ari": 0.5}, "adjusted Rand index 0.500"),
    ],
)
def test_every_check_can_fail(labelled, wrong, message):
    facts = replace(checks.examine(*labelled, CASE), **wrong)
    with pytest.raises(checks.WrongResultError, match=message):
        checks.verify(facts, CASE)


def test_one_wrong_label_fails_the_checks(labelled):
    X, truth, labels = labelled
    changed = labels.copy()
    changed[7] = (changed[7] + 1) % 3
    with pytest.raises(checks.WrongResultError, match=r"threads.*two grids.*reference"):
        checks.verify(checks.examine(X, truth, changed, CASE), CASE)


def test_a_wrong_result_is_reported_without_times(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(checks, "MIN_ARI", 1.1)  # impossible to reach
    assert command.run(["n"], replace(presets.TINY, peers=()), tmp_path) == 1
    assert "WRONG RESULT in n" in capsys.readouterr().out
    written = json.loads((tmp_path / "results.json").read_text("utf-8"))
    assert "adjusted Rand index" in written["failures"]["n"]
    assert written["benchmarks"] == {}


# -- timing in turns -------------------------------------------------------------------------------


def test_a_slow_peer_is_stopped_and_skips_larger_sizes():
    preset = replace(presets.TINY, limit=1e-4)
    rows = time_benchmarks.sweep_n(preset, lambda row: None).rows
    first, second = (row for row in rows if row.contender == "KMeans")
    assert first.note == "more than 0.0001 s"
    assert second.note == "not run: more than 0.0001 s at 1,000 x 3 float32"
    assert not first.times
    assert not second.times
    assert all(row.times for row in rows if row.contender != "KMeans")


def test_the_error_of_a_failing_peer_is_reported():
    case = contenders.Case(synthetic.Data(5))  # fewer points than clusters
    with WorkerClient() as worker:
        (row,) = measure_in_turns([Runner(worker, "KMeans", case)], 1, 1.0, 60.0)
    assert row.note.startswith("ValueError: n_samples=5")


def test_ratios_are_of_medians_in_one_case():
    rows = [
        Measurement(contenders.FLOOR, CASE, (1.0, 2.0, 9.0)),
        Measurement(contenders.OURS, CASE, (4.0, 8.0, 5.0)),
        Measurement("KMeans", CASE, (50.0,)),
        Measurement("HDBSCAN", CASE, note="too slow"),
    ]
    floor, ours, kmeans, excluded = with_ratios(rows)
    assert (ours.to_floor, ours.to_ours) == (2.5, 1.0)
    assert (kmeans.to_floor, kmeans.to_ours) == (25.0, 10.0)
    assert floor.to_floor is excluded.to_ours is None


# -- data, goals and output ------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_smaller_array_is_a_prefix_of_a_larger_one(dtype, monkeypatch):
    monkeypatch.setattr(synthetic, "BLOCK", 64)
    few, many = (synthetic.draw(synthetic.Data(n, dtype=dtype)) for n in (100, 150))
    np.testing.assert_array_equal(few[0], many[0][:100])
    np.testing.assert_array_equal(few[1], many[1][:100])
    assert few[0].dtype == dtype
    assert synthetic.checksum(few[0]) != synthetic.checksum(many[0])


def test_verdicts_of_goals():
    assert len(goals.BY_KEY) == len(goals.GOALS)
    at_most = goals.BY_KEY["floor-float32"]
    verdicts = [goals.verdict(at_most, value) for value in (None, 4.9, 8.0, 8.1)]
    assert verdicts == ["not measured", "reached, stretch too", "reached", "MISSED"]
    at_least = goals.BY_KEY["kmeans"]
    assert [goals.verdict(at_least, value) for value in (9.9, 10.0)] == ["MISSED", "reached"]


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(None, ""), (3e-7, "0.3 µs"), (0.0015, "1.5 ms"), (0.0999, "99.9 ms"), (1234, "1,234 s")],
)
def test_durations_have_a_suitable_unit(seconds, text):
    assert duration(seconds) == text


def test_results_contain_neither_host_name_nor_folder(tmp_path):
    assert command.main(["--quick", "small", "-o", str(tmp_path)]) == 0
    for name in ("results.json", "results.md"):
        written = (tmp_path / name).read_text("utf-8")
        assert "--quick small" in written
        for private in (str(tmp_path), str(ROOT), platform.node()):
            assert private not in written


def test_an_unknown_benchmark_is_an_error(capsys):
    with pytest.raises(SystemExit):
        command.main(["speed"])
    assert "unknown benchmark speed" in capsys.readouterr().err
