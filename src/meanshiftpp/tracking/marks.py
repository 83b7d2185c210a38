"""Draw the results of a tracker on a frame: windows, tracked pixels, and rulers."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from meanshiftpp._support.extras import need
from meanshiftpp.tracking.windows import Window

__all__ = ["box", "tint", "tracked", "with_rulers"]

Picture = NDArray[np.uint8]  # (height, width, 3)
Color = tuple[int, int, int]

FOLLOWED, LOST = (86, 180, 233), (240, 150, 0)
LINE_SCALE = 240  # pixels of the picture's side per pixel of line width


def tracked(
    rgb: Picture,
    window: Window,
    ok: bool,
    mask: NDArray[np.bool_] | None = None,
    *,
    name: str = "",
) -> Picture:
    """Draw the result of a tracker on a frame: the window, dashed if the object is lost.

    Parameters
    ----------
    rgb : ndarray of uint8, shape (height, width, 3)
        The frame; it is not changed.
    window : tuple of int
        x, y, width and height.
    ok : bool
        Whether the object was found. If not, the window is the best guess and is marked as lost.
    mask : ndarray of bool, shape (height, width), optional
        Pixels to tint if the object was found.
    name : str
        Text next to the window, to tell several objects apart.

    Examples
    --------
    >>> import numpy as np
    >>> from meanshiftpp.tracking.marks import FOLLOWED, tracked
    >>> drawn = tracked(np.full((9, 9, 3), 100, np.uint8), (4, 4, 1, 1), True)
    >>> tuple(drawn[4, 3].tolist()) == FOLLOWED
    True
    """
    if not ok:
        return box(rgb, window, LOST, dashed=True, caption=f"{name} lost".strip())
    return box(rgb if mask is None else tint(rgb, mask), window, caption=name)


def box(
    rgb: Picture,
    window: Window,
    color: Color = FOLLOWED,
    *,
    dashed: bool = False,
    caption: str = "",
) -> Picture:
    """Draw a line around a window, with a dark edge that keeps it visible.

    Parameters
    ----------
    rgb : ndarray of uint8, shape (height, width, 3)
        The picture; it is not changed.
    window : tuple of int
        x, y, width and height. The line lies just outside; at the border of the picture, inside.
    color : tuple of int
        Colour of the line and the caption.
    dashed : bool
        Whether the line is dashed.
    caption : str
        Text to write next to the window.

    Examples
    --------
    >>> import numpy as np
    >>> from meanshiftpp.tracking.marks import box
    >>> drawn = box(np.full((9, 9, 3), 100, np.uint8), (4, 4, 1, 1), (0, 200, 0))
    >>> drawn[4, :, 1].tolist()
    [100, 50, 200, 200, 100, 200, 200, 50, 100]
    """
    drawn = rgb[..., :3].copy()
    line_width = max(2, round(math.sqrt(rgb.shape[0] * rgb.shape[1]) / LINE_SCALE))
    line = _ring(rgb.shape, window, line_width)
    dark_edge = _ring(rgb.shape, window, line_width + 1) & ~line
    if dashed:
        y, x = np.ogrid[: rgb.shape[0], : rgb.shape[1]]
        gap = (x + y) // (4 * line_width) % 2 == 1
        dark_edge, line = dark_edge | (line & gap), line & ~gap
    drawn[dark_edge] //= 2
    drawn[line] = color
    return _captioned(drawn, window, line_width, color, caption) if caption else drawn


def tint(rgb: Picture, mask: NDArray[np.bool_], color: Color = FOLLOWED) -> Picture:
    """Blend the pixels of a mask with a colour, in equal parts.

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


def with_rulers(rgb: Picture, step: int = 10) -> Picture:
    """Add rulers along the top and left edges of a picture, and grid lines on it.

    Parameters
    ----------
    rgb : ndarray of uint8, shape (height, width, 3)
        The picture; it is not changed.
    step : int
        Pixels between two marks. Every fifth mark has a number and a grid line.

    Examples
    --------
    >>> import numpy as np
    >>> from meanshiftpp.tracking.marks import with_rulers
    >>> with_rulers(np.zeros((100, 200, 3), np.uint8)).shape
    (128, 240, 3)
    """
    images, drawing = need("PIL.Image", "image"), need("PIL.ImageDraw", "image")
    font = need("PIL.ImageFont", "image").load_default(14)
    left, top = 40, 28
    height, width = rgb.shape[:2]
    lined = rgb[..., :3].copy()
    lined[:: 5 * step] = lined[:: 5 * step] // 2 + 64
    lined[:, :: 5 * step] = lined[:, :: 5 * step] // 2 + 64
    image = images.new("RGB", (width + left, height + top), "white")
    image.paste(images.fromarray(lined), (left, top))
    pen = drawing.Draw(image)
    for x in range(0, width, step):
        numbered = x % (5 * step) == 0
        pen.line((left + x, top - (10 if numbered else 5), left + x, top - 1), "black")
        if numbered:
            pen.text((left + x, 2), str(x), "black", font, anchor="ma" if x else "la")
    for y in range(0, height, step):
        numbered = y % (5 * step) == 0
        pen.line((left - (10 if numbered else 5), top + y, left - 1, top + y), "black")
        if numbered:
            pen.text((left - 12, top + y), str(y), "black", font, anchor="rm")
    return np.asarray(image)


# -- internals ---------------------------------------------------------------------------------


def _ring(shape: tuple[int, ...], window: Window, width: int) -> NDArray[np.bool_]:
    """Return the pixels of a line of this width around a window, cut to the picture."""
    x, y, w, h = window
    left, right = max(x - width, 0), min(x + w + width, shape[1])
    top, bottom = max(y - width, 0), min(y + h + width, shape[0])
    ring = np.zeros(shape[:2], bool)
    ring[top:bottom, left:right] = True
    ring[top + width : max(bottom - width, 0), left + width : max(right - width, 0)] = False
    return ring


def _captioned(
    picture: Picture, window: Window, line_width: int, color: Color, caption: str
) -> Picture:
    """Write a caption above the window, or below it if there is no room above."""
    images, drawing = need("PIL.Image", "image"), need("PIL.ImageDraw", "image")
    size = max(15, 7 * line_width)
    font = need("PIL.ImageFont", "image").load_default(size)
    image = images.fromarray(picture)
    pen = drawing.Draw(image)
    x, y, _, h = window
    above = y - 2 * line_width - size - 4
    x = max(0, min(x, image.width - math.ceil(pen.textlength(caption, font))))
    y = above if above >= 0 else min(y + h + 2 * line_width, image.height - size - 4)
    stroke = max(1, line_width // 3)
    pen.text((x, y), caption, color, font, stroke_width=stroke, stroke_fill=(0, 0, 0))
    return np.asarray(image)
