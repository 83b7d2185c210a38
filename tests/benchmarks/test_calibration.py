"""The calibration: simulated data, intervals, derived critical values, the command."""

import json
import runpy
import shutil
from pathlib import Path

import numpy as np
import pytest
from benchmarks.calibration import cases, derivation, simulation
from benchmarks.calibration.__main__ import FULL, main
from benchmarks.calibration.cases import BLOBS, LATTICES, RINGS, SOLIDS, SURFACES, Case, Mixture
from benchmarks.calibration.rates import Rate
from benchmarks.common.reporting import progress_bar
from benchmarks.common.result_cache import ResultCache

from meanshiftpp.core.tree import critical

CURRENT = {1: (1.4, 1.4, 1.0, 2.0), 2: (1.5, 0.9, 1.0, 2.0), 3: (1.5, 0.9, 0.5, 2.0)}


# -- simulated data --------------------------------------------------------------------------------


def test_cases_have_their_shape():
    for case in [*FULL.reported, *FULL.mixtures]:
        if case.n > 1_000:
            continue
        X = case.draw(simulation.REPORT, 0)
        assert X.shape == (case.n, case.d)
        assert np.isfinite(X).all()


def test_seeds_and_stages_draw_different_points():
    case = Case(BLOBS, "gaussian", 2, 50)
    first = case.draw(simulation.DERIVE, 0)
    np.testing.assert_array_equal(first, case.draw(simulation.DERIVE, 0))
    assert not np.isin(case.draw(simulation.DERIVE, 1), first).any()
    assert not np.isin(case.draw(simulation.REPORT, 0), first).any()


@pytest.mark.parametrize(
    ("law", "median", "quartiles"),
    [
        ("gaussian", 0.0, (-0.674, 0.674)),
        ("uniform", 0.5, (0.25, 0.75)),
        ("exponential", 0.693, (0.288, 1.386)),
        ("t3", 0.0, (-0.765, 0.765)),
    ],
)
def test_blobs_follow_their_law(law, median, quartiles):
    X = Case(BLOBS, law, 2, 20_000).draw(simulation.REPORT, 0)
    found = np.quantile(X, [0.25, 0.5, 0.75])
    np.testing.assert_allclose(found, [quartiles[0], median, quartiles[1]], atol=0.02)


@pytest.mark.parametrize("d", [2, 3])
def test_rings_are_circles_with_noise(d):
    X = Case(RINGS, "ring", d, 5_000, 0.05).draw(simulation.REPORT, 0)
    radius = np.linalg.norm(X[:, :2], axis=1)
    assert abs(radius.mean() - 1) < 0.01
    assert abs(radius.std() - 0.05) < 0.005
    assert np.abs(X[:, 2:]).max(initial=0) < 0.25


def test_solids_are_even():
    for kind, d in (("disc", 2), ("ball", 3)):
        X = Case(SOLIDS, kind, d, 5_000).draw(simulation.REPORT, 0)
        radius = np.linalg.norm(X, axis=1)
        assert radius.max() <= 1
        assert abs((radius < 0.5).mean() - 0.5**d) < 0.02


def test_surfaces_are_thin():
    sphere = Case(SURFACES, "sphere", 3, 2_000, 0.01).draw(simulation.REPORT, 0)
    assert np.abs(np.linalg.norm(sphere, axis=1) - 1).max() < 0.06
    sheet = Case(SURFACES, "sheet", 3, 2_000, 0.01).draw(simulation.REPORT, 0)
    spreads = np.linalg.svd(sheet - sheet.mean(axis=0), compute_uv=False) / np.sqrt(2_000)
    np.testing.assert_allclose(spreads, [0.29, 0.29, 0.01], atol=0.02)


def test_lattices_are_rounded():
    X = Case(LATTICES, "lattice", 2, 5_000, 5).draw(simulation.REPORT, 0)
    np.testing.assert_array_equal(X, np.rint(X))
    assert abs(X.std() - 5) < 0.2


@pytest.mark.parametrize("d", [1, 2, 5])
def test_centres_of_mixtures_touch_a_neighbour(d):
    places = cases.packed_centres(np.random.default_rng(0), 20, d)
    gaps = np.linalg.norm(places[:, None] - places, axis=2) + 1e9 * np.eye(20)
    np.testing.assert_allclose(gaps.min(axis=1), cases.SEPARATION)


