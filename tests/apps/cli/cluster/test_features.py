"""Columns of a table that are not features: left out with a message, or used with a warning."""

import csv
import json

import numpy as np
import pytest
from tests.apps.cli.command_line import run

from meanshiftpp._support.text import join_names, split_names


@pytest.fixture
def customers(tmp_path):
    rng = np.random.default_rng(1)
    x = np.concatenate([rng.normal(0, 1, (100, 2)), rng.normal(9, 1, (100, 2))])
    rows = [f"{1000 + i},7,{i % 2},{a:.3f},{b:.3f}" for i, (a, b) in enumerate(x)]
    file = tmp_path / "customers.csv"
    file.write_text("id,site,member,spent,visits\n" + "\n".join(rows) + "\n")
    return file


def test_identifiers_and_constants_are_left_out(customers):
    code, stdout, stderr = run("cluster", customers, "-b", 2, "--json")
    assert code == 0
    assert json.loads(stdout)["columns"] == ["member", "spent", "visits"]
    first, second = stderr.splitlines()
    assert first == (
        "left out, not features: 'id' (whole numbers, all different), 'site' (constant); "
        "--columns can select them"
    )
    assert second.startswith("warning: only 0 and 1 in 'member': each such column can divide")


def test_an_identifier_that_float64_cannot_hold_is_left_out(customers):
    lines = customers.read_text().splitlines()
    rows = [f"15818202775386{line}" for line in lines[1:]]
    customers.write_text("\n".join([lines[0], *rows]) + "\n")
    code, stdout, stderr = run("cluster", customers, "-b", 2, "--json")
    assert code == 0
    assert json.loads(stdout)["columns"] == ["member", "spent", "visits"]
    assert "'id' (whole numbers, all different)" in stderr


def test_columns_of_known_classes_warn(customers):
    customers.write_text(customers.read_text().replace("visits", "Label", 1))
    warning = "warning: 'Label' may hold known classes rather than a measurement"
    assert warning in run("cluster", customers, "-b", 2)[2]
    assert warning not in run("cluster", customers, "-b", 2, "--columns", "spent,Label")[2]


def test_longitudes_on_both_sides_of_the_date_line_warn(tmp_path):
    lon = (np.random.default_rng(0).normal(180, 1, 400) + 180) % 360 - 180
    file = tmp_path / "fiji.csv"
    file.write_text("lon,lat\n" + "\n".join(f"{x:.4f},{i / 100}" for i, x in enumerate(lon)))
    assert "warning: 'lon' has values near -180 and 180" in run("cluster", file)[2]
    for option in (["--periodic", "360,-"], ["-b", "200km"]):
        assert "180" not in run("cluster", file, *option)[2]


def test_columns_override_the_rule(customers):
    _, stdout, stderr = run("cluster", customers, "-b", 2, "--columns", "id,spent", "--json")
    assert json.loads(stdout)["columns"] == ["id", "spent"]
    assert not stderr


@pytest.mark.parametrize("command", ["sweep", "grid build"])
def test_every_command_has_the_same_rule(customers, tmp_path, command):
    options = ("-b", 2, "-o", tmp_path / "g") if command == "grid build" else ()
    code, stdout, _ = run(*command.split(), customers, *options, "--json")
    assert (code, json.loads(stdout)["columns"]) == (0, ["member", "spent", "visits"])


def test_a_grid_determines_the_columns(customers, tmp_path):
    grid, few = tmp_path / "all.grid", tmp_path / "few.csv"
    run("grid", "build", customers, "-b", 2, "--columns", "spent,id", "-o", grid)
    few.write_text("id,spent\n1001,0.5\n1002,8.5\n1003,9.5\n")
    code, stdout, stderr = run("cluster", few, "--grid", grid, "--json")
    assert (code, stderr) == (0, "")
    assert json.loads(stdout)["columns"] == ["spent", "id"]


@pytest.mark.parametrize("text", ['x,"y', 'x, "y', '"a"b,c', '"'])
def test_a_quote_that_is_not_closed_or_followed_by_text_raises(text):
    with pytest.raises(ValueError, match="a quote is not closed, or text follows one"):
        split_names(text)


@pytest.mark.parametrize("name", ["speed, km/h", 'the "fast", x', "a,b", " y", "z "])
def test_a_name_with_commas_or_outer_spaces_is_quoted(tmp_path, name):
    file = tmp_path / "cars.csv"
    with file.open("w", newline="") as out:
        csv.writer(out).writerows([["age", name, "x"], *([i, i * i, 7 - i] for i in range(9))])
    columns = join_names([name, "age"])
    assert split_names(columns) == [name, "age"]
    code, stdout, stderr = run("cluster", file, "-b", 90, "--columns", columns, "--json")
    assert (code, stderr) == (0, "")
    assert json.loads(stdout)["columns"] == [name, "age"]
