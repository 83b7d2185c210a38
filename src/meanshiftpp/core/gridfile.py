"""The grid file: an archive of the fields of a grid, fully validated on load.

A checkpoint is a grid file with a note; a file may also hold the names of the columns that its
points came from.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from meanshiftpp._kernel import COUNT_LIMIT, MAX_CELL, MAX_FEATURES, OFFSET_BITS
from meanshiftpp._support.checks import as_bandwidth
from meanshiftpp.core import archive
from meanshiftpp.core.archive import damaged, typed
from meanshiftpp.errors import InvalidInputError

FORMAT, _VERSION = "meanshiftpp grid", 1
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
    content = {_FILE_NAMES.get(name, name): value for name, value in fields.items()}
    if note is not None:
        content["note"] = np.array(note)
    if columns is not None:
        _check_columns(columns, len(fields["bandwidth"]))
        content["columns"] = np.array(columns, dtype=np.str_)
    archive.write(path, FORMAT, _VERSION, content)


def _check_columns(columns: Sequence[str], n_features: int) -> None:
    strings = not isinstance(columns, str) and all(isinstance(name, str) for name in columns)
    if not strings or len(columns) != n_features:
        expected = f"one name for each of the {n_features} features"
        raise InvalidInputError.for_parameter("columns", expected, columns)


def read(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read and validate a grid file; return the fields of the grid."""
    arrays = archive.read(path, "grid file")
    if not archive.is_of(arrays, FORMAT):
        raise archive.foreign(path, "grid file")
    return fields_of(arrays, path)


def columns_of(path: str | os.PathLike[str]) -> list[str] | None:
    """Read the column names of a grid file; None if it has none."""
    fields = archive.read(path, "grid file", only=("columns", "bandwidth"))
    names, bandwidth = fields.get("columns"), fields.get("bandwidth")
    if names is None or bandwidth is None:
        return None
    if names.dtype.kind != "U" or names.ndim != 1 or names.shape != bandwidth.shape:
        return None
    return [str(name) for name in names]


def fields_of(arrays: dict[str, NDArray[Any]], path: object) -> dict[str, Any]:
    """Validate the arrays of a file and return the fields of its grid."""
    archive.check_version(arrays, _VERSION, path)
    try:
        grid = {name: typed(arrays, name, dtype) for name, dtype in _TYPES.items()}
        unit = typed(arrays, "unit", np.float64).item()
        # A file without the field does not tell whether its weights are whole.
        whole = typed(arrays, "whole", np.bool_).item() if "whole" in arrays else unit == 1
        if grid["cells"].ndim != 2:
            raise ValueError(f"its cells have {grid['cells'].ndim} dimensions, not 2")
        if not 1 <= grid["cells"].shape[1] <= MAX_FEATURES:
            raise ValueError(f"it has {grid['cells'].shape[1]} features")
        if grid["bandwidth"].ndim != 1:
            raise ValueError(f"its bandwidth has {grid['bandwidth'].ndim} dimensions, not 1")
        as_bandwidth(grid["bandwidth"], grid["cells"].shape[1])
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise damaged(path, str(error)) from error
    _check_content(grid["cells"], grid["counts"], grid["sums"], grid["period"], path)
    with np.errstate(over="ignore"):
        if not np.isfinite(grid["period"] * grid["bandwidth"]).all():
            raise damaged(path, "it holds a period that is not finite")
    _check_weights(grid["counts"], unit, whole, path)
    content: dict[str, Any] = {_FIELD_NAMES.get(name, name): grid[name] for name in grid}
    return content | {"unit": unit, "whole": whole}


def _check_content(
    cells: NDArray[np.int64],
    counts: NDArray[np.uint64],
    sums: NDArray[np.uint64],
    cells_per_period: NDArray[np.int64],
    path: object,
) -> None:
    shapes = sums.shape, counts.shape, cells_per_period.shape
    if shapes != (cells.shape, cells.shape[:1], cells.shape[1:]):
        raise damaged(path, "the shapes of its arrays do not match")
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
        raise damaged(path, "it holds impossible counts, sums or cells")


def _check_weights(counts: NDArray[np.uint64], unit: float, whole: bool, path: object) -> None:
    """Check that the unit is a power of two, 1 for whole weights, and that weights are finite."""
    finite = math.isfinite(float(counts.sum(dtype=np.float64)) * unit)
    if math.frexp(unit)[0] != 0.5 or not finite or (whole and unit != 1):
        raise damaged(path, f"it holds impossible weights of unit {unit:g}")


def _strictly_rising(cells: NDArray[np.int64]) -> bool:
    """Return whether the rows are distinct and in lexicographic order."""
    step = np.diff(cells, axis=0)
    first = (step != 0).argmax(axis=1) if len(step) else np.empty(0, np.intp)
    return bool((step[np.arange(len(step)), first] > 0).all())
