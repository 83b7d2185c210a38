"""The table view: two or three columns, their clusters, and a sweep to choose a bandwidth by.

Up to 100,000 points are drawn one by one. Of more, the page gets a picture of their density: how
many points each pixel holds, and of one of them the cluster. Three columns are drawn as a cloud of
points, of which an even part stands for all.
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from meanshiftpp._support.extras import need
from meanshiftpp.apps.studio.session import Answer, Job, Source, Wish
from meanshiftpp.apps.studio.wire import narrow, pack
from meanshiftpp.bandwidth.choice import select_bandwidth
from meanshiftpp.bandwidth.sweep import Sweep, sweep
from meanshiftpp.core.chunk import relocate_errors
from meanshiftpp.core.modes import Modes
from meanshiftpp.core.recipe import Recipe
from meanshiftpp.errors import InvalidInputError
from meanshiftpp.io.streams import open_points, write_labels
from meanshiftpp.io.tables import FORMATS as TABLES

__all__ = ["FORMATS", "TableView"]

FORMATS = (*TABLES, ".npy")

DOTS = 100_000  # points drawn one by one
RASTER = (960, 720)  # pixels of a density
MODES_SHOWN = 300
DIGITS = 4  # of a bandwidth, so that what is written is what was used
LARGEST = 2**29  # numbers a table may hold


@dataclass(frozen=True)
class Plot:
    """The chosen columns, and which of their points the page sees."""

    columns: tuple[str, ...]
    points: NDArray[Any]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    shown: NDArray[np.intp]  # rows, each of a dot or a pixel
    arrays: dict[str, NDArray[Any]]
    sweep: Sweep
    auto: NDArray[np.float64]


class TableView:
    """One table."""

    def __init__(self) -> None:
        self._source: Source | None = None
        self._points: NDArray[Any]
        self._known: tuple[str, ...]
        self._plot: Plot | None = None

    def open(self, source: Source, job: Job) -> Iterator[Answer]:
        """Read a table, and say which columns it has."""
        job.step(words=f"reading {source.name}")
        _refuse_huge(source)
        table = open_points(source.path)
        if len(table.columns) < 2:
            raise InvalidInputError(
                f"{source.name!r} has one column of numbers, {table.columns[0]!r}; "
                "a plot needs two or three"
            )
        points = table.read()
        self._source, self._known, self._points = source, table.columns, points
        self._plot = None
        yield {
            "type": "opened",
            "view": "table",
            "name": source.name,
            "rows": len(points),
            "columns": list(table.columns),
            "formats": [each[1:] for each in FORMATS],
        }

    def show(self, wish: Wish, job: Job) -> Iterator[Answer]:
        """Cluster the chosen columns at a bandwidth; new columns are swept over first."""
        columns = self._columns(wish)
        if self._plot is None or self._plot.columns != columns:
            self._plot = self._plotted(columns, job)
            yield pack(self._swept(self._plot), self._plot.arrays)
        job.step(words="clustering")
        yield self._clustered(self._plot, wish)

    def export(self, wish: Wish, job: Job) -> tuple[str, bytes]:
        """Give the table with its labels, or the labels alone."""
        source, columns, suffix = self._named(), self._columns(wish), f".{wish.get('kind')}"
        if suffix not in FORMATS:
            raise InvalidInputError(f"there is no export {wish.get('kind')!r} of a table")
        job.step(words="writing the labels")
        _, labels = self._labels(self._chosen(columns), _bandwidth(wish, len(columns)))
        rest = iter(labels)
        path = source.export(suffix)
        try:
            write_labels(
                path,
                open_points(source.path, columns),
                lambda points: np.fromiter(rest, np.int32, len(points)),
            )
            stem = source.name.rpartition(".")[0] or "table"
            return f"{stem}-labels{suffix}", path.read_bytes()
        finally:
            path.unlink(missing_ok=True)

    # -- within --------------------------------------------------------------------------------

    def _named(self) -> Source:
        if self._source is None:
            raise InvalidInputError("no table is open yet: drop one, or take a sample")
        return self._source

    def _columns(self, wish: Wish) -> tuple[str, ...]:
        self._named()
        columns = tuple(wish.get("columns", self._known[:2]))
        unknown = [name for name in columns if name not in self._known]
        if unknown or len(columns) not in (2, 3) or len(set(columns)) != len(columns):
            raise InvalidInputError(f"choose two or three different columns, not {list(columns)}")
        return columns

    def _chosen(self, columns: tuple[str, ...]) -> NDArray[Any]:
        places = [self._known.index(name) for name in columns]
        return np.ascontiguousarray(self._points[:, places])

    def _plotted(self, columns: tuple[str, ...], job: Job) -> Plot:
        points = self._chosen(columns)
        with relocate_errors(lambda row, column: f"row {row + 1}, column {columns[column]!r}"):
            job.step(words=f"sweeping over bandwidths of {len(points):,} points")
            found = sweep(points)
            job.step(words="choosing a bandwidth")
            auto = select_bandwidth(points)
            _ = found.stability, found.best
        job.step(words="drawing")
        low, high = _range(points)
        shown, arrays = _seen(points, low, high)
        return Plot(columns, points, low, high, shown, arrays, found, auto)

    def _swept(self, plot: Plot) -> dict[str, Any]:
        found = plot.sweep
        return {
            "type": "points",
            "view": "table",
            "columns": list(plot.columns),
            "rows": len(plot.points),
            "shown": len(plot.shown),
            "raster": RASTER,
            "low": plot.low.tolist(),
            "high": plot.high.tolist(),
            "step": found.step.tolist(),
            "multiples": found.multiples.tolist(),
            "clusters": found.n_clusters.tolist(),
            "large": found.n_large.tolist(),
            "stability": [None if math.isnan(s) else round(float(s), 4) for s in found.stability],
            "best": found.best,
            "auto": _rounded(plot.auto),
        }

    def _clustered(self, plot: Plot, wish: Wish) -> bytes:
        h = _bandwidth(wish, len(plot.columns)) or _rounded(plot.auto)
        modes, labels = self._labels(plot.points, h)
        words = {
            "type": "clusters",
            "view": "table",
            "wish": wish.get("n"),
            "bandwidth": h,
            "n": len(modes),
            "cells": len(modes.grid),
            "steps": modes.n_iter,
            "lines": _lines(self._named(), plot.columns, h, self._known),
        }
        centers = (modes.centers[:MODES_SHOWN] - plot.low) / (plot.high - plot.low)
        arrays = {
            "labels": narrow(labels[plot.shown], len(modes)),
            "centers": centers.astype(np.float32),
            "weights": modes.weights[:MODES_SHOWN].astype(np.float32),
        }
        return pack(words, arrays)

    def _labels(
        self, points: NDArray[Any], h: list[float] | None
    ) -> tuple[Modes, NDArray[np.int32]]:
        bandwidth = select_bandwidth(points) if h is None else h
        return Recipe(bandwidth).checked(points.shape[1]).fit(points)


def _range(points: NDArray[Any]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Give the limits of a plot: those of the points, and a little air."""
    low, high = points.min(axis=0).astype(np.float64), points.max(axis=0).astype(np.float64)
    air = np.where(high > low, (high - low) * 0.03, 0.5)
    return low - air, high + air


