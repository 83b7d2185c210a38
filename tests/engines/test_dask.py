"""Dask: the grid and the labels of one process, bit for bit, wherever the blocks were binned."""

import importlib
import os
import pickle
import signal
import sys

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning

import meanshiftpp
from meanshiftpp._support.checks import thread_count
from meanshiftpp.bandwidth.spread import SAMPLE_SIZE
from meanshiftpp.engines.dask import MeanShiftPP, _task_threads
from meanshiftpp.errors import InvalidInputError, MissingExtraError

rng = np.random.default_rng(7)
X = np.concatenate([rng.normal(0, 1, (3000, 3)), rng.normal(9, 1, (2000, 3))]).astype(np.float32)
FRAME = pd.DataFrame(X, columns=["x", "y", "z"])


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


def assert_same(model, points=X, weight=None, **parameters):
    """One process, and the model: the same grid, modes and labels."""
    one = meanshiftpp.MeanShiftPP(**parameters).fit(points, sample_weight=weight)
    assert model.grid_ == one.grid_
    assert model.n_iter_ == one.n_iter_
    np.testing.assert_array_equal(model.cluster_centers_, one.cluster_centers_)
    np.testing.assert_array_equal(model.cluster_weights_, one.cluster_weights_)
    np.testing.assert_array_equal(model.labels_.compute(), one.labels_)


# Without a client, on threads


@settings(max_examples=25, deadline=None)
@given(
    cuts=st.lists(st.integers(0, 500), max_size=12),
    columns=st.sampled_from([(3,), (1, 2), (1, 1, 1)]),
    h=st.sampled_from([0.3, 1.0, 4.0]),
)
def test_no_chunking_shows_in_the_result(cuts, columns, h):
    points = X[::10]
    rows = tuple(int(n) for n in np.diff([0, *sorted(cuts), len(points)]))  # some of them 0
    lazy = da.from_array(points, chunks=(rows, columns))
    with dask.config.set(scheduler="sync"):
        model = MeanShiftPP(bandwidth=h).fit(lazy)
        assert model.labels_.chunks == (rows,)
        assert_same(model, points, bandwidth=h)


def test_a_data_frame_is_the_array_of_its_columns():
    lazy = dd.from_pandas(FRAME, npartitions=4)
    model = MeanShiftPP(bandwidth=1.0).fit(lazy)
    assert_same(model, bandwidth=1.0)
    assert model.feature_names_in_.tolist() == ["x", "y", "z"]
    labelled = lazy.assign(label=model.labels_).compute()
    np.testing.assert_array_equal(labelled["label"], model.labels_.compute())


def test_partitions_of_small_files_can_be_kept(tmp_path):
    """Where some columns are taken, Dask joins small files, unless a step in between is opaque."""
    for number in range(6):
        part = FRAME[number * 500 :][:2000].reset_index(drop=True)
        names = [f"row {k}" for k in range(len(part))]
        part = part.assign(name=names, more=part.x, weight=range(1, len(part) + 1))
        part.to_parquet(tmp_path / f"{number}.parquet")
    lazy = dd.read_parquet(tmp_path).map_partitions(lambda part: part)
    points, weight = lazy[["x", "y", "z"]], lazy["weight"]
    model = MeanShiftPP(bandwidth=1.0).fit(points, sample_weight=weight)
    assert_same(model, points.compute(), weight.compute(), bandwidth=1.0)
    labels = model.labels_.compute()
    labelled = lazy.assign(label=model.labels_)
    assert labelled.npartitions == 6
    np.testing.assert_array_equal(labelled.compute()["label"], labels)
    np.testing.assert_array_equal(labelled["label"].compute(), labels)
    np.testing.assert_array_equal(labelled[["x", "label"]].compute()["label"], labels)


def test_columns_of_several_types_and_missing_values():
    frame = pd.DataFrame({"a": [1, 2, 30], "b": pd.array([1, None, 3], dtype="Int64")})
    model = MeanShiftPP(bandwidth=5.0)
    with pytest.raises(InvalidInputError, match=r"X.partitions\[0\], row 2, column 'b' is NaN"):
        model.fit(dd.from_pandas(frame, npartitions=1))
    model.fit(dd.from_pandas(frame.dropna(), npartitions=1))
    assert_same(model, np.array([[1, 1], [30, 3]]), bandwidth=5.0)


