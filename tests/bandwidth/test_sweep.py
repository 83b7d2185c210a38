"""A sweep: direct fits at many bandwidths from one read, their stability, and the picture."""

from __future__ import annotations

import math
import sys
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import adjusted_rand_score
from tests.helpers import assert_close_modes, fit_labels

from meanshiftpp import Grid, MeanShiftPP, Sweep, seek, sweep
from meanshiftpp.errors import InvalidInputError, MissingExtraError

# -- each entry is a direct fit --------------------------------------------------------------------


@pytest.mark.parametrize("resolution", [1, 4])
def test_each_entry_is_a_direct_fit(blobs, resolution):
    h = 0.75 if resolution == 4 else 0.25  # 0.75 is three cells of 0.25, which is a power of two
    result = sweep(blobs, np.arange(1, 20) * h, resolution=resolution)
    assert result.multiples.tolist() == list(range(1, 20))
    for h, modes in zip(result.bandwidths, result.modes, strict=True):
        direct, labels = fit_labels(blobs, h, resolution=resolution)
        assert_close_modes(modes, direct)
        assert np.array_equal(modes.label(blobs), labels)


def test_each_default_entry_is_a_direct_fit(blobs):
    result = sweep(blobs)
    assert len(result) == 17
    for i, h in enumerate(result.bandwidths):
        model = MeanShiftPP(h).fit(blobs)
        assert np.array_equal(result.modes[i].grid.counts, model.grid_.counts)
        assert np.array_equal(result.labels(i, blobs), model.labels_)


@settings(max_examples=30)
@given(
    st.integers(1, 4),
    st.lists(st.integers(1, 60), min_size=1, max_size=6),
    st.integers(0, 2**32 - 1),
)
def test_any_multiples_of_any_integers_are_direct_fits(d, multiples, seed):
    X = np.random.default_rng(seed).integers(-50, 50, (60, d))
    result = sweep(X, multiples, step=1)
    assert result.multiples.tolist() == sorted(set(multiples))
    for h, modes in zip(result.bandwidths, result.modes, strict=True):
        direct = Grid.from_points(X, h)
        assert np.array_equal(modes.grid.cells, direct.cells)
        assert np.array_equal(modes.grid.counts, direct.counts)
        difference = np.abs(modes.grid.sums.astype(float) - direct.sums.astype(float))
        assert (difference <= len(X)).all()  # one unit of 2^-32 of a cell for each point
        assert modes.weights.sum() == len(X)


def test_whole_weight_counts_as_repetitions(blobs):
    weight = np.random.default_rng(0).integers(0, 4, len(blobs))
    a = sweep(blobs, [0.5, 1, 2], sample_weight=weight)
    b = sweep(np.repeat(blobs, weight, axis=0), [0.5, 1, 2])
    assert a.base == b.base
    for one, other in zip(a.modes, b.modes, strict=True):
        assert_close_modes(one, other)
    assert np.array_equal(a.stability, b.stability)
    assert a.best == b.best


def test_order_and_threads_do_not_change_the_result(blobs):
    a, b = sweep(blobs, n_threads=1), sweep(blobs[::-1], n_threads=3)
    assert np.array_equal(a.bandwidths, b.bandwidths)
    for one, other in zip(a.modes, b.modes, strict=True):
        assert_close_modes(one, other)
    assert np.array_equal(a.stability, b.stability)
    assert a.best == b.best


def test_grid_is_the_base_of_its_sweep(blobs):
    grid = Grid.from_points(blobs, 0.25)
    result = sweep(grid, [0.5, 1.1, 2])
    assert result.base is grid
    assert result.bandwidths[:, 0].tolist() == [0.5, 1.0, 2.0]
    direct = sweep(blobs, [0.5, 1, 2], step=0.25)
    for one, other in zip(result.modes, direct.modes, strict=True):
        assert_close_modes(one, other)
    assert sweep(grid).n_clusters.tolist() == sorted(sweep(grid).n_clusters, reverse=True)


def test_grid_at_a_higher_resolution(blobs):
    grid = Grid.from_points(blobs, 0.25)
    result = sweep(grid, [0.75, 1.5], resolution=4)
    assert result.bandwidths[:, 0].tolist() == [0.75, 1.5]
    assert_close_modes(result.modes[1], fit_labels(blobs, 1.5, resolution=4)[0])


def test_rejects_bad_input(blobs):
    with pytest.raises(InvalidInputError, match="a sweep needs at least one point"):
        sweep(Grid.empty(1.0, 2))
    with pytest.raises(InvalidInputError, match="a sweep needs at least one point"):
        sweep(blobs, [1], sample_weight=np.zeros(len(blobs)))
    with pytest.raises(InvalidInputError, match=r"X\[2, 1\]"):
        sweep(np.array([[0, 1], [0, 1], [0, math.nan]]), [1])
    with pytest.raises(InvalidInputError, match="resolution"):
        sweep(blobs, [1], resolution=0)


@pytest.mark.parametrize("bandwidths", [None, [1, 2]])
def test_rejects_data_without_points(bandwidths):
    with pytest.raises(InvalidInputError, match="a sweep needs at least one point"):
        sweep(np.empty((0, 2)), bandwidths)


