"""Tallies: the tree of points that arrive in parts is that of one fit, also beyond the limits."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from meanshiftpp import MeanShiftPP
from meanshiftpp.core.chunk import Chunk
from meanshiftpp.core.tree import significant, tally
from meanshiftpp.core.tree.significant import Significant
from meanshiftpp.errors import GridMismatchError, InvalidInputError

N = 4000
draws = np.random.default_rng(5)
BLOBS = np.concatenate([draws.normal(0, 1, (N // 2, 2)), draws.normal(6, 1, (N // 2, 2))])
SETS = {
    "blobs": BLOBS,
    "float32": BLOBS.astype(np.float32),
    "units": BLOBS * [1, 1000],
    "rounded": np.round(BLOBS, 1),
    "whole": np.round(BLOBS * 4).astype(np.int32),
    "clipped": np.clip(BLOBS, -1, 6.5),
    "outliers": np.concatenate([BLOBS, [[1e5, 0.0], [3.0, -2e5]]]),
    "repeated": BLOBS[draws.integers(0, N // 4, N)],
    "constant": np.c_[BLOBS[:, 0], np.full(N, 3.5)],
    "5 features": draws.normal(size=(N, 5)) + 8 * draws.integers(0, 3, (N, 1)),
}
OPTIONS = [({}, False), ({"periodic": 9.5}, True), ({"cluster_all": False}, True)]


@pytest.fixture(params=[(1 << 24, 1 << 22), (2000, 1 << 22), (2000, 900)], ids=str)
def limits(request, monkeypatch):
    """Keep rows, all cells of rows, or few cells."""
    rows, cells = request.param
    monkeypatch.setattr(tally, "MAX_ROWS", rows)
    monkeypatch.setattr(significant, "MAX_ROWS", rows)
    monkeypatch.setattr(significant, "_BLOCK", 1500)
    monkeypatch.setattr(tally, "MAX_CELLS", cells)
    return request.param


def orders(points, n_parts):
    """Yield rows in parts: as they are, shuffled, and from the narrowest range to the widest."""
    yield np.array_split(np.arange(len(points)), n_parts)
    yield np.array_split(np.random.default_rng(n_parts).permutation(len(points)), n_parts)
    yield np.array_split(np.argsort(np.abs(points[:, 0])), n_parts)


def gathered(recipe, chunks):
    return recipe.gather(lambda recipe: sum(map(recipe.bin, chunks), recipe.empty()))


def assert_same(clusters, one, points):
    """Compare splits, centres, weights and labels with those of a fitted estimator."""
    assert clusters.tree.splits == one.tree_.splits
    np.testing.assert_array_equal(clusters.centers, one.cluster_centers_)
    np.testing.assert_array_equal(clusters.weights, one.cluster_weights_)
    np.testing.assert_array_equal(clusters.label(points), one.labels_)


@pytest.mark.parametrize(("options", "weighted"), OPTIONS, ids=str)
@pytest.mark.parametrize("name", SETS)
def test_gathered_parts_give_the_clusters_of_one_fit(limits, name, options, weighted):
    points = SETS[name]
    weight = np.random.default_rng(1).integers(0, 4, len(points)) if weighted else None
    one = MeanShiftPP(**options).fit(points, sample_weight=weight)
    recipe = Significant(**options).checked(points.shape[1])
    for parts in orders(points, 5):
        chunks = [Chunk(points[k], None if weight is None else weight[k]) for k in parts]
        total = gathered(recipe, chunks)
        assert total.exact
        assert len(total) <= (limits[1] if len(points) > limits[0] else len(points))
        assert_same(recipe.search(total), one, points)


@pytest.mark.parametrize("n_parts", [2, 7])
@pytest.mark.parametrize("name", SETS)
def test_partial_fit_gives_the_clusters_of_one_fit_or_warns(limits, name, n_parts):
    points = SETS[name]
    one = MeanShiftPP().fit(points)
    for parts in orders(points, n_parts):
        model = MeanShiftPP()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            for k in parts:
                model.partial_fit(points[k])
        if limits[1] > 1 << 20:
            assert not caught
        if not caught:
            assert_same(model._modes, one, points)


def test_a_range_that_grows_after_cells_were_joined_needs_a_second_pass(monkeypatch):
    monkeypatch.setattr(tally, "MAX_ROWS", 1000)
    monkeypatch.setattr(tally, "MAX_CELLS", 900)
    recipe = Significant().checked(2)
    narrow, wide = Chunk(BLOBS), Chunk(BLOBS[:1] * 1000)
    total = recipe.bin(narrow) + recipe.bin(wide)
    assert not total.exact
    with pytest.warns(UserWarning, match="the range of the data grew"):
        recipe.search(total)
    reads = []

    def read(recipe):
        reads.append(recipe.levels)
        return recipe.bin(narrow) + recipe.bin(wide)

    exact = recipe.gather(read)
    assert reads == [None, total.fine_levels]
    assert exact.exact
    assert exact.coarser < total.coarser
    assert len(total) < len(exact) <= 900


def test_many_features_have_more_cells_than_the_limit(monkeypatch):
    """Points on the two sides of 0 are in different cells of any size."""
    for module in (tally, significant):
        monkeypatch.setattr(module, "MAX_ROWS", 100)
    monkeypatch.setattr(tally, "MAX_CELLS", 50)
    points = draws.normal(size=(1000, 12)) * 10.0 ** np.arange(12)
    periodic = [7.0, *[None] * 11]
    one = MeanShiftPP(periodic=periodic).fit(points)
    recipe = Significant(periodic).checked(12)
    total = gathered(recipe, [Chunk(points[:600]), Chunk(points[600:])])
    assert len(total) <= 2**11
    assert_same(recipe.search(total), one, points)


@pytest.mark.parametrize("d", [1, 2, 3, 5])
def test_cells_divide_as_their_rows_would(monkeypatch, d):
    """The cells of a tally stand for points in them, not for repeated points, which count less."""
    n = 100_000
    blob, centers = draws.normal(size=(n, d)), 30.0 * np.arange(4)[:, None]
    rare = np.concatenate([blob[:-400], 12 + 0.3 * draws.normal(size=(400, d))])
    groups = centers[draws.integers(4, size=n)] + draws.normal(size=(n, d))
    kinds = (blob, rare, groups, blob.round(2), blob.clip(-1, 1))
    by_rows = [len(MeanShiftPP().fit(X).cluster_weights_) for X in kinds]
    for module in (tally, significant):
        monkeypatch.setattr(module, "MAX_ROWS", 1000)
    monkeypatch.setattr(tally, "MAX_CELLS", n // 2)
    models = [MeanShiftPP().fit(X) for X in kinds]
    assert [len(model.cluster_weights_) for model in models] == by_rows == [1, 2, 4, 1, 1]
    for model in models:
        np.testing.assert_array_equal(np.bincount(model.labels_), model.cluster_weights_)


def test_every_finite_value_has_a_label_in_cells(monkeypatch):
    for module in (tally, significant):
        monkeypatch.setattr(module, "MAX_ROWS", 1000)
    monkeypatch.setattr(tally, "MAX_CELLS", 2000)
    model = MeanShiftPP().fit(1e-3 * draws.normal(size=(5000, 2)))
    assert model.predict([[1e306, 0], [-1e308, 0]]).tolist() == [0, 0]
    with pytest.raises(InvalidInputError, match=r"X\[1, 0\] is NaN"):
        model.predict([[0, 0], [np.nan, 0]])


def test_empty_tallies_change_nothing(limits):
    recipe = Significant().checked(2)
    total = recipe.bin(Chunk(BLOBS))
    weightless = recipe.bin(Chunk(BLOBS, np.zeros(N, int)))
    one = MeanShiftPP().fit(BLOBS)
    for empty in (recipe.empty(), recipe.bin(Chunk(BLOBS[:0])), weightless):
        assert len(empty) == 0
        for added in (total + empty, empty + total):
            assert_same(recipe.search(added), one, BLOBS)
    with pytest.raises(InvalidInputError, match="an empty tally has no clusters"):
        recipe.search(recipe.empty())


def test_tallies_of_other_features_cannot_be_added():
    one, two = (Significant().checked(d).bin(Chunk(np.ones((3, d)))) for d in (1, 2))
    with pytest.raises(GridMismatchError, match="cannot be added"):
        one + two
    with pytest.raises(GridMismatchError, match=r"a.csv has 1 feature, but 2 were expected"):
        Significant().checked(2).bin(Chunk(np.ones((3, 1)), source="a.csv"))
    bad = Chunk(np.array([[0.0, 1.0], [2.0, np.inf]]), source="a.csv", columns=("x", "y"))
    with pytest.raises(InvalidInputError, match=r"^a.csv, row 2, column 'y' is inf"):
        Significant().checked(2).bin(bad)


@pytest.mark.parametrize("light", [1e-3, 1e-12, 1e-40])
def test_a_light_chunk_of_real_weights_does_not_overflow_cells(monkeypatch, light):
    monkeypatch.setattr(tally, "MAX_ROWS", 100)
    rng = np.random.default_rng(1)
    recipe = Significant().checked(2)
    heavy = Chunk(rng.normal(size=(5000, 2)), rng.uniform(0.1, 1, 5000))
    total = recipe.bin(heavy)
    for _ in range(3):
        total += recipe.bin(Chunk(rng.normal(size=(200, 2)), np.full(200, light) * 0.7))
    expected = float(np.asarray(heavy.weight).sum()) + 3 * 200 * 0.7 * light
    assert total.total == pytest.approx(expected, rel=1e-5)
    assert total.parts[0].in_unit(total.parts[0].unit).sum() < 2**31  # the limit of a leaf