def test_a_series_is_no_frame():
    with pytest.raises(InvalidInputError, match=r"2 dimensions, got Series; select one column"):
        MeanShiftPP(bandwidth=1.0).fit(dd.from_pandas(FRAME, npartitions=2)["x"])


@pytest.mark.parametrize("times", [1, 4])
def test_without_a_bandwidth_it_is_that_of_one_process(times):
    points = np.concatenate([X + k / 7 for k in range(times)])
    points[5] = 1e6  # no absurd value decides
    assert (len(points) > SAMPLE_SIZE) == (times > 1)
    frame = pd.DataFrame(points, columns=["x", "y", "z"])
    for lazy in (da.from_array(points, chunks=(700, 2)), dd.from_pandas(frame, npartitions=3)):
        assert_same(MeanShiftPP().fit(lazy), points)


def test_without_a_bandwidth_weights_count_as_in_one_process():
    points = np.concatenate([X + k / 7 for k in range(6)])
    weight = rng.integers(0, 3, len(points))
    points[weight == 0] = 1e9  # which has no say
    lazy = da.from_array(points, chunks=(1100, 3)), da.from_array(weight, chunks=1100)
    model = MeanShiftPP().fit(lazy[0], sample_weight=lazy[1])
    one = meanshiftpp.MeanShiftPP().fit(points, sample_weight=weight)
    assert model.grid_ == one.grid_
    np.testing.assert_array_equal(model.bandwidth_, one.bandwidth_)


def test_without_a_bandwidth_bad_values_are_still_named():
    points = X.copy()
    points[1500, 1] = np.nan
    with pytest.raises(InvalidInputError, match=r"X.blocks\[2\], row 101, column 2 is NaN"):
        MeanShiftPP().fit(da.from_array(points, chunks=(700, 3)))
    with pytest.raises(InvalidInputError, match="at least one row"):
        MeanShiftPP().fit(da.from_array(points[:0]))


def test_resolution_and_periods():
    settings = {"bandwidth": 1.0, "resolution": 2, "periodic": (40.0, None, None)}
    model = MeanShiftPP(**settings).fit(da.from_array(X, chunks=(700, 3)))
    assert_same(model, **settings)


@pytest.mark.parametrize("cluster_all", [True, False])
def test_whole_weights_are_exact(cluster_all):
    weight = rng.integers(0, 4, len(X))
    weight[0] = 0
    points = X.copy()
    points[0] = 500  # no weight, and far from everything
    settings = {"bandwidth": 1.0, "min_cluster_size": 30, "cluster_all": cluster_all}
    model = MeanShiftPP(**settings)
    model.fit(da.from_array(points, chunks=(900, 3)), sample_weight=da.from_array(weight, 333))
    assert_same(model, points, weight, **settings)
    frame = dd.from_pandas(pd.DataFrame(points), npartitions=3)
    model.fit(frame, sample_weight=dd.from_pandas(pd.Series(weight), npartitions=3))
    assert_same(model, points, weight, **settings)


def test_labels_and_predictions_are_lazy():
    asked = []

    def block(rows, block_id=None):
        asked.append(block_id)
        return rows

    lazy = da.from_array(X, chunks=(1000, 3)).map_blocks(block, dtype=X.dtype, meta=X[:0])
    model = MeanShiftPP(bandwidth=1.0, min_cluster_size=30).fit(lazy)
    assert len(asked) == 5  # once each
    asked.clear()
    labels = model.predict(lazy)
    assert labels.chunks == model.labels_.chunks == (lazy.chunks[0],)
    assert labels.dtype == model.labels_.dtype == np.int32
    assert not asked
    one = meanshiftpp.MeanShiftPP(bandwidth=1.0, min_cluster_size=30).fit(X)
    np.testing.assert_array_equal(labels.compute(), one.predict(X))
    np.testing.assert_array_equal(model.predict(X), one.predict(X))  # in memory: at once


def test_a_pickled_model_predicts():
    model = MeanShiftPP(bandwidth=1.0).fit(da.from_array(X, chunks=1000))
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copy.predict(X), model.labels_.compute())
    assert not hasattr(copy, "labels_")


