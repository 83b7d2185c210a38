"""The tree of significant modes: which valleys between basins are more than noise.

MeanShift++ ends in as many modes as there are bumps, and noise has bumps too. The tree decides
which modes belong together. The kernel (`src/kernel/tree`) grows it from a sample of the data. It
looks through windows of constant mass, from light to heavy, for peaks of the density and the
saddles between them. A peak is a cluster of its own if its valley is deeper than noise makes
valleys anywhere.

    tree = Tree.of_points(X)
    modes = tree.join(seek(grid))       # basins united to significant clusters
    tree.cut(n_clusters=5)              # the same data in five
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, cast

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
from meanshiftpp.core.critical import critical_values
from meanshiftpp.core.grid import Grid
from meanshiftpp.core.modes import Modes
from meanshiftpp.core.sample import Sample, hash_rows, sample_grid, sample_points, uniform
from meanshiftpp.core.scale import Scale, check_spread, outlier_limits, scale_of_points

SAMPLE_ROWS = 1 << 13  # rows that a tree is grown from
_UNIT_STEP = 4.0  # features whose spreads differ by less than the root of this share a unit
_SECOND_LOOK = 1.25  # strictness of a tree in other units
_ROUNDED = 0.5  # share of distinct values below which a feature is rounded
_BISECTIONS = 14
_LOOSEST, _STRICTEST = 0.05, 64.0


@dataclass(frozen=True)
class Split:
    """A valley that is more than noise, and the cluster that it divides from its parent.

    Attributes
    ----------
    cluster, parent : int
        The two clusters of the tree; the parent keeps its number.
    window : int
        Mass of the windows, in rows of the sample, at which the valley was found.
    weight : float
        Rows of the sample above the saddle, on the side of `cluster`.
    depth : float
        Depth of the valley below the lower peak: log2 of the ratio of densities.
    z, critical : float
        The depth in standard errors, and the least that counts.
    score : float
        How clearly the valley passes: 1 is the limit at a strictness of 1.
    front : int
        Length of the common border in windows; 0 if the valley is significant without it.
    joins : int
        A row of the sample across the saddle: the cluster joins its cluster if the split is undone.
    peak, saddle : float
        log2 of the radius of the windows at the peak of the cluster and at the saddle.
    dimension : float
        The dimension in which the mass of a window grows with its radius.
    """

    cluster: int
    parent: int
    window: int
    weight: float
    depth: float
    z: float
    critical: float
    score: float
    front: int
    joins: int
    peak: float
    saddle: float
    dimension: float

    @property
    def persistence(self) -> float:
        """The part of the lower peak that stands above the saddle, from 0 to 1."""
        return 1.0 - float(2.0**-self.depth)


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
    _points: NDArray[np.float64]
    _counts: NDArray[np.int64]
    _period: NDArray[np.float64]
    _at: NDArray[np.int64]

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
        in units of each feature's spread, rounded to powers of four of the largest, so that tables
        of different units need no scaler. It must be stricter, because two looks find more by
        chance than one. The tree with more clusters is returned; of equals, the clearer one.
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
        period = np.array(as_periods(periodic, sample.rows.shape[1]))
        limits = outlier_limits(sample.rows, sample.counts)
        scale = scale_of_points(sample.rows, sample.counts, limits)
        check_spread(scale, sample.rows)
        limits[:, period > 0] = [[-np.inf], [np.inf]]
        clipped = sample._replace(rows=np.clip(sample.rows, *limits))
        units = _units(scale)
        common = np.where(np.isfinite(units), 1.0, np.inf)
        tree = cls._grown(sample, clipped, common, period, strictness, n_threads)
        if (units == common).all():
            return tree
        own = cls._grown(sample, clipped, units, period, _SECOND_LOOK * strictness, n_threads)
        return max(tree, own, key=Tree._clarity)

    @classmethod
    def of_grid(cls, grid: Grid, *, strictness: float = 1.0, n_threads: int | None = None) -> Tree:
        """Grow the tree of a grid: of rows drawn from its cells, in units of a cell."""
        drawn = sample_grid(grid, SAMPLE_ROWS)
        period = grid.cells_per_period.astype(np.float64)
        units = np.ones(grid.n_features)
        sample = drawn._replace(rows=drawn.rows * grid.bandwidth)
        return cls._grown(sample, drawn, units, period, strictness, n_threads)

    @classmethod
    def _grown(
        cls,
        sample: Sample,
        placed: Sample,
        units: NDArray[np.float64],
        period: NDArray[np.float64],
        strictness: float,
        n_threads: int | None,
    ) -> Tree:
        spread, at = _spread_repeats(placed)
        varies = np.isfinite(units)
        if not varies.any() or not len(spread.rows):
            varies, units = np.ones_like(varies), np.ones_like(units)
        points = spread.rows[:, varies]
        wrap = period[varies]
        points = np.where(wrap > 0, np.mod(points, np.where(wrap > 0, wrap, 1.0)), points)
        points, wrap = points / units[varies], wrap / units[varies]
        tree = cls(
            sample,
            np.empty(0, np.int64),
            np.empty(0),
            0,
            (),
            strictness,
            np.ascontiguousarray(points),
            spread.counts,
            np.ascontiguousarray(wrap),
            at,
        )
        return tree.regrow(strictness, n_threads=n_threads)

    def regrow(self, strictness: float, *, n_threads: int | None = None) -> Tree:
        """Grow the tree of the same sample with another strictness."""
        labels, radii, columns, window = _kernel.grow_tree(
            self._points,
            self._counts,
            self._period,
            strictness,
            critical_values(self._points.shape[1]),
            thread_count(n_threads),
        )
        columns["joins"] = self._at[columns["joins"]]
        names = Split.__dataclass_fields__
        rows = zip(*(columns[name].tolist() for name in names), strict=True)
        first = np.zeros(len(self.sample.rows), np.int64)
        first[self._at[::-1]] = np.arange(len(self._at))[::-1]  # the first copy of each row
        return replace(
            self,
            labels=labels[first],
            radii=np.ldexp(radii[first].astype(np.float64), -16),
            window=window,
            splits=tuple(Split(**dict(zip(names, row, strict=True))) for row in rows),
            strictness=strictness,
        )

    # -- reading ------------------------------------------------------------------------------

    @property
    def n_clusters(self) -> int:
        """The number of clusters."""
        return len(np.unique(self.labels))

    def _clarity(self) -> tuple[int, float]:
        return self.n_clusters, sum(split.score for split in self.splits) / self.strictness

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
        if n_clusters is None:
            return self._without(lambda split: split.persistence < persistence)
        tree = self.strictest(n_clusters, n_threads=n_threads)
        while tree.n_clusters > n_clusters:
            parents = {split.parent for split in tree.splits}
            leaves = [s for s in tree.splits if s.cluster not in parents] or list(tree.splits)
            weakest = min(leaves, key=lambda split: (split.score, -split.cluster))
            tree = tree._without(lambda split, w=weakest: split is w)
        return tree

    def strictest(
        self, n_clusters: int, *, exact: bool = False, n_threads: int | None = None
    ) -> Tree:
        """Return a strict tree with at least `n_clusters`, or the loosest of all.

        With `exact`, it is the strictest; otherwise the first with just that number.
        """
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
            if tree.n_clusters == n_clusters and not exact:
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

    # -- joining ------------------------------------------------------------------------------

    def find(self, points: NDArray[np.generic]) -> NDArray[np.int64] | None:
        """Return the row of the sample that equals each point; None if a point has no such row."""
        if len(points) > SAMPLE_ROWS:
            return None
        hashes = to_host(hash_rows(as_points(points), 1.0, None)[1])
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

    def join(self, modes: Modes, *, noise: bool = False) -> JoinedModes:
        """Unite the modes of each cluster: a mode belongs to the cluster of most of its rows.

        A mode without a row of the sample joins the nearest mode with one. With `noise`, modes
        whose rows are mostly sparser than the saddles of their cluster get the label -1.
        """
        labels = np.where(self.sparse(), -1, self.labels) if noise else self.labels
        basins = to_host(modes.label(self.sample.rows))
        numbers, cluster = np.unique(labels, return_inverse=True)
        votes = np.zeros((len(modes), len(numbers)))
        np.add.at(votes, (basins, cluster.ravel()), self.sample.counts)
        clusters = votes.argmax(axis=1)
        empty = np.flatnonzero(votes.sum(axis=1) == 0)
        if empty.size:
            positions = to_host(modes.cells) + to_host(modes.fractions)
            voted = np.flatnonzero(votes.sum(axis=1) > 0)
            nearest = backend_of(positions).nearest_modes(
                positions[empty], positions[voted], modes.grid.cells_per_period
            )
            clusters[empty] = clusters[voted[nearest]]
        united, found = modes.united(numbers[clusters])
        return JoinedModes(*vars(united).values(), tree=self, clusters=found)


@dataclass(frozen=True, eq=False, repr=False)
class JoinedModes(Modes):
    """Modes that a tree has united.

    Attributes
    ----------
    tree : Tree
        The tree, with the reason for each split.
    clusters : ndarray of shape (n_modes,)
        The number that each of these modes has in the tree.
    """

    tree: Tree = field(kw_only=True)
    clusters: NDArray[np.integer] = field(kw_only=True)

    def keep(self, min_weight: float) -> JoinedModes:
        """Drop the modes lighter than `min_weight`, as `Modes.keep` does."""
        kept = cast(JoinedModes, super().keep(min_weight))
        return replace(kept, clusters=self.clusters[: len(kept)])


def _units(scale: Scale) -> NDArray[np.float64]:
    """Return the unit of each feature: 1 for the widest, infinite for a constant one."""
    spread = np.where(scale.varies, scale.spread, np.nan)
    if np.isnan(spread).all():
        return np.full(len(spread), np.inf)
    steps = np.rint(np.log(spread / np.nanmax(spread)) / np.log(_UNIT_STEP))
    units: NDArray[np.float64] = np.where(np.isnan(spread), np.inf, _UNIT_STEP**steps)
    return units


def _spread_repeats(sample: Sample) -> tuple[Sample, NDArray[np.int64]]:
    """Return a sample without spikes, and the row that each of its rows is a copy of.

    Values of rounded features are spread over the interval that was rounded to them; otherwise
    every value would look like a cluster. Other rows that count more than once are not that many
    observations: their counts are divided, so that all together are worth what equal counts of the
    same relative error are.
    """
    rows = np.arange(len(sample.rows))
    steps = np.array([_rounding_step(column, sample) for column in sample.rows.T])
    if steps.any():
        repeated = sample.repeated()
        spread = repeated.rows + (uniform(repeated.hashes, len(steps)) - 0.5) * steps
        return repeated._replace(rows=spread), np.repeat(rows, sample.counts)
    share = sample.counts.sum() / np.square(sample.counts).sum()
    chance = uniform(sample.hashes, 1)[:, 0]
    counts = np.maximum(np.floor(sample.counts * share + chance), 1).astype(np.int64)
    return sample._replace(counts=counts), rows


def _rounding_step(column: NDArray[np.float64], sample: Sample) -> float:
    """Return the distance between the values of a rounded feature, 0 if it is not rounded.

    A rounded feature has few values for the number of different rows, or of one feature, of rows.
    """
    values = np.unique(column)
    rows = len(sample.rows) if sample.rows.shape[1] > 1 else sample.counts.sum()
    if len(values) < 3 or len(values) > _ROUNDED * rows:
        return 0.0
    return float(np.median(np.diff(values)))
