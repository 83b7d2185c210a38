"""What a tracker found, drawn on a frame: window, followed pixels; and rulers to find one by."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from meanshiftpp._support.extras import need
from meanshiftpp.tracking.windows import Window

__all__ = ["box", "ruled", "tint", "tracked"]

Picture = NDArray[np.uint8]  # (height, width, 3)
Color = tuple[int, int, int]

FOLLOWED, LOST = (86, 180, 233), (240, 150, 0)
LINE = 240  # one pixel of line for so many of the picture's side


def tracked(
    rgb: Picture, window: Window, ok: bool, mask: NDArray[np.bool_] | None = None
) -> Picture:
    """Draw what a tracker says of a frame: a line around the object, dashed where it is lost.

    Parameters
    ----------
    rgb : ndarray of uint8, shape (height, width, 3)
        The frame; it is not changed.
    window : tuple of int
        x, y, width and height.
    ok : bool
        Whether the object is there; else the window is the best guess, and marked as lost.
    mask : ndarray of bool, shape (height, width), optional
        Pixels to tint, if the object is there.

    Examples
    --------
    >>> import numpy as np
    >>> from meanshiftpp.tracking.marks import FOLLOWED, tracked
    >>> drawn = tracked(np.full((9, 9, 3), 100, np.uint8), (4, 4, 1, 1), True)
    >>> tuple(drawn[4, 3].tolist()) == FOLLOWED
    True
    """
    if not ok:
        return box(rgb, window, LOST, dashed=True, words="lost")
    return box(rgb if mask is None else tint(rgb, mask), window)


def box(
    rgb: Picture,
    window: Window,
    color: Color = FOLLOWED,
    *,
    dashed: bool = False,
    words: str = "",
) -> Picture:
    """Draw a line around a window, in a dark seam that keeps it visible.

    Parameters
    ----------
    rgb : ndarray of uint8, shape (height, width, 3)
        The picture; it is not changed.
    window : tuple of int
        x, y, width and height. The line lies just outside, at the edge of the picture inside.
    color : tuple of int
        Of the line.
    dashed : bool
        Whether the line is dashed.
    words : str
        What is written at the window.

    Examples
    --------
    >>> import numpy as np
    >>> from meanshiftpp.tracking.marks import box
    >>> drawn = box(np.full((9, 9, 3), 100, np.uint8), (4, 4, 1, 1), (0, 200, 0))
    >>> drawn[4, :, 1].tolist()
    [100, 50, 200, 200, 100, 200, 200, 50, 100]
    """
    drawn = rgb[..., :3].copy()
    wide = max(2, round(math.sqrt(rgb.shape[0] * rgb.shape[1]) / LINE))
    line = _ring(rgb.shape, window, wide, wide)
    seam = _ring(rgb.shape, window, wide + 1, wide + 1) & ~line
    if dashed:
        y, x = np.ogrid[: rgb.shape[0], : rgb.shape[1]]
        gap = (x + y) // (4 * wide) % 2 == 1
        seam, line = seam | (line & gap), line & ~gap
    drawn[seam] //= 2
    drawn[line] = color
    return _written(drawn, window, wide, color, words) if words else drawn


def tint(rgb: Picture, mask: NDArray[np.bool_], color: Color = FOLLOWED) -> Picture:
    """Mix a colour into the pixels of a mask, half and half.

    Examples
    --------
    >>> import numpy as np
    >>> from meanshiftpp.tracking.marks import tint
    >>> tint(np.zeros((1, 2, 3), np.uint8), np.array([[True, False]]), (200, 100, 0)).tolist()
    [[[100, 50, 0], [0, 0, 0]]]
    """
    drawn = rgb[..., :3].copy()
    drawn[mask] = (drawn[mask].astype(np.uint16) + np.array(color, np.uint16)) // 2
    return drawn


def ruled(rgb: Picture, step: int = 10) -> Picture:
    """Put rulers along the top and the left edge of a picture, and lines on it to count by.

    Parameters
    ----------
    rgb : ndarray of uint8, shape (height, width, 3)
        The picture; it is not changed.
    step : int
        Pixels between two marks; every fifth has a number.

    Examples
    --------
    >>> import numpy as np
    >>> from meanshiftpp.tracking.marks import ruled
    >>> ruled(np.zeros((100, 200, 3), np.uint8)).shape
    (128, 240, 3)
    """
    images, drawing = need("PIL.Image", "image"), need("PIL.ImageDraw", "image")
    font = need("PIL.ImageFont", "image").load_default(14)
    left, top = 40, 28
    high, wide = rgb.shape[:2]
    marked = rgb[..., :3].copy()
    marked[:: 5 * step] = marked[:: 5 * step] // 2 + 64
    marked[:, :: 5 * step] = marked[:, :: 5 * step] // 2 + 64
    image = images.new("RGB", (wide + left, high + top), "white")
    image.paste(images.fromarray(marked), (left, top))
    pen = drawing.Draw(image)
    for at in range(0, wide, step):
        long = at % (5 * step) == 0
        pen.line((left + at, top - (10 if long else 5), left + at, top - 1), "black")
        if long:
            pen.text((left + at, 2), str(at), "black", font, anchor="ma" if at else "la")
    for at in range(0, high, step):
        long = at % (5 * step) == 0
        pen.line((left - (10 if long else 5), top + at, left - 1, top + at), "black")
        if long:
            pen.text((left - 12, top + at), str(at), "black", font, anchor="rm")
    return np.asarray(image)


# -- within -----------------------------------------------------------------------------------


def _ring(shape: tuple[int, ...], window: Window, grow: int, wide: int) -> NDArray[np.bool_]:
    """Mark a line inside the window grown by so much, as far as that is in the picture."""
    x, y, w, h = window
    left, right = max(x - grow, 0), min(x + w + grow, shape[1])
    top, bottom = max(y - grow, 0), min(y + h + grow, shape[0])
    ring = np.zeros(shape[:2], bool)
    ring[top:bottom, left:right] = True
    ring[top + wide : max(bottom - wide, 0), left + wide : max(right - wide, 0)] = False
    return ring


def _written(
    picture: Picture,
    window: Window,
    wide: int,
    color: Color,
    words: str,
) -> Picture:
    """Write above the window, or below it where there is no room."""
    images, drawing = need("PIL.Image", "image"), need("PIL.ImageDraw", "image")
    size = max(15, 7 * wide)
    font = need("PIL.ImageFont", "image").load_default(size)
    image = images.fromarray(picture)
    pen = drawing.Draw(image)
    x, y, _, h = window
    above = y - 2 * wide - size - 4
    x = max(0, min(x, image.width - math.ceil(pen.textlength(words, font))))
    y = above if above >= 0 else min(y + h + 2 * wide, image.height - size - 4)
    pen.text((x, y), words, color, font, stroke_width=max(1, wide // 3), stroke_fill=(0, 0, 0))
    return np.asarray(image)
