"""Optional dependencies: imported where they are used, with the install command if missing."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from meanshiftpp.errors import MissingExtraError


def need(module: str, extra: str) -> ModuleType:
    """Import an optional dependency, or say how to install it.

    Examples
    --------
    >>> from meanshiftpp._support.extras import need
    >>> need("no_such_module", "io")
    Traceback (most recent call last):
    ...
    meanshiftpp.errors.MissingExtraError: this needs no_such_module: pip install "meanshiftpp[io]"
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        # A broken install (a missing dependency of the dependency) keeps its own words.
        if error.name is None or error.name.split(".")[0] != module.split(".")[0]:
            raise
        package = module.split(".")[0]
        message = f'this needs {package}: pip install "meanshiftpp[{extra}]"'
        raise MissingExtraError(message) from None
