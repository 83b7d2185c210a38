"""Conversions between degrees and metres."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from meanshiftpp import MeanShiftPP, geo
from meanshiftpp.errors import InvalidInputError


def arc(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return metres along the globe by the haversine formula, which geo does not use."""
    (lon, lat), (lon2, lat2) = np.radians(a).T, np.radians(b).T
    half = (
        np.sin((lat2 - lat) / 2) ** 2 + np.cos(lat) * np.cos(lat2) * np.sin((lon2 - lon) / 2) ** 2
    )
    return 2 * geo.EARTH_RADIUS * np.arcsin(np.sqrt(half))


@pytest.mark.parametrize("latitude", [-80.0, -33.0, 0.0, 45.0, 60.0])
def test_degrees_measure_the_given_metres(latitude):
    east, north = geo.degrees(5_000, latitude)
    origin = np.array([[179.99, latitude]])
    assert_allclose(arc(origin, origin + np.array([east, 0])), 5_000, rtol=1e-6)
    assert_allclose(arc(origin, origin + np.array([0, north])), 5_000, rtol=1e-9)


def test_to_lonlat_inverts_to_xyz():
    rng = np.random.default_rng(0)
    points = np.column_stack([rng.uniform(-180, 180, 500), rng.uniform(-90, 90, 500)])
    xyz = geo.to_xyz(points)
    assert_allclose(np.linalg.norm(xyz, axis=1), geo.EARTH_RADIUS)
    assert_allclose(geo.to_lonlat(xyz), points, atol=1e-9)
    assert_allclose(geo.to_lonlat(0.9 * xyz), points, atol=1e-9)
    near = points + rng.uniform(-0.01, 0.01, points.shape) * [[1, 0]]
    chord = np.linalg.norm(geo.to_xyz(near) - xyz, axis=1)
    assert_allclose(chord, arc(points, near), rtol=1e-6, atol=1e-3)


def test_the_documented_accuracy_is_true():
    chord = 2 * geo.EARTH_RADIUS * np.sin(3_100_000 / 2 / geo.EARTH_RADIUS)
    assert 0.0095 < 1 - chord / 3_100_000 < 0.0105
    for latitude, share in ((65, 0.04), (45, 0.02)):
        east, further = geo.degrees(1, latitude)[0], geo.degrees(1, latitude + 1)[0]
        assert round(further / east - 1, 2) == share


def test_clusters_do_not_depend_on_the_date_line():
    rng = np.random.default_rng(1)
    towns = rng.uniform([0, 40], [360, 50], (12, 2))
    towns[:2, 0] = 0, 180  # where longitudes jump: at 360 in one convention, at 180 in the other
    points = towns[rng.integers(12, size=2_000)] + rng.normal(scale=0.02, size=(2_000, 2))
    h = geo.degrees(4_000, latitude=45)
    model = MeanShiftPP(h, resolution=3, periodic=geo.PERIODIC).fit(points)
    other = MeanShiftPP(h, resolution=3, periodic=geo.PERIODIC).fit(geo.signed(points))
    assert_array_equal(model.labels_, other.labels_)
    assert_allclose(model.cluster_centers_, other.cluster_centers_, atol=1e-6)


def test_signed_longitudes_are_from_minus_180_to_180():
    lon = geo.signed([[0, 0], [179.5, 1], [180, 2], [359, 3], [-181, 4], [720, 5]])[:, 0]
    assert_array_equal(lon, [0, 179.5, -180, -1, 179, 0])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: geo.degrees(0, 10), "positive and finite, got 0"),
        (lambda: geo.degrees(np.nan, 10), "positive and finite"),
        (lambda: geo.degrees("5 km", 10), "metres must be a number, .*got '5 km'"),
        (lambda: geo.degrees([1, 2], 10), "metres must be a number"),
        (lambda: geo.degrees(1, None), "latitude must be a number .*got None"),
        (lambda: geo.to_xyz([["a", "b"]]), "expected 2 columns of numbers"),
        (lambda: geo.to_xyz([[1, 2], [3]]), "expected 2 columns of numbers"),
        (lambda: geo.degrees(1, 91), "from -90 to 90 degrees, got 91"),
        (lambda: geo.degrees(1_000, 90), "use to_xyz near the poles"),
        (
            lambda: geo.to_xyz([[10, 20], [50, 100]]),
            "got 100.0 in row 1; the columns must be longitude",
        ),
        (lambda: geo.to_xyz([[10, np.nan]]), "got nan in row 0"),
        (
            lambda: geo.to_xyz([10, 20]),
            r"expected 2 columns, longitude and latitude; got shape \(2",
        ),
        (lambda: geo.to_lonlat([[1, 2]]), "expected 3 columns, x, y and z"),
        (lambda: geo.signed([[1, 2, 3]]), "expected 2 columns"),
    ],
)
def test_bad_input_raises(call, message):
    with pytest.raises(InvalidInputError, match=message):
        call()
