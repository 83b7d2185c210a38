"""Clustering with meanshiftpp, without the checks and attributes of the estimator."""

from __future__ import annotations

from typing import Any

from meanshiftpp import Modes
from meanshiftpp.core.recipe import Recipe


def fit_labels(
    X: Any, bandwidth: float, *, resolution: int = 1, n_threads: int | None = None
) -> tuple[Modes, Any]:
    """Bin, search and label points; return the modes and the labels."""
    recipe = Recipe(bandwidth, resolution=resolution).checked(X.shape[1])
    return recipe.fit(X, n_threads=n_threads)
