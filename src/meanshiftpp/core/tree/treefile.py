"""A tree as bytes: an .npz archive of its arrays and splits, validated when it is read.

A saved model stores its tree, because a tree that was grown from a sample of the points cannot be
grown again from the grid.
"""

from __future__ import annotations

import io
from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from meanshiftpp._support.checks import as_positive, as_whole
from meanshiftpp.core.sample import Sample
from meanshiftpp.core.tree.split import Split
from meanshiftpp.core.tree.tree import Tree
from meanshiftpp.errors import GridFileError

_FORMAT, _VERSION = "meanshiftpp tree", 1
_TYPES = {  # of the arrays of a tree: number of axes and type
    "rows": (2, np.float64),
    "counts": (1, np.int64),
    "hashes": (1, np.uint64),
    "labels": (1, np.int64),
    "radii": (1, np.float64),
    "_points": (2, np.float64),
    "_counts": (1, np.int64),
    "_period": (1, np.float64),
    "_units": (2, np.float64),
}
_MAX_COUNT = 1 << 31
_SPLIT = {each.name: int if each.type == "int" else float for each in fields(Split)}


def to_bytes(tree: Tree) -> bytes:
    """Return a tree as bytes."""
    arrays = tree.sample._asdict() | vars(tree)
    content: dict[str, Any] = {name: arrays[name] for name in _TYPES}
    content |= {
        f"split {name}": np.array([getattr(split, name) for split in tree.splits], np.float64)
        for name in _SPLIT
    }
    file = io.BytesIO()
    np.savez(
        file,
        format=np.array(_FORMAT),
        version=np.array(_VERSION),
        strictness=np.array(tree.strictness),
        window=np.array(tree.window),
        **content,
    )
    return file.getvalue()


def from_bytes(data: bytes, path: object = "tree") -> Tree:
    """Return the tree of `to_bytes`; `path` names the file of the bytes in errors."""
    try:
        with np.load(io.BytesIO(data), allow_pickle=False) as archive:
            content = {name: archive[name] for name in archive.files}
        if str(content["format"]) != _FORMAT:
            raise ValueError("it is of another format")
        if int(content["version"]) > _VERSION:
            raise ValueError(f"it has version {int(content['version'])}; upgrade meanshiftpp")
        arrays = {name: _array(content[name], name, *kind) for name, kind in _TYPES.items()}
        _check_shapes(arrays)
        _check_values(arrays)
        strictness = as_positive(float(content["strictness"]), "strictness")
        window = as_whole(int(content["window"]), "window", 1)
        sample = Sample(*(arrays.pop(name) for name in Sample._fields))
        splits = _splits(content, len(sample.rows), arrays["labels"])
    except Exception as error:  # a damaged archive can raise many kinds of exceptions
        raise GridFileError.for_file(path, f"has no valid tree: {error}") from error
    return Tree(sample=sample, splits=splits, strictness=strictness, window=window, **arrays)


def _array(values: NDArray[Any], name: str, n_axes: int, kind: Any) -> NDArray[Any]:
    if values.ndim != n_axes or values.dtype != kind:
        raise ValueError(f"{name} is an array of {values.ndim} axes of {values.dtype}")
    if not np.isfinite(values).all():
        raise ValueError(f"{name} is not finite")
    return np.ascontiguousarray(values)


def _check_shapes(arrays: dict[str, NDArray[Any]]) -> None:
    n_rows, n_features = arrays["rows"].shape
    shapes = {
        "rows": (n_rows, n_features),
        "_points": (n_rows, n_features),
        "_period": (n_features,),
        "_units": (len(arrays["_units"]), n_features),
    }
    fit = all(array.shape == shapes.get(name, (n_rows,)) for name, array in arrays.items())
    if not fit or not n_rows or len(arrays["_units"]) not in (1, 2):
        raise ValueError("its arrays do not fit together")


def _check_values(arrays: dict[str, NDArray[Any]]) -> None:
    for name in ("counts", "_counts"):
        if arrays[name].min() < 1 or arrays[name].max() > _MAX_COUNT:
            raise ValueError(f"{name} must be from 1 to {_MAX_COUNT:,}")
    points, period, units = (arrays[name] for name in ("_points", "_period", "_units"))
    wraps = period > 0
    if period.min() < 0 or (points[:, wraps] < 0).any() or (points > period)[:, wraps].any():
        raise ValueError("its points are outside the period")
    if units.min() < 0 or not (units > 0).any(axis=1).all():
        raise ValueError("its units must be positive")
    if arrays["labels"].min() < 0:
        raise ValueError("its labels must not be negative")


def _splits(content: dict[str, Any], n_rows: int, labels: NDArray[np.int64]) -> tuple[Split, ...]:
    columns = [_array(content[f"split {name}"], name, 1, np.float64).tolist() for name in _SPLIT]
    splits = tuple(_split(row) for row in zip(*columns, strict=True))
    clusters = set(labels.tolist())
    if not all(0 <= split.joins < n_rows for split in splits):
        raise ValueError("a split refers to a row that is not there")
    if {split.cluster for split in splits} - clusters or len(splits) + 1 != len(clusters):
        raise ValueError("its splits and its labels do not fit together")
    return splits


def _split(row: tuple[float, ...]) -> Split:
    pairs = zip(_SPLIT.items(), row, strict=True)
    values: dict[str, Any] = {name: kind(value) for (name, kind), value in pairs}
    return Split(**values)
