"""The benchmark of clusterings: reading, halves, scores, methods, times and the report."""

import gzip
import json
from importlib.metadata import version

import numpy as np
import pytest
from benchmarks.clustering import evaluation, methods, report, timing
from benchmarks.clustering.__main__ import main
from benchmarks.clustering.generated import GENERATED, bump, draw, groups, rare
from benchmarks.clustering.methods import METHODS, Method, Request, knee_radius
from benchmarks.clustering.scoring import Score, assign_rejected, found_clusters, mean, score
from benchmarks.clustering.suite import BACKGROUND, DataSet, find, load
from benchmarks.clustering.toys import TOYS
from benchmarks.clustering.toys import main as toys_main
from benchmarks.common.reporting import progress_bar
from benchmarks.common.synthetic import Data
from benchmarks.common.time_limit import LimitedProcess, TimeLimitError

NAMES = ("b", "a", "c10", "c1")
REJECTING = f"rejecting (scikit-learn {version('scikit-learn')})"
LEFT, RIGHT = np.repeat([1, 2], 40), np.repeat([1, 2, 3, 3], 20)


def write(path, values):
    with gzip.open(path, "wt", encoding="ascii") as file:
        np.savetxt(file, values, fmt="%g")


def points():
    """Two blobs of 40 points each."""
    rng = np.random.default_rng(0)
    return rng.normal(scale=0.5, size=(80, 2)) + 10 * (LEFT[:, None] - 1)


@pytest.fixture
def folder(tmp_path):
    """Two batteries in the layout of the suite; each set has two reference labellings."""
    home = tmp_path / "data"
    for battery, names in (("one", NAMES), ("two", ("z",))):
        (home / battery).mkdir(parents=True)
        for name in names:
            write(home / battery / f"{name}.data.gz", points())
            write(home / battery / f"{name}.labels0.gz", np.where(np.arange(80) < 3, 0, LEFT))
            write(home / battery / f"{name}.labels1.gz", RIGHT)
    return home


# -- the suite -------------------------------------------------------------------------------------


def test_sets_have_points_and_all_reference_labellings(folder):
    sets, too_large = load(folder)
    assert [each.name for each in sets] == ["one/a", "one/b", "one/c1", "one/c10", "two/z"]
    assert too_large == []
    np.testing.assert_allclose(sets[0].X, points(), rtol=1e-4)
    assert [len(each) for each in sets[0].references] == [80, 80]
    assert sets[0].counts == [2, 3]  # without noise


def test_halves_alternate_in_the_sorted_names_of_each_battery(folder):
    halves = {entry.name: entry.half for entry in find(folder)}
    expected = ["choose", "report", "choose", "report", "choose"]
    assert list(halves.values()) == expected
    assert [each.name for each in load(folder, "report")[0]] == ["one/b", "one/c10"]


def test_a_limit_of_points_moves_no_set_to_the_other_half(folder):
    write(folder / "one" / "a.data.gz", np.zeros((90, 2)))
    for which in (0, 1):
        write(folder / "one" / f"a.labels{which}.gz", np.ones(90))
    sets, too_large = load(folder, max_points=80)
    assert too_large == ["one/a"]
    assert {each.name: each.half for each in sets}["one/b"] == "report"


def test_a_folder_may_be_a_battery_itself(folder):
    assert [entry.name for entry in find(folder / "two")] == ["two/z"]


def test_missing_files_are_errors(folder, tmp_path, capsys):
    with pytest.raises(SystemExit):
        main([str(tmp_path / "data" / "none")])
    assert "found none" in capsys.readouterr().err
    for path in folder.glob("two/z.labels*"):
        path.unlink()
    with pytest.raises(FileNotFoundError, match=r"expected z\.labels0\.gz"):
        load(folder)
    write(folder / "two" / "z.labels0.gz", LEFT[:-1])
    with pytest.raises(ValueError, match=r"expected 80 labels in .*; got 79"):
        load(folder)


def test_large_sets_have_their_own_line():
    sets = [DataSet("a", "report", np.zeros((n, 1)), (np.ones(n),)) for n in (20_000, 20_001)]
    assert [each.group for each in sets] == ["report", "a"]


# -- generated data --------------------------------------------------------------------------------


