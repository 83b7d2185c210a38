"""The profile of each cluster: its share, and the centre, mean and spread of each feature.

The points of a stream are not in memory, so its profile comes from the tally or the grid. Means of
a grid are exact, because it keeps the sum of positions in each cell. The spread within a cell is
that of a density that rises or falls evenly across the cell and has the same mean.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from meanshiftpp._kernel import OFFSET_BITS, sum_clusters
from meanshiftpp._support.columns import unique_names
from meanshiftpp._support.devices import to_host
from meanshiftpp.core.modes import Modes
from meanshiftpp.core.scale import power_of_two
from meanshiftpp.core.tree.clusters import Clusters
from meanshiftpp.core.tree.tally import Tally

__all__ = ["Profile", "profile_of_grid", "profile_of_points", "profile_of_tally"]


class Profile(NamedTuple):
    """The clusters, heaviest first.

    Attributes
    ----------
    weights : ndarray of shape (k,)
        Weight of each cluster: its number of points, without weights.
    shares : ndarray of shape (k,)
        Part of the weight of all points, including noise.
    centers, means, spreads : ndarray of shape (k, d)
        The mode, the mean and the standard deviation of each feature.
    lows, highs : ndarray of shape (k, d) or None
        The smallest and the largest value of each feature; None if they were not asked for. NaN
        for a cluster without points.
    """

    weights: NDArray[np.float64]
    shares: NDArray[np.float64]
    centers: NDArray[np.float64]
    means: NDArray[np.float64]
    spreads: NDArray[np.float64]
    lows: NDArray[np.float64] | None = None
    highs: NDArray[np.float64] | None = None

    def table(self, names: Sequence[str]) -> dict[str, NDArray[Any]]:
        """Return the columns of a table with a row for each cluster.

        The centre has the name of the feature; its other columns have suffixes such as `_std`. A
        feature called label, size or share adds a prefix to the column of that name. Other names
        that occur twice, such as `x_mean` of a feature and of the mean of `x`, are numbered.
        """
        own = (np.arange(len(self.weights)), self.weights, self.shares)
        own_names = (f"cluster_{n}" if n in names else n for n in ("label", "size", "share"))
        columns: dict[str, NDArray[Any]] = dict(
            zip(unique_names(own_names, names, key=str), own, strict=True)
        )
        columns |= dict(zip(names, self.centers.T, strict=True))
        parts = {"mean": self.means, "std": self.spreads, "min": self.lows, "max": self.highs}
        described = {
            f"{name}_{k}": part[:, j]
            for j, name in enumerate(names)
            for k, part in parts.items()
            if part is not None
        }
        free = unique_names(described, columns, key=str)
        return columns | dict(zip(free, described.values(), strict=True))


def profile_of_points(
    modes: Modes | Clusters,
    points: NDArray[Any],
    labels: NDArray[np.int32],
    weights: NDArray[Any] | None = None,
    *,
    extremes: bool = False,
) -> Profile:
    """Return the profile of labelled points; with `extremes`, also their lows and highs."""
    return profile_of_parts(modes, [(points, labels, weights)], extremes=extremes)


def profile_of_tally(clusters: Clusters, tally: Tally, *, n_threads: int | None = None) -> Profile:
    """Return the profile of the rows or the cells of a tally."""
    return profile_of_parts(
        clusters,
        (
            (part.points, clusters.label(part.points, n_threads=n_threads), part.masses())
            for part in tally.parts
        ),
    )


def profile_of_parts(
    modes: Modes | Clusters,
    parts: Iterable[tuple[NDArray[Any], NDArray[np.int32], NDArray[Any] | None]],
    *,
    extremes: bool = False,
) -> Profile:
    """Return the profile of points, labels and weights that come in parts."""
    centers = np.ascontiguousarray(to_host(modes.centers), np.float64)
    units = power_of_two(modes.cell_size)
    periods = np.array([period or 0.0 for period in modes.periods])
    total, (k, d) = 0.0, centers.shape
    weights, sums, squares = np.zeros(k), np.zeros((k, d)), np.zeros((k, d))
    lows, highs = np.full((k, d), np.inf), np.full((k, d), -np.inf)
    for points, labels, given in parts:
        weight = None if given is None else np.ascontiguousarray(given, np.float64)
        label = np.ascontiguousarray(labels, np.int32)
        found = sum_clusters(points, label, weight, centers, periods, units)
        total += found[0]
        for into, part in zip((weights, sums, squares), found[1:4], strict=True):
            into += part
        np.minimum(lows, found[4], out=lows)
        np.maximum(highs, found[5], out=highs)
    divisor = np.where(weights > 0, weights, 1)[:, None]
    mean = sums / divisor
    spreads = np.sqrt(np.maximum(squares / divisor - mean**2, 0)) * units
    means = centers + mean * units
    means[weights == 0] = spreads[weights == 0] = lows[weights == 0] = highs[weights == 0] = np.nan
    shares = weights / (total if total > 0 else 1)
    limits = (centers + lows * units, centers + highs * units) if extremes else ()
    return Profile(weights, shares, centers, means, spreads, *limits)


def profile_of_grid(modes: Modes) -> Profile:
    """Return the profile of each cluster of a grid.

    Examples
    --------
    >>> from meanshiftpp import Grid, seek
    >>> from meanshiftpp.core.profile import profile_of_grid
    >>> found = profile_of_grid(seek(Grid.from_points([[1.0], [1.4], [9.0], [1.8]], bandwidth=0.5)))
    >>> found.shares, found.means.round(6).tolist(), found.spreads.round(2).tolist()
    (array([0.75, 0.25]), [[1.4], [9.0]], [[0.29], [0.0]])
    """
    modes = modes.to("cpu")
    grid, label = modes.grid, modes.cell_labels
    inside = label >= 0
    label, counts = label[inside], grid.counts[inside].astype(np.float64)
    fractions = grid.sums[inside] / counts[:, None] * 2.0**-OFFSET_BITS  # of the cells' means
    offsets = (grid.cells[inside] - modes.cells[label]) + (fractions - modes.fractions[label])
    period = grid.cells_per_period
    offsets -= np.where(period > 0, np.rint(offsets / np.maximum(period, 1)) * period, 0)
    # A linear density with its mean at m has the variance 1/12 - (m - 1/2)^2.
    within = np.maximum(1 / 12 - (fractions - 0.5) ** 2, 0)
    if grid.whole:
        within *= 1 - 1 / counts[:, None]
    weights = np.bincount(label, counts, len(modes))
    mean = _sums(label, counts[:, None] * offsets, len(modes)) / weights[:, None]
    squared = _sums(label, counts[:, None] * (offsets**2 + within), len(modes)) / weights[:, None]
    spread = np.sqrt(np.maximum(squared - mean**2, 0)) * grid.bandwidth
    centers = modes.centers
    shares = modes.weights / grid.total
    return Profile(modes.weights, shares, centers, centers + mean * grid.bandwidth, spread)


def _sums(label: NDArray[np.int32], values: NDArray[np.float64], k: int) -> NDArray[np.float64]:
    """Return the sums of the rows of each label."""
    columns = [np.bincount(label, column, k) for column in values.T]
    return np.stack(columns, axis=1)
