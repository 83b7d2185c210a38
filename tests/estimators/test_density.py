"""GridDensity: the definition, cell by cell; the laws; periods; samples.

Bad input is in test_density_input.py, the rule for the bandwidth in test_density_bandwidth.py, the
theorem in test_density_rate.py.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KernelDensity
from sklearn.utils.estimator_checks import parametrize_with_checks
from tests.strategies import MAX_FEATURES, cases, cuts, dyadic_cases, weights, whole

from meanshiftpp import Grid, GridDensity, MeanShiftPP, _kernel
from meanshiftpp.errors import GridMismatchError, InvalidInputError

ANGLES = st.integers(-400, 800)
RESOLUTIONS = st.sampled_from((0, 0, 1, 2, 5))
some = settings(max_examples=100, derandomize=True)


@pytest.fixture(scope="module")
def points():
    return np.random.default_rng(0).normal([0, 50], [1, 8], (3000, 2))


def assert_same(a: GridDensity, b: GridDensity) -> None:
    """Compare two densities bit for bit."""
    assert a.grid_ == b.grid_
    assert a.resolution_ == b.resolution_
    assert np.array_equal(a.bandwidth_, b.bandwidth_)


# No check is expected to fail.
@parametrize_with_checks([GridDensity(), GridDensity(1.0, resolution=2, n_jobs=2)])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


# -- the definition -------------------------------------------------------------------------------


def window_counts(grid, cells, reach, threads=1):
    return _kernel.window_counts(
        grid.cells, grid.counts, cells, grid.cells_per_period, reach, threads
    )


def cells_within(cells, reach):
    """Return all cells at most `reach` away from one of these, sorted."""
    steps = itertools.product(range(-reach, reach + 1), repeat=cells.shape[1])
    return np.unique(np.concatenate([cells + step for step in steps]), axis=0)


@some
@given(case=cases(), reach=RESOLUTIONS, threads=st.integers(1, 3), data=st.data())
def test_window_counts_are_the_counts_within_reach(case, reach, threads, data):
    grid = Grid.from_points(case.X, case.bandwidth)
    queries = data.draw(whole(data.draw(st.integers(0, 30)), grid.n_features, 12))
    queries = np.unique(np.concatenate([queries, grid.cells + queries[:1].sum(axis=0)]), axis=0)
    counts = window_counts(grid, queries, reach, threads)
    near = (np.abs(queries[:, None] - grid.cells) <= reach).all(axis=2)
    assert np.array_equal(counts, (near * grid.counts).sum(axis=1))


@some
@given(case=cases(), resolution=RESOLUTIONS)
def test_density_is_weight_over_total_and_volume(case, resolution):
    """Compare with the definition in NumPy, over all pairs of points."""
    model = GridDensity(case.bandwidth, resolution=resolution).fit(case.X)
    cell_size = np.broadcast_to(case.bandwidth, case.X.shape[1]) / (2 * resolution + 1)
    cell = np.floor(case.X.astype(np.float64) / cell_size)
    count = (np.abs(cell[:, None] - cell) <= resolution).all(axis=2).sum(axis=1)
    volume = math.fsum(np.log(np.broadcast_to(case.bandwidth, case.X.shape[1])))
    expected = np.log(count) - math.log(len(case.X)) - volume
    assert np.allclose(model.score_samples(case.X), expected, rtol=1e-12, atol=1e-12)


@some
@given(case=cases(), data=st.data())
def test_density_integrates_to_one(case, data):
    """In whole numbers: the counts of all windows sum to (2r+1)^d times the total."""
    max_resolution = {1: 5, 2: 5, 3: 2, 4: 1}.get(case.X.shape[1], 0)
    resolution = data.draw(st.integers(0, max_resolution))
    model = GridDensity(case.bandwidth, resolution=resolution).fit(case.X)
    grid = model.grid_
    everywhere = cells_within(grid.cells, resolution)
    counts = window_counts(grid, everywhere, resolution)
    assert int(counts.sum()) == len(case.X) * (2 * resolution + 1) ** grid.n_features
    assert (counts > 0).all()


def test_density_is_a_histogram(points):
    """Compare with all bins of NumPy's histogram."""
    model = GridDensity([0.5, 4.0], resolution=0).fit(points)
    edges = [np.arange(-12, 13) * 0.5, np.arange(0, 26) * 4.0]
    expected, *_ = np.histogram2d(*points.T, bins=edges, density=True)
    middles = np.meshgrid(*[(e[1:] + e[:-1]) / 2 for e in edges], indexing="ij")
    at = np.exp(model.score_samples(np.stack(middles, axis=-1).reshape(-1, 2)))
    assert np.allclose(at, expected.ravel(), rtol=1e-12, atol=0)


