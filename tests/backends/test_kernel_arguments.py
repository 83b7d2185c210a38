"""The native module checks its arguments: a wrong one raises before any array is read."""

import re

import numpy as np
import pytest

from meanshiftpp import _kernel
from meanshiftpp.errors import InvalidInputError

CELLS = np.array([[0, 0], [0, 1], [5, 5]])
COUNTS = np.array([2, 3, 4], np.uint64)
SUMS = np.ones((3, 2), np.uint64)
NO_PERIOD = np.zeros(2, np.int64)
POINTS = np.zeros((4, 2))
SIZES = np.ones(2)
FRAME = np.zeros((6, 8, 3), np.uint8)


def bin_points(points=POINTS, sizes=SIZES, weights=None, ids=None, threads=1, way="auto", isa=None):
    return _kernel.bin_points_by(points, sizes, weights, ids, threads, way, isa)


def seek(cells=CELLS, counts=COUNTS, sums=SUMS, periods=NO_PERIOD, reach=1, way="auto"):
    return _kernel.seek_modes_by(cells, counts, sums, periods, reach, 1e-3, 100, 1, way)


def find(query=CELLS, periods=NO_PERIOD, reach=1):
    return _kernel.find_cells(CELLS, COUNTS, query, periods, reach, 1)


def coarsen(factor):
    return _kernel.coarsen_cells(CELLS, COUNTS, SUMS, factor, 1)


def take(values=1, ids=4, labels=4):
    found = np.zeros(4, np.int32)
    *_, assignment = bin_points(ids=found)
    arrays = [np.zeros(n, np.int32) for n in (values, ids, labels)]
    assignment.take(*arrays)
    return arrays[2]


def grow(points=4, weights=(1, 1, 1, 1), period=2, critical=4, stages=1, rows=4.0):
    weights = np.array(weights, np.int64)
    data, periods, values = np.zeros((points, 2)), np.zeros(period), np.ones(critical)
    return _kernel.grow_tree(data, weights, periods, np.ones(stages), 0, rows, values, 1)


def lattice(d=2, **changes):
    arrays = {
        "cell_size": np.ones(d),
        "cells_per_period": np.zeros(d, np.int64),
        "low": np.zeros(d, np.int64),
        "extent": np.full(d, 8),
        "shift": np.zeros(d, np.int64),
    }
    return arrays | changes


def build(weights=None, **changes):
    return _kernel.build_leaves(POINTS, weights, **lattice(**changes), limit=1, n_threads=1)


def find_leaves(codes=(1, 1), bits=1, **changes):
    codes, bits = np.zeros(codes, np.uint64), np.zeros(bits, np.uint16)
    return _kernel.find_leaves(POINTS, **lattice(**changes), codes=codes, bits=bits, n_threads=1)


def spread(rows=(0, 1), first=(0, 2), values=1, labels=4):
    rows, first = np.array(rows, np.uint32), np.array(first, np.uint32)
    labels = np.full(labels, -1, np.int32)
    _kernel.take_leaves(rows, first, np.full(values, 7, np.int32), labels, 1)
    return labels


def extents(leaves=3, sizes=3, radii=3, n_clusters=2, saddles=1, levels=1, label=1, cluster=1):
    whole = np.full(saddles, cluster)
    return _kernel.find_extents(
        np.full(leaves, label),
        np.ones(sizes),
        np.zeros(radii),
        n_clusters,
        whole,
        np.zeros(saddles, np.int64),
        np.zeros(levels),
        np.ones(saddles),
        np.ones(saddles),
    )


def marginals(weights=None, period=2):
    return _kernel.marginals(POINTS, weights, np.zeros(period), 1)


def table(features=(1, 5), thresholds=(1, 5), values=(1, 32), feature=0, limits=None):
    borders = np.zeros(thresholds, np.float32) if limits is None else limits
    chosen = np.full(features, feature, np.uint8)
    return _kernel.MergeTable(chosen, borders, np.zeros(values, np.int16), 0)


def hierarchy(pixels=(4, 3), clusters=4, shape=(1, 2, 2), lab=None):
    colours = np.zeros(pixels, np.float32)
    weights = (1.0, 1.0, 1.0)
    return _kernel.Hierarchy(
        colours, np.zeros(clusters, np.int32), shape, weights, 1, 1.0, 1, None, lab, None
    )


