"""The table view: clusters of two or three columns, with a sweep to choose the bandwidth.

Until a bandwidth is chosen, the view shows significant clusters, or the clearest of them if there
are many. Their tree is drawn below the points; a line that is dragged over it chooses the number.
Up to 100,000 points are drawn one by one. For more points the page receives a density raster: the
number of points in each pixel, and the cluster of one of them. Three columns are drawn as a point
cloud, thinned to every k-th row.
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from itertools import count
from typing import Any
from warnings import warn

import numpy as np
from numpy.typing import NDArray

from meanshiftpp._support.checks import as_whole
from meanshiftpp._support.extras import need
from meanshiftpp._support.text import join_names
from meanshiftpp.apps.studio.session import Job, Reply, Request, Source
from meanshiftpp.apps.studio.table_tree import Cut, Cuts
from meanshiftpp.apps.studio.wire import narrow, pack
from meanshiftpp.bandwidth.sweep import Sweep, sweep
from meanshiftpp.core.chunk import relocate_errors
from meanshiftpp.core.modes import Modes
from meanshiftpp.core.recipe import Recipe
from meanshiftpp.core.tree import Clusters
from meanshiftpp.errors import InvalidInputError
from meanshiftpp.io.label_files import write_labels
from meanshiftpp.io.streams import open_points
from meanshiftpp.io.tables.column_kinds import Kind, kind_of
from meanshiftpp.io.tables.source import FORMATS as TABLE_FILES
from meanshiftpp.io.tables.source import TableSource

__all__ = ["FORMATS", "TableView"]

FORMATS = (*TABLE_FILES, ".npy")

MAX_DOTS = 100_000  # points that are drawn one by one
RASTER = (960, 720)  # width and height of the density raster
MAX_MODES = 300  # modes that are sent to the page
MAX_CLUSTERS = 10_000  # that a tree is cut into
MAX_NUMBERS = 2**29  # largest table that is opened, as rows times columns
_PLOT_NUMBERS = count(1)


@dataclass(frozen=True)
class Plot:
    """The selected columns, the rows that are drawn, and the sweep."""

    number: int  # identifies the plot on the page
    columns: tuple[str, ...]
    points: NDArray[Any]
    low: NDArray[np.float64]  # lower limits of the axes
    high: NDArray[np.float64]  # upper limits of the axes
    rows: NDArray[np.intp]  # one row per dot or pixel
    arrays: dict[str, NDArray[Any]]  # positions of the dots or pixels
    sweep: Sweep
    cuts: Cuts


class TableView:
    """One table."""

    def __init__(self) -> None:
        self._source: Source | None = None
        self._points: NDArray[Any]
        self._all_columns: tuple[str, ...]
        self._file_columns: tuple[str, ...]  # also those that cannot be drawn
        self._plot: Plot | None = None

    # -- requests ------------------------------------------------------------------------------

    def open(self, source: Source, job: Job) -> Iterator[Reply]:
        """Read a table and list its columns."""
        job.update(description=f"Reading {source.name}")
        _check_size(source)
        table = open_points(source.path)
        file_columns = table.columns
        if isinstance(table, TableSource):
            table = _without_inexact(table)
        if len(table.columns) < 2:
            names = ", ".join(map(repr, table.columns)) or "none"
            raise InvalidInputError(
                f"a plot needs two or three columns of numbers, but {source.name!r} has only "
                f"{names}"
            )
        with _naming_cells(table.columns):
            points = table.read()
        self._source, self._all_columns, self._points = source, table.columns, points
        self._file_columns, self._plot = file_columns, None
        yield {
            "type": "opened",
            "view": "table",
            "name": source.name,
            "rows": len(points),
            "columns": list(table.columns),
            "axes": _default_axes(points),
            "formats": [suffix[1:] for suffix in FORMATS],
        }

    def show(self, request: Request, job: Job) -> Iterator[Reply]:
        """Cluster the selected columns; the first request for them also runs the sweep."""
        columns = self._columns(request)
        if self._plot is None or self._plot.columns != columns:
            self._plot = self._make_plot(columns, job)
        if request.get("plot") != self._plot.number:
            yield pack(self._sweep_fields(self._plot), self._plot.arrays)
        job.update(description="Clustering")
        yield self._clusters_reply(self._plot, request)
        for grow in (False, True):
            job.update(description="Growing the tree")
            if grow:
                self._plot.cuts.grow()
            if not self._plot.cuts.is_drawn:
                yield self._plot.cuts.picture()

    def export(self, request: Request, job: Job) -> tuple[str, bytes]:
        """Return the table with a label column, or the labels alone."""
        source, columns, suffix = self._open_source(), self._columns(request), _suffix(request)
        job.update(description="Exporting")
        points, h = self._select(columns), _bandwidth(request, len(columns))
        labels = _cut(Cuts(points), request).labels if h is None else _fit(h, points)[1]
        return source.export(
            f"{source.stem('table')}-labels{suffix}",
            lambda path: write_labels(path, open_points(source.path, columns), labels),
        )

    # -- internals -----------------------------------------------------------------------------

    def _open_source(self) -> Source:
        if self._source is None:
            raise InvalidInputError("no table is open: drop a file on the page or choose a sample")
        return self._source

    def _columns(self, request: Request) -> tuple[str, ...]:
        """Return the columns of a request, or the first two."""
        self._open_source()
        given = request.get("columns", self._all_columns[:2])
        names = given if isinstance(given, list | tuple) else ()
        columns = tuple(name for name in names if isinstance(name, str))
        known = set(self._all_columns).issuperset(columns)
        if not (known and 2 <= len(columns) == len(set(columns)) == len(names) <= 3):
            raise InvalidInputError(f"choose two or three different columns, got {given!r:.60}")
        return columns

    def _select(self, columns: tuple[str, ...]) -> NDArray[Any]:
        indices = [self._all_columns.index(name) for name in columns]
        return np.ascontiguousarray(self._points[:, indices])

    def _make_plot(self, columns: tuple[str, ...], job: Job) -> Plot:
        points = self._select(columns)
        with _naming_cells(columns):
            job.update(description=f"Sweeping the bandwidth over {len(points):,} points")
            swept = sweep(points)
            _ = swept.stability, swept.best  # computed on first access, so compute them here
            job.update(description="Clustering")
            low, high = _axis_limits(points)
            rows, arrays = _drawn_points(points, low, high)
            cuts = Cuts(points)
        return Plot(next(_PLOT_NUMBERS), columns, points, low, high, rows, arrays, swept, cuts)

    def _sweep_fields(self, plot: Plot) -> dict[str, Any]:
        swept = plot.sweep
        return {
            "type": "points",
            "view": "table",
            "plot": plot.number,
            "columns": list(plot.columns),
            "rows": len(plot.points),
            "drawn": len(plot.rows),
            "raster": RASTER,
            "low": plot.low.tolist(),
            "high": plot.high.tolist(),
            "step": swept.step.tolist(),
            "multiples": swept.multiples.tolist(),
            "clusters": swept.n_clusters.tolist(),
            "large": swept.n_large.tolist(),
            "stability": [None if math.isnan(s) else round(float(s), 4) for s in swept.stability],
            "best": swept.best,
        }

    def _clusters_reply(self, plot: Plot, request: Request) -> bytes:
        h = _bandwidth(request, len(plot.columns))
        fields: dict[str, Any] = {"type": "clusters", "view": "table", "request": request.get("id")}
        found: Modes | Clusters
        n_clusters: int | None = None
        arrays: dict[str, NDArray[Any]] = {}
        if h is None:
            n_clusters, found, branches, labels = _cut(plot.cuts, request, plot.rows)
            arrays["branches"] = np.array(branches, np.uint32)
            fields |= {"cut": n_clusters, "significant": plot.cuts.significant}
            fields |= {"leaves": len(found.tree.leaves)}
        else:
            found, all_labels = _fit(h, plot.points)
            labels = all_labels[plot.rows]
            fields |= {"cells": len(found.grid), "iterations": found.n_iter}
            fields |= {"converged": found.converged}
        if n_clusters == plot.cuts.significant:
            n_clusters = None
        code = _code(self._open_source(), plot.columns, h, n_clusters, self._file_columns)
        fields |= {"bandwidth": h, "n": len(found), "code": code}
        centers = (found.centers[:MAX_MODES] - plot.low) / (plot.high - plot.low)
        arrays |= {
            "labels": narrow(labels, len(found)),
            "centers": centers.astype(np.float32),
            "weights": found.weights[:MAX_MODES].astype(np.float32),
        }
        return pack(fields, arrays)


def _cut(cuts: Cuts, request: Request, rows: NDArray[np.intp] | slice = slice(None)) -> Cut:
    """Return the clusters of a request: so many as it asks for, or as many as are readable."""
    n_clusters = request.get("n_clusters")
    if n_clusters is not None:
        n_clusters = as_whole(n_clusters, "n_clusters", 1, MAX_CLUSTERS)
    return cuts.cut(n_clusters or cuts.readable, rows)


def _fit(h: list[float], points: NDArray[Any]) -> tuple[Modes, NDArray[np.int32]]:
    return Recipe(h).checked(points.shape[1]).fit(points)


def _naming_cells(columns: tuple[str, ...]) -> AbstractContextManager[None]:
    """Return a context that words errors about a value with its row and column."""

    def relocate(error: InvalidInputError) -> InvalidInputError:
        if error.row is None or error.column is None:
            return error
        return error.at(f"row {error.row + 1}, column {columns[error.column]!r}")

    return relocate_errors(relocate)


def _without_inexact(table: TableSource) -> TableSource:
    """Return a table without columns that cannot be read beside others; warn about them."""
    inexact = table.inexact_columns()
    if not inexact:
        return table
    names = ", ".join(map(repr, inexact))
    problem = "whole numbers of 2**53 or more, such as identifiers; subtract an offset to use them"
    warn(f"left out {names}: {problem}", stacklevel=2)
    return table.selecting([name for name in table.columns if name not in inexact])


def _default_axes(points: NDArray[Any]) -> list[int]:
    """Return the first two columns that are features, or others if there are too few.

    Identifiers (whole numbers, all different), constant columns and columns with missing values,
    which cannot be drawn, come last.
    """
    features: list[int] = []
    for column in range(points.shape[1]):
        if len(features) < 2 and _is_feature(points[:, column]):
            features.append(column)
    others = [column for column in range(points.shape[1]) if column not in features]
    return sorted([*features, *others][:2])


def _is_feature(values: NDArray[Any]) -> bool:
    return bool(np.isfinite(values).all()) and kind_of(values) in (None, Kind.flag)


def _axis_limits(points: NDArray[Any]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the limits of the axes: the range of the points and a margin of 3 %."""
    low, high = points.min(axis=0).astype(np.float64), points.max(axis=0).astype(np.float64)
    margin = np.where(high > low, (high - low) * 0.03, 0.5)
    return low - margin, high + margin


