"""Synthetic data: unit Gaussians in a box, identical in every process that draws them.

The centres are spread out, so that a correct clustering recovers the true labels. Rows are drawn
in blocks, each with its own seed, so a smaller array is a prefix of a larger one.
"""

from __future__ import annotations

from dataclasses import dataclass
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

BLOCK = 1 << 20


@dataclass(frozen=True)
class Data:
    """Description of an array: `n` points in `d` dimensions around `k` centres, or Iris."""

    n: int
    d: int = 3
    dtype: str = "float32"
    k: int = 10
    kind: str = "gaussians"

    @property
    def box(self) -> float:
        return 20.0 if self.d > 1 else 80.0  # ten Gaussians on a line need more room

    def __str__(self) -> str:
        return "Iris" if self.kind == "iris" else f"{self.n:,} x {self.d} {self.dtype}"


IRIS = Data(150, 4, "float64", 3, "iris")


def draw(data: Data) -> tuple[NDArray[np.floating], NDArray[np.integer]]:
    """Return the points and the index of the centre of each."""
    if data.kind == "iris":
        from sklearn.datasets import load_iris

        iris = load_iris()
        return iris.data, iris.target
    places = centres(data).astype(data.dtype)
    X, truth = np.empty((data.n, data.d), data.dtype), np.empty(data.n, np.uint8)
    for block, start in enumerate(range(0, data.n, BLOCK)):
        rows = slice(start, start + BLOCK)
        label_rng, point_rng = (np.random.default_rng([data.d, block, part]) for part in range(2))
        truth[rows] = label_rng.integers(data.k, size=len(X[rows]), dtype=np.uint8)
        point_rng.standard_normal(dtype=data.dtype, out=X[rows])
        X[rows] += places[truth[rows]]
    return X, truth


def centres(data: Data) -> NDArray[np.float64]:
    """Return spread-out centres: each is the farthest of 64 candidates from those before it."""
    rng = np.random.default_rng(0)
    places = [rng.uniform(0, data.box, data.d)]
    while len(places) < data.k:
        candidates = rng.uniform(0, data.box, (64, data.d))
        nearest = np.linalg.norm(candidates[:, None] - np.array(places), axis=2).min(axis=1)
        places.append(candidates[nearest.argmax()])
    return np.array(places)


def checksum(X: NDArray[np.floating]) -> int:
    """Return a CRC of the array; processes compare it to verify that they drew the same one."""
    return crc32(np.ascontiguousarray(X).data)
