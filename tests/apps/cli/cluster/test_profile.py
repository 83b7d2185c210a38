"""The largest clusters in the summary, and the table of all clusters."""

import csv
import json

import numpy as np
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest
from tests.apps.cli.command_line import run

STREAMS = pytest.mark.parametrize("stream", ["--stream", "--no-stream"])


@STREAMS
def test_the_summary_shows_centre_share_and_spread(tmp_path, points, stream):
    code, stdout, _ = run("cluster", tmp_path / "points.csv", "-b", 2, stream)
    lines = " ".join(stdout.replace("\u00a0", " ").split())
    assert code == 0
    assert "cluster 0 54.5 % of the points (300): east 9" in lines
    assert " ± 0.9" in lines
    assert "cluster 2 9.09 % of the points (50): east" in lines


def test_more_clusters_and_columns_are_counted(tmp_path):
    np.save(tmp_path / "p.npy", 9.0 * np.arange(12)[:, None] + np.zeros(10))
    stdout = run("cluster", tmp_path / "p.npy", "-b", 1)[1]
    assert "and 2 more columns" in " ".join(stdout.split())
    assert "... and 2 smaller ones, of at most 1" in stdout


@STREAMS
@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".arrow"])
def test_centers_are_written(tmp_path, points, stream, suffix):
    out, options = tmp_path / f"centers{suffix}", ("-b", 2, stream, "--json")
    code, stdout, _ = run("cluster", tmp_path / "points.csv", "--centers", out, *options)
    assert code == 0
    if suffix == ".csv":
        rows = list(csv.DictReader(out.read_text().splitlines()))
        found = {name: [float(row[name]) for row in rows] for name in rows[0]}
    else:
        read = pq.read_table if suffix == ".parquet" else feather.read_table
        found = read(out).to_pydict()
    summary = json.loads(stdout)
    assert found["size"] == summary["sizes"] == [300, 200, 50]
    assert found["share"] == summary["shares"]
    assert [*zip(found["east"], found["north"])] == [tuple(c) for c in summary["centers"]]
    assert found["north_std"] == [spread[1] for spread in summary["spreads"]]
    own = points[:, 0] > 5
    assert found["east_mean"][0] == pytest.approx(points[own, 0].mean(), abs=1e-6)
    assert found["east_std"][0] == pytest.approx(points[own, 0].std(), rel=0.1)


def test_sizes_by_a_grid_are_those_of_the_labelled_points(tmp_path, points):
    run("grid", "build", tmp_path / "points.npy", "-b", 2, "-o", tmp_path / "g")
    np.save(tmp_path / "few.npy", points[:10])
    options = ("--grid", tmp_path / "g", "--centers", tmp_path / "c.csv", "--json")
    summary = json.loads(run("cluster", tmp_path / "few.npy", *options)[1])
    assert sum(summary["shares"]) == pytest.approx(1)
    rows = list(csv.DictReader((tmp_path / "c.csv").read_text().splitlines()))
    assert [int(row["size"]) for row in rows] == summary["sizes"]
    code, _, stderr = run("cluster", tmp_path / "few.npy", "--centers", tmp_path / "c.xls")
    assert code == 1
    assert "must end in .csv, .parquet" in stderr


def test_the_summary_names_the_table_of_centers(tmp_path, points, monkeypatch):
    monkeypatch.chdir(tmp_path)
    stdout = run("cluster", "points.csv", "-b", 2, "--centers", "c.csv")[1]
    assert ["centers", "c.csv"] in [line.split() for line in stdout.splitlines()]


def test_the_noise_of_weighted_points_is_a_weight(tmp_path):
    (tmp_path / "a.csv").write_text("x,y,mass\n0,0,3.5\n0,1,2.5\n90,90,1.25\n")
    options = ("-b", 2, "--columns", "x,y", "--weight", "mass", "--min-cluster-size", 2)
    stdout = run("cluster", tmp_path / "a.csv", *options)[1]
    assert ["noise", "weight", "1.25"] in [line.split() for line in stdout.splitlines()]
