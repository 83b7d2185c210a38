"""The density: what it is, cell by cell; that grids add up here too; and the theorem."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import scipy.stats
from benchmarks.rate import CASES, Cusp, errors, slope
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KernelDensity
from sklearn.utils.estimator_checks import parametrize_with_checks
from tests.strategies import MAX_FEATURES, cases, cuts, dyadic_cases, weights, whole

from benchmarks import density as comparison
from benchmarks import rate
from meanshiftpp import Grid, GridDensity, MeanShiftPP, _kernel
from meanshiftpp.errors import GridMismatchError, InvalidInputError
from meanshiftpp.estimators.density import density_bandwidth

turns = st.integers(-400, 800)
RESOLUTIONS = st.sampled_from((0, 0, 1, 2, 5))
some = settings(max_examples=100, deadline=None, derandomize=True)


@pytest.fixture(scope="module")
def points():
    return np.random.default_rng(0).normal([0, 50], [1, 8], (3000, 2))


def same(a: GridDensity, b: GridDensity) -> None:
    """Both are the same density, to the last bit."""
    assert a.grid_ == b.grid_
    assert a.resolution_ == b.resolution_
    assert np.array_equal(a.bandwidth_, b.bandwidth_)


# No check is expected to fail.
@parametrize_with_checks([GridDensity(), GridDensity(1.0, resolution=2, n_jobs=2)])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


# -- what it is ------------------------------------------------------------------------------------


def windows(grid, asked, reach, threads=1):
    return _kernel.window_counts(
        grid.cells, grid.counts, asked, grid.cells_per_period, reach, threads
    )


def around(cells, reach):
    """All cells at most `reach` away from some of these, sorted."""
    steps = itertools.product(range(-reach, reach + 1), repeat=cells.shape[1])
    return np.unique(np.concatenate([cells + step for step in steps]), axis=0)


@some
@given(case=cases(), reach=RESOLUTIONS, threads=st.integers(1, 3), data=st.data())
def test_window_counts_are_the_counts_within_reach(case, reach, threads, data):
    grid = Grid.from_points(case.X, case.bandwidth)
    asked = data.draw(whole(data.draw(st.integers(0, 30)), grid.n_features, 12))
    asked = np.unique(np.concatenate([asked, grid.cells + asked[:1].sum(axis=0)]), axis=0)
    found = windows(grid, asked, reach, threads)
    near = (np.abs(asked[:, None] - grid.cells) <= reach).all(axis=2)
    assert np.array_equal(found, (near * grid.counts).sum(axis=1))


@some
@given(case=cases(), resolution=RESOLUTIONS)
def test_the_density_is_weight_over_total_and_volume(case, resolution):
    """The definition, written out in NumPy over all pairs of points."""
    model = GridDensity(case.bandwidth, resolution=resolution).fit(case.X)
    side = np.broadcast_to(case.bandwidth, case.X.shape[1]) / (2 * resolution + 1)
    cell = np.floor(case.X.astype(np.float64) / side)
    count = (np.abs(cell[:, None] - cell) <= resolution).all(axis=2).sum(axis=1)
    volume = math.fsum(np.log(np.broadcast_to(case.bandwidth, case.X.shape[1])))
    expected = np.log(count) - math.log(len(case.X)) - volume
    assert np.allclose(model.score_samples(case.X), expected, rtol=1e-12, atol=1e-12)


@some
@given(case=cases(), data=st.data())
def test_the_density_integrates_to_one(case, data):
    """In whole numbers: over all cells, the windows' counts are the total (2r+1)^d times."""
    most = {1: 5, 2: 5, 3: 2, 4: 1}.get(case.X.shape[1], 0)
    resolution = data.draw(st.integers(0, most))
    model = GridDensity(case.bandwidth, resolution=resolution).fit(case.X)
    grid = model.grid_
    everywhere = around(grid.cells, resolution)
    counts = windows(grid, everywhere, resolution)
    assert int(counts.sum()) == len(case.X) * (2 * resolution + 1) ** grid.n_features
    assert (counts > 0).all()


