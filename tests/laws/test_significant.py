"""The laws of the clusters without a bandwidth, tested for equality without a tolerance.

The result depends on the values and weights of the rows only: not on their order, on chunks or on
threads. All cuts come from one nested family.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score
from tests.laws.kinds import KINDS, MIXTURES, Kind
from tests.laws.relations import SUBJECTS, Case, compare

from meanshiftpp import MeanShiftPP, _kernel
from meanshiftpp.core.chunk import Chunk
from meanshiftpp.core.tree import significant, tally
from meanshiftpp.core.tree.significant import Significant

OPTIONS: tuple[dict[str, Any], ...] = ({}, {"cluster_all": False}, {"min_cluster_size": 50})
SEVERAL = range(1, 13)
SPREAD = ("rounded", "integers", "clipped", "weights")  # equal rows are spread, some count as none
SINGLE = [name for name in KINDS if name not in SPREAD]

every_kind = pytest.mark.parametrize("name", KINDS)
every_option = pytest.mark.parametrize("options", OPTIONS, ids=str)


def fit(kind: Kind, **options: Any) -> MeanShiftPP:
    return MeanShiftPP(periodic=kind.periodic, **options).fit(kind.X, sample_weight=kind.weight)


def quiet_cut(model: MeanShiftPP, **cut: Any) -> MeanShiftPP:
    """Cut without a warning that data has fewer peaks."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return model.cut(**cut)


def is_nested(fine: np.ndarray, coarse: np.ndarray) -> bool:
    """Return whether each cluster of the fine labels lies in one of the coarse labels."""
    return len(np.unique(np.c_[fine, coarse], axis=0)) == len(np.unique(fine))


# -- rows ------------------------------------------------------------------------------------------


@every_option
@every_kind
def test_labels_are_those_of_predict_and_add_up(name: str, options: dict[str, Any]):
    kind = KINDS[name]
    model = fit(kind, **options)
    labels, weight = model.labels_, kind.weight
    assert np.array_equal(model.predict(kind.X), labels)
    inside = labels >= 0
    sums = np.bincount(labels[inside], None if weight is None else weight[inside])
    assert np.array_equal(sums, model.cluster_weights_)
    assert np.array_equal(np.sort(sums)[::-1], sums)
    if options.get("cluster_all", True):
        assert inside.all()


@pytest.mark.parametrize("relation", ["order", "threads", "chunks", "weights", "power of two"])
@every_option
@every_kind
def test_relations(name: str, options: dict[str, Any], relation: str):
    kind = KINDS[name]
    case = Case(kind.X, kind.weight, periodic=kind.periodic, options=options)
    compare(SUBJECTS["tree"], case, relation, np.random.default_rng(len(name)))


@pytest.mark.parametrize("limits", [(300, 1 << 22), (300, 250)], ids=["cells", "joined cells"])
@every_kind
def test_cells_of_many_rows_do_not_depend_on_chunks(
    name: str, limits: tuple[int, int], monkeypatch
):
    """The limits of rows and cells are lowered, so that small data is treated like large data."""
    monkeypatch.setattr(tally, "MAX_ROWS", limits[0])
    monkeypatch.setattr(significant, "MAX_ROWS", limits[0])
    monkeypatch.setattr(significant, "_BLOCK", 277)
    monkeypatch.setattr(tally, "MAX_CELLS", limits[1])
    kind = KINDS[name]
    model = fit(kind)
    recipe = Significant(kind.periodic).checked(kind.X.shape[1])
    for n_chunks, order in (
        (1, np.arange(len(kind.X))),
        (3, np.random.default_rng(3).permutation(len(kind.X))),
        (8, np.argsort(np.abs(kind.X[:, 0]))),
    ):
        chunks = [
            Chunk(kind.X[rows], None if kind.weight is None else kind.weight[rows])
            for rows in np.array_split(order, n_chunks)
        ]
        total = recipe.gather(lambda each, chunks=chunks: sum(map(each.bin, chunks), each.empty()))
        clusters = recipe.search(total)
        assert clusters.tree.splits == model.tree_.splits
        assert np.array_equal(clusters.weights, model.cluster_weights_)
        assert np.array_equal(clusters.centers, model.cluster_centers_)
        assert np.array_equal(clusters.label(kind.X), model.labels_)


# -- units and origin ------------------------------------------------------------------------------


@pytest.mark.parametrize("cells", [3, -(2**21), 2**22 + 5])
@pytest.mark.parametrize("name", [name for name in KINDS if not KINDS[name].periodic])
def test_moving_by_whole_cells_changes_nothing(name: str, cells: int):
    kind = KINDS[name]
    X = np.ldexp(np.rint(np.ldexp(kind.X.astype(np.float64), 30)), -30)  # so that sums are exact
    levels = [m.level for m in _kernel.marginals(X, None, np.zeros(X.shape[1]), 1)]
    moved = X + cells * 2.0 ** np.maximum(levels, -20)
    model, other = fit(kind._replace(X=X)), fit(kind._replace(X=moved))
    assert np.array_equal(other.labels_, model.labels_)
    assert [s.depth for s in other.tree_.splits] == [s.depth for s in model.tree_.splits]


@pytest.mark.parametrize("factor", [3.0, 0.37, 1e5])
@pytest.mark.parametrize("name", MIXTURES)
def test_other_units_change_rows_at_borders_only(name: str, factor: float):
    kind = KINDS[name]
    found = fit(kind.scaled(factor))
    assert adjusted_rand_score(fit(kind).labels_, found.labels_) >= 0.98


