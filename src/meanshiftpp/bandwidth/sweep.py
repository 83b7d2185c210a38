"""Every bandwidth from one read of the data.

A grid coarsens: cells of side h make cells of side 2h, 3h, 4h without the points. So the data is
binned once, at a small step; each bandwidth is a whole multiple of it, made from the coarsest grid
that divides it, and searched by itself. What is left to the user is to look at the curve.

Clusterings at two bandwidths are compared on the cells of the base grid, of which all others are
unions: the adjusted Rand index of the points, without the points.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from concurrent.futures import CancelledError, ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from meanshiftpp._support.checks import (
    as_bandwidth,
    as_points,
    as_resolution,
    as_weights,
    thread_count,
)
from meanshiftpp._support.devices import to_device_of
from meanshiftpp.bandwidth.agreement import CRUMB, agreement, comparable, large, meet, parents
from meanshiftpp.bandwidth.multiples import (
    plan_for_grid,
    plan_for_points,
    references,
    refuse_too_fine,
    shown,
)
from meanshiftpp.bandwidth.spread import scale_of_grid
from meanshiftpp.core.grid import Grid
from meanshiftpp.core.modes import Modes
from meanshiftpp.core.recipe import (
    DEFAULT_MAX_ITER,
    DEFAULT_TOL,
    Recipe,
    fine_bandwidth,
    report_convergence,
)
from meanshiftpp.errors import InvalidInputError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["Sweep", "sweep"]

MAX_CELLS = 1 << 24  # of the base grid, by default
FALLBACK = 0.45  # in references for the gradient, where nothing is worth comparing


@dataclass(frozen=True, eq=False, repr=False)
class Sweep:
    """Clusterings at many bandwidths, from fine to coarse; made by `sweep`.

    Attributes
    ----------
    bandwidths : ndarray of shape (n_bandwidths, n_features)
        The bandwidths used, rising: whole multiples of `step`.
    n_clusters : ndarray of shape (n_bandwidths,)
        Number of clusters at each.
    n_large : ndarray of shape (n_bandwidths,)
        Number of those with at least 1 % of the points.
    modes : list of Modes
        The result at each, as `seek` gives it.
    weights : list of ndarray
        Weights of the clusters at each, falling.
    stability : ndarray of shape (n_bandwidths,)
        How much each clustering agrees with its neighbours in the sweep: the mean of the adjusted
        Rand indices with the one before and the one after. 1 is the same partition. Computed when
        first asked for.
    best : int
        Which of them lasts longest: the one that agrees best with all others worth comparing, each
        counted by the range of bandwidths (in logarithms) it stands for. Worth comparing are those
        with two clusters of at least 3 % of the points, and at most 30 % of the points in
        clusters of less than 1 %. Where there are none, the bandwidth nearest to 0.45 references
        (see `select_bandwidth`). Computed when first asked for.
    base : Grid
        The grid all others were made from.
    multiples : ndarray of shape (n_bandwidths,), int64
        ``bandwidths`` in steps.

    Examples
    --------
    >>> import numpy as np
    >>> from meanshiftpp import sweep
    >>> X = np.random.default_rng(0).normal([[0, 0]] * 500 + [[9, 9]] * 500)
    >>> found = sweep(X, [0.5, 1, 2, 4])
    >>> found.n_clusters.tolist()
    [11, 2, 2, 1]
    >>> found.bandwidths[found.best].tolist()
    [2.0, 2.0]
    >>> np.bincount(found.labels(found.best, X)).tolist()
    [500, 500]
    """

    base: Grid
    step: NDArray[np.float64]
    multiples: NDArray[np.int64]
    modes: list[Modes]

    @property
    def bandwidths(self) -> NDArray[np.float64]:
        """The bandwidths used, a row for each, a column for each feature."""
        return self.multiples[:, None] * self.step

    @property
    def n_clusters(self) -> NDArray[np.int64]:
        """Number of clusters at each bandwidth."""
        return np.array([len(modes) for modes in self.modes], np.int64)

    @property
    def n_large(self) -> NDArray[np.int64]:
        """Number of clusters of 1 % of the points or more at each bandwidth.

        They are the first of their clustering: ``weights[i][: n_large[i]]`` are their weights.

        Examples
        --------
        >>> import numpy as np
        >>> from meanshiftpp import sweep
        >>> X = np.random.default_rng(0).normal([[0, 0]] * 500 + [[9, 9]] * 500)
        >>> found = sweep(X, [0.5, 1, 2, 4])
        >>> found.n_clusters.tolist(), found.n_large.tolist()
        ([11, 2, 2, 1], [3, 2, 2, 1])
        """
        return np.array([large(modes, CRUMB) for modes in self.modes], np.int64)

    @property
    def weights(self) -> list[NDArray[np.float64]]:
        """Weights of the clusters at each bandwidth."""
        return [modes.weights for modes in self.modes]

    @cached_property
    def stability(self) -> NDArray[np.float64]:
        """Agreement of each clustering with its neighbours; NaN where there is only one."""
        labellings, counts = self._cells
        between = [agreement(a, b, counts) for a, b in pairwise(labellings)]
        if not between:
            return np.full(1, math.nan)
        return np.asarray(np.nanmean([[math.nan, *between], [*between, math.nan]], axis=0))

    @cached_property
    def best(self) -> int:
        """Index of the clustering that agrees best with all others worth comparing."""
        those = [i for i, modes in enumerate(self.modes) if comparable(modes)]
        if not those:
            reference = references(scale_of_grid(self.base), self.step)
            return int(np.argmin(np.abs(np.log(self.multiples / (FALLBACK * reference)))))
        labellings, counts = self._cells
        alike = np.eye(len(those))
        for i, j in combinations(range(len(those)), 2):
            alike[i, j] = agreement(labellings[those[i]], labellings[those[j]], counts)
            alike[j, i] = alike[i, j]
        reach = np.log(self.multiples[those])
        likeness = alike @ (np.gradient(reach) if len(those) > 1 else np.ones(1))
        equal = np.flatnonzero(likeness >= likeness.max() * (1 - 1e-9))
        return those[int(equal[len(equal) // 2])]  # the middle one of those that are the same

    def nearest(self, bandwidth: float | ArrayLike) -> int:
        """Find the index of the bandwidth nearest to one, or to one for each feature.

        Examples
        --------
        >>> from meanshiftpp import sweep
        >>> found = sweep([[0.0], [0.3], [7.0]], [0.5, 1, 4])
        >>> found.nearest(3), found.labels(found.nearest(3), [[0.1]]).tolist()
        (2, [0])
        """
        h = as_bandwidth(bandwidth, self.base.n_features)
        return int(np.abs(np.log(self.bandwidths / h)).sum(axis=1).argmin())

    def labels(
        self, which: int, X: ArrayLike, *, n_threads: int | None = None
    ) -> NDArray[np.int32]:
        """Label points at one of the bandwidths, as `Modes.label` does.

        Parameters
        ----------
        which : int
            Its index: `best`, or what `nearest` says of a bandwidth.
        X : array-like of shape (n_samples, n_features)
            The points.
        n_threads : int, optional
            By default every core this process may use.

        Returns
        -------
        labels : ndarray of shape (n_samples,), int32
            0 is the heaviest cluster.
        """
        if isinstance(which, bool) or not isinstance(which, int | np.integer):
            raise InvalidInputError(
                "labels expects the index of a bandwidth first, a whole number, got "
                f"{type(which).__name__}; nearest(h) gives the index of the bandwidth h"
            )
        if not -len(self) <= which < len(self):
            raise InvalidInputError(
                f"the sweep has {len(self)} bandwidths, there is no index {which}"
            )
        return self.modes[int(which)].label(X, n_threads=n_threads)

    def plot(self, ax: Any = None) -> Any:
        """Draw the number of clusters and the stability against the bandwidth, `best` marked.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, default=None
            Where to draw; None makes a figure.

        Returns
        -------
        ax : matplotlib.axes.Axes
            ``ax.figure.savefig(path)`` writes the picture.
        """
        from meanshiftpp.plot.sweep import draw

        return draw(
            ax,
            self.multiples,
            self.step,
            self.n_clusters,
            self.n_large,
            self.stability,
            self.best,
        )

    def __len__(self) -> int:
        return len(self.modes)

    def __repr__(self) -> str:
        first, last = (shown(h) for h in self.bandwidths[[0, -1]])
        many = f"{len(self)} bandwidth{'s' if len(self) != 1 else ''}"
        return f"Sweep({many} from {first} to {last}, of {self.base!r})"

    @cached_property
    def _cells(self) -> tuple[list[NDArray[np.int32]], NDArray[np.float64]]:
        """Labels at each bandwidth of cells that no bandwidth divides, and their counts."""
        made = {1: (self.base, np.arange(len(self.base)))}
        labellings = []
        for k, modes in zip(self.multiples.tolist(), self.modes, strict=True):
            source = _source(k, made)
            finer, of_base = made[source]
            made[k] = modes.grid, parents(finer, k // source, modes.grid)[of_base]
            labellings.append(modes.cell_labels[made[k][1]])
        return meet(labellings, self.base.counts.astype(np.float64))


def sweep(
    X: ArrayLike | Grid,
    bandwidths: ArrayLike | None = None,
    *,
    step: float | ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    resolution: int = 1,
    tol: float = DEFAULT_TOL,
    max_iter: int = DEFAULT_MAX_ITER,
    max_cells: int = MAX_CELLS,
    n_threads: int | None = None,
) -> Sweep:
    """Cluster at many bandwidths, reading the data once.

    Each result is that of a direct fit at the bandwidth it reports: same cells, same counts, and
    sums of positions to within one unit of the fixed point for each cell of the base grid, 2^-32 of
    a cell. (A point within rounding of a cell's edge may be counted on its other side.)

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features), or Grid
        The points; or a grid of them, whose bandwidth is then the step. With periods, multiples
        that do not divide them are moved to the nearest that do.
    bandwidths : array-like of shape (m,) or (m, n_features), default=None
        Numbers for all features alike; or rows of one number for each feature, in the same
        proportion. In any order; equal ones count once. They are moved to the nearest whole
        multiple of the step, and `Sweep.bandwidths` tells what was used. None takes 17 of them,
        four to a doubling, around what suits the spread of each feature and the number of points.
    step : float or array-like of shape (n_features,), default=None
        What bandwidths are multiples of. None takes the largest part (a whole, half, third, down to
        an eighth) of the smallest bandwidth of which all are multiples; if there is none, a
        quarter, which moves no bandwidth by more than an eighth. The smaller the step, the more
        cells.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights, not negative. Not with a grid, which has its own.
    resolution, tol, max_iter
        As in `seek` and `MeanShiftPP`.
    max_cells : int, default=2**24
        Most cells the base grid may have. One with more is refused, and the error says which
        bandwidth would do.
    n_threads : int, optional
        By default every core this process may use. The result does not depend on it.

    Returns
    -------
    Sweep

    Examples
    --------
    >>> import numpy as np
    >>> from meanshiftpp import sweep
    >>> X = np.random.default_rng(0).normal([[0, 0]] * 500 + [[9, 9]] * 500)
    >>> sweep(X, [1, 2, 4]).n_clusters.tolist()
    [2, 2, 1]
    """
    recipe = Recipe(resolution=resolution, tol=tol, max_iter=max_iter)
    found = compute_sweep(
        X,
        bandwidths,
        recipe,
        step=step,
        sample_weight=sample_weight,
        max_cells=max_cells,
        n_threads=n_threads,
    )
    report_convergence(found.modes, recipe)
    return found


def compute_sweep(
    X: ArrayLike | Grid,
    bandwidths: ArrayLike | None,
    recipe: Recipe,
    *,
    step: float | ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    max_cells: int = MAX_CELLS,
    n_threads: int | None = None,
) -> Sweep:
    """Compute a sweep as `sweep` does, without a warning about searches that did not converge."""
    r, n_threads = as_resolution(recipe.resolution), thread_count(n_threads)
    if isinstance(X, Grid):
        base, unit, multiples = plan_for_grid(X.to("cpu"), bandwidths, step, sample_weight, r)
    else:
        points = as_points(X)
        if sample_weight is not None:
            sample_weight = to_device_of(points, sample_weight)
            as_weights(sample_weight, len(points))
        unit, multiples = plan_for_points(points, sample_weight, bandwidths, step)
        cell_size = fine_bandwidth(unit, r)
        refuse_too_fine(points, cell_size, unit * multiples[0], max_cells)
        base = Grid.from_points(points, cell_size, sample_weight=sample_weight, n_threads=n_threads)
    base = base.to("cpu")  # the points were read on their device; the rest of the work is small
    if len(base) == 0:
        raise InvalidInputError("a sweep needs points: there are none, or none with a weight")
    modes = _searched(_coarsened(base, multiples), recipe, n_threads)
    return Sweep(base, unit, np.array(multiples, np.int64), modes)


# -- grids and searches -----------------------------------------------------------------------


def _source(k: int, made: Iterable[int]) -> int:
    """Find the coarsest grid of which that multiple can be made."""
    return max(m for m in made if k % m == 0)


def _coarsened(base: Grid, multiples: list[int]) -> list[Grid]:
    made = {1: base}
    for k in multiples:
        if k not in made:
            source = _source(k, made)
            made[k] = made[source].coarsen(k // source)
    return [made[k] for k in multiples]


def _searched(grids: list[Grid], recipe: Recipe, threads: int) -> list[Modes]:
    """Search the grids, each on a thread; one that is much of all the work, on all of them."""
    fair = sum(map(len, grids)) / threads
    alone = {
        i: recipe.search_quietly(grid, n_threads=threads)
        for i, grid in enumerate(grids)
        if len(grid) > fair
    }
    rest = [i for i in range(len(grids)) if i not in alone]
    errors: list[BaseException] = []  # after the first, Ctrl-C too, no further search is begun

    def search(i: int) -> Modes:
        if errors:
            raise CancelledError
        try:
            return recipe.search_quietly(grids[i], n_threads=1)
        except BaseException as error:
            errors.append(error)
            raise

    with ThreadPoolExecutor(threads) as pool:
        try:
            found = alone | dict(zip(rest, pool.map(search, rest), strict=True))
        except BaseException as error:
            errors.append(error)
            raise errors[0] from None
    return [found[i] for i in range(len(grids))]
