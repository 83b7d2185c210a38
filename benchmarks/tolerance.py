"""The evidence for the default of `tol`: on real tables it gives the labels of full convergence.

    python -m benchmarks.tolerance FOLDER

For every .csv and .csv.gz in the folder (a header; the last column is a label and not used) the
grid is searched with the default `tol` and with 0, at 60 bandwidths between 0.01 and 2 standard
deviations of each feature; tables over 100,000 rows at 8. The number of steps is not limited here,
so that only `tol` is tried; how often the default limit would have ended a search is told as well.
The exit status is 1 if any label differs.
"""

from __future__ import annotations

import argparse
import gzip
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from meanshiftpp import Grid, seek
from meanshiftpp.core.modes import DEFAULT_MAX_ITER, DEFAULT_TOL

NO_LIMIT = 1_000_000
LARGE_TABLE = 100_000


@dataclass
class Line:
    """A table, and how its searches compare."""

    name: str
    n: int
    d: int
    searches: int = 0
    differ: int = 0
    steps: int = 0  # the most with the default
    steps_to_rest: int = 0  # the most with tol=0
    unfinished: int = 0  # tol=0 did not come to rest
    limited: int = 0  # the default limit of steps would have ended it


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.tolerance", description=__doc__)
    parser.add_argument("folder", type=Path, help="where the tables are")
    folder = parser.parse_args(arguments).folder
    paths = sorted(p for p in folder.glob("*.csv*") if p.name.endswith((".csv", ".csv.gz")))
    if not paths:
        parser.error(f"{folder} has no .csv or .csv.gz")
    header = ("table", "points", "searches", "differ", "most steps", "to rest", "over limit")
    print(f"tol={DEFAULT_TOL:g} against tol=0; the limit is {DEFAULT_MAX_ITER} steps")
    print(layout(header))
    lines = [compare(path) for path in paths]
    total, differ = (sum(getattr(line, key) for line in lines) for key in ("searches", "differ"))
    unfinished = sum(line.unfinished for line in lines)
    print(f"{differ} of {total} searches differ", end="")
    print(f"; {unfinished} did not come to rest at tol=0" if unfinished else "")
    return 1 if differ or unfinished else 0


def compare(path: Path) -> Line:
    """Search a table at all its bandwidths, and print its line."""
    X = read(path)
    line = Line(path.name.partition(".")[0], *X.shape)
    for h in bandwidths(X):
        grid = Grid.from_points(X, h)
        default = seek(grid, tol=DEFAULT_TOL, max_iter=NO_LIMIT)
        rest = seek(grid, tol=0, max_iter=NO_LIMIT)
        line.searches += 1
        line.differ += not np.array_equal(default.cell_labels, rest.cell_labels)
        line.unfinished += not rest.converged
        line.limited += default.n_iter > DEFAULT_MAX_ITER
        line.steps = max(line.steps, default.n_iter)
        line.steps_to_rest = max(line.steps_to_rest, rest.n_iter)
    size = f"{line.n:,} x {line.d}"
    counts = (line.searches, line.differ, line.steps, line.steps_to_rest, line.limited)
    print(layout((line.name, size, *map(str, counts))), flush=True)
    return line


def read(path: Path) -> NDArray[np.float64]:
    """Read the features: every column but the last."""
    unpacked = gzip.open if path.suffix == ".gz" else open
    with unpacked(path, "rt", encoding="utf-8") as file:
        features = file.readline().count(",")
        return np.loadtxt(file, delimiter=",", usecols=range(features), ndmin=2)


def bandwidths(X: NDArray[np.float64]) -> Iterator[NDArray[np.float64]]:
    """Give them from fine to coarse; a feature that does not vary is one cell anyway."""
    spread = X.std(axis=0)
    spread[spread == 0] = 1.0
    for factor in np.geomspace(0.01, 2, 8 if len(X) > LARGE_TABLE else 60):
        yield factor * spread


def layout(cells: Sequence[str]) -> str:
    return f"{cells[0]:22}{cells[1]:>16}" + "".join(f"{cell:>12}" for cell in cells[2:])


if __name__ == "__main__":
    sys.exit(main())
