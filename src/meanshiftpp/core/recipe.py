"""The recipe of a clustering with a bandwidth: cells -> grid -> modes -> labels, written out once.

The estimator, Dask, Spark, the command line, the studio, images and video hold a `Recipe`. They
differ in how chunks reach `bin` and where `search` runs.

    recipe = Recipe(bandwidth=0.5, min_weight=20).checked(n_features=2)
    modes, labels = recipe.fit(X)                          # in memory

    grid = sum(map(recipe.bin, chunks), recipe.empty())    # in parts, anywhere
    modes = recipe.search(grid)
    labels = recipe.label(modes, X)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from meanshiftpp._kernel import DOUBLING_STEPS, FREE_STEPS
from meanshiftpp._support.checks import (
    Periodic,
    as_bandwidth,
    as_not_negative,
    as_points,
    as_resolution,
    as_weights,
    as_whole,
    check_window_fits,
    divide_periods,
    feature_count,
    thread_count,
)
from meanshiftpp._support.devices import current_device, module_of
from meanshiftpp._support.text import pluralize
from meanshiftpp._support.warnings import warn_user
from meanshiftpp.backends.protocol import Assignment
from meanshiftpp.core.chunk import Chunk
from meanshiftpp.core.grid import Grid
from meanshiftpp.core.modes import Modes, find_modes
from meanshiftpp.core.window import (
    PAPER_WINDOW,
    cells_per_bandwidth,
    fine_cell_size,
    window_width,
)
from meanshiftpp.errors import InvalidInputError

__all__ = ["DEFAULT_MAX_ITER", "DEFAULT_TOL", "Recipe", "fine_bandwidth", "seek"]

DEFAULT_TOL = 1e-3
DEFAULT_MAX_ITER = 10_000  # for safety: with a tolerance, every search ends after `enough_steps`
TRIAL_MAX_ITER = 300  # of searches that compare bandwidths
_MAX_STEPS = 2**31 - 1


class Search(NamedTuple):
    """The part of a recipe that searches grids, which needs no bandwidth; made by `checked`."""

    reach: int
    tol: float
    max_iter: int
    min_weight: float

    @classmethod
    def checked(
        cls,
        resolution: int = 1,
        tol: float = DEFAULT_TOL,
        max_iter: int = TRIAL_MAX_ITER,
        min_weight: float = 0.0,
    ) -> Self:
        """Validate the parameters; nothing else validates them."""
        return cls(
            as_resolution(resolution),
            as_not_negative(tol, "tol"),
            min(as_whole(max_iter, "max_iter", 1), _MAX_STEPS),
            as_not_negative(min_weight, "min_weight"),
        )

    def modes(self, grid: Grid, *, n_threads: int | None = None) -> Modes:
        """Search a grid for all its modes, without a warning; the caller checks `converged`."""
        if not isinstance(grid, Grid):
            raise InvalidInputError(
                f"a search needs a Grid, got {type(grid).__name__}; use Grid.from_points(X, h)"
            )
        if len(grid) == 0:
            raise InvalidInputError("an empty grid has no modes: bin some points first")
        window = window_width(self.reach)
        check_window_fits(grid.cells_per_period, window, "use a smaller bandwidth")
        tol = self.tol * cells_per_bandwidth(self.reach)
        return find_modes(grid, self.reach, tol, self.max_iter, thread_count(n_threads))


@dataclass(frozen=True, eq=False)
class Recipe:
    """The parameters of a clustering, and its steps.

    Attributes
    ----------
    bandwidth : float or array-like of shape (n_features,)
        A third of the window's width, one for all features or one for each. A recipe that only
        searches grids needs none.
    resolution : int
        Cells from the centre of the window to its border: a cell is 3 / (2 r + 1) bandwidths.
    periodic : float or sequence of n_features periods, each a number or None
        Period of all features or of each, in data units.
    tol : float
        After 64 steps, a cell that would move by at most this many bandwidths stays; the limit
        doubles every 8 steps.
    max_iter : int
        Largest number of steps.
    min_weight : float
        Clusters lighter than this are noise, of label -1.
    cluster_all : bool
        Whether a point far from every occupied cell gets the label of the nearest mode, or -1.
    """

    bandwidth: float | ArrayLike | None = None
    resolution: int = 1
    periodic: Periodic = None
    tol: float = DEFAULT_TOL
    max_iter: int = DEFAULT_MAX_ITER
    min_weight: float = 0.0
    cluster_all: bool = True

    def checked(self, n_features: int) -> CheckedRecipe:
        """Validate all parameters for `n_features` features; nothing else validates them."""
        search = self._search()
        bandwidth = as_bandwidth(self.bandwidth, n_features)
        cell_size, cells_per_period = divide_periods(
            fine_cell_size(bandwidth, search.reach), self.periodic, window_width(search.reach)
        )
        return CheckedRecipe(
            bandwidth=bandwidth,
            resolution=search.reach,
            periodic=self.periodic,
            tol=search.tol,
            max_iter=search.max_iter,
            min_weight=search.min_weight,
            cluster_all=bool(self.cluster_all),
            cell_size=cell_size,
            cells_per_period=cells_per_period,
        )

    def gather(self, read: Callable[[Self], Grid]) -> Grid:
        """Return the grid of all chunks; `read` bins them by a recipe and adds them up."""
        return read(self)

    def search(self, grid: Grid, *, n_threads: int | None = None) -> Modes:
        """Search a grid for its modes, and drop those that are too light.

        A search that reaches `max_iter` warns with scikit-learn's ``ConvergenceWarning``.
        """
        search = self._search()
        modes = search.modes(grid, n_threads=n_threads)
        report_convergence([modes], self)
        return modes.keep(search.min_weight) if search.min_weight > 0 else modes

    def search_quietly(self, grid: Grid, *, n_threads: int | None = None) -> Modes:
        """Search a grid for all its modes, without a warning; the caller checks `converged`."""
        return self._search().modes(grid, n_threads=n_threads)

    def label(
        self, modes: Modes, X: ArrayLike, *, n_threads: int | None = None
    ) -> NDArray[np.int32]:
        """Label points, those of the grid or new ones; see `Modes.label`."""
        return modes.label(X, cluster_all=self.cluster_all, n_threads=n_threads)

    def _search(self) -> Search:
        return Search.checked(self.resolution, self.tol, self.max_iter, self.min_weight)


@dataclass(frozen=True, eq=False)
class CheckedRecipe(Recipe):
    """A recipe for data of a known number of features: the result of `Recipe.checked`.

    Attributes
    ----------
    cell_size : ndarray of shape (n_features,), float64
        Size of a cell along each feature.
    cells_per_period : ndarray of shape (n_features,), int64
        Number of cells in the period of each feature; 0 if a feature is not periodic.
    """

    cell_size: NDArray[np.float64] = field(kw_only=True)
    cells_per_period: NDArray[np.int64] = field(kw_only=True)

    def empty(self) -> Grid:
        """Return the empty grid, the start of a sum."""
        return Grid.of_cells(self.cell_size, self.cells_per_period)

    def bin(self, chunk: Chunk, *, n_threads: int | None = None) -> Grid:
        """Bin a chunk; an error states the place of a bad value in the chunk's file."""
        with chunk.locating_errors():
            return self._binned(as_points(chunk.points), chunk.weight, n_threads)[0]

    def fit(
        self,
        X: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        n_threads: int | None = None,
    ) -> tuple[Modes, NDArray[np.int32]]:
        """Bin, search and label points in memory; labelling reuses the cells found while binning.

        Points of zero weight belong to no cell; they are labelled like new points.
        """
        points, n_threads = as_points(X), thread_count(n_threads)
        weights = None if sample_weight is None else as_weights(sample_weight, points)
        with current_device(points):
            labels: NDArray[np.int32] = module_of(points).empty(len(points), np.int32)
            grid, assignment = self._binned(points, weights, n_threads, labels)
            modes = self.search(grid, n_threads=n_threads)
            assignment.take(modes.cell_labels, labels, labels)
            if weights:
                weightless = module_of(points).flatnonzero(weights.counts == 0)
                if weightless.size:
                    labels[weightless] = self.label(modes, points[weightless], n_threads=n_threads)
        return modes, labels

    def _search(self) -> Search:
        return Search(self.resolution, self.tol, self.max_iter, self.min_weight)

    def _binned(
        self,
        points: NDArray[np.generic],
        weight: ArrayLike | None,
        n_threads: int | None,
        ids: NDArray[np.int32] | None = None,
    ) -> tuple[Grid, Assignment]:
        return Grid.of_points(
            points,
            self.cell_size,
            self.cells_per_period,
            sample_weight=weight,
            ids=ids,
            n_threads=n_threads,
        )


