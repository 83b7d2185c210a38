"""The bandwidths of a sweep: multiples of a step, and the limit of its cells."""

from __future__ import annotations

import math

import numpy as np
import pytest
from tests.helpers import assert_close_modes

from meanshiftpp import Grid, seek, select_bandwidth, sweep
from meanshiftpp.bandwidth.multiples import nearest_multiple
from meanshiftpp.errors import InvalidInputError


def test_bandwidths_are_sorted_and_made_unique(blobs):
    result = sweep(blobs, [2, 0.5, 1, 2.0, 0.5])
    assert result.bandwidths.tolist() == [[0.5] * 3, [1.0] * 3, [2.0] * 3]


@pytest.mark.parametrize(
    ("bandwidths", "step", "multiples"),
    [
        ([0.3, 0.5, 1.0], 0.1, [3, 5, 10]),
        ([0.5, 0.75, 2.0], 0.25, [2, 3, 8]),
        (np.linspace(0.1, 2, 20), 0.1, list(range(1, 21))),
        ([1.0, math.pi], 0.25, [4, 13]),  # no fraction divides both: a quarter, and 3.25 for pi
        ([3.0], 3.0, [1]),
    ],
)
def test_step_is_the_largest_fraction_that_divides_all(blobs, bandwidths, step, multiples):
    result = sweep(blobs, bandwidths)
    assert np.allclose(result.step, step, rtol=1e-12)
    assert result.multiples.tolist() == multiples


def test_bandwidths_move_to_multiples_of_a_given_step(blobs):
    result = sweep(blobs, [0.1, 0.9, 1.1, 1.9], step=0.5)
    assert result.bandwidths[:, 0].tolist() == [0.5, 1.0, 2.0]


def test_no_bandwidth_moves_by_more_than_an_eighth(blobs):
    wanted = np.geomspace(0.4, 3, 23)
    used = sweep(blobs, wanted).bandwidths[:, 0]
    nearest = used[np.abs(wanted[:, None] - used).argmin(axis=1)]
    assert (np.abs(nearest - wanted) <= wanted / 8 + 1e-12).all()


def test_rows_hold_a_bandwidth_for_each_feature(blobs):
    result = sweep(blobs, [[0.5, 1, 2], [1, 2, 4]])
    assert result.bandwidths.tolist() == [[0.5, 1, 2], [1, 2, 4]]
    with pytest.raises(InvalidInputError, match=r"in one proportion .*, got \[1.0, 2.0, 3.0\]"):
        sweep(blobs, [[0.5, 1, 2], [1, 2, 3]])


def test_scaling_a_feature_scales_its_bandwidths(blobs):
    a, b = sweep(blobs), sweep(blobs * [1, 1024, 2.0**-10])
    assert np.array_equal(a.bandwidths * [1, 1024, 2.0**-10], b.bandwidths)
    assert np.array_equal(a.n_clusters, b.n_clusters)


def test_multiples_of_a_periodic_grid_divide_the_period():
    rng = np.random.default_rng(0)
    X = np.c_[rng.normal(0, 20, 2000) % 360, rng.normal(0, 1, 2000)]
    grid = Grid.from_points(X, [1.0, 0.0625], periodic=[360, None])
    result = sweep(grid)
    assert len(result) > 5
    assert all(360 % k == 0 for k in result.multiples.tolist())
    assert np.isfinite(result.stability).all()
    two = sweep(grid, grid.bandwidth * [[7], [500]])
    assert two.multiples.tolist() == [8, 120]  # 7 does not divide 360, and a window needs 3 cells
    direct = seek(Grid.from_points(X, two.bandwidths[0], periodic=[360, None]))
    assert_close_modes(two.modes[0], direct)
    for method in ("auto", "stability", "lscv", "rule"):
        assert 360 % select_bandwidth(grid, method=method)[0] == 0


