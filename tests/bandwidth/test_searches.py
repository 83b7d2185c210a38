"""The searches of a sweep on threads."""

import time

import numpy as np
import pytest

from meanshiftpp import sweep
from meanshiftpp.bandwidth import searches
from meanshiftpp.core.recipe import Search


@pytest.mark.parametrize("few_cells", [0, searches.FEW_CELLS])  # with 0, searches use a pool
@pytest.mark.parametrize("kind", [ValueError, KeyboardInterrupt])
def test_no_search_starts_after_an_error(blobs, monkeypatch, kind, few_cells):
    started = []

    def broken(self, grid, **options):
        started.append(grid)
        if len(started) == 1:  # the pool still waits for this one when the next one fails
            time.sleep(0.2)
        raise kind("stop")

    monkeypatch.setattr(Search, "modes", broken)
    monkeypatch.setattr(searches, "FEW_CELLS", few_cells)
    with pytest.raises(kind, match="stop"):
        sweep(blobs, np.arange(4, 60) / 4, n_threads=2)
    assert len(started) <= 2
