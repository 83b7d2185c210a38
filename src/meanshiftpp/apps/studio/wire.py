"""A message to the page: words and arrays in one piece.

4 bytes   length of the words, little-endian
words     JSON: what is told, and under "arrays" the name, type, shape and place of each array
arrays    as they lie in memory, each beginning at a multiple of 8
"""

from __future__ import annotations

import json
import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["narrow", "pack"]

_ALIGN = 8


def pack(words: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> bytes:
    r"""Put words and arrays into one message.

    Examples
    --------
    >>> import numpy as np
    >>> from meanshiftpp.apps.studio.wire import pack
    >>> message = pack({"type": "labels"}, {"ids": np.array([1, 2], np.uint8)})
    >>> message[-2:]
    b'\x01\x02'
    """
    places, pieces, at = [], [], 0
    for name, array in arrays.items():
        data = np.ascontiguousarray(array)
        if sys.byteorder == "big":
            data = data.byteswap()
        gap = -at % _ALIGN
        pieces += [bytes(gap), data.data.cast("B") if data.size else b""]
        at += gap
        places.append([name, data.dtype.str[1:], list(data.shape), at])
        at += data.nbytes
    text = json.dumps({**words, "arrays": places}, allow_nan=False).encode()
    text += b" " * (-(4 + len(text)) % _ALIGN)
    return b"".join([len(text).to_bytes(4, "little"), text, *pieces])


def narrow(ids: NDArray[Any], most: int) -> NDArray[Any]:
    """Bring whole numbers from 0 to `most` to the smallest type that holds them.

    Examples
    --------
    >>> import numpy as np
    >>> from meanshiftpp.apps.studio.wire import narrow
    >>> narrow(np.array([0, 7]), 300).dtype
    dtype('uint16')
    """
    kind = np.uint8 if most < 2**8 else np.uint16 if most < 2**16 else np.uint32
    return ids.astype(kind)
