"""Piles: rounded values, ends of clipped scales and repeated rows are not clusters."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from meanshiftpp import MeanShiftPP

rng = np.random.default_rng(4)


@pytest.mark.parametrize("far", [60.0, 9999.0, 1e9, -1e9])
def test_a_code_for_missing_values_is_not_the_end_of_a_scale(far):
    X = np.concatenate([rng.normal(0, 1, (450, 2)), rng.normal(9, 1, (450, 2))])
    X[::150, 0] = far
    labels = MeanShiftPP().fit(X).labels_
    assert adjusted_rand_score(np.repeat([0, 1], 450), labels) > 0.95


@pytest.mark.parametrize("step", [0.01, 0.1, 0.5, 1.0])
def test_rounded_values_are_not_clusters(step):
    x = rng.normal(size=(3000, 2))
    assert len(MeanShiftPP().fit(np.rint(x / step) * step).cluster_weights_) == 1
    two = np.concatenate([x, x + 8])
    model = MeanShiftPP().fit(np.rint(two / step) * step)
    assert adjusted_rand_score(np.repeat([0, 1], 3000), model.labels_) > 0.99


@pytest.mark.parametrize("limits", [(-1.0, 1.0), (-9.0, 0.5), (-0.5, 9.0)])
@pytest.mark.parametrize("d", [1, 2, 3])
def test_clipped_ends_are_not_clusters(d, limits):
    X = np.clip(np.random.default_rng(d).normal(size=(4000, d)), *limits)
    assert len(MeanShiftPP().fit(X).cluster_weights_) == 1


@pytest.mark.parametrize("weight", [np.full(600, 50), np.r_[np.ones(599, int), 5000]])
def test_heavy_rows_are_not_clusters(weight):
    X = np.random.default_rng(0).normal(size=(600, 2))
    assert len(MeanShiftPP().fit(X, sample_weight=weight).cluster_weights_) == 1


def test_clipped_points_belong_to_the_cluster_next_to_them():
    blobs = np.r_[rng.normal(0, 1, (2000, 2)), rng.normal(7, 1, (2000, 2))]
    X, truth = np.clip(blobs, -1, 7.5), np.repeat([0, 1], 2000)
    model = MeanShiftPP().fit(X)
    assert adjusted_rand_score(truth, model.labels_) > 0.99
    np.testing.assert_array_equal(model.predict(X), model.labels_)


def test_centres_of_clipped_points_lie_in_the_data():
    """A pile of zeros is spread beyond 0, where there are no points."""
    rng = np.random.default_rng(0)
    X = rng.normal(9, 2, (1500, 5)) * (rng.random((1500, 5)) < 0.2)
    for points in (X, -X):
        centers = MeanShiftPP().fit(points).cluster_centers_
        assert (centers >= points.min(axis=0)).all()
        assert (centers <= points.max(axis=0)).all()


def test_real_weights_do_not_multiply_the_rows_of_piles():
    """A real weight is worth thousands of counts, and each became 32 points along every feature."""
    rng = np.random.default_rng(0)
    X = rng.normal(9, 2, (400, 3)) * (rng.random((400, 3)) < 0.2)
    model = MeanShiftPP().fit(X, sample_weight=rng.uniform(0.5, 1.5, 400))
    assert len(model.tree_.sizes) <= 400
    same = MeanShiftPP().fit(X, sample_weight=np.full(400, 0.5))
    np.testing.assert_array_equal(same.labels_, MeanShiftPP().fit(X).labels_)


@pytest.mark.parametrize("seed", range(3))
def test_every_cluster_beside_noise_has_points(seed):
    """Parts of piles, where no point is, were all that remained of some clusters."""
    rng = np.random.default_rng(seed)
    X = rng.normal(9, 2, (600, 3)) * (rng.random((600, 3)) < 0.4)
    model = MeanShiftPP(cluster_all=False, strictness=0.5).fit(X)
    sizes = np.bincount(model.labels_[model.labels_ >= 0])
    np.testing.assert_array_equal(model.cluster_weights_, sizes)
    assert sizes.all()


def test_many_clipped_features_are_no_error():
    """Piles that are spread along many features leave the lattice, whose coordinates are short."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 40)) + 12 * (np.arange(1500) % 3)[:, None]
    model = MeanShiftPP().fit(X.clip(-0.5, 24.5))
    assert adjusted_rand_score(np.arange(1500) % 3, model.labels_) > 0.99


def test_heavy_rows_of_many_rounded_features_stay_small():
    """A row that is spread along every feature has a limited number of parts."""
    rng = np.random.default_rng(0)
    X = np.concatenate([np.rint(rng.normal(0, 4, (3000, 24))), np.zeros((400, 24))])
    assert len(MeanShiftPP().fit(X).labels_) == 3400
