"""The grid: occupied cell -> (count, sum of positions), in integers, so that grids add up exactly.

Everything MeanShift++ will ever do with the data is decided by its grid. A grid is made in one
pass, is small, can be kept, merged, coarsened and searched again without the data.

A coordinate ``x`` lies in cell ``floor(x / h)``; where in that cell is kept as a 32-bit fixed-point
offset. Sums of offsets are integers, so no order of adding changes them: chunks, threads, files
and machines are all the same ``+``.

An angle, a longitude or a hue has a period: there cells are numbered modulo the cells in it.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from meanshiftpp._support.checks import (
    COUNT_LIMIT,
    OFFSET_BITS,
    as_bandwidth,
    as_points,
    as_weights,
    as_whole,
    snap,
    thread_count,
)
from meanshiftpp._support.devices import beside, device_of, module_of, on_gpu, on_host
from meanshiftpp.backends import backend_of, gpu_of
from meanshiftpp.core import gridfile
from meanshiftpp.core.chunk import Chunk, as_chunks
from meanshiftpp.errors import GridMismatchError, InvalidInputError

if TYPE_CHECKING:
    from meanshiftpp._kernel import Assignment

Periodic = float | Sequence[float | None] | None


@dataclass(frozen=True, eq=False, repr=False)
class Grid:
    """The occupied cells of a data set, with count and sum of offsets each.

    Made by `Grid.from_points`, `Grid.from_chunks`, `Grid.empty`, `Grid.load` and by adding grids.
    A value: it does not change, and its arrays are read-only.

    Attributes
    ----------
    bandwidth : ndarray of shape (n_features,)
        The side of a cell along each feature.
    cells : ndarray of shape (n_cells, n_features), int64
        The occupied cells, in lexicographic order.
    counts : ndarray of shape (n_cells,), uint64
        Points in each cell; with real weights, the weight in multiples of `unit`.
    sums : ndarray of shape (n_cells, n_features), uint64
        Sums of the points' offsets in their cell, in multiples of ``unit * 2**-32`` of a cell.
    unit : float
        The weight of one count: 1.0, or a power of two where real weights were given.
    period : ndarray of shape (n_features,), int64
        Cells in the period of each feature, 0 where it has none. Cells of a feature with a period
        are numbered from 0 to that, less one.

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

    bandwidth: NDArray[np.float64]
    cells: NDArray[np.int64]
    counts: NDArray[np.uint64]
    sums: NDArray[np.uint64]
    unit: float = 1.0
    period: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))

    def __post_init__(self) -> None:
        if len(self.period) == 0:  # not given: no feature has one
            object.__setattr__(self, "period", np.zeros(len(self.bandwidth), np.int64))
        for array in self._arrays():
            if not on_gpu(array):
                array.flags.writeable = False

    # -- making one ---------------------------------------------------------------------------

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
            The side of a cell, one for all features or one for each.
        sample_weight : array-like of shape (n_samples,), optional
            A whole number w counts exactly like w repetitions. Real weights are rounded to a
            multiple of a power of two near ``2**-31`` of their sum, to one multiple at least.
        periodic : sequence of n_features periods, each a number or None, optional
            After how much a feature comes back to where it was, in its own unit: 360 for a
            longitude in degrees. The bandwidth is changed to the nearest that divides it.
        n_threads : int, optional
            By default every core this process may use. The result does not depend on it.
        device : str, optional
            Where the grid is to be, "cpu" or "cuda" (see `to`); by default where the points are.
            Points on the host pass through the GPU in batches, so they may be more than it holds.

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
        h, period = snap(bandwidth, periodic, points.shape[1])
        gpu = None if device is None or on_gpu(points) else gpu_of(device)
        if gpu is not None:
            return _bin_through(gpu, points, h, period, sample_weight)
        grid, _ = bin_points(
            points, h, period=period, sample_weight=sample_weight, n_threads=n_threads
        )
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
        """Bin points that come in parts: the grid is that of all of them at once, bit for bit.

        Parameters
        ----------
        chunks : iterable
            Arrays of shape (n, n_features), Arrow batches or tables and data frames of numbers,
            pairs (X, weights), or `meanshiftpp.core.chunk.Chunk` objects. One is held at a time;
            an empty chunk is skipped. Real weights are rounded chunk by chunk.
        bandwidth : float or array-like of shape (n_features,)
            The side of a cell, one for all features or one for each.
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
        total: GridSum | None = None
        for chunk in as_chunks(chunks):
            if total is None and chunk.points.ndim == 2 and chunk.points.shape[1]:
                start = cls.empty(bandwidth, chunk.points.shape[1], periodic=periodic)
                total = GridSum(start.to(device_of(chunk.points)))
            if len(chunk):
                if total is None:  # not points at all: binning says so
                    return cls.from_points(chunk.points, bandwidth)
                if chunk.points.ndim == 2:
                    total.refuse_width(chunk.points.shape[1], chunk.source)
                grid = bin_chunk(chunk, start.bandwidth, period=start.period, n_threads=n_threads)
                total.add(grid, chunk.source)
        if total is None and np.ndim(bandwidth) == 0:
            raise InvalidInputError("no chunks came, so the number of features is not known")
        return total.grid() if total else cls.empty(bandwidth, periodic=periodic)

    @classmethod
    def empty(
        cls,
        bandwidth: float | ArrayLike,
        n_features: int | None = None,
        *,
        periodic: Periodic = None,
    ) -> Grid:
        """Make the grid of no points: what a sum starts from.

        Examples
        --------
        >>> from meanshiftpp import Grid
        >>> Grid.empty(0.5, n_features=3)
        Grid(0 cells, 3 features, weight 0, bandwidth 0.5)
        """
        d = np.size(np.asarray(bandwidth)) if n_features is None else n_features
        if d < 1:
            raise InvalidInputError(f"a grid has at least one feature, got {d}")
        h, period = snap(bandwidth, periodic, d)
        return cls(h, *_no_rows(d), period=period)

    # -- what is in it ------------------------------------------------------------------------

    @property
    def n_features(self) -> int:
        """Number of features (axes)."""
        return len(self.bandwidth)

    @property
    def weights(self) -> NDArray[np.float64]:
        """Weight in each cell: `counts` times `unit`."""
        weights: NDArray[np.float64] = self.counts.astype(np.float64) * self.unit
        return weights

    @property
    def total(self) -> float:
        """Weight of all points together; a whole number unless real weights were given."""
        count = int(self.counts.sum())
        return count if self.unit == 1 else count * self.unit

    @property
    def means(self) -> NDArray[np.float64]:
        """Mean of the points in each cell, in the data's units."""
        places = self.cells + self.sums / self.counts[:, None] * 2.0**-OFFSET_BITS
        means: NDArray[np.float64] = places * module_of(places).asarray(self.bandwidth)
        return means

    def __len__(self) -> int:
        return len(self.counts)

    def __repr__(self) -> str:
        def count(n: float, noun: str) -> str:
            return f"{n:,} {noun}" + ("s" if n != 1 else "")

        h = self.bandwidth
        side = f"{h[0]:g}" if (h == h[0]).all() else np.array2string(h, precision=6, threshold=8)
        return (
            f"Grid({count(len(self), 'cell')}, {count(self.n_features, 'feature')}, "
            f"weight {self.total:,}, bandwidth {side}{self._period_name()})"
        )

    def _period_name(self) -> str:
        if not self.period.any():
            return ""
        lengths = [f"{length:g}" if length else "None" for length in self.period * self.bandwidth]
        return ", period " + (lengths[0] if len(lengths) == 1 else f"({', '.join(lengths)})")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Grid):
            return NotImplemented
        return self.unit == other.unit and all(
            np.array_equal(on_host(a), on_host(b))
            for a, b in zip(self._arrays(), other._arrays(), strict=True)
        )

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[type[Grid], tuple[Any, ...]]:
        return Grid, (self.bandwidth, self.cells, self.counts, self.sums, self.unit, self.period)

    def _arrays(self) -> tuple[NDArray[Any], ...]:
        return self.bandwidth, self.cells, self.counts, self.sums, self.period

    # -- what can be done with it -------------------------------------------------------------

    @property
    def device(self) -> str:
        """Where the grid is: "cpu", or "cuda:0" for the first GPU, and so on."""
        return device_of(self.cells)

    def to(self, device: str) -> Grid:
        """Copy the grid to a device, "cpu" or "cuda" (or "cuda:1", ...).

        Examples
        --------
        >>> from meanshiftpp import Grid
        >>> grid = Grid.from_points([[0.1], [0.7]], bandwidth=0.5)
        >>> grid.device, grid.to("cpu") is grid
        ('cpu', True)
        """
        copy = gpu_of(device) or on_host
        if self.device == device:
            return self
        cells, counts, sums = (copy(array) for array in (self.cells, self.counts, self.sums))
        return Grid(self.bandwidth, cells, counts, sums, self.unit, self.period)

    def __add__(self, other: object) -> Grid:
        if not isinstance(other, Grid):
            return NotImplemented
        self._refuse_misfit(other)
        unit = self._unit_with(other)
        return _checked_sum(self, (self._rows(unit), other._rows(unit)), unit)

    def coarsen(self, k: int) -> Grid:
        """Make the grid of bandwidth ``k * bandwidth``, without the data.

        Cells and counts are those of a fresh binning at that bandwidth (where x / (k * h) rounds
        as x / h / k does); each sum is within half a unit per merged cell of it. Where a feature
        has a period, k has to divide the cells in it.

        Examples
        --------
        >>> from meanshiftpp import Grid
        >>> Grid.from_points([[0.1], [0.7], [1.2]], bandwidth=0.25).coarsen(4)
        Grid(2 cells, 1 feature, weight 3, bandwidth 1)
        """
        k = as_whole(k, "the factor of coarsen", 1, 2**31 - 1)
        if (self.period % k).any():
            raise InvalidInputError(
                f"coarsen expects a number that divides the cells in each period, "
                f"{self.period[self.period > 0].tolist()}, got {k}"
            )
        cells, rest = np.divmod(self.cells, k)
        # (rest * count + sum / 2**32) / k as fixed point, in pieces that fit 64 bits.
        mask = np.uint64(COUNT_LIMIT)
        shift, divisor = np.uint64(OFFSET_BITS), np.uint64(k)
        whole = rest.astype(np.uint64) * self.counts[:, None] + (self.sums >> shift)
        part = (whole % divisor << shift) + (self.sums & mask)
        sums = (whole // divisor << shift) + (part + divisor // np.uint64(2)) // divisor
        merged = merge_cells((cells, self.counts, sums))
        if not np.isfinite(self.bandwidth * k).all():
            raise InvalidInputError(f"{k} times the bandwidth {self.bandwidth} is not finite")
        _refuse_overflow(merged[1], f"the grid of {k} times the bandwidth")
        return Grid(self.bandwidth * k, *merged, self.unit, self.period // k)

    def save(self, path: str | os.PathLike[str], *, columns: Sequence[str] | None = None) -> None:
        """Write the grid to a file (an .npz archive, whatever its name).

        The file is written beside its final name and renamed, so it is whole or not there. Names
        of the features, `columns`, go along; the command line compares them with those of the
        files it labels by the grid.

        Examples
        --------
        >>> from meanshiftpp import Grid
        >>> Grid.from_points([[0.1], [0.7]], bandwidth=0.5).save("demo.grid")
        >>> Grid.load("demo.grid")
        Grid(2 cells, 1 feature, weight 2, bandwidth 0.5)
        """
        if columns is not None:
            named = not isinstance(columns, str) and all(isinstance(name, str) for name in columns)
            if not named or len(columns) != self.n_features:
                raise InvalidInputError(
                    f"columns must have a name for each of the {self.n_features} features, "
                    f"got {columns!r}"
                )
        gridfile.write(path, vars(self.to("cpu")), columns=columns)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Grid:
        """Read a grid back, checking that it is one and is whole."""
        fields, _ = gridfile.read(path)
        return cls(**fields)

    # -- within -------------------------------------------------------------------------------

    def _refuse_misfit(self, other: Grid) -> None:
        if self.device != other.device:
            raise GridMismatchError(
                f"grids on {self.device} and {other.device} do not add up; move one with grid.to()"
            )
        if self.n_features != other.n_features:
            raise GridMismatchError(
                f"grids of {self.n_features} and {other.n_features} features do not add up"
            )
        if not np.array_equal(self.bandwidth, other.bandwidth):
            raise GridMismatchError(
                f"grids of bandwidth {self.bandwidth} and {other.bandwidth} do not add up; "
                "bin again with one bandwidth, or coarsen the finer one in Python (Grid.coarsen)"
            )

        if not np.array_equal(self.period, other.period):
            raise GridMismatchError(
                f"grids of periods {self.period} and {other.period} (in cells) do not add up; "
                "bin again with one period"
            )

    def _unit_with(self, other: Grid) -> float:
        """Take the finer of two units, or one as coarse as the heaviest cells together need.

        Only real weights are ever coarsened; whole ones stay exact or do not add up.
        """
        if not len(self) or not len(other):
            return other.unit if not len(self) else self.unit
        unit = min(self.unit, other.unit)
        if self.unit == other.unit == 1:
            return unit
        peak = sum(int(g.counts.max()) * g.unit for g in (self, other))
        return max(unit, math.ldexp(1.0, math.frexp(peak)[1] - OFFSET_BITS))

    def _rows(self, unit: float) -> _Rows:
        """Cells, counts and sums in multiples of another unit; to a finer one this is exact."""
        if unit == self.unit or not len(self):
            return self.cells, self.counts, self.sums
        if unit < self.unit:
            factor = np.uint64(round(self.unit / unit))
            return self.cells, self.counts * factor, self.sums * factor
        counts = np.maximum(np.rint(self.counts * (self.unit / unit)), 1)
        sums = np.rint(self.sums / self.counts[:, None] * counts[:, None])
        return self.cells, counts.astype(np.uint64), sums.astype(np.uint64)


class GridSum:
    """Adds up many grids. They wait until they are as large as the sum, and are merged in one go.

    So each step costs what its own grid costs, however large the sum has grown.
    """

    def __init__(self, start: Grid) -> None:
        self._total = start
        self._waiting: list[Grid] = []
        self._n_waiting = 0

    def add(self, grid: Grid, name: str = "a grid") -> None:
        """Add a grid; one that does not fit is refused at once, by its name."""
        self.refuse_width(grid.n_features, name)
        self._total._refuse_misfit(grid)
        self._waiting.append(grid)
        self._n_waiting += len(grid)
        if self._n_waiting > len(self._total):
            self.grid()

    def refuse_width(self, n_features: int, name: str) -> None:
        """Refuse what has another number of features."""
        if n_features != self._total.n_features:
            raise GridMismatchError(
                f"{name} has {n_features} features, others have {self._total.n_features}"
            )

    def grid(self) -> Grid:
        """Return the sum so far."""
        parts = [grid for grid in (self._total, *self._waiting) if len(grid)]
        self._waiting, self._n_waiting = [], 0
        if all(grid.unit == 1 for grid in parts):
            rows = [grid._rows(1.0) for grid in parts]
            self._total = _checked_sum(self._total, rows, 1.0) if rows else self._total
        else:
            for grid in parts[1:]:
                parts[0] = parts[0] + grid
            self._total = parts[0]
        return self._total


def bin_chunk(
    chunk: Chunk,
    bandwidth: float | ArrayLike,
    *,
    period: NDArray[np.int64] | None = None,
    n_threads: int | None = None,
) -> Grid:
    """Bin one chunk; an error says where in its file the bad value is."""
    with chunk.named():
        return bin_points(
            chunk.points,
            bandwidth,
            period=period,
            sample_weight=chunk.weight,
            n_threads=n_threads,
        )[0]


def _checked_sum(like: Grid, parts: Iterable[_Rows], unit: float) -> Grid:
    merged = merge_cells(*parts)
    _refuse_overflow(merged[1], "the sum")
    return Grid(like.bandwidth, *merged, unit, like.period)


_Rows = tuple[NDArray[np.int64], NDArray[np.uint64], NDArray[np.uint64]]


def merge_cells(*parts: _Rows) -> _Rows:
    """Add up the rows of several grids that belong to the same cell."""
    cells, counts, sums = (np.concatenate(column) for column in zip(*parts, strict=True))
    merged: _Rows = backend_of(cells).merge_cells(cells, counts, sums)[:3]
    return merged


def _bin_through(
    gpu: Any,
    points: NDArray[np.generic],
    bandwidth: NDArray[np.float64],
    period: NDArray[np.int64],
    sample_weight: ArrayLike | None,
) -> Grid:
    """Bin points on the host by a GPU, a batch at a time."""
    weights, unit = (None, 1.0) if sample_weight is None else as_weights(sample_weight, len(points))
    cells, counts, sums = map(gpu, _no_rows(len(bandwidth)))
    total = GridSum(Grid(bandwidth, cells, counts, sums, period=period))
    for first, batch in gpu.batches(points):
        part = None if weights is None else gpu(weights[first : first + len(batch)])
        with Chunk(batch, first=first).counted():
            total.add(bin_points(batch, bandwidth, period=period, sample_weight=part)[0])
    return replace(total.grid(), unit=unit)


def _no_rows(d: int) -> _Rows:
    return np.empty((0, d), np.int64), np.empty(0, np.uint64), np.empty((0, d), np.uint64)


def _refuse_overflow(counts: NDArray[np.uint64], what: str) -> None:
    if (peak := int(counts.max()) if len(counts) else 0) > COUNT_LIMIT:
        raise InvalidInputError(
            f"{what} would have a cell of weight {peak:,}, more than the {COUNT_LIMIT:,} "
            "whose sum is exact; take a smaller bandwidth"
        )


class Wrapped:
    """An assignment to cells before they were numbered modulo the period."""

    def __init__(self, assignment: Assignment, place: NDArray[np.uint32]) -> None:
        self._assignment, self._place = assignment, place

    def take(
        self, values: NDArray[np.int32], ids: NDArray[np.int32], labels: NDArray[np.int32]
    ) -> None:
        """As `Assignment.take`."""
        self._assignment.take(values[self._place], ids, labels)


def bin_points(
    X: ArrayLike,
    bandwidth: float | ArrayLike,
    *,
    period: NDArray[np.int64] | None = None,
    sample_weight: ArrayLike | None = None,
    ids: NDArray[np.int32] | None = None,
    n_threads: int | None = None,
) -> tuple[Grid, Assignment | Wrapped]:
    """Bin points; with `ids`, also note which cell each went to (see `Assignment.take`).

    `period` is in cells.
    """
    points = as_points(X)
    h = as_bandwidth(bandwidth, points.shape[1])
    weights, unit = None, 1.0
    if sample_weight is not None:
        weights, unit = as_weights(beside(points, sample_weight), len(points))
    threads = thread_count(n_threads)
    backend = backend_of(points)
    binned = backend.bin_points(points, h, weights, ids, threads)
    cells, counts, sums, assignment = binned
    if period is None or not period.any():
        return Grid(h, cells, counts, sums, unit), assignment
    for j in np.flatnonzero(period):
        cells[:, j] %= period[j]
    cells, counts, sums, place = backend.merge_cells(cells, counts, sums)
    _refuse_overflow(counts, "the grid")
    return Grid(h, cells, counts, sums, unit, period), Wrapped(assignment, place)
