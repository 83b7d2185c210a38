"""Warnings point to the line of the user's code."""

import types
import warnings
from pathlib import Path

import pytest
from sklearn.exceptions import ConvergenceWarning

from meanshiftpp._support.warnings import warn_user


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