def test_a_bump_is_rare_and_far_away():
    X, truth = bump(0, n=10_000, rare=100)
    assert np.bincount(truth).tolist() == [0, 9_900, 100]
    np.testing.assert_allclose(X[truth == 2].mean(axis=0), [12, 12], atol=0.1)
    np.testing.assert_allclose(X[truth == 2].std(axis=0), 0.3, atol=0.07)


def test_rare_clusters_are_tight_in_a_background():
    X, truth = rare(0, n=20_000, size=50)
    assert (truth == BACKGROUND).sum() == 19_000
    assert np.unique(truth).tolist() == [BACKGROUND, *range(1, 21)]
    assert max(X[truth == i].std(axis=0).max() for i in range(1, 21)) < 0.5
    assert found_clusters(truth, truth) == (20, 20)


def test_groups_have_their_sizes_and_spreads():
    X, truth = groups(0, k=40)
    assert X.shape[1] == 5
    sizes = np.bincount(truth)[1:]
    assert len(sizes) == 40
    assert 50 <= sizes.min() < 150 < 400 < sizes.max() <= 500
    spreads = [X[truth == i].std() for i in range(1, 41)]
    assert min(X[truth == i].std(axis=0).min() for i in range(1, 41)) > 0.4
    assert len(spreads) == 40
    assert X.min() > -10
    assert X.max() < 110


def test_seeds_draw_new_data_with_its_truth(monkeypatch):
    monkeypatch.setitem(GENERATED, "bump", lambda seed: bump(seed, n=1_000, rare=50))
    first, again, other = (draw("bump", seed) for seed in (0, 0, 3))
    assert first.checksum == again.checksum != other.checksum
    assert (first.name, other.name) == ("generated/bump", "generated/bump/3")
    assert first.group == first.name
    assert first.counts == [2]


# -- scores ----------------------------------------------------------------------------------------


def test_reference_noise_is_left_out():
    labels = LEFT.copy()
    labels[:3] = 2  # wrong, but noise in the reference
    assert score(labels, [LEFT]).ari < 1
    assert score(labels, [np.where(np.arange(80) < 3, 0, LEFT)])[:4] == (1, 1, 2, True)


def test_the_best_reference_counts():
    both = score(RIGHT, [LEFT, RIGHT])
    assert both == (1, 1, 3, True, 3, 3, 0)
    alone = score(RIGHT, [LEFT])
    assert 0 < alone.ari < 1
    assert not alone.right_count


def test_rejected_points_are_a_class_but_not_a_cluster():
    labels = np.where(np.arange(80) % 40 < 4, -1, LEFT)
    found = score(labels, [LEFT])
    assert found.clusters == 2
    assert found.ari < 1
    assert np.array_equal(assign_rejected(points(), labels), LEFT)


def test_labels_without_any_cluster_stay_rejected():
    labels = np.full(80, -1)
    assert assign_rejected(points(), labels) is labels
    assert score(labels, [LEFT]).clusters == 0


def test_a_cluster_is_found_by_more_than_half_of_the_union():
    truth = np.repeat([1, 2], 10)
    assert found_clusters(np.repeat([0, 1], [10, 10]), truth) == (2, 2)
    assert found_clusters(np.repeat([0, 1, -1], [6, 4, 10]), truth) == (1, 2)  # 6 of 10
    assert found_clusters(np.repeat([0, 1], [5, 15]), truth) == (1, 2)  # 5 of 10, 10 of 15
    assert found_clusters(np.zeros(20, int), truth) == (0, 2)  # 10 of 20


def test_background_and_noise_are_in_the_union_but_not_sought():
    truth = np.repeat([BACKGROUND, 0, 1], [10, 10, 10])
    assert found_clusters(truth + 1, truth) == (1, 1)
    assert found_clusters(np.repeat([0, 1], [19, 11]), truth) == (1, 1)
    assert found_clusters(np.repeat([0, 1], [10, 20]), truth) == (0, 1)


def test_means_count_solved_sets_and_sum_clusters():
    found = mean([Score(1.0, 0.8, 2, True, 2, 2, 0.5), Score(0.5, 0.6, 3, False, 1, 4, 1.0)])
    assert found == (2, 0.75, pytest.approx(0.7), 0.5, 0.5, 5, 3, 6, 1.5)


