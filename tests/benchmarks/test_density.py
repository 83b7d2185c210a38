"""The benchmarks of the density: the figure of the rate, and the comparison with others."""

from __future__ import annotations

import math

import numpy as np
import pytest
from benchmarks.rate import CASES

from benchmarks import density as comparison
from benchmarks import rate


def test_figure_of_the_rate_is_drawn(tmp_path, capsys):
    picture = tmp_path / "figures" / "rate.png"
    assert rate.main(["--most", "1e4", "--repeats", "2", "--picture", str(picture)]) == 0
    assert picture.read_bytes().startswith(b"\x89PNG")
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2 + len(CASES)
    with pytest.raises(SystemExit, match="2"):
        rate.main(["--most", "10"])


def test_comparison_has_every_number():
    points = np.random.default_rng(0).normal([0, 50], [1, 8], (3000, 2))
    cells = comparison.row("normal", points[:200], rounds=1).strip("| ").split(" | ")
    assert cells[:2] == ["normal", "120"]
    assert all(math.isfinite(float(cell)) for cell in cells[2:8])
    assert all(cell.endswith("x") for cell in cells[8:])
