"""Points that the tests of a sweep share."""

import numpy as np
import pytest


@pytest.fixture(scope="module")
def blobs():
    """Four groups of 400 points in sixty-fourths.

    With a step that is a power of two, x / h / k is then exactly x / (h k).
    """
    rng = np.random.default_rng(0)
    centres = [(0, 0, 0), (9, 2, 0), (3, 9, 4), (12, 9, 8)]
    X = np.concatenate([rng.normal(centre, 1, (400, 3)) for centre in centres])
    return np.rint(X * 64) / 64
