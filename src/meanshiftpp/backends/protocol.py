"""The interface of a backend: ten functions on arrays that are all on one device.

A backend is a module with these functions. All backends return equal results, bit for bit, of the
same types. A backend that does not cover a case passes it to `host`, with a copy to the CPU and
back.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from meanshiftpp._kernel import Lattice, Marginal

# NumPy arrays on the host, CuPy arrays on a GPU, which have the same methods.
Points = NDArray[np.generic]
Cells = NDArray[np.int64]
Counts = NDArray[np.uint64]
Sums = NDArray[np.uint64]
Labels = NDArray[np.int32]
Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Periods = NDArray[np.int64] | NDArray[np.float64]


class Assignment(Protocol):
    """The cell of each point, behind the ids that binning wrote for them."""

    def take(self, values: Labels, ids: Labels, labels: Labels) -> None:
        """OUT labels[i] = values[cell of point i], -1 for none; `labels` may be `ids`."""


class Binned(NamedTuple):
    """The occupied cells in lexicographic order, and the cell of each point."""

    cells: Cells
    counts: Counts
    sums: Sums
    assignment: Assignment


class Merged(NamedTuple):
    """Distinct cells in lexicographic order, and the new position of each row."""

    cells: Cells
    counts: Counts
    sums: Sums
    position: NDArray[np.uint32]


class Coarse(NamedTuple):
    """The cells of a coarser grid, in lexicographic order."""

    cells: Cells
    counts: Counts
    sums: Sums


class FoundModes(NamedTuple):
    """The result of a search, modes by falling weight, ties in cell order."""

    cell_labels: Labels
    cells: Cells
    fractions: Floats  # position of the mode in its cell
    weights: Floats  # in counts
    n_iter: int
    converged: bool


class Placed(Protocol):
    """The leaf of each point."""

    @property
    def n_inside(self) -> int:
        """The number of points that are in a leaf."""

    @property
    def squares(self) -> float:
        """The sum of the squared counts of points with equal coordinates."""

    def take(self, values: Labels, labels: Labels, n_threads: int) -> None:
        """OUT labels[i] = values[leaf of point i]; points in no leaf keep their label."""


class BuiltLeaves(NamedTuple):
    """The arrays of the leaves, on the host, and the leaf of each point."""

    arrays: tuple[
        NDArray[np.uint64], NDArray[np.uint16], Floats, Integers
    ]  # codes, bits, positions, weights
    placed: Placed


class Backend(Protocol):
    """The functions of a backend. `_kernel.pyi` documents the arguments."""

    def bin_points(
        self,
        points: Points,
        cell_size: Floats,
        weights: Counts | None,
        ids: Labels | None,
        n_threads: int,
    ) -> Binned:
        """Bin points; OUT `ids`, for `Assignment.take`."""

    def merge_cells(self, cells: Cells, counts: Counts, sums: Sums) -> Merged:
        """Sort rows and add up the rows of the same cell."""

    def coarsen_cells(
        self, cells: Cells, counts: Counts, sums: Sums, factor: int, n_threads: int
    ) -> Coarse:
        """Merge `factor` cells along each axis to one."""

    def seek_modes(
        self,
        cells: Cells,
        counts: Counts,
        sums: Sums,
        cells_per_period: Integers,
        reach: int,
        tol: float,
        max_iter: int,
        n_threads: int,
    ) -> FoundModes:
        """Search a grid for its modes."""

    def find_cells(
        self,
        cells: Cells,
        counts: Counts,
        query: Cells,
        cells_per_period: Integers,
        reach: int,
        n_threads: int,
    ) -> Integers:
        """Return the index of each query cell, else of the heaviest within reach, else -1."""

    def window_counts(
        self,
        cells: Cells,
        counts: Counts,
        query: Cells,
        cells_per_period: Integers,
        reach: int,
        n_threads: int,
    ) -> Counts:
        """Return the sum of the counts within reach of each query cell."""

    def marginals(
        self, points: Points, counts: Counts | None, period: Floats, n_threads: int
    ) -> list[Marginal]:
        """Return the marginal of each feature; raise for a value that is not finite."""

    def build_leaves(
        self, points: Points, counts: Counts | None, lattice: Lattice, limit: int, n_threads: int
    ) -> BuiltLeaves:
        """Divide points into the largest boxes of at most `limit` counts."""

    def find_leaves(
        self,
        points: Points,
        lattice: Lattice,
        ends: Floats,
        codes: NDArray[np.uint64],
        bits: NDArray[np.uint16],
        n_threads: int,
    ) -> Labels:
        """Return the leaf whose box holds each point, -1 for none."""

    def nearest_modes(self, positions: Floats, modes: Floats, cells_per_period: Periods) -> Labels:
        """Return the nearest mode of each position, the first of equals; both in cells."""


class Gpu(Protocol):
    """A GPU that copies arrays to itself."""

    def __call__(self, array: NDArray[Any]) -> NDArray[Any]:
        """Copy an array to the GPU, unless it is there."""

    def batches(self, points: Points) -> Iterator[tuple[int, Points]]:
        """Yield the rows of a host array in batches, each with the number of its first row."""
