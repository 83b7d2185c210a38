"""Dask: grid, modes and labels are bit-identical to those of one process."""

import importlib
import inspect
import pickle
import subprocess
import sys
from functools import partial

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning
from tests.engines.dask_points import FRAME, X, assert_same

import meanshiftpp
from meanshiftpp._support.checks import thread_count
from meanshiftpp.core.recipe import Recipe
from meanshiftpp.core.scale import SAMPLE_SIZE
from meanshiftpp.engines.dask import tasks
from meanshiftpp.engines.dask.estimator import MeanShiftPP
from meanshiftpp.engines.dask.tasks import task_threads
from meanshiftpp.errors import InvalidInputError, MissingExtraError

rng = np.random.default_rng(8)


# -- without a client, on threads -----------------------------------------------------------------


@settings(max_examples=25)
@given(
    cuts=st.lists(st.integers(0, 500), max_size=12),
    columns=st.sampled_from([(3,), (1, 2), (1, 1, 1)]),
    h=st.sampled_from([0.3, 1.0, 4.0]),
)
def test_chunking_does_not_change_the_result(cuts, columns, h):
    points = X[::10]
    rows = tuple(int(n) for n in np.diff([0, *sorted(cuts), len(points)]))  # some of them 0
    lazy = da.from_array(points, chunks=(rows, columns))
    with dask.config.set(scheduler="sync"):
        model = MeanShiftPP(bandwidth=h).fit(lazy)
        assert model.labels_.chunks == (rows,)
        assert_same(model, points, bandwidth=h)


def test_data_frame_equals_the_array_of_its_columns():
    lazy = dd.from_pandas(FRAME, npartitions=4)
    model = MeanShiftPP(bandwidth=1.0).fit(lazy)
    assert_same(model, bandwidth=1.0)
    assert model.feature_names_in_.tolist() == ["x", "y", "z"]
    labelled = lazy.assign(label=model.labels_).compute()
    np.testing.assert_array_equal(labelled["label"], model.labels_.compute())


def test_partitions_of_small_files_are_kept_by_an_opaque_step(tmp_path):
    """Dask joins small files if columns are selected, unless an opaque step is in between."""
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


@pytest.mark.parametrize("bandwidth", [1.0, None])
def test_weights_may_be_a_column_of_the_same_files(tmp_path, bandwidth):
    """Dask joins the small files of one column in another way than those of three."""
    weight = np.arange(len(FRAME)) % 5
    for number, rows in enumerate(np.array_split(np.arange(len(FRAME)), 12)):
        part = FRAME.iloc[rows].reset_index(drop=True)
        part = part.assign(weight=weight[rows], name=[f"row {k}" for k in rows])
        part.assign(real=part.x).to_parquet(tmp_path / f"{number:02}.parquet")
    lazy = dd.read_parquet(tmp_path)
    points = lazy[["x", "y", "z"]]
    assert points.to_dask_array().numblocks[0] != lazy["weight"].to_dask_array().numblocks[0]
    model = MeanShiftPP(bandwidth=bandwidth).fit(points, sample_weight=lazy["weight"])
    assert list(model.feature_names_in_) == ["x", "y", "z"]
    assert_same(model, FRAME.to_numpy(), weight, bandwidth=bandwidth)


def test_nullable_columns_and_missing_values():
    frame = pd.DataFrame({"a": [1, 2, 30], "b": pd.array([1, None, 3], dtype="Int64")})
    model = MeanShiftPP(bandwidth=5.0)
    with pytest.raises(InvalidInputError, match=r"X.partitions\[0\], row 2, column 'b' is NaN"):
        model.fit(dd.from_pandas(frame, npartitions=1))
    model.fit(dd.from_pandas(frame.dropna(), npartitions=1))
    assert_same(model, np.array([[1, 1], [30, 3]]), bandwidth=5.0)


def test_series_raises():
    with pytest.raises(InvalidInputError, match=r"2 dimensions, got Series; select one column"):
        MeanShiftPP(bandwidth=1.0).fit(dd.from_pandas(FRAME, npartitions=2)["x"])


@pytest.mark.parametrize("times", [1, 4])
def test_automatic_bandwidth_is_that_of_one_process(times):
    points = np.concatenate([X + k / 7 for k in range(times)])
    points[5] = 1e6  # an outlier, which must not change the choice
    assert (len(points) > SAMPLE_SIZE) == (times > 1)
    frame = pd.DataFrame(points, columns=["x", "y", "z"])
    for lazy in (da.from_array(points, chunks=(700, 2)), dd.from_pandas(frame, npartitions=3)):
        assert_same(MeanShiftPP(join=False).fit(lazy), points, join=False)


