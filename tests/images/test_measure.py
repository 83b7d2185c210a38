"""The measurements of regions equal those of scikit-image."""

from __future__ import annotations

import numpy as np
import pytest
from skimage.measure import regionprops_table

from meanshiftpp.images.measure import measure

PROPERTIES = ("label", "area", "centroid", "bbox", "intensity_mean")


@pytest.mark.parametrize(
    ("shape", "channels", "axis"),
    [((30, 40), None, None), ((30, 40), 3, -1), ((30, 40), 2, 0), ((5, 12, 14), None, None)],
    ids=["grey", "colour", "channels first", "volume"],
)
@pytest.mark.parametrize("dtype", ["u1", "u2", "f4"])
def test_columns_are_those_of_regionprops_table(shape, channels, axis, dtype):
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 7, shape).astype(np.int32)
    labels[labels == 3] = 0  # a label that no pixel has
    full = shape if channels is None else (*shape, channels)
    image = (rng.random(full) * 200).astype(dtype)
    expected = regionprops_table(labels, image, properties=PROPERTIES)
    moved = image if axis is None else np.moveaxis(image, -1, axis)
    found = measure(labels, moved, axis)
    assert list(found) == list(expected)
    for name, column in expected.items():
        assert np.allclose(found[name], column, rtol=1e-12 if dtype != "f4" else 1e-5), name


def test_no_region_is_no_row():
    table = measure(np.zeros((3, 4), np.int32), np.ones((3, 4)))
    assert {len(column) for column in table.values()} == {0}
    assert list(table)[-1] == "intensity_mean"
