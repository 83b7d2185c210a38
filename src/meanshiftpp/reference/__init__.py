"""The algorithms of the paper in plain Python, and the oracles of the tests.

Read :mod:`meanshiftpp.reference.algorithms` first: Algorithms 1, 2 and 3 as the paper prints them.
:mod:`meanshiftpp.reference.oracles` adds what the package computes beyond the paper. Nothing here
imports another part of the package, and the tests compare the fast code with it.
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
