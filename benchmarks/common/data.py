"""The arrays: unit Gaussians in a box, the same in every process that draws them.

The centres are spread out, so that the truth can be found and an answer can be held against it.
Rows are drawn in blocks with a seed each: a smaller array is the beginning of a larger one.
"""

from __future__ import annotations

from dataclasses import dataclass
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

BLOCK = 1 << 20


@dataclass(frozen=True)
class Data:
    """Which array: `n` points in `d` dimensions around `k` centres, or Iris."""

    n: int
    d: int = 3
    dtype: str = "float32"
    k: int = 10
    kind: str = "gaussians"

    @property
    def box(self) -> float:
        return 20.0 if self.d > 1 else 80.0  # on a line ten Gaussians need more room

    def __str__(self) -> str:
        return "Iris" if self.kind == "iris" else f"{self.n:,} x {self.d} {self.dtype}"


IRIS = Data(150, 4, "float64", 3, "iris")


def draw(data: Data) -> tuple[NDArray[np.floating], NDArray[np.integer]]:
    """Give the points and the centre each belongs to."""
    if data.kind == "iris":
        from sklearn.datasets import load_iris

        iris = load_iris()
        return iris.data, iris.target
    places = centres(data).astype(data.dtype)
    X, truth = np.empty((data.n, data.d), data.dtype), np.empty(data.n, np.uint8)
    for block, start in enumerate(range(0, data.n, BLOCK)):
        rows = slice(start, start + BLOCK)
        which, where = (np.random.default_rng([data.d, block, part]) for part in range(2))
        truth[rows] = which.integers(data.k, size=len(X[rows]), dtype=np.uint8)
        where.standard_normal(dtype=data.dtype, out=X[rows])
        X[rows] += places[truth[rows]]
    return X, truth


def centres(data: Data) -> NDArray[np.float64]:
    """Spread the centres out: each is the farthest from the others of 64 that were tried."""
    rng = np.random.default_rng(0)
    places = [rng.uniform(0, data.box, data.d)]
    while len(places) < data.k:
        tried = rng.uniform(0, data.box, (64, data.d))
        nearest = np.linalg.norm(tried[:, None] - np.array(places), axis=2).min(axis=1)
        places.append(tried[nearest.argmax()])
    return np.array(places)


def checksum(X: NDArray[np.floating]) -> int:
    """Tell arrays apart, cheaply: processes compare it to know that they have the same one."""
    return crc32(np.ascontiguousarray(X).data)