# -- methods ---------------------------------------------------------------------------------------

RUNNABLE = [key for key, method in METHODS.items() if not method.reason_absent]


@pytest.mark.parametrize("key", [key for key in RUNNABLE if METHODS[key].package != "fast-hdbscan"])
@pytest.mark.filterwarnings("ignore")  # of peers
def test_methods_find_two_blobs(key):
    labels = methods.labels_of(key, points(), Request(2))
    assert len(labels) == 80
    assert score(assign_rejected(points(), labels), [LEFT]).ari > 0.3


def test_a_method_that_is_not_installed_names_its_command(monkeypatch):
    monkeypatch.setattr(methods, "find_spec", lambda name: None)
    assert METHODS["genie"].reason_absent == "not installed (pip install genieclust)"
    assert METHODS["plscan"].reason_absent == "not installed (pip install fast-hdbscan)"
    assert METHODS["fast-plscan"].reason_absent == "not installed (pip install fast-plscan)"
    assert METHODS["lumbermark"].reason_absent == "not installed (pip install lumbermark)"


def test_titles_of_peers_have_a_version():
    assert METHODS["ours"].title == "MeanShiftPP()"
    assert METHODS["kmeans"].title == f"KMeans (scikit-learn {version('scikit-learn')})"
    assert len({method.title for method in METHODS.values()}) == len(METHODS)


def test_a_method_is_not_run_beyond_its_rows():
    ward = METHODS["ward"]
    assert ward.reason_skipped(20_000) is None
    assert ward.reason_skipped(20_001) == "not run: more than 20,000 rows"
    assert METHODS["ours"].reason_skipped(10**9) is None


def test_the_knee_is_between_dense_and_sparse_points():
    dense, sparse = np.linspace(0, 1, 91), np.arange(10, 20)
    X = np.concatenate([dense, sparse])[:, None]
    assert 0.01 < knee_radius(X, 2) < 1
    assert knee_radius(np.zeros((9, 2)), 4) == 1


# -- evaluation ------------------------------------------------------------------------------------


def by_count(X, request):
    return RIGHT if request.clusters == 3 else np.zeros(len(X), int)


@pytest.fixture(autouse=True)
def _this_process(monkeypatch):
    """Leave the memory of this process as it is, and count no call of a warm-up."""
    monkeypatch.setattr(methods, "limit_memory", lambda: None)
    monkeypatch.setattr(methods, "warm_up", lambda key: None)


class DirectProcess(LimitedProcess):
    """Calls functions in this process."""

    def call(self, function, *arguments, limit):
        return function(*arguments)


@pytest.fixture
def outcome(folder, tmp_path, monkeypatch):
    told = Method("cut", "told", by_count, "meanshiftpp", knows_count=True)
    rejecting = Method(
        "rejecting",
        "rejecting",
        lambda X, request: np.where(np.arange(len(X)) % 40 < 4, -1, LEFT),
        "scikit-learn",
        rejects=True,
    )
    absent = Method("absent", "absent", by_count, "module_that_is_absent")
    contenders = [told, rejecting, absent]
    monkeypatch.setattr(methods, "METHODS", {each.key: each for each in contenders})
    monkeypatch.setattr(evaluation, "LimitedProcess", DirectProcess)
    sets, _ = load(folder)
    with progress_bar() as bar:
        return evaluation.run(sets, contenders, tmp_path / "out", 9, bar)


def test_the_best_number_of_clusters_counts(outcome):
    assert outcome.scores["told"]["one/a"][:6] == (1, 1, 3, True, 3, 3)


def test_rejected_points_are_scored_in_two_ways(outcome):
    titles = outcome.titles(knows_count=False)
    assert titles == [REJECTING, f"{REJECTING}, noise to the nearest"]
    first, second = (outcome.scores[title]["one/b"].ari for title in titles)
    assert first < second == 1


