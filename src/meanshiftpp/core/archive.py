"""Archives: .npz files of named arrays, written atomically.

A file holds the name of its format, its version, and the arrays. A file that is damaged, or of a
newer release, raises an error; the content is validated by the module of each format.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from meanshiftpp._support.files import atomic_path, check_readable
from meanshiftpp.errors import GridFileError

_ZIP = b"PK\x03\x04"  # the first bytes of an archive
_ADVICE = {
    "grid file": "pass one that meanshiftpp wrote",
    "checkpoint": "name another file",
}


def write(path: str | os.PathLike[str], name: str, version: int, arrays: Mapping[str, Any]) -> None:
    """Write the arrays of a format."""
    with atomic_path(path) as target, target.open("wb") as file:
        np.savez(file, format=np.array(name), version=np.array(version), **arrays)


def read(
    path: str | os.PathLike[str], kind: str, only: Sequence[str] | None = None
) -> dict[str, NDArray[Any]]:
    """Read the arrays of a file, all or those named in `only`; `kind` names it in errors."""
    check_readable(path)
    with Path(path).open("rb") as file:
        if file.read(len(_ZIP)) != _ZIP:
            raise foreign(path, kind)
        file.seek(0)
        return _arrays(file, path, kind, only)


def _arrays(
    file: BinaryIO, path: object, kind: str, only: Sequence[str] | None
) -> dict[str, NDArray[Any]]:
    try:
        with np.load(file, allow_pickle=False) as archive:
            names = [name for name in archive.files if not only or name in only]
            return {name: _as_array(archive[name]) for name in names}
    except Exception as error:  # a damaged archive can raise many kinds of exceptions
        problem = f"is not a {kind}, or is damaged; {_ADVICE[kind]}"
        raise GridFileError.for_file(path, problem) from error


def _as_array(value: Any) -> NDArray[Any]:
    """Return an array of an archive, also of a damaged one, which is bytes; check its characters.

    NumPy reads any number as a character, and Python fails later on those above the last one.
    """
    array = np.asarray(value)
    if array.dtype.kind == "U" and array.dtype.itemsize:
        codes = np.ascontiguousarray(array).view(np.dtype("u4").newbyteorder(array.dtype.byteorder))
        if (codes > sys.maxunicode).any():
            raise ValueError("it holds characters that do not exist")
    return array


def is_of(arrays: Mapping[str, NDArray[Any]], name: str) -> bool:
    """Return whether arrays are those of a format."""
    return str(arrays.get("format")) == name and "version" in arrays


def check_version(arrays: Mapping[str, NDArray[Any]], newest: int, path: object) -> None:
    """Raise for a version that is not a number, or newer than this release reads."""
    version = arrays["version"]
    if version.shape != () or version.dtype.kind not in "iu" or version < 1:
        raise damaged(path, f"its version is {version!r}")
    if int(version) > newest:
        raise GridFileError.for_file(
            path,
            f"has format version {int(version)}, this release reads up to {newest}; "
            "upgrade meanshiftpp",
        )


def typed(arrays: Mapping[str, NDArray[Any]], name: str, dtype: type) -> NDArray[Any]:
    """Return an array of a file, which must be of the type it was written with."""
    if arrays[name].dtype.kind != np.dtype(dtype).kind:
        raise TypeError(f"{name!r} holds {arrays[name].dtype}, not {np.dtype(dtype)}")
    return np.asarray(arrays[name], dtype, order="C")


def foreign(path: object, kind: str) -> GridFileError:
    """Return the error of a file of another format."""
    return GridFileError.for_file(path, f"is not a {kind}; {_ADVICE[kind]}")


def damaged(path: object, problem: str) -> GridFileError:
    """Return the error of a file with impossible content."""
    return GridFileError.for_file(path, f"is damaged: {problem}; build it again from the data")
