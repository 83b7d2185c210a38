"""Labels next to the lines of CSV files, which are copied byte for byte.

A line is a record: a quoted field may contain line ends. pyarrow skips empty lines, and so does the
copy, because they have no label.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from operator import add, itemgetter
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from meanshiftpp._support.extras import need
from meanshiftpp.core.chunk import Chunk
from meanshiftpp.errors import InvalidInputError
from meanshiftpp.io.sources import LabelWriter

_BLOCK = 1 << 22  # bytes that are read at a time
_QUOTED = re.compile(rb'(?<![^,\r\n])"(?:[^"]|"")*(?:"|\Z)')  # a field, also one cut off
_WITHOUT_END = itemgetter(slice(-1))
_LINE_END = re.compile(rb"\r\n|\n|\r")


class CsvLines(LabelWriter):
    """A writer of the lines of .csv files with a label at the end of each."""

    def __init__(self, path: Path, sources: Sequence[Path], column: str) -> None:
        self.column = column
        self._blocks = _blocks(sources)
        self._lines: list[bytes] = []  # that are read and not yet written
        self._file = path.open("wb")
        self._file.write(_appended(self._take(1), [b"," + column.encode()]))

    def write(self, chunk: Chunk, labels: NDArray[np.int32]) -> None:
        """Write the lines of a chunk with their labels; rows without a label are left out."""
        lines = self._take(chunk.size)
        if len(lines) < chunk.size:
            raise InvalidInputError.for_file(chunk.source, "has changed while it was read")
        if len(labels) < len(lines):
            assert chunk.mask is not None  # the rows that are points
            lines = [lines[k] for k in np.flatnonzero(chunk.mask).tolist()]
        texts = {label: b",%d" % label for label in np.unique(labels).tolist()}
        self._file.write(_appended(lines, list(map(texts.__getitem__, labels.tolist()))))

    def close(self) -> None:
        """Finish the file."""
        self._file.close()

    def _take(self, number: int) -> list[bytes]:
        """Return the next lines."""
        while len(self._lines) < number and (block := next(self._blocks, None)) is not None:
            self._lines += block
        taken, self._lines = self._lines[:number], self._lines[number:]
        return taken


def _appended(lines: list[bytes], texts: list[bytes]) -> bytes:
    """Return the lines with a text before the end of each."""
    whole = b"".join(lines)
    if b"\r" not in whole and whole.endswith(b"\n"):  # most files
        return b"\n".join([*map(add, map(_WITHOUT_END, lines), texts), b""])
    bare = [line.rstrip(b"\r\n") for line in lines]
    parts = zip(lines, bare, texts, strict=True)
    return b"".join([record + text + line[len(record) :] for line, record, text in parts])


def _blocks(paths: Sequence[Path]) -> Iterator[list[bytes]]:
    """Yield the lines of files in lists; the header of the first file only."""
    for number, path in enumerate(paths):
        header = number > 0
        with need("pyarrow", "io").input_stream(str(path)) as file:  # decompresses a .csv.gz
            for lines in _blocks_of(file, is_last=number == len(paths) - 1):
                yield lines[1:] if header else lines
                header = header and not lines


def _blocks_of(file: Any, *, is_last: bool) -> Iterator[list[bytes]]:
    """Yield the records of a file with their line ends, without empty lines.

    Only the last record of the last file may have no line end.
    """
    rest = b""
    while block := file.read(_BLOCK):
        lines = _divide(rest + block)
        # The last record may continue, and \r may be the first half of a line end.
        rest = lines.pop()
        yield _without_empty(lines)
    if not is_last and not rest.endswith((b"\n", b"\r")):
        rest += b"\n"
    yield _without_empty(_divide(rest))


def _without_empty(lines: list[bytes]) -> list[bytes]:
    """Return the lines that have a text."""
    short = any(len(line) < 3 for line in lines)
    return [line for line in lines if line.strip(b"\r\n")] if short else lines


def _divide(block: bytes) -> list[bytes]:
    """Divide a block into records; the last one may be incomplete or empty."""
    quoted = [each.span() for each in _QUOTED.finditer(block)] if b'"' in block else []
    quoted = [(a, b) for a, b in quoted if _LINE_END.search(block, a, b)]
    if not quoted:
        return block.splitlines(keepends=True) or [b""]
    ends = np.array([each.end() for each in _LINE_END.finditer(block)])
    starts, stops = np.array(quoted).T
    inside = np.searchsorted(starts, ends, "left") > np.searchsorted(stops, ends, "left")
    cuts = [0, *ends[~inside].tolist(), len(block)]
    return [block[a:b] for a, b in pairwise(cuts) if a < b] or [b""]