def test_default_windows_of_a_periodic_grid_are_smaller_than_the_period():
    """In a window of the whole period every cell is its own mode, which is not a clustering."""
    rng = np.random.default_rng(0)
    hours = np.r_[rng.normal(8, 1.5, 5000), rng.normal(18, 2, 5000)][:, None] % 24
    swept = sweep(Grid.from_points(hours, 0.1, periodic=[24]))
    assert swept.bandwidths.max() == pytest.approx(6.0)
    assert (swept.n_clusters[-1], swept.stability[-2]) == (1, 1)
    assert sweep(swept.base, [8.0]).bandwidths.tolist() == [[pytest.approx(8.0)]]  # if asked for
    whole = sweep(Grid.from_points(hours, 8.0, periodic=[24]))  # no other bandwidth is possible
    assert whole.bandwidths.tolist() == [[8.0]]


def test_nearest_multiple_divides_every_period_and_leaves_a_window():
    grid = Grid.empty(1.0, 3, periodic=[60, None, 90])
    assert [nearest_multiple(grid, k) for k in (1, 4, 7, 12, 1000)] == [1, 5, 6, 10, 15]
    assert nearest_multiple(grid, 1000, reach=4) == 6  # 60 / 6 = 10 cells, a window has 9
    assert nearest_multiple(Grid.empty(1.0, 3), 7) == 7


BAD = {
    "zero": ([1.0, 0.0], "positive and finite, got 0.0"),
    "negative": ([1.0, -2.0], "positive and finite, got -2.0"),
    "nan": ([1.0, math.nan], "positive and finite, got nan"),
    "none": ([], "bandwidths must be numbers"),
    "words": (["a"], "bandwidths must be numbers"),
    "wide": ([[1.0, 2.0]], "rows of 3 numbers"),
    "one": (1.0, "bandwidths must be numbers"),
    "far apart": ([1e-9, 10.0], "times the step, got 1"),
}


@pytest.mark.parametrize("name", BAD)
def test_rejects_bad_bandwidths(blobs, name):
    with pytest.raises(InvalidInputError, match=BAD[name][1]) as caught:
        sweep(blobs, BAD[name][0])
    assert caught.value.parameter == "bandwidths"
    assert caught.value.expected


def test_rejects_arguments_that_contradict_a_grid(blobs):
    grid = Grid.from_points(blobs, 0.25)
    with pytest.raises(InvalidInputError, match=r"at least that of the grid, 0\.25, got \[0\.1,"):
        sweep(grid, [0.1, 1])
    with pytest.raises(InvalidInputError, match="step must be None with a grid"):
        sweep(grid, step=1)
    with pytest.raises(InvalidInputError, match="sample_weight must be None with a grid"):
        sweep(grid, sample_weight=np.ones(len(blobs)))


@pytest.mark.parametrize("n", [5_000, 200_000])  # all rows are counted, or a sample of them
def test_too_many_cells_raise_with_a_bandwidth_that_fits(n):
    X = np.random.default_rng(0).uniform(0, 1, (n, 3))
    with pytest.raises(InvalidInputError, match="smallest that fits is about") as caught:
        sweep(X, [0.001, 0.1], max_cells=1000)
    fits = float(str(caught.value).split()[-1])
    assert 0.08 < fits < 0.15
    assert len(sweep(X, [fits], max_cells=1500).base) <= 1500


def test_too_many_cells_raise_if_no_bandwidth_fits():
    X = np.random.default_rng(0).normal(0, 1, (500, 3))
    message = "no bandwidth fits.* both sides of 0 occupy at least 8 cells"
    for max_cells in (1, 7):
        with pytest.raises(InvalidInputError, match=message):
            sweep(X, [0.1], max_cells=max_cells)
    with pytest.raises(InvalidInputError, match="smallest that fits is about"):
        sweep(X, [0.1], max_cells=8)
    with pytest.raises(InvalidInputError, match="smallest that fits is about"):
        sweep(np.abs(X), [0.1], max_cells=1)
    wide = np.linspace(0.5, 1, 500)[:, None] * 1e15  # 2**31 - 1 cells are a small part of it
    with pytest.raises(InvalidInputError, match=r"no bandwidth up to 2\.147e\+09 fits"):
        sweep(wide, [1.0], max_cells=2)
