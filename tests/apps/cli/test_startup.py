"""Commands start fast: they import only what they need, and convert options as typer does."""

from __future__ import annotations

import subprocess
import sys
from enum import StrEnum
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import typer
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.models import OptionInfo
from typer.testing import CliRunner

from meanshiftpp import Grid
from meanshiftpp.apps.cli.app import app
from meanshiftpp.apps.cli.commands import convert

HEAVY = {"pandas", "sklearn", "scipy", "joblib", "matplotlib", "pydantic", "rich.console"}
TABLE = "x,y\n0.5,1\n0.25,1\n9,9\n"


def modules_of(folder: Path, *arguments: str) -> set[str]:
    """Run a command in a new process, and return the modules that it imported."""
    code = (
        "import sys; from meanshiftpp.__main__ import main\n"
        "try: main()\n"
        "finally: print('MODULES', *sys.modules)"
    )
    command = [sys.executable, "-c", code, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, check=False)
    assert done.returncode == 0, done.stderr
    return set(done.stdout.partition("MODULES")[2].split())


@pytest.mark.parametrize("arguments", [["--help"], ["cluster", "--help"], ["--version"]], ids=str)
def test_help_imports_no_library_but_typer(tmp_path, arguments):
    loaded = modules_of(tmp_path, *arguments)
    assert "typer" in loaded
    assert not loaded & {*HEAVY, "numpy", "pyarrow", "typer.rich_utils"}


@pytest.mark.parametrize("output", [[], ["-o", "labels.csv"], ["-o", "labels.parquet"]], ids=str)
def test_clustering_a_table_imports_numpy_and_pyarrow_only(tmp_path, output):
    (tmp_path / "tiny.csv").write_text(TABLE)
    loaded = modules_of(tmp_path, "cluster", "tiny.csv", "-b", "1", *output)
    assert {"numpy", "pyarrow.csv"} <= loaded
    assert not loaded & {*HEAVY, "pyarrow.compute", "meanshiftpp.bandwidth"}
    if not output:
        assert "pyarrow.parquet" not in loaded


def test_clustering_a_table_imports_no_masked_arrays(tmp_path):
    code = "import sys, numpy; sys.exit('numpy.ma' in sys.modules)"
    if subprocess.run([sys.executable, "-c", code], check=False).returncode:
        pytest.skip("this version of NumPy imports numpy.ma itself")
    (tmp_path / "tiny.csv").write_text(TABLE)
    assert "numpy.ma" not in modules_of(tmp_path, "cluster", "tiny.csv", "-b", "1")


def test_a_stream_of_parquet_imports_no_pandas(tmp_path):
    (tmp_path / "tiny.csv").write_text(TABLE)
    modules_of(tmp_path, "cluster", "tiny.csv", "-b", "1", "-o", "tiny.parquet")
    loaded = modules_of(tmp_path, "grid", "build", "tiny.parquet", "-b", "1", "-o", "tiny.grid")
    assert "pyarrow.parquet" in loaded
    assert not loaded & {*HEAVY, "pyarrow.compute"}
    points = np.array([[0.5, 1, 0], [0.25, 1, 0], [9, 9, 1]])
    assert Grid.load(tmp_path / "tiny.grid") == Grid.from_points(points, 1)


def test_the_list_of_commands_has_whole_sentences():
    result = CliRunner().invoke(app, ["--help"])
    commands = result.stdout.partition("Commands:\n")[2].splitlines()
    assert {line.split()[0] for line in commands} >= {"cluster", "grid", "studio", "demo"}
    assert not [line for line in commands if line.endswith("...")]


# -- the conversion of options ---------------------------------------------------------------------


class Colour(StrEnum):
    RED = "red"


def typers(value, kind, info):
    """Return the value that typer's own converter returns, or the class of its error."""
    coercion = pytest.importorskip("typer._coercion")  # other releases of typer have no converters
    converter = coercion.build_runtime_param(coercion.resolve_type_descriptor(kind, info))
    parameter = SimpleNamespace(multiple=False, nargs=-1 if kind == list[Path] else 1)
    try:
        return converter.coerce(value, param=parameter, ctx=None)
    except typer.BadParameter as error:
        return type(error)


NUMERALS = st.integers() | st.floats() | st.from_regex(r"[-+]?[0-9_.eE +-]{0,20}", fullmatch=True)
NUMBERS = st.tuples(
    NUMERALS | NUMERALS.map(str),
    st.sampled_from([int, float]),
    st.builds(
        OptionInfo,
        min=st.sampled_from([None, 0, 1, -3]),
        max=st.sampled_from([None, 64, 10**9]),
        clamp=st.booleans(),
    ),
)
OTHERS = st.tuples(
    st.one_of(
        st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=20),
        st.booleans(),
        st.just(Colour.RED),
        st.sampled_from(["red", "RED", "/", "/no/such/file", ""]),
        st.lists(st.sampled_from(["a", "b/c"]), max_size=3).map(tuple),
    ),
    st.sampled_from([str, bool, Path, list[Path], Colour]),
    st.builds(OptionInfo, exists=st.booleans(), dir_okay=st.booleans()),
)


@settings(max_examples=300)
@given(NUMBERS | OTHERS)
def test_values_that_are_converted_are_those_of_typer(given):
    value, kind, info = given
    try:
        converted = convert(value, kind, info)
    except ValueError:
        return  # left to typer
    expected = typers(value, kind, info)
    assert converted == expected
    assert type(converted) is type(expected)


@pytest.mark.parametrize(
    ("value", "kind", "expected"),
    [
        ("3", int, 3),
        ("-0.5e3", float, -500.0),
        (30, float, 30.0),
        ("a b", str, "a b"),
        (True, bool, True),
        (("a.csv", "b"), list[Path], [Path("a.csv"), Path("b")]),
        (Colour.RED, Colour, Colour.RED),
    ],
)
def test_plain_values_are_not_left_to_typer(value, kind, expected):
    converted = convert(value, kind, OptionInfo())
    assert converted == expected
    assert type(converted) is type(expected)


def test_invalid_values_are_not_converted():
    for value, kind, info in [
        ("x", int, OptionInfo()),
        ("0", int, OptionInfo(min=1)),
        ("nan", float, OptionInfo(min=0)),
        ("/no/such/file", Path, OptionInfo(exists=True)),
        ("", Path, OptionInfo()),
        (("a.csv", ""), list[Path], OptionInfo()),
        ("no colour", Colour, OptionInfo()),
        ("3", int, OptionInfo(parser=len)),
    ]:
        with pytest.raises(ValueError):  # noqa: PT011 - without a message of its own
            convert(value, kind, info)
