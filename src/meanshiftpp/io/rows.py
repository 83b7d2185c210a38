"""The rows of a source that are points: a column of weights, and rows with missing values.

A source reads chunks of its features, followed by the weights. `prepared` divides them and takes
rows with missing values out; `written` returns the rows and labels that a writer writes.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from meanshiftpp._support.extras import need
from meanshiftpp.core.chunk import Chunk
from meanshiftpp.errors import InvalidInputError

__all__ = ["NO_LABEL", "Missing", "check_missing", "combined", "prepared", "written"]

Missing = Literal["error", "drop", "label"]
NO_LABEL = -1  # of a row that is not a point


def check_missing(missing: str) -> None:
    """Raise InvalidInputError unless `missing` names a treatment of missing values."""
    if missing not in get_args(Missing):
        expected = " or ".join(map(repr, get_args(Missing)))
        raise InvalidInputError.for_parameter("missing", expected, missing)


def prepared(chunk: Chunk, features: tuple[str, ...], *, weighted: bool, missing: Missing) -> Chunk:
    """Return the points of a chunk, with their weights if it ends with a column of weights."""
    values, weight, mask = chunk.points, None, chunk.mask
    if missing != "error" and values.dtype.kind == "f":
        complete = ~np.isnan(values).any(axis=1)
        if not complete.all():
            values = values[complete]
            mask = combined(chunk.mask, complete)
    if weighted:
        values, weight = values[:, :-1], values[:, -1]
    part = replace(chunk, points=values, mask=mask, columns=features, weight=weight)
    if mask is not chunk.mask:
        rows = chunk.points[:, : len(features)] if chunk.rows is None else chunk.rows
        part = replace(part, rows=rows)
    if weight is not None:
        _check_weights(weight, replace(part, columns=chunk.columns))
    return part


def combined(mask: NDArray[np.bool_] | None, complete: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return which rows are complete, of all rows; `complete` is about those of the mask."""
    if mask is None:
        return complete
    both = mask.copy()
    both[mask] = complete
    return both


def _check_weights(weight: NDArray[Any], chunk: Chunk) -> None:
    """Raise InvalidInputError with the place of a weight that is missing, negative or infinite."""
    bad = np.flatnonzero(~((weight >= 0) & (weight < np.inf)))
    if bad.size:
        row = int(bad[0])
        place = chunk.place(row, len(chunk.columns) - 1)
        value = "missing" if np.isnan(weight[row]) else f"{weight[row]:g}"
        problem = f"is {value}: a weight must be a finite number of at least 0"
        raise InvalidInputError(problem, place=place)


def written(
    chunk: Chunk, labels: NDArray[np.int32], missing: Missing
) -> tuple[Chunk, NDArray[np.int32]]:
    """Return the rows to write and their labels, from the labels of the points."""
    if chunk.mask is None:
        return chunk, labels
    if missing == "drop":
        data = chunk.data
        if data is not None:
            data = _filtered(data, chunk.mask)
        return replace(chunk, data=data, rows=None), labels
    every = np.full(chunk.size, NO_LABEL, np.int32)
    every[chunk.mask] = labels
    return chunk, every


def _filtered(data: Any, mask: NDArray[np.bool_]) -> Any:
    """Return some rows of an Arrow batch or of the records of a point cloud."""
    is_batch = hasattr(data, "schema")
    return data.filter(need("pyarrow", "io").array(mask)) if is_batch else data[mask]
