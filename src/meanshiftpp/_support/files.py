"""Files, whole or not at all.

Whatever is written goes to a new file beside the old one and takes its name at the very end: a run
that fails leaves what was there. What cannot be read or written is said before any work is done.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from meanshiftpp.errors import FileAccessError, InvalidInputError

__all__ = [
    "atomic_path",
    "check_apart",
    "check_readable",
    "check_writable",
    "known_suffix",
    "suffix_of",
]


@contextmanager
def atomic_path(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give a new file beside `path` to write to, which takes that name if all goes well.

    Parameters
    ----------
    path : path
        The file to be. One that is there stays as it is until the new one is complete.

    Yields
    ------
    target : Path
        An empty file of the same suffix in the same folder.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from meanshiftpp._support.files import atomic_path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with atomic_path(Path(folder) / "a.txt") as target:
    ...         _ = target.write_text("done")
    ...     [file.name for file in Path(folder).iterdir()]
    ['a.txt']
    """
    with _new_file_beside(path) as target:
        try:
            yield target
            target.replace(Path(path).resolve())
        except FileAccessError:  # has its own words, perhaps about another file
            raise
        except OSError as error:
            raise _cannot("write", path, error) from error


def check_readable(path: str | os.PathLike[str]) -> None:
    """Open a file and close it, for the errors: every reader words them in its own way."""
    try:
        with Path(path).open("rb"):
            pass
    except OSError as error:
        raise _cannot("read", path, error) from error


def check_writable(path: str | os.PathLike[str]) -> None:
    """Find out before the work whether its result can be written; makes and changes nothing."""
    with _new_file_beside(path):
        pass


def check_apart(
    written: Sequence[str | os.PathLike[str] | None], read: Sequence[str | os.PathLike[str]] = ()
) -> None:
    """Refuse results that would be written over what is read, or over each other.

    Parameters
    ----------
    written : sequence of paths
        Where results go; None where one is not wanted.
    read : sequence of paths
        The data.

    Examples
    --------
    >>> from meanshiftpp._support.files import check_apart
    >>> check_apart(["a.grid", None], ["a.npy"])
    >>> check_apart(["a.npy"], ["b.npy", "./a.npy"])
    Traceback (most recent call last):
        ...
    meanshiftpp.errors.FileAccessError: 'a.npy' is read, and would be written over: name another
    """
    paths = [path for path in written if path is not None]
    for k, path in enumerate(paths):
        if any(_same_file(path, other) for other in read):
            raise FileAccessError(f"{str(path)!r} is read, and would be written over: name another")
        if any(_same_file(path, other) for other in paths[:k]):
            raise FileAccessError(f"{str(path)!r} cannot be two results at once: name another")


def known_suffix(path: str | os.PathLike[str], formats: Sequence[str]) -> str:
    """Return the suffix of a path in lower case, which must be one of `formats`.

    Examples
    --------
    >>> from meanshiftpp._support.files import known_suffix
    >>> known_suffix("labels.txt", (".csv", ".npy"))
    Traceback (most recent call last):
        ...
    meanshiftpp.errors.InvalidInputError: 'labels.txt' must end in .csv or .npy
    """
    suffix = suffix_of(path)
    if suffix not in formats:
        *first, last = formats
        names = f"{', '.join(first)} or {last}" if first else last
        raise InvalidInputError(f"{str(path)!r} must end in {names}")
    return suffix


def suffix_of(path: str | os.PathLike[str]) -> str:
    """Return the suffix of a path in lower case; of a compressed table, both.

    Examples
    --------
    >>> from meanshiftpp._support.files import suffix_of
    >>> suffix_of("Points.CSV.gz"), suffix_of("v1.2.npy")
    ('.csv.gz', '.npy')
    """
    name = Path(path).name.lower()
    return ".csv.gz" if name.endswith(".csv.gz") else Path(name).suffix


def _same_file(path: str | os.PathLike[str], other: str | os.PathLike[str]) -> bool:
    """Whether two names are, or would be, of one file: links are followed."""
    one, two = Path(path), Path(other)
    if one.exists() and two.exists():
        return one.samefile(two)
    return one.resolve() == two.resolve()


@contextmanager
def _new_file_beside(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Make an empty file in the folder of `path`: the one sure way to learn that it can be done.

    It is gone in the end, whenever that comes.
    """
    final = Path(path).resolve()
    target = final.with_name(f".{final.stem[:100]}-{uuid.uuid4().hex[:12]}{final.suffix}")
    if final.is_dir():
        raise FileAccessError(f"cannot write {str(path)!r}: it is a folder")
    if final.exists() and not (os.access(final, os.W_OK) and final.stat().st_mode & 0o222):
        raise FileAccessError(
            f"cannot write {str(path)!r}: it is there and may only be read; name another, or allow "
            "writing to it"
        )
    if not final.parent.is_dir():
        raise FileAccessError(f"cannot write {str(path)!r}: no folder {str(final.parent)!r}")
    try:
        try:
            target.open("x").close()
        except OSError as error:
            raise _cannot("write", path, error) from error
        yield target
    finally:
        with suppress(OSError):
            target.unlink()


def _cannot(do: str, path: str | os.PathLike[str], error: OSError) -> FileAccessError:
    return FileAccessError(f"cannot {do} {str(path)!r}: {error.strerror or error}")
