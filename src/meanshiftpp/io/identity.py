"""The identity of a file: recognise one that was changed or replaced while it was in use.

A run may read a file twice, or continue days later from a checkpoint. Labels of old rows must never
be written next to new ones.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any, Self

from meanshiftpp._support.files import check_readable, is_folder

__all__ = ["Identity"]

_END = 1 << 16  # bytes at each end of a file that are compared


@dataclass(frozen=True)
class Identity:
    """Name, size and time of a file, and what a replacement of the same size would change.

    Attributes
    ----------
    name : str
        The name without its folder, which may move.
    size, modified : int
        Bytes, and the time of the last change in nanoseconds.
    inode : int or None
        The number of the file in its file system; None in a checkpoint of an old release.
    ends : str or None
        A hash of the first and the last bytes; None in a checkpoint of an old release.
    """

    name: str
    size: int
    modified: int
    inode: int | None = None
    ends: str | None = None

    @classmethod
    def of(cls, path: Path) -> Self:
        """Return the identity of a file, or of a folder with all files in it."""
        if is_folder(path):
            return cls._of_folder(path)
        check_readable(path)
        with path.open("rb") as file:
            status = os.fstat(file.fileno())
            digest = hashlib.blake2b(file.read(_END), digest_size=16)
            file.seek(max(status.st_size - _END, 0))
            digest.update(file.read(_END))
        ends = digest.hexdigest()
        return cls(path.name, status.st_size, status.st_mtime_ns, status.st_ino, ends)

    @classmethod
    def _of_folder(cls, path: Path) -> Self:
        digest, size, modified = hashlib.blake2b(digest_size=16), 0, 0
        for file in sorted(path.rglob("*")):
            if file.is_file():
                status = file.stat()
                size, modified = size + status.st_size, max(modified, status.st_mtime_ns)
                entry = (str(file.relative_to(path)), status.st_size, status.st_mtime_ns)
                digest.update(repr(entry).encode())
        return cls(path.name, size, modified, path.stat().st_ino, digest.hexdigest())

    @classmethod
    def from_note(cls, fields: Any) -> Self:
        """Return the identity in a checkpoint; other content raises ValueError or TypeError."""
        name, size, modified, *rest = fields
        inode, ends = rest or (None, None)
        return cls(str(name), int(size), int(modified), inode, ends)

    def note(self) -> list[Any]:
        """Return the fields for a checkpoint."""
        return list(astuple(self))

    def difference(self, now: Identity) -> str | None:
        """Return how a file differs from what it was, or None."""
        if self.size != now.size:
            return f"{self.name!r} had {self.size:,} bytes and now has {now.size:,}"
        if self.modified != now.modified:
            return f"{self.name!r} has been modified since"
        if None not in (self.inode, self.ends) and (self.inode, self.ends) != (now.inode, now.ends):
            return f"{self.name!r} has been replaced since"
        return None
