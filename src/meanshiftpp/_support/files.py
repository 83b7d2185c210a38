"""Atomic writing of files, and checks of paths before a long computation.

Output goes to a temporary file in the same folder, which gets the final name when it is complete:
a run that fails leaves an existing file intact.
"""

from __future__ import annotations

import atexit
import os
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from meanshiftpp.errors import FileAccessError, InvalidInputError

__all__ = [
    "atomic_path",
    "check_no_overwrite",
    "check_readable",
    "check_writable",
    "known_suffix",
    "suffix_of",
]


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
        An empty file in the same folder with the same suffix.

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
    with _temporary_file(path) as target:
        try:
            yield target
            target.replace(Path(path).resolve())
        except FileAccessError:  # may be about another file, which its message names
            raise
        except OSError as error:
            raise _access_error("write", path, error) from error


def check_readable(path: str | os.PathLike[str]) -> None:
    """Raise FileAccessError early: reader libraries report missing files in different ways."""
    try:
        with Path(path).open("rb"):
            pass
    except OSError as error:
        raise _access_error("read", path, error) from error


def check_writable(path: str | os.PathLike[str]) -> None:
    """Raise FileAccessError if a file cannot be written; an existing one is left unchanged."""
    with _temporary_file(path):
        pass


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
    if first.exists() and second.exists():
        return first.samefile(second)
    return first.resolve() == second.resolve()


@contextmanager
def _temporary_file(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Create an empty file in the folder of `path`, the only reliable test of write access.

    The temporary file is always removed on exit.
    """
    final = Path(path).resolve()
    target = final.with_name(f".{final.stem[:100]}-{uuid.uuid4().hex[:12]}{final.suffix}")
    if final.is_dir():
        raise FileAccessError(f"cannot write {str(path)!r}: it is a folder")
    if final.exists() and not (os.access(final, os.W_OK) and final.stat().st_mode & 0o222):
        raise FileAccessError(
            f"cannot write {str(path)!r}: it exists and is read-only; name another file or make it "
            "writable"
        )
    if not final.parent.is_dir():
        raise FileAccessError(
            f"cannot write {str(path)!r}: there is no folder {str(final.parent)!r}"
        )
    _unfinished.add((os.getpid(), target))
    try:
        try:
            target.open("x").close()
        except OSError as error:
            raise _access_error("write", path, error) from error
        yield target
    finally:
        with suppress(OSError):
            target.unlink()
        _unfinished.discard((os.getpid(), target))


# A signal may end the program between the creation of a file and the block that removes it.
_unfinished: set[tuple[int, Path]] = set()


@atexit.register
def _remove_unfinished() -> None:
    """Remove the temporary files of this process, and not those of the one it was forked from."""
    for process, target in list(_unfinished):
        if process == os.getpid():
            with suppress(OSError):
                target.unlink()


def _access_error(action: str, path: str | os.PathLike[str], error: OSError) -> FileAccessError:
    return FileAccessError(f"cannot {action} {str(path)!r}: {error.strerror or error}")
