"""The binary format of a message to the page: JSON fields and arrays in one message.

4 bytes   length of the JSON text, little-endian
text      JSON: the fields, and under "arrays" the name, type, shape and offset of each array
arrays    raw values, little-endian, each at an offset that is a multiple of 8
"""

from __future__ import annotations

import io
import json
import math
import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

from meanshiftpp._support.extras import need

__all__ = ["jpeg", "narrow", "pack", "sampling_step"]

_ALIGN = 8


def pack(fields: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> bytes:
    r"""Encode fields and arrays as one message.

    Examples
    --------
    >>> import numpy as np
    >>> from meanshiftpp.apps.studio.wire import pack
    >>> message = pack({"type": "labels"}, {"ids": np.array([1, 2], np.uint8)})
    >>> message[-2:]
    b'\x01\x02'
    """
    entries, parts, offset = [], [], 0
    for name, array in arrays.items():
        data = np.ascontiguousarray(array)
        if sys.byteorder == "big":
            data = data.byteswap()
        gap = -offset % _ALIGN
        parts += [bytes(gap), data.data.cast("B") if data.size else b""]
        offset += gap
        entries.append([name, data.dtype.str[1:], list(data.shape), offset])
        offset += data.nbytes
    text = json.dumps({**fields, "arrays": entries}, allow_nan=False).encode()
    text += b" " * (-(4 + len(text)) % _ALIGN)
    return b"".join([len(text).to_bytes(4, "little"), text, *parts])


def narrow(ids: NDArray[Any], largest: int) -> NDArray[Any]:
    """Convert integers from 0 to `largest` to the smallest unsigned type that holds them.

    Examples
    --------
    >>> import numpy as np
    >>> from meanshiftpp.apps.studio.wire import narrow
    >>> narrow(np.array([0, 7]), 300).dtype
    dtype('uint16')
    """
    dtype = np.uint8 if largest < 2**8 else np.uint16 if largest < 2**16 else np.uint32
    return ids.astype(dtype)


def sampling_step(n_pixels: int, limit: int) -> int:
    """Return the step k for which every k-th pixel of every k-th line are about `limit` pixels.

    Examples
    --------
    >>> from meanshiftpp.apps.studio.wire import sampling_step
    >>> sampling_step(100, 400), sampling_step(1600, 400), sampling_step(1601, 400)
    (1, 2, 3)
    """
    return math.ceil(math.sqrt(max(n_pixels / limit, 1)))


def jpeg(rgb: NDArray[np.uint8], *, reduce: int = 1, **options: Any) -> NDArray[np.uint8]:
    """Encode a picture as JPEG bytes, averaged over blocks of `reduce` by `reduce` pixels.

    Examples
    --------
    >>> import numpy as np
    >>> from meanshiftpp.apps.studio.wire import jpeg
    >>> jpeg(np.zeros((8, 8, 3), np.uint8), quality=90)[:2].tobytes().hex()
    'ffd8'
    """
    image = need("PIL.Image", "image").fromarray(np.ascontiguousarray(rgb))
    file = io.BytesIO()
    (image.reduce(reduce) if reduce > 1 else image).save(file, "JPEG", **options)
    return np.frombuffer(file.getvalue(), np.uint8)
