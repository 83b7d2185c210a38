"""Clusterings at many bandwidths, at a lower cost than separate ones.

A grid can be coarsened: cells of size h join to cells of size 2h, 3h, 4h without the points. Each
bandwidth is a whole multiple of one step. Its grid is made from the coarsest grid that divides it,
or from the points where that is faster, and is searched separately.

Clusterings at two bandwidths are compared on the points, or on a sample of many points. Those of a
grid are compared on its cells: every other cell is a union of these, so the adjusted Rand index is
that of the points.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import combinations, pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from meanshiftpp._support.checks import (
    Weights,
    as_bandwidth,
    as_points,
    as_weights,
    as_whole,
    thread_count,
)
from meanshiftpp._support.text import pluralize
from meanshiftpp.bandwidth.agreement import (
    SMALL,
    adjusted_rand_index,
    common_refinement,
    count_large,
    parent_cells,
    qualifies,
)
from meanshiftpp.bandwidth.grids import bin_all, coarsen_all, largest_divisor
from meanshiftpp.bandwidth.multiples import (
    format_bandwidth,
    plan_for_grid,
    plan_for_points,
    reference_in_steps,
)
from meanshiftpp.bandwidth.occupancy import PointSample, default_limit
from meanshiftpp.bandwidth.searches import search_all
from meanshiftpp.core.grid import Grid
from meanshiftpp.core.modes import Modes
from meanshiftpp.core.recipe import (
    DEFAULT_MAX_ITER,
    DEFAULT_TOL,
    Search,
    report_convergence,
)
from meanshiftpp.core.scale import scale_of_grid
from meanshiftpp.core.window import fine_cell_size
from meanshiftpp.errors import InvalidInputError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["Sweep", "sweep"]

MAX_CELLS = 1 << 24  # cells of the finest grid, by default
FALLBACK = 0.45  # in references for the gradient, if no clustering qualifies


@dataclass(frozen=True, eq=False, repr=False)
class Sweep:
    """Clusterings at many bandwidths, from fine to coarse; made by `sweep`.

    Attributes
    ----------
    bandwidths : ndarray of shape (n_bandwidths, n_features)
        The bandwidths used, rising: whole multiples of `step`.
    n_clusters : ndarray of shape (n_bandwidths,)
        Number of clusters at each bandwidth.
    n_large : ndarray of shape (n_bandwidths,)
        Number of clusters with at least 1 % of the points.
    modes : list of Modes
        The result at each bandwidth, as `seek` returns it.
    weights : list of ndarray
        Weights of the clusters at each bandwidth, falling.
    stability : ndarray of shape (n_bandwidths,)
        How much each clustering agrees with its neighbours in the sweep: the mean of the adjusted
        Rand indices with the one before and the one after. 1 means the same partition. Over
        65,536 points, the agreement is that of a fixed sample of them. Computed on first access.
    best : int
        Index of the clustering that persists longest: it agrees best with all others that qualify,
        each weighted by the range of bandwidths (in logarithms) that it stands for. A clustering
        qualifies if it has two clusters of at least 3 % of the points, and at most 30 % of the
        points in small clusters of less than 1 %. If none qualifies, the index of the bandwidth
        nearest to 0.45 references (see `select_bandwidth`). Computed on first access.
    base : Grid
        The grid that was passed, or that of the smallest bandwidth.
    step : ndarray of shape (n_features,)
        The bandwidth of which all others are multiples.
    multiples : ndarray of shape (n_bandwidths,), int64
        ``bandwidths`` in steps.
    sample : PointSample or None
        The points on which clusterings are compared; None compares them on the cells of `base`, or
        there is only one.

    Examples
    --------
    >>> import numpy as np
    >>> from meanshiftpp import sweep
    >>> X = np.random.default_rng(0).normal([[0, 0]] * 500 + [[9, 9]] * 500)
    >>> result = sweep(X, [0.5, 1, 2, 4])
    >>> result.n_clusters.tolist()
    [11, 2, 2, 1]
    >>> result.bandwidths[result.best].tolist()
    [2.0, 2.0]
    >>> np.bincount(result.labels(result.best, X)).tolist()
    [500, 500]
    """

    base: Grid
    step: NDArray[np.float64]
    multiples: NDArray[np.int64]
    modes: list[Modes]
    sample: PointSample | None = None

    @property
    def bandwidths(self) -> NDArray[np.float64]:
        """The bandwidths used: a row for each, a column for each feature."""
        return self.multiples[:, None] * self.step

    @property
    def n_clusters(self) -> NDArray[np.int64]:
        """Number of clusters at each bandwidth."""
        return np.array([len(modes) for modes in self.modes], np.int64)

    @property
    def n_large(self) -> NDArray[np.int64]:
        """Number of clusters with at least 1 % of the points at each bandwidth.

        Clusters are sorted by weight: ``weights[i][: n_large[i]]`` are the weights of these.

        Examples
        --------
        >>> import numpy as np
        >>> from meanshiftpp import sweep
        >>> X = np.random.default_rng(0).normal([[0, 0]] * 500 + [[9, 9]] * 500)
        >>> result = sweep(X, [0.5, 1, 2, 4])
        >>> result.n_clusters.tolist(), result.n_large.tolist()
        ([11, 2, 2, 1], [3, 2, 2, 1])
        """
        return np.array([count_large(modes, SMALL) for modes in self.modes], np.int64)

    @property
    def weights(self) -> list[NDArray[np.float64]]:
        """Weights of the clusters at each bandwidth."""
        return [modes.weights for modes in self.modes]

    @cached_property
    def stability(self) -> NDArray[np.float64]:
        """Agreement of each clustering with its neighbours; NaN if there is only one."""
        labellings, counts = self._labellings
        between = [adjusted_rand_index(a, b, counts) for a, b in pairwise(labellings)]
        if not between:
            return np.full(1, math.nan)
        return np.asarray(np.nanmean([[math.nan, *between], [*between, math.nan]], axis=0))

    @cached_property
    def best(self) -> int:
        """Index of the clustering that agrees best with all others that qualify."""
        qualifying = [i for i, modes in enumerate(self.modes) if qualifies(modes)]
        if not qualifying:
            reference = reference_in_steps(scale_of_grid(self.base), self.step)
            return int(np.argmin(np.abs(np.log(self.multiples / (FALLBACK * reference)))))
        labellings, counts = self._labellings
        agreement = np.eye(len(qualifying))
        for i, j in combinations(range(len(qualifying)), 2):
            a, b = labellings[qualifying[i]], labellings[qualifying[j]]
            agreement[i, j] = agreement[j, i] = adjusted_rand_index(a, b, counts)
        log_multiples = np.log(self.multiples[qualifying])
        ranges = np.gradient(log_multiples) if len(qualifying) > 1 else np.ones(1)
        total = agreement @ ranges
        equal = np.flatnonzero(total >= total.max() * (1 - 1e-9))
        return qualifying[int(equal[len(equal) // 2])]  # the middle of equally good ones

    def nearest(self, bandwidth: float | ArrayLike) -> int:
        """Return the index of the bandwidth nearest to a number, or to one for each feature.

        Examples
        --------
        >>> from meanshiftpp import sweep
        >>> result = sweep([[0.0], [0.3], [7.0]], [0.5, 1, 4])
        >>> result.nearest(3), result.labels(result.nearest(3), [[0.1]]).tolist()
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
            Index of the bandwidth: `best`, or the result of `nearest`.
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
            raise InvalidInputError.for_parameter(
                "which",
                "the index of a bandwidth, a whole number",
                which,
                "nearest(h) returns the index of the bandwidth h",
            )
        if not -len(self) <= which < len(self):
            expected = f"an index of one of the {len(self)} bandwidths"
            raise InvalidInputError.for_parameter("which", expected, int(which))
        return self.modes[int(which)].label(X, n_threads=n_threads)

    def plot(self, ax: Any = None) -> Any:
        """Draw the number of clusters and the stability against the bandwidth, and mark `best`.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, default=None
            The axes to draw into; None makes a figure.

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
        first, last = (format_bandwidth(h) for h in self.bandwidths[[0, -1]])
        return (
            f"Sweep({pluralize(len(self), 'bandwidth')} from {first} to {last}, of {self.base!r})"
        )

    @cached_property
    def _labellings(self) -> tuple[list[NDArray[np.int32]], NDArray[np.float64]]:
        """Labels at each bandwidth of the units that are compared, and their weights."""
        if self.sample is None:
            return common_refinement(self._cell_labels(), self.base.counts.astype(np.float64))
        labellings = [modes.label(self.sample.rows) for modes in self.modes]
        return common_refinement(labellings, self.sample.weights)

    def _cell_labels(self) -> list[NDArray[np.int32]]:
        """Return the labels of the cells of `base` at each bandwidth."""
        grids = {1: (self.base, np.arange(len(self.base)))}  # with the cell of each base cell
        labellings = []
        for k, modes in zip(self.multiples.tolist(), self.modes, strict=True):
            divisor = largest_divisor(k, grids)
            fine, fine_cells = grids[divisor]
            cells = parent_cells(fine, k // divisor, modes.grid)[fine_cells]
            grids[k] = modes.grid, cells
            labellings.append(modes.cell_labels[cells])
        return labellings


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
    """Cluster at many bandwidths.

    A bandwidth that is a multiple of a smaller one is clustered without reading the data again.
    Each result is that of a direct fit at the reported bandwidth: the same cells with the same
    counts, and sums of positions that agree to within one unit of the fixed point, 2^-32 of a cell,
    for each cell of the smaller bandwidth. Only a point within rounding of a cell's edge may be
    counted on its other side.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features), or Grid
        The points, or a grid of them, whose bandwidth is then the step. If the grid has periods,
        multiples that do not divide them move to the nearest ones that do.
    bandwidths : array-like of shape (m,) or (m, n_features), default=None
        Numbers for all features, or rows of one number for each feature, all in one proportion.
        They may be in any order and are used once each. They move to the nearest whole multiple of
        the step; `Sweep.bandwidths` holds the values that were used. None takes 17, four to a
        doubling, around the reference for the spread of each feature and the number of points. It
        leaves out the finest ones that have, by an estimate, more than a million cells, or more
        than a cell for every three points and 16,384 cells, and those whose window spans a period.
    step : float or array-like of shape (n_features,), default=None
        The bandwidth of which all others are multiples. None takes the largest fraction (1, 1/2,
        1/3, down to 1/8) of the smallest bandwidth that divides all of them; if there is none, a
        quarter, which moves no bandwidth by more than an eighth.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights, not negative. None for a grid, which contains the weights.
    resolution, tol, max_iter
        As in `seek` and `MeanShiftPP`.
    max_cells : int, default=2**24
        Largest number of cells at the smallest bandwidth. If it would have more, the error names
        a bandwidth that fits; the default bandwidths leave it out.
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
    search = Search.checked(resolution, tol, max_iter)
    max_cells = as_whole(max_cells, "max_cells", 1)
    result = compute_sweep(
        X,
        bandwidths,
        search,
        step=step,
        sample_weight=sample_weight,
        max_cells=max_cells,
        n_threads=n_threads,
    )
    report_convergence(result.modes, search)
    return result


