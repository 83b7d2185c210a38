"""Files that change while they are used: labels of old rows are never written next to new ones."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from tests.apps.cli.command_line import run
from tests.io.table_files import write_array

from meanshiftpp.errors import GridMismatchError, InvalidInputError
from meanshiftpp.io.identity import Identity
from meanshiftpp.stream import build_grid, open_points, write_labels

CHANGES = ["replaced", "written over", "longer", "touched"]


def change(path: Path, how: str) -> None:
    """Change a file; where possible, its size and time stay."""
    before, content = path.stat(), path.read_bytes()
    other = content[:-9] + content[-9:][::-1]
    if how == "replaced":
        new = path.with_name("new")
        new.write_bytes(content)
        new.replace(path)
    elif how != "touched":
        with path.open("r+b") as file:
            file.write(other * (2 if how == "longer" else 1))
    time = before.st_mtime_ns + (how == "touched")
    os.utime(path, ns=(time, time))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "a.npy"
    np.save(path, np.random.default_rng(0).normal(size=(20_000, 2)))
    return path


@pytest.mark.parametrize("how", CHANGES)
def test_a_pass_over_a_file_that_changes_raises(path, small_chunks, how):
    source = open_points(path)
    chunks = source.chunks()
    next(chunks)
    change(path, how)
    with pytest.raises(InvalidInputError, match=r"a\.npy' must not change while it is used, but"):
        list(chunks)


@pytest.mark.parametrize("how", CHANGES)
def test_labels_of_other_rows_are_not_written(path, tmp_path, how):
    source = open_points(path)
    labels = np.zeros(len(source.read()), np.int32)
    change(path, how)
    with pytest.raises(InvalidInputError, match="must not change while it is used"):
        write_labels(tmp_path / "out.npy", source, labels)
    assert not (tmp_path / "out.npy").exists()


def test_labels_of_a_file_that_changes_during_the_pass_are_not_written(
    path, tmp_path, small_chunks
):
    source = open_points(path)
    labels = np.zeros(len(source.read()), np.int32)
    with pytest.raises(InvalidInputError, match="must not change while it is used"):
        write_labels(
            tmp_path / "out.npy", source, labels, progress=lambda rows: change(path, "replaced")
        )
    assert not (tmp_path / "out.npy").exists()


@pytest.mark.parametrize("how", CHANGES)
def test_a_checkpoint_knows_the_file_that_was_opened(path, tmp_path, small_chunks, how):
    source, checkpoint = open_points(path), tmp_path / "c"

    def interrupt(rows: int) -> None:
        if checkpoint.exists():
            change(path, how)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        build_grid(source, 0.5, checkpoint=checkpoint, every=0, progress=interrupt)
    with pytest.raises(GridMismatchError, match=r"of another run: 'a\.npy' ha[sd] "):
        build_grid(open_points(path), 0.5, checkpoint=checkpoint)


def test_no_checkpoint_is_written_after_a_change(path, tmp_path, small_chunks):
    source, checkpoint = open_points(path), tmp_path / "c"
    swapped: list[bytes] = []

    def swap(rows: int) -> None:
        if checkpoint.exists() and not swapped:
            swapped.append(checkpoint.read_bytes())
            change(path, "replaced")

    with pytest.raises(InvalidInputError, match="must not change while it is used"):
        build_grid(source, 0.5, checkpoint=checkpoint, every=0, progress=swap)
    assert checkpoint.read_bytes() == swapped[0]


def test_the_command_does_not_label_a_file_that_was_replaced(path, tmp_path, monkeypatch):
    from meanshiftpp.apps.cli.cluster.run import Clustering

    finish = Clustering.finish

    def swap_and_finish(self, *args):
        change(path, "replaced")
        return finish(self, *args)

    monkeypatch.setattr(Clustering, "finish", swap_and_finish)
    status, _, errors = run("cluster", path, "-b", 1, "-o", tmp_path / "out.npy")
    assert status == 1
    assert "must not change while it is used, but 'a.npy' has been replaced since" in errors
    assert not (tmp_path / "out.npy").exists()


def test_arrays_of_many_files(tmp_path):
    zarr = pytest.importorskip("zarr")
    path = write_array(tmp_path / "a.zarr", np.zeros((100, 2)))
    source = open_points(path)
    assert Identity.of(path) == source.identities[0]
    zarr.open_array(path, mode="r+")[:] = 1
    with pytest.raises(InvalidInputError, match=r"a\.zarr' must not change"):
        source.read()


def test_checkpoints_of_old_releases_have_three_fields(path):
    now = Identity.of(path)
    old = Identity.from_note(now.note()[:3])
    assert old.difference(now) is None
    assert Identity.from_note(now.note()) == now
    change(path, "touched")
    assert old.difference(Identity.of(path)) == "'a.npy' has been modified since"
