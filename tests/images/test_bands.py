"""Bands of any unit: the same regions for every scale, and as many as the scene is large."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from meanshiftpp import hierarchy, segment
from meanshiftpp.images.bands import SCENE_SIZE, SPREAD, BandAxes, scene_level
from meanshiftpp.images.pixels import read_pixels

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


def total_spread(components: np.ndarray) -> float:
    return float(np.sqrt(components.var(axis=0, dtype=float).sum()))


@pytest.mark.parametrize(
    "values",
    [
        [[0.0], [10.0]] * 20,
        [[0.0, 7.0], [10.0, 5.0], [4.0, 5.0]] * 20,
        [[3.0]] * 199 + [[9.0]],  # a rare value among equal ones sets the range
        [[3.0, 1.0]] * 199 + [[9.0, 1.0]],
        [[9.0]] * 199 + [[3.0]],
    ],
)
def test_components_have_the_mean_0_and_a_fixed_spread(values):
    array = np.array(values)
    components = BandAxes.of(array)(array)
    assert components.mean(axis=0) == pytest.approx(np.zeros(array.shape[1]), abs=1e-4)
    assert total_spread(components) == pytest.approx(SPREAD, rel=1e-6)


def test_a_part_of_a_scene_has_the_axes_of_the_scene():
    scene = fields()
    axes = BandAxes.of(scene.reshape(-1, 6))
    part = replace(read_pixels(scene[:30, :30], None, None, -1, 1), axes=axes)
    whole = read_pixels(scene, None, None, -1, 1).components().reshape(80, 120, 3)
    assert (part.components() == whole[:30, :30].reshape(-1, 3)).all()


def test_the_offset_of_a_band_does_not_matter():
    values = np.array([[0, 7], [10, 5], [4, 5]] * 20)
    assert (BandAxes.of(values + np.array([100, 3])).axes == BandAxes.of(values).axes).all()


def test_values_beyond_the_range_count_as_its_end():
    values = np.array([[0.0, 1.0], [10.0, 2.0]] * 50 + [[10.0, 2.0]])
    cloud = values.copy()
    cloud[-1] = 1e6
    assert (BandAxes.of(cloud).axes == BandAxes.of(values).axes).all()


def test_the_level_of_a_scene_has_fixed_units():
    components = np.zeros((round(4 * SCENE_SIZE), 3), np.float32)
    assert scene_level(components) == 0.5  # in a scene of one value
    components[::2] = 10.0, -20.0, 20.0
    assert total_spread(components) == SPREAD
    assert scene_level(components) == 0.5
    assert scene_level(components * 2) == pytest.approx(0.5 * 2**-0.7)
    assert scene_level(components[:100]) == 1  # the part of a scene is not magnified


def finest(image: np.ndarray, **options: float) -> int:
    return hierarchy(image, space=None, **options).n_regions(1e9)


def test_the_pieces_of_a_scene_are_local():
    image = np.random.default_rng(0).normal(size=(100, 120, 2)).cumsum(0).cumsum(1)
    pieces = finest(image)
    assert pieces == finest(image, spatial=32.0) != finest(image, spatial=8.0)


def test_a_volume_is_not_a_scene():
    slice = np.random.default_rng(3).normal(size=(60, 120, 1)).cumsum(0).cumsum(1)
    volume = np.stack([slice, slice])
    assert finest(volume) != finest(volume, spatial=32.0)
