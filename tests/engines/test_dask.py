"""Dask: grid or tree, clusters and labels are bit-identical to those of one process."""

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
from tests.engines.dask_points import FRAME, X, assert_same, assert_same_fit

import meanshiftpp
from meanshiftpp._support.checks import thread_count
from meanshiftpp.core.recipe import Recipe
from meanshiftpp.core.tree import significant, tally
from meanshiftpp.core.tree.significant import Significant
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


@pytest.mark.parametrize("bandwidth", [None, 1.0])
def test_bad_values_raise_with_their_place(bandwidth):
    points = X.copy()
    points[1500, 1] = np.nan
    with pytest.raises(
        InvalidInputError, match=r"X.blocks\[2\], row 101, column 2 is NaN"
    ) as caught:
        MeanShiftPP(bandwidth).fit(da.from_array(points, chunks=(700, 3)))
    assert (caught.value.row, caught.value.column) == (100, 1)
    with pytest.raises(InvalidInputError, match="at least one row"):
        MeanShiftPP(bandwidth).fit(da.from_array(points[:0]))
    model = MeanShiftPP(bandwidth).fit(da.from_array(X, chunks=(700, 3)))
    labels = model.predict(da.from_array(points, chunks=(700, 3)))
    with pytest.raises(InvalidInputError, match=r"X.blocks\[2\], row 101, column 2 is NaN"):
        labels.compute()
    for weight, problem in [(-1.0, "must be finite and not negative"), (0, "at least one row")]:
        weights = da.full(len(X), weight, chunks=700)
        with pytest.raises(InvalidInputError, match=problem):
            MeanShiftPP(bandwidth).fit(da.from_array(X, chunks=(700, 3)), sample_weight=weights)


# -- significant clusters -------------------------------------------------------------------------

SETS = {
    "blobs": X,
    "float64": X.astype(np.float64) * 7 - 3,
    "units": X * np.float32([1, 1000, 0.01]),
    "rounded": np.round(X, 1),
    "whole": np.round(X * 3).astype(np.int32),
    "clipped": np.clip(X, -1, 9),
    "outliers": np.concatenate([X, np.float32([[1e6, 0, 0], [0, -1e6, 5]])]),
    "rounded outliers": np.round(np.concatenate([X, X[:60] * np.logspace(1, 6, 60)[:, None]]), 1),
    "repeated": X[rng.integers(0, 1000, len(X))],
    "constant column": np.c_[X[:, 0], np.ones(len(X))],
    "1 feature": X[:, :1],
    "6 features": np.c_[X, X[::-1]],
    "one row": X[:1],
    "two rows": X[:2],
    "equal rows": np.ones((40, 3)),
    "zeros": np.zeros((3, 1)),
}
BLOCKS = [(1,), (5000, 0), (0, 700, 0, 1, 2000, 2299)]  # rows; the last block has the rest
TREE_OPTIONS = [
    {},
    {"strictness": 0.4},
    {"periodic": 12.5, "min_cluster_size": 300},
    {"cluster_all": False},
    {"cluster_all": False, "periodic": 11.0},
]


def blocks_of(n, sizes):
    """Return sizes of blocks that sum to n."""
    ends = np.minimum(np.cumsum([0, *sizes]), n)
    return (*np.diff(ends).tolist(), int(n - ends[-1]))


@pytest.mark.parametrize("options", TREE_OPTIONS, ids=str)
@pytest.mark.parametrize("name", SETS)
def test_without_a_bandwidth_the_tree_is_that_of_one_process(name, options):
    points = SETS[name]
    weight = np.random.default_rng(2).integers(0, 3, len(points))
    weight[0] = 1
    with dask.config.set(scheduler="sync"):
        for sizes, weights in zip(BLOCKS, (None, weight, weight), strict=True):
            rows = blocks_of(len(points), sizes)
            lazy = da.from_array(points, chunks=(rows, 1))
            lazy_weight = None if weights is None else da.from_array(weights, chunks=(rows,))
            model = MeanShiftPP(**options).fit(lazy, sample_weight=lazy_weight)
            assert_same(model, points, weights, **options)


