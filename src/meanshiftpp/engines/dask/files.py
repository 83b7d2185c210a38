"""Data frames that are exactly the rows of Parquet files, which tasks read without Dask.

A fit takes 1.5 times as long if Dask reads the files, and its workers import pandas for it. Tasks
may read the files themselves only if they read the same rows and values, so `find_scan` examines
the optimised expression of the frame. It returns files only if this expression is one scan of all
rows of local Parquet files. Anything else, also anything unexpected, is left to Dask.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from meanshiftpp.engines.dask.tasks import Part

_SCAN = "dask.dataframe.dask_expr.io.parquet.ReadParquetFSSpec"
_LOCAL = "fsspec.implementations.local.LocalFileSystem"
_UNSET = ("filters", "categories", "index", "_partitions", "_series")
_SETTINGS = {"dtype_backend": None}  # of a call of read_parquet without further arguments


class Scan(NamedTuple):
    """The columns to read, their one type, and the parts of files for each task."""

    columns: list[str]
    kind: str
    tasks: list[list[Part]]


def find_scan(X: Any) -> Scan | None:
    """Return the files whose rows are those of a data frame, or None if this is not certain."""
    try:
        return _scan(X)
    except (AttributeError, LookupError, TypeError, ValueError):
        # Another release of Dask has other expressions.
        return None


def _scan(X: Any) -> Scan | None:
    expression = X.optimize(fuse=False).expr
    if _class(expression) != _SCAN or expression.operand("kwargs") != _SETTINGS:
        return None
    if any(expression.operand(name) not in (None, False) for name in _UNSET):
        return None
    files, plan = expression._dataset_info, expression._plan
    if _class(files["fs"]) != _LOCAL or files["partition_names"] or plan["empty"]:
        return None
    # Dask converts columns of several types to a common one, which may round.
    columns, kinds = list(X.columns), {str(kind) for kind in X.dtypes}
    if len(kinds) != 1 or not all(isinstance(name, str) and "." not in name for name in columns):
        return None
    (kind,) = kinds
    if np.dtype(kind).kind not in "iuf" or np.dtype(kind).itemsize < 4:
        return None
    pieces = [part if isinstance(part, list) else [part] for part in plan["parts"]]
    return Scan(columns, kind, [[_part(each["piece"]) for each in parts] for parts in pieces])


def _part(piece: Any) -> Part:
    path, row_groups, keys = piece
    if keys or not isinstance(path, str):
        raise ValueError("the columns are not all in the file")
    groups = None if row_groups in (None, [None]) else tuple(int(group) for group in row_groups)
    return Part(path, groups)


def _class(value: Any) -> str:
    return f"{type(value).__module__}.{type(value).__qualname__}"
