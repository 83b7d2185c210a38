"""Tables of very many columns: the time to open one is in proportion to them."""

from time import perf_counter

import numpy as np
import pyarrow as pa
import pytest
from tests.io.table_files import write

from meanshiftpp.io.tables.column_kinds import kinds_of_columns, leave_out
from meanshiftpp.stream import open_points, write_labels

COLUMNS, SECONDS = 4000, 15  # half a second here; it was 40 when each column looked at all others


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".arrow", ".npy"])
def test_wide_tables(tmp_path, suffix):
    values = np.arange(3.0)[:, None] * np.arange(COLUMNS) % 7
    names, path = [f"c{j}" for j in range(COLUMNS)], tmp_path / f"wide{suffix}"
    if suffix == ".npy":
        np.save(path, values)
    else:
        write(path, pa.table(dict(zip(names, values.T))))
    start = perf_counter()
    source = open_points(path)
    assert source.read().shape == values.shape
    if suffix != ".npy":
        assert leave_out(source.columns, kinds_of_columns(source))
        assert source.left_out == {}
    write_labels(tmp_path / "out.npy", source, np.zeros(3, np.int32))
    assert perf_counter() - start < SECONDS


def test_many_columns_of_text(tmp_path):
    columns = {f"t{j}": ["a", "b"] for j in range(1000)} | {"x": [1.5, 2.5]}
    write(tmp_path / "a.csv", pa.table(columns))
    start = perf_counter()
    source = open_points(tmp_path / "a.csv")
    assert len(source.left_out) == 1000
    assert source.left_out["t0"] == "'a' in row 1"
    assert perf_counter() - start < SECONDS
