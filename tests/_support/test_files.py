"""Temporary files of atomic writing, when the program ends early, and special files."""

import errno
import os
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from meanshiftpp import Grid, stream, video
from meanshiftpp._support import leftovers
from meanshiftpp._support.files import (
    _swept,
    atomic_path,
    check_no_overwrite,
    check_readable,
    check_writable,
    exists,
    scratch_folder,
)
from meanshiftpp.errors import FileAccessError
from meanshiftpp.io.checkpoint import Checkpoint

PROGRAM = """
import sys
from meanshiftpp._support.files import _temporary_file

block = _temporary_file(sys.argv[1], None)
block.__enter__()  # and the program ends before the block that removes the file
sys.keep = block  # held until nothing of the package is left
"""


def test_end_of_the_program_removes_temporary_files(tmp_path: Path):
    subprocess.run([sys.executable, "-c", PROGRAM, tmp_path / "out.csv"], check=True)
    assert list(tmp_path.iterdir()) == []


WAITING = """
import sys
from meanshiftpp._support.files import atomic_path

with atomic_path(sys.argv[1]) as target:
    target.write_text("half")
    print("written", flush=True)
    sys.stdin.read()
"""


def start_writing(path: Path) -> subprocess.Popen:
    process = subprocess.Popen(
        [sys.executable, "-c", WAITING, path],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "written\n"
    return process


def test_the_next_writer_removes_the_file_of_a_killed_process_only(tmp_path: Path):
    killed, running = start_writing(tmp_path / "a.csv"), start_writing(tmp_path / "b.csv")
    bystanders = [tmp_path / name for name in (".a-123456789abc.csv", ".git", "meanshiftpp-1-2")]
    for path in bystanders:
        path.touch()
    killed.send_signal(signal.SIGKILL)
    killed.communicate()
    assert len(list(tmp_path.iterdir())) == 2 + len(bystanders)
    _swept.discard(tmp_path)
    with atomic_path(tmp_path / "a.csv") as target:
        target.write_text("whole")
    left = [path for path in tmp_path.iterdir() if path not in bystanders]
    assert len(left) == 2  # the new file and that of the running process
    assert (tmp_path / "a.csv").read_text() == "whole"
    assert all(path.exists() for path in bystanders)
    running.communicate()
    assert (tmp_path / "b.csv").read_text() == "half"


def test_a_leftover_of_another_user_or_behind_a_link_stays(tmp_path: Path, monkeypatch):
    foreign, behind = tmp_path / leftovers.new_name("a"), tmp_path / "behind"
    foreign.touch()
    behind.touch()
    (tmp_path / leftovers.new_name("b")).symlink_to(behind)
    monkeypatch.setattr(os, "geteuid", lambda: foreign.stat().st_uid + 1)
    leftovers.sweep(tmp_path)
    monkeypatch.undo()
    assert foreign.exists()
    leftovers.sweep(tmp_path)
    assert not foreign.exists()
    assert behind.exists()


def test_a_file_that_another_user_owns_is_not_replaced(tmp_path: Path, monkeypatch):
    path = tmp_path / "a.csv"
    path.write_text("old")

    def refuse(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    status = os.stat_result((*path.stat()[:4], 4321, 4321, *path.stat()[6:]))
    monkeypatch.setattr("meanshiftpp._support.files._output_status", lambda _: status)
    monkeypatch.setattr(os, "chown", refuse)
    with pytest.raises(FileAccessError, match="belongs to another user or group"):
        check_writable(path)
    assert path.read_text() == "old"
    assert [file.name for file in tmp_path.iterdir()] == ["a.csv"]


def test_a_socket_is_an_error_and_stays(tmp_path: Path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # the path of a socket has at most 108 bytes
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("a.csv")
        for check in (check_writable, check_readable):
            with pytest.raises(FileAccessError, match=r"'a\.csv': it is a socket"):
                check("a.csv")
    assert Path("a.csv").is_socket()


def test_a_pipe_is_checked_without_opening_it(tmp_path: Path):
    os.mkfifo(tmp_path / "a.csv")
    check_writable(tmp_path / "a.csv")
    with pytest.raises(FileAccessError, match="it is a pipe"):
        check_readable(tmp_path / "a.csv")


def test_a_reader_that_closes_its_pipe_is_an_error(tmp_path: Path):
    path = tmp_path / "a.csv"
    os.mkfifo(path)
    reader = threading.Thread(target=lambda: path.open("rb").close())
    reader.start()
    with (
        pytest.raises(FileAccessError, match="Broken pipe"),
        atomic_path(path) as target,
    ):
        target.write_bytes(bytes(1 << 22))
    reader.join()


def test_a_file_that_cannot_be_looked_at_is_not_taken_for_a_new_one(tmp_path, monkeypatch):
    def fail(self, **_):
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(Path, "stat", fail)
    with pytest.raises(FileAccessError, match="Input/output error"):
        exists(tmp_path / "a.checkpoint")


def test_a_loop_of_links_is_neither_an_output_nor_a_crash(tmp_path: Path):
    loop = tmp_path / "a.csv"
    loop.symlink_to("a.csv")
    check_no_overwrite([loop], [tmp_path / "b.csv"])
    for check in (check_writable, check_readable):
        with pytest.raises(FileAccessError, match="Too many levels of symbolic links"):
            check(loop)


@pytest.mark.parametrize(
    ("name", "reason"), [("a" * 300, "name too long"), ("a\0b", "null character")]
)
def test_an_impossible_name_is_an_error_of_access(tmp_path: Path, name: str, reason: str):
    path = tmp_path / f"{name}.csv"
    check_no_overwrite([path], [tmp_path / "b.csv"])
    for check in (check_writable, check_readable, stream.open_points, stream.check_output):
        with pytest.raises(FileAccessError, match=reason):
            check(path)
    with pytest.raises(FileAccessError, match=reason):
        video.read_frames(path.with_suffix(".mp4"))


def test_a_new_file_has_the_mode_of_any_new_file(tmp_path: Path):
    (tmp_path / "plain").touch()
    with atomic_path(tmp_path / "a.csv") as target:
        target.write_text("whole")
    assert (tmp_path / "a.csv").stat().st_mode == (tmp_path / "plain").stat().st_mode


@pytest.mark.parametrize("stem", ["\u4e2d" * 80, "a" * 240, "two\nlines", "bad\udcff"])
def test_every_name_of_an_output_has_a_temporary_name(tmp_path: Path, stem: str):
    path = tmp_path / f"{stem}.csv"
    with atomic_path(path) as target:
        assert leftovers._NAME.fullmatch(target.name)
        target.write_text("whole")
    assert path.read_text() == "whole"


def test_a_named_pipe_with_the_name_of_a_leftover_stays(tmp_path: Path):
    path = tmp_path / leftovers.new_name("a")
    os.mkfifo(path)
    leftovers.sweep(tmp_path)
    assert path.exists()


@pytest.mark.parametrize("has_locks", [False, True])
def test_files_are_written_where_nothing_can_be_locked(tmp_path: Path, monkeypatch, has_locks):
    """As on Windows, and on file systems without locks."""

    def refuse(*_: object) -> None:
        raise OSError(38, "Function not implemented")

    if has_locks:
        monkeypatch.setattr(leftovers.fcntl, "flock", refuse)
    else:
        monkeypatch.setattr(leftovers, "fcntl", None)
    (left := tmp_path / leftovers.new_name("b")).touch()
    _swept.discard(tmp_path)
    with atomic_path(tmp_path / "a.csv") as target:
        target.write_text("whole")
    with scratch_folder(tmp_path / "a.csv") as folder:
        (folder / "part").touch()
    assert sorted(tmp_path.iterdir()) == sorted([left, tmp_path / "a.csv"])  # it may be in use


def test_a_file_that_is_taken_for_a_leftover_is_created_again(tmp_path: Path, monkeypatch):
    path, locks = tmp_path / "a", []
    flock = leftovers.fcntl.flock

    def take_first(lock: int, how: int) -> None:
        flock(lock, how)
        if not locks:
            path.unlink()
        locks.append(lock)

    monkeypatch.setattr(leftovers.fcntl, "flock", take_first)
    leftovers.release(leftovers.create_file(path, 0o600))
    assert len(locks) == 2
    assert path.exists()


def test_a_folder_without_a_parent_is_an_error(tmp_path: Path):
    with pytest.raises(FileAccessError, match="cannot write"), scratch_folder(tmp_path / "no/a"):
        pytest.fail("the folder cannot exist")


@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="needs /proc")
def test_a_file_that_can_be_opened_but_not_read():
    for read in (check_readable, Grid.load, lambda path: Checkpoint.resume(path, None, None)):
        with pytest.raises(FileAccessError, match=r"cannot read '/proc/self/mem': "):
            read("/proc/self/mem")
