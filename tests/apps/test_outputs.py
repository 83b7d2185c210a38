"""Outputs that exist already, and disks that are full: one rule for every writer."""

from __future__ import annotations

import json
import os
import resource
import shutil
import stat
import threading
from collections.abc import Callable
from pathlib import Path

import laspy
import matplotlib as mpl
import numpy as np
import pytest
import rasterio
import shapely
from tests.apps.cli.command_line import run

from meanshiftpp import Grid, seek
from meanshiftpp.apps.cli.cluster.profile import write_centers
from meanshiftpp.apps.cli.segment.measure import Measurements
from meanshiftpp.apps.cli.sweep import _draw
from meanshiftpp.apps.cli.track.run import Found, _table
from meanshiftpp.bandwidth.sweep import sweep
from meanshiftpp.core.profile import profile_of_grid
from meanshiftpp.errors import FileAccessError
from meanshiftpp.images import picture
from meanshiftpp.images.picture import Picture
from meanshiftpp.io.checkpoint import Checkpoint
from meanshiftpp.io.maps.vectors import Features, write_features
from meanshiftpp.stream import open_points, write_labels
from meanshiftpp.video import write_frames

mpl.use("Agg")
N = 300
POINTS = np.random.default_rng(0).normal(size=(N, 3))
LABELS = np.random.default_rng(1).integers(0, 1 << 30, N, np.int32)


def write_grid(path: Path, folder: Path) -> None:
    Grid.from_points(POINTS, 0.5).save(path)


def write_checkpoint(path: Path, folder: Path) -> None:
    Checkpoint(Grid.from_points(POINTS, 0.5)).save(path, open_points(folder / "in.npy"))


def write_array_labels(path: Path, folder: Path) -> None:
    write_labels(path, open_points(folder / "in.npy"), LABELS)


def write_cloud_labels(path: Path, folder: Path) -> None:
    write_labels(path, open_points(folder / "in.las"), LABELS)


def write_raster_labels(path: Path, folder: Path) -> None:
    write_labels(path, open_points(folder / "in.tif"), LABELS)


def write_picture(path: Path, folder: Path) -> None:
    noise = np.random.default_rng(1).integers(0, 256, (40, 40, 3), np.uint8)
    picture.write(path, noise)


def write_label_image(path: Path, folder: Path) -> None:
    picture.write_labels(path, np.random.default_rng(2).integers(1, 60_000, (40, 40)))


def write_film(path: Path, folder: Path) -> None:
    with write_frames(path, 25, (32, 32)) as write:
        for frame in np.random.default_rng(3).integers(0, 256, (4, 32, 32, 3), np.uint8):
            write(frame)


def write_plot(path: Path, folder: Path) -> None:
    _draw(path, sweep(POINTS, [0.5, 1.0]))


def write_windows(path: Path, folder: Path) -> None:
    frame = np.zeros((8, 8, 3), np.uint8)
    with _table(path) as write_rows:
        for number in range(100):
            write_rows(Found(number, frame, [(True, (1, 2, 3, 4), 0.5)]))


def write_lines(path: Path, folder: Path) -> None:
    write_labels(path, open_points(folder / "in.csv"), np.zeros(N, np.int32))


def write_profiles(path: Path, folder: Path) -> None:
    write_centers(path, profile_of_grid(seek(Grid.from_points(POINTS, 0.2))), ["x", "y", "z"])


def write_map(path: Path, folder: Path) -> None:
    points = shapely.points(POINTS[:, :2])
    batch = Features(points, {"label": LABELS})
    write_features(path, [batch], kind="Point", crs=rasterio.crs.CRS.from_epsg(4326))


def write_measurements(path: Path, folder: Path) -> None:
    table = Measurements(path)
    values = np.zeros((15, 20, 1), np.uint8)
    table.add(
        folder / "in.tif", np.arange(1, N + 1, dtype=np.int32).reshape(15, 20), Picture(values)
    )
    table.write()


WRITERS: dict[str, Callable[[Path, Path], None]] = {
    "o.grid": write_grid,
    "o.checkpoint": write_checkpoint,
    "o.npy": write_array_labels,
    "o.csv": write_array_labels,
    "o.parquet": write_array_labels,
    "o.arrow": write_array_labels,
    "o.las": write_cloud_labels,
    "o.laz": write_cloud_labels,
    "o.tif": write_raster_labels,
    "o.png": write_picture,
    "o.jpg": write_picture,
    "labels.png": write_label_image,
    "labels.tif": write_label_image,
    "o.mp4": write_film,
    "o.mkv": write_film,
    "plot.png": write_plot,
    "plot.pdf": write_plot,
    "windows.csv": write_windows,
    "lines.csv": write_lines,
    "centers.csv": write_profiles,
    "centers.parquet": write_profiles,
    "map.gpkg": write_map,
    "map.geojson": write_map,
    "measure.csv": write_measurements,
}
each_writer = pytest.mark.parametrize(("name", "write"), WRITERS.items(), ids=list(WRITERS))