def test_density_in_the_middle_of_a_cell_is_a_kernel_density(points):
    """The window is centred there: scikit-learn's tophat kernel, in one dimension a box."""
    X = points[:, :1]
    model = GridDensity(1.0, resolution=4).fit(X)
    middles = (np.arange(-60, 60)[:, None] + 0.5) / 9
    peer = KernelDensity(kernel="tophat", bandwidth=0.5).fit(X)
    assert np.allclose(model.score_samples(middles), peer.score_samples(middles))


def test_density_is_zero_if_the_window_is_empty(points):
    model = GridDensity([0.5, 4.0], resolution=1).fit(points)
    assert model.score_samples([[0, 500]]).tolist() == [-math.inf]
    assert model.score([[0, 50], [0, 500]]) == -math.inf
    assert model.score(points) == model.score_samples(points).sum()
    assert math.isfinite(model.score(points))


@pytest.mark.parametrize("resolution", [1, 2, 4])
def test_mean_shift_climbs_this_density(points, resolution):
    search = MeanShiftPP([0.5, 4.0], resolution=resolution).fit(points)
    density = GridDensity([1.5, 12.0], resolution=resolution).fit(points)
    assert search.grid_ == density.grid_
    peaks = density.score_samples(search.cluster_centers_)
    assert peaks[0] >= np.quantile(density.score_samples(points), 0.95)


