"""Files that the tests upload."""

import io
import zlib
from itertools import islice
from pathlib import Path

import numpy as np
from PIL import Image

from meanshiftpp.video.frames import write_frames


def png(values) -> bytes:
    file = io.BytesIO()
    Image.fromarray(np.asarray(values, np.uint8)).save(file, "PNG")
    return file.getvalue()


def decompression_bomb(side: int) -> bytes:
    """Return a PNG of a few kilobytes whose header states `side` by `side` pixels."""

    def chunk(kind, data):
        return (
            len(data).to_bytes(4, "big") + kind + data + zlib.crc32(kind + data).to_bytes(4, "big")
        )

    header = side.to_bytes(4, "big") * 2 + bytes([8, 2, 0, 0, 0])
    pixels = zlib.compress(bytes(1000))
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")
    )


def write_clip(path: Path, scene, n_frames: int = 120, fps: int = 25) -> Path:
    """Write the first frames of a synthetic scene of 320 by 240 pixels."""
    with write_frames(path, fps, (320, 240)) as write_frame:
        for frame, _ in islice(scene, n_frames):
            write_frame(frame)
    return path
