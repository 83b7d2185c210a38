"""Labels by decreasing size: one rule for modes, cuts of a tree and the regions of a map."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray


class Numbering(NamedTuple):
    """The labels of items, and for each label its group and its size."""

    labels: NDArray[np.int32]
    groups: NDArray[np.integer]
    sizes: NDArray[Any]


def ranked(groups: NDArray[np.integer]) -> tuple[NDArray[np.integer], NDArray[np.intp]]:
    """Return the distinct numbers in rising order, and the place of each item's number among them.

    As `np.unique`, but numbers that are few are counted instead of sorted.
    """
    low, high = (int(groups.min()), int(groups.max())) if len(groups) else (0, 0)
    if high - low > len(groups):
        numbers, places = np.unique(groups, return_inverse=True)
        return numbers, places.ravel()
    offsets = groups - low
    is_used = np.bincount(offsets, minlength=1) > 0
    return np.flatnonzero(is_used) + low, (np.cumsum(is_used) - 1)[offsets]


def number_by_size(groups: NDArray[np.integer], weights: NDArray[Any] | None = None) -> Numbering:
    """Return labels by decreasing size of the groups; of equals, the first to appear comes first.

    Negative groups are noise: their items have the label -1.
    """
    numbers, group = ranked(groups)
    first = np.empty(len(numbers), np.intp)
    first[group[::-1]] = np.arange(len(group) - 1, -1, -1)  # of several values the last is stored
    sizes = np.bincount(group, weights, len(numbers))
    order = np.lexsort((first, -sizes))
    order = order[numbers[order] >= 0]
    label = np.full(len(numbers), -1, np.int32)
    label[order] = np.arange(len(order))
    return Numbering(label[group], numbers[order], sizes[order])