def track(window=(1, 2, 3, 4), selected=None, mask=None):
    tracker = _kernel.ColourTracker(_kernel.ColourCells((16.0, 16.0, 16.0)), True)
    tracker.init(FRAME, window, None if selected is None else np.ones(selected, np.uint8))
    if mask is not None:
        tracker.mask(FRAME, np.zeros(mask, np.uint8))


def test_arguments_that_fit_are_accepted():
    for call in (bin_points, seek, find, grow, build, extents, marginals, table, hierarchy, track):
        call()
    coarsen(2)
    assert take().tolist() == [0, 0, 0, 0]
    assert find_leaves().tolist() == [0, 0, 0, 0]
    assert spread().tolist() == [7, 7, -1, -1]
    track(selected=(4, 3), mask=(6, 8))
    assert table().score(np.zeros((17, 38), np.float32)).tolist() == [0] * 17


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: bin_points(np.zeros((4, 0)), np.ones(0)), "from 1 to MAX_FEATURES axes"),
        (lambda: bin_points(np.zeros((0, 2**20 + 1))), "from 1 to MAX_FEATURES axes"),
        (lambda: bin_points(sizes=np.ones(3)), "cell_size must have one value per axis"),
        (lambda: bin_points(weights=np.ones(3, np.uint64)), "one value per point"),
        (lambda: bin_points(ids=np.ones(5, np.int32)), "one value per point"),
        (lambda: bin_points(threads=0), "n_threads must be at least 1"),
        (lambda: bin_points(way="best"), "strategy must be auto, dense"),
        (lambda: bin_points(isa="mmx"), "isa must be an instruction set"),
        (lambda: take(values=2), "values must have one value per cell"),
        (lambda: take(ids=3), "ids and labels must have one value per point"),
        (lambda: take(labels=3), "ids and labels must have one value per point"),
        (lambda: seek(counts=COUNTS[:2]), "counts must have one value per cell"),
        (lambda: seek(sums=SUMS[:2]), "cells and sums must have the same shape"),
        (lambda: seek(sums=SUMS[:, :1].copy()), "cells and sums must have the same shape"),
        (lambda: seek(periods=np.zeros(3, np.int64)), "one value per axis of cells"),
        (lambda: seek(periods=np.array([0, 2])), "at least as long as a window"),
        (lambda: seek(reach=0), "reach must be from 1 to MAX_REACH"),
        (lambda: seek(reach=_kernel.MAX_REACH + 1), "reach must be from 1 to MAX_REACH"),
        (lambda: seek(way="best"), "window_sums must be auto, rows or planes"),
        (lambda: find(query=np.zeros((1, 3), np.int64)), "the same number of axes"),
        (lambda: find(reach=-1), "reach must be from 0"),
        (lambda: find(reach=2**31), "reach must be from 0"),
        (lambda: coarsen(0), "factor must be from 1"),
        (lambda: coarsen(2**31), "factor must be from 1"),
        (lambda: grow(points=0, weights=()), "has the wrong shape"),
        (lambda: grow(weights=(1, 1, 1)), "has the wrong shape"),
        (lambda: grow(period=3), "has the wrong shape"),
        (lambda: grow(critical=3), "has the wrong shape"),
        (lambda: grow(stages=0), "has the wrong shape"),
        (lambda: grow(rows=0.0), "rows must be above 0 and at most the sum of weights"),
        (lambda: grow(rows=4.5), "rows must be above 0 and at most the sum of weights"),
        (lambda: grow(weights=(1, 1, 1, 0)), "weights must be from 1 to 2^31"),
        (lambda: grow(weights=(1, 1, 1, 2**31 + 1)), "weights must be from 1 to 2^31"),
        (lambda: marginals(period=3), "period must have one value per axis"),
        (lambda: marginals(weights=np.ones(3, np.uint64)), "weights must have one value per point"),
        (lambda: build(weights=np.ones(3, np.uint64)), "weights must have one value per point"),
        (lambda: build(d=3), "a lattice must have one value per axis"),
        (lambda: build(low=np.zeros(1, np.int64)), "a lattice must have one value per axis"),
        (lambda: build(shift=np.full(2, -1)), "at most 30 bits"),
        (lambda: build(shift=np.full(2, 63)), "at most 30 bits"),
        (lambda: build(extent=np.zeros(2, np.int64)), "at most 30 bits"),
        (lambda: build(extent=np.full(2, 2**31)), "at most 30 bits"),
        (lambda: build(cells_per_period=np.full(2, 2**31)), "at most 30 bits"),
        (lambda: find_leaves(codes=(1, 2)), "codes and bits have the wrong shape"),
        (lambda: find_leaves(codes=(2, 1)), "codes and bits have the wrong shape"),
        (lambda: find_leaves(extent=np.full(2, 2**31)), "at most 30 bits"),
        (lambda: spread(values=2), "values must have one value per leaf"),
        (lambda: spread(rows=(0, 4)), "rows and first do not fit the labels"),
        (lambda: spread(first=(0, 3)), "rows and first do not fit the labels"),
        (lambda: spread(first=(2, 0, 2), values=2), "rows and first do not fit the labels"),
        (lambda: extents(sizes=2), "leaves or saddles have the wrong shape or labels"),
        (lambda: extents(radii=4), "leaves or saddles have the wrong shape or labels"),
        (lambda: extents(levels=2), "leaves or saddles have the wrong shape or labels"),
        (lambda: extents(label=2), "leaves or saddles have the wrong shape or labels"),
        (lambda: extents(label=-1), "leaves or saddles have the wrong shape or labels"),
        (lambda: extents(cluster=2), "leaves or saddles have the wrong shape or labels"),
        (lambda: _kernel.convert_colours(POINTS, "lab", 255.0, 1), "three columns"),
        (lambda: _kernel.convert_colours(np.zeros((4, 3)), "xyz", 1.0, 1), "space must be rgb"),
        (lambda: table(features=(1, 4)), "five features, five thresholds and 32 values"),
        (lambda: table(thresholds=(2, 5)), "five features, five thresholds and 32 values"),
        (lambda: table(thresholds=(1, 4)), "five features, five thresholds and 32 values"),
        (lambda: table(values=(2, 32)), "five features, five thresholds and 32 values"),
        (lambda: table(values=(1, 31)), "five features, five thresholds and 32 values"),
        (lambda: table(feature=38), "a tree has an unknown feature"),
        (
            lambda: table(
                (26, 5), values=(26, 32), limits=np.arange(130.0, dtype="f4").reshape(26, 5)
            ),
            "a feature has over 127 thresholds",
        ),
        (lambda: table().score(np.zeros((1, 37), np.float32)), "a border must have 38 features"),
        (lambda: hierarchy(shape=(1, 2, 3)), "one row per pixel"),
        (lambda: hierarchy(pixels=(3, 3)), "one row per pixel"),
        (lambda: hierarchy(pixels=(4, 2)), "one row per pixel"),
        (lambda: hierarchy(lab=np.zeros((3, 3), np.float32)), "lab must have the shape of colours"),
        (lambda: hierarchy(lab=np.zeros((4, 2), np.float32)), "lab must have the shape of colours"),
        (lambda: hierarchy().cut(np.zeros((3, 3), np.float32), 1, 1, 1), "those of the image"),
        (lambda: hierarchy().cut(np.zeros((4, 2), np.float32), 1, 1, 1), "those of the image"),
        (lambda: track((-1, 2, 3, 4)), "the window must lie in the frame"),
        (lambda: track((1, -1, 3, 4)), "the window must lie in the frame"),
        (lambda: track((1, 2, 0, 4)), "the window must lie in the frame"),
        (lambda: track((1, 2, 3, 0)), "the window must lie in the frame"),
        (lambda: track((6, 2, 3, 4)), "the window must lie in the frame"),
        (lambda: track((1, 3, 3, 4)), "the window must lie in the frame"),
        (lambda: track(selected=(3, 3)), "selected must have the window's shape"),
        (lambda: track(selected=(4, 4)), "selected must have the window's shape"),
        (lambda: track(mask=(5, 8)), "the mask must have the frame's shape"),
        (lambda: track(mask=(6, 7)), "the mask must have the frame's shape"),
    ],
)
def test_wrong_shapes_and_names_raise(call, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        call()


@pytest.mark.parametrize("dtype", [np.float16, np.complex128, np.bool_])
def test_points_of_other_types_raise(dtype):
    with pytest.raises(TypeError):
        bin_points(POINTS.astype(dtype))


def test_unknown_setting_of_a_tracker_raises():
    cells = _kernel.ColourCells((16.0, 16.0, 16.0))
    with pytest.raises(InvalidInputError, match="expected the name of a setting"):
        _kernel.ColourTracker(cells, True, {"speed": 1.0})
