"""The bandwidth of significant clusters: the coarsest whose basins respect them.

Without a bandwidth, a tree decides which clusters are significant, from windows of every size. The
search then only has to follow them: the bandwidth is the largest at which nearly every basin lies
in one cluster, so that each cluster is a union of basins. More rows than the sample need a smaller
one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from meanshiftpp._support.checks import Periodic, Weights, as_periods, as_points, as_weights
from meanshiftpp.bandwidth.choice import bandwidth_from_sample
from meanshiftpp.core.grid import Grid
from meanshiftpp.core.periods import unwrapped
from meanshiftpp.core.recipe import Recipe, Search
from meanshiftpp.core.sample import Sample, observed_rows, sample_points
from meanshiftpp.core.scale import gradient_reference, outlier_limits, scale_of_points
from meanshiftpp.core.tree import SAMPLE_ROWS, Tree
from meanshiftpp.core.window import PAPER_WINDOW

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Basins", "complete_recipe", "recipe_of_tree", "shared_counts", "within_periods"]

STEP = 2**-0.5
CANDIDATES = tuple((0.65 * STEP ** np.arange(13)).tolist())  # in references for the gradient
FOLLOWED = 0.99  # least share of all rows that lie in a basin of their own cluster
LEAST_FOLLOWED = 0.8  # least such share within each cluster
TOL = 1e-9  # basins that still creep together would be one in larger data
MAX_BASINS = 0.5  # per row: finer basins are single points


def complete_recipe(
    recipe: Recipe,
    X: NDArray[np.generic],
    total: float,
    sample_weight: Any = None,
    *,
    n_clusters: int | None = None,
    n_threads: int | None = None,
) -> Recipe:
    """Return the recipe with a bandwidth for `X`, the points or a sample of a weight of `total`.

    A recipe that joins also gets the tree to join by, cut to `n_clusters` if given. One that has a
    bandwidth stays as it is. If `X` is empty or contains a non-finite value, the bandwidth is 1 and
    the tree is missing; binning reports the location.
    """
    if recipe.bandwidth is not None:
        return recipe
    if not recipe.join:
        bandwidth = bandwidth_from_sample(
            X,
            total,
            sample_weight=sample_weight,
            periodic=recipe.periodic,
            n_threads=n_threads,
        )
        return replace(recipe, bandwidth=within_periods(bandwidth, recipe.periodic))
    points = as_points(X)
    weights = None if sample_weight is None else as_weights(sample_weight, points)
    sample = sample_points(points, weights, SAMPLE_ROWS, n_threads=n_threads)
    if not len(sample.rows) or not np.isfinite(sample.rows).all():
        return replace(recipe, bandwidth=np.ones(points.shape[1]))  # binning reports the place
    tree = Tree.of_sample(
        sample, periodic=recipe.periodic, strictness=recipe.strictness, n_threads=n_threads
    )
    if n_clusters is not None:
        tree = tree.cut(n_clusters, n_threads=n_threads)
    basins = Basins(tree.sample, _all_rows(total, weights), recipe.periodic, n_threads)
    return recipe_of_tree(recipe, tree, basins)


def recipe_of_tree(recipe: Recipe, tree: Tree, basins: Basins) -> Recipe:
    """Return the recipe with a tree, and the bandwidth that follows it by basins of its sample."""
    bandwidth = within_periods(bandwidth_of_tree(tree, basins), recipe.periodic)
    return replace(recipe, bandwidth=bandwidth, tree=tree)


def within_periods(bandwidth: NDArray[np.float64], periodic: Periodic) -> NDArray[np.float64]:
    """Return a chosen bandwidth, reduced to a third of the period where a window is longer."""
    periods = np.array(as_periods(periodic, len(bandwidth)))
    return np.where(periods > 0, np.minimum(bandwidth, periods / PAPER_WINDOW), bandwidth)


def _all_rows(total: float, weights: Weights | None) -> float:
    """Return the rows that data of a weight of `total` are worth, by the weights of a sample."""
    if weights is None:
        return total
    rows = observed_rows(weights.counts.astype(np.float64), weights.whole)
    return rows * total / weights.total if rows else 0.0


class Basins:
    """The basins of a sample of `n_rows` rows at each candidate bandwidth, the largest first.

    They do not depend on a tree, so each is searched once for all trees of the sample, when it is
    first needed.
    """

    def __init__(
        self,
        sample: Sample,
        n_rows: float,
        periodic: Periodic = None,
        n_threads: int | None = None,
    ) -> None:
        self._counts, self._periodic, self._n_threads = sample.counts, periodic, n_threads
        rows = unwrapped(sample.rows, sample.counts, periodic)
        limits = outlier_limits(rows, sample.counts)
        self._scale = scale_of_points(rows, sample.counts, limits)
        self._rows = np.clip(rows, *limits)
        d, total = rows.shape[1], self._scale.total
        self._reference = gradient_reference(d, total)
        self._finer = gradient_reference(d, max(n_rows, total)) / self._reference
        self._found: list[NDArray[np.int32]] = []

    def __iter__(self) -> Iterator[tuple[float, NDArray[np.int32]]]:
        """Iterate over candidates and the basin of each row, until basins are single points."""
        for k, candidate in enumerate(CANDIDATES):
            if k == len(self._found):
                self._found.append(self._search(candidate))
            if k and self._found[k].max() + 1 > MAX_BASINS * len(self._rows):
                return
            yield candidate, self._found[k]

    def bandwidth(self, candidate: float) -> NDArray[np.float64]:
        """Return the bandwidth of a candidate for all rows.

        For more rows than the sample it is smaller, as the best bandwidth for the gradient is, but
        by one candidate at most: noise of the sample may have kept basins apart.
        """
        return self._scale.bandwidth(candidate * self._reference * max(self._finer, STEP))

    def _search(self, candidate: float) -> NDArray[np.int32]:
        rows, periodic, n_threads = self._rows, self._periodic, self._n_threads
        h = within_periods(self._scale.bandwidth(candidate * self._reference), periodic)
        weights = as_weights(self._counts, rows)
        grid = Grid.from_points(
            rows, h, sample_weight=weights, periodic=periodic, n_threads=n_threads
        )
        modes = Search.checked(tol=TOL).modes(grid, n_threads=n_threads)
        return modes.label(rows, n_threads=n_threads)


def bandwidth_of_tree(tree: Tree, basins: Basins) -> NDArray[np.float64]:
    """Return the largest bandwidth at which nearly every basin lies in one cluster of a tree."""
    purest, best = -1.0, CANDIDATES[0]
    for candidate, labels in basins:
        followed, least = agreement(labels, tree.labels, tree.sample.counts)
        if followed + least > purest:
            best, purest = candidate, followed + least
        if followed >= FOLLOWED and least >= LEAST_FOLLOWED:
            break
    return basins.bandwidth(best)


def agreement(
    basins: NDArray[np.integer], clusters: NDArray[np.integer], counts: NDArray[np.integer]
) -> tuple[float, float]:
    """Return the share of rows whose basin belongs mostly to their cluster.

    The first number is the share of all rows, the second that of the worst cluster.
    """
    numbers, cluster = np.unique(clusters, return_inverse=True)
    table = shared_counts(basins, cluster.ravel(), counts)
    own = np.bincount(table.argmax(axis=1), table.max(axis=1), len(numbers))
    return float(own.sum() / table.sum()), float((own / table.sum(axis=0)).min())


def shared_counts(
    one: NDArray[np.integer], other: NDArray[np.integer], counts: NDArray[np.integer]
) -> NDArray[np.float64]:
    """Return the table of how many rows have each pair of labels, a row for each of `one`."""
    k = int(other.max()) + 1
    pairs: NDArray[np.float64] = np.bincount(one * k + other, counts).astype(np.float64)
    return np.pad(pairs, (0, -len(pairs) % k)).reshape(-1, k)
