"""Points, and chunks that are small enough for tests."""

from __future__ import annotations

import numpy as np
import pytest


@pytest.fixture
def small_chunks(monkeypatch):
    """Limit chunks to 1,000 rows, so that small files have many."""
    monkeypatch.setattr("meanshiftpp.io.sources.MAX_ROWS", 1000)
    monkeypatch.setattr("meanshiftpp.io.tables.formats._CSV_BLOCK", 1 << 14)
    monkeypatch.setattr("meanshiftpp.io.tables.formats._CSV_HEAD_BLOCK", 1 << 14)


@pytest.fixture(scope="module")
def X() -> np.ndarray:  # noqa: N802
    rng = np.random.default_rng(5)
    return rng.normal(size=(12_345, 3)) + rng.integers(0, 3, (12_345, 1)) * 5
