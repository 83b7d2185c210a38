"""The simulated data: nulls, which are one cluster, and mixtures, which are not.

blobs      Gaussian, uniform, exponential and Student t with 3 degrees of freedom
rings      circles of radius 1 with Gaussian noise, in two and three features
solids     discs and balls
surfaces   spheres and sheets with Gaussian noise, tilted at random
lattices   Gaussians rounded to integers
mixtures   unit Gaussians; the nearest neighbour of each is 4.5 sigma away, in pairs also 3 sigma
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

SMALL = (100, 300, 1_000, 3_000, 10_000)
LARGE = (100_000, 1_000_000, 10_000_000)
SIZES = SMALL + LARGE
FEATURES = (1, 2, 3, 4, 5)
RING_WIDTHS = (0.01, 0.05, 0.15)
SURFACE_WIDTHS = (0.01, 0.1)
LATTICE_SPREADS = (2, 5, 20)
SEPARATION, CLOSE = 4.5, 3.0  # sigma; two Gaussians less than 2 sigma apart have no valley

BLOBS, RINGS, SOLIDS, SURFACES, LATTICES = "blobs", "rings", "solids", "surfaces", "lattices"
LAWS = ("gaussian", "uniform", "exponential", "t3")

# Microseconds per row and number of features of drawing points and growing their tree on one core.
_COST = (0.5, 0.6, 1.2, 3.0, 6.0, 9.0)
_LEAST_COST = 3e-3  # seconds

Points = NDArray[np.float64]
Generator = np.random.Generator


@dataclass(frozen=True)
class Case:
    """A law to draw `n` points in `d` features from; `width` is the noise or spread of a shape."""

    family: str
    kind: str
    d: int
    n: int
    width: float = 0.0

    @property
    def name(self) -> str:
        """The law without the number of points."""
        return f"{self.kind}{f' {self.width:g}' if self.width else ''}, d = {self.d}"

    def __str__(self) -> str:
        return f"{self.name}, n = {self.n:,}"

    @property
    def cost(self) -> float:
        """Seconds that a tree takes, roughly."""
        return _LEAST_COST + 1e-6 * self.n * _COST[self.d - 1]

    def draw(self, stage: int, seed: int) -> Points:
        """Return the points of a seed; stages never share random numbers."""
        rng = np.random.default_rng([stage, crc32(str(self).encode()), seed])
        if self.family == BLOBS:
            return blob(rng, self.kind, self.n, self.d)
        return _SHAPES[self.kind](rng, self.n, self.d, self.width)


@dataclass(frozen=True)
class Mixture:
    """A mixture of `k` unit Gaussians of equal weight."""

    k: int
    d: int
    n: int
    separation: float = SEPARATION  # from the nearest neighbour, in sigma

    @property
    def name(self) -> str:
        """The law without the number of points."""
        return f"{self.k} Gaussians {self.separation:g} sigma apart, d = {self.d}"

    def __str__(self) -> str:
        return f"{self.name}, n = {self.n:,}"

    @property
    def cost(self) -> float:
        return Case("", "", self.d, self.n).cost

    def draw(self, stage: int, seed: int) -> Points:
        """Return the points of a seed; every Gaussian has the same number of them, or one more."""
        rng = np.random.default_rng([stage, crc32(str(self).encode()), seed])
        places = packed_centres(rng, self.k, self.d, self.separation)
        return places[np.arange(self.n) % self.k] + rng.normal(size=(self.n, self.d))


# -- laws ------------------------------------------------------------------------------------------


def blob(rng: Generator, law: str, n: int, d: int) -> Points:
    """Return points with independent features of one law."""
    size = (n, d)
    if law == "gaussian":
        return rng.normal(size=size)
    if law == "uniform":
        return rng.uniform(size=size)
    return rng.exponential(size=size) if law == "exponential" else rng.standard_t(3, size)


def lattice(rng: Generator, n: int, d: int, spread: float) -> Points:
    """Return a Gaussian, rounded to integers."""
    points: Points = np.rint(spread * rng.normal(size=(n, d)))
    return points


def directions(rng: Generator, n: int, d: int) -> Points:
    """Return points spread evenly over the unit sphere."""
    points = rng.normal(size=(n, d))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    return points


def ring(rng: Generator, n: int, d: int, width: float) -> Points:
    points = np.zeros((n, d))
    points[:, :2] = directions(rng, n, 2)
    return _blurred(rng, points, width)


def sphere(rng: Generator, n: int, d: int, width: float) -> Points:
    return _blurred(rng, directions(rng, n, d), width)


def sheet(rng: Generator, n: int, d: int, width: float) -> Points:
    """Return an even square in a random plane, with noise."""
    points = np.zeros((n, d))
    points[:, :2] = rng.uniform(size=(n, 2))
    axes, _ = np.linalg.qr(rng.normal(size=(d, d)))
    return _blurred(rng, points @ axes, width)


def ball(rng: Generator, n: int, d: int, width: float = 0.0) -> Points:
    """Return points spread evenly over a disc or ball."""
    return directions(rng, n, d) * rng.uniform(size=(n, 1)) ** (1 / d)


def _blurred(rng: Generator, points: Points, width: float) -> Points:
    return points + width * rng.normal(size=points.shape)


def packed_centres(rng: Generator, k: int, d: int, separation: float = SEPARATION) -> Points:
    """Return centres in a random heap: each touches one before it and is not closer to any."""
    places = np.zeros((1, d))
    while len(places) < k:
        base = places[rng.integers(len(places))]
        place = base + separation * directions(rng, 1, d)
        if np.linalg.norm(places - place, axis=1).min() > separation - 1e-9:
            places = np.vstack([places, place])
    return places


_SHAPES = {
    "ring": ring,
    "sphere": sphere,
    "sheet": sheet,
    "disc": ball,
    "ball": ball,
    "lattice": lattice,
}


# -- the lists -------------------------------------------------------------------------------------


def blobs(sizes: Sequence[int], features: Sequence[int]) -> Iterator[Case]:
    return (Case(BLOBS, law, d, n) for d in features for law in LAWS for n in sizes)


def rings(sizes: Sequence[int]) -> Iterator[Case]:
    return (
        Case(RINGS, "ring", d, n, width) for d in (2, 3) for width in RING_WIDTHS for n in sizes
    )


def solids(sizes: Sequence[int]) -> Iterator[Case]:
    return (Case(SOLIDS, kind, d, n) for kind, d in (("disc", 2), ("ball", 3)) for n in sizes)


def others(sizes: Sequence[int]) -> Iterator[Case]:
    """Yield the shapes of real tables that are reported for small sizes alone."""
    for n in sizes:
        for kind in ("sphere", "sheet"):
            yield from (Case(SURFACES, kind, 3, n, width) for width in SURFACE_WIDTHS)
        for d in (1, 2, 3):
            yield from (Case(LATTICES, "lattice", d, n, spread) for spread in LATTICE_SPREADS)


def mixtures(sizes: Sequence[int], features: Sequence[int] = (1, 2, 3, 5)) -> Iterator[Mixture]:
    return (Mixture(k, d, n) for d in features for k in (2, 5, 10, 30) for n in sizes)


def close_pairs(sizes: Sequence[int], features: Sequence[int] = FEATURES) -> Iterator[Mixture]:
    return (Mixture(2, d, n, CLOSE) for d in features for n in sizes)
