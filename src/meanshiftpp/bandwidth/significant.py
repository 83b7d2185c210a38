"""The bandwidth of significant clusters: the coarsest whose basins respect them.

Without a bandwidth, a tree decides which clusters are significant, from windows of every size. The
search then only has to follow them: the bandwidth is the largest at which nearly every basin lies
in one cluster, so that each cluster is a union of basins. More rows than the sample need a smaller
one.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from meanshiftpp._support.checks import Weights, as_periods, as_points, as_weights
from meanshiftpp.bandwidth.choice import bandwidth_from_sample
from meanshiftpp.core.grid import PAPER_WINDOW, Grid
from meanshiftpp.core.recipe import Recipe, Search
from meanshiftpp.core.sample import observed_rows, sample_points
from meanshiftpp.core.scale import gradient_reference, outlier_limits, scale_of_points
from meanshiftpp.core.tree import SAMPLE_ROWS, Tree

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["complete_recipe"]

STEP = 2**-0.5
CANDIDATES = tuple((0.65 * STEP ** np.arange(13)).tolist())  # in references for the gradient
FOLLOWED = 0.99  # least share of the rows in a basin that is mostly of their own cluster,
LEAST_FOLLOWED = 0.8  # and of the rows of each cluster
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
            X, total, sample_weight=sample_weight, n_threads=n_threads
        )
        return replace(recipe, bandwidth=bandwidth)
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
    bandwidth = bandwidth_of_tree(tree, _all_rows(total, weights), n_threads)
    periods = np.array(as_periods(recipe.periodic, len(bandwidth)))
    fitting = np.where(periods > 0, np.minimum(bandwidth, periods / PAPER_WINDOW), bandwidth)
    return replace(recipe, bandwidth=fitting, tree=tree)


def _all_rows(total: float, weights: Weights | None) -> float:
    """Return the rows that data of a weight of `total` are worth, by the weights of a sample."""
    if weights is None:
        return total
    rows = observed_rows(weights.counts.astype(np.float64), weights.unit == 1)
    return rows * total / weights.total if rows else 0.0


def bandwidth_of_tree(
    tree: Tree, n_rows: float, n_threads: int | None = None
) -> NDArray[np.float64]:
    """Return the bandwidth for data of `n_rows` rows whose sample has this tree.

    It is the largest at which nearly every basin of the sample lies in one cluster. For more rows
    it is smaller, as the best bandwidth for the gradient is, but by one candidate at most: noise of
    the sample may have kept basins apart.
    """
    rows, counts = tree.sample.rows, tree.sample.counts
    limits = outlier_limits(rows, counts)
    scale = scale_of_points(rows, counts, limits)
    rows, weights = np.clip(rows, *limits), as_weights(counts, rows)
    reference = gradient_reference(rows.shape[1], scale.total)
    search, best, purest = Search.checked(tol=TOL), CANDIDATES[0], -1.0
    for candidate in CANDIDATES:
        h = scale.bandwidth(candidate * reference)
        grid = Grid.from_points(rows, h, sample_weight=weights, n_threads=n_threads)
        modes = search.modes(grid, n_threads=n_threads)
        if len(modes) > MAX_BASINS * len(rows) and purest >= 0:
            break
        basins = modes.label(rows, n_threads=n_threads)
        followed, least = agreement(basins, tree.labels, counts)
        if followed + least > purest:
            best, purest = candidate, followed + least
        if followed >= FOLLOWED and least >= LEAST_FOLLOWED:
            break
    finer = gradient_reference(rows.shape[1], max(n_rows, scale.total)) / reference
    return scale.bandwidth(best * reference * max(finer, STEP))


def agreement(
    basins: NDArray[np.integer], clusters: NDArray[np.integer], counts: NDArray[np.integer]
) -> tuple[float, float]:
    """Return the share of rows in a basin that is mostly of their own cluster, in all and at least.

    The second number is that of the cluster in which the share is smallest.
    """
    numbers, cluster = np.unique(clusters, return_inverse=True)
    k = len(numbers)
    pairs = np.bincount(basins * k + cluster.ravel(), counts)
    table = np.pad(pairs, (0, -len(pairs) % k)).reshape(-1, k)
    own = np.bincount(table.argmax(axis=1), table.max(axis=1), k)
    return float(own.sum() / table.sum()), float((own / table.sum(axis=0)).min())
