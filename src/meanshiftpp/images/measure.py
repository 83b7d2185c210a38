"""Measure the regions of a label image, with the names of scikit-image's `regionprops_table`."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def measure(
    labels: NDArray[np.integer[Any]], image: NDArray[Any], channel_axis: int | None = None
) -> dict[str, NDArray[Any]]:
    """Return the area, centroid, box and mean intensities of each region, labels from 1.

    Lengths are in pixels. Label 0 is left out, and so are labels that no pixel has.

    Examples
    --------
    >>> import numpy as np
    >>> from meanshiftpp.images.measure import measure
    >>> table = measure(np.array([[0, 1, 1]]), np.array([[9, 10, 20]]))
    >>> {name: column.tolist() for name, column in table.items()}
    ... # doctest: +NORMALIZE_WHITESPACE
    {'label': [1], 'area': [2], 'centroid-0': [0.0], 'centroid-1': [1.5], 'bbox-0': [0],
     'bbox-1': [1], 'bbox-2': [1], 'bbox-3': [3], 'intensity_mean': [15.0]}
    """
    flat = labels.ravel()
    sizes = np.bincount(flat, minlength=1)
    used = np.flatnonzero(sizes)
    used = used[used > 0]
    area = sizes[used]

    def mean(values: NDArray[Any]) -> NDArray[np.float64]:
        sums = np.bincount(flat, np.asarray(values, np.float64).ravel(), len(sizes))
        return np.asarray(sums[used] / area)

    table: dict[str, NDArray[Any]] = {"label": used, "area": area}
    starts, stops = [], []
    for axis, length in enumerate(labels.shape):
        along = np.arange(length).reshape([-1 if i == axis else 1 for i in range(labels.ndim)])
        along = np.broadcast_to(along, labels.shape).ravel()
        table[f"centroid-{axis}"] = mean(along)
        first, last = np.full(len(sizes), length), np.zeros(len(sizes), along.dtype)
        np.minimum.at(first, flat, along)
        np.maximum.at(last, flat, along)
        starts.append(first[used])
        stops.append(last[used] + 1)
    table |= {f"bbox-{k}": column for k, column in enumerate(starts + stops)}
    if channel_axis is None or image.ndim == labels.ndim:
        return {**table, "intensity_mean": mean(image)}
    for k, channel in enumerate(np.moveaxis(image, channel_axis, 0)):
        table[f"intensity_mean-{k}"] = mean(channel)
    return table
