"""Labels by decreasing size: one rule for modes, cuts of a tree and the regions of a map."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray


class Numbering(NamedTuple):
    """The labels of items, and for each label its group, its first item and its size."""

    labels: NDArray[np.int32]
    groups: NDArray[np.integer]
    first: NDArray[np.intp]
    sizes: NDArray[Any]


def number_by_size(groups: NDArray[np.integer], weights: NDArray[Any] | None = None) -> Numbering:
    """Return labels by decreasing size of the groups; of equals, the first to appear comes first.

    Negative groups are noise: their items have the label -1.
    """
    numbers, first, group = np.unique(groups, return_index=True, return_inverse=True)
    group = group.ravel()
    sizes = np.bincount(group, weights, len(numbers))
    order = np.lexsort((first, -sizes))
    order = order[numbers[order] >= 0]
    label = np.full(len(numbers), -1, np.int32)
    label[order] = np.arange(len(order))
    return Numbering(label[group], numbers[order], first[order], sizes[order])
