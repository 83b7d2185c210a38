"""The benchmarks run, at sizes that prove nothing, and a wrong answer does not pass."""

import json
import platform
import re
from dataclasses import replace
from pathlib import Path
from pkgutil import iter_modules
from types import ModuleType

import numpy as np
import pytest
from benchmarks.common import data
from benchmarks.common.shown import duration
from benchmarks.speed import checks, contenders, goals, lanes, plots, suite

import benchmarks
from benchmarks import __main__ as command
from benchmarks import bsds, common, origin, paper, speed, tolerance, tracking

ROOT = Path(__file__).parents[2]
CASE = contenders.Case(data.Data(1500))


@pytest.fixture(scope="module")
def answer():
    X, truth = data.draw(CASE.data)
    return X, truth, contenders.ours(X, CASE)


@pytest.mark.parametrize("name", command.BENCHMARKS)
def test_every_benchmark_runs(name, tmp_path):
    assert command.run([name], suite.TINY, tmp_path) == 0
    found = json.loads((tmp_path / "results.json").read_text("utf-8"))
    rows = found["benchmarks"][name]["rows"]
    assert rows
    assert all(row["note"] == "" and row["median"] > 0 for row in rows)
    assert name == "startup" or any(row["facts"] for row in rows)
    assert (tmp_path / f"{name}.png").exists() == (name in plots.DRAWINGS)
    page = (tmp_path / "results.md").read_text("utf-8")
    assert found["benchmarks"][name]["title"] in page
    assert "WRONG" not in page


# A wrong answer


def test_a_right_answer_passes(answer):
    X, truth, labels = answer
    facts = checks.examine(X, truth, labels, CASE)
    checks.verify(facts, CASE)
    assert facts.as_reference is True


@pytest.mark.parametrize(
    ("wrong", "words"),
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
def test_every_check_can_fail(answer, wrong, words):
    facts = replace(checks.examine(*answer, CASE), **wrong)
    with pytest.raises(checks.WrongAnswerError, match=words):
        checks.verify(facts, CASE)


def test_one_wrong_label_is_found(answer):
    X, truth, labels = answer
    changed = labels.copy()
    changed[7] = (changed[7] + 1) % 3
    with pytest.raises(checks.WrongAnswerError, match=r"threads.*two grids.*reference"):
        checks.verify(checks.examine(X, truth, changed, CASE), CASE)


def test_a_wrong_answer_is_loud_and_has_no_times(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(checks, "LEAST_ARI", 1.1)  # which no answer reaches
    assert command.run(["n"], replace(suite.TINY, peers=()), tmp_path) == 1
    assert "WRONG ANSWER in n" in capsys.readouterr().out
    found = json.loads((tmp_path / "results.json").read_text("utf-8"))
    assert "adjusted Rand index" in found["failures"]["n"]
    assert found["benchmarks"] == {}


# The race


def test_a_slow_peer_is_stopped_and_sits_out():
    scale = replace(suite.TINY, limit=1e-4)
    rows = suite.sweep_n(scale, lambda row: None).rows
    first, second = (row for row in rows if row.contender == "KMeans")
    assert first.note == "more than 0.0001 s"
    assert second.note == "not run: more than 0.0001 s at 1,000 x 3 float32"
    assert not first.times
    assert not second.times
    assert all(row.times for row in rows if row.contender != "KMeans")


def test_a_peer_that_fails_says_why():
    case = contenders.Case(data.Data(5))  # fewer points than clusters
    with lanes.Lane() as lane:
        (row,) = lanes.race([lanes.Entry(lane, "KMeans", case)], 1, 1.0, 60.0)
    assert row.note.startswith("ValueError: n_samples=5")


def test_ratios_are_of_medians_in_one_case():
    rows = [
        lanes.Row(contenders.FLOOR, CASE, (1.0, 2.0, 9.0)),
        lanes.Row(contenders.OURS, CASE, (4.0, 8.0, 5.0)),
        lanes.Row("KMeans", CASE, (50.0,)),
        lanes.Row("HDBSCAN", CASE, note="too slow"),
    ]
    floor, ours, kmeans, out = lanes.with_ratios(rows)
    assert (ours.to_floor, ours.to_ours) == (2.5, 1.0)
    assert (kmeans.to_floor, kmeans.to_ours) == (25.0, 10.0)
    assert floor.to_floor is out.to_ours is None


# The data, the goals, the words


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_smaller_array_is_the_beginning_of_a_larger_one(dtype, monkeypatch):
    monkeypatch.setattr(data, "BLOCK", 64)
    few, many = (data.draw(data.Data(n, dtype=dtype)) for n in (100, 150))
    np.testing.assert_array_equal(few[0], many[0][:100])
    np.testing.assert_array_equal(few[1], many[1][:100])
    assert few[0].dtype == dtype
    assert data.checksum(few[0]) != data.checksum(many[0])


def test_goals_are_told_apart():
    assert len(goals.BY_KEY) == len(goals.GOALS)
    first = goals.BY_KEY["floor-float32"]
    words = [goals.verdict(first, value) for value in (None, 4.9, 8.0, 8.1)]
    assert words == ["not measured", "reached, and the dream", "reached", "MISSED"]
    faster = goals.BY_KEY["kmeans"]
    assert [goals.verdict(faster, value) for value in (9.9, 10.0)] == ["MISSED", "reached"]


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(None, ""), (3e-7, "0.3 µs"), (0.0015, "1.5 ms"), (0.0999, "99.9 ms"), (1234, "1,234 s")],
)
def test_durations(seconds, words):
    assert duration(seconds) == words