@pytest.mark.parametrize("name", MIXTURES)
def test_origin_changes_rows_at_borders_only(name: str):
    kind = KINDS[name]
    moved = fit(kind._replace(X=kind.X + np.pi))
    assert adjusted_rand_score(fit(kind).labels_, moved.labels_) >= 0.98


# -- columns ---------------------------------------------------------------------------------------


def check_columns(kind: Kind, **options: Any) -> None:
    """Check that other orders of the columns return the same partition, from the same valleys."""
    model, d = fit(kind, **options), kind.X.shape[1]
    for order in (range(d)[::-1], np.roll(range(d), 1)):
        periodic = kind.periodic and tuple(kind.periodic[j] for j in order)
        other = fit(kind._replace(X=kind.X[:, order], periodic=periodic), **options)
        assert is_nested(model.labels_, other.labels_)
        assert is_nested(other.labels_, model.labels_)
        assert [s.score for s in other.tree_.splits] == [s.score for s in model.tree_.splits]


@every_option
@pytest.mark.parametrize("name", SINGLE)
def test_columns_change_nothing_if_leaves_are_single_rows(name: str, options: dict[str, Any]):
    check_columns(KINDS[name], **options)


@pytest.mark.parametrize("seed", [36, 193, 278, *range(12)])
def test_columns_of_overlapping_clusters_change_nothing(seed: int):
    """The first three had another number of clusters when boxes of leaves followed the columns."""
    rng = np.random.default_rng(seed)
    d, n, k = (int(rng.integers(*limits)) for limits in ((2, 5), (60, 600), (1, 6)))
    centers = rng.normal(0, 4, (k, d))
    X = centers[rng.integers(k, size=n)] + rng.normal(size=(n, d)) * rng.uniform(0.3, 1.5, d)
    check_columns(Kind(X))


def test_columns_with_equal_values_change_nothing():
    """Features of the same width are told apart by their values."""
    values = np.arange(600.0) ** 1.5
    X = np.random.default_rng(0).permuted([values, values.max() - values], axis=1).T
    check_columns(Kind(X))


# -- cuts ------------------------------------------------------------------------------------------


@every_kind
def test_cuts_are_nested(name: str):
    kind = KINDS[name]
    model = fit(kind)
    cuts = [quiet_cut(model, n_clusters=k) for k in SEVERAL]
    for k, cut in zip(SEVERAL, cuts, strict=True):
        assert cut.tree_.n_clusters == len(cut.cluster_weights_) <= k
        assert np.array_equal(cut.predict(kind.X), cut.labels_)
        coarser = cuts[max(k - 2, 0)].labels_
        assert is_nested(cut.labels_, coarser)
        # One split more divides one cluster, and moves no other border.
        before, after = len(np.unique(coarser)), len(np.unique(cut.labels_))
        assert len(np.unique(np.c_[cut.labels_, coarser], axis=0)) == after
        assert after - before in ((0,) if k == 1 else (0, 1))
    assert np.array_equal(
        quiet_cut(model, n_clusters=model.tree_.n_clusters).labels_, model.labels_
    )


@pytest.mark.parametrize("weighted", [False, True])
@every_kind
def test_a_cut_has_as_many_clusters_as_asked_for_or_warns(name: str, weighted: bool):
    kind = KINDS[name]
    if weighted:  # the heaviest cluster is not the one of most rows
        kind = kind._replace(weight=np.where(kind.X[:, 0] < np.median(kind.X[:, 0]), 1, 5))
    model = fit(kind)
    for k in SEVERAL:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            labels = model.cut(n_clusters=k).labels_
        assert (labels >= 0).all()
        masses = np.bincount(labels, kind.weight)
        assert (masses > 0).sum() == k or caught
        assert (np.diff(masses) <= 0).all()


@every_kind
def test_a_cut_of_a_cut_is_a_cut(name: str):
    kind = KINDS[name]
    model = fit(kind)
    cuts = {k: quiet_cut(model, n_clusters=k) for k in (1, 2, 3, 5, 8, 12)}
    for fine in (1, 3, 12):
        for k, expected in cuts.items():
            again = quiet_cut(cuts[fine], n_clusters=k)
            assert np.array_equal(again.labels_, expected.labels_), (fine, k)
            assert again.tree_.splits == expected.tree_.splits
            assert np.array_equal(again.cluster_centers_, expected.cluster_centers_)


@every_kind
def test_cuts_by_size_and_persistence_are_nested(name: str):
    kind = KINDS[name]
    fine = quiet_cut(fit(kind), n_clusters=12)
    for option, values in (
        ("min_cluster_size", (1, 10, 40, 150, 600, 1e9)),
        ("persistence", (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)),
    ):
        before = fine.labels_
        for value in values:
            cut = fine.cut(**{option: value})
            assert is_nested(before, cut.labels_)
            assert (cut.labels_ >= 0).all()
            if option == "min_cluster_size" and len(cut.cluster_weights_) > 1:
                assert (cut.cluster_weights_ >= value).all()
            quiet_cut(cut, n_clusters=3)  # a coarser cut of what is left
            before = cut.labels_
        assert len(cut.cluster_weights_) == 1


@pytest.mark.parametrize("size", [5, 100, 700])
@every_kind
def test_least_size_prunes_the_tree(name: str, size: int):
    kind = KINDS[name]
    options = {"strictness": 0.3}
    model, pruned = fit(kind, **options), fit(kind, **options, min_cluster_size=size)
    assert is_nested(model.labels_, pruned.labels_)
    assert (pruned.labels_ >= 0).all()
    assert len(pruned.cluster_weights_) == 1 or (pruned.cluster_weights_ >= size).all()
    assert np.array_equal(pruned.labels_, model.cut(min_cluster_size=size).labels_)
