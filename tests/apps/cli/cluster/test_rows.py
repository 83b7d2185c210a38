"""Weights and missing values on the command line, in memory and streamed."""

import json

import numpy as np
import pytest
from tests.apps.cli.command_line import run

from meanshiftpp.stream import build_grid, open_points


@pytest.fixture
def table(tmp_path):
    rng = np.random.default_rng(2)
    x = np.concatenate([rng.normal(0, 1, (200, 2)), rng.normal(9, 1, (100, 2))])
    rows = [f"{a:.3f},{b:.3f},{1 + i % 3}" for i, (a, b) in enumerate(x)]
    rows[7] = ",1.5,2"
    rows[50] = "0.5,0.5,"
    (tmp_path / "t.csv").write_text("x,y,n\n" + "\n".join(rows) + "\n")
    return tmp_path / "t.csv"


@pytest.mark.parametrize("stream", ["--stream", "--no-stream"])
def test_weights_and_missing_values(table, tmp_path, stream):
    options = ("-b", 2, "--weight", "n", "--missing", "label", stream, "-o", tmp_path / "o.npy")
    code, stdout, stderr = run("cluster", table, *options, "--json")
    found = json.loads(stdout)
    assert (code, stderr) == (0, "")
    assert found["columns"] == ["x", "y"]
    assert (found["points"], found["missing"]) == (298, 2)
    assert found["weight"] == 600 - 2 - 3
    assert sum(found["sizes"]) + found["noise"] == found["weight"]
    labels = np.load(tmp_path / "o.npy")
    assert np.flatnonzero(labels < 0).tolist() == [7, 50]
    _, stdout, _ = run("cluster", table, *options)
    assert "298 of weight 595 in x, y" in stdout
    assert "values in 2 rows" in stdout


@pytest.mark.parametrize("stream", ["--stream", "--no-stream"])
@pytest.mark.parametrize(("where", "missing"), [("n < 9", 1), ("y < 5", 2), ("y > 5", 0)])
def test_missing_values_are_counted_among_the_selected_rows(table, stream, where, missing):
    options = ("--columns", "x,n", "-b", 2, "--where", where, "--missing", "drop", stream)
    assert json.loads(run("cluster", table, *options, "--json")[1])["missing"] == missing


def test_a_run_that_continues_does_not_guess_the_missing_values(table, tmp_path):
    shared = (table, "-b", 2, "--missing", "drop", "--checkpoint", tmp_path / "c", "--json")
    build_grid(open_points(table, missing="drop"), 2, checkpoint=tmp_path / "c")
    assert json.loads(run("cluster", *shared)[1])["missing"] is None


def test_rows_are_dropped_from_the_output(table, tmp_path):
    run("cluster", table, "-b", 2, "--missing", "drop", "-o", tmp_path / "o.csv")
    lines = (tmp_path / "o.csv").read_text().splitlines()
    assert len(lines) == 299
    assert not any(line.startswith(",") for line in lines)


def test_missing_values_are_errors_that_name_the_option(table):
    code, _, stderr = run("cluster", table, "-b", 2)
    assert code == 1
    assert "row 8, column 'x' is empty or NaN" in stderr
    assert "--missing" in stderr


def test_weights_of_a_sweep_and_of_a_grid(table, tmp_path):
    options = ("--weight", "n", "--missing", "drop", "--json")
    found = json.loads(run("sweep", table, "-b", "1,2,4", *options)[1])
    assert found["weight"] == 595
    assert found["entries"][-1]["sizes"][0] > 298
    grid = json.loads(run("grid", "build", table, "-b", 2, "-o", tmp_path / "g", *options)[1])
    assert (grid["weight"], grid["columns"]) == (595, ["x", "y"])
    code, _, stderr = run("cluster", table, "--grid", tmp_path / "g", "--weight", "n")
    assert code == 2
    assert "--weight cannot be used with --grid" in stderr


def test_missing_values_of_rows_that_a_grid_labels(table, tmp_path):
    run("grid", "build", table, "-b", 2, "-o", tmp_path / "g", "--missing", "drop")
    grid = ("--grid", tmp_path / "g", "--missing", "label", "-o", tmp_path / "o.csv")
    found = json.loads(run("cluster", table, *grid, "--json")[1])
    assert (found["points"], found["missing"]) == (298, 2)
    assert (tmp_path / "o.csv").read_text().splitlines()[8] == ",1.5,2,-1"