def test_results_name_neither_machine_nor_folder(tmp_path):
    assert command.main(["--quick", "small", "-o", str(tmp_path)]) == 0
    for name in ("results.json", "results.md"):
        written = (tmp_path / name).read_text("utf-8")
        assert "--quick small" in written
        for private in (str(tmp_path), str(ROOT), platform.node()):
            assert private not in written


def test_an_unknown_benchmark_is_refused(capsys):
    with pytest.raises(SystemExit):
        command.main(["speed"])
    assert "no benchmark speed" in capsys.readouterr().err


# The tolerance


@pytest.fixture
def tables(tmp_path):
    X, truth = data.draw(data.Data(300, 2, "float64"))
    header, table = "x,y,label", np.column_stack([X, truth])
    for name in ("a.csv", "b.csv.gz"):
        np.savetxt(tmp_path / name, table, delimiter=",", header=header, comments="")
    return tmp_path


def test_the_default_tolerance_changes_no_label(tables, capsys):
    assert tolerance.main([str(tables)]) == 0
    assert "0 of 120 searches differ" in capsys.readouterr().out


def test_a_tolerance_that_changes_labels_is_found(tables, monkeypatch, capsys):
    monkeypatch.setattr(tolerance, "DEFAULT_TOL", 1e6)
    assert tolerance.main([str(tables)]) == 1
    assert "0 of 120 searches differ" not in capsys.readouterr().out


# The origin


def test_the_origin_is_measured(monkeypatch, capsys):
    monkeypatch.setattr(origin, "PIXELS", 2_000)
    assert origin.main(["--points", "300", "--origins", "2"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line[:14].strip() for line in lines[1:]] == [
        *(f"mixtures, d={d}" for d in (2, 3, 4, 5)),
        "photographs",
    ]
    found = [origin.measure(case, 2)[0] for case in origin.mixtures(2, 300)]
    printed = re.findall(r"(\S+), time", lines[1])
    assert printed == [f"{agreement:.3f}" for agreement in np.mean(found, axis=0)]


def test_a_higher_resolution_depends_less_on_the_origin():
    agreement = [origin.measure(case, 4)[0] for case in origin.mixtures(2, 3000)]
    by_resolution = np.mean(agreement, axis=0)
    assert by_resolution[0] < 0.9  # r = 1
    assert by_resolution[-1] > by_resolution[0] + 0.07  # r = 4


def test_the_origin_matters_where_it_does():
    """Two heaps apart are two clusters from any origin; even data has only the cells."""
    rng = np.random.default_rng(0)
    heaps = np.repeat([[0.0], [50.0]], 200, axis=0) + rng.uniform(-0.1, 0.1, (400, 1))
    agreement, ratio = origin.measure(origin.Case("heaps", heaps, 1.0), 4)
    assert agreement == [1.0] * 4
    assert ratio[0] == 1.0
    even = np.arange(0, 100, 0.05)[:, None]
    assert origin.measure(origin.Case("even", even, 1.0), 4)[0][0] < 1


# What there is


def modules(package: ModuleType) -> set[str]:
    """The modules of a package, by name."""
    return {found.name for found in iter_modules(package.__path__) if found.name[0] != "_"}


@pytest.mark.parametrize("package", [benchmarks, bsds, common, paper, speed, tracking])
def test_a_package_names_its_modules(package):
    named = re.findall(r"(?<=  )\w+(?=  )", package.__doc__)
    assert modules(package) - set(named) == set()


def test_the_commands_of_the_pages_are_there():
    pages = [*(ROOT / "docs").glob("*.md"), *ROOT.glob("*.md")]
    text = "".join(page.read_text("utf-8") for page in pages)
    named = set(re.findall(r"\bbenchmarks\.(\w+)", text))
    assert {"bsds", "tracking", "paper", "gpu"} <= named
    assert named - modules(benchmarks) == set()
