"""Atomic writing of files, and checks of paths before a long computation.

Output goes to a temporary file in the same folder, which gets the final name when it is complete:
a run that fails leaves an existing file intact. The rules for an existing output:

- A regular file is replaced by a file of the same mode, owner and group. Its other names (hard
  links) keep the old content.
- A symbolic link stays, and the file that it leads to is replaced.
- A pipe or a character device such as /dev/null receives the content once it is complete.
- Folders, sockets, block devices and read-only files are errors.

Temporary files of a process that was killed are removed by the next one that writes to the folder.
"""

from __future__ import annotations

import atexit
import csv
import errno
import os
import shutil
import stat
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import takewhile
from pathlib import Path

from meanshiftpp._support import leftovers
from meanshiftpp.errors import FileAccessError, InvalidInputError

__all__ = [
    "atomic_path",
    "check_no_overwrite",
    "check_readable",
    "check_regular",
    "check_writable",
    "exists",
    "is_file",
    "is_folder",
    "known_suffix",
    "new_folders",
    "real_path",
    "scratch_folder",
    "suffix_of",
    "write_rows",
]

_SPECIAL = {
    stat.S_IFIFO: "a pipe",
    stat.S_IFCHR: "a character device",
    stat.S_IFBLK: "a block device",
    stat.S_IFSOCK: "a socket",
    stat.S_IFDIR: "a folder",
}
_PATH_ERRORS = (OSError, ValueError)  # a NUL character in a name is a ValueError
_UNREADABLE = (errno.EACCES, errno.EIO)  # there may be a file
_COPY_BYTES = 1 << 20
_PERMISSIONS = 0o777
_STREAMS = (stat.S_IFIFO, stat.S_IFCHR)  # special files that take content of any length