def test_it_is_a_histogram(points):
    """Against NumPy's, over all of its bins."""
    model = GridDensity([0.5, 4.0]).fit(points)
    edges = [np.arange(-12, 13) * 0.5, np.arange(0, 26) * 4.0]
    expected, *_ = np.histogram2d(*points.T, bins=edges, density=True)
    middles = np.meshgrid(*[(e[1:] + e[:-1]) / 2 for e in edges], indexing="ij")
    at = np.exp(model.score_samples(np.stack(middles, axis=-1).reshape(-1, 2)))
    assert np.allclose(at, expected.ravel(), rtol=1e-12, atol=0)


def test_in_the_middle_of_a_cell_it_is_a_kernel_density(points):
    """There the window is centred, and that is scikit-learn's top hat (a box, in one dimension)."""
    X = points[:, :1]
    model = GridDensity(1.0, resolution=4).fit(X)
    middles = (np.arange(-60, 60)[:, None] + 0.5) / 9
    peer = KernelDensity(kernel="tophat", bandwidth=0.5).fit(X)
    assert np.allclose(model.score_samples(middles), peer.score_samples(middles))


def test_where_no_point_is_near_it_is_zero(points):
    model = GridDensity([0.5, 4.0], resolution=1).fit(points)
    assert model.score_samples([[0, 500]]).tolist() == [-math.inf]
    assert model.score([[0, 50], [0, 500]]) == -math.inf
    assert model.score(points) == model.score_samples(points).sum()
    assert math.isfinite(model.score(points))


@pytest.mark.parametrize("resolution", [1, 2, 4])
def test_it_is_what_mean_shift_climbs(points, resolution):
    search = MeanShiftPP([0.5, 4.0], resolution=resolution).fit(points)
    density = GridDensity([1.5, 12.0], resolution=resolution).fit(points)
    assert search.grid_ == density.grid_
    peaks = density.score_samples(search.cluster_centers_)
    assert peaks[0] >= np.quantile(density.score_samples(points), 0.95)


def test_a_table_brings_its_names(points):
    table = pd.DataFrame(points, columns=["x", "y"])
    model = GridDensity(2.0).fit(table)
    assert model.feature_names_in_.tolist() == ["x", "y"]
    same(model, GridDensity(2.0).fit(points))
    with pytest.raises(ValueError, match="feature names"):
        model.score_samples(table[["y", "x"]])


def test_a_bandwidth_can_be_searched(points):
    """The score of points held out, which takes a window that leaves none of them out."""
    core = points[np.abs(points[:, 0]) < 1.5]
    search = GridSearchCV(GridDensity(resolution=1), {"bandwidth": [[2, 16], [9, 72]]})
    assert search.fit(core[np.abs(core[:, 1] - 50) < 12]).best_params_ == {"bandwidth": [2, 16]}


# -- the laws --------------------------------------------------------------------------------------


@some
@given(case=cases(), resolution=RESOLUTIONS, data=st.data())
def test_chunks_make_the_density_of_the_whole(case, resolution, data):
    parts = np.split(case.X, data.draw(cuts(len(case.X))))
    chunked = GridDensity(case.bandwidth, resolution=resolution)
    for part in data.draw(st.permutations(parts)):
        chunked.partial_fit(part)
    once = GridDensity(case.bandwidth, resolution=resolution).fit(case.X)
    same(chunked, once)
    side = once.grid_.bandwidth
    merged = sum((Grid.from_points(p, side) for p in parts), Grid.empty(side))
    loaded = GridDensity.from_grid(merged, resolution=resolution)
    assert loaded.grid_ == once.grid_
    assert np.array_equal(loaded.score_samples(case.X), once.score_samples(case.X))


@some
@given(case=cases(), resolution=RESOLUTIONS, data=st.data())
def test_a_whole_weight_is_that_many_points(case, resolution, data):
    w = data.draw(weights(len(case.X)))
    for bandwidth in (case.bandwidth, None):
        model = GridDensity(bandwidth, resolution=resolution)
        weighted = clone(model).fit(case.X, sample_weight=w)
        same(weighted, clone(model).fit(np.repeat(case.X, w, axis=0)))


@pytest.mark.parametrize("idle", [-1.0, 1.0, math.nan])
def test_a_point_of_no_weight_is_as_if_not_there(idle):
    """Also where a bandwidth that suits the others is far too small for it."""
    same(
        GridDensity().fit([[idle], [7e-68]], sample_weight=[0, 1]),
        GridDensity().fit([[7e-68]]),
    )


