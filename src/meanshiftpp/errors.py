"""The exceptions, one tree.

    MeanShiftPPError
    ├── PlacedError                            an error about a value or a file
    │   ├── InvalidInputError   (ValueError)   data or a parameter that cannot be used
    │   ├── GridFileError       (ValueError)   a grid file that is damaged, foreign or too new
    │   └── FileAccessError     (OSError)      a file that cannot be found, read or written
    ├── GridMismatchError       (ValueError)   grids that cannot be added
    └── MissingExtraError       (ImportError)  an optional dependency that is not installed

Each message states what was expected, what was received and what to do. An `InvalidInputError`
also carries these as attributes, so that every front end can word them for its own users.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from copy import copy
from typing import Self


class MeanShiftPPError(Exception):
    """The root of this package's errors. scikit-learn's own checks raise scikit-learn's errors.

    Examples
    --------
    >>> from meanshiftpp import MeanShiftPP
    >>> from meanshiftpp.errors import MeanShiftPPError
    >>> try:
    ...     MeanShiftPP(bandwidth=1).fit([[0.0], [float("nan")]])
    ... except MeanShiftPPError as error:
    ...     print(error)
    X[1, 0] is NaN: every coordinate must be a finite number
    """


class PlacedError(MeanShiftPPError):
    """An error about a value or a file, whose place each front end words for its users.

    Attributes
    ----------
    place : str or None
        The place of the bad value, or the quoted path of the file, as the message states it.
    problem : str
        The message without the place.

    Examples
    --------
    >>> from meanshiftpp.errors import FileAccessError
    >>> error = FileAccessError.for_file("/tmp/upload-7.csv", "read", "it is a pipe")
    >>> print(error.at("'points.csv'"))
    cannot read 'points.csv': it is a pipe
    """

    place: str | None = None
    problem: str = ""

    def at(self, place: str) -> Self:
        """Return a copy that states the place in the words of a front end."""
        if not self.problem:
            return self  # its message is not about one place
        moved = copy(self)
        moved.place, moved.args = place, (self._message(place),)
        return moved

    def _message(self, place: str) -> str:
        return f"{place} {self.problem}"


class InvalidInputError(PlacedError, ValueError):
    """Data or a parameter that cannot be used.

    Attributes
    ----------
    source : str or None
        The name of the file or chunk that the bad value is in, if it is in one.
    row, column : int or None
        Position of the bad value in `X`, counted from 0.
    parameter : str or None
        The Python name of the bad parameter.
    expected : str or None
        The condition that the parameter must meet.
    got : object
        The value that was received.

    Examples
    --------
    >>> from meanshiftpp import Grid
    >>> from meanshiftpp.errors import InvalidInputError
    >>> Grid.from_points([[1.0, 2.0]], bandwidth=-1)
    Traceback (most recent call last):
    ...
    meanshiftpp.errors.InvalidInputError: bandwidth must be positive and finite, got -1
    >>> try:
    ...     Grid.from_points([[1.0, float("inf")]], bandwidth=1)
    ... except InvalidInputError as error:
    ...     print(error.row, error.column, error.at("heights.csv, row 1"))
    0 1 heights.csv, row 1 is inf (infinity): every coordinate must be a finite number
    """

    def __init__(
        self,
        message: str,
        *,
        row: int | None = None,
        column: int | None = None,
        place: str | None = None,
        parameter: str | None = None,
        expected: str | None = None,
        got: object = None,
    ) -> None:
        if place is None and row is not None:
            place = f"X[{row}, {column}]"
        super().__init__(f"{place} {message}" if place else message)
        self.problem = message
        self.place = place
        self.source: str | None = None
        self.row = row
        self.column = column
        self.parameter = parameter
        self.expected = expected
        self.got = got
        self._advice = ""

    @classmethod
    def for_parameter(cls, parameter: str, expected: str, got: object, advice: str = "") -> Self:
        """Return an error about a parameter: "PARAMETER must be EXPECTED, got GOT; ADVICE".

        Advice that mentions another parameter has its name in braces: "use {detail} instead".
        """
        return cls._of_parameter({}, parameter, expected, got, advice)

    @classmethod
    def for_file(cls, path: str | os.PathLike[str], problem: str) -> Self:
        """Return an error about a file: "'PATH' PROBLEM"."""
        return cls(problem, place=repr(str(path)))

    def named(self, names: Mapping[str, str]) -> InvalidInputError:
        """Return a copy that calls parameters by a front end's names: options, controls."""
        if self.parameter is None or self.expected is None:
            return self
        return self._of_parameter(names, self.parameter, self.expected, self.got, self._advice)

    @classmethod
    def _of_parameter(
        cls, names: Mapping[str, str], parameter: str, expected: str, got: object, advice: str
    ) -> Self:
        message = f"{names.get(parameter, parameter)} must be {expected}, got {got!r}"
        if advice:
            message += "; " + re.sub(r"{(\w+)}", lambda word: names.get(word[1], word[1]), advice)
        error = cls(message, parameter=parameter, expected=expected, got=got)
        error._advice = advice
        return error


class GridMismatchError(MeanShiftPPError, ValueError):
    """Grids of different bandwidth, period, dimension or device, which cannot be added.

    Examples
    --------
    >>> from meanshiftpp import Grid
    >>> Grid.empty(0.5, 2) + Grid.empty(1.0, 2)
    Traceback (most recent call last):
    ...
    meanshiftpp.errors.GridMismatchError: grids of bandwidth [0.5 0.5] and [1. 1.] cannot be ...
    """


class GridFileError(PlacedError, ValueError):
    """A file that is not a grid, is damaged, or was written by a newer release.

    Examples
    --------
    >>> from pathlib import Path
    >>> from meanshiftpp import Grid
    >>> _ = Path("notes.grid").write_text("not a grid")
    >>> Grid.load("notes.grid")
    Traceback (most recent call last):
    ...
    meanshiftpp.errors.GridFileError: 'notes.grid' is not a grid file; pass one that meanshiftpp...
    """

    @classmethod
    def for_file(cls, path: object, problem: str) -> Self:
        """Return an error about a file: "'PATH' PROBLEM"."""
        error = cls()
        error.problem = problem
        return error.at(repr(str(path)))


class FileAccessError(PlacedError, OSError):
    """A file that cannot be found, read or written.

    Attributes
    ----------
    action : str
        Read or write: the message is "cannot ACTION PLACE: PROBLEM".

    Examples
    --------
    >>> from meanshiftpp import Grid
    >>> Grid.load("nowhere.grid")
    Traceback (most recent call last):
    ...
    meanshiftpp.errors.FileAccessError: cannot read 'nowhere.grid': No such file or directory
    """

    action = ""

    @classmethod
    def for_file(cls, path: str | os.PathLike[str], action: str, problem: str) -> Self:
        """Return an error about a file: "cannot ACTION 'PATH': PROBLEM"."""
        error = cls()
        error.action, error.problem = action, problem
        return error.at(repr(str(path)))

    def _message(self, place: str) -> str:
        return f"cannot {self.action} {place}: {self.problem}"


class MissingExtraError(MeanShiftPPError, ImportError):
    """An optional dependency that is not installed.

    Examples
    --------
    >>> from meanshiftpp._support.extras import need
    >>> need("some_module", "io")
    Traceback (most recent call last):
    ...
    meanshiftpp.errors.MissingExtraError: this needs some_module: pip install "meanshiftpp[io]"
    """