def compute_sweep(
    X: ArrayLike | Grid,
    bandwidths: ArrayLike | None,
    search: Search,
    *,
    step: float | ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    max_cells: int = MAX_CELLS,
    n_threads: int | None = None,
) -> Sweep:
    """Compute a sweep as `sweep` does, without a warning about searches that did not converge."""
    n_threads = thread_count(n_threads)
    sample = None
    if isinstance(X, Grid):
        base = X.to("cpu")
        unit, multiples = plan_for_grid(base, bandwidths, step, sample_weight, search.reach)
        grids = coarsen_all(base, multiples, n_threads)
        if bandwidths is None:
            limit = default_limit(base.total, max_cells)
            first = next((i for i, grid in enumerate(grids) if len(grid) <= limit), -1)
            multiples, grids = multiples[first:], grids[first:]
    else:
        points = as_points(X)
        weights = None if sample_weight is None else as_weights(sample_weight, points)
        values = weights.values if weights else None
        unit, multiples = plan_for_points(points, values, bandwidths, step)
        binning = partial(_bin_multiple, points, weights, unit, search.reach, n_threads)
        if len(multiples) == 1 and len(points) <= max_cells:
            grids = [binning(multiples[0])]  # one clustering is compared with none
        else:
            sample = PointSample.of(points, weights)
            cell_size = fine_cell_size(unit, search.reach)
            if bandwidths is None:
                multiples = sample.bound(cell_size, multiples, max_cells)
            else:
                sample.check(cell_size * multiples[0], unit * multiples[0], max_cells)
            step_cells = partial(sample.estimate_cells, cell_size)
            grids = bin_all(binning, multiples, len(points), step_cells, n_threads)
        base = grids[0]
    if len(base) == 0:
        raise InvalidInputError("a sweep needs at least one point of positive weight, got none")
    modes = search_all(grids, search, n_threads)
    return Sweep(base, unit, np.array(multiples, np.int64), modes, sample)


def _bin_multiple(
    points: NDArray[np.generic],
    weights: Weights | None,
    step: NDArray[np.float64],
    reach: int,
    n_threads: int,
    k: int,
) -> Grid:
    """Bin points at a multiple of the step; only binning gains from the points' device."""
    cell_size = fine_cell_size(step * k, reach)
    return Grid.from_points(points, cell_size, sample_weight=weights, n_threads=n_threads).to("cpu")
