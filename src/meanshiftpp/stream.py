"""Read points from files of any size and write their labels."""

from meanshiftpp.core.chunk import Chunk
from meanshiftpp.io.label_files import check_output, write_labels
from meanshiftpp.io.sources import Source
from meanshiftpp.io.streams import build_grid, open_points

__all__ = ["Chunk", "Source", "build_grid", "check_output", "open_points", "write_labels"]
