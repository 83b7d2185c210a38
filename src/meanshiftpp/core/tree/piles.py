"""Piles: many points with equal values, which are not that many observations of one place.

A rounded value stands for all values that round to it, so a heavy point of rounded features is
spread evenly over its step. A sensor collects everything beyond its scale at the two ends: such a
pile is spread outwards, where the density falls from that of the values next to it. Any other
repeated point counts less: its share of the effective sample size (Kish 1965).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from meanshiftpp.core.tree.lattice import Lattice
from meanshiftpp.core.tree.marginals import Marginal

_END_PILE = 4.0  # times the heaviest of the values next to it
_NEIGHBOURS = 16
_LEAST_PILE = 0.002  # of all points
_NEAR = 0.25  # of a pile: so many points next to it tell the density there
_FARTHEST = 15.0  # widths
_COPIES = 32
_GOLDEN = 0x9E3779B97F4A7C15


class EndPile(NamedTuple):
    """A pile at the end of a feature's scale; half of it is spread within `width` of data units.

    The width is negative at the low end.
    """

    feature: int
    value: float
    width: float


def end_piles(marginals: Sequence[Marginal]) -> list[EndPile]:
    """Return the piles at the ends of features: far heavier than the values next to them.

    Outliers, such as a code for missing values, are not the end of a scale.
    """
    found = []
    for j, marginal in enumerate(marginals):
        if marginal.period or len(marginal.cells) < 2 * _NEIGHBOURS:
            continue
        counts = marginal.counts.astype(np.float64)
        limits, ends = marginal.limits(1.0), (marginal.low, marginal.high)
        for end, sign in ((0, -1), (-1, 1)):
            inner = counts[1:] if sign < 0 else counts[-2::-1]
            cells = marginal.cells if sign < 0 else marginal.cells[::-1]
            pile = counts[end]
            if limits[end] != ends[end]:
                continue
            if pile < _LEAST_PILE * counts.sum() or pile < _END_PILE * inner[:_NEIGHBOURS].max():
                continue
            near = _NEAR * min(pile, inner.sum())
            at = int(np.searchsorted(np.cumsum(inner), near)) + 1
            length = abs(int(cells[at] - cells[0])) * marginal.cell_size
            width = length * pile / float(inner[:at].sum())
            found.append(EndPile(j, ends[end], sign * width))
    return found


def margins_of(piles: Sequence[EndPile], steps: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the room that spread points need beyond the limits of each feature."""
    margins = steps.copy()
    for pile in piles:
        margins[pile.feature] = max(margins[pile.feature], _FARTHEST * abs(pile.width))
    return margins


def place_ends(
    coordinates: NDArray[np.int64], lattice: Lattice, piles: Sequence[EndPile]
) -> NDArray[np.int64]:
    """Return coordinates with the points of piles in the middle of where they were spread."""
    if not piles:
        return coordinates
    placed = coordinates.copy()
    for pile in piles:
        own = _at_end(coordinates, lattice, pile)
        placed[own, pile.feature] += _moves(np.array([0.5]), lattice, pile)
    return placed


