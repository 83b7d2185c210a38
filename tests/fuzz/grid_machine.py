"""Grids built, merged, coarsened, saved, loaded and searched in any order, beside the reference.

The model of a grid is the list of its points and weights. All numbers have few bits, so that no
operation rounds and every comparison is an equality, for real weights too.
"""

from __future__ import annotations

import pickle
import tempfile
from fractions import Fraction
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, rule

from meanshiftpp import Grid, reference, seek
from meanshiftpp.core.rows import COUNT_LIMIT
from meanshiftpp.errors import GridMismatchError, InvalidInputError

REAL = 8  # a real weight is a whole number of eighths
PARTS = 16  # coordinates are whole numbers of this part of the finest cell


class Pair(NamedTuple):
    """A grid, and all that went into it."""

    grid: Grid
    points: np.ndarray  # (n, d)
    weights: np.ndarray  # (n,), in eighths
    factor: int  # of its cells, relative to the finest


class GridMachine(RuleBasedStateMachine):
    """Every grid equals the one that the reference makes of the same points at once."""

    grids = Bundle("grids")
    steps = 0  # of all runs

    @initialize(data=st.data(), d=st.integers(1, 4))
    def choose_cells(self, data: st.DataObject, d: int) -> None:
        sizes = st.sampled_from((0.125, 1.0, 2.0))
        cells = st.sampled_from((0, 0, 3, 4, 12, 16))
        self.bandwidth = np.array(data.draw(st.lists(sizes, min_size=d, max_size=d)))
        self.cells_per_period = np.array(data.draw(st.lists(cells, min_size=d, max_size=d)))
        periods = self.cells_per_period * self.bandwidth
        self.periodic = [period or None for period in periods.tolist()] if periods.any() else None

    # -- rules that make grids -----------------------------------------------------------------

    @rule(target=grids, data=st.data(), n=st.integers(0, 12), kind=st.sampled_from("nwr"))
    def build(self, data: st.DataObject, n: int, kind: str) -> Pair:
        """Bin points without weights, with whole or with real ones; 0 is a weight too."""
        d, limit = len(self.bandwidth), data.draw(st.sampled_from((40, 400)))
        row = st.lists(st.integers(-limit, limit), min_size=d, max_size=d)
        parts = data.draw(st.lists(row, min_size=n, max_size=n))
        points = np.array(parts, float).reshape(n, d) / PARTS * self.bandwidth
        weight = st.integers(0, 20)
        drawn = np.array(data.draw(st.lists(weight, min_size=n, max_size=n)), np.int64)
        weights = {"n": np.full(n, REAL), "w": drawn * REAL, "r": drawn}[kind]
        grid = Grid.from_points(
            points,
            self.bandwidth,
            sample_weight=None if kind == "n" else weights / REAL,
            periodic=self.periodic,
            n_threads=data.draw(st.sampled_from((1, 3))),
        )
        return self.checked(Pair(grid, points, weights, 1))

    @rule(target=grids, a=grids, b=grids)
    def merge(self, a: Pair, b: Pair) -> Pair:
        if a.factor != b.factor:
            with pytest.raises(GridMismatchError, match="bandwidth"):
                a.grid + b.grid
            return a
        points, weights = np.vstack([a.points, b.points]), np.append(a.weights, b.weights)
        return self.checked(Pair(a.grid + b.grid, points, weights, a.factor))

    @rule(target=grids, a=grids, k=st.sampled_from((1, 2, 4)))
    def coarsen(self, a: Pair, k: int) -> Pair:
        if (a.grid.cells_per_period % k).any():
            with pytest.raises(InvalidInputError, match="divides the cells"):
                a.grid.coarsen(k)
            return a
        try:
            coarse = a.grid.coarsen(k)
        except InvalidInputError:  # real weights, in a unit that is too fine for the sum
            assert not a.grid.whole
            assert a.grid.counts.sum() > COUNT_LIMIT
            return a
        return self.checked(a._replace(grid=coarse, factor=a.factor * k))

    @rule(target=grids, a=grids)
    def save_and_load(self, a: Pair) -> Pair:
        with tempfile.TemporaryDirectory() as folder:
            a.grid.save(Path(folder) / "a.grid")
            loaded = Grid.load(Path(folder) / "a.grid")
        assert loaded == a.grid
        return self.checked(a._replace(grid=loaded))

    @rule(target=grids, a=grids)
    def pickle_and_load(self, a: Pair) -> Pair:
        loaded = pickle.loads(pickle.dumps(a.grid))
        assert loaded == a.grid
        return self.checked(a._replace(grid=loaded))

    @rule(a=grids)
    def seek(self, a: Pair) -> None:
        """Search the grid, unless it is empty or a period is shorter than a window."""
        present = a.weights > 0
        points, weights = a.points[present], a.weights[present]
        cells = self.cells_per_period // a.factor
        if not len(points) or ((cells > 0) & (cells < 3)).any():
            with pytest.raises(InvalidInputError, match="period" if len(points) else "empty"):
                seek(a.grid)
            return
        modes = seek(a.grid)
        expected = reference.general_mean_shift_pp(
            points, a.grid.bandwidth, cells_per_period=cells, sample_weight=weights
        )
        labels = modes.label(points)
        assert labels.tolist() == expected.labels.tolist()
        assert modes.weights.tolist() == (np.bincount(labels, weights) / REAL).tolist()

    # -- the model -----------------------------------------------------------------------------

    def checked(self, pair: Pair) -> Pair:
        """Compare a grid with that of the reference, wrapped into the periods."""
        type(self).steps += 1
        grid, bandwidth = pair.grid, self.bandwidth * pair.factor
        cells, counts, sums = reference.grid_of_points(pair.points, bandwidth, pair.weights)
        periods = self.cells_per_period // pair.factor
        wrapped = np.where(periods > 0, cells % np.maximum(periods, 1), cells)
        expected: dict[tuple[int, ...], list[int]] = {}
        for cell, count, row in zip(wrapped.tolist(), counts.tolist(), sums.tolist(), strict=True):
            moments = expected.setdefault(tuple(cell), [0] * (1 + len(row)))
            for j, value in enumerate([count, *row]):
                moments[j] += value
        assert list(map(tuple, grid.cells.tolist())) == sorted(expected)
        unit = Fraction(grid.unit) * REAL
        moments = np.column_stack([grid.counts, grid.sums]).tolist()
        for cell, row in zip(map(tuple, grid.cells.tolist()), moments, strict=True):
            assert [value * unit for value in row] == expected[cell], cell
        assert grid.bandwidth.tolist() == bandwidth.tolist()
        assert grid.cells_per_period.tolist() == periods.tolist()
        assert Fraction(grid.total) * REAL == int(pair.weights.sum())
        return pair