def test_a_search_that_does_not_end_warns():
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        MeanShiftPP(bandwidth=0.5, max_iter=1).fit(da.from_array(X, chunks=1000))


def test_a_task_takes_one_thread_unless_told():
    assert [_task_threads(n) for n in (None, 1, 3)] == [1, 1, 3]
    assert _task_threads(-1) == thread_count(None)
    assert _task_threads(-1000) == 1


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (X, "dask array or data frame of 2 dimensions, got ndarray; .* meanshiftpp.MeanShiftPP"),
        (da.ones(5), "2 dimensions"),
        (da.ones((0, 3)), "at least one row"),
        (dd.from_pandas(pd.DataFrame({"x": [1.0], "name": ["a"]}), npartitions=1), "'name' holds"),
    ],
)
def test_what_cannot_be_clustered_is_refused(bad, words):
    with pytest.raises(InvalidInputError, match=words):
        MeanShiftPP(bandwidth=1.0).fit(bad)


def test_weights_must_fit_the_points():
    lazy, frame = da.from_array(X, chunks=1000), dd.from_pandas(FRAME, npartitions=2)
    for points, weight in [
        (lazy, np.ones(len(X))),
        (lazy, da.ones(len(X) - 1, chunks=1000)),
        (frame, da.ones(len(X), chunks=1000)),
        (frame, dd.from_pandas(pd.Series(np.ones(len(X))), npartitions=3)),
    ]:
        with pytest.raises(InvalidInputError, match="sample_weight"):
            MeanShiftPP(bandwidth=1.0).fit(points, sample_weight=weight)


def test_chunks_that_come_one_by_one_are_not_for_dask():
    with pytest.raises(InvalidInputError, match="concatenate"):
        MeanShiftPP(bandwidth=1.0).partial_fit(da.from_array(X))


def test_without_dask_it_says_what_to_install(monkeypatch):
    monkeypatch.delitem(sys.modules, "meanshiftpp.engines.dask")
    monkeypatch.setitem(sys.modules, "dask", None)
    with pytest.raises(MissingExtraError, match=r'pip install "meanshiftpp\[dask\]"'):
        importlib.import_module("meanshiftpp.engines.dask")


# On a cluster of two processes


def made_on_the_workers(n_blocks=8):
    """Blocks that each worker draws itself, and the same points in one array."""

    def draw(block_id):
        draws = np.random.default_rng(block_id[0])
        return draws.normal(block_id[0] % 3 * 8, 1, (500, 2))

    chunks = ((500,) * n_blocks, (2,))
    lazy = da.map_blocks(draw, chunks=chunks, dtype=float, meta=np.empty((0, 2)))
    return lazy, np.concatenate([draw((i, 0)) for i in range(n_blocks)])


def test_two_processes_give_what_one_gives(client):
    assert len(client.scheduler_info()["workers"]) == 2
    lazy, points = made_on_the_workers()
    assert_same(MeanShiftPP(bandwidth=0.7).fit(lazy), points, bandwidth=0.7)


def test_files_are_read_where_they_are_binned(client, tmp_path):
    for start in range(0, len(FRAME), 1700):
        FRAME[start : start + 1700].to_parquet(tmp_path / f"{start:05}.parquet")
    model = MeanShiftPP(bandwidth=1.0).fit(dd.read_parquet(tmp_path))
    assert_same(model, bandwidth=1.0)


def test_a_bad_value_is_named_by_block_row_and_column(client):
    points = X.copy()
    points[2500, 1] = np.inf
    with pytest.raises(InvalidInputError, match=r"X.blocks\[2\], row 501, column 2 is inf"):
        MeanShiftPP(bandwidth=1.0).fit(da.from_array(points, chunks=1000))


def test_a_worker_that_is_killed_changes_nothing(client, tmp_path):
    """The block that comes late kills the process that is to bin it, once."""
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
    lazy, points = made_on_the_workers()
    lazy = lazy.map_blocks(deadly, dtype=float, meta=np.empty((0, 2)))
    assert_same(MeanShiftPP(bandwidth=0.7).fit(lazy), points, bandwidth=0.7)
    assert int(died.read_text()) in before
    client.wait_for_workers(2)
    assert int(died.read_text()) not in client.run(os.getpid).values()
