"""The steps of a clustering without a bandwidth: tally -> tree -> clusters -> labels.

It has the methods of `core.recipe.Recipe`, so front ends hold either and handle both alike. They
differ in how chunks reach `bin` and where `search` runs.

    recipe = Significant(min_weight=20).checked(n_features=2)
    clusters, ids, labels = recipe.fit(X)                     # in memory

    tally = recipe.gather(lambda recipe: sum(map(recipe.bin, chunks), recipe.empty()))  # in parts
    clusters = recipe.search(tally)
    labels = recipe.label(clusters, X)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from meanshiftpp._kernel import CODE_BITS
from meanshiftpp._support.checks import (
    Periodic,
    Weights,
    as_not_negative,
    as_periods,
    as_points,
    as_positive,
    as_weights,
    as_whole,
    thread_count,
)
from meanshiftpp._support.devices import current_device, to_host
from meanshiftpp.backends import backend_of
from meanshiftpp.core.chunk import Chunk
from meanshiftpp.core.tree.clusters import Clusters, report_missing
from meanshiftpp.core.tree.growth import Grown, Observed, grow
from meanshiftpp.core.tree.tally import MAX_ROWS, Tally, row_count
from meanshiftpp.core.tree.tree import Tree
from meanshiftpp.errors import InvalidInputError

_BLOCK = 1 << 21  # rows of large data that are added to a tally at once


class Fitted(NamedTuple):
    """The clusters of points in memory, the leaf of each point, and its label."""

    clusters: Clusters
    ids: NDArray[np.int32]
    labels: NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Significant:
    """The parameters of a clustering without a bandwidth, and its steps.

    Attributes
    ----------
    periodic : float or sequence of n_features periods, each a number or None
        Period of all features or of each, in data units.
    strictness : float
        Multiplies the required depth of a valley.
    min_weight : float
        Clusters lighter than this join their neighbour across the densest saddle.
    cluster_all : bool
        Whether every point belongs to a cluster.
    n_clusters : int or None
        The number of clusters to cut the tree to.
    period : ndarray of shape (n_features,)
        The period of each feature, 0 for none; set by `checked`.
    levels : tuple of int or None
        The levels of the tally of all points, in a second pass; set by `gather`.
    """

    periodic: Periodic = None
    strictness: float = 1.0
    min_weight: float = 0.0
    cluster_all: bool = True
    n_clusters: int | None = None
    period: NDArray[np.float64] | None = None
    levels: tuple[int, ...] | None = None

    bandwidth = None  # what a recipe with a bandwidth has

    def checked(self, n_features: int) -> Self:
        """Validate all parameters for `n_features` features; nothing else validates them."""
        if n_features > CODE_BITS:
            raise InvalidInputError(
                f"a tree needs at most {CODE_BITS} features, got {n_features:,}; "
                "select or project features first, or set a bandwidth"
            )
        count = self.n_clusters
        return replace(
            self,
            strictness=as_positive(self.strictness, "strictness"),
            min_weight=as_not_negative(self.min_weight, "min_weight"),
            cluster_all=bool(self.cluster_all),
            n_clusters=None if count is None else as_whole(count, "n_clusters", 1),
            period=np.array(as_periods(self.periodic, n_features), np.float64),
        )

    def empty(self) -> Tally:
        """Return the empty tally, the start of a sum."""
        assert self.period is not None  # checked
        return Tally(self.period, levels=self.levels)

    def bin(self, chunk: Chunk, *, n_threads: int | None = None) -> Tally:
        """Return the tally of a chunk; an error states the place of a bad value in its file."""
        return self.empty().bin(chunk, n_threads=n_threads)

    def gather(self, read: Callable[[Self], Tally]) -> Tally:
        """Return the tally of all chunks, exact; `read` bins them by a recipe and adds them up.

        `read` is called again if cells were joined that the range of all points keeps apart.
        """
        tally = read(self)
        if tally.exact:
            return tally
        return replace(read(replace(self, levels=tally.fine_levels)), marginals=tally.marginals)

    def search(self, tally: Tally, *, n_threads: int | None = None) -> Clusters:
        """Grow the tree of a tally, and return its clusters."""
        if not len(tally):
            raise InvalidInputError("an empty tally has no clusters: add some points first")
        observed, marginals, unit = tally.observed()
        threads = thread_count(n_threads)
        tree = grow(
            observed,
            tally.period,
            strictness=self.strictness,
            marginals=marginals,
            n_threads=threads,
        ).tree
        if not self.cluster_all:
            tree = _with_far(tree, observed, threads).tree
        return self._clusters(tree, unit, observed.whole, threads)

    def fit(
        self, X: ArrayLike, sample_weight: ArrayLike | None = None, *, n_threads: int | None = None
    ) -> Fitted:
        """Cluster points in memory."""
        points, threads = as_points(X), thread_count(n_threads)
        weights = None if sample_weight is None else as_weights(sample_weight, points)
        with current_device(points):
            return self._fit(points, weights, threads)

    def _fit(self, points: NDArray[np.generic], weights: Weights | None, threads: int) -> Fitted:
        if (len(points) if weights is None else row_count(weights)) > MAX_ROWS:
            return self._fit_tally(points, weights, threads)
        observed, unit = Observed(points), 1.0
        if weights is not None:
            counts, unit = weights.counts, weights.unit
            squares = float(np.square(counts).sum())
            observed = Observed(points, counts, weights.whole, squares)
        assert self.period is not None  # checked
        tree, ids = grow(observed, self.period, strictness=self.strictness, n_threads=threads)
        if not self.cluster_all:
            tree, ids = _with_far(tree, observed, threads)
        clusters = self._clusters(tree, unit, observed.whole, threads)
        return _fitted(clusters, ids)

    def label(
        self, clusters: Clusters, X: ArrayLike, *, n_threads: int | None = None
    ) -> NDArray[np.int32]:
        """Label points, those of the tree or new ones; see `Clusters.label`."""
        return clusters.label(X, n_threads=n_threads)

    def _fit_tally(
        self, points: NDArray[np.generic], weights: Weights | None, n_threads: int
    ) -> Fitted:
        assert self.period is not None  # checked
        tally = None if weights else Tally.of_gpu(points, self.period)
        tally = tally or self._tally(points, weights, n_threads)
        clusters = self.search(tally, n_threads=n_threads)
        return _fitted(clusters, clusters.leaf_ids(points, n_threads=n_threads))

    def _tally(self, points: NDArray[np.generic], weights: Weights | None, n_threads: int) -> Tally:
        """Return the tally of many points, block by block, in cells that suit all of them."""
        assert self.period is not None  # checked
        counts = None if weights is None else weights.counts
        marginals = backend_of(points).marginals(points, counts, self.period, n_threads)
        levels = Tally(self.period, marginals=marginals).fine_levels
        total = replace(self, levels=levels).empty().start_sum()
        for start in range(0, len(points), _BLOCK):
            block = slice(start, start + _BLOCK)
            values = None if weights is None else to_host(weights.values)[block]
            total.add_chunk(Chunk(to_host(points[block]), values, first=start), n_threads=n_threads)
        return replace(total.total(), marginals=marginals)

    def _clusters(self, tree: Tree, unit: float, whole: bool, n_threads: int) -> Clusters:
        if self.n_clusters is not None:
            tree = tree.cut(self.n_clusters, n_threads=n_threads)
            report_missing(self.n_clusters, tree.n_clusters)
        if self.min_weight > 0:
            tree = tree.cut(min_size=self.min_weight / unit, n_threads=n_threads)
        return Clusters.of_tree(tree, unit=unit, whole=whole, cluster_all=self.cluster_all)


def _with_far(tree: Tree, observed: Observed, n_threads: int) -> Grown:
    """Count the points beyond the window of their leaf, whose id becomes -1."""
    ids, far = tree.locate(observed.points, n_threads)
    counts = None if observed.counts is None else to_host(observed.counts[far])
    n_far = np.bincount(to_host(ids[far]), counts, len(tree.sizes))
    tree = replace(tree, far=n_far.astype(np.float64))
    ids[far] = -1
    return Grown(tree, ids)


def _fitted(clusters: Clusters, ids: NDArray[np.int32]) -> Fitted:
    return Fitted(clusters, ids, clusters.labels_of(ids))