def _drawn_points(
    points: NDArray[Any], low: NDArray[np.float64], high: NDArray[np.float64]
) -> tuple[NDArray[np.intp], dict[str, NDArray[Any]]]:
    """Return the rows that are drawn and their positions."""
    n, d = points.shape
    if n <= MAX_DOTS or d == 3:
        step = math.ceil(n / MAX_DOTS)
        rows = np.arange(0, n, step)
        positions = (points[rows] - low) / (high - low)
        return rows, {"positions": positions.astype(np.float32)}
    width, height = RASTER
    x = ((points[:, 0] - low[0]) * (width / (high[0] - low[0]))).astype(np.int32)
    y = ((points[:, 1] - low[1]) * (height / (high[1] - low[1]))).astype(np.int32)
    pixel = (height - 1 - y.clip(0, height - 1)) * width + x.clip(0, width - 1)
    counts = np.bincount(pixel, minlength=width * height)
    row_of_pixel = np.zeros(width * height, np.intp)
    row_of_pixel[pixel] = np.arange(n)
    occupied = np.flatnonzero(counts)
    density = np.log1p(counts[occupied])
    brightness = np.rint(density / density.max() * 255).astype(np.uint8)
    return row_of_pixel[occupied], {"pixels": occupied.astype(np.uint32), "brightness": brightness}