@settings(max_examples=25)
@given(cuts=st.lists(st.integers(0, 500), max_size=12), shuffled=st.booleans())
def test_chunking_does_not_change_the_tree(cuts, shuffled):
    points = X[::10]
    order = np.random.default_rng(len(cuts)).permutation(len(points))
    rows = tuple(int(n) for n in np.diff([0, *sorted(cuts), len(points)]))  # some of them 0
    one = meanshiftpp.MeanShiftPP().fit(points)
    with dask.config.set(scheduler="sync"):
        lazy = da.from_array(points[order] if shuffled else points, chunks=(rows, 3))
        model = MeanShiftPP().fit(lazy)
        np.testing.assert_array_equal(model.cluster_centers_, one.cluster_centers_)
        labels = model.labels_.compute()
    np.testing.assert_array_equal(labels, one.labels_[order] if shuffled else one.labels_)


@pytest.mark.parametrize("cells", [1 << 22, 900])
@pytest.mark.parametrize("name", ["blobs", "units", "rounded", "outliers", "6 features"])
def test_more_rows_than_a_tally_keeps_give_the_clusters_of_one_process(monkeypatch, name, cells):
    monkeypatch.setattr(tally, "MAX_ROWS", 2000)
    monkeypatch.setattr(significant, "MAX_ROWS", 2000)
    monkeypatch.setattr(significant, "_BLOCK", 1500)
    monkeypatch.setattr(tally, "MAX_CELLS", cells)
    points = SETS[name]
    points = points[np.argsort(np.abs(points[:, 0]))]  # the range grows
    reads = []
    monkeypatch.setattr(significant.Significant, "empty", counted(significant.Significant, reads))
    with dask.config.set(scheduler="sync"):
        model = MeanShiftPP().fit(da.from_array(points, chunks=(700, 2)))
        assert None in reads
        assert len(set(reads)) == (1 if cells > 900 else 2)
        assert_same(model, points)


def counted(recipe, reads):
    empty = recipe.empty

    def counting(self):
        reads.append(self.levels)
        return empty(self)

    return counting


def test_data_frame_without_a_bandwidth():
    lazy = dd.from_pandas(FRAME, npartitions=4)
    weight = pd.Series(np.arange(len(FRAME)) % 3)
    assert_same(MeanShiftPP().fit(lazy))
    model = MeanShiftPP().fit(lazy, sample_weight=dd.from_pandas(weight, npartitions=4))
    assert_same(model, FRAME, weight)


def test_real_weights_give_the_clusters_of_one_process():
    weight = rng.random(len(X)) * np.where(np.arange(len(X)) < 700, 1, 100)
    weight[:700] = np.round(weight[:700] * 3)  # the first block has whole weights
    lazy = da.from_array(X, chunks=(700, 3))
    model = MeanShiftPP().fit(lazy, sample_weight=da.from_array(weight, chunks=700))
    assert_same(model, X, weight)


CUTS = [{"n_clusters": 1}, {"n_clusters": 3}, {"persistence": 0.9}, {"min_cluster_size": 2500}]


@pytest.mark.parametrize("cut", CUTS, ids=str)
def test_cut_is_a_lazy_model_and_that_of_one_process(cut):
    lazy = da.from_array(X, chunks=(700, 2))
    model = MeanShiftPP(strictness=0.6).fit(lazy)
    before = model.labels_
    one = meanshiftpp.MeanShiftPP(strictness=0.6).fit(X).cut(**cut)
    coarse = model.cut(**cut)
    assert type(coarse) is MeanShiftPP
    assert isinstance(coarse.labels_, da.Array)
    assert coarse.labels_.chunks == (lazy.chunks[0],)
    assert_same_fit(coarse, one)
    np.testing.assert_array_equal(coarse.predict(lazy).compute(), one.labels_)
    assert coarse.explain() == one.explain()
    assert model.labels_ is before
    assert_same(model, strictness=0.6)