def test_real_weights_are_shares():
    model = GridDensity(1.0).fit([[0.5], [1.5]], sample_weight=[0.75, 0.25])
    assert np.exp(model.score_samples([[0.1], [1.1]])) == pytest.approx([0.75, 0.25], rel=1e-14)


@pytest.mark.parametrize("resolution", [0, 3])
def test_order_and_threads_change_nothing(points, resolution):
    model = GridDensity(resolution=resolution, n_jobs=1).fit(points)
    order = np.random.default_rng(1).permutation(len(points))
    other = GridDensity(resolution=resolution, n_jobs=5).fit(points[order])
    same(model, other)
    assert np.array_equal(model.score_samples(points)[order], other.score_samples(points[order]))


@some
@given(case=dyadic_cases(), resolution=st.sampled_from((0, 1)), data=st.data())
def test_moving_by_whole_cells_moves_the_density(case, resolution, data):
    """Windows of one cell or three, of dyadic sides: nothing is rounded."""
    step = data.draw(st.integers(-9, 9)) * np.asarray(case.bandwidth)
    window = np.asarray(case.bandwidth) * (2 * resolution + 1)
    here = GridDensity(window, resolution=resolution).fit(case.X)
    there = GridDensity(window, resolution=resolution).fit(case.X + step)
    assert np.array_equal(here.score_samples(case.X), there.score_samples(case.X + step))


def test_a_grid_goes_on_growing(points):
    """Also where (2r+1) * side / (2r+1) is not side again."""
    for side in np.random.default_rng(2).uniform(0.1, 1, 20):
        grid = Grid.from_points(points[:1000], side)
        model = GridDensity.from_grid(grid, resolution=3).partial_fit(points[1000:])
        assert model.grid_ == Grid.from_points(points, side)


# -- periods ---------------------------------------------------------------------------------------


@some
@given(
    angles=hnp.arrays(np.int64, st.tuples(st.integers(1, 20), st.just(2)), elements=turns),
    resolution=st.sampled_from((0, 1, 2)),
    step=st.integers(-4, 4),
)
def test_a_period_has_no_edge(angles, resolution, step):
    """Turning the data turns the density, and all of the period's windows hold all the weight."""
    cells = 2 * resolution + 1
    settings = {"bandwidth": [45 * cells, 5.0], "resolution": resolution}
    model = GridDensity(**settings, periodic=[360, None]).fit(angles)
    assert model.grid_.cells_per_period.tolist() == [8, 0]
    turned = angles + np.array([45 * step, 0])
    other = GridDensity(**settings, periodic=[360, None]).fit(turned)
    assert np.array_equal(model.score_samples(angles), other.score_samples(turned))
    assert np.array_equal(
        model.score_samples(angles), model.score_samples(angles + np.array([720, 0]))
    )
    everywhere = around(model.grid_.cells, resolution)
    everywhere = np.unique(np.c_[everywhere[:, 0] % 8, everywhere[:, 1]], axis=0)
    counts = windows(model.grid_, everywhere, resolution)
    assert int(counts.sum()) == len(angles) * cells**2
    drawn = model.sample(200, random_state=0)
    assert ((drawn[:, 0] >= 0) & (drawn[:, 0] < 360)).all()
    assert np.isfinite(model.score_samples(drawn)).all()


def test_a_grid_brings_its_periods(points):
    grid = Grid.from_points(points * 60, 10, periodic=[360, None])
    model = GridDensity.from_grid(grid, resolution=2)
    assert np.array_equal(model.bandwidth_, grid.bandwidth * 5)
    assert model.partial_fit(points * 60).grid_ == grid + grid
    with pytest.raises(GridMismatchError, match="period"):
        model.set_params(periodic=None).partial_fit(points)
    with pytest.raises(InvalidInputError, match="73 cells"):
        GridDensity.from_grid(grid, resolution=36)


def test_the_rule_fits_into_the_period():
    model = GridDensity(resolution=1, periodic=[1.0]).fit([[0.0], [0.9]])
    assert model.bandwidth_ == pytest.approx(1)
    assert np.exp(model.score_samples([[0.3], [17.4]])) == pytest.approx(1)


