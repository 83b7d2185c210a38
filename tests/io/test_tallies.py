"""Files in chunks without a bandwidth: tallies, their checkpoints, and the labels of a fit."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from tests.io.stopped_runs import StoppedError, stop_after
from tests.io.table_files import TABLES, as_table, write, write_array

from meanshiftpp import Grid, MeanShiftPP
from meanshiftpp.core.tree import tally as tallies
from meanshiftpp.core.tree import treefile
from meanshiftpp.core.tree.clusters import Clusters
from meanshiftpp.core.tree.significant import Significant
from meanshiftpp.core.tree.tally import Tally
from meanshiftpp.errors import GridFileError, GridMismatchError
from meanshiftpp.io.checkpoint import Checkpoint
from meanshiftpp.io.sources import Source
from meanshiftpp.io.streams import add_points
from meanshiftpp.stream import build_grid, open_points, write_labels


def cluster(source: Source, recipe: Significant | None = None, **options) -> Clusters:
    recipe = (recipe or Significant()).checked(len(source.columns))
    return recipe.search(recipe.gather(lambda each: add_points(source, each.empty(), **options)))


def same(one: Clusters, other: Clusters) -> bool:
    return treefile.to_bytes(one.tree) == treefile.to_bytes(other.tree)


@pytest.fixture(params=["rows", "cells", "coarse cells"])
def kept(request, monkeypatch) -> str:
    """Let a tally keep all rows, or the cells of more than 5,000; few cells are coarser."""
    if request.param != "rows":
        monkeypatch.setattr(tallies, "MAX_ROWS", 5000)
        monkeypatch.setattr("meanshiftpp.core.tree.significant.MAX_ROWS", 5000)
        monkeypatch.setattr("meanshiftpp.core.tree.significant._BLOCK", 4000)
        monkeypatch.setattr(tallies, "_WAITING_ROWS", 2500)
    if request.param == "coarse cells":
        monkeypatch.setattr(tallies, "MAX_CELLS", 4000)
    return request.param


# -- the labels of a fit ---------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", [*TABLES, ".npy", ".zarr"])
def test_labels_are_those_of_a_fit(tmp_path, X, suffix, small_chunks, kept):
    path = tmp_path / f"points{suffix}"
    if suffix in TABLES:
        write(path, as_table(X), row_group_size=3333)
    else:
        write_array(path, X)
    source = open_points(path)
    model = MeanShiftPP().fit(X)
    clusters = cluster(source)
    assert same(clusters, model._modes)
    write_labels(tmp_path / "out.npy", source, clusters.label)
    assert np.array_equal(np.load(tmp_path / "out.npy"), model.labels_)


WEIGHTS = {
    "whole": lambda rng, n: rng.integers(0, 4, n),
    "real": lambda rng, n: rng.random(n) + 0.01,
    "whole, then real": lambda rng, n: np.r_[np.ones(n // 2), rng.random(n - n // 2)],
}


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("suffix", [".npy", ".csv"])
def test_weighted_rows_have_the_labels_of_a_fit(tmp_path, X, small_chunks, weights, suffix):
    w = WEIGHTS[weights](np.random.default_rng(0), len(X))
    path = tmp_path / f"w{suffix}"
    table = np.c_[X, w]
    write_array(path, table) if suffix == ".npy" else write(path, as_table(table))
    source = open_points(path, weight="x3" if suffix == ".npy" else "c3")
    for options in ({}, {"cluster_all": False}):
        model = MeanShiftPP(**options).fit(X, sample_weight=w)
        clusters = cluster(source, Significant(**options))
        assert same(clusters, model._modes)
        assert np.array_equal(clusters.weights, model.cluster_weights_)
        assert np.array_equal(clusters.label(X), model.labels_)


def test_periods_missing_values_and_conditions(tmp_path, small_chunks, kept):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(9000, 2)) * 5 + rng.integers(0, 3, (9000, 1)) * 60 - 10
    X[rng.random(9000) < 0.01, 0] = np.nan
    path = write(tmp_path / "p.parquet", pa.table({"lon": X[:, 0], "x": X[:, 1]}))
    source = open_points(path, missing="drop", where="x < 200")
    points = X[np.isfinite(X).all(axis=1) & (X[:, 1] < 200)]
    model = MeanShiftPP(periodic=(180, None)).fit(points)
    clusters = cluster(source, Significant((180, None)))
    assert same(clusters, model._modes)
    assert np.array_equal(clusters.label(points), model.labels_)


def test_columns_of_whole_and_of_real_numbers_can_alternate(tmp_path, small_chunks):
    x = np.r_[np.repeat(np.arange(30), 100), np.random.default_rng(0).normal(40, 1, 3000)]
    path = tmp_path / "x.csv"
    path.write_text("x\n" + "\n".join(f"{v:.0f}" if v < 30 else repr(float(v)) for v in x) + "\n")
    source = open_points(path)
    assert {chunk.points.dtype.kind for chunk in source} <= {"i", "f"}
    assert same(cluster(source), MeanShiftPP().fit(source.read())._modes)


# -- checkpoints -----------------------------------------------------------------------------------


@pytest.mark.parametrize("weight", [None, "c3"])
def test_a_run_continues_from_its_checkpoint(tmp_path, X, small_chunks, kept, weight):
    w = np.random.default_rng(0).random(len(X))
    path = write(tmp_path / "t.csv", as_table(np.c_[X, w]))
    names = ["c0", "c1", "c2"]

    def opened() -> Source:
        return open_points(path, names, weight=weight)

    options = {"checkpoint": tmp_path / "c", "every": 0}
    for rows in (3000, 9000):
        with pytest.raises(StoppedError):
            cluster(opened(), **options, progress=stop_after(rows))
    start = Significant().checked(3).empty()
    saved = Checkpoint.resume(tmp_path / "c", opened(), start)
    assert 3000 < saved.rows < 9500
    assert (saved.total.marginals is not None) == (kept != "rows")
    seen: list[int] = []
    clusters = cluster(opened(), **options, progress=seen.append)
    assert same(clusters, cluster(opened()))
    assert (seen[0], sum(seen)) == (saved.rows, len(X))
    seen.clear()  # a complete checkpoint needs no further pass
    assert same(cluster(opened(), **options, progress=seen.append), clusters)
    assert seen == [len(X)]
    if kept == "rows":
        sample_weight = None if weight is None else w
        assert same(clusters, MeanShiftPP().fit(X, sample_weight=sample_weight)._modes)


def test_a_checkpoint_of_another_run_is_an_error(tmp_path, X):
    path, saved = write_array(tmp_path / "a.npy", X), tmp_path / "c"
    cluster(open_points(path), checkpoint=saved)
    before = saved.read_bytes()
    with pytest.raises(GridMismatchError, match="no bandwidth, and this run has a; name another"):
        build_grid(open_points(path), 0.5, checkpoint=saved)
    with pytest.raises(GridMismatchError, match=r"the periods \[0.0, 0.0, 0.0\], not \[9.0, 0.0"):
        cluster(open_points(path), Significant((9, None, None)), checkpoint=saved)
    with pytest.raises(GridMismatchError, match="'x0', 'x1', 'x2', not 'x0', 'x1'"):
        cluster(open_points(path, ["x0", "x1"]), checkpoint=saved)
    assert saved.read_bytes() == before
    build_grid(open_points(path), 0.5, checkpoint=tmp_path / "g")
    with pytest.raises(GridMismatchError, match="it has a bandwidth, and this run has no"):
        cluster(open_points(path), checkpoint=tmp_path / "g")
    with pytest.raises(GridFileError, match="is not a grid file"):
        Grid.load(saved)


def rewrite(path: Path, **changes) -> None:
    with np.load(path) as file:
        fields = {**{name: file[name] for name in file.files}, **changes}
    with path.open("wb") as file:
        np.savez(file, **{name: value for name, value in fields.items() if value is not None})


DAMAGED = [
    {"points": None},
    {"points": np.zeros(3)},
    {"points": np.zeros((3, 2))},
    {"points": np.full((3, 3), np.nan)},
    {"points": np.array([["a", "b", "c"]])},
    {"period": np.zeros(0)},
    {"period": np.full(3, -1.0)},
    {"period": np.zeros(3, np.int64)},
    {"version": np.array(-1)},
    {"weights": np.ones(2)},
    {"weights": np.zeros(12_345)},
    {"weights": np.full(12_345, np.nan)},
]
DAMAGED_CELLS = [
    {"counts": np.ones(3, np.uint64)},
    {"counts": np.zeros(1, np.int64)},
    {"unit": np.array(3.0)},
    {"squares": np.array(-1.0)},
    {"rows": np.array(0)},
    {"coarser": np.array(-1)},
    {"whole": np.array(2)},
    {"exact": None},
    {"marginal size": np.ones(3, np.int64)},
    {"marginal level": np.full(3, 10**6)},
    {"marginal low": np.full(3, np.inf)},
    {"marginal cells": None},
]


@pytest.mark.parametrize("changes", DAMAGED, ids=lambda changes: str(*changes))
def test_a_damaged_checkpoint_is_an_error(tmp_path, X, changes):
    path, saved = write_array(tmp_path / "a.npy", X), tmp_path / "c"
    cluster(open_points(path), checkpoint=saved)
    rewrite(saved, **changes)
    with pytest.raises(GridFileError, match="is damaged: "):
        cluster(open_points(path), checkpoint=saved)


@pytest.mark.parametrize("kept", ["cells"], indirect=True)
@pytest.mark.parametrize("changes", DAMAGED_CELLS, ids=lambda changes: str(*changes))
def test_a_damaged_checkpoint_of_cells_is_an_error(tmp_path, X, changes, kept):
    path, saved = write_array(tmp_path / "a.npy", X), tmp_path / "c"
    cluster(open_points(path), checkpoint=saved)
    rewrite(saved, **changes)
    with pytest.raises(GridFileError, match="is damaged: "):
        cluster(open_points(path), checkpoint=saved)


def test_a_newer_checkpoint_is_an_error(tmp_path, X):
    path, saved = write_array(tmp_path / "a.npy", X), tmp_path / "c"
    cluster(open_points(path), checkpoint=saved)
    rewrite(saved, version=np.array(99))
    with pytest.raises(GridFileError, match="version 99, this release reads up to 1; upgrade"):
        cluster(open_points(path), checkpoint=saved)


def test_a_tally_is_small_however_many_rows_it_has(monkeypatch):
    monkeypatch.setattr(tallies, "MAX_ROWS", 1000)
    monkeypatch.setattr(tallies, "MAX_CELLS", 500)
    rng = np.random.default_rng(0)
    total = tallies.TallySum(Tally(np.zeros(2)))
    for _ in range(20):
        total.add_chunk(tallies.Chunk(rng.normal(size=(900, 2))))
    assert len(total.total()) <= 500
    assert total.total().total == 18_000
