"""Errors about options, columns and files state the value received, in the words of the program."""

from __future__ import annotations

import numpy as np
import pytest
from tests.apps.cli.command_line import run


@pytest.fixture
def file(tmp_path):
    np.save(tmp_path / "points.npy", np.random.default_rng(0).random((50, 2)))
    return tmp_path / "points.npy"


@pytest.mark.parametrize(
    ("option", "value", "expected"),
    [
        ("--n-clusters", "1.5", "a whole number of at least 1"),
        ("--n-clusters", "many", "a whole number of at least 1"),
        ("--threads", "0", "a whole number of at least 1"),
        ("--resolution", "65", "a whole number from 1 to 64"),
        ("--tol", "nan", "a number of at least 0"),
        ("--tol", "-0.5", "a number of at least 0"),
        ("--max-iter", "1e3", "a whole number of at least 1"),
        ("--checkpoint-every", "often", "a number of at least 0"),
    ],
)
def test_a_number_that_an_option_cannot_have_is_stated(file, option, value, expected):
    code, _, stderr = run("cluster", file, option, value)
    assert code == 2
    assert f"'{option}': expected {expected}; got {value!r}" in " ".join(stderr.split())


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        (["cluster", ""], "FILE..."),
        (["cluster", "FILE", ""], "FILE..."),
        (["cluster", "FILE", "-o", ""], "--output' / '-o"),
        (["segment", ""], "PHOTO"),
        (["sweep", ""], "FILE"),
        (["track", ""], "VIDEO"),
        (["studio", ""], "FILE"),
        (["grid", "merge", "", "-o", "a.grid"], "GRID..."),
    ],
)
def test_an_empty_name_is_not_the_current_folder(file, tmp_path, monkeypatch, arguments, name):
    monkeypatch.chdir(tmp_path)
    code, _, stderr = run(*(str(file) if text == "FILE" else text for text in arguments))
    assert code == 2
    _, place, message = " ".join(stderr.split()).rsplit(": ", 2)
    assert name in place  # before typer 0.29, in brackets if it may be omitted
    assert message.startswith("expected the name of a")
    assert message.endswith("; got ''")
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.parametrize("value", ["0", "-2", "inf"])
def test_a_number_that_is_not_positive_is_stated(file, tmp_path, value):
    segment = ("segment", file, "-o", tmp_path / "o.png")
    for command in (("cluster", file, "--strictness"), (*segment, "--detail"), (*segment, "-b")):
        code, _, stderr = run(*command, value)
        assert code == 2
        assert f"expected a positive number; got {value}" in " ".join(stderr.split())
    code, _, stderr = run(*segment, "--spatial", value)
    assert code == 2
    message = "expected a positive number of pixels, or a length in m or km, such as 200m"
    assert f"{message}; got {value!r}" in " ".join(stderr.split())


@pytest.mark.parametrize("value", ["200miles", "200ft,3", "0.5,2x"])
def test_the_units_of_a_bandwidth_are_stated(file, value):
    code, _, stderr = run("cluster", file, "-b", value)
    assert code == 2
    numbers = "expected one or more positive numbers, such as 0.5 or 0.5,1,2"
    lengths = "or lengths in m or km for longitude and latitude, such as 200m or 2km"
    assert f"{numbers}, {lengths}; got {value!r}" in " ".join(stderr.split())


def test_the_units_of_a_length_among_others_are_stated(tmp_path):
    (tmp_path / "visits.csv").write_text("lon,lat\n2.3,48.8\n2.4,48.9\n")
    code, _, stderr = run("cluster", tmp_path / "visits.csv", "-b", "200m,3miles")
    assert code == 2
    message = "expected lengths in m or km for longitude and latitude, and for them only"
    assert f"{message}, such as 200m,200m,5; got '200m,3miles'" in " ".join(stderr.split())


def test_the_units_of_a_size_are_stated(file):
    code, _, stderr = run("cluster", file, "--memory", "2 pages")
    assert code == 2
    message = "expected a size in bytes, k, M, G or T, such as 500M or 2G; got '2 pages'"
    assert message in " ".join(stderr.split())


def test_a_choice_that_does_not_exist_is_stated(tmp_path):
    code, _, stderr = run("track", tmp_path / "a.mp4", "--adapt", "fast")
    assert code == 2
    assert "'--adapt': expected one of robust, paper, none; got 'fast'" in stderr
    code, _, stderr = run("segment", tmp_path / "a.png", "-o", "b.png", "--space", "cmyk")
    assert "'--space': expected one of lab, rgb, luv, hsv, none; got 'cmyk'" in stderr


@pytest.mark.parametrize("command", [("cluster",), ("grid", "build", "-o", "o.grid")])
@pytest.mark.parametrize("periods", ["3", "3,3,-"])
def test_the_number_of_periods_is_that_of_the_columns(file, command, periods):
    code, _, stderr = run(*command, file, "-b", 0.1, "--periodic", periods)
    assert (code, stderr) == (
        1,
        "error: --periodic must have 2 values, a positive number or - for each of the columns "
        f"x0, x1; got {periods!r}\n",
    )


@pytest.mark.parametrize("name", ["nowhere", "nowhere/", "nowhere.txt", "nowhere.csv"])
def test_a_misspelt_name_is_an_error_about_the_name(tmp_path, name):
    for command in (("cluster",), ("sweep",), ("grid", "build", "-b", 1, "-o", tmp_path / "o")):
        code, _, stderr = run(*command, f"{tmp_path}/{name}")
        assert code == 1
        assert f"cannot read '{tmp_path}/{name.rstrip('/')}': No such file or directory" in stderr


def test_the_advice_of_a_merge_names_the_command_that_has_the_option(tmp_path):
    (tmp_path / "t.csv").write_text("x,y\n1,2\n3,4\n")
    for name in ("x,y", "y,x"):
        code, *_ = run(
            *("grid", "build", tmp_path / "t.csv", "-b", 1),
            *("--columns", name, "-o", tmp_path / f"{name}.grid"),
        )
        assert code == 0
    code, _, stderr = run(
        "grid", "merge", tmp_path / "x,y.grid", tmp_path / "y,x.grid", "-o", tmp_path / "o.grid"
    )
    assert code == 1
    assert "build all grids with the same --columns of `grid build`" in stderr


def test_one_wrong_value_of_a_csv_is_an_error(tmp_path):
    (tmp_path / "t.csv").write_text("town,x,y\nA,1,2\nB,oops,4\nC,5,6\n")
    code, text, stderr = run("cluster", tmp_path / "t.csv", "-b", 1)
    assert (code, text) == (1, "")
    assert stderr == (
        f"error: {tmp_path}/t.csv, row 2, column 'x' is 'oops', not a number; "
        "correct it, or select the columns to use\n"
    )
    code, _, stderr = run("cluster", tmp_path / "t.csv", "-b", 1, "--columns", "y")
    assert code == 0


def test_grid_build_names_the_column_of_a_period_that_is_too_short(tmp_path):
    (tmp_path / "a.csv").write_text("x,lon\n1,2\n3,4\n")
    options = ("-b", "1,400", "--periodic", "-,360", "-o", tmp_path / "a.grid")
    code, _, stderr = run("grid", "build", tmp_path / "a.csv", *options)
    assert code == 1
    assert stderr.startswith("error: column 'lon' has a period of 360, ")
