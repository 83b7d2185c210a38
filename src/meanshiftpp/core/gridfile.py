"""The grid file: an .npz archive, written atomically and fully validated on load.

A file holds the name of the format, its version, and one array for each field of a grid. A file of
a newer release raises an error that names both versions. A checkpoint is a grid file with a note;
a file may also hold the names of the columns that its points came from.
"""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from meanshiftpp._kernel import COUNT_LIMIT, MAX_CELL, MAX_FEATURES, OFFSET_BITS
from meanshiftpp._support.checks import as_bandwidth
from meanshiftpp._support.files import atomic_path, check_readable
from meanshiftpp.errors import GridFileError, InvalidInputError

_FORMAT, _VERSION = "meanshiftpp grid", 1
_ZIP = b"PK\x03\x04"  # the first bytes of an archive
_ADVICE = {
    "grid file": "pass one that meanshiftpp wrote",
    "checkpoint": "name another file",
}
_FILE_NAMES = {"cells_per_period": "period"}  # fields with another name in the file
_FIELD_NAMES = {name: field for field, name in _FILE_NAMES.items()}
_TYPES = {
    "bandwidth": np.float64,
    "cells": np.int64,
    "counts": np.uint64,
    "sums": np.uint64,
    "period": np.int64,
}


def write(
    path: str | os.PathLike[str],
    fields: Mapping[str, Any],
    note: str | None = None,
    columns: Sequence[str] | None = None,
) -> None:
    """Write the fields of a grid by name, with a note and column names if given."""
    content: dict[str, Any] = {"format": np.array(_FORMAT), "version": np.array(_VERSION)}
    content |= {_FILE_NAMES.get(name, name): value for name, value in fields.items()}
    if note is not None:
        content["note"] = np.array(note)
    if columns is not None:
        _check_columns(columns, len(fields["bandwidth"]))
        content["columns"] = np.array(columns, dtype=np.str_)
    with atomic_path(path) as target, target.open("wb") as file:
        np.savez(file, **content)


def _check_columns(columns: Sequence[str], n_features: int) -> None:
    strings = not isinstance(columns, str) and all(isinstance(name, str) for name in columns)
    if not strings or len(columns) != n_features:
        expected = f"one name for each of the {n_features} features"
        raise InvalidInputError.for_parameter("columns", expected, columns)


def read(
    path: str | os.PathLike[str], kind: str = "grid file"
) -> tuple[dict[str, Any], str | None]:
    """Read and validate a grid file; return its fields and its note. `kind` names it in errors."""
    fields = _read_archive(path, kind)
    if str(fields.get("format")) != _FORMAT or "version" not in fields:
        raise GridFileError.for_file(path, f"is not a {kind}; {_ADVICE[kind]}")
    return _checked(fields, path), str(fields["note"]) if "note" in fields else None


def columns_of(path: str | os.PathLike[str]) -> list[str] | None:
    """Read the column names of a grid file; None if it has none."""
    fields = _read_archive(path, "grid file", only=("columns", "bandwidth"))
    names, bandwidth = fields.get("columns"), fields.get("bandwidth")
    if names is None or bandwidth is None:
        return None
    if names.dtype.kind != "U" or names.ndim != 1 or names.shape != bandwidth.shape:
        return None
    return [str(name) for name in names]


def _read_archive(
    path: str | os.PathLike[str], kind: str, only: Sequence[str] | None = None
) -> dict[str, NDArray[Any]]:
    """Read the arrays of a file, all or those named in `only`."""
    check_readable(path)
    with Path(path).open("rb") as file:
        if file.read(len(_ZIP)) != _ZIP:
            raise GridFileError.for_file(path, f"is not a {kind}; {_ADVICE[kind]}")
        file.seek(0)
        return _arrays(file, path, kind, only)


def _arrays(
    file: BinaryIO, path: object, kind: str, only: Sequence[str] | None
) -> dict[str, NDArray[Any]]:
    try:
        with np.load(file, allow_pickle=False) as archive:
            names = [name for name in archive.files if not only or name in only]
            return {name: _as_array(archive[name]) for name in names}
    except Exception as error:  # a damaged archive can raise many kinds of exceptions
        problem = f"is not a {kind}, or is damaged; {_ADVICE[kind]}"
        raise GridFileError.for_file(path, problem) from error


