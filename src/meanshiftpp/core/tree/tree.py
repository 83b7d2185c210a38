"""The tree: grown from a sample by the kernel, and cut."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from meanshiftpp import _kernel
from meanshiftpp._support.checks import (
    Periodic,
    Weights,
    as_periods,
    as_points,
    as_weights,
    thread_count,
)
from meanshiftpp._support.devices import to_host
from meanshiftpp._support.text import pluralize
from meanshiftpp.backends import backend_of
from meanshiftpp.core.grid import Grid
from meanshiftpp.core.periods import unwrapped
from meanshiftpp.core.sample import Sample, hash_rows, sample_grid, sample_points
from meanshiftpp.core.scale import (
    LEAST_SPREAD,
    Scale,
    check_spread,
    outlier_limits,
    scale_of_points,
)
from meanshiftpp.core.tree.critical import critical_values
from meanshiftpp.core.tree.rounding import without_spikes
from meanshiftpp.core.tree.split import Split
from meanshiftpp.errors import InvalidInputError

SAMPLE_ROWS = 1 << 13  # rows that a tree is grown from
_UNIT_STEP = 4.0  # features whose spreads differ by less than the root of this share a unit
_SECOND_LOOK = 1.25  # strictness of a tree in other units
_BISECTIONS, _LOOSER_BISECTIONS = 14, 11
_LOOSEST, _STRICTEST = 0.05, 64.0


@dataclass(frozen=True, eq=False, repr=False)
class Tree:
    """The significant clusters of a sample, and the splits that made them.

    Attributes
    ----------
    sample : Sample
        The rows in data units, and how often each counts.
    labels : ndarray of shape (n_rows,), int64
        The cluster of each row, numbered as in the splits.
    radii : ndarray of shape (n_rows,), float64
        log2 of the radius of the lightest window around each row, in the unit of the widest
        feature: high where data is sparse.
    window : int
        Mass of the lightest windows, in rows of the sample.
    splits : tuple of Split
        The splits, lightest windows first.
    strictness : float
        Factor of all critical values.
    """

    sample: Sample
    labels: NDArray[np.int64]
    radii: NDArray[np.float64]
    window: int
    splits: tuple[Split, ...]
    strictness: float
    _points: NDArray[np.float64]  # the rows as the kernel sees them, in data units
    _counts: NDArray[np.int64]
    _period: NDArray[np.float64]
    _units: NDArray[np.float64]  # one row of units per look; 0 for a feature that is left out

    # -- growing ------------------------------------------------------------------------------

    @classmethod
    def of_points(
        cls,
        X: ArrayLike,
        sample_weight: ArrayLike | Weights | None = None,
        *,
        periodic: Periodic = None,
        strictness: float = 1.0,
        n_threads: int | None = None,
    ) -> Tree:
        """Grow the tree of points; of a sample, if there are many.

        Features are measured in one common unit. If their spreads differ, a second tree is grown
        in units of each feature's spread, rounded to powers of four of the largest, for tables of
        different units. It must be stricter, because two looks find more by chance than one. The
        tree with more clusters is returned; of equals, the clearer one.
        """
        points = as_points(X)
        weights = None if sample_weight is None else as_weights(sample_weight, points)
        sample = sample_points(points, weights, SAMPLE_ROWS, n_threads=n_threads)
        return cls.of_sample(sample, periodic=periodic, strictness=strictness, n_threads=n_threads)

    @classmethod
    def of_sample(
        cls,
        sample: Sample,
        *,
        periodic: Periodic = None,
        strictness: float = 1.0,
        n_threads: int | None = None,
    ) -> Tree:
        """Grow the tree of a sample of points, which must be finite."""
        if not len(sample.rows):
            raise InvalidInputError("a tree needs at least one row of positive weight, got none")
        rows = unwrapped(sample.rows, sample.counts, periodic)
        limits = outlier_limits(rows, sample.counts)
        scale = scale_of_points(rows, sample.counts, limits)
        check_spread(scale, rows)
        period = np.array(as_periods(periodic, rows.shape[1]))
        units = _units(scale)
        looks = np.unique([np.sign(units), units], axis=0)[::-1] if units.any() else [units + 1]
        return cls._planted(sample, limits, period, np.array(looks), strictness, n_threads)

    @classmethod
    def of_grid(cls, grid: Grid, *, strictness: float = 1.0, n_threads: int | None = None) -> Tree:
        """Grow the tree of a grid: of rows drawn from its cells, in units of a cell."""
        drawn = sample_grid(grid, SAMPLE_ROWS)
        period, units = grid.cells_per_period.astype(np.float64), np.ones((1, grid.n_features))
        limits = outlier_limits(drawn.rows, drawn.counts)
        tree = cls._planted(drawn, limits, period, units, strictness, n_threads)
        sample = tree.sample._replace(rows=tree.sample.rows * grid.bandwidth)
        return replace(tree, sample=sample)

    @classmethod
    def _planted(
        cls,
        sample: Sample,
        limits: NDArray[np.float64],
        period: NDArray[np.float64],
        units: NDArray[np.float64],
        strictness: float,
        n_threads: int | None,
    ) -> Tree:
        """Grow the tree of a sample whose outliers count as the nearest limit."""
        sample, points, counts = without_spikes(sample, period, limits)
        empty = np.empty(0)
        tree = cls(
            sample, empty.astype(np.int64), empty, 0, (), strictness, points, counts, period, units
        )
        return tree.regrow(strictness, n_threads=n_threads)

    def regrow(self, strictness: float, *, n_threads: int | None = None) -> Tree:
        """Grow the tree of the same sample with another strictness."""
        looks = [
            self._grown(units, factor, strictness, n_threads)
            for units, factor in zip(self._units, (1.0, _SECOND_LOOK), strict=False)
        ]
        return replace(max(looks, key=Tree._clarity), strictness=strictness)

    def _grown(
        self,
        units: NDArray[np.float64],
        factor: float,
        strictness: float,
        n_threads: int | None,
    ) -> Tree:
        """Grow the tree in some units; `factor` makes it stricter."""
        varies = units > 0
        labels, radii, columns, window = _kernel.grow_tree(
            np.ascontiguousarray(self._points[:, varies] / units[varies]),
            self._counts,
            self._period[varies] / units[varies],
            factor * strictness,
            critical_values(int(varies.sum())),
            thread_count(n_threads),
        )
        columns["critical"] = np.multiply(columns["critical"], factor)
        columns["score"] = np.divide(columns["score"], factor)
        names = Split.__dataclass_fields__
        rows = zip(*(columns[name].tolist() for name in names), strict=True)
        return replace(
            self,
            labels=labels,
            radii=np.ldexp(radii.astype(np.float64), -16),
            window=window,
            splits=tuple(Split(**dict(zip(names, row, strict=True))) for row in rows),
        )

    # -- reading ------------------------------------------------------------------------------

    @property
    def n_clusters(self) -> int:
        """The number of clusters."""
        return len(np.unique(self.labels))

    def _clarity(self) -> tuple[int, float]:
        return self.n_clusters, sum(split.score for split in self.splits)

    @property
    def n_rows(self) -> int:
        """The number of rows of the sample, repeated ones counted."""
        return int(self.sample.counts.sum())

    @property
    def weakest(self) -> Split:
        """The least significant split of a tree with more than one cluster."""
        return min(self.splits, key=lambda split: split.score)

    def across(self, split: Split) -> int:
        """Return the cluster on the other side of the saddle of a split."""
        return int(self.labels[split.joins])

    def __repr__(self) -> str:
        return f"Tree({pluralize(self.n_clusters, 'cluster')} of {len(self.labels):,} rows)"

    def cut(
        self,
        n_clusters: int | None = None,
        persistence: float | None = None,
        *,
        n_threads: int | None = None,
    ) -> Tree:
        """Return the tree with a given number of clusters, or without the shallow splits.

        For `n_clusters`, the strictness is lowered or raised until there are at least that many;
        then the least significant splits are undone. For `persistence`, splits below it are undone.
        """
        if n_clusters == self.n_clusters:
            return self
        if n_clusters is None:
            return self._without(lambda split: split.persistence < persistence)
        tree = self._at_least(n_clusters, n_threads)
        while tree.n_clusters > n_clusters:
            parents = {split.parent for split in tree.splits}
            leaves = [s for s in tree.splits if s.cluster not in parents] or list(tree.splits)
            weakest = min(leaves, key=lambda split: (split.score, -split.cluster))
            tree = tree._without(lambda split, w=weakest: split is w)
        return tree

    def looser(self, counts: Sequence[int], *, n_threads: int | None = None) -> list[Tree]:
        """Return, for each count, the strictest tree with at least that many clusters.

        There may be fewer trees than counts: one may have enough clusters for several, and the
        loosest may not have enough.
        """
        grown: dict[float, Tree] = {}

        def at(strictness: float) -> Tree:
            if strictness not in grown:
                grown[strictness] = self.regrow(strictness, n_threads=n_threads)
            return grown[strictness]

        found = {}
        loosest = min(_LOOSEST, self.strictness / 2)
        for count in counts:
            low, high = loosest, self.strictness
            for _ in range(_LOOSER_BISECTIONS):
                middle = float(np.sqrt(low * high))
                low, high = (middle, high) if at(middle).n_clusters >= count else (low, middle)
            tree = at(low)
            if tree.n_clusters >= count:
                found[tree.n_clusters] = tree
        return list(found.values())

    def _at_least(self, n_clusters: int, n_threads: int | None) -> Tree:
        """Return a strict tree with at least `n_clusters`, or the loosest of all."""
        low, high = _LOOSEST, _STRICTEST
        best = self.regrow(low, n_threads=n_threads)
        if best.n_clusters < n_clusters:
            return best
        for _ in range(_BISECTIONS):
            middle = float(np.sqrt(low * high))
            tree = self.regrow(middle, n_threads=n_threads)
            if tree.n_clusters < n_clusters:
                high = middle
                continue
            low, best = middle, tree
            if tree.n_clusters == n_clusters:
                break
        return best

    def _without(self, undone: Any) -> Tree:
        """Undo splits: their clusters join the cluster across the saddle."""
        labels, splits = self.labels.copy(), []
        for split in reversed(self.splits):
            if undone(split):
                labels[labels == split.cluster] = labels[split.joins]
            else:
                splits.append(split)
        return replace(self, labels=labels, splits=tuple(reversed(splits)))

    def sparse(self) -> NDArray[np.bool_]:
        """Return which rows are sparser than every saddle of their cluster: noise, if wanted."""
        limit = dict(self._lowest_saddles())
        limits = np.array([limit.get(label, np.inf) for label in self.labels.tolist()])
        return self.radii > limits

    def _lowest_saddles(self) -> Iterator[tuple[int, float]]:
        for label in np.unique(self.labels).tolist():
            around = [s for s in self.splits if label in (s.cluster, self.across(s))]
            if around:
                yield label, max(map(self._light_saddle, around))

    def _light_saddle(self, split: Split) -> float:
        """Return log2 of the radius that the lightest windows have at the density of a saddle.

        At that density, noise makes half of them smaller, so the radius is that of two standard
        errors more, or of a quarter of the way up to the peak if that is less.
        """
        heavier = np.log2(split.window / self.window)
        margin = min(2 * np.log2(np.e) / np.sqrt(self.window), split.depth / 4)
        return float(split.saddle - (heavier + margin) / split.dimension)

    # -- labels of points and cells -----------------------------------------------------------

    def find(
        self, points: NDArray[np.generic], *, n_threads: int | None = None
    ) -> NDArray[np.int64] | None:
        """Return the row of the sample that equals each point; None if a point has no such row."""
        if len(points) > SAMPLE_ROWS:
            return None
        hashes = to_host(hash_rows(as_points(points), 1.0, n_threads)[1])
        known = self.sample.hashes
        at = np.minimum(np.searchsorted(known, hashes), len(known) - 1)
        return at if (known[at] == hashes).all() else None

    def label_cells(self, grid: Grid) -> NDArray[np.int64]:
        """Return the cluster of the row nearest to the mean of each cell, in cells."""
        grid, wrap = grid.to("cpu"), grid.cells_per_period
        positions, rows = grid.means / grid.bandwidth, self.sample.rows / grid.bandwidth
        rows = np.where(wrap > 0, rows % np.where(wrap > 0, wrap, 1), rows)
        nearest = backend_of(positions).nearest_modes(positions, rows, wrap)
        return self.labels[nearest]


def _units(scale: Scale) -> NDArray[np.float64]:
    """Return the unit of each feature: 1 for the widest, 0 for a constant one."""
    units = np.zeros(len(scale.spread))
    spread = scale.spread[scale.varies]
    if spread.size:
        ratios = np.maximum(spread / spread.max(), LEAST_SPREAD)
        units[scale.varies] = _UNIT_STEP ** np.rint(np.log(ratios) / np.log(_UNIT_STEP))
    return units
