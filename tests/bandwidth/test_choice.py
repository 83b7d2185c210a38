"""The automatic choice of a bandwidth: the laws of each method, and the clusters it finds."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm
from sklearn.datasets import load_iris, make_blobs
from sklearn.metrics import adjusted_rand_score, calinski_harabasz_score

from meanshiftpp import Grid, MeanShiftPP, seek, segment, select_bandwidth, sweep
from meanshiftpp.bandwidth.choice import CANDIDATES, FINE_CANDIDATES, separation
from meanshiftpp.core.scale import (
    SAMPLE_SIZE,
    gradient_reference,
    sample_rows,
    scale_of_points,
)
from meanshiftpp.errors import InvalidInputError
from meanshiftpp.estimators.density import density_bandwidth

METHODS = ["auto", "stability", "lscv", "rule"]


@pytest.fixture(scope="module")
def blobs():
    X, labels = make_blobs(900, centers=[(0, 0), (9, 2), (3, 10)], random_state=0)
    return X * [1, 50], labels


# -- laws ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
def test_order_and_threads_do_not_change_the_result(blobs, method):
    X = blobs[0] + 1000.3
    expected = select_bandwidth(X, method=method, n_threads=1)
    assert expected.shape == (2,)
    assert expected.dtype == np.float64
    shuffled = np.random.default_rng(0).permutation(X)
    assert np.array_equal(select_bandwidth(shuffled, method=method, n_threads=3), expected)


@pytest.mark.parametrize("method", METHODS)
def test_whole_weight_counts_as_repetitions(blobs, method):
    weight = np.random.default_rng(0).integers(0, 4, len(blobs[0]))
    weighted = select_bandwidth(blobs[0], method=method, sample_weight=weight)
    repeated = select_bandwidth(np.repeat(blobs[0], weight, axis=0), method=method)
    assert np.array_equal(weighted, repeated)


@pytest.mark.parametrize("method", METHODS)
def test_scaling_a_feature_scales_its_bandwidth(blobs, method):
    scales = np.array([2.0**20, 2.0**-20])
    expected = select_bandwidth(blobs[0], method=method) * scales
    assert np.array_equal(select_bandwidth(blobs[0] * scales, method=method), expected)


@pytest.mark.parametrize("method", METHODS)
def test_features_of_one_unit_share_a_bandwidth(blobs, method):
    one = select_bandwidth(blobs[0], method=method, per_feature=False)
    assert one[0] == one[1]
    own = select_bandwidth(blobs[0], method=method)
    assert own[0] < one[0] < own[1]


@pytest.mark.parametrize("method", METHODS)
def test_bandwidth_of_a_grid_is_a_multiple_in_its_proportions(blobs, method):
    grid = Grid.from_points(blobs[0], [0.1, 5.0])
    chosen = select_bandwidth(grid, method=method)
    multiples = chosen / grid.bandwidth
    assert multiples[0] == multiples[1] == round(multiples[0]) >= 1
    points = select_bandwidth(blobs[0], method=method)
    assert np.allclose(chosen, points, rtol=0.35)  # candidates and proportions differ
    coarse = Grid.from_points(blobs[0], [1e3, 1e4])
    assert np.array_equal(select_bandwidth(coarse, method=method), coarse.bandwidth)


@pytest.mark.parametrize("method", METHODS)
def test_sample_represents_more_rows(blobs, method):
    n = 3 * SAMPLE_SIZE
    X, truth = make_blobs(n, centers=[(0, 0, 0), (9, 2, 9), (3, 10, 4)], random_state=0)
    h = select_bandwidth(X, method=method)
    again = select_bandwidth(X[::-1], method=method)
    assert np.array_equal(h, select_bandwidth(X, method=method))
    assert np.allclose(h, again, rtol=0.5)
    few = select_bandwidth(X[:500], method=method)
    assert (h < few).all()  # more points, smaller cells
    if method != "rule":  # its cells are for densities, and too coarse for clusters
        assert adjusted_rand_score(truth, MeanShiftPP(h).fit(X).labels_) > 0.97


# -- each method -----------------------------------------------------------------------------------


@pytest.mark.parametrize("d", [1, 2, 3, 8])
def test_auto_finds_blobs(d):
    centres = np.random.default_rng(1).uniform(0, 3, (4, d)) + 12 * np.arange(4)[:, None]
    X, truth = make_blobs(2000, centers=centres, random_state=0)
    labels = MeanShiftPP().fit(X).labels_
    assert adjusted_rand_score(truth, labels) > 0.95


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("far", [1e4, 1e9, 1e200])
def test_a_few_extreme_values_change_little(blobs, method, far):
    X = blobs[0].copy()
    expected = select_bandwidth(X, method=method)
    X[::150, 0] = far  # 6 of 900
    chosen = select_bandwidth(X, method=method)
    assert (chosen < 1.3 * expected).all()
    assert (chosen > 0.7 * expected).all()
    weight = np.ones(len(X), int)
    assert np.array_equal(select_bandwidth(X, method=method, sample_weight=weight), chosen)
    if method == "auto" and far < 1e100:
        assert adjusted_rand_score(blobs[1], MeanShiftPP().fit_predict(X)) > 0.95


def test_extreme_value_in_a_sample_changes_little():
    X, labels = make_blobs(50_000, centers=[(0, 0), (9, 2), (3, 10)], random_state=0)
    row = np.flatnonzero((sample_rows(X, None, SAMPLE_SIZE)[0][77] == X).all(axis=1))[0]
    others = np.delete(X, row, axis=0)
    X[row] = 1e7
    assert adjusted_rand_score(labels, MeanShiftPP().fit_predict(X)) > 0.95
    np.testing.assert_allclose(density_bandwidth(X), density_bandwidth(others), rtol=0.01)


def test_auto_takes_the_best_separated_clusters():
    X = load_iris().data
    scale = scale_of_points(X)
    chosen = select_bandwidth(X)
    factors = chosen / scale.bandwidth(gradient_reference(4, 150))
    assert np.allclose(factors, factors[0], rtol=1e-6)
    assert 0.449 < factors[0] < 0.651
    best = separation(seek(Grid.from_points(X, chosen)))
    for factor in (*CANDIDATES, *FINE_CANDIDATES):
        h = scale.bandwidth(factor * gradient_reference(4, 150))
        assert separation(seek(Grid.from_points(X, h))) < best * (5 if factor < 0.44 else 1.0001)


def test_auto_takes_fine_cells_for_small_clusters_far_apart():
    X, truth = make_blobs(3000, centers=[[9.0 * i] for i in range(9)], random_state=0)
    h = select_bandwidth(X)
    assert h < 0.45 * scale_of_points(X).bandwidth(gradient_reference(1, 3000))
    assert adjusted_rand_score(truth, MeanShiftPP(h).fit(X).labels_) > 0.99


def test_separation_is_the_criterion_of_calinski_and_harabasz(blobs):
    modes = seek(Grid.from_points(blobs[0], [0.5, 25.0]))
    in_large = modes.weights[modes.cell_labels] >= 0.01 * modes.weights.sum()
    assert not in_large.all()
    cells = (modes.grid.means / modes.grid.bandwidth)[in_large]
    repeats = modes.grid.counts[in_large].astype(int)
    labels = np.repeat(modes.cell_labels[in_large], repeats)
    expected = calinski_harabasz_score(np.repeat(cells, repeats, axis=0), labels)
    assert math.isclose(separation(modes), expected, rel_tol=1e-9)


def test_auto_takes_no_fine_cells_for_noise():
    X = np.random.default_rng(0).normal(size=(2000, 2))
    factors = select_bandwidth(X) / scale_of_points(X).bandwidth(gradient_reference(2, 2000))
    assert (factors > 0.449).all()
    assert (factors < 0.651).all()


def test_auto_is_a_fixed_part_of_the_reference_without_clusters():
    X = np.random.default_rng(0).uniform(0, 1, (200, 20))  # every point is alone
    expected = scale_of_points(X).bandwidth(0.45 * gradient_reference(20, 200))
    assert np.array_equal(select_bandwidth(X), expected)


def test_stability_is_the_best_of_a_sweep(blobs):
    result = sweep(blobs[0])
    expected = result.bandwidths[result.best]
    assert np.allclose(select_bandwidth(blobs[0], method="stability"), expected, rtol=1e-6)


def test_rule_follows_its_formula(blobs):
    X, n = blobs[0], len(blobs[0])
    expected = X.std(axis=0) * (12 * 4 * math.pi / n) ** (1 / 4)
    assert np.allclose(select_bandwidth(X, method="rule"), expected, rtol=1e-6)


def test_lscv_finds_the_least_squared_error():
    """Compare with the true error of many cell sizes, which is unknown to the method."""
    X = np.random.default_rng(0).normal(size=(4000, 1))

    def error(h: float) -> float:
        grid = Grid.from_points(X, h)
        heights = grid.weights / (len(X) * h)
        edges = grid.cells[:, 0] * h
        inside = (norm.cdf(edges + h) - norm.cdf(edges)) @ heights
        whole = quad(lambda x: norm.pdf(x) ** 2, -9, 9)[0]
        return float((heights**2).sum() * h - 2 * inside + whole)

    h = float(select_bandwidth(X, method="lscv")[0])
    least = min(error(float(size)) for size in np.geomspace(0.03, 2, 60))
    assert error(h) < 1.5 * least
    assert error(h / 4) > 2 * least
    assert error(h * 4) > 2 * least


# -- special input ---------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("constant", [0.0, 1.0, -1e6, 1e300, 1e-300])
def test_constant_columns_get_a_positive_bandwidth(method, constant):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        h = select_bandwidth(np.c_[np.arange(90.0), np.full(90, constant)], method=method)
    assert (h > 0).all()
    assert np.isfinite(h).all()


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("X", [[[3.0, 4.0]], [[1, 2]] * 5, [[0], [1]], [[1e9], [1e9 + 1]]])
def test_few_points_get_a_positive_bandwidth(method, X):
    h = select_bandwidth(X, method=method)
    assert (h > 0).all()
    assert np.isfinite(h).all()
    MeanShiftPP(h).fit(X)


@pytest.mark.parametrize("method", METHODS)
def test_offset_keeps_the_bandwidth_near_the_spread(method):
    X = np.random.default_rng(0).normal(0, 3, (2000, 2))
    near, far = (select_bandwidth(X + offset, method=method) for offset in (0, 1e13))
    # The cells begin elsewhere, so a method may choose another step of its ladder.
    assert (near / 2 < far).all()
    assert (far < near * 2).all()


def test_constant_features_of_one_unit_share_a_bandwidth():
    assert select_bandwidth([[1.5, 42.5]] * 5, per_feature=False).tolist() == [42.5, 42.5]


def test_rejects_a_range_that_overflows():
    with pytest.raises(InvalidInputError, match=r"from -1e\+308 to 1e\+308; set a bandwidth"):
        select_bandwidth([[-1e308], [1e308]])


@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.float32, np.float16, bool])
def test_number_type_does_not_change_the_result(dtype):
    X = np.random.default_rng(0).integers(0, 2 if dtype is bool else 100, (300, 2)).astype(dtype)
    expected = select_bandwidth(X.astype(np.float64))
    assert np.array_equal(select_bandwidth(X), expected)


def test_rejects_bad_input(blobs):
    X = blobs[0]
    with pytest.raises(InvalidInputError, match="'auto', 'stability', 'lscv', 'rule', got 'best'"):
        select_bandwidth(X, method="best")
    with pytest.raises(InvalidInputError, match="2 dimensions"):
        select_bandwidth(X[:, 0])
    with pytest.raises(InvalidInputError, match="at least one row of positive weight"):
        select_bandwidth(X[:0])
    with pytest.raises(InvalidInputError, match="at least one row of positive weight"):
        select_bandwidth(X, sample_weight=np.zeros(len(X)))
    with pytest.raises(InvalidInputError, match="not negative"):
        select_bandwidth(X, sample_weight=-np.ones(len(X)))
    with pytest.raises(InvalidInputError, match="empty grid"):
        select_bandwidth(Grid.empty(1.0, 2))
    with pytest.raises(InvalidInputError, match="sample_weight must be None with a grid"):
        select_bandwidth(Grid.from_points(X, 1.0), sample_weight=np.ones(len(X)))


@pytest.mark.parametrize("n", [100, 3 * SAMPLE_SIZE])
@pytest.mark.parametrize("method", METHODS)
def test_reports_the_location_of_a_bad_value(n, method):
    X = np.zeros((n, 2))
    X[: n // 2] = 1
    rows, _ = sample_rows(np.arange(n).reshape(-1, 1), None, SAMPLE_SIZE)
    bad = int(rows[len(rows) // 3, 0])
    X[bad, 1] = math.inf
    with pytest.raises(InvalidInputError, match=rf"X\[{bad}, 1\]"):
        select_bandwidth(X, method=method)


# -- callers ---------------------------------------------------------------------------------------


def test_colour_clusters_use_the_bandwidth_of_their_image():
    image = np.random.default_rng(0).integers(0, 4, (40, 50, 3)).astype(np.uint8)
    image[:, 25:] += 20
    labels = segment(image, space="rgb", regions=False)
    h = select_bandwidth(image.reshape(-1, 3), per_feature=False)
    assert np.array_equal(labels, segment(image, float(h[0]), space="rgb", regions=False))
    assert adjusted_rand_score(np.repeat([[0] * 25 + [1] * 25], 40, 0).ravel(), labels.ravel()) == 1
    mask = np.zeros((40, 50), bool)
    mask[:, :25] = True
    inside = select_bandwidth(image[mask], per_feature=False)
    expected = segment(image, float(inside[0]), space="rgb", regions=False, mask=mask)
    assert np.array_equal(segment(image, space="rgb", regions=False, mask=mask), expected)


def test_row_of_zero_weight_has_no_influence():
    """The last digits stay too, which rounding would lose if the distant row counted."""
    for tiny in ([[7.67e-68]], [[1e-30], [3e-30], [4e-30], [4e-30]]):
        weight = np.r_[0, np.ones(len(tiny))]
        chosen = select_bandwidth([[-1.0], *tiny], sample_weight=weight)
        assert np.array_equal(chosen, select_bandwidth(tiny))
