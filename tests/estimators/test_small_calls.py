"""The short ways of small calls check as much as scikit-learn does."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.utils._param_validation import InvalidParameterError

from meanshiftpp import MeanShiftPP

X = np.random.default_rng(0).normal(size=(40, 2))


@pytest.mark.parametrize(
    "bad", [{"bandwidth": -1.0}, {"tol": -1}, {"max_iter": 0}, {"cluster_all": 3}]
)
def test_changed_parameters_are_checked_again(bad):
    model = MeanShiftPP(1.0).fit(X).fit(X)
    with pytest.raises(InvalidParameterError):
        model.set_params(**bad).fit(X)


def test_equal_parameters_of_another_type_are_checked_again():
    model = MeanShiftPP(1.0, cluster_all=True).fit(X)
    with pytest.raises(InvalidParameterError):
        model.set_params(cluster_all=1).fit(X)


def test_parameters_of_a_failed_check_are_checked_again():
    model = MeanShiftPP(1.0, max_iter=0)
    for _ in range(2):
        with pytest.raises(InvalidParameterError):
            model.fit(X)


def test_number_of_features_is_checked():
    model = MeanShiftPP(1.0).fit(X)
    with pytest.raises(ValueError, match="X has 1 features, but MeanShiftPP is expecting 2"):
        model.predict(X[:, :1])


def test_names_of_features_follow_the_last_fit():
    model = MeanShiftPP(1.0).fit(pd.DataFrame(X, columns=["a", "b"]))
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        model.predict(X)
    model.fit(X)
    assert not hasattr(model, "feature_names_in_")


@pytest.mark.parametrize("shape", [(0, 2), (3, 0)])
def test_empty_arrays_are_errors(shape):
    with pytest.raises(ValueError, match="minimum of 1 is required"):
        MeanShiftPP(1.0).fit(np.empty(shape))
