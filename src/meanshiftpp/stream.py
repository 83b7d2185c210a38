"""Files in, labels out.

A file becomes a `Table`: the points to cluster, the names of their columns, and the table they
came from, so that labels can be written back beside the columns that took no part.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from meanshiftpp.errors import InvalidInputError, need
from meanshiftpp.files import atomic_path, check_readable, check_writable, known_suffix

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Table", "atomic_path", "check_output", "read_points", "write_labels"]

FORMATS = (".csv", ".parquet", ".npy")


@dataclass(frozen=True)
class Table:
    """Points, and where they came from.

    Attributes
    ----------
    points : ndarray of shape (n, d)
        The chosen columns.
    columns : tuple of str
        Their names; those of an array are x0, x1, ...
    table : pyarrow.Table or None
        The whole table with its other columns, or None for an array.

    Examples
    --------
    >>> import numpy as np
    >>> from meanshiftpp.stream import Table
    >>> Table(np.zeros((3, 2)), ("x0", "x1")).columns
    ('x0', 'x1')
    """

    points: NDArray[Any]
    columns: tuple[str, ...]
    table: Any = None


def read_points(path: str | os.PathLike[str], columns: Sequence[str] | None = None) -> Table:
    r"""Read the points in a file.

    Parameters
    ----------
    path : path
        A .csv, .parquet or .npy file.
    columns : sequence of str, default=None
        The columns to take, in this order; None takes all that hold numbers.

    Returns
    -------
    table : Table
        The points and their origin. A .npy file is mapped into memory, not read.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from meanshiftpp.stream import read_points
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "towns.csv"
    ...     _ = file.write_text("name,x,y\nA,1.5,2\nB,3.5,4\n")
    ...     read_points(file).points
    array([[1.5, 2. ],
           [3.5, 4. ]])
    """
    path = Path(path)
    suffix = known_suffix(path, FORMATS)
    check_readable(path)
    return _read_array(path, columns) if suffix == ".npy" else _read_table(path, suffix, columns)


def write_labels(
    path: str | os.PathLike[str], table: Table, labels: NDArray[np.integer[Any]]
) -> str | None:
    """Write labels, with the table they belong to where the format has columns.

    Parameters
    ----------
    path : path
        A .npy file gets the labels alone, a .csv or .parquet file all columns that were read and
        one more.
    table : Table
        What `read_points` returned.
    labels : ndarray of shape (n,)
        One label for each row.

    Returns
    -------
    column : str or None
        The name of the label column: `label`, or `label_2` and so on where the table has it.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from meanshiftpp.stream import Table, write_labels
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "out.csv"
    ...     column = write_labels(file, Table(np.array([[1.5, 2]]), ("x", "y")), np.array([0]))
    ...     print(column, file.read_text().split())
    label ['"x","y","label"', '1.5,2,0']
    """
    path = Path(path)
    suffix = known_suffix(path, FORMATS)
    with atomic_path(path) as target:
        if suffix == ".npy":
            np.save(target, labels)
            return None
        column, labelled = _with_labels(table, labels)
        try:
            _write_table(target, suffix, labelled)
        except need("pyarrow", "io").ArrowException as error:  # a list has no place in a .csv
            raise InvalidInputError(f"cannot write {str(path)!r}: {error}") from error
        return column


def check_output(path: str | os.PathLike[str], formats: Sequence[str] = FORMATS) -> None:
    """Find out before the work whether its result can be written.

    Parameters
    ----------
    path : path
        The file to be. It is neither made nor changed.
    formats : sequence of str, default=(".csv", ".parquet", ".npy")
        The suffixes it may have.

    Raises
    ------
    InvalidInputError
        The suffix is another.
    FileAccessError
        The folder is not there or may not be written to, or `path` is a folder itself.

    Examples
    --------
    >>> from meanshiftpp.stream import check_output
    >>> check_output("labels.txt")
    Traceback (most recent call last):
        ...
    meanshiftpp.errors.InvalidInputError: 'labels.txt' must end in .csv, .parquet or .npy
    """
    known_suffix(path, formats)
    check_writable(path)


def _read_array(path: Path, columns: Sequence[str] | None) -> Table:
    try:
        points = np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, EOFError, OSError) as error:
        raise InvalidInputError(f"{str(path)!r} is no .npy array of numbers: {error}") from error
    if not isinstance(points, np.ndarray) or points.ndim != 2 or points.dtype.kind not in "fiu":
        what = f"{points.dtype} of shape {points.shape}" if hasattr(points, "shape") else "archive"
        raise InvalidInputError(f"{str(path)!r} must hold a 2-D array of numbers, not {what}")
    names = [f"x{j}" for j in range(points.shape[1])]
    if columns is not None:
        points = points[:, [_position(name, names, path) for name in columns]]
    return _not_empty(Table(points, tuple(columns or names)), path)


def _read_table(path: Path, suffix: str, columns: Sequence[str] | None) -> Table:
    arrow = need("pyarrow", "io")
    try:
        table = _read_csv(path) if suffix == ".csv" else _read_parquet(path)
    except (arrow.ArrowException, OSError, UnicodeDecodeError) as error:
        raise InvalidInputError(f"{str(path)!r} is no {suffix} table: {error}") from error
    names = table.column_names
    if columns is None:
        chosen = [j for j, field in enumerate(table.schema) if _is_number(field.type)]
    else:
        chosen = [_position(name, names, path) for name in columns]
    for j in chosen:
        if not _is_number(table.schema[j].type):
            kind = table.schema[j].type
            raise InvalidInputError(f"{str(path)!r}: column {names[j]!r} holds {kind}, not numbers")
    if not chosen and table.num_rows:
        raise InvalidInputError(f"{str(path)!r} has no column of numbers, only {_listed(names)}")
    points = np.empty((table.num_rows, 0))
    if chosen:
        points = _stack([_numbers(table.column(j)) for j in chosen], [names[j] for j in chosen])
    return _not_empty(Table(points, tuple(names[j] for j in chosen), table), path)


def _read_csv(path: Path) -> Any:
    csv = need("pyarrow.csv", "io")
    try:
        table = csv.read_csv(path)
    except need("pyarrow", "io").ArrowInvalid:
        # Types are guessed from the first block: one that is the whole file guesses right.
        block = min(path.stat().st_size + 1, 2**31 - 1)
        table = csv.read_csv(path, read_options=csv.ReadOptions(block_size=block))
    names = table.column_names
    if all(_reads_as_number(name) for name in names) and names != [*map(str, range(len(names)))]:
        raise InvalidInputError(
            f"the first line of {str(path)!r} must name its columns, but holds {_listed(names)}"
        )
    return table


def _read_parquet(path: Path) -> Any:
    return need("pyarrow.parquet", "io").read_table(path)


def _write_table(path: Path, suffix: str, table: Any) -> None:
    if suffix == ".csv":
        need("pyarrow.csv", "io").write_csv(table, path)
    else:
        need("pyarrow.parquet", "io").write_table(table, path)


def _reads_as_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _is_number(kind: Any) -> bool:
    types = need("pyarrow", "io").types
    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind))


def _numbers(column: Any) -> NDArray[Any]:
    arrow = need("pyarrow", "io")
    if arrow.types.is_decimal(column.type):
        column = column.cast(arrow.float64())
    numbers: NDArray[Any] = column.to_numpy()  # a missing value becomes NaN
    return numbers


def _stack(columns: list[NDArray[Any]], names: list[str]) -> NDArray[Any]:
    """Put columns side by side; whole numbers that their common type cannot hold are refused."""
    points = np.column_stack(columns)
    for j, (column, name) in enumerate(zip(columns, names, strict=True)):
        if points.dtype.kind == "f" and column.dtype.kind in "iu" and column.dtype.itemsize == 8:
            bad = np.flatnonzero(np.abs(points[:, j]) >= 2**53)
            if bad.size:
                raise InvalidInputError(
                    f"column {name!r} holds {column[bad[0]]} in row {bad[0]}, which float64 cannot "
                    "be relied on to hold; leave the column out or subtract an offset"
                )
    return points


def _position(name: str, names: Sequence[str], path: Path) -> int:
    found = [j for j, other in enumerate(names) if other == name]
    if len(found) != 1:
        how = "no column" if not found else f"{len(found)} columns"
        raise InvalidInputError(f"{str(path)!r} has {how} {name!r}, only {_listed(names)}")
    return found[0]


def _listed(names: Sequence[str], most: int = 12) -> str:
    shown = ", ".join(map(repr, names[:most]))
    return f"{shown} and {len(names) - most} more" if len(names) > most else shown


def _not_empty(table: Table, path: Path) -> Table:
    if table.points.size == 0:
        raise InvalidInputError(f"{str(path)!r} has no rows")
    return table


def _with_labels(table: Table, labels: NDArray[np.integer[Any]]) -> tuple[str, Any]:
    """Return the name of the label column, and the table with it."""
    source = table.table
    if source is None:
        native = table.points.dtype.newbyteorder("=")
        arrays = [np.ascontiguousarray(column, native) for column in table.points.T]
        source = need("pyarrow", "io").table(arrays, names=list(table.columns))
    name, number = "label", 1
    while name in source.column_names:
        number += 1
        name = f"label_{number}"
    return name, source.append_column(name, need("pyarrow", "io").array(labels))