@pytest.mark.parametrize("d", [MAX_FEATURES + 1, 12, 40])
def test_density_of_many_features(d):
    """Compare with the definition over all pairs; the other tests draw few features."""
    X = np.random.default_rng(0).normal(size=(200, d)) / math.sqrt(d)
    model = GridDensity(1.5, resolution=1).fit(X)
    cell = np.floor(X / 0.5)
    count = (np.abs(cell[:, None] - cell) <= 1).all(axis=2).sum(axis=1)
    assert count.max() > 5
    expected = np.log(count / 200) - d * math.log(1.5)
    assert np.allclose(model.score_samples(X), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(("d", "resolution"), [(1, 16), (2, 8), (3, 4), (4, 2), (5, 2), (6, 1)])
def test_default_resolution_depends_on_the_number_of_features(d, resolution):
    X = np.random.default_rng(0).normal(size=(500, d))
    default = GridDensity().fit(X)
    assert default.resolution is None, "fit does not change a parameter"
    assert default.resolution_ == resolution
    assert_same(default, GridDensity(resolution=resolution).fit(X))
    assert_same(GridDensity().partial_fit(X), default)
    assert (2 * resolution + 1) ** d <= 4096, "the GPU counts such windows"


def test_names_of_a_table_are_kept(points):
    table = pd.DataFrame(points, columns=["x", "y"])
    model = GridDensity(2.0).fit(table)
    assert model.feature_names_in_.tolist() == ["x", "y"]
    assert_same(model, GridDensity(2.0).fit(points))
    with pytest.raises(ValueError, match="feature names"):
        model.score_samples(table[["y", "x"]])


def test_bandwidth_can_be_chosen_by_cross_validation(points):
    """The held-out score is finite only if the windows of all points are occupied."""
    core = points[np.abs(points[:, 0]) < 1.5]
    search = GridSearchCV(GridDensity(resolution=1), {"bandwidth": [[2, 16], [9, 72]]})
    assert search.fit(core[np.abs(core[:, 1] - 50) < 12]).best_params_ == {"bandwidth": [2, 16]}


# -- laws -----------------------------------------------------------------------------------------


@some
@given(case=cases(), resolution=RESOLUTIONS, data=st.data())
def test_chunks_give_the_density_of_all_points(case, resolution, data):
    parts = np.split(case.X, data.draw(cuts(len(case.X))))
    chunked = GridDensity(case.bandwidth, resolution=resolution)
    for part in data.draw(st.permutations(parts)):
        chunked.partial_fit(part)
    once = GridDensity(case.bandwidth, resolution=resolution).fit(case.X)
    assert_same(chunked, once)
    cell_size = once.grid_.bandwidth
    merged = sum((Grid.from_points(p, cell_size) for p in parts), Grid.empty(cell_size))
    loaded = GridDensity.from_grid(merged, resolution=resolution)
    assert loaded.grid_ == once.grid_
    assert np.array_equal(loaded.score_samples(case.X), once.score_samples(case.X))


@some
@given(case=cases(), resolution=RESOLUTIONS, data=st.data())
def test_whole_weight_counts_as_repetitions(case, resolution, data):
    w = data.draw(weights(len(case.X)))
    for bandwidth in (case.bandwidth, None):
        model = GridDensity(bandwidth, resolution=resolution)
        weighted = clone(model).fit(case.X, sample_weight=w)
        assert_same(weighted, clone(model).fit(np.repeat(case.X, w, axis=0)))


@pytest.mark.parametrize("ignored", [-1.0, 1.0, math.nan])
def test_point_of_zero_weight_has_no_effect(ignored):
    """Not even if the bandwidth of the other points is far too small for it."""
    assert_same(
        GridDensity().fit([[ignored], [7e-68]], sample_weight=[0, 1]),
        GridDensity().fit([[7e-68]]),
    )


def test_chunk_of_zero_weight_has_no_effect():
    X = [[0.0], [0.1], [0.2]]
    model = GridDensity(1.0).partial_fit([[7.0]], sample_weight=[0])
    assert not hasattr(model, "grid_")
    model.partial_fit(X).partial_fit([[7.0]], sample_weight=[0])
    assert model.grid_ == GridDensity(1.0).fit(X).grid_


def test_real_weights_are_shares():
    model = GridDensity(1.0).fit([[0.5], [1.5]], sample_weight=[0.75, 0.25])
    assert np.exp(model.score_samples([[0.1], [1.1]])) == pytest.approx([0.75, 0.25], rel=1e-14)


@pytest.mark.parametrize("resolution", [0, 3])
def test_order_and_threads_do_not_change_the_density(points, resolution):
    model = GridDensity(resolution=resolution, n_jobs=1).fit(points)
    order = np.random.default_rng(1).permutation(len(points))
    other = GridDensity(resolution=resolution, n_jobs=5).fit(points[order])
    assert_same(model, other)
    assert np.array_equal(model.score_samples(points)[order], other.score_samples(points[order]))


@some
@given(case=dyadic_cases(), resolution=st.sampled_from((0, 1)), data=st.data())
def test_moving_by_whole_cells_moves_the_density(case, resolution, data):
    """Windows are one or three cells of dyadic size, so that nothing is rounded."""
    step = data.draw(st.integers(-9, 9)) * np.asarray(case.bandwidth)
    window = np.asarray(case.bandwidth) * (2 * resolution + 1)
    here = GridDensity(window, resolution=resolution).fit(case.X)
    there = GridDensity(window, resolution=resolution).fit(case.X + step)
    assert np.array_equal(here.score_samples(case.X), there.score_samples(case.X + step))


def test_density_of_a_grid_can_be_continued(points):
    """Also if (2r+1) * h / (2r+1) rounds to another number than h."""
    for h in np.random.default_rng(2).uniform(0.1, 1, 20):
        grid = Grid.from_points(points[:1000], h)
        model = GridDensity.from_grid(grid, resolution=3).partial_fit(points[1000:])
        assert model.grid_ == Grid.from_points(points, h)


# -- periods --------------------------------------------------------------------------------------


@some
@given(
    angles=hnp.arrays(np.int64, st.tuples(st.integers(1, 20), st.just(2)), elements=ANGLES),
    resolution=st.sampled_from((0, 1, 2)),
    step=st.integers(-4, 4),
)
def test_period_has_no_edge(angles, resolution, step):
    """Shifted data have a shifted density, and the windows of a period hold all the weight."""
    cells = 2 * resolution + 1
    options = {"bandwidth": [45 * cells, 5.0], "resolution": resolution}
    model = GridDensity(**options, periodic=[360, None]).fit(angles)
    assert model.grid_.cells_per_period.tolist() == [8, 0]
    shifted = angles + np.array([45 * step, 0])
    other = GridDensity(**options, periodic=[360, None]).fit(shifted)
    assert np.array_equal(model.score_samples(angles), other.score_samples(shifted))
    assert np.array_equal(
        model.score_samples(angles), model.score_samples(angles + np.array([720, 0]))
    )
    everywhere = cells_within(model.grid_.cells, resolution)
    everywhere = np.unique(np.c_[everywhere[:, 0] % 8, everywhere[:, 1]], axis=0)
    counts = window_counts(model.grid_, everywhere, resolution)
    assert int(counts.sum()) == len(angles) * cells**2
    drawn = model.sample(200, random_state=0)
    assert ((drawn[:, 0] >= 0) & (drawn[:, 0] < 360)).all()
    assert np.isfinite(model.score_samples(drawn)).all()


def test_periods_of_a_grid_are_kept(points):
    grid = Grid.from_points(points * 60, 10, periodic=[360, None])
    model = GridDensity.from_grid(grid, resolution=2)
    assert np.array_equal(model.bandwidth_, grid.bandwidth * 5)
    assert model.partial_fit(points * 60).grid_ == grid + grid
    with pytest.raises(GridMismatchError, match="period"):
        model.set_params(periodic=None).partial_fit(points)
    with pytest.raises(InvalidInputError, match="73 cells"):
        GridDensity.from_grid(grid, resolution=36)


def test_automatic_bandwidth_fits_into_the_period():
    model = GridDensity(resolution=1, periodic=[0.5]).fit([[0.0], [0.0]])
    assert model.bandwidth_ == pytest.approx(0.5)
    assert np.exp(model.score_samples([[0.3], [17.4]])) == pytest.approx(2)


# -- samples --------------------------------------------------------------------------------------


@some
@given(case=cases(), resolution=RESOLUTIONS, seed=st.integers(0, 99))
def test_samples_have_a_positive_density(case, resolution, seed):
    model = GridDensity(case.bandwidth, resolution=resolution).fit(case.X)
    assert np.isfinite(model.score_samples(model.sample(50, seed))).all()


def test_samples_far_from_zero_have_a_positive_density():
    model = GridDensity(0.1, resolution=0).fit([[1e13], [-3e13]])  # a cell spans a few floats
    assert np.isfinite(model.score_samples(model.sample(1000, 0))).all()


@pytest.mark.parametrize("resolution", [0, 1, 3])
def test_samples_follow_the_density(points, resolution):
    """Test the cells by chi-square, and the positions in a cell by Kolmogorov-Smirnov."""
    model = GridDensity([2.0, 16.0], resolution=resolution).fit(points[:300])
    drawn = model.sample(200_000, random_state=1)
    cell_size = model.grid_.bandwidth
    cells, times = np.unique(np.floor(drawn / cell_size), axis=0, return_counts=True)
    share = np.exp(model.score_samples((cells + 0.5) * cell_size)) * cell_size.prod()
    assert share.sum() == pytest.approx(1, abs=1e-3), "nearly every cell was drawn"
    likely = share * len(drawn) > 5
    expected = share[likely] / share[likely].sum() * times[likely].sum()
    assert scipy.stats.chisquare(times[likely], expected).pvalue > 1e-3
    for axis in (drawn / cell_size % 1).T:
        assert scipy.stats.kstest(axis, "uniform").pvalue > 1e-3


def test_samples_are_reproducible(points):
    model = GridDensity(1.0).fit(points)
    assert np.array_equal(model.sample(5, 3), model.sample(5, np.random.RandomState(3)))
    assert model.sample(0).shape == (0, 2)
    assert model.sample().shape == (1, 2)
