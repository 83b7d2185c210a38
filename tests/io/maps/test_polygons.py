"""Polygons of label rasters: valid, without gaps and overlaps, whatever the stripes."""

from __future__ import annotations

import numpy as np
import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from meanshiftpp.io.maps.polygons import Piece, Stripe, connected_pieces, trace

LABELS = arrays(
    np.int32, array_shapes(min_dims=2, max_dims=2, max_side=9), elements=st.integers(-1, 2)
)


def pieces_of(labels: np.ndarray, height: int) -> list[Piece]:
    values = np.arange(labels.size).reshape(*labels.shape, 1)
    areas = np.arange(1.0, len(labels) + 1)[:, None]
    parts = range(0, len(labels), height)
    return list(
        trace(
            Stripe(labels[i : i + height], values[i : i + height], areas[i : i + height])
            for i in parts
        )
    )


def outline(piece: Piece) -> tuple:
    return (
        shapely.normalize(piece.polygon).wkt,
        piece.label,
        piece.pixels,
        piece.area,
        *piece.sums,
    )


@given(LABELS, st.integers(1, 4))
@settings(max_examples=30)
def test_polygons_tile_the_labels_and_do_not_depend_on_the_stripes(labels, height):
    pieces = pieces_of(labels, height)
    polygons = np.array([piece.polygon for piece in pieces], object)
    assert shapely.is_valid(polygons).all()
    assert {polygon.geom_type for polygon in polygons} <= {"Polygon"}
    assert shapely.area(polygons).tolist() == [piece.pixels for piece in pieces]
    assert sum(piece.pixels for piece in pieces) == (labels >= 0).sum()
    assert shapely.union_all(polygons).area == (labels >= 0).sum()  # no overlaps
    whole = pieces_of(labels, len(labels))
    assert sorted(map(outline, pieces)) == sorted(map(outline, whole))


@given(LABELS)
@settings(max_examples=30)
def test_pieces_are_the_connected_sets_of_a_label(labels):
    measure = pytest.importorskip("skimage.measure")
    expected = measure.label(labels + 2, connectivity=1, background=1)
    found = connected_pieces(labels)
    assert (found < 0).tolist() == (labels < 0).tolist()
    pairs = {*zip(found[labels >= 0].tolist(), expected[labels >= 0].tolist())}
    assert len(pairs) == len({a for a, _ in pairs}) == len({b for _, b in pairs})


def test_a_seam_leaves_no_corner():
    piece = pieces_of(np.zeros((6, 3), np.int32), 1)[0]
    assert len(shapely.get_coordinates(piece.polygon)) == 5
    assert piece.means.tolist() == [8.5]


def test_a_ring_that_closes_late_is_one_piece():
    labels = np.ones((7, 7), np.int32)
    labels[1:6, 1:6] = 0
    labels[0, 3] = labels[3, 3] = 2
    pieces = pieces_of(labels, 2)
    assert sorted((piece.label, piece.pixels) for piece in pieces) == [
        (0, 24),
        (1, 23),
        (2, 1),
        (2, 1),
    ]
    holes = {piece.label: len(piece.polygon.interiors) for piece in pieces}
    assert holes == {0: 1, 1: 0, 2: 0}
