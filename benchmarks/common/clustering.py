"""Clustering with meanshiftpp, without the checks and attributes of the estimator."""

from __future__ import annotations

from typing import Any

from meanshiftpp import Modes
from meanshiftpp.core import modes as core


def fit_labels(
    X: Any, bandwidth: float, *, resolution: int = 1, n_threads: int | None = None
) -> tuple[Modes, Any]:
    """Bin, search and label points; return the modes and the labels."""
    return core.fit_labels(X, bandwidth, resolution=resolution, n_threads=n_threads)