@contextmanager
def atomic_path(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a temporary file that gets the name `path` if the block succeeds.

    Parameters
    ----------
    path : path
        The final name. An existing file is replaced only when the new one is complete.

    Yields
    ------
    target : Path
        An empty file with the same suffix, in the same folder if `path` is a regular file.

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
    old = _output_status(path)
    with _temporary_file(path, old) as target:
        try:
            yield target
            if _is_stream(old):
                with target.open("rb") as content, Path(path).open("wb") as stream:
                    shutil.copyfileobj(content, stream, _COPY_BYTES)
                return
            if old is not None:
                target.chmod(old.st_mode & _PERMISSIONS)
            target.replace(real_path(path))
        except FileAccessError:  # may be about another file, which its message names
            raise
        except OSError as error:
            raise _access_error("write", path, error) from error


def write_rows(
    path: str | os.PathLike[str], names: Iterable[str], rows: Iterable[Iterable[object]]
) -> None:
    """Write a .csv atomically: a line of names, and a line for each row."""
    with (
        atomic_path(path) as target,
        target.open("w", encoding="utf-8", newline="") as file,
    ):
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(names)
        writer.writerows(rows)


@contextmanager
def scratch_folder(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a new folder next to `path`, for files that a library makes; it is removed on exit."""
    folder = real_path(path).parent / leftovers.new_name()
    lock = None
    try:
        try:
            lock = leftovers.create_folder(folder)
        except OSError as error:
            raise _access_error("write", path, error) from error
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        leftovers.release(lock)


@contextmanager
def new_folders(folders: Iterable[Path]) -> Iterator[None]:
    """Create folders and their parents; on exit, remove the new ones that are still empty.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from meanshiftpp._support.files import new_folders
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with new_folders([Path(folder) / "used", Path(folder) / "empty"]):
    ...         _ = (Path(folder) / "used" / "a.txt").write_text("done")
    ...     [path.name for path in Path(folder).iterdir()]
    ['used']
    """
    made: list[Path] = []  # parents first
    try:
        for folder in folders:
            parents = takewhile(lambda each: not exists(each), (folder, *folder.parents))
            made += reversed(list(parents))
            try:
                folder.mkdir(parents=True, exist_ok=True)
            except _PATH_ERRORS as error:
                raise FileAccessError(
                    f"cannot create the folder {str(folder)!r}: {_reason(error)}; name another one"
                ) from error
        yield
    finally:
        for folder in reversed(made):
            with suppress(OSError):  # it has content
                folder.rmdir()


def exists(path: str | os.PathLike[str]) -> bool:
    """Return whether there is a file or folder; `Path.exists` raises for a name that is too long.

    Examples
    --------
    >>> from meanshiftpp._support.files import exists
    >>> exists("a" * 1000)
    False
    """
    return _kind_of(path) is not None


def is_file(path: str | os.PathLike[str]) -> bool:
    """Return whether there is a regular file; `Path.is_file` raises for a name that is too long.

    Examples
    --------
    >>> from meanshiftpp._support.files import is_file
    >>> is_file("."), is_file("a" * 1000)
    (False, False)
    """
    return _kind_of(path) == stat.S_IFREG


def is_folder(path: str | os.PathLike[str]) -> bool:
    """Return whether there is a folder; `Path.is_dir` raises for a name that is too long.

    Examples
    --------
    >>> from meanshiftpp._support.files import is_folder
    >>> is_folder("."), is_folder("a" * 1000)
    (True, False)
    """
    return _kind_of(path) == stat.S_IFDIR


def check_readable(path: str | os.PathLike[str]) -> None:
    """Raise FileAccessError early: reader libraries report missing files in different ways."""
    try:
        check_regular(path, "read")
        with Path(path).open("rb") as file:
            file.read(1)  # some files, as those of a damaged disk, can be opened but not read
    except FileAccessError:
        raise
    except _PATH_ERRORS as error:
        raise _access_error("read", path, error) from error


def check_regular(path: str | os.PathLike[str], action: str) -> None:
    """Raise FileAccessError for an existing special file: opening a pipe would wait for ever."""
    kind = _kind_of(path)
    if kind in _SPECIAL and kind != stat.S_IFDIR:
        raise _special_error(action, path, kind)


def check_writable(path: str | os.PathLike[str]) -> None:
    """Raise FileAccessError if a file cannot be written; an existing one is left unchanged."""
    with _temporary_file(path, _output_status(path)):
        pass


def real_path(path: str | os.PathLike[str]) -> Path:
    """Return the path without symbolic links; `Path.resolve` raises for a loop of them."""
    return Path(os.path.realpath(path))


def check_no_overwrite(
    outputs: Sequence[str | os.PathLike[str] | None], inputs: Sequence[str | os.PathLike[str]] = ()
) -> None:
    """Raise FileAccessError if an output would overwrite an input or another output.

    Parameters
    ----------
    outputs : sequence of paths
        The files to write; None for an output that is not wanted.
    inputs : sequence of paths
        The files that are read.

    Examples
    --------
    >>> from meanshiftpp._support.files import check_no_overwrite
    >>> check_no_overwrite(["a.grid", None], ["a.npy"])
    >>> check_no_overwrite(["a.npy"], ["b.npy", "./a.npy"])
    Traceback (most recent call last):
        ...
    meanshiftpp.errors.FileAccessError: 'a.npy' is an input and would be overwritten; name another
    output
    """
    paths = [path for path in outputs if path is not None]
    for k, path in enumerate(paths):
        if any(_same_file(path, other) for other in inputs):
            raise FileAccessError(
                f"{str(path)!r} is an input and would be overwritten; name another output"
            )
        if any(_same_file(path, other) for other in paths[:k]):
            raise FileAccessError(
                f"{str(path)!r} is the name of two outputs; name another for one of them"
            )


def known_suffix(path: str | os.PathLike[str], formats: Sequence[str]) -> str:
    """Return the suffix of a path in lower case; raise InvalidInputError if not in `formats`.

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
    """Return the suffix of a path in lower case; both suffixes of a .csv.gz.

    Examples
    --------
    >>> from meanshiftpp._support.files import suffix_of
    >>> suffix_of("Points.CSV.gz"), suffix_of("v1.2.npy")
    ('.csv.gz', '.npy')
    """
    name = Path(path).name.lower()
    return ".csv.gz" if name.endswith(".csv.gz") else Path(name).suffix


def _same_file(path: str | os.PathLike[str], other: str | os.PathLike[str]) -> bool:
    """Return whether two paths are, or would be, the same file; links are followed."""
    first, second = Path(path), Path(other)
    if exists(first) and exists(second):
        return first.samefile(second)
    try:
        return real_path(first) == real_path(second)
    except ValueError:  # of a NUL character, which the check of the file reports
        return False


def _kind_of(path: str | os.PathLike[str]) -> int | None:
    """Return the type of a file in its mode, None if there is none or the name is impossible."""
    try:
        return stat.S_IFMT(Path(path).stat().st_mode)
    except _PATH_ERRORS as error:
        if getattr(error, "errno", None) in _UNREADABLE:
            raise _access_error("read", path, error) from error
        return None


def _output_status(path: str | os.PathLike[str]) -> os.stat_result | None:
    """Return the status of an existing output, None for a new one; raise if it cannot be written.

    Links are followed; a loop of links is an error of the system.
    """
    try:
        old = Path(path).stat()
    except FileNotFoundError:
        return None
    except _PATH_ERRORS as error:
        raise _access_error("write", path, error) from error
    kind = stat.S_IFMT(old.st_mode)
    if kind == stat.S_IFDIR:
        raise FileAccessError.for_file(path, "write", "it is a folder")
    if kind in _SPECIAL and kind not in _STREAMS:
        raise _special_error("write", path, kind)
    if not (os.access(path, os.W_OK) and old.st_mode & 0o222):
        problem = "it exists and is read-only; name another file or make it writable"
        raise FileAccessError.for_file(path, "write", problem)
    return old


def _is_stream(old: os.stat_result | None) -> bool:
    return old is not None and stat.S_IFMT(old.st_mode) in _STREAMS


@contextmanager
def _temporary_file(path: str | os.PathLike[str], old: os.stat_result | None) -> Iterator[Path]:
    """Create an empty file in the folder of `path`, the only reliable test of write access.

    The temporary file is always removed on exit. It replaces the file of status `old`, if any.
    """
    folder = Path(tempfile.gettempdir()) if _is_stream(old) else real_path(path).parent
    if not folder.is_dir():
        raise FileAccessError.for_file(path, "write", f"the folder {str(folder)!r} does not exist")
    if folder not in _swept:
        _swept.add(folder)
        leftovers.sweep(folder)
    target = folder / leftovers.new_name(Path(path).stem, Path(path).suffix)
    _unfinished.add((os.getpid(), target))
    lock = None
    try:
        try:
            lock = leftovers.create_file(target, 0o666 if old is None else 0o600)
            if old is not None and not _is_stream(old):
                _take_over(path, target, old)
        except FileAccessError:
            raise
        except OSError as error:
            raise _access_error("write", path, error) from error
        yield target
    finally:
        with suppress(OSError):
            target.unlink()
        leftovers.release(lock)
        _unfinished.discard((os.getpid(), target))


def _take_over(path: str | os.PathLike[str], target: Path, old: os.stat_result) -> None:
    """Copy owner, group and mode of a file to its replacement."""
    new = target.stat()
    if hasattr(os, "chown") and (new.st_uid, new.st_gid) != (old.st_uid, old.st_gid):
        try:
            os.chown(target, old.st_uid, old.st_gid)
        except PermissionError as error:
            problem = (
                "it belongs to another user or group, which its replacement could not keep; "
                "name another file or remove this one"
            )
            raise FileAccessError.for_file(path, "write", problem) from error
    # Some libraries read what they have written; the exact mode is set at the end.
    target.chmod(old.st_mode & _PERMISSIONS | 0o600)


_swept: set[Path] = set()  # folders in which this process has looked for leftovers

# A signal may end the program between the creation of a file and the block that removes it.
_unfinished: set[tuple[int, Path]] = set()


@atexit.register
def _remove_unfinished() -> None:
    """Remove the temporary files of this process, and not those of the one it was forked from."""
    for process, target in list(_unfinished):
        if process == os.getpid():
            with suppress(OSError):
                target.unlink()


def _special_error(action: str, path: str | os.PathLike[str], kind: int) -> FileAccessError:
    problem = f"it is {_SPECIAL[kind]}, not a regular file; name another file"
    return FileAccessError.for_file(path, action, problem)


def _access_error(action: str, path: str | os.PathLike[str], error: Exception) -> FileAccessError:
    return FileAccessError.for_file(path, action, _reason(error))


def _reason(error: Exception) -> str:
    """Return the words of the system, or of this package for a name that the system cannot have."""
    if isinstance(error, ValueError):
        return "the name contains a null character"
    return getattr(error, "strerror", None) or str(error)
