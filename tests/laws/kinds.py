"""Fixed data sets of many kinds, on which the laws of significant clusters are tested."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

ROWS = 1000


class Kind(NamedTuple):
    """Points, the periods of their features, and whole weights or none."""

    X: NDArray[Any]
    periodic: tuple[float | None, ...] | None = None
    weight: NDArray[np.int64] | None = None

    def scaled(self, factor: float) -> Kind:
        """Return the data in other units."""
        periodic = self.periodic and tuple(p and p * factor for p in self.periodic)
        return Kind(self.X.astype(np.float64) * factor, periodic, self.weight)


def _kinds() -> dict[str, Kind]:
    rng = np.random.default_rng(7)
    half = ROWS // 2
    blobs = np.concatenate([rng.normal(0, 1, (half, 2)), rng.normal(6, 1, (half, 2))])
    angle = rng.uniform(0, 2 * np.pi, ROWS)
    radius = np.where(np.arange(ROWS) % 2, 1.0, 3.0) + rng.normal(0, 0.08, ROWS)
    hours = np.concatenate([rng.normal(0, 8, (half, 2)), rng.normal(150, 10, (half, 2))]) % 360
    bump = np.concatenate([rng.normal(0, 1, (8000, 2)), rng.normal([1.5, 1], 0.03, (80, 2))])
    return {
        "blobs": Kind(blobs),
        "rings": Kind(np.c_[radius * np.cos(angle), radius * np.sin(angle)]),
        "rounded": Kind(np.round(blobs, 1)),
        "integers": Kind(np.round(blobs * 4).astype(np.int32)),
        "duplicates": Kind(blobs[rng.integers(0, ROWS // 4, ROWS)]),
        "clipped": Kind(np.clip(blobs, -1, 6.5)),
        "outliers": Kind(np.concatenate([blobs, [[1e5, 0.0], [3.0, -2e5]]])),
        "units": Kind(blobs * [1, 1000]),
        "period": Kind(hours[:, :1], (360,)),
        "one period of two": Kind(hours, (360, None)),
        "constant": Kind(np.c_[blobs[:, 0], np.full(ROWS, 3.5)]),
        "one feature": Kind(blobs[:, :1].copy()),
        "five features": Kind(rng.normal(size=(ROWS, 5)) + 6 * rng.integers(0, 3, (ROWS, 1))),
        "float32": Kind(blobs.astype(np.float32)),
        "skewed": Kind(rng.exponential(size=(ROWS, 3)) * [1, 2, 4]),
        "weights": Kind(blobs, None, rng.integers(0, 4, ROWS)),
        "bump": Kind(bump),
    }


KINDS = _kinds()
MIXTURES = ("blobs", "rings", "units", "one period of two", "five features")
