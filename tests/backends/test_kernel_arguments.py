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


def join(weights=COUNTS, periods=NO_PERIOD):
    return _kernel.join_modes(CELLS, weights, periods, 1, 1)


def sum_clusters(labels=4, weights=None, centers=2, label=0):
    labels = np.full(labels, label, np.int32)
    weights = None if weights is None else np.ones(weights)
    return _kernel.sum_clusters(POINTS, labels, weights, np.zeros((3, centers)), SIZES, SIZES)


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


def lattice(d=2, **changes):
    whole = {"cells_per_period": 0, "low": 0, "extent": 8, "shift": 0}
    real = {"cell_size": 1.0, "scale": 1.0, "units": 1.0, "constants": 0.0}
    arrays = {name: np.full(d, value) for name, value in (whole | real).items()}
    return _kernel.Lattice(**arrays | changes)


def grow(
    leaves=4,
    weights=(1, 1, 1, 1),
    sizes=4,
    hosts=None,
    critical=4,
    stages=1,
    rows=4.0,
    **changes,
):
    return _kernel.grow_tree(
        lattice(**changes),
        np.zeros((leaves, 2)),
        np.array(weights, np.int64),
        np.ones(sizes),
        None if hosts is None else np.array(hosts, np.int64),
        rows,
        np.ones(stages),
        0,
        np.ones(critical),
        1,
    )


def build(weights=None, **changes):
    return _kernel.build_leaves(POINTS, weights, lattice(**changes), 1, 1)


def find_leaves(codes=(1, 1), bits=1, ends=(0, 3), **changes):
    codes, bits = np.zeros(codes, np.uint64), np.zeros(bits, np.uint16)
    ends = np.zeros(ends) if isinstance(ends, tuple) else np.array(ends, np.float64)
    return _kernel.find_leaves(POINTS, lattice(**changes), ends, codes, bits, 1)


def marginal(level=0, cells=(0, 1), counts=(1, 2), low=0.0, high=1.5, period=0.0):
    cells, counts = np.array(cells, np.int64), np.array(counts, np.uint64)
    return _kernel.Marginal(level, cells, counts, low, high, period)


def piles(marginals=2, positions=(3, 2), weights=3, ends=(0, 3), limit=1, row=1, grain=2):
    found = _kernel.Piles(
        [marginal()] * marginals,
        lattice(),
        np.zeros(ends),
        np.zeros(positions),
        np.ones(weights, np.int64),
        3.0,
        True,
        row,
        np.zeros(grain),
    )
    return found.leaves(limit, 1)


def plan(units=2):
    return _kernel.plan_lattice([marginal()] * 2, np.ones(units), 3.0)


def finer(labels=(0, 0, 1), weights=3):
    return _kernel.finer_limit(np.array(labels, np.int64), np.ones(weights, np.int64), 3.0, 1)


def small(size=2, cluster=(1,), other=(0,), level=1):
    clusters = (np.array(each, np.int64) for each in (cluster, other))
    return _kernel.join_small(np.ones(size), *clusters, np.zeros(level), 2.0)


def weakest(size=2, cluster=(1,), parent=(0,), stage=1, depth=1):
    cluster, parent = (np.array(each, np.int64) for each in (cluster, parent))
    stages = np.zeros(stage, np.int64)
    return _kernel.weakest_first(np.ones(size), cluster, parent, parent, stages, np.ones(depth))


