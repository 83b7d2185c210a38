"""Points for Spark, and the marks of all its tests."""

import os
import shutil

import numpy as np
import pyarrow as pa
import pytest

NEEDS_SPARK = [
    pytest.mark.skipif(
        not (shutil.which("java") or os.environ.get("JAVA_HOME")),
        reason="Spark needs Java 17 or newer and none was found: NOTHING OF SPARK WAS TESTED",
    ),
    # Spark warns if pandas 3 is installed, also if it is not used.
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning"),
]

rng = np.random.default_rng(7)
X = np.concatenate([rng.normal(0, 1, (3000, 3)), rng.normal(9, 1, (2000, 3))]).astype(np.float32)
NAMES = ["x", "y", "n"]
X[:, 2] = np.round(X[:, 2])


def table(points=X, **more):
    """Return columns of several types; a NaN in the last becomes null."""
    x, y, n = points.T
    whole = pa.array(n, from_pandas=True).cast(pa.int32())
    return pa.table({"x": x.astype(float), "y": y, "n": whole, **more})
