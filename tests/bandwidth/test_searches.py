"""The searches of a sweep on threads."""

import numpy as np
import pytest

from meanshiftpp import sweep
from meanshiftpp.core.recipe import Search


@pytest.mark.parametrize("kind", [ValueError, KeyboardInterrupt])
def test_no_search_starts_after_an_error(blobs, monkeypatch, kind):
    started = []

    def broken(self, grid, **options):
        started.append(grid)
        raise kind("stop")

    monkeypatch.setattr(Search, "modes", broken)
    with pytest.raises(kind, match="stop"):
        sweep(blobs, np.arange(4, 60) / 4, n_threads=2)
    assert len(started) < 10
