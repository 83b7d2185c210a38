"""Parquet files that Dask's tasks read themselves, and frames that are left to Dask."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from tests.engines.dask_points import assert_same_fit

from meanshiftpp import Grid, MeanShiftPP
from meanshiftpp.errors import InvalidInputError

dask = pytest.importorskip("dask")
dd = pytest.importorskip("dask.dataframe")
pytest.importorskip("pyarrow")
from meanshiftpp.dask import MeanShiftPP as DaskMeanShiftPP  # noqa: E402
from meanshiftpp.engines.dask import estimator  # noqa: E402
from meanshiftpp.engines.dask.files import find_scan  # noqa: E402


@pytest.fixture(autouse=True)
def _in_this_thread():
    with dask.config.set(scheduler="sync"):
        yield


def table(seed: int, kind: str = "float32", n: int = 500) -> pd.DataFrame:
    points = np.random.default_rng(seed).normal([0, 5, 9], 2, (n, 3)) * 100
    return pd.DataFrame(points.astype(kind), columns=["x", "y", "z"])


def write(folder, *tables: pd.DataFrame):
    for number, each in enumerate(tables):
        each.to_parquet(folder / f"{number}.parquet", row_group_size=200)
    return folder


@pytest.mark.parametrize("kind", ["float32", "float64", "int32", "int64", "uint32"])
@pytest.mark.parametrize("options", [{}, {"split_row_groups": True}], ids=["files", "row groups"])
@pytest.mark.parametrize("bandwidth", [None, 50.0])
def test_fit_of_files_is_that_of_one_process(tmp_path, monkeypatch, kind, options, bandwidth):
    tables = [table(seed, kind).abs() for seed in range(3)]
    frame = dd.read_parquet(write(tmp_path, *tables), **options)
    scan = find_scan(frame)
    assert scan is not None
    assert len(scan.tasks) == frame.npartitions
    monkeypatch.setattr(estimator.tasks, "bin_block", None)  # Dask's own blocks are not binned
    model = DaskMeanShiftPP(bandwidth).fit(frame)
    points = np.concatenate([each.to_numpy() for each in tables])
    assert_same_fit(model, MeanShiftPP(bandwidth).fit(points))


def test_only_the_columns_of_the_frame_are_read(tmp_path):
    frame = dd.read_parquet(write(tmp_path, table(0)))[["x", "y"]]
    assert find_scan(frame) is not None
    grid = DaskMeanShiftPP(bandwidth=50.0).fit(frame).grid_
    assert grid == Grid.from_points(table(0)[["x", "y"]].to_numpy(), 50.0)


@pytest.mark.parametrize(
    "change",
    [
        lambda frame: frame[frame.x > 0],
        lambda frame: frame + 1,
        lambda frame: frame.partitions[1],
        lambda frame: frame.astype("float64"),
        lambda frame: frame.rename(columns={"x": "y", "y": "x"}),
        lambda frame: frame.assign(x=frame.y),
        lambda frame: frame.head(3, compute=False),
        lambda frame: frame.dropna(),
        lambda frame: dd.concat([frame, frame]),
        lambda frame: frame.repartition(npartitions=1),
    ],
)
def test_other_frames_are_left_to_dask(tmp_path, change):
    frame = change(dd.read_parquet(write(tmp_path, table(0), table(1))))
    assert find_scan(frame) is None
    grid = DaskMeanShiftPP(bandwidth=50.0).fit(frame).grid_
    assert grid == Grid.from_points(frame.compute().to_numpy(), 50.0)


@pytest.mark.parametrize(
    "options",
    [{"filters": [("x", ">", 0)]}, {"dtype_backend": "pyarrow"}],
    ids=lambda options: next(iter(options)),
)
def test_options_of_the_reader_are_left_to_dask(tmp_path, options):
    frame = dd.read_parquet(write(tmp_path, table(0)), **options)
    assert find_scan(frame) is None


def test_columns_of_several_types_are_left_to_dask(tmp_path):
    mixed = table(0).astype({"x": "int64"})
    assert find_scan(dd.read_parquet(write(tmp_path, mixed))) is None


def test_file_of_another_type_is_left_to_dask(tmp_path):
    """Only the first file determines the types of a frame."""
    tables = table(0), table(1, "float64")
    frame = dd.read_parquet(write(tmp_path, *tables))
    assert find_scan(frame) is not None
    grid = DaskMeanShiftPP(bandwidth=50.0).fit(frame).grid_
    assert grid == Grid.from_points(frame.compute().to_numpy(), 50.0)


@pytest.mark.parametrize("bandwidth", [None, 50.0])
def test_error_states_the_place_in_the_frame(tmp_path, bandwidth):
    bad = table(1)
    bad.loc[7, "y"] = np.nan
    frame = dd.read_parquet(write(tmp_path, table(0), bad))
    assert find_scan(frame) is not None
    with pytest.raises(InvalidInputError, match=r"X.partitions\[1\], row 8, column 'y' is NaN"):
        DaskMeanShiftPP(bandwidth).fit(frame)


def test_defect_of_a_task_is_not_hidden_by_a_second_read(tmp_path, monkeypatch):
    def broken(*_, **__):
        raise RuntimeError("a defect")

    frame = dd.read_parquet(write(tmp_path, table(0)))
    monkeypatch.setattr(estimator.tasks, "bin_parts", broken)
    with pytest.raises(RuntimeError, match="a defect"):
        DaskMeanShiftPP(bandwidth=50.0).fit(frame)