# -- drawing from it -------------------------------------------------------------------------------


@some
@given(case=cases(), resolution=RESOLUTIONS, seed=st.integers(0, 99))
def test_what_is_drawn_is_where_the_density_is(case, resolution, seed):
    model = GridDensity(case.bandwidth, resolution=resolution).fit(case.X)
    assert np.isfinite(model.score_samples(model.sample(50, seed))).all()


def test_what_is_drawn_far_from_zero_is_where_the_density_is():
    model = GridDensity(0.1).fit([[1e13], [-3e13]])  # a cell is a few steps of a float
    assert np.isfinite(model.score_samples(model.sample(1000, 0))).all()


@pytest.mark.parametrize("resolution", [0, 1, 3])
def test_draws_follow_the_density(points, resolution):
    """By a chi-square test over cells, and one of the places in a cell; the seed is fixed."""
    model = GridDensity([2.0, 16.0], resolution=resolution).fit(points[:300])
    drawn = model.sample(200_000, random_state=1)
    side = model.grid_.bandwidth
    cells, times = np.unique(np.floor(drawn / side), axis=0, return_counts=True)
    share = np.exp(model.score_samples((cells + 0.5) * side)) * side.prod()
    assert share.sum() == pytest.approx(1, abs=1e-3), "nearly every cell was drawn"
    likely = share * len(drawn) > 5
    expected = share[likely] / share[likely].sum() * times[likely].sum()
    assert scipy.stats.chisquare(times[likely], expected).pvalue > 1e-3
    for axis in (drawn / side % 1).T:
        assert scipy.stats.kstest(axis, "uniform").pvalue > 1e-3


def test_draws_are_repeatable(points):
    model = GridDensity(1.0).fit(points)
    assert np.array_equal(model.sample(5, 3), model.sample(5, np.random.RandomState(3)))
    assert model.sample(0).shape == (0, 2)
    assert model.sample().shape == (1, 2)


# -- the rule --------------------------------------------------------------------------------------


def test_the_rule_for_one_feature_is_the_known_one():
    X = np.random.default_rng(0).normal(5, 3, (4000, 1))
    expected = 2 * 3 ** (1 / 3) * math.pi ** (1 / 6) * X.std() / 4000 ** (1 / 3)
    assert density_bandwidth(X) == pytest.approx(expected, rel=1e-6)
    assert GridDensity().fit(X).bandwidth_ == density_bandwidth(X)


@pytest.mark.parametrize("smoothness", [1.0, 0.5, 0.1])
@pytest.mark.parametrize("d", [1, 2, 3])
def test_the_rule_has_the_theorems_rate(smoothness, d):
    X = np.random.default_rng(0).normal(size=(50, d))
    sizes = np.array([1, 100, 10_000])
    found = [density_bandwidth(X, np.full(50, times), smoothness=smoothness)[0] for times in sizes]
    assert slope(sizes, found) == pytest.approx(-1 / (2 * smoothness + d), abs=1e-6)


def squared_error(model, d):
    """The integrated squared error for a standard normal density, on a fine lattice."""
    step = 0.004 if d == 1 else 0.05
    t = np.arange(-5, 5, step) + 0.5 * step
    at = np.stack([m.ravel() for m in np.meshgrid(*[t] * d)], axis=1)
    off = np.exp(model.score_samples(at)) - scipy.stats.norm.pdf(at).prod(axis=1)
    return (off**2).sum() * step**d


@pytest.mark.parametrize(("d", "resolution"), [(1, 0), (1, 1), (1, 4), (2, 0), (2, 2)])
def test_the_rules_constant_is_near_the_best(d, resolution):
    """For a normal density: wider or narrower by half is worse, on the mean of 20 samples."""
    random = np.random.default_rng(0)
    error = np.zeros(3)
    for _ in range(20):
        X = random.normal(size=(5000, d))
        h = density_bandwidth(X, resolution=resolution)
        for k, factor in enumerate((1, 1 / 1.6, 1.6)):
            model = GridDensity(h * factor, resolution=resolution).fit(X)
            error[k] += squared_error(model, d)
    assert error[0] < error[1]
    assert error[0] < error[2]


