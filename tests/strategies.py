"""Hypothesis strategies for points, bandwidths and weights: small, with many special cases.

Most coordinates are scaled whole numbers. Equal points, and points and means on the edges of cells,
are therefore common, and a failing case shrinks to readable numbers.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

MAX_POINTS = 24
MAX_FEATURES = 6

DTYPES = ("float64", "float32", "float16", "int64", "int32", "int16", "int8", "uint8", ">f8", ">i4")


@dataclass(frozen=True)
class Case:
    """Points and a bandwidth; the repr can be pasted into a session."""

    X: npt.NDArray[np.generic]
    bandwidth: float | npt.NDArray[np.float64]

    def __repr__(self) -> str:
        X, dtype = np.asarray(self.X), self.X.dtype.str
        h = self.bandwidth if np.ndim(self.bandwidth) == 0 else np.asarray(self.bandwidth).tolist()
        return f"X = np.array({X.tolist()}, {dtype!r}).reshape{X.shape}; bandwidth = {h}"


def whole(n: int, d: int, limit: int) -> st.SearchStrategy[npt.NDArray[np.int64]]:
    """Draw arrays (n, d) of whole numbers from -limit to limit, with many equal ones."""
    return hnp.arrays(np.int64, (n, d), elements=st.integers(-limit, limit))


def shapes(min_points: int = 1) -> st.SearchStrategy[tuple[int, int]]:
    """Draw a number of points and a number of features."""
    return st.tuples(st.integers(min_points, MAX_POINTS), st.integers(1, MAX_FEATURES))


def _bandwidths(d: int, each: st.SearchStrategy[float]) -> st.SearchStrategy[object]:
    """Draw one bandwidth for all features, or one per feature."""
    return each | st.lists(each, min_size=d, max_size=d).map(np.array)


@st.composite
def cases(draw: st.DrawFn, min_points: int = 1) -> Case:
    """Draw any points that the package accepts: lattices, reals, all dtypes, any bandwidth."""
    n, d = draw(shapes(min_points))
    kind = draw(st.sampled_from(("lattice", "lattice", "real", "dtype")))
    if kind == "lattice":  # 0.1 k / 0.3 and others: points on an edge, or one bit off
        step = draw(st.sampled_from((1.0, 0.1, 0.3, 1 / 3, 0.25, 7.0)))
        each = st.sampled_from((1.0, 0.1, 0.3, 0.7, 1 / 3, 3.0, 49.0))
        X = draw(whole(n, d, draw(st.sampled_from((2, 9, 1000))))) * step
    elif kind == "real":
        limit = draw(st.sampled_from((1.0, 30.0, 1e6)))
        X = draw(hnp.arrays(np.float64, (n, d), elements=st.floats(-limit, limit)))
        each = st.floats(limit / 100, limit * 2)
    else:
        dtype = np.dtype(draw(st.sampled_from(DTYPES)))
        X = draw(whole(n, d, 100))
        X = (np.abs(X) if dtype.kind == "u" else X).astype(dtype)
        each = st.sampled_from((0.3, 1.0, 2.5, 10.0, 400.0))
    return Case(X, draw(_bandwidths(d, each)))


@st.composite
def dyadic_cases(draw: st.DrawFn) -> Case:
    """Draw points and bandwidths with few bits: moving them by whole cells is exact."""
    n, d = draw(shapes())
    each = st.sampled_from((0.125, 0.5, 1.0, 2.0, 16.0))
    h = draw(_bandwidths(d, each))
    parts = draw(whole(n, d, draw(st.sampled_from((3, 40, 1000)))))  # in sixteenths of a cell
    return Case(parts / 16.0 * h, h)


def weights(n: int, high: int = 5) -> st.SearchStrategy[npt.NDArray[np.int64]]:
    """Draw whole weights; some may be 0, but not all."""
    return hnp.arrays(np.int64, n, elements=st.integers(0, high)).filter(lambda w: w.any())


def cuts(n: int) -> st.SearchStrategy[list[int]]:
    """Draw the positions that cut n rows into chunks; chunks may be empty."""
    return st.lists(st.integers(0, n), max_size=4).map(sorted)
