"""The exceptions, one tree.

    MeanShiftPPError
    ├── InvalidInputError   (ValueError)   data or a parameter that cannot be worked with
    ├── GridMismatchError   (ValueError)   grids that do not fit together
    ├── GridFileError       (ValueError)   a grid file that is damaged, foreign or too new
    ├── FileAccessError     (OSError)      a file that cannot be found, read or written
    └── MissingExtraError   (ImportError)  an optional part that is not installed

Each message says what was expected, what came, and what to do.
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType


class MeanShiftPPError(Exception):
    """The root: everything this package raises on purpose."""


class InvalidInputError(MeanShiftPPError, ValueError):
    """Data or a parameter that cannot be worked with."""


class GridMismatchError(MeanShiftPPError, ValueError):
    """Grids of another bandwidth or dimension do not add up."""


class GridFileError(MeanShiftPPError, ValueError):
    """A file that is not a grid, is damaged, or was written by a newer release."""


class FileAccessError(MeanShiftPPError, OSError):
    """A file that cannot be found, read or written."""


class MissingExtraError(MeanShiftPPError, ImportError):
    """An optional part of the package is not installed."""


def need(module: str, extra: str) -> ModuleType:
    """Import an optional dependency, or say how to install it.

    Examples
    --------
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
