"""Dask on a cluster of two processes: the results and errors of one process."""

import os
import signal

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from tests.engines.dask_points import FRAME, X, assert_same

from meanshiftpp.engines.dask.estimator import MeanShiftPP
from meanshiftpp.errors import InvalidInputError


@pytest.fixture(scope="module")
def client():
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def drawn_on_workers(n_blocks=8):
    """Return blocks that the workers draw, and the same points in one array."""

    def draw(block_id):
        draws = np.random.default_rng(block_id[0])
        return draws.normal(block_id[0] % 3 * 8, 1, (500, 2))

    chunks = ((500,) * n_blocks, (2,))
    lazy = da.map_blocks(draw, chunks=chunks, dtype=float, meta=np.empty((0, 2)))
    return lazy, np.concatenate([draw((i, 0)) for i in range(n_blocks)])


def test_two_processes_give_the_result_of_one(client):
    assert len(client.scheduler_info()["workers"]) == 2
    lazy, points = drawn_on_workers()
    assert_same(MeanShiftPP(bandwidth=0.7).fit(lazy), points, bandwidth=0.7)


def test_files_are_read_by_the_workers(client, tmp_path):
    for start in range(0, len(FRAME), 1700):
        FRAME[start : start + 1700].to_parquet(tmp_path / f"{start:05}.parquet")
    model = MeanShiftPP(bandwidth=1.0).fit(dd.read_parquet(tmp_path))
    assert_same(model, bandwidth=1.0)


def test_error_of_a_task_keeps_its_class_and_attributes(client):
    points = X.copy()
    points[2500, 1] = np.inf
    place = r"^X.blocks\[2\], row 501, column 2 is inf"
    with pytest.raises(InvalidInputError, match=place) as caught:
        MeanShiftPP(bandwidth=1.0).fit(da.from_array(points, chunks=1000))
    assert type(caught.value) is InvalidInputError
    assert (caught.value.row, caught.value.column) == (500, 1)
    assert caught.value.problem.endswith("every coordinate must be a finite number")


def test_error_of_a_labelling_task_keeps_its_class_and_attributes(client):
    points = X.copy()
    points[2500, 1] = np.nan
    model = MeanShiftPP(bandwidth=1.0).fit(da.from_array(X, chunks=1000))
    labels = model.predict(da.from_array(points, chunks=1000))
    with pytest.raises(InvalidInputError, match=r"^X.blocks\[2\], row 501, column 2 is") as caught:
        labels.compute()
    assert (caught.value.row, caught.value.column) == (500, 1)
    frame = pd.DataFrame(points, columns=["x", "y", "z"])
    model = MeanShiftPP(bandwidth=1.0).fit(dd.from_pandas(FRAME, npartitions=1))
    labels = model.predict(dd.from_pandas(frame, npartitions=1))
    with pytest.raises(InvalidInputError, match=r"^X.partitions\[0\], row 2501, column 'y' is NaN"):
        labels.compute()


@pytest.mark.parametrize(
    "options",
    [
        {"bandwidth": 0.7, "resolution": 2, "periodic": [21.0, None]},
        {"strictness": 0.5, "cluster_all": False},
        {},
    ],
    ids=str,
)
def test_options_on_a_cluster(client, options):
    lazy, points = drawn_on_workers()
    assert_same(MeanShiftPP(**options).fit(lazy), points, **options)


def test_killed_worker_does_not_change_the_result(client, tmp_path):
    """One block kills the process that computes it, once.

    Some releases of distributed start no other process in its place, so none is awaited.
    """
    died = tmp_path / "died"

    def deadly(rows, block_id=None, died=died):
        if block_id[0] == 6:
            try:
                died.touch(exist_ok=False)
            except FileExistsError:
                return rows
            died.write_text(str(os.getpid()))
            os.kill(os.getpid(), signal.SIGKILL)
        return rows

    before = set(client.run(os.getpid).values())
    lazy, points = drawn_on_workers()
    lazy = lazy.map_blocks(deadly, dtype=float, meta=np.empty((0, 2)))
    assert_same(MeanShiftPP(bandwidth=0.7).fit(lazy), points, bandwidth=0.7)
    assert int(died.read_text()) in before
