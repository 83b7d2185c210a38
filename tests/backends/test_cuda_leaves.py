"""Trees of points on a GPU against the CPU, compared with ==; skipped without a GPU."""

import numpy as np
import pytest
from tests.backends.gpu import needs_gpu, same, to_gpu

from meanshiftpp import MeanShiftPP
from meanshiftpp.core.tree import significant, tally
from meanshiftpp.errors import InvalidInputError

pytestmark = needs_gpu

rng = np.random.default_rng(3)


def mixture(n, d, seed):
    own = np.random.default_rng(seed)
    centers = own.uniform(-30, 30, (10, d))
    return centers[own.integers(0, 10, n)] + own.normal(size=(n, d))


KINDS = {
    "one feature": mixture(150_000, 1, 0),
    "two features": mixture(150_000, 2, 1),
    "three features": mixture(150_000, 3, 2),
    "four features": mixture(50_000, 4, 3),
    "float32": mixture(150_000, 3, 4).astype(np.float32),
    "rounded": mixture(150_000, 2, 5).round(1),
    "bytes": rng.integers(0, 255, (100_000, 3)).astype(np.uint8),
    "integers": (mixture(100_000, 2, 6) * 1000).astype(np.int64),
    "outliers": np.r_[mixture(150_000, 2, 7), [[1e9, -1e12], [1e300, 0.0]]],
    "heavy tails": rng.standard_t(1.5, (150_000, 3)),
    "clipped": mixture(150_000, 2, 8).clip(-20, 20),
    "few": mixture(500, 2, 9),
    "equal": np.ones((1000, 2)),
    "one row": np.ones((1, 3)),
    "columns": np.asfortranarray(mixture(100_000, 3, 10)),
}


def check(X, **parameters):
    expected = MeanShiftPP(**parameters).fit(X)
    found = MeanShiftPP(**parameters).fit(to_gpu(X))
    assert same(found.labels_, expected.labels_)
    assert same(found.cluster_centers_, expected.cluster_centers_)
    assert found.tree_.splits == expected.tree_.splits
    np.testing.assert_array_equal(found.tree_.leaves.codes, expected.tree_.leaves.codes)
    assert same(found.predict(to_gpu(X[::-1])), expected.predict(X[::-1]))


@pytest.mark.filterwarnings("ignore:feature .* counts as constant")
@pytest.mark.parametrize("kind", KINDS)
def test_trees_of_the_gpu_are_those_of_the_cpu(kind):
    check(KINDS[kind])


def test_noise_and_periods_are_those_of_the_cpu():
    check(KINDS["two features"], cluster_all=False)
    check(KINDS["two features"] % 7.0, periodic=[7.0, None])


@pytest.mark.filterwarnings("ignore:feature .* counts as constant")
@pytest.mark.parametrize("kind", ["one feature", "two features", "three features", "outliers"])
def test_cells_of_many_rows_are_those_of_the_cpu(monkeypatch, kind):
    monkeypatch.setattr(tally, "MAX_ROWS", 50_000)
    monkeypatch.setattr(significant, "MAX_ROWS", 50_000)
    monkeypatch.setattr(tally, "MAX_CELLS", 20_000)
    check(KINDS[kind])


def test_a_value_that_is_not_finite_has_a_place():
    X = KINDS["three features"].copy()
    X[777, 1] = np.nan
    with pytest.raises(InvalidInputError, match=r"X\[777, 1\] is NaN"):
        MeanShiftPP().fit(to_gpu(X))
