"""The command `sweep`: its table, JSON, plot and errors."""

from __future__ import annotations

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from meanshiftpp import sweep
from meanshiftpp.apps.cli.app import app


@pytest.fixture
def points(tmp_path):
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(c, 1, (200, 2)) for c in ((0, 0), (9, 3))])
    np.save(tmp_path / "points.npy", X)
    return X


def run(*arguments):
    return CliRunner().invoke(app, ["sweep", *map(str, arguments)])


def test_the_table_has_a_row_per_bandwidth_and_marks_the_best(tmp_path, points):
    done = run(tmp_path / "points.npy", "-b", "0.5,1,2")
    assert done.exit_code == 0, done.output
    assert "400 points in x0, x1" in " ".join(done.stdout.split())  # the title may be wrapped
    expected = sweep(points, [0.5, 1, 2])
    rows = [line.split() for line in done.stdout.splitlines()]
    rows = [row for row in rows if row and row[0] in ("0.5", "1", "2")]
    assert [row[0] for row in rows] == ["0.5", "1", "2"]
    assert [int(row[1]) for row in rows] == expected.n_clusters.tolist()
    (best,) = [i for i, row in enumerate(rows) if "agrees" in row]
    assert best == expected.best


@pytest.mark.parametrize("n_features", [2, 12])
def test_the_bandwidths_are_values_of_the_option(tmp_path, points, n_features):
    uneven = np.tile(points, n_features // 2) * np.arange(1, n_features + 1) ** 2
    np.save(tmp_path / "uneven.npy", uneven)
    expected = sweep(uneven)
    done = run(tmp_path / "uneven.npy")
    assert done.exit_code == 0, done.output
    rows = [line.split() for line in done.stdout.splitlines()]
    rows = [row[0].split(",") for row in rows if row and row[0].count(",") == n_features - 1]
    np.testing.assert_allclose(np.array(rows, float), expected.bandwidths, rtol=1e-5)
    (best,) = [
        line
        for line in done.stderr.splitlines()
        if line.startswith("agrees best with the others: -b ")
    ]
    pasted = [float(h) for h in best.split("-b ")[1].split(",")]
    assert pasted == expected.bandwidths[expected.best].tolist()


def test_json_contains_the_sweep(tmp_path, points):
    done = run(tmp_path / "points.npy", "--json", "--resolution", "2", "--threads", "1")
    assert done.exit_code == 0, done.output
    report = json.loads(done.stdout)
    expected = sweep(points, resolution=2)
    assert report["points"] == 400
    assert report["best"] == expected.best
    assert [entry["bandwidth"] for entry in report["entries"]] == expected.bandwidths.tolist()
    assert [entry["clusters"] for entry in report["entries"]] == expected.n_clusters.tolist()
    assert [entry["stability"] for entry in report["entries"]] == expected.stability.tolist()
    assert report["entries"][expected.best]["sizes"] == [
        int(weight) for weight in expected.weights[expected.best] if weight >= 4
    ]
    assert set(report["seconds"]) == {"read", "sweep"}


def test_one_bandwidth_has_no_stability(tmp_path, points):
    done = run(tmp_path / "points.npy", "-b", "1", "--json")
    assert json.loads(done.stdout)["entries"][0]["stability"] is None
    assert run(tmp_path / "points.npy", "-b", "1").exit_code == 0


def test_the_plot_is_written(tmp_path, points):
    done = run(tmp_path / "points.npy", "--plot", tmp_path / "sweep.png", "--json")
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["plot"] == str(tmp_path / "sweep.png")
    assert (tmp_path / "sweep.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("text", ["0,1", "a", "1,,2", "-1", "nan", "inf", ""])
def test_invalid_bandwidths_are_a_usage_error(tmp_path, points, text):
    done = run(tmp_path / "points.npy", f"--bandwidths={text}")
    assert done.exit_code == 2
    assert "positive numbers" in done.stderr


def test_errors_are_one_line_and_exit_with_1(tmp_path, points):
    done = run(tmp_path / "points.npy", "--plot", tmp_path / "sweep.txt")
    assert done.exit_code == 1
    assert done.stderr.startswith("error: ")
    assert ".png" in done.stderr
    assert run(tmp_path / "none.npy").exit_code == 1
    points[3, 1] = np.nan
    np.save(tmp_path / "bad.npy", points)
    done = run(tmp_path / "bad.npy", "-b", "1")
    assert done.exit_code == 1
    assert "row 4, column 'x1'" in done.stderr


def test_weight_and_missing_rows_are_printed(tmp_path):
    (tmp_path / "t.csv").write_text("x,w\n1,2\n1.5,2.5\n,3\n9,1\n")
    options = ["--weight", "w", "--missing", "drop"]
    result = CliRunner().invoke(app, ["sweep", str(tmp_path / "t.csv"), *options])
    assert result.exit_code == 0
    text = " ".join(result.stdout.split())
    assert "3 points of weight 5.5 in x; missing values in 1 row" in text
