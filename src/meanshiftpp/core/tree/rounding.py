"""Rounded and repeated values, which would look like clusters, spread before a tree is grown."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from meanshiftpp.core.sample import Sample, uniform

_ROUNDED = 0.5  # share of distinct values below which a feature is rounded


def without_spikes(
    sample: Sample, period: NDArray[np.float64], limits: NDArray[np.float64]
) -> tuple[Sample, NDArray[np.float64], NDArray[np.int64]]:
    """Return a sample, and positions and counts without spikes to grow the tree from.

    Values of rounded features are spread over the interval that was rounded to them; otherwise
    every value would look like a cluster. Every copy of a row is then a row of the sample. Other
    rows that count more than once are not that many observations: their counts are scaled down to
    their effective sample size (Kish).
    """
    wraps = period > 0
    low, high = np.where(wraps, [[-np.inf], [np.inf]], limits)
    steps = np.array([_rounding_step(column, sample) for column in sample.rows.T])
    if steps.any():
        sample = sample.repeated()
        jitter = (uniform(sample.hashes, len(steps)) - 0.5) * steps
        counts = sample.counts
    else:
        jitter = np.zeros(1)
        share = sample.counts.sum() / np.square(sample.counts).sum()
        chance = uniform(sample.hashes, 1)[:, 0]
        counts = np.maximum(np.floor(sample.counts * share + chance), 1).astype(np.int64)
    points = np.clip(sample.rows, low, high) + jitter
    points = np.where(wraps, np.mod(points, np.where(wraps, period, 1.0)), points)
    return sample, points, counts


def _rounding_step(column: NDArray[np.float64], sample: Sample) -> float:
    """Return the distance between the values of a rounded feature, 0 if it is not rounded.

    A feature is rounded if it has at most half as many values as there are distinct rows, or rows
    if it is the only feature.
    """
    values = np.unique(column)
    rows = len(sample.rows) if sample.rows.shape[1] > 1 else sample.counts.sum()
    if len(values) < 3 or len(values) > _ROUNDED * rows:
        return 0.0
    return float(np.median(np.diff(values)))