def _suffix(request: Request) -> str:
    kind = request.get("kind")
    if f".{kind}" not in FORMATS:
        known = ", ".join(suffix[1:] for suffix in FORMATS)
        raise InvalidInputError(f"a table cannot be exported as {kind!r}: choose one of {known}")
    return f".{kind}"


def _bandwidth(request: Request, d: int) -> list[float] | None:
    h = request.get("bandwidth")
    if h is None:
        return None
    valid = isinstance(h, list) and len(h) == d
    if not valid or not all(isinstance(size, int | float) and 0 < size < math.inf for size in h):
        raise InvalidInputError.for_parameter("bandwidth", f"{d} positive numbers", h)
    return [float(size) for size in h]


def _check_size(source: Source) -> None:
    """Check the shape in the header, because a small file may unpack to a huge table."""
    if source.path.suffix != ".parquet":
        return
    try:
        shape = need("pyarrow.parquet", "io").read_metadata(source.path)
        numbers = shape.num_rows * shape.num_columns
    except Exception:  # `open_points` reports the problem
        return
    if numbers > MAX_NUMBERS:
        raise InvalidInputError(
            f"{source.name!r} holds {numbers:,} numbers, more than the studio's limit of "
            f"{MAX_NUMBERS:,}; use `meanshiftpp cluster` for larger tables"
        )


def _code(
    source: Source,
    columns: tuple[str, ...],
    h: list[float] | None,
    n_clusters: int | None,
    all_columns: tuple[str, ...],
) -> dict[str, str]:
    """Return Python code and a command line that compute the same labels.

    Without a bandwidth `h` and a number of clusters, these are the significant ones. Only the
    command line leaves out identifiers and constants, so it always names the columns.
    """
    selection = "" if columns == all_columns else f", {list(columns)!r}"
    parameters, labels, options = "", "fit_predict(points)", []
    if h is not None:
        parameters, options = repr(h), ["-b", ",".join(map(repr, h))]
    elif n_clusters is not None:
        labels = f"fit(points).cut({n_clusters}).labels_"
        options = ["--n-clusters", str(n_clusters)]
    python = (
        "from meanshiftpp import MeanShiftPP\n"
        "from meanshiftpp.stream import open_points\n\n"
        f"points = open_points({source.name!r}{selection}).read()\n"
        f"labels = MeanShiftPP({parameters}).{labels}"
    )
    command = ["meanshiftpp", "cluster", source.name, "--columns", join_names(columns)]
    return {"python": python, "cli": shlex.join([*command, *options, "-o", "labels.csv"])}
