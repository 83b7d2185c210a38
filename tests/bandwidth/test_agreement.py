"""Agreement of clusterings: the adjusted Rand index of points, computed on cells."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import adjusted_rand_score

from meanshiftpp import Grid, seek
from meanshiftpp.bandwidth.agreement import (
    adjusted_rand_index,
    common_refinement,
    count_large,
    parent_cells,
    qualifies,
    share_in_small,
)


@settings(max_examples=60)
@given(st.integers(1, 40), st.integers(1, 12), st.integers(0, 2**32 - 1))
def test_index_of_weighted_cells_is_that_of_the_points(n, k, seed):
    rng = np.random.default_rng(seed)
    a, b = rng.integers(0, k, (2, n)).astype(np.int32)
    counts = rng.integers(1, 5, n)
    expected = adjusted_rand_score(np.repeat(a, counts), np.repeat(b, counts))
    assert math.isclose(adjusted_rand_index(a, b, counts.astype(float)), expected, abs_tol=1e-12)
    (joined_a, joined_b), weights = common_refinement([a, b], counts.astype(float))
    assert math.isclose(adjusted_rand_index(joined_a, joined_b, weights), expected, abs_tol=1e-12)
    assert weights.sum() == counts.sum()


def test_common_refinement_joins_cells_with_equal_labels():
    a, b = np.array([0, 0, 1, 1, 0], np.int32), np.array([2, 2, 0, 2, 2], np.int32)
    (joined_a, joined_b), weights = common_refinement([a, b], np.array([1.0, 2, 4, 8, 16]))
    joined = sorted(zip(joined_a.tolist(), joined_b.tolist(), weights.tolist(), strict=True))
    assert joined == [(0, 2, 19.0), (1, 0, 4.0), (1, 2, 8.0)]


@pytest.mark.parametrize("far", [1, 10**6, 10**12])  # a table, sorted keys, sorted rows
def test_every_cell_is_in_its_parent(far):
    X = np.random.default_rng(0).integers(-9, 9, (200, 2))
    X[-1] = far, -far
    fine = Grid.from_points(X, 1)
    coarse = fine.coarsen(3)
    assert np.array_equal(coarse.cells[parent_cells(fine, 3, coarse)], fine.cells // 3)


@pytest.mark.parametrize(
    ("sizes", "large", "small_share", "expected"),
    [
        ([50, 47, 3], 3, 0.0, True),
        ([98, 2], 2, 0.0, False),  # only one cluster of 3 %
        ([400, 303, *[3] * 99], 2, 0.297, True),
        ([400, 297, *[3] * 101], 2, 0.303, False),  # too many points in small clusters
    ],
)
def test_qualifying_needs_two_clusters_and_few_points_in_small_ones(
    sizes, large, small_share, expected
):
    modes = seek(Grid.from_points(np.repeat(np.arange(len(sizes)) * 9.0, sizes)[:, None], 1.0))
    assert count_large(modes, 0.01) == large
    assert share_in_small(modes) == pytest.approx(small_share)
    assert qualifies(modes) is expected
