"""Pictures of clusters, drawn with matplotlib."""

from meanshiftpp.plot.figure import PALETTE, clusters, in_period

__all__ = ["PALETTE", "clusters", "in_period"]
