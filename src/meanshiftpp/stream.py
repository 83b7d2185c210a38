"""Read points from files of any size and write their labels."""

from meanshiftpp.io.streams import build_grid, check_output, open_points, write_labels

__all__ = ["build_grid", "check_output", "open_points", "write_labels"]
