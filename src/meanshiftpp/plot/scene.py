"""The data of a picture: points, clusters and colours, prepared once for all panels."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from meanshiftpp._support.checks import as_amounts, as_labels, as_not_negative, as_shaped
from meanshiftpp._support.extras import need
from meanshiftpp.errors import InvalidInputError
from meanshiftpp.plot.style import GREY, PALETTE

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

MAX_FEATURES = 5
MIN_SHARE = 0.005  # of all points: smaller clusters are grey,
MIN_RATIO = 0.1  # unless they have this part of the largest cluster
MAX_COLOURED = 400
MAX_RANGE = 1e300  # of an axis, with room for its margins and ticks


@dataclass(frozen=True)
class Scene:
    """A clustering as the panels draw it: k clusters of n points in d features."""

    X: NDArray[np.float64]  # (n, d), only the features that are drawn
    labels: NDArray[np.intp]  # (n,), with k instead of -1 for noise
    centers: NDArray[np.float64]  # (k, d)
    sizes: NDArray[np.float64]  # (k,)
    noise: float  # its size
    is_weighted: bool  # sizes are sums of weights, not numbers of points
    colours: NDArray[np.float64]  # (k + 1, 3); the last one is for noise
    n_coloured: int  # clusters with a lower label have a colour of the palette, the others are grey
    names: tuple[str, ...]  # (d,)
    limits: list[tuple[float, float]]  # (d,), the range of each feature's axis
    n_features: int  # of the data; d of them are drawn


def checked_points(X: ArrayLike, labels: ArrayLike) -> tuple[NDArray[Any], NDArray[Any]]:
    """Check the points of `clusters` and their labels."""
    expected = "finite numbers of shape (n, d), at least one point"
    points = as_shaped(X, "X", expected, (None, None))
    if points.size == 0:
        raise InvalidInputError.for_parameter("X", expected, points.shape)
    if not np.isfinite(points).all():
        bad = points[~np.isfinite(points)][0]
        raise InvalidInputError.for_parameter("X", expected, float(bad), "leave out such points")
    low, high = (np.asarray(end, np.float64) for end in (points.min(axis=0), points.max(axis=0)))
    with np.errstate(over="ignore"):
        widest = float((high - low).max())
    if widest > MAX_RANGE:
        expected = f"numbers whose range is at most {MAX_RANGE:g} in each feature"
        raise InvalidInputError.for_parameter("X", expected, widest, "scale the data down")
    shape = points.shape[:1]
    return points, as_labels(labels, f"{shape}, one for each point of X", shape)


def checked_centers(
    centers: ArrayLike | None, points: NDArray[Any], labels: NDArray[Any]
) -> NDArray[np.float64] | None:
    """Check the modes of `clusters`: a row for each label."""
    if centers is None:
        return None
    k, d = max(int(labels.max()) + 1, 0), points.shape[1]
    expected = f"numbers of shape (k, {d}), a row for each label"
    shape = (0,) if isinstance(centers, list) and not centers else (None, d)
    modes = as_shaped(centers, "centers", expected, shape).astype(np.float64)
    if len(modes) < k:
        raise InvalidInputError.for_parameter("centers", expected, modes.shape)
    return modes.reshape(-1, d)


def checked_columns(columns: Sequence[str] | None, d: int) -> list[str]:
    """Check the names of the features; by default they are numbered."""
    if columns is None:
        return [f"feature {j}" for j in range(d)]
    expected = f"{d} names, one for each feature"
    names = [] if isinstance(columns, str) or not isinstance(columns, Iterable) else [*columns]
    if len(names) != d:
        raise InvalidInputError.for_parameter("columns", expected, columns)
    return [str(name) for name in names]


def build_scene(
    X: NDArray[Any],
    labels: NDArray[Any],
    centers: NDArray[np.float64] | None,
    weights: ArrayLike | None,
    columns: Sequence[str] | None,
    *,
    noise: float | None = None,
    is_weighted: bool = False,
    significant: bool = False,
) -> Scene:
    """Prepare the arguments of `clusters`, whose points and centers are checked, for drawing.

    All `significant` clusters have a colour, up to the limit.
    """
    names = checked_columns(columns, X.shape[1])
    k = max(int(labels.max()) + 1, 0) if centers is None else len(centers)
    if weights is not None:
        weights = as_amounts(weights, "weights", k, "the size of each cluster")
    if noise is not None:
        noise = as_not_negative(noise, "noise")
    labels = np.where(labels < 0, k, labels).astype(np.intp)
    *counted, n_noise = np.bincount(labels, minlength=k + 1).tolist()
    counts = np.array(counted, np.intp)
    centers = _means(X, labels, counts) if centers is None else centers
    sizes = counts.astype(float) if weights is None else weights
    drawn = most_separating_features(X, centers, sizes)
    points, centers = np.asarray(X[:, drawn], float), centers[:, drawn]
    limits = [axis_limits(x) for x in points.T]
    n_coloured = min(k, MAX_COLOURED) if significant else _count_coloured(sizes, len(X))
    return Scene(
        X=points,
        labels=labels,
        centers=centers,
        sizes=sizes,
        noise=float(n_noise if noise is None else noise),
        is_weighted=is_weighted,
        colours=cluster_colours(centers / [high - low for low, high in limits], n_coloured),
        n_coloured=n_coloured,
        names=tuple(names[j] for j in drawn),
        limits=limits,
        n_features=X.shape[1],
    )


def axis_limits(x: NDArray[np.float64]) -> tuple[float, float]:
    """Return the range of a feature's axis, without far outliers that would squeeze the rest."""
    low, high = np.percentile(x, [0.1, 99.9])
    room = 0.25 * (high - low)
    low, high = max(x.min(), low - room), min(x.max(), high + room)
    edge = 0.04 * (high - low) or max(0.5, 1e-6 * abs(low))  # 0.5 vanishes beside a large constant
    return float(low - edge), float(high + edge)