def test_stored_scores_are_not_computed_again(folder, tmp_path, monkeypatch):
    calls = []
    method = Method("one", "one", lambda X, request: calls.append(1) or LEFT, "meanshiftpp")
    monkeypatch.setattr(methods, "METHODS", {"one": method})
    monkeypatch.setattr(evaluation, "LimitedProcess", DirectProcess)
    sets, _ = load(folder, "report")
    for _ in range(2):
        with progress_bar() as bar:
            found = evaluation.run(sets, [method], tmp_path, 9, bar)
    assert len(calls) == len(sets)
    assert found.scores["one"]["one/b"].ari == 1


def test_a_failure_scores_zero_with_its_reason(folder, tmp_path):
    sets, _ = load(folder, "report")
    method = Method("unknown", "unknown", by_count, "meanshiftpp")
    with progress_bar() as bar:
        found = evaluation.run(sets[:1], [method], tmp_path, 60, bar)
    assert found.scores["unknown"]["one/b"] == evaluation.FAILED
    assert "KeyError" in found.failures["unknown"]["one/b"]
    lines = report.notes(report.Report(found))
    assert any(line.startswith("unknown failed and scores 0 on one/b") for line in lines)


class SlowProcess(DirectProcess):
    """Counts its calls, which never finish."""

    calls = 0

    def call(self, function, *arguments, limit):
        SlowProcess.calls += 1
        raise TimeLimitError(f"not finished after {limit:g} s")


