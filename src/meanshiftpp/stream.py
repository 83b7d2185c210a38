"""Read points from files of any size and write their labels."""

from meanshiftpp.core.chunk import Chunk
from meanshiftpp.io.sources import Source
from meanshiftpp.io.streams import build_grid, check_output, open_points, write_labels

__all__ = ["Chunk", "Source", "build_grid", "check_output", "open_points", "write_labels"]
