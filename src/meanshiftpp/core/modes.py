"""The search: from a grid to its modes, and from modes to labels.

One step moves everything in a cell to the mean of the window around it, 3^d cells, or (2r+1)^d
smaller ones at a resolution of r; cells that meet are one from then on. It ends where nothing moves
any more. What ended in one cell is one cluster.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from meanshiftpp._support.checks import (
    MAX_RESOLUTION,
    as_bandwidth,
    as_points,
    as_whole,
    refuse_short_periods,
    snap,
    thread_count,
)
from meanshiftpp._support.devices import beside, device_of, module_of, on_gpu, on_host, working_on
from meanshiftpp.backends import backend_of, gpu_of
from meanshiftpp.core.chunk import Chunk
from meanshiftpp.core.grid import Grid, Periodic, bin_points
from meanshiftpp.errors import InvalidInputError

DEFAULT_TOL = 1e-3
DEFAULT_MAX_ITER = 300
_FAR = np.int32(-2)  # a cell that neither is nor touches an occupied one


@dataclass(frozen=True, eq=False, repr=False)
class Modes:
    """The modes of a grid, heaviest first, and the way from a point to its mode.

    Attributes
    ----------
    grid : Grid
        The grid that was searched.
    cell_labels : ndarray of shape (n_cells,), int32
        For each cell of the grid the mode it led to; -1 where that mode was dropped by `keep`.
    cells, fractions : ndarray of shape (n_modes, n_features)
        Each mode's cell and its place in that cell: together the exact result of the search.
    weights : ndarray of shape (n_modes,), float64
        Weight of the points that ended in each mode, falling.
    n_iter : int
        Steps taken.
    converged : bool
        False when `max_iter` ended the search.
    resolution : int
        Cells the search looked to every side, as does `label` from an empty cell.

    Examples
    --------
    >>> from meanshiftpp import Grid, seek
    >>> modes = seek(Grid.from_points([[1.0], [1.2], [9.0]], bandwidth=0.5))
    >>> modes.centers.round(6).tolist()
    [[1.1], [9.0]]
    >>> modes.label([[1.1], [8.9]]).tolist()
    [0, 1]
    """

    grid: Grid
    cell_labels: NDArray[np.int32]
    cells: NDArray[np.int64]
    fractions: NDArray[np.float64]
    weights: NDArray[np.float64]
    n_iter: int
    converged: bool
    resolution: int = 1

    @property
    def centers(self) -> NDArray[np.float64]:
        """Where the modes are, in the data's units: array of shape (n_modes, n_features).

        On a feature with a period they are between 0 and the period.
        """
        places, h = self._places(self.cells + self.fractions), self.grid.bandwidth
        alike = len(set(h.tolist())) == 1  # a number needs no copy to a GPU
        centers: NDArray[np.float64] = places * (h[0] if alike else module_of(places).asarray(h))
        return centers

    @property
    def bandwidth(self) -> NDArray[np.float64]:
        """A third of the window's width: at a resolution of 1, the side of a cell."""
        return self.grid.bandwidth * ((2 * self.resolution + 1) / 3)

    def _places(self, places: NDArray[np.float64]) -> NDArray[np.float64]:
        """Bring places, in cells, between 0 and the period where there is one."""
        period = self.grid.period
        if not period.any():
            return places
        inside = places.copy()
        for j in np.flatnonzero(period):
            column = inside[:, j] % float(period[j])
            column[column >= period[j]] = 0.0  # a last bit below 0 is rounded up to the period
            inside[:, j] = column
        return inside

    def __len__(self) -> int:
        return len(self.weights)

    def __repr__(self) -> str:
        end = "converged" if self.converged else "not converged"
        return f"Modes({len(self):,} modes, {self.n_iter} steps, {end}, of {self.grid!r})"

    def keep(self, min_weight: float) -> Modes:
        """Drop the modes lighter than `min_weight`: their cells get the label -1."""
        k = int((self.weights >= min_weight).sum())
        labels = self.cell_labels.copy()
        labels[labels >= k] = -1
        return replace(
            self,
            cell_labels=labels,
            cells=self.cells[:k],
            fractions=self.fractions[:k],
            weights=self.weights[:k],
        )

    def label(
        self, X: ArrayLike, *, cluster_all: bool = True, n_threads: int | None = None
    ) -> NDArray[np.int32]:
        """Label points, those of the grid or new ones.

        A point in an occupied cell has that cell's label; in an empty cell with occupied ones in
        its window, the label of the heaviest of these. Elsewhere it has the label of the nearest
        mode (in cells), or -1 with ``cluster_all=False``.
        """
        points = as_points(X)
        if points.shape[1] != self.grid.n_features:
            raise InvalidInputError(
                f"X must have {self.grid.n_features} features as the grid has, "
                f"got {points.shape[1]}"
            )
        if on_gpu(points):
            with working_on(points):
                return self.to(device_of(points))._label(points, cluster_all, 1)
        if on_gpu(self.cells):
            return self._label_through(points, cluster_all)
        return self._label(points, cluster_all, thread_count(n_threads))

    def to(self, device: str) -> Modes:
        """Copy the modes and their grid to a device, "cpu" or "cuda" (or "cuda:1", ...)."""
        if self.grid.device == device:
            return self
        copy = gpu_of(device) or on_host
        return replace(
            self,
            grid=self.grid.to(device),
            cell_labels=copy(self.cell_labels),
            cells=copy(self.cells),
            fractions=copy(self.fractions),
            weights=copy(self.weights),
        )

    def _label_through(self, points: NDArray[np.generic], cluster_all: bool) -> NDArray[np.int32]:
        """Label points on the host by the GPU the modes are on, a batch at a time."""
        labels = np.empty(len(points), np.int32)
        for first, batch in gpu_of(self.grid.device).batches(points):
            with Chunk(batch, first=first).counted():
                found: Any = self._label(batch, cluster_all, 1)
            found.get(out=labels[first : first + len(batch)])
        return labels

    def _label(
        self, points: NDArray[np.generic], cluster_all: bool, threads: int
    ) -> NDArray[np.int32]:
        xp, grid, backend = module_of(points), self.grid, backend_of(points)
        labels: NDArray[np.int32] = xp.empty(len(points), np.int32)
        seen, assignment = bin_points(
            points, grid.bandwidth, period=grid.period, ids=labels, n_threads=threads
        )
        found = backend.find_cells(
            grid.cells, grid.counts, seen.cells, grid.period, self.resolution, threads
        )
        known = found >= 0
        values = xp.full(len(seen), _FAR)
        values[known] = self.cell_labels[found[known]]
        assignment.take(values, labels, labels)
        if not known.all():
            far = xp.flatnonzero(labels == _FAR)
            labels[far] = self._nearest(points[far]) if cluster_all and len(self) else -1
        return labels

    def _nearest(self, points: NDArray[np.generic]) -> NDArray[np.int32]:
        side = module_of(points).asarray(self.grid.bandwidth)
        places, modes = points.astype(np.float64) / side, self.cells + self.fractions
        nearest: NDArray[np.int32] = backend_of(points).nearest_modes(
            self._places(places), self._places(modes), self.grid.period
        )
        return nearest