def test_automatic_bandwidth_uses_weights_as_one_process_does():
    points = np.concatenate([X + k / 7 for k in range(6)])
    weight = rng.integers(0, 3, len(points))
    points[weight == 0] = 1e9  # points of zero weight have no influence
    lazy = da.from_array(points, chunks=(1100, 3)), da.from_array(weight, chunks=1100)
    model = MeanShiftPP(join=False).fit(lazy[0], sample_weight=lazy[1])
    one = meanshiftpp.MeanShiftPP(join=False).fit(points, sample_weight=weight)
    assert model.grid_ == one.grid_
    np.testing.assert_array_equal(model.bandwidth_, one.bandwidth_)


@pytest.mark.parametrize("join", [None, False])
def test_automatic_bandwidth_leaves_bad_values_to_binning(join):
    points = X.copy()
    points[1500, 1] = np.nan
    with pytest.raises(InvalidInputError, match=r"X.blocks\[2\], row 101, column 2 is NaN"):
        MeanShiftPP(join=join).fit(da.from_array(points, chunks=(700, 3)))
    with pytest.raises(InvalidInputError, match="at least one row"):
        MeanShiftPP(join=join).fit(da.from_array(points[:0]))


# -- joined clusters ------------------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
def test_without_a_bandwidth_clusters_are_significant_as_in_one_process(weighted):
    weight = rng.integers(0, 3, len(X)) if weighted else None
    lazy = da.from_array(X, chunks=(700, 2))
    lazy_weight = da.from_array(weight, chunks=700) if weighted else None
    model = MeanShiftPP().fit(lazy, sample_weight=lazy_weight)
    assert len(model.cluster_weights_) == 2
    assert_same(model, X, weight)


def test_one_blob_is_one_cluster_unless_modes_are_not_joined():
    lazy = da.from_array(X[:3000], chunks=(700, 3))
    assert len(MeanShiftPP().fit(lazy).cluster_weights_) == 1
    assert len(MeanShiftPP(join=False).fit(lazy).cluster_weights_) > 1


def test_many_rows_give_nearly_the_clusters_of_one_process():
    draws = np.random.default_rng(3)
    points = draws.normal(size=(25_000, 3)) + 9 * draws.integers(0, 2, (25_000, 1))
    assert len(points) > SAMPLE_SIZE
    model = MeanShiftPP().fit(da.from_array(points, chunks=(1700, 3)))
    one = meanshiftpp.MeanShiftPP().fit(points)
    assert len(model.cluster_weights_) == len(one.cluster_weights_) == 2
    assert (model.labels_.compute() == one.labels_).mean() > 0.999


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"strictness": 0.4},
        {"cluster_all": False, "min_cluster_size": 30},
        {"resolution": 2, "periodic": (40.0, None, None)},
    ],
    ids=str,
)
def test_with_a_bandwidth_the_tree_of_the_grid_is_that_of_one_process(options):
    options = {"bandwidth": 0.6, "join": True, **options}
    model = MeanShiftPP(**options).fit(da.from_array(X, chunks=(700, 2)))
    assert_same(model, **options)


@pytest.mark.parametrize("cut", [{"n_clusters": 2}, {"n_clusters": 9}, {"persistence": 0.9}])
def test_cut_is_lazy_and_that_of_one_process(cut):
    model = MeanShiftPP(0.6, join=True).fit(da.from_array(X, chunks=(700, 2)))
    labels = model.cut(**cut)
    assert isinstance(labels, da.Array)
    one = meanshiftpp.MeanShiftPP(0.6, join=True).fit(X)
    np.testing.assert_array_equal(labels.compute(), one.cut(**cut))


def test_stored_model_has_no_points_to_cut():
    model = MeanShiftPP(0.6, join=True).fit(da.from_array(X, chunks=1000))
    with pytest.raises(AttributeError, match="call fit"):
        pickle.loads(pickle.dumps(model)).cut(n_clusters=2)


@pytest.mark.parametrize(
    "points",
    [X[:1], X[:2], np.ones((40, 3)), np.zeros((3, 1)), np.c_[X[:, 0], np.ones(len(X))]],
    ids=["one row", "two rows", "equal", "zeros", "a constant column"],
)
def test_degenerate_data_gives_the_result_of_one_process(points):
    assert_same(MeanShiftPP().fit(da.from_array(points, chunks=(700, 1))), points)