def most_separating_features(
    X: NDArray[Any], centers: NDArray[np.float64], sizes: NDArray[np.float64]
) -> list[int]:
    """Return the features whose variance the clusters explain best, in the order of the columns."""
    if X.shape[1] <= MAX_FEATURES or len(centers) == 0:
        return list(range(min(X.shape[1], MAX_FEATURES)))
    share = sizes / sizes.sum()
    between = share @ (centers - share @ centers) ** 2
    explained = between / np.maximum(X.var(axis=0), 1e-300)
    return sorted(np.argsort(-explained, kind="stable")[:MAX_FEATURES].tolist())


def cluster_colours(centers: NDArray[np.float64], n_coloured: int) -> NDArray[np.float64]:
    """Return an RGB row for each cluster and one for noise; only the first `n_coloured` differ.

    When all colours of the palette are in use, a cluster gets the one whose clusters are farthest.
    """
    rgb = need("matplotlib.colors", "plot").to_rgb
    palette = np.array([rgb(colour) for colour in PALETTE])
    colours = np.tile(rgb(GREY), (len(centers) + 1, 1))
    nearest = np.full((n_coloured, len(palette)), np.inf)  # distance to a cluster of each colour
    for i in range(n_coloured):
        choice = i if i < len(palette) else int(np.argmax(nearest[i]))
        distance = np.linalg.norm(centers[:n_coloured] - centers[i], axis=1)
        nearest[:, choice] = np.minimum(nearest[:, choice], distance)
        colours[i] = palette[choice]
    return colours


def _count_coloured(sizes: NDArray[np.float64], n: int) -> int:
    total = sizes.sum()
    min_size = min(MIN_SHARE * total, MIN_RATIO * sizes.max(initial=0.0))
    # In small data, clusters of one or two points are grey as well.
    min_size = max(min_size, min(2.5 / n, 0.1) * total)
    # Sizes of a grid of other points need not fall with the label: count up to the last large one.
    large = np.flatnonzero(sizes >= min_size)
    return min(int(large[-1]) + 1, MAX_COLOURED) if len(large) else 0


def _means(X: NDArray[Any], labels: NDArray[np.intp], counts: NDArray[Any]) -> NDArray[np.float64]:
    sums = [np.bincount(labels, x, len(counts) + 1)[: len(counts)] for x in X.T]
    return np.asarray(np.stack(sums, axis=1) / np.maximum(counts, 1)[:, None], float)
