"""What a segmentation looks like: regions in their colours, outlines, a strip of a palette.

Plain functions from arrays to pictures of bytes. Lines grow with the picture, so that they are as
visible on a photograph of 20 megapixels as on a small one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from meanshiftpp._support.checks import white_of
from meanshiftpp._support.extras import need
from meanshiftpp.errors import InvalidInputError

__all__ = [
    "as_rgb",
    "contact_sheet",
    "fill",
    "limits",
    "outlines",
    "overlay",
    "palette_strip",
    "region_colors",
]

Picture = NDArray[np.uint8]  # (height, width, 3), or 4 with alpha

LINE = 800  # one pixel of line for so many of the picture's side
_DARK = 70.0  # regions darker than this get a lighter outline, the others a darker one
_LUMA = np.array([0.299, 0.587, 0.114])


def as_rgb(
    image: NDArray[Any], channel_axis: int | None = -1, *, limits: ArrayLike | None = None
) -> Picture:
    """Show an image of any type and number of bands as RGB bytes.

    Grey and colour images of bytes and of 16 bits keep their values. Other integers, floats, and
    bands that are no colours, are stretched between their `limits`; of many bands the first three
    are shown.

    Examples
    --------
    >>> import numpy as np
    >>> from meanshiftpp.draw import as_rgb
    >>> as_rgb(np.array([[0, 65535]], np.uint16)).tolist()
    [[[0, 0, 0], [255, 255, 255]]]
    """
    bands, colours = _bands(image, channel_axis)
    low, high = np.asarray(_limits(bands, colours, None) if limits is None else limits)
    if bands.dtype == np.uint8 and (low == 0).all() and (high == 255).all():
        shown = bands
    else:
        scaled = (bands.astype(np.float64) - low) / np.maximum(high - low, 1e-300) * 255
        shown = np.nan_to_num(scaled, posinf=255, neginf=0).clip(0, 255).round()
    return np.ascontiguousarray(np.broadcast_to(shown, (*shown.shape[:2], 3)), np.uint8)


def limits(
    image: NDArray[Any],
    channel_axis: int | None = -1,
    *,
    mask: NDArray[np.bool_] | None = None,
) -> NDArray[np.float64]:
    """Find the values that are shown as black and as white, of each band that is shown.

    They are those of the type, where the image fills it; else the 1st and the 99th percentile of
    the pixels where `mask` is True.

    Examples
    --------
    >>> import numpy as np
    >>> from meanshiftpp.draw import limits
    >>> limits(np.array([[0, 200]], np.uint8)).tolist()
    [[0.0], [255.0]]
    """
    return _limits(*_bands(image, channel_axis), mask)


def region_colors(rgb: Picture, labels: NDArray[np.integer[Any]]) -> NDArray[np.float64]:
    """Return the mean colour of each label, those from 0 to the largest; NaN where there is none.

    Examples
    --------
    >>> import numpy as np
    >>> from meanshiftpp.draw import region_colors
    >>> rgb = np.array([[[10, 0, 0], [20, 0, 0], [0, 0, 9]]], np.uint8)
    >>> region_colors(rgb, np.array([[0, 0, 1]])).tolist()
    [[15.0, 0.0, 0.0], [0.0, 0.0, 9.0]]
    """
    ids = labels.ravel() + 1  # masked pixels are counted, and left out below
    n = int(ids.max(initial=0)) + 1
    sums = [np.bincount(ids, rgb[..., c].ravel(), n) for c in range(3)]
    counts = np.bincount(ids, minlength=n)
    with np.errstate(invalid="ignore"):
        means: NDArray[np.float64] = (np.stack(sums, axis=1) / counts[:, None])[1:]
    return means


def outlines(labels: NDArray[np.integer[Any]], width: int | None = None) -> NDArray[np.bool_]:
    """Mark the pixels along the borders between labels.

    Parameters
    ----------
    labels : ndarray of shape (height, width)
        A label image.
    width : int, optional
        Of the line, in pixels. By default it grows with the picture.

    Examples
    --------
    >>> import numpy as np
    >>> from meanshiftpp.draw import outlines
    >>> outlines(np.array([[0, 0, 1, 1]])).tolist()
    [[False, True, False, False]]
    """
    line = np.zeros(labels.shape, bool)
    line[:, :-1] = labels[:, :-1] != labels[:, 1:]
    line[:-1] |= labels[:-1] != labels[1:]
    return _widened(line, _line_width(labels) if width is None else width)


def fill(labels: NDArray[np.integer[Any]], colors: ArrayLike, *, lines: bool = True) -> Picture:
    """Draw every region in its colour; masked pixels (below 0) are transparent.

    Parameters
    ----------
    labels : ndarray of shape (height, width)
        A label image.
    colors : array-like of shape (n_labels, 3)
        RGB from 0 to 255, for example those of `region_colors`.
    lines : bool
        With a thin outline around each region, darker or lighter than its colour.

    Returns
    -------
    ndarray of uint8
        RGB, or RGBA where pixels are masked.

    Examples
    --------
    >>> import numpy as np
    >>> from meanshiftpp.draw import fill
    >>> fill(np.array([[0, 0]]), [[200, 100, 0]]).tolist()
    [[[200, 100, 0], [200, 100, 0]]]
    """
    plain = np.nan_to_num(np.asarray(colors, np.float64)).clip(0, 255)
    dark = (plain @ _LUMA < _DARK)[:, None]
    edges = np.where(dark, plain * 0.6 + 90.0, plain * 0.6)
    # One table for both: the outline colours come after the fill colours, both after the mask's.
    table = np.vstack([[0, 0, 0], plain, edges]).round().astype(np.uint8)
    which = labels + 1
    if lines:
        which[outlines(labels) & (which > 0)] += len(plain)
    return _hidden(table[which], labels)


def overlay(rgb: Picture, labels: NDArray[np.integer[Any]]) -> Picture:
    """Draw the outlines on the picture: white, in a dark seam that keeps them visible on white.

    Masked pixels (below 0) are transparent, as in `fill`.

    Examples
    --------
    >>> import numpy as np
    >>> from meanshiftpp.draw import overlay
    >>> overlay(np.full((1, 4, 3), 100, np.uint8), np.array([[0, 0, 1, 1]]))[..., 0].tolist()
    [[50, 255, 50, 100]]
    """
    line = outlines(labels)
    seam = _widened(line, 1 + 2 * _line_width(labels)) & ~line
    drawn = rgb[..., :3].copy()
    drawn[seam] //= 2
    drawn[line] = 255
    drawn[labels < 0] = 0
    return _hidden(drawn, labels)


def palette_strip(colors: ArrayLike, shares: ArrayLike, width: int = 1200) -> Picture:
    """Draw a palette: a bar divided by the shares, and the first twelve colours in numbers.

    Parameters
    ----------
    colors : array-like of shape (n, 3)
        RGB from 0 to 255, most frequent first.
    shares : array-like of shape (n,)
        They sum to 1.
    width : int
        Of the picture, in pixels.

    Examples
    --------
    >>> from meanshiftpp.draw import palette_strip
    >>> palette_strip([[200, 30, 30], [20, 20, 20]], [0.75, 0.25]).shape
    (270, 1200, 3)
    """
    images, drawing = need("PIL.Image", "image"), need("PIL.ImageDraw", "image")
    colours = np.asarray(colors).round().astype(np.uint8)
    parts = np.asarray(shares, np.float64)
    bar, row, columns, margin = 180, 66, 4, 12
    named = min(len(colours), 3 * columns)
    rows = -(-named // columns)
    strip = images.new("RGB", (width, bar + 2 * margin + rows * row), "white")
    pen = drawing.Draw(strip)
    edges = [0, *np.rint(parts.cumsum() / parts.sum() * width).astype(int).tolist()]
    for colour, (left, right) in zip(colours, pairwise(edges), strict=True):
        if right > left:
            pen.rectangle((left, 0, right - 1, bar - 1), tuple(colour.tolist()))
    font = need("PIL.ImageFont", "image").load_default(26)
    step = width // columns
    for i in range(named):
        x, y = margin + i % columns * step, bar + margin + i // columns * row
        colour = tuple(colours[i].tolist())
        pen.rounded_rectangle((x, y + 9, x + 48, y + 57), 8, colour, (0, 0, 0))
        share = f"{parts[i]:.1%}" if parts[i] >= 0.001 else "<0.1%"
        words = f"#{bytes(colour).hex().upper()}  {share}"
        pen.text((x + 62, y + 33), words, (0, 0, 0), font, anchor="lm")
    return np.asarray(strip)


def contact_sheet(
    panels: Sequence[tuple[str, str, Picture]], columns: int = 2, gap: int = 24
) -> Picture:
    """Lay pictures of one size out on a sheet, each with a title and a line of words below it.

    Examples
    --------
    >>> import numpy as np
    >>> from meanshiftpp.draw import contact_sheet
    >>> red = np.full((100, 200, 3), [200, 30, 30], np.uint8)
    >>> contact_sheet([("one", "a square", red), ("two", "another", red)]).shape
    (220, 472, 3)
    """
    images, drawing = need("PIL.Image", "image"), need("PIL.ImageDraw", "image")
    fonts = need("PIL.ImageFont", "image")
    height, width = panels[0][2].shape[:2]
    words = 72
    rows = -(-len(panels) // columns)
    size = (gap + columns * (width + gap), gap + rows * (height + words + gap))
    sheet = images.new("RGB", size, "#FCFCFA")
    pen = drawing.Draw(sheet)
    for i, (title, line, picture) in enumerate(panels):
        x = gap + i % columns * (width + gap)
        y = gap + i // columns * (height + words + gap)
        sheet.paste(images.fromarray(picture), (x, y))
        pen.text((x, y + height + 10), title, "#22252A", fonts.load_default(24))
        pen.text((x, y + height + 42), line, "#70757D", fonts.load_default(18))
    return np.asarray(sheet)


# -- within -----------------------------------------------------------------------------------


def _hidden(picture: Picture, labels: NDArray[np.integer[Any]]) -> Picture:
    """Make masked pixels transparent, where there are any."""
    there = labels >= 0
    return picture if there.all() else np.dstack([picture, there.astype(np.uint8) * np.uint8(255)])


def _line_width(labels: NDArray[Any]) -> int:
    return max(1, round(math.sqrt(labels.size) / LINE))


def _widened(line: NDArray[np.bool_], width: int) -> NDArray[np.bool_]:
    """Widen lines of one pixel; each turn adds one, to either side in turn."""
    wide = line
    for turn in range(width - 1):
        narrow, wide = wide, wide.copy()
        there, here = (slice(1, None), slice(None, -1))[:: 1 if turn % 2 else -1]
        wide[here] |= narrow[there]
        wide[:, here] |= narrow[:, there]
    return wide


def _bands(image: NDArray[Any], channel_axis: int | None) -> tuple[NDArray[Any], bool]:
    """Take the bands to show, channels last, and say whether they are colours."""
    bands = image[..., None] if image.ndim == 2 else image
    if image.ndim != 2 and channel_axis is not None:
        bands = np.moveaxis(image, channel_axis, -1)
    if bands.ndim != 3 or (image.ndim == 3 and channel_axis is None):
        raise InvalidInputError(
            f"only an image of two dimensions can be drawn, got {image.shape}: write its labels"
        )
    if bands.dtype.kind == "b":
        bands = bands.view(np.uint8) * np.uint8(255)
    return bands[..., : 1 if bands.shape[2] < 3 else 3], bands.shape[2] in (1, 3, 4)


def _limits(
    bands: NDArray[Any], colours: bool, mask: NDArray[np.bool_] | None
) -> NDArray[np.float64]:
    if colours and bands.dtype == np.uint8:
        return np.repeat([[0.0], [255.0]], bands.shape[2], axis=1)
    values = bands[np.isfinite(bands).all(axis=2) & (True if mask is None else mask)]
    low, high = np.zeros(bands.shape[2]), np.ones(bands.shape[2])
    if not len(values):
        return np.stack([low, high])
    least, peak = values.min(), values.max()
    if bands.dtype.kind == "f" and least >= 0 and peak <= 1:
        return np.stack([low, high])
    if colours and bands.dtype.kind in "iu" and least >= 0 and peak <= 65535:
        white, near = white_of(int(peak), bands.dtype)
        if near:
            return np.stack([low, high * white])
    return np.asarray(np.percentile(values.astype(np.float64), [1, 99], axis=0))
