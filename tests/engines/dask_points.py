"""The points of the tests of Dask, and the comparison with one process."""

import numpy as np
import pandas as pd

import meanshiftpp

rng = np.random.default_rng(7)
X = np.concatenate([rng.normal(0, 1, (3000, 3)), rng.normal(9, 1, (2000, 3))]).astype(np.float32)
FRAME = pd.DataFrame(X, columns=["x", "y", "z"])


def assert_same(model, points=X, weight=None, **parameters):
    """Compare grid or tree, clusters and labels with those of one process."""
    one = meanshiftpp.MeanShiftPP(**parameters).fit(points, sample_weight=weight)
    assert_same_fit(model, one)


def assert_same_fit(model, one):
    """Compare a fitted model on Dask with a fitted estimator."""
    if one.bandwidth is None:
        assert model.tree_.splits == one.tree_.splits
        np.testing.assert_array_equal(model.tree_.leaves.codes, one.tree_.leaves.codes)
    else:
        assert model.grid_ == one.grid_
    assert model.n_iter_ == one.n_iter_
    np.testing.assert_array_equal(model.cluster_centers_, one.cluster_centers_)
    np.testing.assert_array_equal(model.cluster_weights_, one.cluster_weights_)
    np.testing.assert_array_equal(model.labels_.compute(), one.labels_)
    assert model.labels_.dtype == np.int32
