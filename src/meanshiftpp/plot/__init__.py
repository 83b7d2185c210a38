"""Pictures of clusters, drawn with matplotlib."""

from meanshiftpp.plot.figure import clusters
from meanshiftpp.plot.style import PALETTE

__all__ = ["PALETTE", "clusters"]