def test_a_time_limit_is_stored_for_the_same_limit(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(evaluation, "LimitedProcess", SlowProcess)
    method = Method("slow", "slow", by_count, "meanshiftpp")
    sets, _ = load(folder, "report")
    for limit, calls in ((5, 1), (5, 1), (9, 2)):
        with progress_bar() as bar:
            found = evaluation.run(sets[:1], [method], tmp_path, limit, bar)
        assert SlowProcess.calls == calls
        assert found.failures["slow"]["one/b"] == f"not finished after {limit} s"


def test_a_method_beyond_its_rows_is_reported(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(evaluation, "LimitedProcess", SlowProcess)
    method = Method("small", "small", by_count, "meanshiftpp", max_rows=79)
    with progress_bar() as bar:
        found = evaluation.run(load(folder)[0][:1], [method], tmp_path, 9, bar)
    assert found.failures["small"] == {"one/a": "not run: more than 79 rows"}
    _, rows = report.sets_table(report.Report(found), "without k")
    assert rows[0][-1] == "not run: more than 79 rows"


# -- times -----------------------------------------------------------------------------------------


def test_methods_take_turns_until_they_are_slow(monkeypatch):
    slow = Method("slow", "slow", by_count, "meanshiftpp")
    monkeypatch.setattr(timing, "run_once", lambda key, data: (5.0 if key == "slow" else 0.1, 1.0))
    monkeypatch.setattr(timing, "prepare", lambda key, data: None)
    monkeypatch.setattr(timing, "LimitedProcess", DirectProcess)
    with progress_bar() as bar:
        timings = timing.measure([slow], [100, 1_000], 10.0, bar)
    assert [(each.title, each.n) for each in timings[:3]] == [
        ("MeanShiftPP(1)", 100),
        ("slow", 100),
        ("MeanShiftPP(1)", 1_000),
    ]
    assert timings[1].median == 5
    assert timings[3].note == "not run: 5 s at 100"
    header, rows = report.times_table(timings)
    assert header == ["times", "100 x 2", "1,000 x 2", "100 x 3", "1,000 x 3"]
    assert rows[1][1:3] == ["5 s, 50x, ARI 1.000", "not run: 5 s at 100"]


def test_a_method_that_never_ran_is_a_note():
    timings = [
        timing.Timing("fast", 100, 2, [0.1], 1.0),
        timing.Timing("absent", 100, 2, note="not installed (pip install absent)"),
    ]
    assert [row[0] for row in report.times_table(timings)[1]] == ["fast"]
    notes = report.notes(report.Report(None, timings=timings))
    assert notes[0] == "absent: not installed (pip install absent)."


def test_the_timed_result_is_compared_with_the_truth():
    seconds, ari = timing.run_once("kmeans", Data(2_000, 2))
    assert seconds > 0
    assert ari > 0.9


# -- the report ------------------------------------------------------------------------------------


def test_halves_are_mixed_only_on_demand(outcome):
    outcome.scores["told"]["one/a"] = evaluation.FAILED
    apart, mixed = report.Report(outcome), report.Report(outcome, half="all")
    assert [len(names) for names in apart.groups.values()] == [3, 2]
    assert list(mixed.groups) == ["all"]
    found = [apart.means(half, knows_count=True)["told"].ari for half in ("choose", "report")]
    assert found == [pytest.approx(2 / 3), 1]
    assert mixed.means("all", knows_count=True)["told"].ari == pytest.approx(0.8)


def test_the_report_names_every_method_and_every_set(outcome, tmp_path):
    result = report.Report(outcome, too_large=["one/large"])
    report.write(result, tmp_path)
    page = (tmp_path / "clustering.md").read_text("utf-8")
    assert "| choose, without k | sets | ARI | AMI | ARI >= 0.95 | right k | found |" in page
    line = "noise to the nearest | 2 | 1.000 | 1.000 | 100% | 100% | 100% |"
    assert f"| {REJECTING}, {line}" in page
    assert "| one/c10 | report | 80 x 2 | 2, 3 | 1.000, 1.000, 3 of 3, " in page
    assert "(pip install module_that_is_absent)." in page
    assert "one/large" in page
    facts = json.loads((tmp_path / "clustering.json").read_text("utf-8"))
    assert facts["halves"]["one/b"] == "report"
    assert facts["sets"]["told"]["one/a"]["clusters"] == 3


def test_every_line_names_the_strongest_rival(outcome):
    ours = Method("ours", "ours", by_count, "meanshiftpp")
    outcome.methods.append(ours)
    outcome.scores["ours"] = dict.fromkeys(outcome.scores["told"], Score(0.5, 0.4, 2, True, 1, 2))
    header, rows = report.rivals_table(report.Report(outcome), "without k")
    assert header[:5] == ["without k", "ours", "clusters", "ARI", "strongest: ARI"]
    best = f"{REJECTING}, noise to the nearest"
    assert [row[0] for row in rows] == ["choose", "report"]
    assert rows[0][1:] == [
        *("ours", "6", "0.500", f"1.000 {best}", "0.400", f"1.000 {best}"),
        *("50%", f"100% {best}"),
    ]
    _, rows = report.rivals_table(report.Report(outcome), "with k")
    assert rows[0][4] == "none finished"


def test_the_command_draws_data(tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(GENERATED, "groups", lambda seed: groups(seed, k=3))
    arguments = ["--generated", "groups", "--seeds", "0", "1", "--methods", "ours", "kmeans"]
    assert main([*arguments, "--out", str(tmp_path)]) == 0
    facts = json.loads((tmp_path / "clustering.json").read_text("utf-8"))
    assert facts["sets"]["MeanShiftPP()"]["generated/groups/1"]["found"] == 3
    assert "none finished" in (tmp_path / "clustering.md").read_text("utf-8")


def test_the_command_scores_a_folder(folder, tmp_path, capsys):
    arguments = ["--half", "report", "--methods", "ours", "kmeans", "--out", str(tmp_path / "out")]
    assert main([str(folder), *arguments]) == 0
    printed = capsys.readouterr().out
    assert "report, without k" in printed
    assert "KMeans" in printed
    assert "choose, " not in printed
    assert (tmp_path / "out" / "clustering.json").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "expected DATA, --generated, --times or several of them"),
        (["--times", "--limit", "-1"], "must be positive"),
        (["DATA", "--methods", "nothing"], "invalid choice: 'nothing'"),
    ],
)
def test_wrong_options_are_errors(arguments, message, capsys):
    with pytest.raises(SystemExit):
        main(arguments)
    assert message in capsys.readouterr().err


# -- toys ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", TOYS)
def test_the_true_model_labels_toys_well(kind):
    sample = TOYS[kind](300, 3)
    assert sample.X.shape == (300, 2)
    assert score(sample.model + 1, [sample.truth + 1]).ari > 0.6


def test_toys_are_averaged_over_seeds(tmp_path, capsys):
    arguments = ["--seeds", "0", "--points", "200", "--methods", "ours", "--out", str(tmp_path)]
    assert toys_main(arguments) == 0
    printed = capsys.readouterr().out
    assert "MeanShiftPP()" in printed
    assert "true model" in printed
