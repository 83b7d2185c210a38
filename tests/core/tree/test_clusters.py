"""Clusters: weights, centres, labels of new points, strengths and shares."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import make_moons

from meanshiftpp.core.tree import Clusters
from meanshiftpp.core.tree.significant import Significant
from meanshiftpp.errors import InvalidInputError

rng = np.random.default_rng(6)
BLOBS = np.concatenate([rng.normal(0, 1, (600, 2)), rng.normal(9, 1, (300, 2))])


def clusters_of(X, weight=None, **options) -> Clusters:
    X = np.asarray(X)
    return Significant(**options).checked(X.shape[1]).fit(X, weight).clusters


# -- centres ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("d", [1, 2, 3])
def test_centre_of_a_gaussian_is_its_middle(seed, d):
    X = np.random.default_rng(seed).normal(5, 1, size=(100_000, d))
    assert_allclose(clusters_of(X).centers, np.full((1, d), 5), atol=0.15)


@pytest.mark.parametrize("n", [2, 5, 31])
def test_centre_of_few_points_is_their_mean(n):
    """Fewer than 32 points have no windows, which would tell where they are dense."""
    X = np.random.default_rng(n).normal(size=(n, 2))
    assert_allclose(clusters_of(X).centers, X.mean(axis=0, keepdims=True), atol=1e-6)


def test_centre_of_a_ring_lies_on_it():
    angles = np.random.default_rng(0).uniform(0, 2 * np.pi, 3000)
    ring = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    ((x, y),) = clusters_of(ring).centers
    assert np.hypot(x, y) == pytest.approx(1, abs=0.02)


def test_centres_of_crescents_lie_on_them():
    X, truth = make_moons(3000, noise=0.04, random_state=0)
    found = clusters_of(X)
    assert len(found) == 2
    for center in found.centers:
        nearest = np.linalg.norm(X - center, axis=1)
        assert nearest.min() < 0.05
        own = truth[nearest.argmin()]
        assert (truth[nearest < 0.1] == own).all()


def test_centre_across_the_edge_of_a_period():
    X = np.random.default_rng(0).normal(0, 20, size=(20_000, 1)) % 360
    found = clusters_of(X, periodic=[360.0])
    ((center,),) = found.centers
    assert 0 <= center < 360
    assert abs((center + 180) % 360 - 180) < 3
    assert found.periods == [360.0]


@pytest.mark.parametrize("value", [0.0, 10.0, -350.0, 370.0])
def test_centre_of_a_constant_feature_is_its_value(value):
    X = np.c_[BLOBS[:, 0], np.full(len(BLOBS), value)]
    assert (clusters_of(X).centers[:, 1] == value).all()
    assert (clusters_of(X, periodic=[None, 360]).centers[:, 1] == value % 360).all()


def test_one_row_is_its_own_centre():
    assert clusters_of([[3.0, 1e300]]).centers.tolist() == [[3.0, 1e300]]
    assert_allclose(clusters_of([[3.0, 4.0], [3.5, 4.0]]).centers[:, 1], [4.0])


# -- weights ---------------------------------------------------------------------------------------


def test_weights_fall_and_add_up():
    found = clusters_of(BLOBS)
    assert_array_equal(found.weights, [600, 300])
    assert found.total == 900
    assert found.whole
    weighted = clusters_of(BLOBS, np.full(900, 0.25))
    assert_allclose(weighted.weights, [150, 75], rtol=1e-6)
    assert weighted.total == pytest.approx(225)
    assert not weighted.whole


def test_noise_is_not_part_of_the_weights():
    X = np.r_[BLOBS, rng.uniform(-10, 20, (200, 2)), [[1e4, 1e4]]]
    recipe = Significant(cluster_all=False).checked(2)
    found, ids, labels = recipe.fit(X)
    assert found.total == len(X)
    assert_array_equal(np.bincount(labels[labels >= 0]), found.weights)
    assert found.weights.sum() < len(X) - 50
    assert_array_equal(labels == -1, (ids < 0) | (found.leaf_labels[ids] < 0))


@pytest.mark.parametrize("weight", [1e300, 1e-300])
def test_extreme_weights_are_clustered(weight):
    found = clusters_of(BLOBS, np.full(900, weight))
    assert_allclose(found.weights / weight, [600, 300], rtol=1e-6)


# -- labels ----------------------------------------------------------------------------------------


def test_new_points_get_the_label_of_the_nearest_leaf():
    found = clusters_of(BLOBS)
    assert_array_equal(found.label([[0.0, 0.0], [9, 9], [-1e6, 0], [1e300, 1e300]]), [0, 1, 0, 1])


def test_far_points_are_noise_on_demand():
    found = clusters_of(BLOBS, cluster_all=False)
    assert_array_equal(found.label([[0.0, 0.0], [9, 9], [-1e6, 0], [4.5, 4.5]]), [0, 1, -1, -1])


def test_labels_of_a_circle_do_not_end_at_its_edge():
    X = np.r_[rng.normal(0, 8, (500, 1)), rng.normal(180, 8, (400, 1))]
    found = clusters_of(X % 360, periodic=[360])
    new = np.array([[-5.0], [355.0], [725.0], [180.0], [-180.0]])
    assert_array_equal(found.label(new), [0, 0, 0, 1, 1])


@pytest.mark.parametrize(
    ("new", "place"), [([[0.0, np.nan]], r"X\[0, 1\]"), ([[0, 0], [np.inf, 0]], r"X\[1, 0\]")]
)
def test_a_new_point_that_is_not_finite_has_a_place(new, place):
    with pytest.raises(InvalidInputError, match=place):
        clusters_of(BLOBS).label(new)


# -- strengths and shares --------------------------------------------------------------------------


def test_strengths_are_relative_to_the_peak():
    X = np.r_[BLOBS, rng.uniform(-10, 20, (100, 2))]
    for cluster_all in (True, False):
        found = clusters_of(X, cluster_all=cluster_all)
        strengths, labels = found.strengths(), found.leaf_labels
        assert (strengths[labels < 0] == 0).all()
        assert (strengths[labels >= 0] > 0).all()
        for label in range(len(found)):
            own = labels == label
            assert strengths[own].max() == 1
            assert strengths[own].argmin() == found.tree.radii[own].argmax()


def test_shares_of_a_point_add_up():
    found = clusters_of(BLOBS)
    shares = found.shares([[0.0, 0.0], [4.5, 4.5], [9.0, 9.0], [1e6, 0.0]])
    assert shares.shape == (4, 2)
    assert_allclose(shares.sum(axis=1), 1)
    assert_array_equal(shares[[0, 2]], [[1, 0], [0, 1]])
    assert shares[1].min() > 0


def test_shares_of_points_however_far_add_up():
    shares = clusters_of(BLOBS).shares([[1e300, 0.0], [-1e308, 1e308]])
    assert_allclose(shares.sum(axis=1), 1)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_shares_of_a_point_that_is_not_finite_raise(value):
    with pytest.raises(InvalidInputError, match=r"X\[1, 0\] is .*finite"):
        clusters_of(BLOBS).shares([[0.0, 0.0], [value, 0.0]])


def test_shares_around_noise_are_zero():
    X = np.r_[BLOBS, rng.uniform(-30, 40, (150, 2))]
    shares = clusters_of(X, cluster_all=False).shares([[0.0, 0.0], [39.0, -29.0]])
    assert_array_equal(shares, [[1, 0], [0, 0]])


def test_shares_across_the_edge_of_a_period():
    X = np.r_[rng.normal(0, 8, (500, 1)), rng.normal(180, 8, (400, 1))] % 360
    shares = clusters_of(X, periodic=[360]).shares([[359.0], [-1.0], [1.0]])
    assert_array_equal(shares, [[1, 0]] * 3)


def test_equal_points_share_one_cluster():
    assert clusters_of(np.ones((5, 2))).shares([[1.0, 1.0], [7.0, 7.0]]).tolist() == [[1], [1]]


# -- copies ----------------------------------------------------------------------------------------


def test_clusters_can_be_pickled():
    found = clusters_of(BLOBS)
    copy = pickle.loads(pickle.dumps(found))
    assert_array_equal(copy.label(BLOBS), found.label(BLOBS))
    assert copy.tree.splits == found.tree.splits


def test_another_cut_keeps_the_options():
    found = clusters_of(np.clip(BLOBS, -1, 10), np.full(900, 0.5), cluster_all=False)
    cut = found.of_cut(found.tree.cut(n_clusters=1, n_threads=1))
    assert (cut.unit, cut.whole, cut.cluster_all) == (found.unit, False, False)
    assert cut.total == found.total
    assert found.cut(n_clusters=1).weights == cut.weights
