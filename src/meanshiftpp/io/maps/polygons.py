"""Polygons of label rasters of any size, traced in stripes of rows.

A piece is a connected set of pixels with one label. Each stripe is divided into pieces; a piece
that continues in the next stripe stays open, and its fragments are united when it ends. Corners of
pixels are whole numbers, so the union is exact: polygons share their borders without gaps and
overlaps. Memory holds a stripe and the open pieces.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from meanshiftpp._support.extras import need

STRIPE_PIXELS = 1 << 20  # of a stripe, unless a row is longer


@dataclass(frozen=True)
class Stripe:
    """Some rows of a label raster, with all columns.

    Attributes
    ----------
    labels : ndarray of int32, shape (height, width)
        Labels; negative where there is none.
    values : ndarray of shape (height, width, bands)
        The bands.
    areas : ndarray that broadcasts to (height, width)
        The area of each pixel.
    """

    labels: NDArray[np.int32]
    values: NDArray[Any]
    areas: NDArray[np.float64]


@dataclass
class Piece:
    """Connected pixels with one label; `polygon` is in columns and rows of the raster."""

    label: int
    pixels: int
    area: float
    sums: NDArray[np.float64]
    fragments: list[Any] = field(default_factory=list)

    @property
    def means(self) -> NDArray[np.float64]:
        """The mean of each band."""
        return self.sums / self.pixels

    @property
    def polygon(self) -> Any:
        """The outline, a shapely polygon."""
        if len(self.fragments) == 1:
            return self.fragments[0]
        return _without_straight_corners(need("shapely", "maps").union_all(self.fragments))

    def join(self, other: Piece) -> None:
        """Add a piece that touches this one."""
        self.pixels += other.pixels
        self.area += other.area
        self.sums = self.sums + other.sums
        self.fragments += other.fragments


def trace(stripes: Iterable[Stripe]) -> Iterator[Piece]:
    """Yield the pieces of a label raster, each as soon as it is complete.

    Parameters
    ----------
    stripes : iterable of Stripe
        All rows of the raster, from the first to the last.
    """
    pending: list[Piece] = []  # pieces that reach the last row so far
    above = np.empty(0, np.int32)  # for each column, the pending piece of the last row, or -1
    row = 0
    for stripe in stripes:
        numbers = connected_pieces(stripe.labels)
        pieces = pending + _measure(stripe, numbers, row)
        numbers[numbers >= 0] += len(pending)
        same = _same_label(pending, above, stripe.labels[0])
        merged, group_of = _join(pieces, above[same], numbers[0][same])
        below = np.append(group_of, -1)[numbers[-1]]  # the number -1 means no piece
        still_open = np.unique(below[below >= 0])
        is_open = np.zeros(len(merged), bool)
        is_open[still_open] = True
        yield from (piece for piece, stays in zip(merged, is_open, strict=True) if not stays)
        pending = [merged[k] for k in still_open]
        above = np.where(below >= 0, np.searchsorted(still_open, below), -1)
        row += len(stripe.labels)
    yield from pending


def connected_pieces(labels: NDArray[np.int32]) -> NDArray[np.int64]:
    """Return the number of each pixel's connected piece, from 0; -1 for negative labels.

    Pixels are connected along rows and columns. Runs of pixels are joined instead of single ones.
    """
    begins = np.ones(labels.shape, bool)
    begins[:, 1:] = labels[:, 1:] != labels[:, :-1]
    runs = np.cumsum(begins).reshape(labels.shape) - 1
    below = labels[1:] == labels[:-1]
    n_runs = int(runs[-1, -1]) + 1
    pieces = _connected(n_runs, runs[:-1][below], runs[1:][below])[runs]
    inside = labels >= 0
    numbers = np.full(labels.shape, -1, np.int64)
    numbers[inside] = np.unique(pieces[inside], return_inverse=True)[1]
    return numbers


def _connected(n: int, a: NDArray[np.int64], b: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the component of each of `n` nodes; a[k] and b[k] are connected."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    graph = coo_array((np.ones(len(a), bool), (a, b)), shape=(n, n))
    return np.asarray(connected_components(graph, directed=False)[1], np.int64)


def _measure(stripe: Stripe, numbers: NDArray[np.int64], row: int) -> list[Piece]:
    """Return the pieces of a stripe, in the order of their numbers."""
    inside = numbers >= 0
    flat = numbers[inside]
    n = int(flat.max(initial=-1)) + 1
    first = np.full(n, -1, np.int64)
    first[flat[::-1]] = np.flatnonzero(inside)[::-1]
    labels = stripe.labels.ravel()[first].tolist()
    pixels = np.bincount(flat, minlength=n).tolist()
    areas = np.bincount(flat, np.broadcast_to(stripe.areas, inside.shape)[inside], n).tolist()
    bands = [stripe.values[..., k][inside] for k in range(stripe.values.shape[-1])]
    sums = np.stack([np.bincount(flat, band, n) for band in bands], axis=1)
    pieces = [
        Piece(label, count, area, total)
        for label, count, area, total in zip(labels, pixels, areas, sums, strict=True)
    ]
    for polygon, number in zip(*_outlines(numbers, row), strict=True):
        pieces[number].fragments.append(polygon)
    return pieces


def _outlines(numbers: NDArray[np.int64], row: int) -> tuple[NDArray[Any], list[int]]:
    """Return polygons in columns and rows of the raster, and the numbers of their pieces."""
    features, shapely = need("rasterio.features", "maps"), need("shapely", "maps")
    transform = need("rasterio", "maps").Affine.translation(0, row)
    points: list[tuple[float, float]] = []
    lengths: list[int] = []  # of rings
    polygon_of: list[int] = []  # each ring, the outer one first
    found: list[int] = []
    for outline, number in features.shapes(
        numbers.astype(np.int32), mask=numbers >= 0, connectivity=4, transform=transform
    ):
        for ring in outline["coordinates"]:
            points += ring
            lengths.append(len(ring))
            polygon_of.append(len(found))
        found.append(int(number))
    if not found:
        return np.empty(0, object), found
    indices = np.repeat(np.arange(len(lengths)), lengths)
    rings = shapely.linearrings(np.array(points), indices=indices)
    return shapely.polygons(rings, indices=np.array(polygon_of)), found


def _same_label(
    pending: list[Piece], above: NDArray[np.int32], first_row: NDArray[np.int32]
) -> NDArray[np.intp]:
    """Return the columns in which a pending piece continues in the first row of a stripe."""
    columns = np.flatnonzero(above >= 0)
    labels = np.array([piece.label for piece in pending], np.int64)
    return columns[labels[above[columns]] == first_row[columns]] if len(columns) else columns


def _join(
    pieces: list[Piece], a: NDArray[Any], b: NDArray[Any]
) -> tuple[list[Piece], NDArray[np.int64]]:
    """Join the pieces a[k] and b[k]; return the pieces that are left, and the one of each."""
    group_of = _connected(len(pieces), a, b) if pieces else np.empty(0, np.int64)
    merged: dict[int, Piece] = {}
    for piece, group in zip(pieces, group_of.tolist(), strict=True):
        if group in merged:
            merged[group].join(piece)
        else:
            merged[group] = piece
    return [merged[group] for group in sorted(merged)], group_of


def _without_straight_corners(polygon: Any) -> Any:
    """Return a polygon along pixel borders without the points at which it does not turn."""
    shapely = need("shapely", "maps")

    def turns(ring: Any) -> NDArray[np.float64]:
        points = shapely.get_coordinates(ring)[:-1]
        before = points - np.roll(points, 1, axis=0)
        after = np.roll(points, -1, axis=0) - points
        corners: NDArray[np.float64] = points[(before * after[:, ::-1] * [1, -1]).sum(axis=1) != 0]
        return corners

    return shapely.Polygon(turns(polygon.exterior), [turns(ring) for ring in polygon.interiors])
