"""Show that the default of `tol` results in the labels of full convergence on real tables.

    python -m benchmarks.tolerance FOLDER

For every .csv and .csv.gz in the folder (a header; the label, which is not used, in the last
column) the grid is searched with the default `tol` and with `tol=0`, at 60 bandwidths between 0.01
and 2 standard deviations of each feature; tables over 100,000 rows at 8. The number of steps is
not limited here, so that only `tol` matters; the table reports how often the default limit would
have ended a search. The exit status is 1 if any label differs.
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

DEFAULT_TOL, DEFAULT_MAX_ITER = MeanShiftPP().tol, MeanShiftPP().max_iter
NO_LIMIT = 1_000_000
LARGE_TABLE = 100_000
HEADER = ("table", "points", "searches", "differ", "most steps", "to rest", "over limit")


@dataclass
class TableSearches:
    """Counts over all searches of a table."""

    name: str
    n: int
    d: int
    searches: int = 0
    differ: int = 0
    steps: int = 0  # the maximum with the default
    steps_to_rest: int = 0  # the maximum with tol=0
    not_converged: int = 0  # with tol=0
    over_limit: int = 0  # the default limit of steps would have ended them

    def line(self) -> str:
        counts = (self.searches, self.differ, self.steps, self.steps_to_rest, self.over_limit)
        return layout((self.name, f"{self.n:,} x {self.d}", *map(str, counts)))


def main(arguments: Sequence[str] | None = None) -> int:
    parser = command_parser("tolerance", __doc__)
    parser.add_argument("folder", type=Path, help="folder with the tables")
    try:
        paths = find_tables(parser.parse_args(arguments).folder)
    except FileNotFoundError as error:
        parser.error(str(error))
    print(f"tol={DEFAULT_TOL:g} compared with tol=0; the default limit is {DEFAULT_MAX_ITER} steps")
    print(layout(HEADER))
    searches = differ = not_converged = 0
    for path in paths:
        result = compare(path)
        print(result.line(), flush=True)
        searches += result.searches
        differ += result.differ
        not_converged += result.not_converged
    print(f"{differ} of {searches} searches differ", end="")
    print(f"; {not_converged} did not converge with tol=0" if not_converged else "")
    return 1 if differ or not_converged else 0


def compare(path: Path) -> TableSearches:
    """Search a table at all bandwidths with both tolerances."""
    X, _ = read_table(path)
    result = TableSearches(table_name(path), *X.shape)
    for h in bandwidths(X):
        grid = Grid.from_points(X, h)
        default = seek(grid, tol=DEFAULT_TOL, max_iter=NO_LIMIT)
        rest = seek(grid, tol=0, max_iter=NO_LIMIT)
        result.searches += 1
        result.differ += not np.array_equal(default.cell_labels, rest.cell_labels)
        result.not_converged += not rest.converged
        result.over_limit += default.n_iter > DEFAULT_MAX_ITER
        result.steps = max(result.steps, default.n_iter)
        result.steps_to_rest = max(result.steps_to_rest, rest.n_iter)
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
