"""The tracker's confidence, fitted to films: log odds that the window misses the object.

The odds of a frame are linear in the tracker's signals (likeness, contrast, peak of the response)
and limited; the confidence averages them over the last frames. `log_odds` repeats the kernel's
computation, so that other coefficients can be judged without tracking again.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from benchmarks.tracking.metrics import Flags, Values

Signals = NDArray[np.float64]  # (frames, 3)
MAX_ODDS, MEMORY = 4.0, 0.8  # as in src/kernel/track/settings.hpp
RIDGE, STEPS = 1.0, 25
THRESHOLDS = np.linspace(-MAX_ODDS, MAX_ODDS, 161)


def averaged(values: NDArray[np.float64], start: float | Values) -> NDArray[np.float64]:
    """Return the fading mean up to each frame."""
    out = np.empty_like(values)
    mean = np.broadcast_to(start, values.shape[1:])
    for k, value in enumerate(values):
        mean = MEMORY * mean + (1 - MEMORY) * value
        out[k] = mean
    return out


def log_odds(coefficients: Values, signals: Signals) -> Values:
    """Return the log odds of a loss in each frame of one film."""
    frame = coefficients[0] + signals @ coefficients[1:]
    return averaged(frame.clip(-MAX_ODDS, MAX_ODDS), -MAX_ODDS)


def fit(films: list[tuple[Signals, Flags]]) -> Values:
    """Fit coefficients to films by logistic regression with a small penalty: constant, signals."""
    table = np.vstack([averaged(signals, signals[0]) for signals, _ in films])
    lost = np.concatenate([lost for _, lost in films])
    mean, scale = table.mean(axis=0), table.std(axis=0) + 1e-9
    columns = np.column_stack([np.ones(len(table)), (table - mean) / scale])
    penalty = RIDGE * np.diag([0.0, 1.0, 1.0, 1.0])
    found = np.zeros(4)
    for _ in range(STEPS):
        share = 1 / (1 + np.exp(-columns @ found))
        curvature = (columns * (share * (1 - share))[:, None]).T @ columns + penalty
        found += np.linalg.solve(curvature, columns.T @ (lost - share) - penalty @ found)
    slopes = found[1:] / scale
    return np.array([found[0] - slopes @ mean, *slopes])


def balanced_threshold(odds: Values, lost: Flags) -> float:
    """Return the log odds above which precision and recall of losses are both as high as can be."""

    def lower(threshold: float) -> float:
        reported = odds > threshold
        correct = int((reported & lost).sum())
        return correct / max(int(reported.sum()), int(lost.sum()), 1)

    return float(max(THRESHOLDS, key=lower))
