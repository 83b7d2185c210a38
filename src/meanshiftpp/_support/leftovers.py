"""Temporary files, locked while their process runs, so that leftovers can be recognised.

A process that is killed cannot remove its temporary files, but the system releases its locks.
An entry that has a name of this module, belongs to this user and can be locked is a leftover, and
is removed before the next temporary entry in its folder is made. Names contain the host, because a
lock on a network file system may not be visible on other hosts. Systems without `flock` keep their
leftovers.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import stat
import uuid
import zlib
from contextlib import suppress
from pathlib import Path
from types import ModuleType

fcntl: ModuleType | None
try:
    import fcntl
except ImportError:  # Windows
    fcntl = None

__all__ = ["create_file", "create_folder", "new_name", "release", "sweep"]

_MARK = f"meanshiftpp-{zlib.crc32(platform.node().encode()):08x}-"
_NAME = re.compile(rf"(?s)\..*-{_MARK}[0-9a-f]{{12}}(\.\w+)*|{_MARK}[0-9a-f]{{12}}")
_STEM_BYTES = 100  # of the 255 that a name may have


def new_name(stem: str = "", suffix: str = "") -> str:
    """Return a new name: hidden and with a stem for a file, visible without one for a folder."""
    short = stem.encode(errors="ignore")[:_STEM_BYTES].decode(errors="ignore")
    return (f".{short}-" if stem else "") + f"{_MARK}{uuid.uuid4().hex[:12]}{suffix}"


def create_file(path: Path, mode: int) -> int | None:
    """Create an empty file and lock it until `release` or the end of the process.

    Returns the lock, or None on systems without locks.
    """
    while True:  # another process may take the file for a leftover before it is locked
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, mode))
        with suppress(FileNotFoundError):
            return _lock(path)


def create_folder(path: Path) -> int | None:
    """Create a folder for this user only, and lock it like a file."""
    while True:
        path.mkdir(0o700)
        with suppress(FileNotFoundError):
            return _lock(path)


def _lock(path: Path) -> int | None:
    if fcntl is None:
        return None
    lock = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        path.stat()
    except FileNotFoundError:
        os.close(lock)
        raise
    except OSError:  # a file system without locks
        os.close(lock)
        return None
    return lock


def release(lock: int | None) -> None:
    """Release the lock of a file or folder."""
    if lock is not None:
        os.close(lock)


def sweep(folder: Path) -> None:
    """Remove the leftovers in a folder; errors are ignored, because nothing depends on it."""
    if fcntl is None:
        return
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if _NAME.fullmatch(entry.name):
                with suppress(OSError):
                    _remove_if_left(entry.path)


def _remove_if_left(path: str) -> None:
    """Remove a file or folder of this user that no process has locked."""
    assert fcntl is not None  # checked by `sweep`
    lock = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        status = os.fstat(lock)
        if status.st_uid != os.geteuid():
            return
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if stat.S_ISDIR(status.st_mode):
            shutil.rmtree(path, ignore_errors=True)
        elif stat.S_ISREG(status.st_mode):
            Path(path).unlink()
    finally:
        os.close(lock)
