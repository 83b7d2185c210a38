"""The CUDA backend for tests that need no GPU."""

import sys
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType

import pytest

from meanshiftpp import backends

CUDA = "meanshiftpp.backends.cuda"


@pytest.fixture
def cuda(monkeypatch):
    """Import the backend; without CuPy, with an empty module in its place."""
    if find_spec("cupy"):
        yield import_module(CUDA)
        return
    monkeypatch.setitem(sys.modules, "cupy", ModuleType("cupy"))
    yield import_module(CUDA)
    for name in [name for name in sys.modules if name.startswith(CUDA)]:
        del sys.modules[name]
    del backends.cuda