# -- stability, best and labels --------------------------------------------------------------------


def test_stability_is_the_agreement_of_neighbours(blobs):
    result = sweep(blobs, [0.25, 0.5, 0.75, 1.25, 3, 5])
    labels = [result.labels(i, blobs) for i in range(6)]
    between = [adjusted_rand_score(a, b) for a, b in pairwise(labels)]
    expected = [np.mean(between[max(i - 1, 0) : i + 1]) for i in range(6)]
    assert np.allclose(result.stability, expected, rtol=0, atol=1e-12)
    assert np.isnan(sweep(blobs, [1.0]).stability).all()


def test_best_finds_the_blobs(blobs):
    result = sweep(blobs)
    labels = result.labels(result.best, blobs)
    assert adjusted_rand_score(np.repeat(range(4), 400), labels) > 0.98


def test_best_is_near_the_reference_if_no_clustering_qualifies():
    X = np.random.default_rng(0).uniform(0, 1, (300, 12))  # every point alone, or all in one
    result = sweep(X)
    assert 0 <= result.best < len(result)
    assert 1 < result.multiples[result.best] / result.multiples[0] < 2.5  # 0.45 / 0.25


def test_sorting_and_tables_give_the_same_agreement(monkeypatch, blobs):
    expected = sweep(blobs)
    stability, best = expected.stability, expected.best
    monkeypatch.setattr("meanshiftpp.bandwidth.agreement.MAX_TABLE", 0)
    again = sweep(blobs)
    assert np.array_equal(again.stability, stability)
    assert again.best == best


def test_labels_by_index_and_index_by_bandwidth(blobs):
    result = sweep(blobs, [0.5, 1, 2])
    expected = seek(Grid.from_points(blobs, 1.0)).label(blobs)
    for which in (1, -2, np.int64(1), *map(result.nearest, (1, 1.1, [1, 1, 1]))):
        assert np.array_equal(result.labels(which, blobs), expected)
    assert result.nearest(2) == 2  # the bandwidth, not the index
    with pytest.raises(InvalidInputError, match="one of the 3 bandwidths, got 3"):
        result.labels(3, blobs)
    with pytest.raises(InvalidInputError, match=r"a whole number, got 2\.0; nearest\(h\)"):
        result.labels(2.0, blobs)
    with pytest.raises(InvalidInputError, match="positive"):
        result.nearest(-1.0)


def test_attributes(blobs):
    result = sweep(blobs, [0.5, 1, 2])
    assert isinstance(result, Sweep)
    assert result.n_clusters.tolist() == [len(modes) for modes in result.modes]
    assert [weights.sum() for weights in result.weights] == [len(blobs)] * 3
    large = [weights[:n] for weights, n in zip(result.weights, result.n_large)]
    small = [weights[n:] for weights, n in zip(result.weights, result.n_large)]
    assert all((weights >= 0.01 * len(blobs)).all() for weights in large)
    assert all((weights < 0.01 * len(blobs)).all() for weights in small)
    assert sum(map(len, small)), "the sweep has small clusters too"
    assert len(result) == 3
    assert repr(result).startswith("Sweep(3 bandwidths from 0.5 to 2, of Grid(")
    assert "0.5" in repr(sweep(blobs, [[0.5, 1, 1]]))


# -- the picture -----------------------------------------------------------------------------------


@pytest.mark.parametrize("bandwidths", [None, [0.5, 1, 2], [1.0]])
def test_plot_draws_both_curves_and_marks_the_best(blobs, tmp_path, bandwidths):
    from matplotlib.text import Text

    result = sweep(blobs, bandwidths)
    ax = result.plot()
    right = ax.figure.axes[1]
    assert ax.lines[0].get_ydata().tolist() == result.n_clusters.tolist()
    assert ax.lines[1].get_ydata().tolist() == result.n_large.tolist()
    assert np.array_equal(right.lines[0].get_ydata(), result.stability, equal_nan=True)
    (note,) = right.texts
    assert f"{result.n_clusters[result.best]:,} cluster" in note.get_text()
    ax.figure.draw_without_rendering()
    assert note.get_window_extent().y0 >= ax.get_window_extent().y1  # the note hides no data
    others = [
        right.get_legend(),
        *(text for text in ax.findobj(Text) if "how long" in text.get_text()),
    ]
    assert len(others) == 2
    for other in others:
        assert not note.get_window_extent().overlaps(other.get_window_extent())
    ax.figure.savefig(tmp_path / "sweep.png")
    assert (tmp_path / "sweep.png").stat().st_size > 10_000


def test_plot_draws_into_given_axes(blobs):
    from matplotlib.figure import Figure

    figure = Figure()
    left, right = figure.subplots(1, 2)
    assert sweep(blobs, [0.5, 1]).plot(right) is right
    assert not left.lines
    assert right.get_xlabel() == "bandwidth"
    assert sweep(blobs).plot(left).get_xlabel() == "bandwidth of each feature"


def test_plot_without_matplotlib_names_the_extra(blobs, monkeypatch):
    result = sweep(blobs, [1.0])
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtraError, match=r"meanshiftpp\[plot\]"):
        result.plot()
