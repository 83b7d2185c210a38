"""Small tables and arrays, and a way to write and read them in every format."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet

TOWNS = pa.table({"name": ["A", "B", "C"], "x": [1.5, -2.0, 3.0], "n": [4, 5, 6]})
TABLES = [".parquet", ".csv", ".arrow", ".feather"]


def write(path: Path, table: pa.Table = TOWNS, **options: int) -> Path:
    if path.suffix == ".csv":
        pa.csv.write_csv(table, path)
    elif path.suffix == ".parquet":
        pa.parquet.write_table(table, path, **options)
    else:
        pa.feather.write_feather(table, path, chunksize=options.get("row_group_size"))
    return path


def read(path: Path) -> pa.Table:
    if path.suffix == ".csv":
        return pa.csv.read_csv(path)
    return pa.parquet.read_table(path) if path.suffix == ".parquet" else pa.feather.read_table(path)


def as_table(X: np.ndarray) -> pa.Table:
    names = [f"row {i}" for i in range(len(X))]
    return pa.table({"name": names, **{f"c{j}": column for j, column in enumerate(X.T)}})


def write_array(path: Path, X: np.ndarray) -> Path:
    if path.suffix == ".zarr":
        import zarr

        array = zarr.create_array(path, shape=X.shape, chunks=(300, 2), dtype=X.dtype)
        array[:] = X
    else:
        np.save(path, X)
    return path


def zeros(points: np.ndarray) -> np.ndarray:
    return np.zeros(len(points), np.int32)