@pytest.fixture(scope="module")
def inputs(tmp_path_factory) -> Path:
    """A folder with the points in every format that has labels of its own."""
    folder = tmp_path_factory.mktemp("inputs")
    np.save(folder / "in.npy", POINTS)
    np.savetxt(folder / "in.csv", POINTS, delimiter=",", header="x,y,z", comments="")
    cloud = laspy.create(point_format=6)
    cloud.header.scales = [0.001] * 3
    cloud.xyz = POINTS
    cloud.write(folder / "in.las")
    layout = {"driver": "GTiff", "width": 20, "height": 15, "count": 1, "dtype": "uint8"}
    place = rasterio.Affine.scale(2)
    with rasterio.open(folder / "in.tif", "w", transform=place, **layout) as file:
        file.write(np.arange(N).astype(np.uint8).reshape(15, 20), 1)
    return folder


@pytest.fixture
def out(tmp_path) -> Path:
    """An empty folder for outputs."""
    return tmp_path


@each_writer
def test_a_replaced_file_keeps_mode_owner_and_link(out, inputs, name, write):
    real = out / f"real-{name}"
    real.write_text("old")
    real.chmod(0o640)
    if os.geteuid() == 0:
        os.chown(real, 1234, 2345)
    before = real.stat()
    other = out / "other-name"
    other.hardlink_to(real)
    (out / name).symlink_to(real.name)
    write(out / name, inputs)
    after = real.stat()
    assert (after.st_mode, after.st_uid, after.st_gid) == (
        before.st_mode,
        before.st_uid,
        before.st_gid,
    )
    assert (out / name).is_symlink()
    assert other.read_text() == "old"
    assert after.st_size > 3
    assert sorted(path.name for path in out.iterdir()) == sorted([name, other.name, real.name])


@each_writer
def test_a_temporary_file_is_as_private_as_the_file_it_replaces(
    out, inputs, name, write, monkeypatch
):
    (out / name).write_text("old")
    (out / name).chmod(0o600)
    modes, inodes = set(), set()
    replace = Path.replace

    def record(source: Path, target: Path) -> None:
        modes.add(stat.S_IMODE(source.stat().st_mode))
        inodes.add(source.stat().st_ino)
        replace(source, target)

    created: list[int] = []
    create = os.open

    def record_creation(path, flags, mode=0o777, **options):
        descriptor = create(path, flags, mode, **options)
        if flags & os.O_EXCL and Path(os.fspath(path)).parent == out:
            created.append(os.fstat(descriptor).st_ino)
            assert os.fstat(descriptor).st_mode & 0o077 == 0
        return descriptor

    monkeypatch.setattr(Path, "replace", record)
    monkeypatch.setattr(os, "open", record_creation)
    write(out / name, inputs)
    assert modes == {0o600}
    assert inodes == set(created)  # the library wrote to the file and did not make another


@each_writer
def test_a_pipe_receives_the_whole_content_or_is_refused(out, inputs, name, write):
    os.mkfifo(out / name)
    if write is write_checkpoint:
        with pytest.raises(FileAccessError, match="it is a pipe, not a regular file"):
            write(out / name, inputs)
    else:
        received: list[bytes] = []
        reader = threading.Thread(target=lambda: received.append((out / name).read_bytes()))
        reader.start()
        write(out / name, inputs)
        reader.join()
        other = out / "again" / name  # some files contain their name
        other.parent.mkdir()
        write(other, inputs)
        regular = other.read_bytes()
        shutil.rmtree(other.parent)
        assert len(received[0]) == len(regular)
        assert received[0][:8] == regular[:8]
    assert stat.S_ISFIFO((out / name).stat().st_mode)
    assert [path.name for path in out.iterdir()] == [name]


@pytest.mark.parametrize("name", [name for name in WRITERS if name != "o.checkpoint"])
def test_a_full_device_is_an_error_that_names_the_output(out, inputs, name):
    (out / name).symlink_to("/dev/full")
    with pytest.raises(FileAccessError, match=rf"cannot write '.*{name}': No space left on device"):
        WRITERS[name](out / name, inputs)
    assert stat.S_ISCHR(Path("/dev/full").stat().st_mode)


@each_writer
@pytest.mark.parametrize("limit", [0, 64, 500])
def test_a_full_disk_leaves_the_old_file(out, inputs, name, write, limit):
    write(out / name, inputs)  # loads the modules that it needs
    (out / name).write_text("old")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))
    try:
        with pytest.raises(FileAccessError, match=f"cannot write '.*{name}': ") as raised:
            write(out / name, inputs)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert raised.value.place == repr(str(out / name))
    assert (out / name).read_text() == "old"
    assert [path.name for path in out.iterdir()] == [name]


@each_writer
def test_a_loop_of_links_is_an_error(out, inputs, name, write):
    (out / name).symlink_to(name)
    with pytest.raises(FileAccessError, match="Too many levels of symbolic links"):
        write(out / name, inputs)


def test_a_grid_can_be_built_into_a_device_and_a_pipe(out, inputs):
    build = ("grid", "build", inputs / "in.npy", "-b", 0.5, "-o")
    code, text, _ = run(*build, "/dev/null", "--json")
    assert (code, Path("/dev/null").is_char_device()) == (0, True)
    os.mkfifo(out / "pipe")
    received: list[bytes] = []
    reader = threading.Thread(target=lambda: received.append((out / "pipe").read_bytes()))
    reader.start()
    assert run(*build, out / "pipe")[0] == 0
    reader.join()
    (out / "copy.grid").write_bytes(received[0])
    assert Grid.load(out / "copy.grid") == Grid.from_points(POINTS, 0.5)
    assert json.loads(text)["cells"] == len(Grid.load(out / "copy.grid"))