def test_dear_cases_have_fewer_seeds():
    counts = [simulation.seeds_of(Case(BLOBS, "gaussian", 5, n), 200) for n in cases.SIZES]
    assert counts == sorted(counts, reverse=True)
    assert counts[0] > 100
    assert counts[-1] >= simulation.LEAST_SEEDS


def test_cases_take_turns_in_proportion_to_their_seeds():
    cheap, dear = Case(BLOBS, "gaussian", 1, 100), Case(BLOBS, "gaussian", 5, 1_000_000)
    tasks = simulation.tasks_of([cheap, dear], 200)
    half = tasks[: len(tasks) // 2]
    for case in (cheap, dear):
        seeds = [task.seed for task in tasks if task.case == case]
        assert seeds == list(range(simulation.seeds_of(case, 200)))
        assert abs(sum(task.case == case for task in half) - len(seeds) / 2) <= 1


# -- measurements ----------------------------------------------------------------------------------


def test_a_null_is_whole_with_95_percent():
    tree = simulation.grow_all(np.random.default_rng(0).normal(size=(200, 2)))
    assert simulation.found_in(tree) == (1, 1)
    weights = tree.sizes
    most = int(0.95 * weights.sum())
    for outside, whole in ((len(weights) - most, True), (len(weights) - most + 1, False)):
        labels = np.zeros(len(weights), np.int64)
        labels[:outside] = 1
        object.__setattr__(tree, "labels", labels)
        assert simulation.found_in(tree).is_whole == whole


def test_the_needed_strictness_keeps_a_null_whole():
    case = Case(RINGS, "ring", 2, 100, 0.15)
    needed = [simulation.needed_strictness(case, seed) for seed in range(8)]
    assert max(needed) > simulation.LOOSEST
    for seed, strictness in enumerate(needed):
        X = case.draw(simulation.DERIVE, seed)
        assert simulation.found_in(simulation.grow_all(X, strictness)).is_whole


def test_another_table_holds_only_within_its_context():
    X = Mixture(2, 2, 400).draw(simulation.REPORT, 0)
    before = dict(critical.CRITICAL)
    with simulation.critical_table({1: (99.0, 99.0, 1.0, 99.0)}):
        assert simulation.grow_all(X).n_clusters == 1
    assert before == critical.CRITICAL
    assert simulation.grow_all(X).n_clusters == 2


# -- rates -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("events", "seeds", "low", "high"),
    [(0, 10, 0.0, 0.2775), (1, 10, 0.0179, 0.4042), (50, 100, 0.4038, 0.5962), (8, 8, 0.6756, 1.0)],
)
def test_wilson_intervals(events, seeds, low, high):
    rate = Rate(events, seeds)
    np.testing.assert_allclose(rate.interval, [low, high], atol=1e-4)
    assert rate.interval[0] <= rate.share <= rate.interval[1]


def test_rates_are_printed_in_percent():
    assert str(Rate(1, 10)) == "10.0 (1.8-40.4)"
    assert Rate(119, 120).short == "99.2 (120)"


# -- the derivation --------------------------------------------------------------------------------


def test_samples_of_any_size_count_alike():
    assert derivation.quantile([[1.0] * 98 + [2.0] * 2], 0.98) == 1
    assert derivation.quantile([[1.0] * 97 + [2.0] * 3], 0.98) == 2
    assert derivation.quantile([[1.0], [3.0] * 50], 0.5) == 1
    assert derivation.quantile([[1.0], [3.0] * 50], 0.51) == 3


