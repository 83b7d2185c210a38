"""Points in a table and in an array, for the commands that read files."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import make_blobs


@pytest.fixture
def points(tmp_path) -> np.ndarray:
    X = make_blobs([50, 300, 200], centers=[[0, 0], [9, 1], [-4, 8]], random_state=3)[0]
    np.save(tmp_path / "points.npy", X)
    rows = "\n".join(f"town {i},{x!r},{y!r}" for i, (x, y) in enumerate(X.tolist()))
    (tmp_path / "points.csv").write_text(f"name,east,north\n{rows}\n")
    return X
