"""Files of any size in, labels out."""

from meanshiftpp.io.streams import build_grid, check_output, open_points, write_labels

__all__ = ["build_grid", "check_output", "open_points", "write_labels"]
