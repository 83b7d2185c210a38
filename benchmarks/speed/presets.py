"""Sizes and limits of a full run, a quick run and a run of the tests."""

from __future__ import annotations

from dataclasses import dataclass, replace

PEERS = ("KMeans", "DBSCAN", "fast-hdbscan", "HDBSCAN", "MeanShift")


@dataclass(frozen=True)
class Preset:
    """Sizes and limits of all benchmarks."""

    sizes: tuple[int, ...]  # points in the sweep over n, and of the memory benchmark
    goal_divisor: int  # goals run at their size divided by this; they are judged only at 1
    d_sweep_points: int
    dimensions: tuple[int, ...]
    h_sweep_points: int
    bandwidths: tuple[float, ...]
    peers: tuple[str, ...] = PEERS
    rounds: int = 7
    startups: int = 15  # fresh interpreters of each kind
    budget: float = 10.0  # seconds after which a contender runs no further rounds
    limit: float = 20.0  # seconds that a peer may take in a sweep
    goal_limit: float = 180.0  # seconds that a peer may take if a goal compares with it

    @property
    def full_size(self) -> bool:
        """Whether goals run at their full size, where clusters are separated."""
        return self.goal_divisor == 1


FULL = Preset(
    sizes=(1_000, 10_000, 100_000, 1_000_000, 10_000_000),
    goal_divisor=1,
    d_sweep_points=100_000,
    dimensions=tuple(range(1, 11)),
    h_sweep_points=1_000_000,
    bandwidths=(0.1, 0.15, 0.2, 0.3, 0.45, 0.7, 1.0, 1.5, 2.0, 2.5),
)
QUICK = replace(
    FULL,
    sizes=(1_000, 10_000, 100_000),
    goal_divisor=100,
    d_sweep_points=10_000,
    dimensions=(1, 2, 3, 5, 8),
    h_sweep_points=100_000,
    bandwidths=(0.2, 0.5, 1.0, 2.0),
    rounds=3,
    startups=5,
    budget=2.0,
    limit=5.0,
    goal_limit=60.0,
)
TINY = replace(
    QUICK,
    sizes=(1_000, 2_000),
    goal_divisor=5_000,
    d_sweep_points=2_000,
    dimensions=(1, 3),
    h_sweep_points=2_000,
    bandwidths=(0.5, 1.0),
    peers=("KMeans",),
    rounds=2,
    startups=1,
)
