"""Errors and warnings of a command: one line each on stderr, in the terms of the command line."""

from __future__ import annotations

import inspect
import io
import subprocess
import sys
import warnings

import pytest
import typer

from meanshiftpp import MeanShiftPP, Tracker, hierarchy, palette, quantize, segment, sweep
from meanshiftpp._support.text import pluralize
from meanshiftpp.apps.cli.shared.console import (
    OPTIONS,
    duration,
    error_text,
    progress,
    report_errors,
    row_progress,
    spinner,
)
from meanshiftpp.errors import FileAccessError, InvalidInputError
from meanshiftpp.stream import open_points


def fail(error: Exception, warning: str = "") -> None:
    with report_errors():
        if warning:
            warnings.warn(warning, stacklevel=1)
        raise error


@pytest.mark.parametrize(("parameter", "option"), OPTIONS.items())
def test_an_error_names_the_option_of_a_parameter(capsys, parameter, option):
    with pytest.raises(typer.Exit) as caught:
        fail(InvalidInputError.for_parameter(parameter, "positive", -1))
    assert caught.value.exit_code == 1
    assert capsys.readouterr() == ("", f"error: {option} must be positive, got -1\n")


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (InvalidInputError("is NaN", row=4, column=1), "X[4, 1] is NaN"),
        (InvalidInputError("is NaN", place="b.csv, row 7"), "b.csv, row 7 is NaN"),
        (InvalidInputError.for_parameter("labels", "int32", 1), "labels must be int32, got 1"),
        (
            InvalidInputError.for_parameter("regions", "left out", 5, "use {detail} instead"),
            "--regions must be left out, got 5; use --detail instead",
        ),
        (FileAccessError("cannot read 'a.npy'"), "cannot read 'a.npy'"),
        (MemoryError(), "out of memory"),
        (MemoryError("cannot allocate 9 TB"), "cannot allocate 9 TB"),
        (ModuleNotFoundError(name="sklearn"), "this needs sklearn: pip install sklearn"),
    ],
)
def test_other_errors_keep_their_message(capsys, error, text):
    with pytest.raises(typer.Exit):
        fail(error)
    assert capsys.readouterr().err == f"error: {text}\n"


def test_every_option_exists():
    from typer.main import get_command

    from meanshiftpp.apps.cli.app import app

    commands = dict(get_command(app).commands)
    groups = commands.pop("grid").commands.values()
    options = {name for c in (*commands.values(), *groups) for p in c.params for name in p.opts}
    assert {*OPTIONS.values()} <= options


def test_every_parameter_with_an_option_is_named_by_it():
    from typer.main import get_command

    from meanshiftpp.apps.cli.app import app

    public = (MeanShiftPP, segment, hierarchy, sweep, quantize, palette, Tracker, open_points)
    parameters = {name for each in public for name in inspect.signature(each).parameters}
    commands = [get_command(app).commands[name] for name in ("cluster", "sweep", "segment")]
    options = {param.name for command in commands for param in command.params}
    assert {"bandwidth", "regions", "strictness"} <= parameters & options
    assert parameters & options <= OPTIONS.keys()


def test_a_bug_keeps_its_traceback():
    with pytest.raises(ZeroDivisionError):
        fail(ZeroDivisionError())


def test_each_warning_is_one_line_and_printed_once(capsys):
    with report_errors():
        for _ in range(2):
            warnings.warn("the search did\n  not converge", stacklevel=1)
        warnings.warn("the search did not converge", stacklevel=2)
        warnings.warn("the image is dark", stacklevel=1)
    expected = "warning: the search did not converge\nwarning: the image is dark\n"
    assert capsys.readouterr() == ("", expected)


def test_a_warning_before_an_error_is_printed_first(capsys):
    with pytest.raises(typer.Exit):
        fail(InvalidInputError("the image is empty"), warning="the image is dark")
    assert capsys.readouterr().err == "warning: the image is dark\nerror: the image is empty\n"


def test_the_hook_is_removed_after_the_command():
    before = warnings.showwarning, warnings.filters[:]
    with report_errors():
        assert warnings.showwarning != before[0]
    assert (warnings.showwarning, warnings.filters) == before


@pytest.mark.parametrize(
    ("options", "message"),
    [([], "warning: dark\n"), (["-W", "ignore"], ""), (["-W", "error::UserWarning"], None)],
)
def test_the_options_of_python_for_warnings_take_precedence(options, message):
    code = (
        "import warnings; from meanshiftpp.apps.cli.shared.console import report_errors\n"
        "with report_errors(): warnings.warn('dark')"
    )
    run = subprocess.run(
        [sys.executable, *options, "-c", code], capture_output=True, text=True, check=False
    )
    if message is None:
        assert (run.returncode, "UserWarning: dark" in run.stderr) == (1, True)
    else:
        assert (run.returncode, run.stderr) == (0, message)


def test_texts():
    assert (pluralize(1, "point"), pluralize(2000, "point")) == ("1 point", "2,000 points")
    assert (duration(3.2), duration(0.0154)) == ("3.20 s", "15.4 ms")
    assert error_text(MemoryError()) == "out of memory"


class Terminal(io.StringIO):
    """A stream that claims to be a terminal."""

    def isatty(self) -> bool:
        return True


def test_progress_on_a_terminal_shows_items_and_rows(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    for bar, expected in ((progress, "3/4"), (row_progress, "3M rows")):
        monkeypatch.setattr(sys, "stderr", terminal := Terminal())
        n = 1_000_000 if bar is row_progress else 1
        with bar() as shown:
            shown.advance(shown.add_task("[files]", total=4 * n), 3 * n)
            shown.refresh()
        assert expected in terminal.getvalue()


def test_a_spinner_on_a_terminal_shows_its_text(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    with spinner("choosing the bandwidth"):
        pass
    assert "choosing the bandwidth ..." in terminal.getvalue()