def _as_array(value: Any) -> NDArray[Any]:
    """Return an array of an archive, also of a damaged one, which is bytes; check its characters.

    NumPy reads any number as a character, and Python fails later on those above the last one.
    """
    array = np.asarray(value)
    if array.dtype.kind == "U" and array.dtype.itemsize:
        codes = np.ascontiguousarray(array).view(np.dtype("u4").newbyteorder(array.dtype.byteorder))
        if (codes > sys.maxunicode).any():
            raise ValueError("it holds characters that do not exist")
    return array


def _checked(fields: dict[str, NDArray[Any]], path: object) -> dict[str, Any]:
    """Validate the fields of a file and return those of a grid."""
    version = fields["version"]
    if version.shape != () or version.dtype.kind not in "iu" or version < 1:
        raise _damaged(path, f"its version is {version!r}")
    if int(version) > _VERSION:
        raise GridFileError.for_file(
            path,
            f"has format version {int(version)}, this release reads up to {_VERSION}; "
            "upgrade meanshiftpp",
        )
    try:
        grid = {name: _typed(fields, name, dtype) for name, dtype in _TYPES.items()}
        unit = _typed(fields, "unit", np.float64).item()
        # A file without the field does not tell whether its weights are whole.
        whole = _typed(fields, "whole", np.bool_).item() if "whole" in fields else unit == 1
        if grid["cells"].ndim != 2:
            raise ValueError(f"its cells have {grid['cells'].ndim} dimensions, not 2")
        if not 1 <= grid["cells"].shape[1] <= MAX_FEATURES:
            raise ValueError(f"it has {grid['cells'].shape[1]} features")
        if grid["bandwidth"].ndim != 1:
            raise ValueError(f"its bandwidth has {grid['bandwidth'].ndim} dimensions, not 1")
        as_bandwidth(grid["bandwidth"], grid["cells"].shape[1])
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise _damaged(path, str(error)) from error
    _check_content(grid["cells"], grid["counts"], grid["sums"], grid["period"], path)
    with np.errstate(over="ignore"):
        if not np.isfinite(grid["period"] * grid["bandwidth"]).all():
            raise _damaged(path, "it holds a period that is not finite")
    _check_weights(grid["counts"], unit, whole, path)
    content: dict[str, Any] = {_FIELD_NAMES.get(name, name): grid[name] for name in grid}
    return content | {"unit": unit, "whole": whole}


def _typed(fields: dict[str, NDArray[Any]], name: str, dtype: type) -> NDArray[Any]:
    """Return an array of a file, which must be of the type it was written with."""
    if fields[name].dtype.kind != np.dtype(dtype).kind:
        raise TypeError(f"{name!r} holds {fields[name].dtype}, not {np.dtype(dtype)}")
    return np.asarray(fields[name], dtype, order="C")


def _check_content(
    cells: NDArray[np.int64],
    counts: NDArray[np.uint64],
    sums: NDArray[np.uint64],
    cells_per_period: NDArray[np.int64],
    path: object,
) -> None:
    shapes = sums.shape, counts.shape, cells_per_period.shape
    if shapes != (cells.shape, cells.shape[:1], cells.shape[1:]):
        raise _damaged(path, "the shapes of its arrays do not match")
    full = counts << np.uint64(OFFSET_BITS)
    valid = (
        (counts >= 1).all()
        and (counts <= COUNT_LIMIT).all()
        and (sums <= full[:, None]).all()
        and (cells >= -MAX_CELL).all()
        and (cells <= MAX_CELL).all()
        and (cells_per_period >= 0).all()
        and (cells_per_period < MAX_CELL).all()
        and ((cells_per_period == 0) | ((cells >= 0) & (cells < cells_per_period))).all()
    )
    if not valid or not _strictly_rising(cells):
        raise _damaged(path, "it holds impossible counts, sums or cells")


def _check_weights(counts: NDArray[np.uint64], unit: float, whole: bool, path: object) -> None:
    """Check that the unit is a power of two, 1 for whole weights, and that weights are finite."""
    finite = math.isfinite(float(counts.sum(dtype=np.float64)) * unit)
    if math.frexp(unit)[0] != 0.5 or not finite or (whole and unit != 1):
        raise _damaged(path, f"it holds impossible weights of unit {unit:g}")


def _damaged(path: object, problem: str) -> GridFileError:
    return GridFileError.for_file(path, f"is damaged: {problem}; build it again from the data")


def _strictly_rising(cells: NDArray[np.int64]) -> bool:
    """Return whether the rows are distinct and in lexicographic order."""
    step = np.diff(cells, axis=0)
    first = (step != 0).argmax(axis=1) if len(step) else np.empty(0, np.intp)
    return bool((step[np.arange(len(step)), first] > 0).all())
