"""The algorithms of the paper in plain Python, and the oracles of the tests.

Read :mod:`meanshiftpp.reference.algorithms` first: Algorithms 1, 2 and 3 as the paper prints them.
:mod:`meanshiftpp.reference.oracles` adds weights, periods, wider windows, grids and prediction. The
tests compare the fast code with this package, which imports no other part of `meanshiftpp`.
"""

from meanshiftpp.reference.algorithms import mean_shift, mean_shift_pp, track
from meanshiftpp.reference.oracles import coarsen, general_mean_shift_pp, grid_of_points, predict
from meanshiftpp.reference.parts import EDGE, Result

__all__ = [
    "EDGE",
    "Result",
    "coarsen",
    "general_mean_shift_pp",
    "grid_of_points",
    "mean_shift",
    "mean_shift_pp",
    "predict",
    "track",
]
