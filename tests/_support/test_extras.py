"""Optional dependencies: a missing one is named with its extra, a broken one keeps its error."""

import sys

import pytest

from meanshiftpp._support.extras import need
from meanshiftpp.errors import MissingExtraError


def test_a_missing_package_is_named_with_its_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "no_such_package", None)
    with pytest.raises(MissingExtraError, match=r'pip install "meanshiftpp\[io\]"'):
        need("no_such_package.part", "io")


def test_a_package_whose_own_dependency_is_missing_keeps_its_error(monkeypatch, tmp_path):
    (tmp_path / "broken_package.py").write_text("import not_there_either\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="not_there_either") as caught:
        need("broken_package", "io")
    assert not isinstance(caught.value, MissingExtraError)
