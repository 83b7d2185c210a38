"""Real data sets in a folder: .csv or .csv.gz with a header and the label in the last column."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
from numpy.typing import NDArray


def find_tables(folder: Path) -> list[Path]:
    """Return the tables of a folder, sorted by name; raise FileNotFoundError if it has none."""
    paths = sorted(p for p in folder.glob("*.csv*") if p.name.endswith((".csv", ".csv.gz")))
    if not paths:
        raise FileNotFoundError(f"expected .csv or .csv.gz files in {folder}; found none")
    return paths


def table_name(path: Path) -> str:
    """Return the file name without its endings."""
    return path.name.partition(".")[0]


def read_table(path: Path) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """Read the features, and the labels as numbers in alphabetical order."""
    open_text = gzip.open if path.suffix == ".gz" else open
    with open_text(path, "rt", encoding="utf-8") as file:
        n_features = file.readline().count(",")
        rows = [line.rstrip().rsplit(",", 1) for line in file]
    X = np.fromstring(",".join(row[0] for row in rows), sep=",").reshape(-1, n_features)
    return X, np.unique([row[1] for row in rows], return_inverse=True)[1]
