"""The command `cluster`: its labels, significant clusters, errors."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.csv
import pyarrow.parquet
import pytest
from tests.apps.cli.command_line import run

from meanshiftpp import MeanShiftPP
from meanshiftpp._kernel import MAX_REACH

# -- cluster ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("source", ["points.csv", "points.npy"])
def test_labels_equal_those_of_the_estimator(tmp_path, points, source):
    out = tmp_path / "labels.npy"
    code, text, _ = run("cluster", tmp_path / source, "--bandwidth", "2", "-o", out)
    assert code == 0
    assert np.array_equal(np.load(out), MeanShiftPP(2).fit_predict(points))
    assert "550 in " in text
    assert all(f"({size})" in text for size in (300, 200, 50))
    assert out.name in "".join(text.split())  # the path may be folded


def test_a_table_keeps_its_columns_and_gets_a_label_column(tmp_path, points):
    out = tmp_path / "labelled.csv"
    code, _, _ = run("cluster", tmp_path / "points.csv", "-b", "2,3", "-o", out)
    assert code == 0
    table = pyarrow.csv.read_csv(out)
    assert table.column_names == ["name", "east", "north", "label"]
    assert np.array_equal(table["label"], MeanShiftPP([2, 3]).fit_predict(points))


def test_json_prints_a_single_object(tmp_path, points):
    out, picture = tmp_path / "labels.csv", tmp_path / "picture.png"
    code, text, _ = run(
        "cluster", tmp_path / "points.csv", "-b", 2, "-o", out, "--json", "--plot", picture
    )
    assert code == 0
    summary = json.loads(text)
    model = MeanShiftPP(2).fit(points)
    assert summary["points"] == 550
    assert summary["columns"] == ["east", "north"]
    assert summary["bandwidth"] == [2, 2]
    assert summary["cells"] == len(model.grid_)
    assert summary["iterations"] == model.n_iter_
    assert summary["converged"] is True
    assert summary["sizes"] == [300, 200, 50]
    assert summary["centers"] == model.cluster_centers_.tolist()
    assert summary["seconds"].keys() == {"start", "read", "cluster", "describe", "write"}
    assert (summary["output"], summary["label_column"]) == (str(out), "label")
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_columns_min_cluster_size_and_threads_are_options(tmp_path, points):
    file, options = tmp_path / "points.csv", ("--min-cluster-size", 100, "--threads", 1)
    code, text, _ = run("cluster", file, "-b", 2, "--columns", "north,east", *options, "--json")
    assert code == 0
    summary = json.loads(text)
    assert summary["columns"] == ["north", "east"]
    assert (summary["clusters"], summary["noise"]) == (2, 50)
    _, text, _ = run("cluster", file, "-b", 2, *options)
    assert "50 points" in text


def test_a_search_that_does_not_converge_prints_a_warning(tmp_path, points):
    code, text, stderr = run("cluster", tmp_path / "points.npy", "-b", 0.7, "--max-iter", 1)
    assert code == 0
    assert "not converged" in text
    assert stderr.startswith("warning: ")


def test_a_far_too_small_bandwidth_prints_advice(tmp_path, points):
    file = tmp_path / "points.npy"
    code, text, stderr = run("cluster", file, "-b", 1e-4, "--json")
    assert (code, json.loads(text)["clusters"]) == (0, 550)
    assert stderr.startswith(
        "more than half of the points are alone in their cluster; use a larger"
    )
    assert run("cluster", file, "-b", 2)[2] == ""
    assert (
        run("cluster", file, "-b", 1e-4, "--min-cluster-size", 2)[2] == ""
    )  # single points are noise


# -- significant clusters --------------------------------------------------------------------------


@pytest.fixture
def blob(tmp_path) -> Path:
    np.save(tmp_path / "blob.npy", np.random.default_rng(0).normal(size=(2000, 2)))
    return tmp_path / "blob.npy"


def test_clusters_are_significant_without_a_bandwidth(tmp_path, points, blob):
    out = tmp_path / "labels.npy"
    for file in (tmp_path / "points.npy", blob):
        code, text, _ = run("cluster", file, "-o", out, "--json")
        assert code == 0
        model = MeanShiftPP().fit(np.load(file))
        assert np.array_equal(np.load(out), model.labels_)
        summary = json.loads(text)
        assert summary["clusters"] == len(model.cluster_weights_)
        assert summary["sizes"] == model.cluster_weights_.tolist()
        assert summary["centers"] == model.cluster_centers_.tolist()
        assert summary["strictness"] == 1.0
        for name in ("bandwidth", "cells", "iterations", "converged"):
            assert summary[name] is None
    assert summary["clusters"] == 1
    assert "3 significant" in run("cluster", tmp_path / "points.npy")[1]


def test_no_cluster_all_labels_sparse_points_as_noise(tmp_path):
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal([[0], [9]], 1, (2, 400)).ravel(), rng.uniform(-20, 30, 40)])
    file, out = tmp_path / "noisy.npy", tmp_path / "labels.npy"
    np.save(file, X[:, None])
    code, text, _ = run("cluster", file, "--no-cluster-all", "-o", out, "--json")
    assert code == 0
    model = MeanShiftPP(cluster_all=False).fit(X[:, None])
    assert np.array_equal(np.load(out), model.labels_)
    assert json.loads(text)["noise"] == np.count_nonzero(model.labels_ == -1)
    assert (model.labels_ == -1).any()


def test_no_cluster_all_labels_points_far_from_a_grid_as_noise(tmp_path):
    near, far, out = (tmp_path / name for name in ("near.npy", "far.npy", "labels.npy"))
    np.save(near, np.zeros((5, 1)))
    np.save(far, np.array([[0.0], [99.0]]))
    assert run("grid", "build", near, "-b", 1, "-o", tmp_path / "near.grid")[0] == 0
    for options, labels in (((), [0, 0]), (("--no-cluster-all",), [0, -1])):
        assert run("cluster", far, "--grid", tmp_path / "near.grid", "-o", out, *options)[0] == 0
        assert np.load(out).tolist() == labels


def test_a_bandwidth_too_large_for_a_period_is_an_error_about_the_column(tmp_path):
    (tmp_path / "a.csv").write_text("x,lon\n1,2\n3,4\n")
    code, _, stderr = run("cluster", tmp_path / "a.csv", "-b", "1,400", "--periodic", "-,360")
    assert code == 1
    assert stderr.startswith("error: column 'lon' has a period of 360, ")
    assert "use a bandwidth of at most 120" in stderr


def test_explain_prints_the_valley_of_each_cluster(tmp_path, points):
    file = tmp_path / "points.npy"
    code, text, _ = run("cluster", file, "--explain")
    assert code == 0
    words = " ".join(text.split())
    assert words.count("times less dense than the lower peak, z = ") == 2
    valleys = json.loads(run("cluster", file, "--json")[1])["valleys"]
    assert len(valleys) == 2
    assert {0, 1, 2} == {v["cluster"] for v in valleys} | {v["neighbour"] for v in valleys}
    for valley in valleys:
        assert 0 < valley["ratio"] < 1
        assert valley["z"] > valley["critical"]
        assert valley["score"] >= 1
        assert f"{1 / valley['ratio']:.3g} times less dense" in valley["reason"]
        assert f"z = {valley['z']:.1f} (at least {valley['critical']:.1f}" in valley["reason"]
        between = f"between clusters {valley['neighbour']} and {valley['cluster']}: "
        assert between + valley["reason"] in words
    assert "less dense" not in run("cluster", file)[1]


def test_one_cluster_comes_with_candidates(tmp_path, blob):
    code, text, _ = run("cluster", blob)
    assert code == 0
    words = " ".join(text.split())
    assert "clusters 1 significant" in words
    assert "no significant valley; candidates: " in words
    assert "meanshiftpp sweep shows the clusters at many bandwidths" in words
    found = json.loads(run("cluster", blob, "--json")[1])["candidates"]
    assert 1 <= len(found) <= 2
    for candidate in found:
        assert 0 < candidate["strictness"] <= candidate["score"] < 1
        option = f"--strictness {candidate['strictness']:g}"
        assert f"{candidate['clusters']} clusters with {option} (score " in words
        accepted = MeanShiftPP(strictness=candidate["strictness"]).fit(np.load(blob))
        assert accepted._modes.tree.n_clusters == candidate["clusters"] > 1
    assert json.loads(run("cluster", blob, "--json", *option.split())[1])["clusters"] > 1


def test_several_clusters_have_no_candidates(tmp_path, points):
    code, text, _ = run("cluster", tmp_path / "points.npy", "--json")
    assert (code, json.loads(text)["candidates"]) == (0, None)


@pytest.mark.parametrize("k", [1, 2, 3, 5])
@pytest.mark.parametrize("option", ["--stream", "--no-stream"])
def test_n_clusters_cuts_the_tree(tmp_path, points, k, option):
    out = tmp_path / "labels.npy"
    arguments = ("cluster", tmp_path / "points.npy", "--n-clusters", k, "-o", out, option)
    code, text, stderr = run(*arguments, "--json")
    assert (code, stderr) == (0, "")
    summary = json.loads(text)
    assert summary["clusters"] == k == len(set(np.load(out).tolist()))
    assert np.array_equal(np.load(out), MeanShiftPP().fit(points).cut(n_clusters=k).labels_)
    assert (summary["strictness"], summary["candidates"]) == (None, None)
    assert len(summary["valleys"]) == k - 1
    assert f"{k} cut from the tree" in run(*arguments)[1]


@pytest.mark.parametrize("option", ["--stream", "--no-stream"])
def test_small_clusters_join_their_neighbour(tmp_path, points, option):
    out = tmp_path / "labels.npy"
    file, size = tmp_path / "points.npy", ("--min-cluster-size", 100)
    code, text, _ = run("cluster", file, *size, "-o", out, "--json", option)
    assert code == 0
    summary = json.loads(text)
    assert (sum(summary["sizes"]), summary["noise"], summary["clusters"]) == (550, 0, 2)
    assert np.array_equal(np.load(out), MeanShiftPP(min_cluster_size=100).fit(points).labels_)
    code, text, _ = run("cluster", file, "--min-cluster-size", 400, "--json", option)
    summary = json.loads(text)
    assert (summary["sizes"], summary["candidates"]) == ([550], None)  # there are valleys


SETS = {
    "blobs": lambda rng: rng.normal(size=(3000, 2)) + 8 * rng.integers(0, 5, (3000, 1)),
    "one blob": lambda rng: rng.normal(size=(2000, 3)),
    "rounded": lambda rng: np.round(
        rng.normal(size=(3000, 2)) + 8 * rng.integers(0, 3, (3000, 1)), 1
    ),
    "clipped": lambda rng: np.clip(rng.normal(size=(3000, 1)) * 2, 0, 3),
    "whole": lambda rng: rng.poisson(9, (3000, 2)) + 40 * rng.integers(0, 3, (3000, 1)),
    "float32": lambda rng: (rng.normal(size=(3000, 2)) + 9 * rng.integers(0, 2, (3000, 1))).astype(
        "f4"
    ),
    "outliers": lambda rng: np.r_[rng.normal(size=(2000, 2)), rng.normal(size=(30, 2)) * 1000],
    "units": lambda rng: (
        (rng.normal(size=(3000, 2)) + 9 * rng.integers(0, 3, (3000, 1))) * [1, 1e5]
    ),
    "constant": lambda rng: np.c_[rng.normal(size=500) + 9 * rng.integers(0, 2, 500), np.ones(500)],
    "ten rows": lambda rng: rng.normal(size=(10, 2)),
    "two rows": lambda rng: rng.normal(size=(2, 2)),
    "one row": lambda rng: rng.normal(size=(1, 2)),
}


@pytest.mark.parametrize("options", [(), ("--no-cluster-all",), ("--strictness", 0.6)], ids=str)
@pytest.mark.parametrize("name", SETS)
def test_a_stream_has_the_labels_of_points_in_memory(tmp_path, name, options, monkeypatch):
    monkeypatch.setattr("meanshiftpp.io.sources.MAX_ROWS", 700)
    X, out = SETS[name](np.random.default_rng(0)), tmp_path / "labels.npy"
    np.save(tmp_path / "x.npy", X)
    found = []
    for option in ("--no-stream", "--stream"):
        code, text, stderr = run(
            "cluster", tmp_path / "x.npy", *options, option, "-o", out, "--json"
        )
        assert code == 0, stderr
        summary = json.loads(text)
        labels = np.load(out)
        assert summary["noise"] == (labels == -1).sum()
        assert summary["sizes"] == np.bincount(labels + 1, minlength=1)[1:].tolist()
        close = {key: summary.pop(key) for key in ("means", "spreads", "shares", "seconds")}
        assert summary.pop("streamed") == (option == "--stream")
        found.append((labels.tolist(), summary, close))
    (labels, summary, close), (labels_2, summary_2, close_2) = found
    assert (labels, summary) == (labels_2, summary_2)
    for key in ("means", "spreads", "shares"):
        assert np.allclose(close[key], close_2[key], rtol=1e-6, atol=1e-9)


def test_a_grid_file_is_searched_as_with_its_bandwidth(tmp_path, points):
    out, grid = tmp_path / "labels.npy", tmp_path / "points.grid"
    assert run("grid", "build", tmp_path / "points.npy", "-b", 0.3, "-o", grid)[0] == 0
    code, text, _ = run("cluster", tmp_path / "points.npy", "--grid", grid, "-o", out, "--json")
    assert code == 0
    assert np.array_equal(np.load(out), MeanShiftPP(0.3).fit_predict(points))
    assert json.loads(text)["valleys"] is None


def test_hundreds_of_clusters_are_shown_heaviest_first_with_a_hint(tmp_path):
    rng = np.random.default_rng(0)
    sizes = rng.integers(60, 300, 120)
    places = 20.0 * np.stack(np.divmod(np.arange(120), 11), axis=1)
    X = np.repeat(places, sizes, axis=0) + rng.normal(size=(sizes.sum(), 2))
    np.save(tmp_path / "many.npy", X)
    code, text, _ = run("cluster", tmp_path / "many.npy", "--explain")
    assert code == 0
    words = " ".join(text.split())
    n = int(words.partition(" significant")[0].split()[-1])
    assert n > 100
    assert words.count(" % of the points (") == 10
    assert f"... and {n - 10} smaller ones, of at most " in words
    assert words.count("--n-clusters 10 or --min-cluster-size 2") == 1
    assert words.count("times less dense") == 40
    assert f"... and {n - 41} less clear ones, all in --json" in words
    hint = words.partition("--min-cluster-size ")[2].split()[0]
    for options in (("--n-clusters", 10), ("--min-cluster-size", hint)):
        coarse = json.loads(run("cluster", tmp_path / "many.npy", *options, "--json")[1])
        assert 2 <= coarse["clusters"] < n
        assert sum(coarse["sizes"]) == len(X)
    assert "--n-clusters" not in run("cluster", tmp_path / "many.npy", "--n-clusters", 10)[1]


def test_fewer_clusters_than_wanted_are_reported(tmp_path, points):
    np.save(tmp_path / "equal.npy", np.ones((20, 2)))
    code, text, stderr = run("cluster", tmp_path / "equal.npy", "--n-clusters", 3, "--json")
    assert (code, json.loads(text)["clusters"]) == (0, 1)
    assert stderr == (
        "warning: expected 3 clusters, but the data has only 1 peak\n"
        "expected 3 clusters, found 1; use fewer clusters\n"
    )
    options = ("--n-clusters", 3, "--min-cluster-size", 100)
    code, _, stderr = run("cluster", tmp_path / "points.npy", *options)
    assert code == 0
    assert "expected 3 clusters, found 2 of --min-cluster-size 100" in stderr


@pytest.mark.parametrize("stream", ["--stream", "--no-stream"])
@pytest.mark.parametrize(
    "rows",
    [[[1.0, 2.0]], [[1.0, 2.0], [5.0, 9.0]], [[3.0, 3.0]] * 40, [[0.0, 0.0]] * 3],
    ids=["one row", "two rows", "equal", "zeros"],
)
def test_degenerate_data_is_one_cluster(tmp_path, rows, stream):
    np.save(tmp_path / "rows.npy", np.array(rows))
    code, text, _ = run("cluster", tmp_path / "rows.npy", stream, "--json")
    assert code == 0
    summary = json.loads(text)
    assert (summary["sizes"], summary["candidates"]) == ([len(rows)], [])
    code, text, _ = run("cluster", tmp_path / "rows.npy", stream, "--explain")
    assert code == 0
    assert "no significant valley; candidates: none; meanshiftpp sweep" in " ".join(text.split())


def test_a_constant_column_does_not_change_the_clusters(tmp_path, points):
    np.save(tmp_path / "flat.npy", np.c_[points, np.full(len(points), 7.0)])
    code, text, _ = run("cluster", tmp_path / "flat.npy", "--json")
    assert (code, json.loads(text)["sizes"]) == (0, [300, 200, 50])


@pytest.mark.parametrize("strictness", ["0", "-1", "nan", "inf", "high", ""])
def test_an_invalid_strictness_is_a_usage_error(tmp_path, points, strictness):
    code, text, stderr = run("cluster", tmp_path / "points.npy", f"--strictness={strictness}")
    assert (code, text) == (2, "")
    assert "--strictness" in stderr


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("-b", 1, "--strictness", 1), "--strictness has no effect with -b"),
        (("-b", 1, "--n-clusters", 3), "--n-clusters has no effect with -b"),
        (("-b", 1, "--explain"), "--explain has no effect with -b"),
        (("--grid", "g", "--strictness", 2), "--strictness has no effect with --grid"),
        (("--tol", 0.001), "--tol has no effect without -b or --grid"),
        (("--max-iter", 10_000), "--max-iter has no effect without -b or --grid"),
        (("--resolution", 1), "--resolution has no effect without -b or --grid"),
        (("--n-clusters", 3, "--strictness", 0.5), "--n-clusters chooses the strictness"),
        (("--n-clusters", 0), "expected a whole number of at least 1; got '0'"),
        (("--n-clusters", 2.5), "expected a whole number of at least 1; got '2.5'"),
        (("--join",), "No such option: --join"),
    ],
    ids=str,
)
def test_options_without_effect_are_a_usage_error(tmp_path, points, options, message):
    code, text, stderr = run("cluster", tmp_path / "points.npy", *options)
    assert (code, text) == (2, "")
    assert message in " ".join(stderr.split())


# -- errors ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("bandwidth", ["0", "-1", "nan", "inf", "wide", "1,,2", ""])
def test_an_invalid_bandwidth_is_a_usage_error(tmp_path, points, bandwidth):
    code, text, stderr = run("cluster", tmp_path / "points.npy", f"--bandwidth={bandwidth}")
    assert code == 2
    assert text == ""
    assert "bandwidth" in stderr


@pytest.mark.parametrize("arguments", [[], ["--tol", "-1"], ["--max-iter", "0"], ["--nonsense"]])
def test_invalid_options_are_a_usage_error(tmp_path, arguments):
    file = [] if not arguments else [tmp_path / "points.npy"]
    assert run("cluster", *file, *arguments)[0] == 2


@pytest.mark.parametrize("resolution", [0, MAX_REACH + 1])
def test_a_resolution_out_of_range_is_a_usage_error(tmp_path, points, resolution):
    for command in ("cluster", "sweep"):
        code, text, stderr = run(command, tmp_path / "points.npy", "--resolution", resolution)
        assert (code, text) == (2, "")
        assert "--resolution" in stderr


def test_errors_are_one_line_and_exit_with_1(tmp_path, points):
    np.save(tmp_path / "vector.npy", points[:, 0])
    (tmp_path / "gap.csv").write_text("x,y\n1,2\n3,\n")
    file = tmp_path / "points.csv"
    for arguments, expected in [
        ((tmp_path / "none.csv",), "No such file"),
        ((tmp_path / "vector.npy",), "2-D array"),
        ((tmp_path / "gap.csv", "-b", 1), "gap.csv, row 2, column 'y' is empty or NaN"),
        ((tmp_path / "gap.csv",), "gap.csv, row 2, column 'y' is empty or NaN"),
        ((file, "--columns", "east,west"), "no column 'west', only 'name', 'east', 'north'"),
        ((file, "-b", "1,2,3"), "bandwidth must be one number or 2"),
        ((file, "-b", "1e-300"), "row 1"),
        ((file, "-o", tmp_path / "gone" / "o.csv"), "does not exist"),
        ((file, "-o", tmp_path / "o.xls"), "must end in .parquet, .csv"),
        ((file, "--plot", tmp_path / "o.gif"), "must end in .png, .svg or .pdf"),
    ]:
        code, text, stderr = run("cluster", *arguments)
        assert code == 1, expected
        assert text == ""
        assert stderr.splitlines()[-1].startswith("error: ")
        assert expected in stderr
        assert "Traceback" not in stderr
    assert not [p for p in tmp_path.iterdir() if p.name.startswith((".", "o."))]


@pytest.mark.parametrize(
    "columns", ["", " ", "east,,north", "east,", "east,east", "east, east", '"east']
)
def test_empty_or_repeated_columns_are_a_usage_error(tmp_path, points, columns):
    for command in ("cluster", "grid build -o g -b 1", "sweep"):
        for name in ("points.csv", "points.npy"):
            code, text, stderr = run(*command.split(), tmp_path / name, "--columns", columns)
            assert (code, text) == (2, "")
            assert "--columns" in stderr


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_ignored_columns_are_printed(tmp_path, points, suffix):
    file, why = tmp_path / "points.csv", "'town 0' in row 1"
    if suffix == "parquet":
        table, file, why = pyarrow.csv.read_csv(file), tmp_path / "points.parquet", "string"
        pyarrow.parquet.write_table(table, file)
    for command in (("cluster", "-b", 1), ("sweep", "-b", "1"), ("grid", "build", "-b", 1)):
        more = ("-o", tmp_path / "o.grid") if command[0] == "grid" else ()
        code, _, stderr = run(*command, file, *more)
        assert code == 0
        assert f"ignored, not numeric: 'name' ({why})" in stderr
        code, _, stderr = run(*command, file, *more, "--columns", "east,north")
        assert (code, "ignored" in stderr) == (0, False)


def test_the_index_of_pandas_is_not_a_feature_and_is_printed(tmp_path, points):
    frame = pd.DataFrame(points, columns=["a", "b"])
    expected = MeanShiftPP(2).fit_predict(points)
    out = tmp_path / "o.npy"
    csv, named = tmp_path / "index.csv", tmp_path / "index.parquet"
    frame.to_csv(csv)
    frame.set_index(pd.Index(np.arange(550) * 3 % 551, name="id")).to_parquet(named)
    for file, message in [
        (csv, "ignored, a column without a name; to use it, name it in the first line\n"),
        (named, "ignored, an index of pandas: 'id'; --columns can select it\n"),
    ]:
        code, text, stderr = run("cluster", file, "-b", 2, "-o", out, "--json")
        assert (code, stderr) == (0, message)
        assert json.loads(text)["columns"] == ["a", "b"]
        assert np.array_equal(np.load(out), expected)
    code, text, stderr = run("cluster", named, "-b", 2, "--columns", "id,a", "--json")
    assert (code, stderr, json.loads(text)["columns"]) == (0, "", ["id", "a"])


def test_an_output_that_cannot_be_written_fails_before_reading(tmp_path, monkeypatch):
    monkeypatch.setattr("meanshiftpp.io.streams.open_points", lambda *_: pytest.fail("too late"))
    assert run("cluster", "points.csv", "-o", tmp_path / "gone" / "o.csv")[0] == 1
