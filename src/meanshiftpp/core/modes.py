"""The modes of a grid, and the labels of points by the mode that their cell leads to.

One step of the search moves everything in a cell to the mean of the window around it: 3^d cells,
or (2r+1)^d smaller ones at a resolution of r. Cells that meet stay together. The search ends when
nothing moves any more; everything that ends in one cell is one cluster.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from meanshiftpp._support.checks import as_not_negative, as_points, has_periods, thread_count
from meanshiftpp._support.devices import current_device, device_of, module_of, on_gpu, to_host
from meanshiftpp._support.text import pluralize
from meanshiftpp.backends import backend_of, gpu_of
from meanshiftpp.backends.protocol import Gpu
from meanshiftpp.core.chunk import Chunk
from meanshiftpp.core.grid import Grid
from meanshiftpp.core.window import cells_per_bandwidth

_FAR = np.int32(-2)  # label of a cell without occupied cells in its window, until it is resolved
_ROWS_AT_ONCE = 1 << 22  # searched for this label at once: NumPy does not answer Ctrl-C


@dataclass(frozen=True, eq=False, repr=False)
class Modes:
    """The modes of a grid, heaviest first, and the mode that each cell leads to.

    Attributes
    ----------
    grid : Grid
        The grid that was searched.
    cell_labels : ndarray of shape (n_cells,), int32
        For each cell of the grid the mode it leads to; -1 if `keep` dropped that mode.
    cells, fractions : ndarray of shape (n_modes, n_features)
        The cell of each mode and the position in that cell: together the exact result.
    weights : ndarray of shape (n_modes,), float64
        Weight of the points that lead to each mode, falling.
    n_iter : int
        Number of steps.
    converged : bool
        False if `max_iter` ended the search.
    resolution : int
        Cells from the centre of the window to its border, in the search and in `label`.

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
        """Positions of the modes in data units: array of shape (n_modes, n_features).

        On a feature with a period they are between 0 and the period.
        """
        centers, h = self._wrapped(self.cells + self.fractions), self.grid.bandwidth
        same = len(set(h.tolist())) == 1  # a scalar need not be copied to a GPU
        centers *= float(h[0]) if same else module_of(centers).asarray(h)
        return centers

    @property
    def bandwidth(self) -> NDArray[np.float64]:
        """A third of the window's width: at a resolution of 1, the size of a cell."""
        return self.grid.bandwidth * cells_per_bandwidth(self.resolution)

    @property
    def cell_size(self) -> NDArray[np.float64]:
        """The size of a cell along each feature."""
        return self.grid.bandwidth

    @property
    def periods(self) -> list[float | None]:
        """Period of each feature in data units, None for a feature without one."""
        return self.grid.periods

    @property
    def total(self) -> float:
        """Weight of all points together, noise included."""
        return self.grid.total

    def __len__(self) -> int:
        return len(self.weights)

    def __repr__(self) -> str:
        end = "converged" if self.converged else "not converged"
        counts = f"{pluralize(len(self), 'mode')}, {pluralize(self.n_iter, 'step')}"
        return f"Modes({counts}, {end}, of {self.grid!r})"

    def keep(self, min_weight: float) -> Modes:
        """Drop the modes lighter than `min_weight`: their cells get the label -1."""
        k = int((self.weights >= as_not_negative(min_weight, "min_weight")).sum())
        labels = self.cell_labels.copy()
        labels[labels >= k] = -1
        return replace(
            self,
            cell_labels=labels,
            cells=self.cells[:k],
            fractions=self.fractions[:k],
            weights=self.weights[:k],
        )

    def strengths(self, n_threads: int | None = None) -> NDArray[np.float64]:
        """Return how dense each cell is, from 0 to 1 for the densest of its cluster.

        The density of a cell is the weight in the window around it. Noise has strength 0.
        """
        grid, xp = self.grid, module_of(self.cell_labels)
        counts = backend_of(grid.cells).window_counts(
            *(grid.cells, grid.counts, grid.cells, grid.cells_per_period),
            self.resolution,
            thread_count(n_threads),
        )
        density, labels = counts.astype(np.float64), self.cell_labels
        order = xp.lexsort(xp.stack([density, labels]))
        last = xp.searchsorted(labels[order], xp.arange(len(self)), side="right") - 1
        peaks = xp.append(density[order][last], 1.0)
        strengths: NDArray[np.float64] = xp.where(labels < 0, 0.0, density / peaks[labels])
        return strengths

    def shares(self, X: ArrayLike, *, n_threads: int | None = None) -> NDArray[np.float64]:
        """Return for each point and mode the share of the window's weight that leads to that mode.

        The shares of a point sum to 1, or are all 0 if its window is empty or only noise. The
        result is a dense matrix of 8 bytes for each point and mode, stored mode by mode (Fortran
        order), and the only large array; the time grows with the number of modes times that of
        points.
        """
        modes, threads = self.to("cpu"), thread_count(n_threads)
        grid, points = modes.grid, to_host(as_points(X))
        ids = np.empty(len(points), np.int32)
        binned, assignment = grid.bin(points, ids=ids, n_threads=threads)
        assignment.take(np.arange(len(binned), dtype=np.int32), ids, ids)
        shares = np.empty((len(modes), len(points)))  # a row is filled much faster than a column
        for label, row in enumerate(shares):
            own = modes.cell_labels == label
            row[:] = backend_of(grid.cells).window_counts(
                grid.cells[own],
                grid.counts[own],
                binned.cells,
                grid.cells_per_period,
                self.resolution,
                threads,
            )[ids]
        total = shares.sum(axis=0)
        shares /= np.where(total > 0, total, 1)
        return shares.T

    def label(
        self, X: ArrayLike, *, cluster_all: bool = True, n_threads: int | None = None
    ) -> NDArray[np.int32]:
        """Label points, those of the grid or new ones.

        A point in an occupied cell gets that cell's label. A point in an empty cell gets the label
        of the heaviest occupied cell in its window. If there is none, the point gets the label of
        the nearest mode (measured in cells), or -1 with ``cluster_all=False``.
        """
        points = as_points(X)
        if on_gpu(points):
            with current_device(points):
                return self.to(device_of(points))._label(points, cluster_all, 1)
        if (gpu := gpu_of(self.grid.device)) is not None:
            return self._label_on_gpu(gpu, points, cluster_all)
        return self._label(points, cluster_all, thread_count(n_threads))

    def to(self, device: str) -> Modes:
        """Copy the modes and their grid to a device, "cpu" or "cuda" (or "cuda:1", ...)."""
        if self.grid.device == device:
            return self
        copy = gpu_of(device) or to_host
        return replace(
            self,
            grid=self.grid.to(device),
            cell_labels=copy(self.cell_labels),
            cells=copy(self.cells),
            fractions=copy(self.fractions),
            weights=copy(self.weights),
        )

    def _label_on_gpu(
        self, gpu: Gpu, points: NDArray[np.generic], cluster_all: bool
    ) -> NDArray[np.int32]:
        """Label points of the host on the GPU of the modes, batch by batch."""
        labels = np.empty(len(points), np.int32)
        for first, batch in gpu.batches(points):
            with Chunk(batch, first=first).locating_errors():
                batch_labels = self._label(batch, cluster_all, 1)
            batch_labels.get(out=labels[first : first + len(batch)])  # type: ignore[attr-defined]
        return labels

    def _label(
        self, points: NDArray[np.generic], cluster_all: bool, n_threads: int
    ) -> NDArray[np.int32]:
        xp, grid = module_of(points), self.grid
        labels: NDArray[np.int32] = xp.empty(len(points), np.int32)
        binned, assignment = grid.bin(points, ids=labels, n_threads=n_threads)
        index = backend_of(points).find_cells(
            grid.cells,
            grid.counts,
            binned.cells,
            grid.cells_per_period,
            self.resolution,
            n_threads,
        )
        near = index >= 0
        values = xp.full(len(binned), _FAR)
        values[near] = self.cell_labels[index[near]]
        assignment.take(values, labels, labels)
        for start in range(0, 0 if near.all() else len(labels), _ROWS_AT_ONCE):
            far = start + xp.flatnonzero(labels[start : start + _ROWS_AT_ONCE] == _FAR)
            labels[far] = self._nearest(points[far]) if cluster_all and len(self) else -1
        return labels

    def _nearest(self, points: NDArray[np.generic]) -> NDArray[np.int32]:
        cell_size = module_of(points).asarray(self.grid.bandwidth)
        positions, modes = points.astype(np.float64) / cell_size, self.cells + self.fractions
        return backend_of(points).nearest_modes(
            self._wrapped(positions), self._wrapped(modes), self.grid.cells_per_period
        )

    def _wrapped(self, positions: NDArray[np.float64]) -> NDArray[np.float64]:
        """Move positions, in cells, between 0 and the period of each periodic feature."""
        cells_per_period = self.grid.cells_per_period
        if not has_periods(cells_per_period):
            return positions
        wrapped = positions.copy()
        for j in np.flatnonzero(cells_per_period):
            column = wrapped[:, j] % float(cells_per_period[j])
            column[column >= cells_per_period[j]] = 0.0  # the modulo of -1e-20 rounds up to it
            wrapped[:, j] = column
        return wrapped


def find_modes(grid: Grid, reach: int, tol: float, max_iter: int, n_threads: int) -> Modes:
    """Search a grid; `Recipe.search` checks the arguments and reports missing convergence."""
    found = backend_of(grid.cells).seek_modes(
        *grid.rows, grid.cells_per_period, reach, tol, max_iter, n_threads
    )
    weights = found.weights if grid.unit == 1 else found.weights * grid.unit
    return Modes(
        grid,
        found.cell_labels,
        found.cells,
        found.fractions,
        weights,
        found.n_iter,
        found.converged,
        reach,
    )
