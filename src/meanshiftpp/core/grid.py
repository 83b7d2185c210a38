"""The grid: occupied cell -> (count, sum of positions), in integers, so that grids add up exactly.

The grid of a data set decides everything that MeanShift++ computes from it. A grid is made in one
pass over the data and is small; it can be saved, added, coarsened and searched without the data.

A coordinate ``x`` lies in cell ``floor(x / h)``; its position in the cell is a 32-bit fixed-point
offset. Sums of offsets are integers, so their order does not matter: chunks, threads, files and
machines all add up with the same ``+``.

An angle, a longitude or a hue has a period: its cells are numbered modulo the cells in a period.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from meanshiftpp._support.checks import (
    Periodic,
    as_bandwidth,
    as_points,
    as_weights,
    as_whole,
    divide_periods,
    feature_count,
    is_number,
    thread_count,
)
from meanshiftpp._support.devices import device_of, on_gpu, to_host
from meanshiftpp._support.text import pluralize
from meanshiftpp.backends import gpu_of
from meanshiftpp.backends.protocol import Assignment
from meanshiftpp.core import gridfile
from meanshiftpp.core.accumulate import GridSum, bin_on_gpu, check_addable, common_unit
from meanshiftpp.core.binning import bin_rows
from meanshiftpp.core.cells import Cells
from meanshiftpp.core.chunk import as_chunks
from meanshiftpp.core.periods import divide_cells
from meanshiftpp.core.rows import (
    Rows,
    check_counts,
    coarsen_to_unit,
    empty_rows,
    fade_rows,
    merge_rows,
    rescale,
)
from meanshiftpp.core.window import PAPER_WINDOW
from meanshiftpp.errors import InvalidInputError


@dataclass(frozen=True, eq=False, repr=False)
class Grid(Cells):
    """The occupied cells of a data set, each with its count and sum of offsets.

    Made by `Grid.from_points`, `Grid.from_chunks`, `Grid.empty`, `Grid.load` and by adding grids.
    A grid is a value: it does not change, and its arrays are read-only.

    Attributes
    ----------
    bandwidth : ndarray of shape (n_features,)
        The size of a cell along each feature.
    cells : ndarray of shape (n_cells, n_features), int64
        The occupied cells, in lexicographic order.
    counts : ndarray of shape (n_cells,), uint64
        Points in each cell; with real weights, the weight in multiples of `unit`.
    sums : ndarray of shape (n_cells, n_features), uint64
        Sums of the points' offsets in their cell, in multiples of ``unit * 2**-32`` of a cell.
    unit : float
        The weight of one count: 1.0, or a power of two where real weights were given.
    cells_per_period : ndarray of shape (n_features,), int64
        Number of cells in the period of each feature, 0 for a feature without one. Cells of a
        periodic feature are numbered from 0 to this number minus one.
    whole : bool
        Whether all weights were whole numbers. They are then never rounded: a sum of grids that
        would be too heavy raises an error. By default, a grid of unit 1 is whole.

    Examples
    --------
    >>> from meanshiftpp import Grid
    >>> a = Grid.from_points([[0.1], [0.2]], bandwidth=0.5)
    >>> b = Grid.from_points([[0.3], [7.0]], bandwidth=0.5)
    >>> a + b
    Grid(2 cells, 1 feature, weight 4, bandwidth 0.5)
    >>> a + b == Grid.from_points([[0.1], [0.2], [0.3], [7.0]], bandwidth=0.5)
    True
    """

    # -- constructors -------------------------------------------------------------------------

    @classmethod
    def from_points(
        cls,
        X: ArrayLike,
        bandwidth: float | ArrayLike,
        *,
        sample_weight: ArrayLike | None = None,
        periodic: Periodic = None,
        n_threads: int | None = None,
        device: str | None = None,
    ) -> Grid:
        """Bin points in one pass.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Finite numbers of any integer or floating type, order and stride; not copied.
        bandwidth : float or array-like of shape (n_features,)
            The size of a cell, one for all features or one for each.
        sample_weight : array-like of shape (n_samples,), optional
            A whole number w counts exactly like w repetitions. Real weights are rounded to a
            multiple of a power of two near ``2**-31`` of their sum, to one multiple at least.
        periodic : float or sequence of n_features periods, each a number or None, optional
            The period of all features or of each, in their unit: 360 for a longitude in degrees.
            The bandwidth is changed to the nearest value that divides the period.
        n_threads : int, optional
            By default every core this process may use. The result does not depend on it.
        device : str, optional
            The device of the grid, "cpu" or "cuda" (see `to`); by default that of the points.
            Points on the host pass through the GPU in batches, so they may exceed its memory.

        Returns
        -------
        Grid

        Examples
        --------
        >>> from meanshiftpp import Grid
        >>> Grid.from_points([[-1.0], [359.5], [3.0]], bandwidth=7, periodic=[360])
        Grid(2 cells, 1 feature, weight 3, bandwidth 7.05882, period 360)
        """
        points = as_points(X)
        h = as_bandwidth(bandwidth, points.shape[1])
        cells = divide_periods(h, periodic, PAPER_WINDOW)
        gpu = None if device is None or on_gpu(points) else gpu_of(device)
        if gpu is not None:
            return bin_on_gpu(gpu, cls.of_cells(*cells), points, sample_weight)
        grid, _ = cls.of_points(points, *cells, sample_weight=sample_weight, n_threads=n_threads)
        return grid if device is None else grid.to(device)

    @classmethod
    def from_chunks(
        cls,
        chunks: Iterable[Any],
        bandwidth: float | ArrayLike,
        *,
        periodic: Periodic = None,
        n_threads: int | None = None,
    ) -> Grid:
        """Bin points chunk by chunk: the grid is that of all points at once, bit for bit.

        Parameters
        ----------
        chunks : iterable
            Arrays of shape (n, n_features), Arrow batches or tables and data frames of numbers,
            pairs (X, weights), or `meanshiftpp.stream.Chunk` objects. One is held at a time; an
            empty chunk is skipped. Real weights are rounded chunk by chunk.
        bandwidth : float or array-like of shape (n_features,)
            The size of a cell, one for all features or one for each.
        periodic : optional
            As in `from_points`.
        n_threads : int, optional
            By default every core this process may use. The result does not depend on it.

        Returns
        -------
        Grid

        Examples
        --------
        >>> import numpy as np
        >>> from meanshiftpp import Grid
        >>> X = np.random.default_rng(0).normal(size=(1000, 2))
        >>> parts = (X[start : start + 300] for start in range(0, 1000, 300))
        >>> Grid.from_chunks(parts, 0.5) == Grid.from_points(X, 0.5)
        True
        """
        total: GridSum[Grid] | None = None
        for chunk in as_chunks(chunks):
            if total is None and chunk.points.ndim == 2 and chunk.points.shape[1]:
                start = cls.empty(bandwidth, chunk.points.shape[1], periodic=periodic)
                total = GridSum(start.to(device_of(chunk.points)))
            if len(chunk) and total is not None:
                total.add_chunk(chunk, n_threads=n_threads)
            elif len(chunk):
                as_points(chunk.points)  # raises: the first chunk is not a table of points
        if total is None and np.ndim(bandwidth) == 0:
            raise InvalidInputError(
                "the number of features is unknown, because there were no chunks; pass one "
                "bandwidth per feature"
            )
        return total.total() if total else cls.empty(bandwidth, periodic=periodic)

    @classmethod
    def empty(
        cls,
        bandwidth: float | ArrayLike,
        n_features: int | None = None,
        *,
        periodic: Periodic = None,
    ) -> Grid:
        """Return the empty grid, the start of a sum.

        Examples
        --------
        >>> from meanshiftpp import Grid
        >>> Grid.empty(0.5, n_features=3)
        Grid(0 cells, 3 features, weight 0, bandwidth 0.5)
        """
        d = feature_count(bandwidth) if n_features is None else n_features
        d = as_whole(d, "n_features", 1)
        cell_size, cells_per_period = divide_periods(
            as_bandwidth(bandwidth, d), periodic, PAPER_WINDOW
        )
        return cls.of_cells(cell_size, cells_per_period)

    @classmethod
    def of_cells(cls, cell_size: NDArray[np.float64], cells_per_period: NDArray[np.int64]) -> Grid:
        """Return the empty grid of checked cells, as `divide_periods` returns them."""
        rows = empty_rows(len(cell_size))
        return cls(cell_size, *rows, cells_per_period=cells_per_period)

    @classmethod
    def of_points(
        cls,
        points: NDArray[np.generic],
        cell_size: NDArray[np.float64],
        cells_per_period: NDArray[np.int64],
        *,
        sample_weight: ArrayLike | None = None,
        ids: NDArray[np.int32] | None = None,
        n_threads: int | None = None,
    ) -> tuple[Grid, Assignment]:
        """Bin points, as `as_points` returns them, into checked cells; see `bin`."""
        if points.shape[1] != len(cell_size):
            raise InvalidInputError(
                f"X must have {pluralize(len(cell_size), 'feature')} like the grid, "
                f"got {points.shape[1]}"
            )
        weights = None if sample_weight is None else as_weights(sample_weight, points)
        rows, assignment = bin_rows(
            points,
            cell_size,
            cells_per_period,
            counts=weights.counts if weights else None,
            ids=ids,
            n_threads=thread_count(n_threads),
        )
        unit, whole = (weights.unit, weights.whole) if weights else (1.0, True)
        return cls(cell_size, *rows, unit, cells_per_period, whole), assignment

    def bin(
        self,
        X: ArrayLike,
        *,
        sample_weight: ArrayLike | None = None,
        ids: NDArray[np.int32] | None = None,
        n_threads: int | None = None,
    ) -> tuple[Grid, Assignment]:
        """Bin points into cells like those of this grid; its own points are not added.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The points.
        sample_weight : array-like of shape (n_samples,), optional
            Weights, not negative.
        ids : ndarray of shape (n_samples,), int32, optional
            OUT: identifies the cell of each point for `Assignment.take`.
        n_threads : int, optional
            By default every core this process may use.

        Returns
        -------
        grid : Grid
            The grid of the points.
        assignment : Assignment
            The cell of each point, if `ids` was given.
        """
        return self.of_points(
            as_points(X),
            self.bandwidth,
            self.cells_per_period,
            sample_weight=sample_weight,
            ids=ids,
            n_threads=n_threads,
        )

    # -- operations ---------------------------------------------------------------------------

    def to(self, device: str) -> Grid:
        """Copy the grid to a device, "cpu" or "cuda" (or "cuda:1", ...).

        Examples
        --------
        >>> from meanshiftpp import Grid
        >>> grid = Grid.from_points([[0.1], [0.7]], bandwidth=0.5)
        >>> grid.device, grid.to("cpu") is grid
        ('cpu', True)
        """
        copy = gpu_of(device) or to_host
        if self.device == device:
            return self
        return self.with_rows(Rows(*map(copy, self.rows)), self.unit, self.whole)

    def start_sum(self) -> GridSum[Grid]:
        """Return a sum that begins with this grid, for many grids or chunks."""
        return GridSum(self)

    def __add__(self, other: object) -> Grid:
        if not isinstance(other, Grid):
            return NotImplemented
        check_addable(self, other)
        unit = common_unit(self, other)
        parts = (rescale(grid.rows, grid.unit, unit) for grid in (self, other))
        whole = all(grid.whole for grid in (self, other) if len(grid))
        return self.with_rows(merge_rows(parts), unit, whole)

    def __radd__(self, other: object) -> Grid:
        """Let ``sum`` begin with its 0."""
        return self if isinstance(other, int) and other == 0 else NotImplemented

    def coarsen(self, k: int, *, n_threads: int | None = None) -> Grid:
        """Return the grid of bandwidth ``k * bandwidth``, made without the data.

        Cells and counts are those of a fresh binning at that bandwidth (where x / (k * h) rounds
        as x / h / k does); each sum is within half a unit per merged cell of it. For a feature
        with a period, k must divide the cells in the period. Real weights that are too heavy
        together are rounded to a coarser unit, as in a sum of grids. The result does not depend
        on `n_threads`.

        Examples
        --------
        >>> from meanshiftpp import Grid
        >>> Grid.from_points([[0.1], [0.7], [1.2]], bandwidth=0.25).coarsen(4)
        Grid(2 cells, 1 feature, weight 3, bandwidth 1)
        """
        k = as_whole(k, "k", 1, 2**31 - 1)
        cells_per_period = divide_cells(self.cells_per_period, k)
        with np.errstate(over="ignore"):
            bandwidth = self.bandwidth * k
        if not np.isfinite(bandwidth).all():
            raise InvalidInputError(f"{k} times the bandwidth {self.bandwidth} is not finite")
        threads = thread_count(n_threads)
        rows, unit = coarsen_to_unit(self.rows, self.unit, k, threads, keep_unit=self.whole)
        check_counts(rows.counts, f"the grid of {k} times the bandwidth")
        return Grid(bandwidth, *rows, unit, cells_per_period, self.whole)

    def faded(self, keep: float) -> Grid:
        """Return the grid with a part of each count, rounded down, and nearly the same means.

        A stream that adds chunks to a faded grid forgets its past gradually.

        Examples
        --------
        >>> from meanshiftpp import Grid
        >>> grid = Grid.from_points([[0.1], [0.2], [0.3], [0.4], [7.0]], bandwidth=0.5)
        >>> grid.faded(0.5)
        Grid(1 cell, 1 feature, weight 2, bandwidth 0.5)
        """
        if not is_number(keep) or not 0 <= keep <= 1:
            raise InvalidInputError.for_parameter("keep", "a number from 0 to 1", keep)
        return self.with_rows(fade_rows(self.rows, keep), self.unit, self.whole)

    def save(self, path: str | os.PathLike[str], *, columns: Sequence[str] | None = None) -> None:
        """Write the grid to a file, an .npz archive with any name.

        The file is written under another name and renamed when it is complete. `columns`, the
        names of the features, are stored too; the command line compares them with those of the
        files that it labels by the grid.

        Examples
        --------
        >>> from meanshiftpp import Grid
        >>> Grid.from_points([[0.1], [0.7]], bandwidth=0.5).save("demo.grid")
        >>> Grid.load("demo.grid")
        Grid(2 cells, 1 feature, weight 2, bandwidth 0.5)
        """
        gridfile.write(path, vars(self.to("cpu")), columns=columns)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Grid:
        """Read a grid from a file and validate it."""
        fields = gridfile.read(path)
        return cls(**fields)

    def with_rows(self, rows: Rows, unit: float, whole: bool) -> Grid:
        """Return the grid of other rows in the same cells."""
        return Grid(self.bandwidth, *rows, unit, self.cells_per_period, whole)
