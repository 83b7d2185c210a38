"""Checks of LAS and LAZ files before libraries read them.

laspy loops over the number of records that the file states. The decoder of LAZ is native code and
allocates the sizes that the file states; an allocation that fails ends the process. So every number
is compared with the size of the file first.
"""

from __future__ import annotations

import os
import struct
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from meanshiftpp._support.extras import need
from meanshiftpp.errors import InvalidInputError

__all__ = ["Decoding", "check_chunks", "check_records"]

_MAGIC = b"LASF"
_RECORDS = struct.Struct("<HII")  # size of the header, offset of the points, number of records
_RECORDS_AT, _RECORD_BYTES = 94, 54
_LONG_RECORDS = struct.Struct("<QI")  # of version 1.4: their position after the points, and number
_LONG_RECORDS_AT, _LONG_RECORD_BYTES = 235, 60
_LONG_LENGTH = struct.Struct("<Q")
_LONG_LENGTH_AT = 20  # in a long record
_OFFSET = struct.Struct("<q")  # of the chunk table; -1 if it is in the last bytes of the file
_TABLE = struct.Struct("<II")  # version and number of chunks
_ITEM = struct.Struct("<HHH")  # kind, size and version of a part of a point, in the record of LAZ
_ITEMS_AT = 34
_LAYERED = 3  # first version of items whose fields are compressed one after the other, in layers
_LAYERS = {10: 9, 11: 1, 12: 2, 13: 1}  # by kind of item; extra bytes have one each
_EXTRA_BYTES = 14
_PARALLEL_BYTES = 1 << 26  # the largest chunk that is decoded as a whole


class Decoding(NamedTuple):
    """How the points of a file are decoded.

    Attributes
    ----------
    parallel : bool
        Whether threads decode whole chunks, which needs memory for them. One thread decodes any
        number of points of a larger chunk.
    seekable : bool
        Whether the decoder can start at any point. It finds a wrong one if chunks differ in their
        number of points.
    """

    parallel: bool = True
    seekable: bool = True


def check_records(path: Path) -> None:
    """Raise InvalidInputError if the variable length records of a file cannot be in it."""
    with path.open("rb") as file:
        if file.read(len(_MAGIC)) != _MAGIC:
            return  # laspy names the problem
        size = os.fstat(file.fileno()).st_size
        header, points, number = _unpack(_RECORDS, path, file, _RECORDS_AT)
        if not header <= points <= size or header + number * _RECORD_BYTES > points:
            raise _damaged(path, f"its header states {number:,} records before byte {points:,}")
        if header < _LONG_RECORDS_AT + _LONG_RECORDS.size:
            return
        start, number = _unpack(_LONG_RECORDS, path, file, _LONG_RECORDS_AT)
        if number * _LONG_RECORD_BYTES > size:
            raise _damaged(path, f"its header states {number:,} records after its points")
        for _ in range(number):
            (length,) = _unpack(_LONG_LENGTH, path, file, start + _LONG_LENGTH_AT)
            start += _LONG_RECORD_BYTES + length
        if number and start > size:
            raise _damaged(path, "a record after its points is longer than the file")


def check_chunks(path: Path, header: Any) -> Decoding:
    """Return how to decode a LAZ file; raise InvalidInputError if its chunks cannot be in it.

    Parameters
    ----------
    path : Path
        The file.
    header : laspy.LasHeader
        Its header.
    """
    lazrs = need("lazrs", "lidar")
    record = header.vlrs[header.vlrs.index("LasZipVlr")].record_data
    vlr = lazrs.LazVlr(record)
    if vlr.item_size() != header.point_format.size or not vlr.chunk_size():
        raise _damaged(path, "its points have another size than its header states")
    start = int(header.offset_to_point_data)
    with path.open("rb") as file:
        end = _find_table(path, file, start)
        _, n_chunks = _unpack(_TABLE, path, file, end)
        # Each chunk begins with an uncompressed point.
        if n_chunks * header.point_format.size > end - start:
            raise _damaged(path, f"its table states {n_chunks:,} chunks, more than its bytes hold")
        file.seek(start)
        chunks = lazrs.read_chunk_table(file, vlr)
        n_bytes = sum(size for _, size in chunks)
        if n_bytes > end - start - _OFFSET.size:
            raise _damaged(path, f"its table states {n_bytes:,} bytes, more than it has")
        sizes = [size for _, size in chunks]
        _check_layers(path, file, start + _OFFSET.size, sizes, vlr.item_size(), _n_layers(record))
    if not _hold(chunks, vlr, int(header.point_count)):
        raise _damaged(path, f"its chunks do not hold the {header.point_count:,} points it states")
    largest = max((points for points, _ in chunks), default=0)
    parallel = largest * vlr.item_size() <= _PARALLEL_BYTES
    return Decoding(parallel, seekable=not vlr.uses_variable_size_chunks())


def _find_table(path: Path, file: BinaryIO, start: int) -> int:
    """Return the position of the chunk table, which follows the chunks."""
    size = os.fstat(file.fileno()).st_size
    (table,) = _unpack(_OFFSET, path, file, start)
    if table == -1:
        (table,) = _unpack(_OFFSET, path, file, size - _OFFSET.size)
    if not start + _OFFSET.size <= table <= size - _TABLE.size:
        raise _damaged(path, f"its table of chunks is at byte {table:,} of {size:,}")
    return int(table)


def _n_layers(record: bytes) -> int:
    """Return the number of layers of a chunk, 0 if its points are compressed one by one."""
    (n_items,) = struct.unpack_from("<H", record, _ITEMS_AT - 2)
    items = list(_ITEM.iter_unpack(record[_ITEMS_AT : _ITEMS_AT + n_items * _ITEM.size]))
    if not items or items[0][2] < _LAYERED:
        return 0
    return sum(size if kind == _EXTRA_BYTES else _LAYERS.get(kind, 0) for kind, size, _ in items)


def _check_layers(
    path: Path, file: BinaryIO, position: int, chunks: list[int], item_size: int, n_layers: int
) -> None:
    """Raise InvalidInputError unless layers fill their chunks: the decoder continues after them.

    A chunk begins with a point, the number of its points and the sizes of its layers.
    """
    form = struct.Struct(f"<I{n_layers}I")
    for size in chunks if n_layers else []:
        _, *layers = _unpack(form, path, file, position + item_size)
        n_bytes = item_size + form.size + sum(layers)
        if n_bytes != size:
            raise _damaged(path, f"a chunk of {size:,} bytes states layers of {n_bytes:,} bytes")
        position += size


def _hold(chunks: list[tuple[int, int]], vlr: Any, n_points: int) -> bool:
    """Return whether the chunks hold as many points as the header states."""
    if vlr.uses_variable_size_chunks():
        return sum(points for points, _ in chunks) == n_points
    return len(chunks) == -(-n_points // int(vlr.chunk_size()))


def _unpack(form: struct.Struct, path: Path, file: BinaryIO, position: int) -> tuple[Any, ...]:
    if 0 <= position < 1 << 62:
        file.seek(position)
        data = file.read(form.size)
        if len(data) == form.size:
            return form.unpack(data)
    raise _damaged(path, "it is too short")


def _damaged(path: Path, problem: str) -> InvalidInputError:
    kind = f"{path.suffix.lower()} point cloud"
    return InvalidInputError.for_file(path, f"is not a {kind}, or is damaged: {problem}")