def test_a_feature_that_does_not_vary_is_one_cell():
    X = np.c_[np.arange(10.0), np.full(10, 7.0), np.zeros(10)]
    model = GridDensity().fit(X)
    assert model.bandwidth_[1:].tolist() == [7.0, 1.0]
    assert len(np.unique(model.grid_.cells[:, 1:], axis=0)) == 1


# -- the theorem -----------------------------------------------------------------------------------

SIZES = (1_000, 10_000, 100_000, 300_000)


@pytest.mark.parametrize("truth", CASES, ids=lambda t: f"a={t.a:g},d={t.d}")
def test_the_largest_error_falls_at_the_theorems_rate(truth):
    """The slope in n is that of the bound h^a + sqrt(log(1/h) / (n h^d)), within 0.05.

    The slopes of ten or so samples a size scatter by about 0.015, and come out flatter by up to
    0.03: random errors are largest near the peak, which large cells do not resolve. The bounds
    of a = 1 and a = 0.5 are 0.08 apart or more, so 0.05 tells them apart from both sides.
    """
    measured = slope(SIZES, (np.mean(errors(truth, n, 10)) for n in SIZES))
    assert measured == pytest.approx(slope(SIZES, map(truth.bound, SIZES)), abs=0.05)


@pytest.mark.parametrize("truth", CASES, ids=lambda t: f"a={t.a:g},d={t.d}")
def test_the_error_is_within_the_guarantee(truth):
    """With all constants written out, and a probability of failure of one in a thousand."""
    for n in SIZES[:3]:
        bound = truth.guarantee(n, truth.bandwidth(n), delta=1e-3)
        assert max(errors(truth, n, 10)) <= bound


def test_a_bandwidth_that_stays_leaves_an_error():
    """At the cusp of a = 1 the mean over a cell is h / 2 too low, however many the points."""
    truth, h = Cusp(1.0, 1), 0.125
    kept = errors(truth, 1_000_000, 3, bandwidth=h)
    assert min(kept) > h / 2 - 0.01
    assert max(errors(truth, 1_000_000, 3)) < h / 2 - 0.02


@pytest.mark.parametrize("truth", [Cusp(1.0, 1), Cusp(0.5, 2)])
def test_finer_cells_keep_the_rate(truth):
    measured = slope(SIZES, (np.mean(errors(truth, n, 10, resolution=2)) for n in SIZES))
    assert measured == pytest.approx(slope(SIZES, map(truth.bound, SIZES)), abs=0.05)


def test_the_theorem_says_nothing_of_cells_across_an_edge():
    """Of a uniform density: right inside, and as wrong as ever in the cell that holds the edge."""
    X = np.random.default_rng(0).uniform(0, 1, (1_000_000, 1))
    model = GridDensity(0.03).fit(X)
    inside = np.exp(model.score_samples((np.arange(33)[:, None] + 0.5) * 0.03))
    assert np.abs(inside - 1).max() < 0.03
    assert np.exp(model.score_samples([[0.995]])) == pytest.approx(1 / 3, abs=0.02)


def test_the_figure_is_drawn(tmp_path, capsys):
    picture = tmp_path / "figures" / "rate.png"
    assert rate.main(["--most", "1e4", "--repeats", "2", "--picture", str(picture)]) == 0
    assert picture.read_bytes().startswith(b"\x89PNG")
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2 + len(CASES)
    with pytest.raises(SystemExit, match="2"):
        rate.main(["--most", "10"])


def test_the_comparison_has_every_figure(points):
    cells = comparison.row("normal", points[:200], rounds=1).strip("| ").split(" | ")
    assert cells[:2] == ["normal", "120"]
    assert all(math.isfinite(float(cell)) for cell in cells[2:8])
    assert all(cell.endswith("x") for cell in cells[8:])


# -- bad input -------------------------------------------------------------------------------------