def test_critical_values_follow_the_worst_law():
    needed = {
        Case(BLOBS, "gaussian", 1, 100): [0.8] * 99 + [5.0],
        Case(BLOBS, "uniform", 1, 100): [0.9] * 97 + [1.1] * 3,
        Case(BLOBS, "gaussian", 2, 100): [0.9] * 100,
        Case(RINGS, "ring", 2, 100, 0.05): [0.8] * 89 + [1.2] * 11,
        Case(RINGS, "ring", 2, 100, 0.15): [1.0] * 100,
        Case(BLOBS, "gaussian", 3, 100): [1.0] * 100,
        Case(RINGS, "ring", 3, 100, 0.05): [0.8] * 85 + [1.2] * 15,
        Case(BLOBS, "gaussian", 4, 100): [0.8] * 100,
    }
    table = derivation.derive(needed, CURRENT)
    assert table[1] == (1.54, 1.54, 1.0, 2.2)
    assert table[2] == (1.8, 0.81, 1.65, 1.8)  # slope 1.0 * 0.99 / 0.6
    assert table[3] == (1.2, 0.9, 0.25, 2.0)  # slope 0.5 * 0.3 / 0.6
    assert table[4] == (1.2, 0.72, 0.4, 1.6)  # from the last row, the line of three features


def test_tables_without_simulated_data_stay():
    table = derivation.derive({Case(BLOBS, "gaussian", 1, 100): [1.0]}, CURRENT)
    assert table == CURRENT


def test_the_written_table_is_the_one_that_is_used(tmp_path):
    path = Path(shutil.copy(critical.__file__, tmp_path))
    derivation.write(CURRENT, path)
    written = runpy.run_path(str(path))
    assert written["CRITICAL"] == CURRENT
    np.testing.assert_array_equal(written["critical_values"](7), CURRENT[3])
    path.write_text("nothing", encoding="utf-8")
    with pytest.raises(ValueError, match="expected one table"):
        derivation.write(CURRENT, path)


# -- the command -----------------------------------------------------------------------------------


def test_a_quick_run_reports_and_writes(tmp_path, monkeypatch, capsys):
    path = Path(shutil.copy(critical.__file__, tmp_path))
    monkeypatch.setattr(critical, "__file__", str(path))
    options = ["--processes", "1", "--out", str(tmp_path)]
    assert main(["--quick", "--seeds", "2", "--write", *options]) == 0
    printed = capsys.readouterr().out
    assert "false splits in %, now" in printed
    assert "come from one set of seeds, all rates from another" in printed
    facts = json.loads((tmp_path / "calibration.json").read_text("utf-8"))
    assert facts["false splits"]["gaussian, d = 1, n = 100"]["now"]["seeds"] == 2
    written = runpy.run_path(str(path))["CRITICAL"]
    assert {str(d): list(row) for d, row in written.items()} == facts["critical"]["derived"]
    assert "| worst cells" in (tmp_path / "calibration.md").read_text("utf-8")


@pytest.fixture
def run(tmp_path):
    """Run cases on one process; results stay in a file."""

    def run(seeds, *measured, **options):
        with progress_bar() as bar:
            cache = ResultCache(tmp_path / "results.jsonl")
            return simulation.Simulation(seeds, 1, cache, bar).run(*measured, **options)

    return run


def test_a_stopped_run_continues(run, monkeypatch):
    case = Case(BLOBS, "gaussian", 1, 100)
    first = run(2, simulation.clusters_found, [case], dict(critical.CRITICAL))
    monkeypatch.setattr(simulation, "_measured", lambda measure, task, _: (task, [task.seed]))
    more = run(3, simulation.clusters_found, [case], dict(critical.CRITICAL))
    assert more == {case: [*first[case], [2]]}


def test_no_tree_is_started_after_the_deadline(run):
    case = Case(BLOBS, "gaussian", 1, 100)
    table = dict(critical.CRITICAL)
    assert run(2, simulation.clusters_found, [case], table, deadline=0.0) == {}


def test_rates_alone_print_the_table_of_the_documentation(tmp_path, capsys):
    options = ["--processes", "1", "--out", str(tmp_path)]
    assert main(["--quick", "--rates", "--seeds", "1", *options]) == 0
    printed = capsys.readouterr().out
    assert "| right k in % (seeds) | 100 | 300 | 1,000 |" in printed
    assert "| gaussian, d = 1 | 100 (1) | 100 (1) |  |" in printed
    assert "needed strictness" not in printed.split("- ")[0]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--seeds", "0"], "must be positive"),
        (["--minutes", "-1"], "must be positive"),
        (["--rates", "--write"], "--rates derives no values"),
    ],
)
def test_wrong_options_are_errors(arguments, message, capsys):
    with pytest.raises(SystemExit):
        main(arguments)
    assert message in capsys.readouterr().err