def spread(rows=(0, 1), first=(0, 2), values=1, labels=4):
    rows, first = np.array(rows, np.uint32), np.array(first, np.uint32)
    labels = np.full(labels, -1, np.int32)
    _kernel.take_leaves(rows, first, np.full(values, 7, np.int32), labels, 1)
    return labels


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
    for call in (bin_points, seek, find, grow, build, marginals, plan, table, hierarchy, track):
        call()
    coarsen(2)
    assert take().tolist() == [0, 0, 0, 0]
    assert find_leaves().tolist() == [0, 0, 0, 0]
    assert piles()[1].tolist() == [0, 0, 0]
    assert (finer(), small(), weakest()) == (1, [0], [0])
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
        (lambda: join(COUNTS[:2]), "counts must have one value per cell"),
        (lambda: join(periods=np.zeros(3, np.int64)), "one value per axis of cells"),
        (lambda: sum_clusters(labels=3), "labels and weights must have one value per point"),
        (lambda: sum_clusters(weights=3), "labels and weights must have one value per point"),
        (lambda: sum_clusters(centers=3), "must have one value per feature"),
        (lambda: sum_clusters(label=3), "labels must be below the number of centers"),
        (lambda: find(query=np.zeros((1, 3), np.int64)), "the same number of axes"),
        (lambda: find(reach=-1), "reach must be from 0"),
        (lambda: find(reach=2**31), "reach must be from 0"),
        (lambda: coarsen(0), "factor must be from 1"),
        (lambda: coarsen(2**31), "factor must be from 1"),
        (lambda: grow(leaves=0, weights=(), sizes=0), "has the wrong shape"),
        (lambda: grow(weights=(1, 1, 1)), "has the wrong shape"),
        (lambda: grow(sizes=3), "has the wrong shape"),
        (lambda: grow(hosts=(0,)), "has the wrong shape"),
        (lambda: grow(d=3), "has the wrong shape"),
        (lambda: grow(critical=3), "has the wrong shape"),
        (lambda: grow(stages=0), "has the wrong shape"),
        (lambda: grow(rows=0.0), "rows must be above 0 and at most the sum of weights"),
        (lambda: grow(rows=4.5), "rows must be above 0 and at most the sum of weights"),
        (lambda: grow(weights=(1, 1, 1, 0)), "weights must be from 1 to 2^31"),
        (lambda: grow(weights=(1, 1, 1, 2**31 + 1)), "weights must be from 1 to 2^31"),
        (lambda: grow(hosts=(0, 0, 0, 4)), "hosts must be leaves, or -1"),
        (lambda: grow(hosts=(0, 0, 0, -2)), "hosts must be leaves, or -1"),
        (lambda: grow(units=np.zeros(2)), "a tree needs a feature that varies"),
        (lambda: finer(weights=2), "labels or weights have the wrong shape or values"),
        (lambda: finer(labels=(0, 0, -1)), "labels or weights have the wrong shape or values"),
        (lambda: small(level=2), "splits have the wrong shape or clusters"),
        (lambda: small(other=(2,)), "splits have the wrong shape or clusters"),
        (lambda: small(cluster=(-1,)), "splits have the wrong shape or clusters"),
        (lambda: weakest(depth=2), "splits have the wrong shape or clusters"),
        (lambda: weakest(parent=(2,)), "splits have the wrong shape or clusters"),
        (lambda: marginals(period=3), "period must have one value per axis"),
        (lambda: marginals(weights=np.ones(3, np.uint64)), "weights must have one value per point"),
        (lambda: marginal(counts=(1,)), "cells and counts do not fit"),
        (lambda: marginal(cells=(1, 1)), "cells must rise, and their counts must be positive"),
        (lambda: marginal(counts=(1, 0)), "cells must rise, and their counts must be positive"),
        (lambda: marginal(low=2.0), "an impossible range, period or level"),
        (lambda: marginal(high=np.inf), "an impossible range, period or level"),
        (lambda: marginal(period=-1.0), "an impossible range, period or level"),
        (lambda: marginal(level=1101), "an impossible range, period or level"),
        (lambda: plan(units=3), "units must have one value per marginal"),
        (lambda: build(weights=np.ones(3, np.uint64)), "weights must have one value per point"),
        (lambda: build(d=3), "points must have the features of the lattice"),
        (lambda: lattice(low=np.zeros(1, np.int64)), "a lattice must have one value per axis"),
        (lambda: lattice(cell_size=np.zeros(2)), "cells must be larger than 0"),
        (lambda: lattice(scale=np.full(2, np.inf)), "cells must be larger than 0"),
        (lambda: lattice(units=np.full(2, -1.0)), "cells must be larger than 0"),
        (lambda: lattice(shift=np.full(2, -1)), "coordinates must fit a code"),
        (lambda: lattice(shift=np.full(2, 63)), "coordinates must fit a code"),
        (lambda: lattice(extent=np.zeros(2, np.int64)), "coordinates must fit a code"),
        (lambda: lattice(extent=np.full(2, 2**31)), "coordinates must fit a code"),
        (lambda: lattice(low=np.full(2, 2**52)), "coordinates must fit a code"),
        (lambda: lattice(cells_per_period=np.full(2, 2**31)), "coordinates must fit a code"),
        (lambda: lattice(cells_per_period=np.full(2, -1)), "coordinates must fit a code"),
        (lambda: find_leaves(codes=(1, 2)), "codes and bits have the wrong shape"),
        (lambda: find_leaves(codes=(2, 1)), "codes and bits have the wrong shape"),
        (lambda: find_leaves(ends=(1, 2)), "a pile has a feature, a value and a width"),
        (lambda: find_leaves(ends=[[2, 0, 1]]), "a feature that is not there"),
        (lambda: find_leaves(ends=[[0.5, 0, 1]]), "a feature that is not there"),
        (lambda: find_leaves(d=3), "points must have the features of the lattice"),
        (lambda: piles(marginals=1), "marginals, positions or weights have the wrong shape"),
        (lambda: piles(weights=2), "marginals, positions or weights have the wrong shape"),
        (lambda: piles(grain=1), "marginals, positions or weights have the wrong shape"),
        (lambda: piles(limit=0), "limit must be at least 1"),
        (lambda: piles(row=0), "a row must have counts"),
        (lambda: _kernel.least_shift(CELLS, 63, 1), "least or most is out of range"),
        (lambda: _kernel.least_shift(CELLS, 0, 0), "least or most is out of range"),
        (lambda: spread(values=2), "values must have one value per leaf"),
        (lambda: spread(rows=(0, 4)), "rows and first do not fit the labels"),
        (lambda: spread(first=(0, 3)), "rows and first do not fit the labels"),
        (lambda: spread(first=(2, 0, 2), values=2), "rows and first do not fit the labels"),
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