def seek(
    grid: Grid,
    *,
    resolution: int = 1,
    tol: float = DEFAULT_TOL,
    max_iter: int = DEFAULT_MAX_ITER,
    n_threads: int | None = None,
) -> Modes:
    """Search a grid for its modes: Algorithm 2 of the paper.

    Parameters
    ----------
    grid : Grid
        What to search.
    resolution : int
        How many cells the window reaches to every side: it is ``2 * resolution + 1`` cells wide.
        1 is the paper's. More, on cells smaller in proportion (`fine_bandwidth`), depends less on
        where the cells happen to begin.
    tol : float
        Stop after a step in which all points together moved less than this, in thirds of the
        window: the bandwidth, at a resolution of 1. With 0, only at a fixed point.
    max_iter : int
        Steps at most.
    n_threads : int, optional
        By default every core this process may use. The result does not depend on it.

    Returns
    -------
    Modes

    Examples
    --------
    >>> import numpy as np
    >>> from meanshiftpp import Grid, seek
    >>> seek(Grid.from_points(np.r_[np.zeros((5, 2)), np.ones((3, 2))], bandwidth=0.2))
    Modes(2 modes, 1 steps, converged, of Grid(2 cells, 2 features, weight 8, bandwidth 0.2))
    """
    if len(grid) == 0:
        raise InvalidInputError("an empty grid has no modes: bin some points first")
    reach = as_resolution(resolution)
    refuse_short_periods(grid.period, 2 * reach + 1, "take a smaller bandwidth")
    if not isinstance(tol, int | float | np.number) or not tol >= 0:
        raise InvalidInputError(f"tol must be a number from 0, got {tol!r}")
    steps = as_whole(max_iter, "max_iter", 1)
    labels, cells, fractions, weights, n_iter, converged = backend_of(grid.cells).seek_modes(
        grid.cells,
        grid.counts,
        grid.sums,
        grid.period,
        reach,
        float(tol) * ((2 * reach + 1) / 3),
        min(steps, 2**31 - 1),
        thread_count(n_threads),
    )
    weight = weights.astype(np.float64, copy=False)
    if grid.unit != 1:
        weight *= grid.unit
    return Modes(grid, labels, cells, fractions, weight, n_iter, converged, reach)


