"""A split of the tree: a valley that divides two clusters."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Split:
    """A valley that is more than noise, and the cluster that it divides from its parent.

    Attributes
    ----------
    cluster, parent : int
        The two clusters of the tree; the parent keeps its number.
    window : int
        Mass of the windows, in counts, at which the valley was found.
    weight : float
        Counts above the saddle, on the side of `cluster`.
    depth : float
        Depth of the valley below the lower peak: log2 of the ratio of densities.
    z, critical : float
        The depth in standard errors, and the least that counts at a strictness of 1.
    score : float
        How clearly the valley passes: 1 is the limit at a strictness of 1.
    front : int
        Length of the common border in windows; 0 if the valley is significant without it.
    joins : int
        A leaf across the saddle: the cluster joins its cluster if the split is undone.
    top : int
        The leaf at the peak of the cluster.
    peak, saddle : float
        log2 of the radius of the windows at the peak of the cluster and at the saddle.
    dimension : float
        The dimension in which the mass of a window grows with its radius.
    stage : int
        0 for a significant split; the n-th looser stage of a cut made the others.
    """

    cluster: int
    parent: int
    window: int
    weight: float
    depth: float
    z: float
    critical: float
    score: float
    front: int
    joins: int
    top: int
    peak: float
    saddle: float
    dimension: float
    stage: int

    @property
    def persistence(self) -> float:
        """The part of the lower peak that stands above the saddle, from 0 to 1."""
        return 1.0 - float(2.0**-self.depth)
