"""A sweep is what it says: direct fits at many bandwidths, from one read."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import adjusted_rand_score
from tests.helpers import fit_labels

from meanshiftpp import Grid, MeanShiftPP, Sweep, seek, select_bandwidth, sweep
from meanshiftpp.bandwidth.agreement import agreement, meet, parents
from meanshiftpp.core.recipe import Recipe
from meanshiftpp.errors import InvalidInputError, MissingExtraError


@pytest.fixture(scope="module")
def blobs():
    rng = np.random.default_rng(0)
    centres = [(0, 0, 0), (9, 2, 0), (3, 9, 4), (12, 9, 8)]
    X = np.concatenate([rng.normal(centre, 1, (400, 3)) for centre in centres])
    return np.rint(X * 64) / 64  # with a step of a power of two, x / h / k is x / (h k) exactly


def same(modes, direct):
    """Whether two searches found the same, up to the rounding of the sums."""
    assert np.array_equal(modes.grid.cells, direct.grid.cells)
    assert np.array_equal(modes.grid.counts, direct.grid.counts)
    assert np.array_equal(modes.cell_labels, direct.cell_labels)
    assert np.array_equal(modes.weights, direct.weights)
    assert np.allclose(modes.centers, direct.centers, rtol=0, atol=1e-6)


# -- each entry is a direct fit --------------------------------------------------------------------


@pytest.mark.parametrize("resolution", [1, 4])
def test_each_entry_is_a_direct_fit(blobs, resolution):
    h = 0.75 if resolution == 4 else 0.25  # three quarters is nine cells of a power of two
    found = sweep(blobs, np.arange(1, 20) * h, resolution=resolution)
    assert found.multiples.tolist() == list(range(1, 20))
    for h, modes in zip(found.bandwidths, found.modes, strict=True):
        direct, labels = fit_labels(blobs, h, resolution=resolution)
        same(modes, direct)
        assert np.array_equal(modes.label(blobs), labels)


def test_each_default_entry_is_a_direct_fit(blobs):
    found = sweep(blobs)
    assert len(found) == 17
    for i, h in enumerate(found.bandwidths):
        model = MeanShiftPP(h).fit(blobs)
        assert np.array_equal(found.modes[i].grid.counts, model.grid_.counts)
        assert np.array_equal(found.labels(i, blobs), model.labels_)


@settings(max_examples=30, deadline=None)
@given(
    st.integers(1, 4),
    st.lists(st.integers(1, 60), min_size=1, max_size=6),
    st.integers(0, 2**32 - 1),
)
def test_any_multiples_of_any_integers_are_direct_fits(d, multiples, seed):
    X = np.random.default_rng(seed).integers(-50, 50, (60, d))
    found = sweep(X, multiples, step=1)
    assert found.multiples.tolist() == sorted(set(multiples))
    for h, modes in zip(found.bandwidths, found.modes, strict=True):
        direct = Grid.from_points(X, h)
        assert np.array_equal(modes.grid.cells, direct.cells)
        assert np.array_equal(modes.grid.counts, direct.counts)
        merged = np.abs(modes.grid.sums.astype(float) - direct.sums.astype(float))
        assert (merged <= len(X)).all()  # of 2^32 a point
        assert modes.weights.sum() == len(X)


def test_weights_are_repetitions(blobs):
    weight = np.random.default_rng(0).integers(0, 4, len(blobs))
    a = sweep(blobs, [0.5, 1, 2], sample_weight=weight)
    b = sweep(np.repeat(blobs, weight, axis=0), [0.5, 1, 2])
    assert a.base == b.base
    for one, other in zip(a.modes, b.modes, strict=True):
        same(one, other)
    assert np.array_equal(a.stability, b.stability)
    assert a.best == b.best


def test_neither_order_nor_threads_matter(blobs):
    a, b = sweep(blobs, n_threads=1), sweep(blobs[::-1], n_threads=3)
    assert np.array_equal(a.bandwidths, b.bandwidths)
    for one, other in zip(a.modes, b.modes, strict=True):
        same(one, other)
    assert np.array_equal(a.stability, b.stability)
    assert a.best == b.best


# -- which bandwidths ------------------------------------------------------------------------------


def test_unsorted_and_repeated_bandwidths_are_sorted_and_made_unique(blobs):
    found = sweep(blobs, [2, 0.5, 1, 2.0, 0.5])
    assert found.bandwidths.tolist() == [[0.5] * 3, [1.0] * 3, [2.0] * 3]


@pytest.mark.parametrize(
    ("wanted", "step", "multiples"),
    [
        ([0.3, 0.5, 1.0], 0.1, [3, 5, 10]),
        ([0.5, 0.75, 2.0], 0.25, [2, 3, 8]),
        (np.linspace(0.1, 2, 20), 0.1, list(range(1, 21))),
        ([1.0, math.pi], 0.25, [4, 13]),  # 3.25: no part will do, a quarter is near
        ([3.0], 3.0, [1]),
    ],
)
def test_the_step_is_the_largest_part_that_will_do(blobs, wanted, step, multiples):
    found = sweep(blobs, wanted)
    assert np.allclose(found.step, step, rtol=1e-12)
    assert found.multiples.tolist() == multiples


def test_a_given_step_moves_bandwidths_to_its_multiples(blobs):
    found = sweep(blobs, [0.1, 0.9, 1.1, 1.9], step=0.5)
    assert found.bandwidths[:, 0].tolist() == [0.5, 1.0, 2.0]


def test_no_bandwidth_moves_by_more_than_an_eighth(blobs):
    wanted = np.geomspace(0.4, 3, 23)
    used = sweep(blobs, wanted).bandwidths[:, 0]
    nearest = used[np.abs(wanted[:, None] - used).argmin(axis=1)]
    assert (np.abs(nearest - wanted) <= wanted / 8 + 1e-12).all()


def test_rows_have_a_bandwidth_for_each_feature(blobs):
    found = sweep(blobs, [[0.5, 1, 2], [1, 2, 4]])
    assert found.bandwidths.tolist() == [[0.5, 1, 2], [1, 2, 4]]
    with pytest.raises(InvalidInputError, match="one proportion"):
        sweep(blobs, [[0.5, 1, 2], [1, 2, 3]])


def test_a_scaled_feature_scales_its_bandwidths(blobs):
    a, b = sweep(blobs), sweep(blobs * [1, 1024, 2.0**-10])
    assert np.array_equal(a.bandwidths * [1, 1024, 2.0**-10], b.bandwidths)
    assert np.array_equal(a.n_clusters, b.n_clusters)


def test_a_grid_is_its_own_base(blobs):
    grid = Grid.from_points(blobs, 0.25)
    found = sweep(grid, [0.5, 1.1, 2])
    assert found.base is grid
    assert found.bandwidths[:, 0].tolist() == [0.5, 1.0, 2.0]
    direct = sweep(blobs, [0.5, 1, 2], step=0.25)
    for one, other in zip(found.modes, direct.modes, strict=True):
        same(one, other)
    assert sweep(grid).n_clusters.tolist() == sorted(sweep(grid).n_clusters, reverse=True)


def test_a_grid_of_a_resolution(blobs):
    grid = Grid.from_points(blobs, 0.25)
    found = sweep(grid, [0.75, 1.5], resolution=4)
    assert found.bandwidths[:, 0].tolist() == [0.75, 1.5]
    same(found.modes[1], fit_labels(blobs, 1.5, resolution=4)[0])


def test_a_grid_with_a_period_takes_multiples_that_divide_it():
    rng = np.random.default_rng(0)
    X = np.c_[rng.normal(0, 20, 2000) % 360, rng.normal(0, 1, 2000)]
    grid = Grid.from_points(X, [1.0, 0.0625], periodic=[360, None])
    found = sweep(grid)
    assert len(found) > 5
    assert all(360 % k == 0 for k in found.multiples.tolist())
    assert np.isfinite(found.stability).all()
    some = sweep(grid, grid.bandwidth * [[7], [500]])
    assert some.multiples.tolist() == [8, 120]  # 7 does not divide 360, and a window needs 3 cells
    h = some.bandwidths[0]
    same(some.modes[0], seek(Grid.from_points(X, h, periodic=[360, None])))
    for method in ("auto", "stability", "lscv", "rule"):
        assert 360 % select_bandwidth(grid, method=method)[0] == 0


BAD = {
    "zero": ([1.0, 0.0], "positive and finite, got 0.0"),
    "negative": ([1.0, -2.0], "positive and finite, got -2.0"),
    "nan": ([1.0, math.nan], "positive and finite, got nan"),
    "none": ([], "bandwidths must be numbers"),
    "words": (["a"], "bandwidths must be numbers"),
    "wide": ([[1.0, 2.0]], "rows of 3 numbers"),
    "one": (1.0, "bandwidths must be numbers"),
    "apart": ([1e-9, 10.0], "times the step"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_bandwidths(blobs, name):
    with pytest.raises(InvalidInputError, match=BAD[name][1]):
        sweep(blobs, BAD[name][0])


def test_bad_input(blobs):
    with pytest.raises(InvalidInputError, match=r"finer than the grid's, 0\.25"):
        sweep(Grid.from_points(blobs, 0.25), [0.1, 1])
    with pytest.raises(InvalidInputError, match="neither with a grid"):
        sweep(Grid.from_points(blobs, 0.25), step=1)
    with pytest.raises(InvalidInputError, match="a sweep needs points"):
        sweep(Grid.empty(1.0, 2))
    with pytest.raises(InvalidInputError, match="a sweep needs points"):
        sweep(blobs, [1], sample_weight=np.zeros(len(blobs)))
    with pytest.raises(InvalidInputError, match=r"X\[2, 1\]"):
        sweep(np.array([[0, 1], [0, 1], [0, math.nan]]), [1])
    with pytest.raises(InvalidInputError, match="resolution"):
        sweep(blobs, [1], resolution=0)


@pytest.mark.parametrize("n", [5_000, 40_000])  # all rows are counted, or a sample tells
def test_a_grid_too_fine_names_a_bandwidth_that_fits(n):
    X = np.random.default_rng(0).uniform(0, 1, (n, 3))
    with pytest.raises(InvalidInputError, match="nearest that fits is about") as error:
        sweep(X, [0.001, 0.1], max_cells=1000)
    fits = float(str(error.value).split()[-1])
    assert 0.08 < fits < 0.15
    assert len(sweep(X, [fits], max_cells=1500).base) <= 1500


@pytest.mark.parametrize("how", [ValueError, KeyboardInterrupt])
def test_after_an_error_no_search_is_begun(blobs, monkeypatch, how):
    begun = []

    def broken(self, grid, **options):
        begun.append(grid)
        raise how("stop")

    monkeypatch.setattr(Recipe, "search_quietly", broken)
    with pytest.raises(how, match="stop"):
        sweep(blobs, np.arange(4, 60) / 4, n_threads=2)
    assert len(begun) < 10


def test_where_no_bandwidth_fits_that_is_said():
    X = np.random.default_rng(0).normal(0, 1, (500, 3))
    words = "none fits.* both sides of 0 .* never in fewer than 8 cells"
    for most in (1, 7):
        with pytest.raises(InvalidInputError, match=words):
            sweep(X, [0.1], max_cells=most)
    with pytest.raises(InvalidInputError, match="nearest that fits is about"):
        sweep(X, [0.1], max_cells=8)
    with pytest.raises(InvalidInputError, match="nearest that fits is about"):
        sweep(np.abs(X), [0.1], max_cells=1)
    wide = np.linspace(0.5, 1, 500)[:, None] * 1e15  # 2**31 - 1 cells together are a small part
    with pytest.raises(InvalidInputError, match=r"no bandwidth up to 2\.147e\+09 fits"):
        sweep(wide, [1.0], max_cells=2)


# -- what it says of them --------------------------------------------------------------------------


def test_stability_is_the_agreement_of_neighbours(blobs):
    found = sweep(blobs, [0.25, 0.5, 0.75, 1.25, 3, 5])
    labels = [found.labels(i, blobs) for i in range(6)]
    between = [adjusted_rand_score(a, b) for a, b in pairwise(labels)]
    expected = [np.mean(between[max(i - 1, 0) : i + 1]) for i in range(6)]
    assert np.allclose(found.stability, expected, rtol=0, atol=1e-12)
    assert np.isnan(sweep(blobs, [1.0]).stability).all()


def test_the_best_finds_the_blobs(blobs):
    found = sweep(blobs)
    labels = found.labels(found.best, blobs)
    assert adjusted_rand_score(np.repeat(range(4), 400), labels) > 0.98


def test_where_there_are_no_clusters_the_best_is_the_reference():
    X = np.random.default_rng(0).uniform(0, 1, (300, 12))  # every point alone, or all in one
    found = sweep(X)
    assert 0 <= found.best < len(found)
    assert 1 < found.multiples[found.best] / found.multiples[0] < 2.5  # 0.45 of 0.25


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 40), st.integers(1, 12), st.integers(0, 2**32 - 1))
def test_agreement_is_the_adjusted_rand_index_of_the_points(n, k, seed):
    rng = np.random.default_rng(seed)
    a, b = rng.integers(0, k, (2, n)).astype(np.int32)
    counts = rng.integers(1, 5, n)
    expected = adjusted_rand_score(np.repeat(a, counts), np.repeat(b, counts))
    assert math.isclose(agreement(a, b, counts.astype(float)), expected, abs_tol=1e-12)
    (one, other), weights = meet([a, b], counts.astype(float))
    assert math.isclose(agreement(one, other, weights), expected, abs_tol=1e-12)
    assert weights.sum() == counts.sum()


def test_large_tables_agree_like_small_ones(monkeypatch, blobs):
    expected = sweep(blobs)
    stability, best = expected.stability, expected.best
    monkeypatch.setattr("meanshiftpp.bandwidth.agreement.TABLE", 0)
    again = sweep(blobs)
    assert np.array_equal(again.stability, stability)
    assert again.best == best


@pytest.mark.parametrize("far", [1, 10**6, 10**12])  # a table, sorted keys, sorted rows
def test_every_cell_finds_its_parent(far):
    X = np.random.default_rng(0).integers(-9, 9, (200, 2))
    X[-1] = far, -far
    fine = Grid.from_points(X, 1)
    coarse = fine.coarsen(3)
    assert np.array_equal(coarse.cells[parents(fine, 3, coarse)], fine.cells // 3)


@pytest.mark.parametrize("bandwidths", [None, [1, 2]])
def test_no_points_have_no_sweep(bandwidths):
    with pytest.raises(InvalidInputError, match="a sweep needs points"):
        sweep(np.empty((0, 2)), bandwidths)


def test_labels_by_index_and_an_index_by_bandwidth(blobs):
    found = sweep(blobs, [0.5, 1, 2])
    expected = seek(Grid.from_points(blobs, 1.0)).label(blobs)
    for which in (1, -2, np.int64(1), *map(found.nearest, (1, 1.1, [1, 1, 1]))):
        assert np.array_equal(found.labels(which, blobs), expected)
    assert found.nearest(2) == 2  # the bandwidth, not the index
    with pytest.raises(InvalidInputError, match="no index 3"):
        found.labels(3, blobs)
    with pytest.raises(InvalidInputError, match=r"got float; nearest\(h\)"):
        found.labels(2.0, blobs)
    with pytest.raises(InvalidInputError, match="positive"):
        found.nearest(-1.0)


def test_what_it_holds(blobs):
    found = sweep(blobs, [0.5, 1, 2])
    assert isinstance(found, Sweep)
    assert found.n_clusters.tolist() == [len(modes) for modes in found.modes]
    assert [weights.sum() for weights in found.weights] == [len(blobs)] * 3
    large = [weights[:n] for weights, n in zip(found.weights, found.n_large)]
    rest = [weights[n:] for weights, n in zip(found.weights, found.n_large)]
    assert all((weights >= 0.01 * len(blobs)).all() for weights in large)
    assert all((weights < 0.01 * len(blobs)).all() for weights in rest)
    assert sum(map(len, rest)), "there are small ones too"
    assert len(found) == 3
    assert repr(found).startswith("Sweep(3 bandwidths from 0.5 to 2, of Grid(")
    assert "0.5" in repr(sweep(blobs, [[0.5, 1, 1]]))


# -- the picture -----------------------------------------------------------------------------------


@pytest.mark.parametrize("bandwidths", [None, [0.5, 1, 2], [1.0]])
def test_the_picture_has_both_curves_and_the_best(blobs, tmp_path, bandwidths):
    from matplotlib.text import Text

    found = sweep(blobs, bandwidths)
    ax = found.plot()
    right = ax.figure.axes[1]
    assert ax.lines[0].get_ydata().tolist() == found.n_clusters.tolist()
    assert ax.lines[1].get_ydata().tolist() == found.n_large.tolist()
    assert np.array_equal(right.lines[0].get_ydata(), found.stability, equal_nan=True)
    (note,) = right.texts
    assert f"{found.n_clusters[found.best]:,} cluster" in note.get_text()
    ax.figure.draw_without_rendering()
    assert note.get_window_extent().y0 >= ax.get_window_extent().y1  # over no data
    others = [
        right.get_legend(),
        *(text for text in ax.findobj(Text) if "how long" in text.get_text()),
    ]
    assert len(others) == 2
    for other in others:
        assert not note.get_window_extent().overlaps(other.get_window_extent())
    ax.figure.savefig(tmp_path / "sweep.png")
    assert (tmp_path / "sweep.png").stat().st_size > 10_000


def test_the_picture_goes_where_it_is_told(blobs):
    from matplotlib.figure import Figure

    figure = Figure()
    left, right = figure.subplots(1, 2)
    assert sweep(blobs, [0.5, 1]).plot(right) is right
    assert not left.lines
    assert right.get_xlabel() == "bandwidth"
    assert "steps of" in sweep(blobs).plot(left).get_xlabel()


def test_without_matplotlib_there_are_words(blobs, monkeypatch):
    import sys

    found = sweep(blobs, [1.0])
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtraError, match=r"meanshiftpp\[plot\]"):
        found.plot()
