"""The file of a tally: an archive of its rows or cells, fully validated on load."""

from __future__ import annotations

import math
import os
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from meanshiftpp._kernel import MAX_FEATURES, Marginal
from meanshiftpp._support.checks import Weights, as_points, as_weights
from meanshiftpp.core import archive
from meanshiftpp.core.archive import typed
from meanshiftpp.core.tree.tally import Part, Tally

FORMAT, _VERSION = "meanshiftpp tally", 1
_MARGINAL = {"level": np.int64, "size": np.int64, "low": np.float64, "high": np.float64}


def write(path: str | os.PathLike[str], tally: Tally, note: str) -> None:
    """Write a tally with a note."""
    part = tally.one_part()
    content: dict[str, Any] = {"note": note, "period": tally.period, "points": part.points}
    if part.squares is None:
        content |= {} if part.weights is None else {"weights": part.weights.values}
    else:
        assert part.weights is not None  # cells have counts
        content |= {"counts": part.weights.counts, "unit": part.unit, "whole": part.whole}
        content |= {"squares": part.squares, "rows": tally.n_rows, "exact": tally.exact}
        content |= {"coarser": tally.coarser, **_of_marginals(tally.marginals or [])}
    archive.write(path, FORMAT, _VERSION, content)


def _of_marginals(marginals: list[Marginal]) -> dict[str, Any]:
    return {
        "marginal level": [m.level for m in marginals],
        "marginal size": [len(m) for m in marginals],
        "marginal low": np.array([m.low for m in marginals], np.float64),
        "marginal high": np.array([m.high for m in marginals], np.float64),
        "marginal cells": np.concatenate([m.cells for m in marginals]),
        "marginal counts": np.concatenate([m.counts for m in marginals]),
    }


def tally_of(arrays: dict[str, NDArray[Any]], path: object) -> Tally:
    """Validate the arrays of a file and return their tally."""
    archive.check_version(arrays, _VERSION, path)
    try:
        period, points = typed(arrays, "period", np.float64), arrays["points"]
        if period.ndim != 1 or not 1 <= len(period) <= MAX_FEATURES or points.ndim != 2:
            raise ValueError("its points and periods are not those of features")
        if points.shape[1] != len(period) or points.dtype.kind not in "biuf":
            raise ValueError(f"its points are an array of shape {points.shape} of {points.dtype}")
        if not (np.isfinite(period) & (period >= 0)).all() or not np.isfinite(points).all():
            raise ValueError("its points and periods must be finite")
        return _cells(arrays, period) if "counts" in arrays else _rows(arrays, period)
    except (KeyError, TypeError, ValueError, IndexError, OverflowError) as error:
        raise archive.damaged(path, str(error)) from error


def _rows(arrays: dict[str, NDArray[Any]], period: NDArray[np.float64]) -> Tally:
    part = Part(as_points(arrays["points"]))
    if "weights" in arrays:
        weights = as_weights(arrays["weights"], part.points)
        if not (weights.counts > 0).all():
            raise ValueError("its weights must be positive")
        part = replace(part, weights=weights)
    return Tally(period, (part,) if len(part.points) else (), part.n_rows)


def _cells(arrays: dict[str, NDArray[Any]], period: NDArray[np.float64]) -> Tally:
    points, counts = typed(arrays, "points", np.float64), typed(arrays, "counts", np.uint64)
    unit, squares = (typed(arrays, name, np.float64).item() for name in ("unit", "squares"))
    whole, exact = (typed(arrays, name, np.bool_).item() for name in ("whole", "exact"))
    rows, coarser = (typed(arrays, name, np.int64).item() for name in ("rows", "coarser"))
    if counts.shape != points.shape[:1] or not len(counts) or not (counts > 0).all():
        raise ValueError("its counts are not those of its cells")
    total = float(counts.sum(dtype=np.float64))
    if total >= 2.0**63 or not total * unit < math.inf:
        raise ValueError("its counts are too large to be added")
    if math.frexp(unit)[0] != 0.5 or (whole and unit != 1) or not 0 < squares < math.inf:
        raise ValueError(f"it holds impossible weights of unit {unit:g}")
    if rows < 1 or not 0 <= coarser <= 1100:
        raise ValueError("it holds impossible numbers of rows or bits")
    part = Part(points, Weights(counts, counts, unit, whole), squares)
    return Tally(period, (part,), rows, _marginals(arrays, period), coarser, exact)


def _marginals(arrays: dict[str, NDArray[Any]], period: NDArray[np.float64]) -> list[Marginal]:
    numbers = {name: typed(arrays, f"marginal {name}", kind) for name, kind in _MARGINAL.items()}
    cells, counts = (
        typed(arrays, f"marginal {name}", kind)
        for name, kind in (("cells", np.int64), ("counts", np.uint64))
    )
    if any(values.shape != period.shape for values in numbers.values()):
        raise ValueError("its marginals are not those of its features")
    if not (numbers["size"] >= 1).all() or numbers["size"].sum() != len(cells):
        raise ValueError("its marginals have impossible sizes")
    ends = np.cumsum(numbers["size"])[:-1]
    columns = (
        numbers["level"].tolist(),
        np.split(cells, ends),
        np.split(counts, ends),
        numbers["low"].tolist(),
        numbers["high"].tolist(),
        period.tolist(),
    )
    return [Marginal(*each) for each in zip(*columns, strict=True)]
