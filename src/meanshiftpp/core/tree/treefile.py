"""A tree as bytes: an .npz archive of its leaves and splits, validated when it is read."""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import fields
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from meanshiftpp._kernel import Lattice
from meanshiftpp._support.checks import as_positive, as_whole
from meanshiftpp.core.tree.leaves import Leaves
from meanshiftpp.core.tree.split import Split
from meanshiftpp.core.tree.tree import Tree
from meanshiftpp.errors import GridFileError

_FORMAT, _VERSION = "meanshiftpp tree", 3
_LATTICE = {  # arrays with one value per feature
    "cell_size": np.float64,
    "cells_per_period": np.int64,
    "low": np.int64,
    "extent": np.int64,
    "shift": np.int64,
    "scale": np.float64,
    "units": np.float64,
    "constants": np.float64,
}
_LEAVES = {
    "ends": np.float64,
    "codes": np.uint64,
    "bits": np.uint16,
    "positions": np.float64,
    "weights": np.int64,
    "grain": np.float64,
}
_TREE = {
    "sizes": np.float64,
    "labels": np.int64,
    "radii": np.float64,
    "hosts": np.int64,
    "far": np.float64,
}
_NUMBERS = ("window", "n_levels", "rows", "factor", "strictness")
_MAX_RADIUS = 1100  # log2
_MAX_WEIGHT = 1 << 31  # of a leaf in the kernel
_SPLIT = {each.name: int if each.type == "int" else float for each in fields(Split)}


def to_bytes(tree: Tree) -> bytes:
    """Return a tree as bytes."""
    leaves = tree.leaves
    content: dict[str, Any] = {name: getattr(leaves.lattice, name) for name in _LATTICE}
    content |= {name: getattr(leaves, name) for name in _LEAVES}
    content |= {name: getattr(tree, name) for name in (*_TREE, *_NUMBERS)}
    content |= {
        f"split {name}": np.array([getattr(split, name) for split in tree.splits], np.float64)
        for name in _SPLIT
    }
    file = io.BytesIO()
    np.savez(file, format=np.array(_FORMAT), version=np.array(_VERSION), **content)
    return file.getvalue()


def from_bytes(data: bytes, path: object = "tree") -> Tree:
    """Return the tree of `to_bytes`; `path` names the file of the bytes in errors."""
    try:
        with np.load(io.BytesIO(data), allow_pickle=False) as archive:
            content = {name: archive[name] for name in archive.files}
        if str(content["format"]) != _FORMAT:
            raise ValueError("it is of another format")
        if int(content["version"]) != _VERSION:
            raise ValueError(f"it has version {int(content['version'])}, not {_VERSION}")
        return _tree(content)
    except Exception as error:  # a damaged archive can raise many kinds of exceptions
        raise GridFileError.for_file(path, f"has no valid tree: {error}") from error


def _tree(content: dict[str, NDArray[Any]]) -> Tree:
    d, m = len(content["units"]), len(content["labels"])
    if not d or not m:
        raise ValueError("it is empty")
    lattice = Lattice(**_arrays(content, _LATTICE, {}, d))
    shapes = {name: content[name].shape for name in ("ends", "codes")}
    shapes |= {"positions": (m, d), "grain": (3, d)}
    leaves = Leaves(lattice, **_arrays(content, _LEAVES, shapes, m))
    leaves.find(np.empty((0, d)), 1)  # the kernel checks codes and ends
    arrays = _arrays(content, _TREE, {}, m)
    _check_leaves(leaves, **arrays)
    numbers = {name: float(content[name]) for name in ("rows", "factor", "strictness")}
    if numbers["rows"] > leaves.weights.sum():
        raise ValueError("its leaves are worth more rows than they count")
    return Tree(
        leaves,
        **arrays,
        rows=as_positive(numbers["rows"], "rows"),
        factor=as_positive(numbers["factor"], "factor"),
        strictness=as_positive(numbers["strictness"], "strictness"),
        window=as_whole(int(content["window"]), "window", 1),
        n_levels=as_whole(int(content["n_levels"]), "n_levels", 0),
        splits=_splits(content, arrays["labels"]),
    )


def _arrays(
    content: dict[str, NDArray[Any]],
    kinds: dict[str, Any],
    shapes: Mapping[str, tuple[int, ...]],
    n: int,
) -> dict[str, Any]:
    return {
        name: _array(content, name, shapes.get(name, (n,)), kind) for name, kind in kinds.items()
    }


def _array(
    content: dict[str, NDArray[Any]], name: str, shape: tuple[int, ...], kind: Any
) -> NDArray[Any]:
    values = content[name]
    if values.shape != shape or values.dtype != kind:
        raise ValueError(f"{name} is an array of shape {values.shape} of {values.dtype}")
    if not np.isfinite(values).all():
        raise ValueError(f"{name} is not finite")
    return np.ascontiguousarray(values)


def _check_leaves(
    leaves: Leaves,
    sizes: NDArray[np.float64],
    labels: NDArray[np.int64],
    radii: NDArray[np.float64],
    hosts: NDArray[np.int64],
    far: NDArray[np.float64],
) -> None:
    codes = [tuple(code) for code in leaves.codes.tolist()]
    if leaves.grain.any() and leaves.grain[0].min() <= 0:
        raise ValueError("the widths of its cells are not positive")
    if leaves.weights.min() < 1 or leaves.weights.max() > _MAX_WEIGHT:
        raise ValueError("the weights of its leaves are out of range")
    if far.min() < 0 or (far > sizes).any():
        raise ValueError("its sizes must not be negative")
    if any(a >= b for a, b in pairwise(codes)) or leaves.bits.max() > 64 * leaves.codes.shape[1]:
        raise ValueError("its leaves are not in order")
    if labels.min() < 0 or labels.max() >= len(labels) or abs(radii).max() > _MAX_RADIUS:
        raise ValueError("its labels or radii are out of range")
    hosted = hosts[hosts >= 0]
    if hosts.min() < -1 or hosts.max() >= len(hosts) or (hosts[hosted] != hosted).any():
        raise ValueError("a leaf has a host that is not there")


def _splits(content: dict[str, Any], labels: NDArray[np.int64]) -> tuple[Split, ...]:
    n = len(content["split cluster"])
    columns = [_array(content, f"split {name}", (n,), np.float64).tolist() for name in _SPLIT]
    splits = tuple(_split(row) for row in zip(*columns, strict=True))
    clusters = set(labels.tolist())
    if not all(0 <= leaf < len(labels) for split in splits for leaf in (split.joins, split.top)):
        raise ValueError("a split refers to a leaf that is not there")
    divided = {split.cluster for split in splits}
    named = divided | {split.parent for split in splits}
    if named - clusters or not len(divided) == len(splits) == len(clusters) - 1:
        raise ValueError("its splits and its labels do not fit together")
    if any(split.window < 1 or split.dimension <= 0 for split in splits):
        raise ValueError("a split has an impossible window or dimension")
    return splits


def _split(row: tuple[float, ...]) -> Split:
    pairs = zip(_SPLIT.items(), row, strict=True)
    values: dict[str, Any] = {name: kind(value) for (name, kind), value in pairs}
    return Split(**values)
