"""The centre of a joined cluster is where its rows are densest."""

from __future__ import annotations

import numpy as np
import pytest

from meanshiftpp import MeanShiftPP
from meanshiftpp.core.tree.centers import dense_center


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("n_features", [1, 2, 3])
def test_centre_of_a_gaussian_is_its_middle(seed, n_features):
    X = np.random.default_rng(seed).normal(5, 1, size=(100_000, n_features))
    (center,) = MeanShiftPP().fit(X).cluster_centers_
    np.testing.assert_allclose(center, 5, atol=0.15)


def test_centre_of_a_ring_stays_at_the_mode():
    angles = np.linspace(0, 2 * np.pi, 500)
    ring = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    mode = np.array([1.0, 0.0])
    assert dense_center(ring, np.ones(500, np.int64), mode) is mode


def test_centre_across_the_edge_of_a_period():
    X = np.random.default_rng(0).normal(0, 20, size=(20_000, 1)) % 360
    ((center,),) = MeanShiftPP(periodic=[360.0]).fit(X).cluster_centers_
    assert abs((center + 180) % 360 - 180) < 3


def test_centre_does_not_depend_on_the_order_of_rows():
    rows, counts = np.random.default_rng(0).normal(size=(200, 2)), np.ones(200, np.int64)
    start = np.array([0.5, 0.5])
    one, other = (dense_center(rows[::step], counts, start) for step in (1, -1))
    np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)


def test_one_row_is_its_own_centre():
    assert dense_center(np.ones((1, 2)), np.ones(1, np.int64), np.zeros(2)).tolist() == [1, 1]


def test_centre_is_bounded_in_steps_and_follows_the_unit():
    """Of rows whose density falls so slowly that the last step is longer than the tolerance."""
    rows, counts = 1e5 * np.linspace(0, 1, 5000)[:, None] ** 1.05, np.ones(5000, np.int64)
    one, other = (dense_center(k * rows, counts, k * rows[-1]) for k in (1, 16))
    np.testing.assert_allclose(16 * one, other, rtol=1e-12)
    assert dense_center(rows, counts, one) < one < rows[-1]