def spread_ends(
    coordinates: NDArray[np.int64],
    counts: NDArray[np.int64],
    lattice: Lattice,
    piles: Sequence[EndPile],
    limit: int,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Spread the points of piles outwards; equal points become at least 32, none above `limit`."""
    for number, pile in enumerate(piles):
        own = np.flatnonzero(_at_end(coordinates, lattice, pile))
        copies = np.ones(len(counts), np.int64)
        copies[own] = np.minimum(counts[own], np.maximum(-(-counts[own] // limit), _COPIES))
        source = np.repeat(np.arange(len(counts)), copies)
        k = np.arange(len(source)) - np.repeat(np.cumsum(copies) - copies, copies)
        of, total = copies[source], counts[source]
        counts = total * (k + 1) // of - total * k // of
        moved = np.isin(source, own)
        hashes = _uniform(hash_cells(coordinates[source[moved]]), number)
        coordinates = coordinates[source]
        part = (k[moved] + hashes) / of[moved]
        coordinates[moved, pile.feature] += _moves(part, lattice, pile)
    return coordinates, counts


def _at_end(coordinates: NDArray[np.int64], lattice: Lattice, pile: EndPile) -> NDArray[np.bool_]:
    """Return which points are at the end of the scale that has the pile."""
    j = pile.feature
    if not lattice.used[j]:
        return np.zeros(len(coordinates), bool)
    cell = int(np.floor(pile.value / lattice.cell_size[j])) - int(lattice.low[j])
    at: NDArray[np.bool_] = coordinates[:, j] == cell >> int(lattice.shift[j])
    return at


def _moves(part: NDArray[np.float64], lattice: Lattice, pile: EndPile) -> NDArray[np.int64]:
    """Return how far to move parts of a pile, from 0 to 1: the density falls with the distance."""
    length = pile.width / lattice.units[pile.feature] if lattice.used[pile.feature] else 0.0
    part = part * (_FARTHEST / (1 + _FARTHEST))
    return np.rint(length * part / (1 - part)).astype(np.int64)


def spread_steps(
    coordinates: NDArray[np.int64],
    counts: NDArray[np.int64],
    steps: NDArray[np.float64],
    limit: int,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Divide points heavier than `limit` evenly over their steps, in coordinates; 0 means none.

    A point becomes an odd number of points along each feature, so that one stays in the middle.
    """
    rounded = np.flatnonzero(steps >= 3)
    heavy = np.flatnonzero(counts > limit)
    if not rounded.size or not heavy.size:
        return coordinates, counts
    parts = np.ceil((counts[heavy] / limit) ** (1 / len(rounded))).astype(np.int64) | 1
    parts = np.minimum(parts, (int(steps[rounded].min()) - 1) | 1)
    light = np.setdiff1d(np.arange(len(counts)), heavy)
    all_points, all_counts = [coordinates[light]], [counts[light]]
    for m in np.unique(parts).tolist():
        own = heavy[parts == m]
        places = np.stack(np.meshgrid(*[np.arange(m)] * len(rounded), indexing="ij"), -1)
        offsets = ((places.reshape(-1, len(rounded)) + 0.5) / m - 0.5) * steps[rounded]
        k = np.arange(len(offsets) + 1)
        shares = np.diff(counts[own, None] * k // len(offsets), axis=1)
        points = np.repeat(coordinates[own, None], len(offsets), axis=1)
        points[:, :, rounded] += np.rint(offsets).astype(np.int64)
        kept = shares.ravel() > 0
        all_points.append(points.reshape(-1, coordinates.shape[1])[kept])
        all_counts.append(shares.ravel()[kept])
    return np.concatenate(all_points), np.concatenate(all_counts)


def effective(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the counts of repeated points by their share of the effective sample size."""
    weight = counts.astype(np.float64)
    share = weight.sum() / np.square(weight).sum()
    counts = np.maximum(np.rint(weight * share), 1).astype(np.int64)
    return counts


def hash_cells(coordinates: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Return a hash of each row of whole numbers."""
    hashes = np.zeros(len(coordinates), np.uint64)
    for column in coordinates.T:
        hashes = _mix((hashes ^ column.astype(np.uint64)) + np.uint64(_GOLDEN))
    return hashes


def _uniform(hashes: NDArray[np.uint64], number: int) -> NDArray[np.float64]:
    mixed = _mix(hashes + np.uint64((number + 1) * _GOLDEN % 2**64))
    return (mixed >> np.uint64(11)).astype(np.float64) * 2.0**-53


def _mix(x: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Mix the bits of integers (the finaliser of SplitMix64)."""
    with np.errstate(over="ignore"):
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return x ^ (x >> np.uint64(31))
