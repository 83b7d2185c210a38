"""Piles: rounded values, ends of clipped scales and repeated rows are not clusters."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import adjusted_rand_score

from meanshiftpp import MeanShiftPP
from meanshiftpp.core.tree import piles
from meanshiftpp.core.tree.lattice import Lattice, unit_choices
from meanshiftpp.core.tree.marginals import marginals_of

rng = np.random.default_rng(4)


def end_piles_of(X: np.ndarray) -> list[piles.EndPile]:
    return list(piles.end_piles(marginals_of(X, None, np.zeros(X.shape[1]), 1)))


def test_piles_at_the_ends_of_a_scale_are_found():
    x = rng.normal(size=20_000)
    assert end_piles_of(x[:, None]) == []
    (low, high) = end_piles_of(np.clip(x, -1.5, 1)[:, None])
    assert (low.feature, low.value, high.value) == (0, -1.5, 1.0)
    assert low.width < 0 < high.width
    (only,) = end_piles_of(np.c_[x, np.clip(x, -9, 1)])
    assert (only.feature, only.value) == (1, 1.0)
    # Half of a pile is spread as far as so many values next to it reach.
    beyond = (x > 1).sum() / 2
    near = ((x <= 1) & (x > 1 - high.width)).sum()
    assert near == pytest.approx(2 * beyond, rel=0.3)


def test_few_values_or_a_light_end_are_no_pile():
    assert end_piles_of(rng.integers(0, 10, (5000, 1)).astype(float)) == []
    x = np.append(rng.uniform(size=5000), [1.0] * 5)
    assert end_piles_of(x[:, None]) == []


@pytest.mark.parametrize("far", [60.0, 9999.0, 1e9, -1e9])
def test_a_code_for_missing_values_is_not_the_end_of_a_scale(far):
    X = np.concatenate([rng.normal(0, 1, (450, 2)), rng.normal(9, 1, (450, 2))])
    X[::150, 0] = far
    assert end_piles_of(X) == []
    labels = MeanShiftPP().fit(X).labels_
    assert adjusted_rand_score(np.repeat([0, 1], 450), labels) > 0.95


def test_spread_ends_keep_all_counts_and_move_outwards():
    X = np.clip(rng.normal(size=(4000, 2)), -1.5, 1)
    marginals = marginals_of(X, None, np.zeros(2), 1)
    ends = piles.end_piles(marginals)
    lattice = Lattice.of_marginals(
        marginals, unit_choices(marginals)[0], piles.margins_of(ends, np.zeros(2))
    )
    coordinates = lattice.coordinates(X)
    counts = np.full(len(X), 40)
    moved, parts = piles.spread_ends(coordinates, counts, lattice, ends, 1)
    assert parts.sum() == counts.sum()
    assert (parts > 0).all()
    low, high = coordinates.min(axis=0), coordinates.max(axis=0)
    assert (moved.min(axis=0) < low).all()
    assert (moved.max(axis=0) > high).all()
    assert (moved >= 0).all()
    inside = ((coordinates > low) & (coordinates < high)).all(axis=1)
    assert set(map(tuple, coordinates[inside])) <= set(map(tuple, moved))
    placed = piles.place_ends(coordinates, lattice, ends)
    np.testing.assert_array_equal(placed[inside], coordinates[inside])
    assert ((placed[~inside] != coordinates[~inside]).any(axis=1)).all()


@settings(max_examples=60, derandomize=True)
@given(st.data())
def test_spread_steps_keep_counts_and_means(data):
    d = data.draw(st.integers(1, 3))
    n, limit = data.draw(st.integers(1, 12)), data.draw(st.integers(1, 30))
    draws = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    steps = np.array([data.draw(st.sampled_from([0.0, 2.0, 8.0, 101.0])) for _ in range(d)])
    coordinates = draws.integers(0, 9, (n, d)) * np.maximum(steps, 1).astype(np.int64) + 1000
    counts = draws.integers(1, 500, n)
    moved, parts = piles.spread_steps(coordinates, counts, steps, limit)
    assert parts.sum() == counts.sum()
    assert (parts > 0).all()
    for j in range(d):
        # A point stays within its step.
        gaps = np.abs(moved[:, None, j] - coordinates[None, :, j]).min(axis=1)
        assert (gaps <= (steps[j] / 2 if steps[j] >= 3 else 0)).all()


def test_a_heavy_point_becomes_an_odd_number_of_points():
    moved, parts = piles.spread_steps(np.array([[50]]), np.array([9]), np.array([10.0]), 2)
    assert moved[:, 0].tolist() == [46, 48, 50, 52, 54]
    assert parts.sum() == 9
    assert parts.max() == 2


def test_effective_counts_are_worth_the_effective_sample_size():
    assert piles.effective(np.ones(50, np.int64)).tolist() == [1] * 50
    assert piles.effective(np.full(50, 7)).tolist() == [1] * 50
    counts = np.r_[np.ones(900, np.int64), np.full(100, 50)]
    found = piles.effective(counts)
    assert found.min() == 1
    assert found.max() < 50
    assert (np.diff(found[np.argsort(counts)]) >= 0).all()


# -- clusters --------------------------------------------------------------------------------------


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
