"""Optional dependencies, imported where they are used."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from meanshiftpp.errors import MissingExtraError


def need(module: str, extra: str) -> ModuleType:
    """Import an optional dependency; if it is missing, raise with the command that installs it.

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
        package = module.partition(".")[0]
        # A broken install, where a dependency of the dependency is missing, keeps its own error.
        if error.name is None or error.name.partition(".")[0] != package:
            raise
        message = f'this needs {package}: pip install "meanshiftpp[{extra}]"'
        raise MissingExtraError(message) from None
