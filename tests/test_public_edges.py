"""Functions on arrays check their arguments: a value of a wrong type raises InvalidInputError.

Functions of files and of pictures are tested in their own folders.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import meanshiftpp
from meanshiftpp import Grid, GridDensity, Tracker, geo, plot, stream, video
from meanshiftpp.errors import MeanShiftPPError

X = np.arange(12.0).reshape(6, 2)
IMAGE = np.zeros((20, 30, 3), np.uint8)
GRID = Grid.from_points(X, 2.0)

# A valid call of each function: each argument in turn is replaced by an object of no use.
CALLS: dict[Any, dict[str, Any]] = {
    Grid.from_points: {"X": X, "bandwidth": 2.0, "periodic": None, "n_threads": 1},
    Grid.from_chunks: {"chunks": [X], "bandwidth": 2.0, "periodic": None, "n_threads": 1},
    Grid.empty: {"bandwidth": 2.0, "n_features": 2, "periodic": None},
    GRID.coarsen: {"k": 2, "n_threads": 1},
    GRID.faded: {"keep": 0.5},
    GridDensity.from_grid: {"grid": GRID},
    meanshiftpp.seek(GRID).keep: {"min_weight": 2},
    meanshiftpp.seek: {"grid": GRID, "resolution": 1, "tol": 0.1, "max_iter": 9, "n_threads": 1},
    meanshiftpp.sweep: {
        "X": X,
        "bandwidths": [2.0],
        "step": 2.0,
        "resolution": 1,
        "tol": 0.1,
        "max_iter": 9,
        "max_cells": 99,
        "n_threads": 1,
    },
    meanshiftpp.select_bandwidth: {"X": X, "method": "auto", "sample_weight": np.ones(6)},
    meanshiftpp.density_bandwidth: {"X": X, "resolution": 1, "smoothness": 1.0},
    meanshiftpp.fine_bandwidth: {"bandwidth": 2.0, "resolution": 4},
    meanshiftpp.segment: {"image": IMAGE, "bandwidth": 9.0, "detail": 1.0, "space": "lab"},
    meanshiftpp.hierarchy: {"image": IMAGE, "max_level": 1.0, "min_size": 9, "start_label": 1},
    meanshiftpp.quantize: {"image": IMAGE},
    meanshiftpp.palette: {"image": IMAGE},
    meanshiftpp.update_trackers: {"trackers": [], "frame": IMAGE},
    Tracker().init: {"frame": IMAGE, "window": (2, 2, 9, 9)},
    geo.degrees: {"metres": 200.0, "latitude": 51.0},
    geo.signed: {"lonlat": X},
    geo.to_xyz: {"lonlat": X},
    geo.to_lonlat: {"xyz": np.ones((2, 3))},
    stream.open_points: {"paths": "a.npy", "columns": ["x0"], "missing": "drop", "where": "x0>1"},
    stream.build_grid: {"source": None, "bandwidth": 2.0, "every": 3.0},
    stream.write_labels: {"path": "b.npy", "source": None, "labels": np.zeros(6, np.int32)},
    plot.clusters: {"X": X, "labels": np.zeros(6, int), "periodic": None},
}


each_parameter = pytest.mark.parametrize(
    ("function", "parameter"),
    [
        (function, parameter)
        for function, good in CALLS.items()
        for parameter in good
        if parameter != "path"
    ],
    ids=lambda value: value if isinstance(value, str) else value.__qualname__,
)


@pytest.fixture
def call(tmp_path, monkeypatch):
    """Call a function with valid arguments but one."""
    monkeypatch.chdir(tmp_path)
    np.save("a.npy", X)

    def call_with(function, parameter, value):
        good = dict(CALLS[function])
        if "source" in good:
            good["source"] = stream.open_points("a.npy")
        return function(**{**good, parameter: value})

    return call_with


@each_parameter
@pytest.mark.parametrize(
    "bad", [object(), "a", float("nan"), [[]]], ids=["object", "text", "NaN", "list"]
)
def test_wrong_type_raises_an_error_of_this_package(function, parameter, bad, call):
    with pytest.raises(MeanShiftPPError):
        call(function, parameter, bad)


@each_parameter
def test_a_number_beyond_floats_is_a_large_number_or_an_error(function, parameter, call):
    if parameter in ("n_threads", "max_iter", "max_cells", "min_size"):  # at least as many
        call(function, parameter, 10**400)
    else:
        with pytest.raises(MeanShiftPPError):
            call(function, parameter, 10**400)


@pytest.mark.parametrize("fps", ["x", 0, -1.5, float("nan"), float("inf")])
def test_wrong_number_of_frames_per_second_raises(fps, tmp_path):
    with (
        pytest.raises(MeanShiftPPError, match="fps must be a positive number"),
        video.write_frames(tmp_path / "a.mp4", fps=fps, size=(16, 16)),
    ):
        pass


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: stream.open_points("a.npy", columns="x0"), "columns must be distinct .*got 'x0'"),
        (lambda: stream.build_grid(X, 1.0), "source must be .*open_points.*got 'ndarray'"),
        (lambda: meanshiftpp.sweep(X, max_cells=-1), "max_cells must be a whole number from 1"),
        (lambda: GRID.coarsen(0), "^k must be a whole number from 1"),
        (lambda: Grid.empty(1, 2.5), "n_features must be a whole number from 1, got 2.5"),
        (lambda: Grid.empty([1, [2, 3]]), "bandwidth must be one number, or one per feature"),
        (lambda: Grid.from_points([[1.0]], True), "bandwidth must be one number, got True"),
        (lambda: GridDensity(400, periodic=360).fit([[1.0]]), "use a bandwidth of at most 360"),
        (lambda: plot.clusters(X, [0]), r"labels must be .*shape \(6,\), .*got \(1,\)"),
        (lambda: plot.clusters(X, [0] * 6, periodic=[1]), "periodic must be None or 2 values"),
    ],
)
def test_message_names_the_parameter(call, message):
    with pytest.raises(MeanShiftPPError, match=message):
        call()
