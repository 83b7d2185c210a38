"""Generated sample data, for the demo, the studio, the documentation and the tests."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

SEED = 7


def gaussians(
    n: int = 1_000_000, k: int = 18, noise: float = 0.03, seed: int = SEED
) -> tuple[NDArray[np.float32], NDArray[np.intp]]:
    """Draw points in the plane from a mixture of different Gaussians and uniform noise.

    Parameters
    ----------
    n : int, default=1_000_000
        Number of points.
    k : int, default=18
        Number of Gaussians, each with its own weight, width, shape and direction.
    noise : float, default=0.03
        Share of the points that are uniform noise.
    seed : int, default=7
        The same seed draws the same points.

    Returns
    -------
    X : ndarray of shape (n, 2), float32
        The points.
    source : ndarray of shape (n,)
        The Gaussian that each point was drawn from; k is noise.

    Examples
    --------
    >>> from meanshiftpp.apps.samples import gaussians
    >>> X, source = gaussians(1000)
    >>> X.shape, int(source.max())
    ((1000, 2), 18)
    """
    rng = np.random.default_rng(seed)
    centers = _separate_centers(rng, k)
    angle, width, ratio = rng.uniform(0, np.pi, k), rng.uniform(0.35, 1.0, k), rng.uniform(1, 3, k)
    rotation = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    transform = np.moveaxis(rotation * np.array([width, width / ratio]), 2, 0)  # (k, 2, 2)
    weight = rng.dirichlet(np.full(k, 3.0)) * (1 - noise)
    source = rng.choice(k + 1, n, p=[*weight, noise])
    X = rng.uniform(-12, 12, (n, 2))
    in_cluster = source < k
    cluster = source[in_cluster]
    normal = rng.normal(size=(len(cluster), 2))
    X[in_cluster] = centers[cluster] + np.einsum("nij,nj->ni", transform[cluster], normal)
    return X.astype(np.float32), source


def _separate_centers(rng: np.random.Generator, k: int) -> NDArray[np.float64]:
    """Draw centers one by one: of six candidates, the one farthest from the centers so far."""
    centers = [rng.uniform(-9, 9, 2)]
    while len(centers) < k:
        candidates = rng.uniform(-9, 9, (6, 2))
        nearest = np.linalg.norm(candidates[:, None] - np.array(centers), axis=2).min(axis=1)
        centers.append(candidates[nearest.argmax()])
    return np.array(centers)
