"""Count on real tables which labels of the default `tol` differ from those of full convergence.

    python -m benchmarks.tolerance FOLDER

For every .csv and .csv.gz in the folder (a header; the label, which is not used, in the last
column) the grid is searched with the default `tol` and with `tol=0`, at 60 bandwidths between 0.01
and 2 standard deviations of each feature; tables over 100,000 rows at 8. The table reports the
searches with other labels and how many clusters these have more: groups that creep towards each
other stay apart. The exit status is 1 if a search differs that the rest rule does not explain,
because it ended within the free steps, or if one did not converge.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.common.command_line import command_parser
from benchmarks.common.csv_tables import find_tables, read_table, table_name
from meanshiftpp import Grid, MeanShiftPP, seek
from meanshiftpp._kernel import FREE_STEPS

DEFAULT_TOL = MeanShiftPP().tol
NO_LIMIT = 1_000_000
LARGE_TABLE = 100_000
HEADER = ("table", "points", "searches", "differ", "apart", "most steps", "with tol=0")


@dataclass
class TableSearches:
    """Counts over all searches of a table."""

    name: str
    n: int
    d: int
    searches: int = 0
    differ: int = 0
    apart: int = 0  # clusters that full convergence joins to others
    steps: int = 0  # the maximum with the default
    steps_to_end: int = 0  # the maximum with tol=0
    wrong: int = 0  # differ without the rest rule, or did not converge

    def line(self) -> str:
        counts = (self.searches, self.differ, self.apart, self.steps, self.steps_to_end)
        return layout((self.name, f"{self.n:,} x {self.d}", *map(str, counts)))


def main(arguments: Sequence[str] | None = None) -> int:
    parser = command_parser("tolerance", __doc__)
    parser.add_argument("folder", type=Path, help="folder with the tables")
    try:
        paths = find_tables(parser.parse_args(arguments).folder)
    except FileNotFoundError as error:
        parser.error(str(error))
    print(f"tol={DEFAULT_TOL:g} compared with tol=0")
    print(layout(HEADER))
    searches = differ = wrong = 0
    for path in paths:
        result = compare(path)
        print(result.line(), flush=True)
        searches += result.searches
        differ += result.differ
        wrong += result.wrong
    print(f"{differ} of {searches} searches differ, {wrong} of them without the rest rule")
    return 1 if wrong else 0


def compare(path: Path) -> TableSearches:
    """Search a table at all bandwidths with both tolerances."""
    X, _ = read_table(path)
    result = TableSearches(table_name(path), *X.shape)
    for h in bandwidths(X):
        grid = Grid.from_points(X, h)
        default = seek(grid, tol=DEFAULT_TOL)
        full = seek(grid, tol=0, max_iter=NO_LIMIT)
        differs = not np.array_equal(default.cell_labels, full.cell_labels)
        ended = default.converged and full.converged
        result.searches += 1
        result.differ += differs
        result.apart += len(default) - len(full)
        result.wrong += not ended or (differs and default.n_iter <= FREE_STEPS)
        result.steps = max(result.steps, default.n_iter)
        result.steps_to_end = max(result.steps_to_end, full.n_iter)
    return result


def bandwidths(X: NDArray[np.float64]) -> Iterator[NDArray[np.float64]]:
    """Yield bandwidths from fine to coarse; a constant feature is one cell at any of them."""
    spread = X.std(axis=0)
    spread[spread == 0] = 1.0
    for factor in np.geomspace(0.01, 2, 8 if len(X) > LARGE_TABLE else 60):
        yield factor * spread


def layout(cells: Sequence[str]) -> str:
    return f"{cells[0]:22}{cells[1]:>16}" + "".join(f"{cell:>12}" for cell in cells[2:])


if __name__ == "__main__":
    sys.exit(main())
