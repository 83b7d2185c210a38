"""Bands of any unit: the same regions for every scale, and as many as the scene is large."""

from __future__ import annotations

import numpy as np
import pytest

from meanshiftpp import hierarchy, segment
from meanshiftpp.images.bands import SPREAD, BandAxes

CORNERS = np.array([[[0, 0, 0], [1, 0, 1], [0, 1, 1]], [[1, 1, 0], [0, 0, 1], [1, 1, 1]]])


def fields(rows: int = 2, columns: int = 3, side: int = 40) -> np.ndarray:
    """Return fields of six colours, mixed from three spectra in six bands, in 8 bits."""
    rng = np.random.default_rng(5)
    spectra = rng.integers(10, 60, (3, 6))
    colours = np.tile(40 + CORNERS @ spectra, (-(-rows // 2), -(-columns // 3), 1))
    image = np.kron(colours[:rows, :columns], np.ones((side, side, 1)))
    return (image + rng.normal(0, 3, image.shape)).round().clip(0, 255).astype(np.uint8)


def test_each_field_is_a_region():
    image = fields()
    labels = segment(image)
    assert labels.max() == 5
    inner = labels.reshape(2, 40, 3, 40)[:, 2:-2, :, 2:-2]
    assert (inner == inner[:, :1, :, :1]).all()


@pytest.mark.parametrize("dtype", ["uint16", "int32", "float32", "float64"])
def test_the_units_of_the_bands_do_not_matter(dtype):
    image = fields()
    units = 2.0 ** np.array([0, 6, 3, 5, 1, 2])  # powers of two, so that nothing is rounded
    assert (segment((image * units).astype(dtype)) == segment(image)).all()


def test_clouds_do_not_hide_the_fields():
    image = fields().astype(np.uint16)
    image[5:15, 5:15] = 60_000
    labels = segment(image)
    assert labels.max() == 6
    assert (labels[5:15, 5:15] == labels[5, 5]).all()


@pytest.mark.parametrize(("rows", "columns"), [(2, 3), (6, 9)])
def test_the_number_of_regions_grows_with_the_scene(rows, columns):
    n = hierarchy(fields(rows, columns)).n_regions()
    assert n == pytest.approx(rows * columns, rel=0.1)


@pytest.mark.parametrize("bands", [1, 3, 4])
def test_raw_values_of_any_number_of_bands_are_a_scene(bands):
    levels = np.array([[40, 90, 140], [190, 60, 110]]) / 100 - 1  # such as a vegetation index
    image = np.kron(levels, np.ones((40, 40))) + np.random.default_rng(0).normal(0, 0.03, (80, 120))
    assert segment(np.dstack([image] * bands), space=None).max() == 5


def test_axes_have_a_fixed_spread_and_ignore_masked_pixels():
    values = fields().reshape(-1, 6).astype(float)
    axes = BandAxes.of(values)
    assert axes(values).shape == (len(values), 3)
    assert np.sqrt(axes(values).var(axis=0).sum()) == pytest.approx(SPREAD, rel=0.1)
    inside = np.ones(len(values), bool)
    inside[:500] = False
    values[:500] = 1e9
    masked = BandAxes.of(values, inside)
    assert (masked.axes == BandAxes.of(values[500:]).axes).all()


@pytest.mark.parametrize("values", [[[3, 3]], [[3, 3]] * 4, [[3, 3]] * 99 + [[9, 3]]], ids=len)
def test_flat_bands_have_finite_components(values):
    array = np.array(values)
    assert np.isfinite(BandAxes.of(array)(array)).all()


def test_a_rare_value_among_equal_ones_sets_the_range():
    array = np.array([[3.0]] * 199 + [[9.0]])
    assert np.ptp(BandAxes.of(array)(array)) > SPREAD