def _seen(
    points: NDArray[Any], low: NDArray[np.float64], high: NDArray[np.float64]
) -> tuple[NDArray[np.intp], dict[str, NDArray[Any]]]:
    """Choose the rows the page sees; give where they are."""
    n, d = points.shape
    if n <= DOTS or d == 3:
        step = math.ceil(n / DOTS)
        rows = np.arange(0, n, step)
        places = (points[rows] - low) / (high - low)
        return rows, {"places": places.astype(np.float32)}
    width, height = RASTER
    x = ((points[:, 0] - low[0]) * (width / (high[0] - low[0]))).astype(np.int32)
    y = ((points[:, 1] - low[1]) * (height / (high[1] - low[1]))).astype(np.int32)
    pixel = (height - 1 - y.clip(0, height - 1)) * width + x.clip(0, width - 1)
    counts = np.bincount(pixel, minlength=width * height)
    row = np.zeros(width * height, np.intp)
    row[pixel] = np.arange(n)
    taken = np.flatnonzero(counts)
    dense = np.log1p(counts[taken])
    bright = np.rint(dense / dense.max() * 255).astype(np.uint8)
    return row[taken], {"pixels": taken.astype(np.uint32), "bright": bright}


def _bandwidth(wish: Wish, d: int) -> list[float] | None:
    h = wish.get("bandwidth")
    if h is None:
        return None
    good = isinstance(h, list) and len(h) == d
    if not good or not all(isinstance(side, int | float) and 0 < side < math.inf for side in h):
        raise InvalidInputError(f"bandwidth must be {d} numbers above 0, got {h!r}")
    return [float(side) for side in h]


def _rounded(h: NDArray[np.float64]) -> list[float]:
    return [float(f"{side:.{DIGITS}g}") for side in h]


def _refuse_huge(source: Source) -> None:
    """Look at the shape in the header: what a small file unpacks to is not bounded by its size."""
    if source.path.suffix != ".parquet":
        return
    try:
        shape = need("pyarrow.parquet", "io").read_metadata(source.path)
        numbers = shape.num_rows * shape.num_columns
    except Exception:  # `open_points` says what is wrong
        return
    if numbers > LARGEST:
        raise InvalidInputError(
            f"{source.name!r} is refused: it would unpack to {numbers:,} numbers, more than "
            f"{LARGEST:,}; `meanshiftpp cluster` takes more"
        )


def _lines(
    source: Source, columns: tuple[str, ...], h: list[float], known: tuple[str, ...]
) -> dict[str, str]:
    """Write down what gives the same labels in Python and on the command line."""
    chosen = "" if columns == known else f", {list(columns)!r}"
    python = (
        "from meanshiftpp import MeanShiftPP\n"
        "from meanshiftpp.stream import open_points\n\n"
        f"points = open_points({source.name!r}{chosen}).read()\n"
        f"labels = MeanShiftPP({h!r}).fit_predict(points)"
    )
    words = ["meanshiftpp", "cluster", source.name]
    if chosen:
        words += ["--columns", ",".join(columns)]
    words += ["-b", ",".join(map(repr, h)), "-o", "labels.csv"]
    return {"python": python, "cli": " ".join(map(shlex.quote, words))}
