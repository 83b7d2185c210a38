"""Generated data with its truth: rare clusters in many rows, and thousands of clusters.

    bump        998,000 rows of a unit Gaussian, and 2,000 at (12, 12) with a spread of 0.3
    rare-1M     a million rows: 20 tight clusters of 0.1 % each in a wide blob
    rare-10M    ten million rows: 20 tight clusters of 0.02 % each in a wide blob
    groups      2,000 groups of 50 to 500 rows in five features, with spreads of 0.5 to 2

Each takes a seed. The wide blob of `rare` is a class of the truth, but not a cluster to be found.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from benchmarks.clustering.suite import BACKGROUND, DataSet, Labels

TIGHT = 0.3  # the spread of rare clusters
BATTERY = "generated"

Sample = tuple[NDArray[np.float64], Labels]


def bump(seed: int, n: int = 1_000_000, rare: int = 2_000) -> Sample:
    """Return a unit Gaussian and a rare, tight cluster far away."""
    rng = np.random.default_rng(seed)
    return _gaussians(rng, np.array([[0, 0], [12, 12]]), [1.0, TIGHT], [n - rare, rare])


def rare(seed: int, n: int, size: int, k: int = 20) -> Sample:
    """Return a wide blob, and `k` tight clusters of `size` rows anywhere in it."""
    rng = np.random.default_rng(seed)
    places = np.vstack([np.zeros((1, 2)), rng.uniform(-30, 30, (k, 2))])
    X, truth = _gaussians(rng, places, [10.0, *[TIGHT] * k], [n - k * size, *[size] * k])
    return X, np.where(truth == 1, BACKGROUND, truth - 1)


def groups(seed: int, k: int = 2_000, d: int = 5) -> Sample:
    """Return `k` Gaussians of different sizes and spreads, anywhere in a box."""
    rng = np.random.default_rng(seed)
    places, spreads = rng.uniform(0, 100, (k, d)), rng.uniform(0.5, 2, k)
    return _gaussians(rng, places, spreads, rng.integers(50, 501, k))


def _gaussians(
    rng: np.random.Generator,
    places: NDArray[np.floating],
    spreads: Sequence[float] | NDArray[np.floating],
    sizes: Sequence[int] | NDArray[np.integer],
) -> Sample:
    """Return round Gaussians, labelled from 1 on, in a random order."""
    truth = rng.permutation(np.repeat(np.arange(len(places)), sizes))
    X = rng.normal(size=(len(truth), places.shape[1]))
    X *= np.asarray(spreads)[truth, None]
    X += places[truth]
    return X, truth + 1


GENERATED: dict[str, Callable[[int], Sample]] = {
    "bump": bump,
    "groups": groups,
    "rare-1M": lambda seed: rare(seed, 1_000_000, 1_000),
    "rare-10M": lambda seed: rare(seed, 10_000_000, 2_000),
}


def draw(name: str, seed: int) -> DataSet:
    """Draw a data set by its name; it is in no half, so it has its own line in the report."""
    X, truth = GENERATED[name](seed)
    title = f"{BATTERY}/{name}" + (f"/{seed}" if seed else "")
    return DataSet(title, title, X, (truth,))
