"""The algorithms in NumPy, as the paper prints them: read this first. The oracle of the tests."""

from meanshiftpp.reference.algorithms import (
    Result,
    coarsen,
    grid_of_points,
    mean_shift,
    mean_shift_pp,
    predict,
    track,
)

__all__ = [
    "Result",
    "coarsen",
    "grid_of_points",
    "mean_shift",
    "mean_shift_pp",
    "predict",
    "track",
]