def min_weight_for(min_cluster_size: float) -> float:
    """Return the `min_weight` of a minimum cluster size: 1, the default, keeps every cluster."""
    return float(min_cluster_size) if min_cluster_size > 1 else 0.0


def enough_steps(tol: float) -> int:
    """Return a number of steps after which every search with a tolerance above 0 has ended.

    A move is shorter than a window, three bandwidths, so no cell moves once the limit is as long.
    """
    doublings = max(math.ceil(math.log2(PAPER_WINDOW) - math.log2(tol)), 0)
    return FREE_STEPS + DOUBLING_STEPS * (doublings + 1)


def report_convergence(
    searches: Sequence[Modes], limits: Recipe | Search, max_iter: str = "max_iter"
) -> None:
    """Warn if a search ended at `max_iter`; the only place that reports it.

    `max_iter` is the caller's name for that parameter.
    """
    unfinished = sum(not modes.converged for modes in searches)
    if not unfinished:
        return
    from sklearn.exceptions import ConvergenceWarning  # slow to import

    which = "the search" if len(searches) == 1 else f"{unfinished} of {len(searches)} searches"
    problem = f"{which} still moved points after {pluralize(limits.max_iter, 'step')}"
    advice = f"raise {max_iter}, or use a tol above 0, with which every search ends"
    if limits.tol > 0:
        advice = f"raise {max_iter}: {enough_steps(limits.tol)} steps are enough for every search"
    warning = ConvergenceWarning(f"{problem}; {advice}")
    warning.problem = problem  # front ends add advice that names their own options
    warn_user(warning)


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
        The grid to search.
    resolution : int
        Cells from the centre of the window to its border: the window is ``2 * resolution + 1``
        cells wide. 1 is the paper's. A higher resolution on cells that are smaller in proportion
        (`fine_bandwidth`) depends less on the origin of the cells.
    tol : float
        After 64 steps, a cell that would move by at most this many bandwidths stays; the limit
        doubles every 8 steps, so every search ends. With 0, cells always move.
    max_iter : int
        Largest number of steps. A search that needs more ends with a ``ConvergenceWarning``.
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
    Modes(2 modes, 1 step, converged, of Grid(2 cells, 2 features, weight 8, bandwidth 0.2))
    """
    search = Search.checked(resolution, tol, max_iter)
    modes = search.modes(grid, n_threads=n_threads)
    report_convergence([modes], search)
    return modes


def fine_bandwidth(bandwidth: float | ArrayLike, resolution: int) -> NDArray[np.float64]:
    """Return the size of the cells of which ``2 * resolution + 1`` span three bandwidths.

    Examples
    --------
    >>> from meanshiftpp import fine_bandwidth
    >>> fine_bandwidth([3.0, 0.6], resolution=4)
    array([1. , 0.2])
    """
    checked = as_bandwidth(bandwidth, feature_count(bandwidth)).reshape(np.shape(bandwidth))
    return fine_cell_size(checked, as_resolution(resolution))