def test_bad_points_are_named(points):
    bad = points.copy()
    bad[17, 1] = np.nan
    for bandwidth in (1.0, None):
        with pytest.raises(InvalidInputError, match=r"X\[17, 1\] is NaN"):
            GridDensity(bandwidth).fit(bad)
    with pytest.raises(InvalidInputError, match=r"X\[17, 1\] is NaN"):
        GridDensity(1.0).fit(points).score_samples(bad)
    with pytest.raises(TypeError, match=r"[Ss]parse"):
        GridDensity(1.0).fit(scipy.sparse.csr_matrix(points))


@pytest.mark.parametrize(
    "parameters",
    [
        *({"bandwidth": b} for b in (0, -1, math.nan, math.inf, "wide", [1], [1, -1], [[1, 1]])),
        *({"resolution": r} for r in (-1, 65, 0.5, "fine", None)),
        *({"periodic": p} for p in (0, -1, math.nan, [1], [1, -1], "round", [5.0, "x"])),
        *({"smoothness": a} for a in (0, 1.1, math.nan, None)),
    ],
)
def test_bad_parameters_are_refused(points, parameters):
    with pytest.raises(
        ValueError, match="period" if "periodic" in parameters else next(iter(parameters))
    ):
        GridDensity(**parameters).fit(points)


@pytest.mark.parametrize("bandwidth", [1.0, None])
@pytest.mark.parametrize("weight", [[1, 2], np.zeros(3000), np.full(3000, -1.0), ["a"] * 3000])
def test_bad_weights_are_refused(points, weight, bandwidth):
    with pytest.raises(InvalidInputError, match="weight"):
        GridDensity(bandwidth).fit(points, sample_weight=weight)


def test_what_does_not_add_up_is_refused_and_changes_nothing(points):
    model = GridDensity(1.0).partial_fit(points)
    before = clone(model).fit(points)
    for change in ({"bandwidth": 2.0}, {"resolution": 1}):
        with pytest.raises(GridMismatchError, match="bandwidth"):
            model.set_params(**change).partial_fit(points)
        model.set_params(bandwidth=1.0, resolution=0)
        same(model, before)
    with pytest.raises(InvalidInputError):
        model.fit(points, sample_weight=np.zeros(len(points)))
    same(model, before)
    same(model.partial_fit(points[:0]), before)


def test_without_points_there_is_no_density():
    with pytest.raises(InvalidInputError, match="points"):
        GridDensity.from_grid(Grid.empty(1.0))
    for call in ("score_samples", "score"):
        with pytest.raises(NotFittedError):
            getattr(GridDensity(), call)([[1.0]])
    with pytest.raises(NotFittedError):
        GridDensity().sample()
    with pytest.raises(NotFittedError):
        GridDensity(1.0).partial_fit(np.empty((0, 2))).sample()


@pytest.mark.parametrize("n", [-1, 1.5, "many", True, None])
def test_a_bad_number_of_draws_is_refused(points, n):
    with pytest.raises(InvalidInputError, match="n_samples"):
        GridDensity(1.0).fit(points).sample(n)


@pytest.mark.parametrize("resolution", [-1, 1.5, "fine", 65])
def test_a_bad_resolution_for_a_grid_is_refused(resolution):
    with pytest.raises(ValueError, match="resolution"):
        GridDensity.from_grid(Grid.from_points([[1.0]], 1.0), resolution=resolution)


@pytest.mark.parametrize("d", [MAX_FEATURES + 1, 12, 40])
def test_more_features_have_the_same_density(d):
    """By the definition over all pairs; the other tests draw few features."""
    X = np.random.default_rng(0).normal(size=(200, d)) / math.sqrt(d)
    model = GridDensity(1.5, resolution=1).fit(X)
    cell = np.floor(X / 0.5)
    count = (np.abs(cell[:, None] - cell) <= 1).all(axis=2).sum(axis=1)
    assert count.max() > 5
    expected = np.log(count / 200) - d * math.log(1.5)
    assert np.allclose(model.score_samples(X), expected, rtol=1e-12, atol=1e-12)


def test_a_chunk_of_no_weight_is_not_counted():
    X = [[0.0], [0.1], [0.2]]
    model = GridDensity(1.0).partial_fit([[7.0]], sample_weight=[0])
    assert not hasattr(model, "grid_")
    model.partial_fit(X).partial_fit([[7.0]], sample_weight=[0])
    assert model.grid_ == GridDensity(1.0).fit(X).grid_
