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


class MeanShiftPPError(Exception):
    """The root of this package's own errors; what scikit-learn checks raises scikit-learn's.

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


class InvalidInputError(MeanShiftPPError, ValueError):
    """Data or a parameter that cannot be used.

    Attributes
    ----------
    problem : str
        The text without the place.
    row, column : int or None
        Where in the data the bad value is.
    place : str or None
        The place as the text names it: "X[4, 1]", or a file.
    parameter, expected : str or None
        The parameter, and the values that it may have.
    got : object
        The value that was received.

    Examples
    --------
    >>> from meanshiftpp import Grid
    >>> Grid.from_points([[1.0, 2.0]], bandwidth=-1)
    Traceback (most recent call last):
    ...
    meanshiftpp.errors.InvalidInputError: bandwidth must be positive and finite, got -1
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
        super().__init__(message if place is None else f"{place} {message}")
        self.problem, self.place, self.row, self.column = message, place, row, column
        self.parameter, self.expected, self.got = parameter, expected, got
        self._advice: str | None = None

    @classmethod
    def for_parameter(
        cls, name: str, expected: str, got: object, *, advice: str | None = None
    ) -> InvalidInputError:
        """Return the error of a parameter with a value that it may not have."""
        text = f"{name} must be {expected}, got {got!r}" + (f"; {advice}" if advice else "")
        error = cls(text, parameter=name, expected=expected, got=got)
        error._advice = advice
        return error

    def named(self, name: str) -> InvalidInputError:
        """Return a copy with another name of the parameter."""
        return self.for_parameter(name, self.expected or "", self.got, advice=self._advice)

    def at(self, place: str) -> InvalidInputError:
        """Return a copy worded for another place."""
        return InvalidInputError(self.problem, row=self.row, column=self.column, place=place)


class GridMismatchError(MeanShiftPPError, ValueError):
    """Grids of another bandwidth or dimension do not add up.

    Examples
    --------
    >>> from meanshiftpp import Grid
    >>> Grid.empty(0.5, 2) + Grid.empty(1.0, 2)
    Traceback (most recent call last):
    ...
    meanshiftpp.errors.GridMismatchError: grids of bandwidth [0.5 0.5] and [1. 1.] do not add ...
    """


class GridFileError(MeanShiftPPError, ValueError):
    """A file that is not a grid, is damaged, or was written by a newer release.

    Examples
    --------
    >>> from pathlib import Path
    >>> from meanshiftpp import Grid
    >>> _ = Path("notes.grid").write_text("not a grid")
    >>> Grid.load("notes.grid")
    Traceback (most recent call last):
    ...
    meanshiftpp.errors.GridFileError: notes.grid is not a grid file
    """


class FileAccessError(MeanShiftPPError, OSError):
    """A file that cannot be found, read or written.

    Examples
    --------
    >>> from meanshiftpp import Grid
    >>> Grid.load("nowhere.grid")
    Traceback (most recent call last):
    ...
    meanshiftpp.errors.FileAccessError: cannot read 'nowhere.grid': No such file or directory
    """


class MissingExtraError(MeanShiftPPError, ImportError):
    """An optional part of the package is not installed.

    Examples
    --------
    >>> from meanshiftpp._support.extras import need
    >>> need("some_module", "io")
    Traceback (most recent call last):
    ...
    meanshiftpp.errors.MissingExtraError: this needs some_module: pip install "meanshiftpp[io]"
    """