@pytest.mark.parametrize("strictness", [0, -1.0, np.nan, np.inf, "high", None])
def test_bad_strictness_raises(strictness):
    with pytest.raises(ValueError, match="strictness"):
        MeanShiftPP(strictness=strictness).fit(da.from_array(X, chunks=1000))


@pytest.mark.parametrize("bandwidth", [None, 0.6])
def test_pickled_model_of_joined_clusters_predicts_the_same(bandwidth):
    lazy = da.from_array(X, chunks=1000)
    model = MeanShiftPP(bandwidth, join=True).fit(lazy)
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copy.predict(lazy).compute(), model.labels_.compute())
    assert copy._modes.tree.splits == model._modes.tree.splits


def test_model_of_a_release_without_join_predicts_the_same():
    lazy = da.from_array(X, chunks=1000)
    model = MeanShiftPP(1.0).fit(lazy)
    state = model.__getstate__()
    old = MeanShiftPP.__new__(MeanShiftPP)
    old.__setstate__({name: state[name] for name in state if name not in ("join", "strictness")})
    np.testing.assert_array_equal(old.predict(lazy).compute(), model.labels_.compute())


OPTIONS = [
    {"resolution": 3},
    {"periodic": (11.0, None, 13)},
    {"periodic": 12.5},
    {"resolution": 2, "periodic": (40.0, None, None), "min_cluster_size": 30},
    {"resolution": 2, "periodic": (None, 12.5, 40), "cluster_all": False, "tol": 0.01},
]


@pytest.mark.parametrize("bandwidth", [1.0, [0.8, 1.1, 1.0], None], ids=str)
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_every_option_gives_the_result_of_one_process(options, bandwidth):
    new = np.random.default_rng(1).uniform(-30, 30, (500, 3))
    lazy, frame = da.from_array(X, chunks=(700, 3)), dd.from_pandas(FRAME, npartitions=4)
    one = meanshiftpp.MeanShiftPP(bandwidth, **options).fit(X)
    for points in (lazy, frame):
        model = MeanShiftPP(bandwidth, **options).fit(points)
        assert_same(model, bandwidth=bandwidth, **options)
        np.testing.assert_array_equal(model.bandwidth_, one.bandwidth_)
        np.testing.assert_array_equal(model.predict(points).compute(), one.predict(X))
    model = MeanShiftPP(bandwidth, **options).fit(lazy)
    np.testing.assert_array_equal(model.predict(da.from_array(new, 90)).compute(), one.predict(new))


def test_parameters_are_those_of_the_estimator():
    ours, theirs = (inspect.signature(c).parameters for c in (MeanShiftPP, meanshiftpp.MeanShiftPP))
    assert dict(ours) == dict(theirs)


@pytest.mark.parametrize("cluster_all", [True, False])
def test_whole_weights_are_exact(cluster_all):
    weight = rng.integers(0, 4, len(X))
    weight[0] = 0
    points = X.copy()
    points[0] = 500  # of zero weight, and far from all others
    options = {"bandwidth": 1.0, "min_cluster_size": 30, "cluster_all": cluster_all}
    model = MeanShiftPP(**options)
    model.fit(da.from_array(points, chunks=(900, 3)), sample_weight=da.from_array(weight, 333))
    assert_same(model, points, weight, **options)
    frame = dd.from_pandas(pd.DataFrame(points), npartitions=3)
    model.fit(frame, sample_weight=dd.from_pandas(pd.Series(weight), npartitions=3))
    assert_same(model, points, weight, **options)


def test_labels_and_predictions_are_lazy():
    computed = []

    def block(rows, block_id=None):
        computed.append(block_id)
        return rows

    lazy = da.from_array(X, chunks=(1000, 3)).map_blocks(block, dtype=X.dtype, meta=X[:0])
    model = MeanShiftPP(bandwidth=1.0, min_cluster_size=30).fit(lazy)
    assert len(computed) == 5  # each block once
    computed.clear()
    labels = model.predict(lazy)
    assert labels.chunks == model.labels_.chunks == (lazy.chunks[0],)
    assert labels.dtype == model.labels_.dtype == np.int32
    assert not computed
    one = meanshiftpp.MeanShiftPP(bandwidth=1.0, min_cluster_size=30).fit(X)
    np.testing.assert_array_equal(labels.compute(), one.predict(X))
    np.testing.assert_array_equal(model.predict(X), one.predict(X))  # data in memory is not lazy


