"""Large files on the command line: streaming, checkpoints, full disks, and grid files."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from tests.apps.cli.command_line import run
from tests.helpers import fit_labels

from meanshiftpp import Grid, MeanShiftPP
from meanshiftpp.core.recipe import seek
from meanshiftpp.io import streams

resource = pytest.importorskip("resource")  # limits and signals of Unix

N = 60_000


def command(*arguments: object) -> list[str]:
    return [sys.executable, "-m", "meanshiftpp", *map(str, arguments)]


@pytest.fixture(scope="module")
def points() -> np.ndarray:
    rng = np.random.default_rng(2)
    return (rng.normal(size=(N, 3)) + rng.integers(0, 4, (N, 1)) * 6).astype(np.float32)


@pytest.fixture(scope="module")
def folder(points, tmp_path_factory) -> Path:
    """Write many small files, so that a process can be killed between two of them."""
    folder = tmp_path_factory.mktemp("parts")
    for number, part in enumerate(np.split(points, 600)):
        table = pa.table({"id": [str(number)] * len(part), **dict(zip("xyz", part.T))})
        pa.parquet.write_table(table, folder / f"{number:04}.parquet")
    return folder


@pytest.fixture
def whole(points, tmp_path) -> Path:
    pa.parquet.write_table(pa.table(dict(zip("xyz", points.T))), tmp_path / "in.parquet")
    return tmp_path / "in.parquet"


def labels_in(path: Path) -> np.ndarray:
    return pa.parquet.read_table(path)["label"].to_numpy()


# -- streaming -------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [("--stream",), ("--memory", "0.5M"), ("--no-stream",)])
def test_streaming_does_not_change_the_labels(tmp_path, points, whole, options):
    out = tmp_path / "out.parquet"
    code, text, stderr = run("cluster", whole, "-b", 0.9, "-o", out, "--json", *options)
    assert (code, stderr) == (0, "")
    summary = json.loads(text)
    assert summary["streamed"] == (options != ("--no-stream",))
    modes, labels = fit_labels(points, 0.9)
    assert summary["points"] == N
    assert summary["cells"] == len(modes.grid)
    assert summary["centers"] == modes.centers.tolist()
    assert summary["seconds"].keys() == {"start", "read", "cluster", "describe", "write"}
    assert np.array_equal(labels_in(out), labels)
    assert pa.parquet.read_table(out).column_names == ["x", "y", "z", "label"]


def test_points_larger_than_the_memory_option_are_streamed(whole):
    for memory, streamed in (("0", True), ("700k", True), ("710KiB", False), ("1G", False)):
        _, text, _ = run("cluster", whole, "-b", 2, "--json", "--memory", memory)
        assert json.loads(text)["streamed"] is streamed  # 720,000 bytes
    for wrong in ("lots", "1X", ""):
        code, _, stderr = run("cluster", whole, f"--memory={wrong}")
        assert code == 2
        assert "expected a size" in stderr


def test_small_clusters_are_noise_when_streaming(tmp_path, points, whole):
    out = tmp_path / "out.npy"
    options = ("-b", 0.4, "--min-cluster-size", 500, "-o", out, "--json")
    _, in_memory, _ = run("cluster", whole, *options)
    expected = np.load(out)
    _, streamed, _ = run("cluster", whole, *options, "--stream")
    assert np.array_equal(np.load(out), expected)
    assert (
        json.loads(streamed)["noise"]
        == json.loads(in_memory)["noise"]
        == (expected == -1).sum()
        > 0
    )


def test_the_picture_of_a_stream_shows_a_sample(tmp_path, points, whole, monkeypatch):
    monkeypatch.setattr("meanshiftpp.apps.cli.cluster.run.SAMPLE", 3000)
    monkeypatch.setattr("meanshiftpp.io.sources.MAX_ROWS", 500)
    out, picture = tmp_path / "out.npy", tmp_path / "p.png"
    options = ("--stream", "--json", "--plot", picture, "-o", out)
    code, text, stderr = run("cluster", whole, *options)
    assert (code, stderr) == (0, "")
    assert json.loads(text)["clusters"] == 4
    assert np.array_equal(np.load(out), MeanShiftPP().fit_predict(points))
    assert picture.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("option", ["--stream", "--checkpoint"])
def test_a_file_whose_range_grows_is_read_again(tmp_path, option, monkeypatch):
    monkeypatch.setattr("meanshiftpp.io.sources.MAX_ROWS", 1000)
    for module in ("tally", "significant"):
        monkeypatch.setattr(f"meanshiftpp.core.tree.{module}.MAX_ROWS", 3000)
    monkeypatch.setattr("meanshiftpp.core.tree.tally.MAX_CELLS", 1000)
    monkeypatch.setattr("meanshiftpp.core.tree.tally._WAITING_ROWS", 1000)
    passes = []
    add = streams.add_points
    monkeypatch.setattr(streams, "add_points", lambda *a, **b: [passes.append(1), add(*a, **b)][1])
    rng = np.random.default_rng(0)
    X = rng.normal(size=(9000, 2)) + 9 * rng.integers(0, 3, (9000, 1))
    X[-500:] *= 1e6  # the cells that the range allows grow in the last chunk
    file, out = tmp_path / "x.npy", tmp_path / "out.npy"
    np.save(file, X)
    options = [option, tmp_path / "c", "--checkpoint-every", 0][: 1 if option == "--stream" else 4]
    code, _, stderr = run("cluster", file, *options, "-o", out)
    assert (code, stderr) == (0, "")
    assert len(passes) == 2
    assert np.array_equal(np.load(out), MeanShiftPP().fit_predict(X))
    assert not (tmp_path / "c").exists()


@pytest.mark.parametrize("option", ["--no-stream", "--stream"])
def test_a_non_finite_value_is_reported_with_its_place(tmp_path, option):
    np.save(tmp_path / "a.npy", [[1.0], [np.nan], [3.0]])
    code, _, stderr = run("cluster", tmp_path / "a.npy", option)
    assert code == 1
    assert "row 2, column 'x0' is NaN" in stderr


def test_contradicting_options_are_a_usage_error(whole):
    for options in (
        ("--no-stream", "--checkpoint", "c"),
        ("--grid", "g", "-b", 1),
        ("--grid", "g", "--checkpoint", "c"),
        ("--grid", "g", "--periodic", "360,-,-"),
        ("--grid", "g", "--no-stream"),
    ):
        assert run("cluster", whole, *options)[0] == 2


# -- interrupted and continued ---------------------------------------------------------------------


def wait_for(path: Path, process: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + 60
    while not path.exists():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.001)


def test_a_killed_run_continues_to_the_same_bits(tmp_path, points, folder):
    out, checkpoint = tmp_path / "out.parquet", tmp_path / "run.checkpoint"
    arguments = ("cluster", folder, "-b", 0.9, "-o", out, "--checkpoint", checkpoint)
    first = command(*arguments, "--checkpoint-every", 0)
    process = subprocess.Popen(first, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    wait_for(checkpoint, process)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    assert not out.exists()
    reached = Grid.load(checkpoint).total
    assert 0 < reached < N  # the run was incomplete
    # The checkpoint belongs to another bandwidth.
    again = [*command(*arguments), "-b", "0.8"]
    failed = subprocess.run(again, capture_output=True, text=True, check=False)
    assert failed.returncode == 1
    assert "it has the bandwidth 0.9" in failed.stderr
    assert Grid.load(checkpoint).total == reached
    done = subprocess.run(command(*arguments, "--json"), capture_output=True, text=True, check=True)
    modes, labels = fit_labels(points, 0.9)
    assert json.loads(done.stdout)["centers"] == modes.centers.tolist()
    unbroken = tmp_path / "unbroken.parquet"
    assert run("cluster", folder, "-b", 0.9, "-o", unbroken, "--stream")[0] == 0
    assert out.read_bytes() == unbroken.read_bytes()
    assert np.array_equal(labels_in(out), labels)
    assert not checkpoint.exists()


def test_a_partial_output_never_has_the_final_name(tmp_path, folder):
    out, checkpoint = tmp_path / "out.parquet", tmp_path / "run.checkpoint"
    arguments = ("cluster", folder, "-b", 0.9, "-o", out, "--checkpoint", checkpoint)
    process = subprocess.Popen(command(*arguments), stderr=subprocess.PIPE, text=True)
    wait_for(checkpoint, process)  # by default not before the grid is complete
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert not out.exists()
    subprocess.run(command(*arguments), check=True, capture_output=True)
    assert len(labels_in(out)) == N


def test_sigterm_leaves_no_temporary_file(tmp_path, folder):
    out, checkpoint = tmp_path / "out.parquet", tmp_path / "run.checkpoint"
    arguments = ("cluster", folder, "-b", 0.9, "-o", out, "--checkpoint", checkpoint)
    for _ in range(10):  # the run may end before the signal arrives
        for path in (out, checkpoint):
            path.unlink(missing_ok=True)
        process = subprocess.Popen(command(*arguments), stderr=subprocess.PIPE, text=True)
        for pattern in ("run.checkpoint", ".out-*"):  # the grid, then the first labels
            while process.poll() is None and not [*tmp_path.glob(pattern)]:
                pass
        process.send_signal(signal.SIGTERM)
        process.communicate()
        if process.returncode:
            break
    assert process.returncode == 128 + signal.SIGTERM
    assert [path.name for path in tmp_path.iterdir()] == ["run.checkpoint"]


# -- a full disk -----------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", [".parquet", ".csv", ".npy", ".arrow", ".tif", ".las", ".laz"])
def test_a_full_disk_is_one_line_and_leaves_the_old_file(tmp_path, points, whole, suffix):
    """A limit on file sizes simulates a full disk."""
    source, out = whole, tmp_path / "out" / f"o{suffix}"
    if suffix == ".tif":
        source = raster(tmp_path / "in.tif")
    elif suffix in (".las", ".laz"):
        source = cloud(tmp_path / "in.las", points)
    out.parent.mkdir()
    out.write_text("old")

    def small_disk() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))

    done = subprocess.run(
        command("cluster", source, "-b", 0.9, "--stream", "-o", out),
        preexec_fn=small_disk,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, done
    assert f"error: cannot write '{out}'" in done.stderr
    assert "Traceback" not in done.stderr
    assert out.read_text() == "old"
    assert list(out.parent.iterdir()) == [out]


def raster(path: Path) -> Path:
    rasterio = pytest.importorskip("rasterio")
    values = np.random.default_rng(0).integers(0, 9, (1, 400, 600), np.uint8) * 9
    place = {"crs": "EPSG:32633", "transform": rasterio.Affine(10, 0, 5, 0, -10, 7)}
    shape = {"count": 1, "height": 400, "width": 600, "dtype": "uint8"}
    with rasterio.open(path, "w", "GTiff", **shape, **place) as file:
        file.write(values)
    return path


def cloud(path: Path, points: np.ndarray) -> Path:
    laspy = pytest.importorskip("laspy")
    data = laspy.LasData(laspy.LasHeader(point_format=3, version="1.2"))
    data.xyz = points
    data.write(path)
    return path


# -- grids -----------------------------------------------------------------------------------------


def test_grids_are_built_separately_and_merged(tmp_path, points):
    for name, part in (("a", points[:20_000]), ("b", points[20_000:])):
        np.save(tmp_path / f"{name}.npy", part)
        built = ("grid", "build", tmp_path / f"{name}.npy", "-o", tmp_path / f"{name}.grid")
        assert run(*built, "-b", "0.9,1,1.1")[0] == 0
    merged = tmp_path / "all.grid"
    code, text, _ = run("grid", "merge", tmp_path / "a.grid", tmp_path / "b.grid", "-o", merged)
    assert code == 0
    assert "60,000" in text
    grid = Grid.from_points(points, [0.9, 1, 1.1])
    assert Grid.load(merged) == grid
    code, text, _ = run("grid", "info", merged, "--json")
    assert code == 0
    assert json.loads(text) == {
        "file": str(merged),
        "cells": len(grid),
        "features": 3,
        "columns": ["x0", "x1", "x2"],
        "weight": N,
        "heaviest": int(grid.counts.max()),
        "unit": 1.0,
        "bandwidth": [0.9, 1, 1.1],
        "lowest": (grid.cells.min(axis=0) * [0.9, 1, 1.1]).tolist(),
        "highest": ((grid.cells.max(axis=0) + 1) * [0.9, 1, 1.1]).tolist(),
        "bytes": merged.stat().st_size,
    }
    summary = json.loads(text)  # the extent contains all points
    assert (summary["lowest"] <= points.min(axis=0)).all()
    assert (summary["highest"] > points.max(axis=0)).all()
    _, text, _ = run("grid", "info", merged)
    assert f"cells from {summary['lowest'][1]:g} to {summary['highest'][1]:g} in steps of 1" in text
    out = tmp_path / "labels.npy"
    assert run("cluster", tmp_path / "b.npy", "--grid", merged, "-o", out)[0] == 0
    assert np.array_equal(np.load(out), seek(grid).label(points[20_000:]))


def test_a_grid_file_stores_its_columns(tmp_path, points):
    table = pa.table({name: points[:2000, k] for k, name in enumerate("xyz")})
    pa.parquet.write_table(table, tmp_path / "p.parquet")
    pa.parquet.write_table(table.rename_columns(["a", "b", "c"]), tmp_path / "q.parquet")
    for name, columns in (("xy", "x,y"), ("yx", "y,x")):
        built = ("grid", "build", tmp_path / "p.parquet", "-b", 1, "--columns", columns)
        assert run(*built, "-o", tmp_path / name)[0] == 0
    assert Grid.load(tmp_path / "xy") == Grid.from_points(points[:2000, :2], 1)
    assert " y " in run("grid", "info", tmp_path / "yx")[1]
    code, _, stderr = run("grid", "merge", tmp_path / "xy", tmp_path / "yx", "-o", tmp_path / "o")
    assert code == 1
    assert "has the columns y, x, but" in stderr
    label = ("cluster", tmp_path / "p.parquet", "-o", tmp_path / "o.npy", "--grid")
    assert run(*label, tmp_path / "xy", "--columns", "x,y")[0] == 0
    code, _, stderr = run(*label, tmp_path / "yx", "--columns", "x,y")
    assert code == 1
    assert "select columns in that order with --columns" in stderr
    other = ("cluster", tmp_path / "q.parquet", "-o", tmp_path / "o.npy", "--grid")
    code, _, stderr = run(*other, tmp_path / "xy", "--columns", "a,b")
    assert code == 0
    assert "has the columns a, b, used as x, y of" in stderr
    Grid.from_points(points, 1).save(tmp_path / "xyz", columns=["x", "y", "z"])
    code, _, stderr = run(*other, tmp_path / "xyz")
    assert code == 1
    assert "q.parquet has the columns a, b, c, but" in stderr
    np.save(tmp_path / "p.npy", points[:100])
    assert run("cluster", tmp_path / "p.npy", "--grid", tmp_path / "xyz")[0] == 0


@pytest.mark.parametrize("out", [None, "labels.npy"])
def test_with_a_grid_the_summary_describes_the_labelled_file(tmp_path, points, out):
    np.save(tmp_path / "few.npy", points[:5000])
    grid = Grid.from_points(points, 0.9)
    grid.save(tmp_path / "g")
    modes = seek(grid).keep(200)
    labels = modes.label(points[:5000])
    arguments = ["cluster", tmp_path / "few.npy", "--grid", tmp_path / "g"]
    arguments += ["--min-cluster-size", 200, *(["-o", tmp_path / out] if out else [])]
    code, text, _ = run(*arguments, "--json")
    assert code == 0
    summary = json.loads(text)
    assert summary["points"] == 5000
    assert summary["grid_weight"] == N
    assert summary["clusters"] == len(summary["centers"]) == len(modes)
    assert summary["sizes"] == [(labels == k).sum() for k in range(len(modes))]
    assert summary["noise"] == (labels == -1).sum() == 5000 - sum(summary["sizes"])
    code, text, _ = run(*arguments, "--plot", tmp_path / "p.png")
    assert code == 0
    assert "5,000 in x0, x1, x2" in text
    assert "60,000" in text


def test_the_table_of_a_grid_with_many_features_is_truncated(tmp_path):
    Grid.from_points(np.zeros((2, 20)), 1).save(tmp_path / "g")
    _, text, _ = run("grid", "info", tmp_path / "g")
    assert "and 8 more" in text
    Grid.empty(1, 2).save(tmp_path / "g")
    assert run("grid", "info", tmp_path / "g")[0] == 0


def test_errors_of_grids_are_one_line_and_exit_with_1(tmp_path, points):
    np.save(tmp_path / "a.npy", points)
    Grid.from_points(points, 0.5).save(tmp_path / "half")
    Grid.from_points(points, 1).save(tmp_path / "one")
    Grid.from_points(points[:, :2], 1).save(tmp_path / "flat")
    (tmp_path / "text").write_text("no grid")
    (tmp_path / "cut").write_bytes((tmp_path / "one").read_bytes()[:-50])
    np.savez(tmp_path / "other.npz", points=points)
    np.savez(tmp_path / "objects.npz", points=np.array([{}, None]))
    half, one, flat, text = (tmp_path / name for name in ("half", "one", "flat", "text"))
    for arguments, expected in [
        (("grid", "merge", half, one, "-o", tmp_path / "o"), "in Python (Grid.coarsen)"),
        (
            ("grid", "merge", one, flat, "-o", tmp_path / "o"),
            "flat has 2 features",
        ),
        (("grid", "merge", one, text, "-o", tmp_path / "o"), "is not a grid file"),
        (("grid", "info", tmp_path / "none"), "No such file"),
        (("grid", "info", text), "text' is not a grid file; pass one that meanshiftpp wrote\n"),
        (("grid", "info", tmp_path / "a.npy"), "a.npy' is not a grid file; pass one"),
        (("grid", "info", tmp_path / "other.npz"), "other.npz' is not a grid file; pass one"),
        (("grid", "info", tmp_path / "objects.npz"), "is not a grid file, or is damaged; pass one"),
        (("grid", "info", tmp_path / "cut"), "cut' is not a grid file, or is damaged; pass one"),
        (
            ("grid", "build", tmp_path / "a.npy", "-b", 1, "-o", tmp_path / "x" / "o"),
            "does not exist",
        ),
        (("grid", "build", tmp_path / "none.npy", "-b", 1, "-o", tmp_path / "o"), "No such file"),
        (("cluster", tmp_path / "a.npy", "--grid", flat), "a grid of 2 features, but"),
        (("cluster", tmp_path / "a.npy", "--grid", text), "is not a grid file"),
    ]:
        code, stdout, stderr = run(*arguments)
        assert (code, stdout) == (1, ""), expected
        assert stderr.startswith("error: ")
        assert expected in stderr
    assert not (tmp_path / "o").exists()
    assert run("grid", "build", tmp_path / "a.npy", "-o", tmp_path / "o")[0] == 2  # no bandwidth


def test_streaming_supports_resolution_and_periods(tmp_path):
    angles = np.random.default_rng(0).normal([[358, 1]] * 300 + [[120, 5]] * 300, 4) % [360, 1000]
    source, out = tmp_path / "angles.npy", tmp_path / "out.npy"
    np.save(source, angles)
    options = ("-b", "9,3", "--resolution", 2, "--periodic", "360,-", "-o", out, "--json")
    expected = MeanShiftPP((9, 3), resolution=2, periodic=(360, None)).fit(angles)
    for option in ("--stream", "--no-stream"):
        code, text, stderr = run("cluster", source, *options, option)
        assert code == 0, stderr
        assert np.array_equal(np.load(out), expected.labels_)
        assert np.allclose(json.loads(text)["bandwidth"], expected.bandwidth_)
    grid = tmp_path / "g"
    code, _, stderr = run("grid", "build", source, "-b", "9,3", "--periodic", "360,-", "-o", grid)
    assert code == 0, stderr
    assert Grid.load(grid) == Grid.from_points(angles, (9, 3), periodic=(360, None))
    for bad in ("0,-", "x,-", "nan,1"):
        code, _, stderr = run("cluster", source, "--periodic", bad)
        assert code == 2
        assert "--periodic" in stderr


@pytest.mark.parametrize("option", ["--no-stream", "--stream", "--grid"])
def test_centers_are_in_the_same_period_as_the_points(tmp_path, option):
    places = np.random.default_rng(0).normal([[-100, 40]] * 300 + [[20, 5]] * 200, 1)
    source, grid, picture = tmp_path / "p.npy", tmp_path / "g", tmp_path / "p.png"
    np.save(source, np.r_[places, [[-179.5, 0], [179.5, 0]]])
    cells = ("-b", 3, "--periodic", "360,-")
    assert run("grid", "build", source, *cells, "-o", grid)[0] == 0
    more = ("--grid", grid) if option == "--grid" else (*cells, option)
    code, text, stderr = run("cluster", source, *more, "--json", "--plot", picture)
    assert code == 0, stderr
    assert np.allclose(json.loads(text)["centers"][:2], [[-100, 40], [20, 5]], atol=0.5)


# -- no input is overwritten ----------------------------------------------------------------------


def test_no_output_overwrites_an_input_or_another_output(tmp_path, points):
    """This includes symbolic and hard links to the files."""
    parts = tmp_path / "parts"
    parts.mkdir()
    for name in ("a.npy", "b.npy"):
        np.save(parts / name, points[:500])
    soft, hard = tmp_path / "soft.npy", tmp_path / "hard.npy"
    soft.symlink_to(parts / "a.npy")
    hard.hardlink_to(parts / "a.npy")
    for name in ("g0", "g1"):
        Grid.from_points(points[:500], 1).save(tmp_path / name)
    (tmp_path / "p.png").symlink_to(parts / "a.npy")
    a, g0, g1, out = parts / "a.npy", tmp_path / "g0", tmp_path / "g1", tmp_path / "out.npy"
    before = {path: path.read_bytes() for path in (a, g0, g1)}
    for arguments in [
        ("grid", "build", a, "-b", 1, "-o", a),
        ("grid", "build", parts, "-b", 1, "-o", a),
        ("grid", "build", a, "-b", 1, "-o", soft),
        ("grid", "build", a, "-b", 1, "-o", hard),
        ("grid", "build", soft, "-b", 1, "-o", a),
        ("grid", "build", a, "-b", 1, "-o", out, "--checkpoint", out),
        ("grid", "build", a, "-b", 1, "-o", out, "--checkpoint", tmp_path / "x" / ".." / "out.npy"),
        ("grid", "build", a, "-b", 1, "-o", out, "--checkpoint", a),
        ("grid", "merge", g0, g1, "-o", g0),
        ("grid", "merge", g0, g1, "-o", g1),
        ("cluster", a, "-b", 1, "-o", out, "--checkpoint", out),
        ("cluster", a, "-b", 1, "-o", out, "--checkpoint", hard),
        ("cluster", a, "-b", 1, "--plot", tmp_path / "p.png"),
        ("cluster", a, "-b", 1, "--plot", tmp_path / "q.png", "--checkpoint", tmp_path / "q.png"),
        ("cluster", a, "-o", out, "--grid", out),
        ("sweep", a, "--plot", tmp_path / "p.png"),
    ]:
        code, stdout, stderr = run(*arguments)
        assert (code, stdout) == (1, ""), arguments
        assert "name another" in stderr, arguments
        assert before == {path: path.read_bytes() for path in before}
        assert not out.exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        *("g0", "g1", "hard.npy", "p.png", "parts", "soft.npy"),
    ]
