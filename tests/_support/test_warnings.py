"""Warnings point to the line of the user's code."""

import types
import warnings
from pathlib import Path

import pytest
from sklearn.exceptions import ConvergenceWarning

from meanshiftpp._support.warnings import shown_by, warn_user


def test_warning_points_to_the_first_line_outside_the_package():
    inner = types.ModuleType("meanshiftpp.inner")
    code = "def call(warn, warning): warn(warning)"
    exec(compile(code, "inner.py", "exec"), inner.__dict__)
    outer = types.ModuleType("sklearn.outer")
    exec(compile("def call(f, *args): f(*args)", "outer.py", "exec"), outer.__dict__)
    with pytest.warns(UserWarning, match="look here") as caught:
        outer.call(inner.call, warn_user, UserWarning("look here"))
    (warning,) = caught
    assert warning.filename == __file__
    line = Path(__file__).read_text("utf-8").splitlines()[warning.lineno - 1]
    assert line.strip().startswith("outer.call(")


def test_warning_object_keeps_its_class_and_attributes():
    warning = ConvergenceWarning("not done")
    warning.problem = "the search"
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warn_user(warning)
    assert caught[0].message is warning
    assert caught[0].category is ConvergenceWarning


def test_only_warnings_for_users_are_shown():
    class LibraryDeprecation(UserWarning, DeprecationWarning):
        """A deprecation that Python does not hide by default, as pyparsing's."""

    shown = []
    with shown_by(lambda message: shown.append(str(message)) is None):
        warnings.warn(LibraryDeprecation("use another name"), stacklevel=1)
        warnings.warn("look here", stacklevel=1)
    assert shown == ["look here"]


def test_python_shows_what_the_caller_does_not():
    with warnings.catch_warnings(record=True) as printed:
        warnings.simplefilter("always")
        with shown_by(lambda message: "mine" in str(message)):
            warnings.warn("mine", stacklevel=1)
            warnings.warn("another", stacklevel=1)
    assert [str(each.message) for each in printed] == ["another"]


def test_options_of_python_take_precedence(monkeypatch):
    """With python -W, deprecations are shown, and the filters are those of the option."""
    monkeypatch.setattr("sys.warnoptions", ["always"])
    shown = []
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        with shown_by(lambda message: shown.append(str(message)) is None):
            warnings.warn("use another name", DeprecationWarning, stacklevel=1)
    assert shown == ["use another name"]