def test_methods_for_points_in_memory_compute_no_collection():
    lazy = da.from_array(X, chunks=1000)
    model = MeanShiftPP(bandwidth=1.0).fit(lazy)
    for method in (model.score, model.describe, model.membership_vector):
        with pytest.raises(InvalidInputError, match=r"points in memory.*pass X.compute\(\)"):
            method(lazy)
    assert model.membership_vector(X[:5]).shape == (5, len(model.cluster_weights_))


def test_pickled_model_predicts_and_has_no_labels():
    model = MeanShiftPP(bandwidth=1.0).fit(da.from_array(X, chunks=1000))
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copy.predict(X), model.labels_.compute())
    assert not hasattr(copy, "labels_")


def test_search_that_reaches_max_iter_warns():
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        MeanShiftPP(bandwidth=0.5, max_iter=1).fit(da.from_array(X, chunks=1000))


def test_task_uses_one_thread_by_default():
    assert [task_threads(n) for n in (None, 1, 3)] == [1, 1, 3]
    assert task_threads(-1) == thread_count(None)
    assert task_threads(-1000) == 1


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (X, "dask array or data frame of 2 dimensions, got ndarray; .* meanshiftpp.MeanShiftPP"),
        (da.ones(5), "2 dimensions"),
        (da.ones((0, 3)), "at least one row"),
        (dd.from_pandas(pd.DataFrame({"x": [1.0], "name": ["a"]}), npartitions=1), "'name' holds"),
    ],
)
def test_bad_data_raises(bad, message):
    with pytest.raises(InvalidInputError, match=message):
        MeanShiftPP(bandwidth=1.0).fit(bad)


def test_weights_that_do_not_match_the_points_raise():
    lazy, frame = da.from_array(X, chunks=1000), dd.from_pandas(FRAME, npartitions=2)
    for points, weight in [
        (lazy, np.ones(len(X))),
        (lazy, da.ones(len(X) - 1, chunks=1000)),
        (frame, da.ones(len(X), chunks=1000)),
        (frame, dd.from_pandas(pd.Series(np.ones(len(X))), npartitions=3)),
    ]:
        with pytest.raises(InvalidInputError, match="sample_weight"):
            MeanShiftPP(bandwidth=1.0).fit(points, sample_weight=weight)


def test_partial_fit_raises():
    with pytest.raises(InvalidInputError, match="concatenate"):
        MeanShiftPP(bandwidth=1.0).partial_fit(da.from_array(X))


def test_missing_dask_raises_with_the_install_command(monkeypatch):
    monkeypatch.delitem(sys.modules, "meanshiftpp.engines.dask.estimator")
    monkeypatch.setitem(sys.modules, "dask", None)
    with pytest.raises(MissingExtraError, match=r'pip install "meanshiftpp\[dask\]"'):
        importlib.import_module("meanshiftpp.engines.dask.estimator")


def test_tasks_import_neither_scikit_learn_nor_pandas(tmp_path):
    """Workers import only the modules of their tasks, which takes a tenth of the time."""
    model = MeanShiftPP(bandwidth=1.0).fit(da.from_array(X, chunks=1000))
    recipe, source = Recipe(1.0), ("blocks", ())
    options = {"n_jobs": None, "source": source}
    checked = recipe.checked(3)
    starts = np.array([0, len(X)])
    calls = [
        partial(tasks.boxed, X, task=tasks.bin_block, block_id=(0, 0), recipe=checked, **options),
        partial(tasks.boxed, X, task=tasks.sample_block, block_id=(0, 0), starts=starts),
        partial(tasks.combined, tasks.add, [np.array([[model.grid_]], object)]),
        partial(
            tasks.label_block, X, modes=model._modes, recipe=recipe, block_id=(0, 0), **options
        ),
    ]
    (tmp_path / "calls").write_bytes(pickle.dumps(calls))
    code = (
        "import pickle, sys; from pathlib import Path\n"
        "for call in pickle.loads(Path('calls').read_bytes()): call()\n"
        "print(*sys.modules)"
    )
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert "meanshiftpp.engines.dask.tasks" in loaded
    assert not loaded & {"sklearn", "scipy", "joblib", "pandas", "pyarrow", "dask"}