def as_resolution(resolution: int) -> int:
    """Check a resolution."""
    return as_whole(resolution, "resolution", 1, MAX_RESOLUTION)


def fine_bandwidth(bandwidth: float | ArrayLike, resolution: int) -> NDArray[np.float64]:
    """Give the side of the cells of which ``2 * resolution + 1`` span three bandwidths.

    Examples
    --------
    >>> from meanshiftpp.core.modes import fine_bandwidth
    >>> fine_bandwidth([3.0, 0.6], resolution=4)
    array([1. , 0.2])
    """
    h = np.asarray(bandwidth, np.float64)
    r = as_resolution(resolution)
    return h if r == 1 else 3 * h / (2 * r + 1)


def fine_cells(
    bandwidth: float | ArrayLike, periodic: Periodic, d: int, resolution: int
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Give the side of the cells for a resolution, and the cells in each period."""
    fine = fine_bandwidth(as_bandwidth(bandwidth, d), resolution)
    return snap(fine, periodic, d, window=2 * resolution + 1)


def fit_labels(
    X: ArrayLike,
    bandwidth: float | ArrayLike,
    *,
    resolution: int = 1,
    periodic: Periodic = None,
    sample_weight: ArrayLike | None = None,
    tol: float = DEFAULT_TOL,
    max_iter: int = DEFAULT_MAX_ITER,
    min_weight: float = 0,
    cluster_all: bool = True,
    n_threads: int | None = None,
) -> tuple[Modes, NDArray[np.int32]]:
    """Bin, search and label in one go: the cells found while binning are kept for labelling.

    The cells are those of `fine_bandwidth`: at every resolution a window is three bandwidths wide.
    Modes lighter than `min_weight` are dropped, as by `Modes.keep`. Points of no weight make no
    cell: they are labelled as new points are, by `cluster_all` too.
    """
    points, threads = as_points(X), thread_count(n_threads)
    fine, period = fine_cells(bandwidth, periodic, points.shape[1], resolution)
    if sample_weight is not None:
        sample_weight = beside(points, sample_weight)
    with working_on(points):
        labels: NDArray[np.int32] = module_of(points).empty(len(points), np.int32)
        grid, assignment = bin_points(
            points,
            fine,
            period=period,
            sample_weight=sample_weight,
            ids=labels,
            n_threads=threads,
        )
        modes = seek(grid, resolution=resolution, tol=tol, max_iter=max_iter, n_threads=threads)
        modes = modes.keep(min_weight) if min_weight else modes
        assignment.take(modes.cell_labels, labels, labels)
        if sample_weight is not None:
            idle = module_of(points).flatnonzero(sample_weight == 0)
            if idle.size:
                labels[idle] = modes.label(points[idle], cluster_all=cluster_all, n_threads=threads)
    return modes, labels