def test_methods_of_the_tree_are_those_of_one_process():
    model = MeanShiftPP(cluster_all=False).fit(da.from_array(X, chunks=(700, 2)))
    one = meanshiftpp.MeanShiftPP(cluster_all=False).fit(X)
    assert model.explain(1) == one.explain(1)
    assert model.condensed_tree_.nodes == one.condensed_tree_.nodes
    np.testing.assert_array_equal(model.cluster_persistence_, one.cluster_persistence_)
    for name in ("probabilities_", "outlier_scores_"):
        lazy = getattr(model, name)
        assert isinstance(lazy, da.Array)
        np.testing.assert_array_equal(lazy.compute(), getattr(one, name))
    with pytest.raises(InvalidInputError, match="needs significant clusters"):
        MeanShiftPP(1.0).fit(da.from_array(X, chunks=1000)).cut(n_clusters=2)
    with pytest.raises(InvalidInputError, match="and only one"):
        model.cut()


def test_stored_model_can_be_cut_and_has_no_values_of_points():
    lazy = da.from_array(X, chunks=1000)
    model = MeanShiftPP().fit(lazy)
    stored = pickle.loads(pickle.dumps(model))
    coarse = stored.cut(n_clusters=1)
    assert not hasattr(coarse, "labels_")
    expected = model.cut(n_clusters=1).labels_.compute()
    np.testing.assert_array_equal(coarse.predict(lazy).compute(), expected)
    with pytest.raises(AttributeError, match="call fit"):
        _ = stored.probabilities_


@pytest.mark.parametrize("strictness", [0, -1.0, np.nan, np.inf, "high", None])
def test_bad_strictness_raises(strictness):
    with pytest.raises(ValueError, match="strictness"):
        MeanShiftPP(strictness=strictness).fit(da.from_array(X, chunks=1000))


def test_another_fit_replaces_the_attributes_of_the_first():
    lazy = da.from_array(X, chunks=1000)
    model = MeanShiftPP().fit(lazy)
    assert not hasattr(model, "grid_")
    model.set_params(bandwidth=1.0).fit(lazy)
    assert not hasattr(model, "tree_")
    assert_same(model, bandwidth=1.0)


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
        assert_same_fit(model, one)
        if bandwidth is not None:
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


@pytest.mark.parametrize("bandwidth", [None, 1.0])
def test_labels_and_predictions_are_lazy(bandwidth):
    computed = []

    def block(rows, block_id=None):
        computed.append(block_id)
        return rows

    lazy = da.from_array(X, chunks=(1000, 3)).map_blocks(block, dtype=X.dtype, meta=X[:0])
    model = MeanShiftPP(bandwidth, min_cluster_size=30).fit(lazy)
    assert len(computed) == 5  # each block once
    computed.clear()
    labels = model.predict(lazy)
    assert labels.chunks == model.labels_.chunks == (lazy.chunks[0],)
    assert labels.dtype == model.labels_.dtype == np.int32
    assert not computed
    one = meanshiftpp.MeanShiftPP(bandwidth, min_cluster_size=30).fit(X)
    np.testing.assert_array_equal(labels.compute(), one.predict(X))
    np.testing.assert_array_equal(model.predict(X), one.predict(X))  # data in memory is not lazy


def test_methods_for_points_in_memory_compute_no_collection():
    lazy = da.from_array(X, chunks=1000)
    model = MeanShiftPP(bandwidth=1.0).fit(lazy)
    for method in (model.score, model.describe, model.membership_vector):
        with pytest.raises(InvalidInputError, match=r"points in memory.*pass X.compute\(\)"):
            method(lazy)
    assert model.membership_vector(X[:5]).shape == (5, len(model.cluster_weights_))


@pytest.mark.parametrize("bandwidth", [None, 1.0])
def test_pickled_model_predicts_and_has_no_labels(bandwidth):
    model = MeanShiftPP(bandwidth).fit(da.from_array(X, chunks=1000))
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
    options = {"n_jobs": None, "source": ("blocks", ()), "block_id": (0, 0)}
    model, tree = (MeanShiftPP(h).fit(da.from_array(X, chunks=1000)) for h in (1.0, None))
    recipes = Recipe(1.0).checked(3), Significant().checked(3)
    totals = [tasks.bin_block(X, recipe=recipe, **options) for recipe in recipes]
    calls = [
        *(partial(tasks.bin_block, X, recipe=recipe, **options) for recipe in recipes),
        *(partial(tasks.added, [total, total]) for total in totals),
        *(
            partial(tasks.label_block, X, label=each._modes.label, **options)
            for each in (model, tree)
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
