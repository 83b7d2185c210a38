"""Draw segmentations: regions in their colours, outlines, palettes, sheets of pictures.

Every function takes arrays and returns a picture of bytes. Line widths scale with the picture, so
that outlines are as visible on a photograph of 20 megapixels as on a small one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from meanshiftpp._support.checks import as_shaped, as_whole
from meanshiftpp._support.extras import need
from meanshiftpp.errors import InvalidInputError
from meanshiftpp.images.checks import (
    as_color_weights,
    as_colors,
    as_label_colors,
    as_label_image,
    as_picture,
)
from meanshiftpp.images.levels import type_limits
from meanshiftpp.images.pixels import channels_last

__all__ = [
    "as_rgb",
    "contact_sheet",
    "fill",
    "label_colors",
    "limits",
    "outlines",
    "overlay",
    "palette_strip",
    "region_colors",
]

Picture = NDArray[np.uint8]  # (height, width, 3), or 4 with alpha

LINE_SCALE = 800  # pixels of the picture's side per pixel of line width
_DARK = 70.0  # regions with a lower luma get a lighter outline, the others a darker one
_DARKEST = 56.0  # least value of a channel in the colours of labels
_CUBE_RATIO = 1.2207440846057596  # the root of x^4 = x + 1: the golden ratio of three dimensions
_LUMA = np.array([0.299, 0.587, 0.114])
_MAX_LABELS = 1 << 24  # a table of colours has a row for each
_MAX_WIDTH = 65_535  # pixels of a picture's side


def as_rgb(
    image: NDArray[Any], channel_axis: int | None = -1, *, limits: ArrayLike | None = None
) -> Picture:
    """Convert an image of any type and number of bands to RGB bytes.

    Bytes, and images that use at least half of 16 bits, keep their brightness if they are grey or
    in colour. All others are stretched between their `limits`. Only the first three bands are
    drawn.

    Examples
    --------
    >>> import numpy as np
    >>> from meanshiftpp.draw import as_rgb
    >>> as_rgb(np.array([[0, 65535]], np.uint16)).tolist()
    [[[0, 0, 0], [255, 255, 255]]]
    """
    bands, are_colours = _drawn_bands(image, channel_axis)
    low, high = _limits(bands, are_colours, None) if limits is None else _as_limits(limits, bands)
    if bands.dtype == np.uint8 and (low == 0).all() and (high == 255).all():
        levels = bands
    else:
        scaled = (bands.astype(np.float64) - low) / np.maximum(high - low, 1e-300) * 255
        levels = np.nan_to_num(scaled, posinf=255, neginf=0).clip(0, 255).round()
    return np.ascontiguousarray(np.broadcast_to(levels, (*levels.shape[:2], 3)), np.uint8)


def limits(
    image: NDArray[Any],
    channel_axis: int | None = -1,
    *,
    mask: NDArray[np.bool_] | None = None,
) -> NDArray[np.float64]:
    """Return the values drawn as black and as white, for each band that is drawn.

    They are the limits of the image's type if the values use its range, otherwise the 1st and 99th
    percentiles of the pixels where `mask` is True.

    Examples
    --------
    >>> import numpy as np
    >>> from meanshiftpp.draw import limits
    >>> limits(np.array([[0, 200]], np.uint8)).tolist()
    [[0.0], [255.0]]
    """
    bands, are_colours = _drawn_bands(image, channel_axis)
    if mask is not None:
        expected = f"True or False for each pixel, of shape {bands.shape[:2]}"
        mask = as_shaped(mask, "mask", expected, bands.shape[:2]).astype(bool)
    return _limits(bands, are_colours, mask)


def region_colors(rgb: Picture, labels: NDArray[np.integer[Any]]) -> NDArray[np.float64]:
    """Return the mean colour of every label from 0 to the largest; NaN for labels not in use.

    Examples
    --------
    >>> import numpy as np
    >>> from meanshiftpp.draw import region_colors
    >>> rgb = np.array([[[10, 0, 0], [20, 0, 0], [0, 0, 9]]], np.uint8)
    >>> region_colors(rgb, np.array([[0, 0, 1]])).tolist()
    [[15.0, 0.0, 0.0], [0.0, 0.0, 9.0]]
    """
    labels = as_label_image(labels)
    rgb = as_picture(rgb, labels)
    if (largest := int(labels.max(initial=0))) >= (limit := max(labels.size, _MAX_LABELS)):
        expected = f"below {limit:,} in a picture of {labels.size:,} pixels"
        advice = "number them anew, as numpy.unique with return_inverse does"
        raise InvalidInputError.for_parameter("labels", expected, largest, advice)
    ids = _table_rows(labels).ravel()  # masked pixels come first and are dropped below
    n = int(ids.max(initial=0)) + 1
    sums = [np.bincount(ids, rgb[..., c].ravel(), n) for c in range(3)]
    counts = np.bincount(ids, minlength=n)
    with np.errstate(invalid="ignore"):
        means: NDArray[np.float64] = (np.stack(sums, axis=1) / counts[:, None])[1:]
    return means


def label_colors(n: int) -> NDArray[np.uint8]:
    """Return a different colour for each of `n` labels; successive ones are far apart.

    The colours are points of a sequence that fills the RGB cube evenly, without its dark corner.

    Examples
    --------
    >>> from meanshiftpp.draw import label_colors
    >>> label_colors(2).tolist()
    [[155, 155, 155], [119, 90, 65]]
    """
    n = as_whole(n, "n", 0)
    steps = _CUBE_RATIO ** -np.arange(1.0, 4.0)
    places = np.modf(0.5 + np.arange(n)[:, None] * steps)[0]
    return (_DARKEST + places * (255 - _DARKEST)).astype(np.uint8)


def outlines(labels: NDArray[np.integer[Any]], width: int | None = None) -> NDArray[np.bool_]:
    """Mark the pixels along the borders between labels.

    Parameters
    ----------
    labels : ndarray of shape (height, width)
        A label image.
    width : int, optional
        Line width in pixels. By default it scales with the picture.

    Examples
    --------
    >>> import numpy as np
    >>> from meanshiftpp.draw import outlines
    >>> outlines(np.array([[0, 0, 1, 1]])).tolist()
    [[False, True, False, False]]
    """
    labels = as_label_image(labels)
    line_width = _line_width(labels) if width is None else as_whole(width, "width", 1)
    line = np.zeros(labels.shape, bool)
    line[:, :-1] = labels[:, :-1] != labels[:, 1:]
    line[:-1] |= labels[:-1] != labels[1:]
    return _widen(line, min(line_width, 2 * max(labels.shape)))


def fill(labels: NDArray[np.integer[Any]], colors: ArrayLike, *, lines: bool = True) -> Picture:
    """Draw every region in its colour; masked pixels (labels below 0) are transparent.

    Parameters
    ----------
    labels : ndarray of shape (height, width)
        A label image.
    colors : array-like of shape (n_labels, 3)
        RGB from 0 to 255, for example from `region_colors`.
    lines : bool
        Whether to draw a thin outline around each region, darker or lighter than its colour.

    Returns
    -------
    ndarray of uint8
        RGB, or RGBA if any pixel is masked.

    Examples
    --------
    >>> import numpy as np
    >>> from meanshiftpp.draw import fill
    >>> fill(np.array([[0, 0]]), [[200, 100, 0]]).tolist()
    [[[200, 100, 0], [200, 100, 0]]]
    """
    labels = as_label_image(labels)
    plain = as_label_colors(colors, labels)
    dark = (plain @ _LUMA < _DARK)[:, None]
    edges = np.where(dark, plain * 0.6 + 90.0, plain * 0.6)
    # One lookup draws fills and outlines: row 0 is for masked pixels, outline colours come last.
    table = np.vstack([[0, 0, 0], plain, edges]).round().astype(np.uint8)
    rows = _table_rows(labels)
    if lines:
        rows[outlines(labels) & (rows > 0)] += len(plain)
    return _hide_masked(table[rows], labels)


def overlay(rgb: Picture, labels: NDArray[np.integer[Any]]) -> Picture:
    """Draw white outlines on the picture, with a dark edge that keeps them visible on white.

    Masked pixels (labels below 0) are transparent, as in `fill`.

    Examples
    --------
    >>> import numpy as np
    >>> from meanshiftpp.draw import overlay
    >>> overlay(np.full((1, 4, 3), 100, np.uint8), np.array([[0, 0, 1, 1]]))[..., 0].tolist()
    [[50, 255, 50, 100]]
    """
    labels = as_label_image(labels)
    rgb = as_picture(rgb, labels, "u")
    line = outlines(labels)
    dark_edge = _widen(line, 1 + 2 * _line_width(labels)) & ~line
    drawn = rgb[..., :3].copy()
    drawn[dark_edge] //= 2
    drawn[line] = 255
    drawn[labels < 0] = 0
    return _hide_masked(drawn, labels)


def palette_strip(colors: ArrayLike, shares: ArrayLike, width: int = 1200) -> Picture:
    """Draw a palette: a bar divided by the shares, above the codes of the first twelve colours.

    Parameters
    ----------
    colors : array-like of shape (n, 3)
        RGB from 0 to 255, most frequent first.
    shares : array-like of shape (n,)
        The share of each colour; they sum to 1.
    width : int
        Width of the picture in pixels.

    Examples
    --------
    >>> from meanshiftpp.draw import palette_strip
    >>> palette_strip([[200, 30, 30], [20, 20, 20]], [0.75, 0.25]).shape
    (270, 1200, 3)
    """
    images, drawing = need("PIL.Image", "image"), need("PIL.ImageDraw", "image")
    colours = as_colors(colors, 1).round().astype(np.uint8)
    parts = as_color_weights(shares, "shares", len(colours))
    if not parts.any():
        raise InvalidInputError.for_parameter("shares", "above 0 for one colour at least", 0.0)
    width = as_whole(width, "width", 1, _MAX_WIDTH)
    bar_height, row_height, n_columns, margin = 180, 66, 4, 12
    n_codes = min(len(colours), 3 * n_columns)
    n_rows = -(-n_codes // n_columns)
    height = bar_height + 2 * margin + n_rows * row_height
    strip = images.new("RGB", (width, height), "white")
    pen = drawing.Draw(strip)
    edges = [0, *np.rint(parts.cumsum() / parts.sum() * width).astype(int).tolist()]
    for colour, (left, right) in zip(colours, pairwise(edges), strict=True):
        if right > left:
            pen.rectangle((left, 0, right - 1, bar_height - 1), tuple(colour.tolist()))
    font = need("PIL.ImageFont", "image").load_default(26)
    for i in range(n_codes):
        x = margin + i % n_columns * (width // n_columns)
        y = bar_height + margin + i // n_columns * row_height
        colour = tuple(colours[i].tolist())
        pen.rounded_rectangle((x, y + 9, x + 48, y + 57), 8, colour, (0, 0, 0))
        share = f"{parts[i]:.1%}" if parts[i] >= 0.001 else "<0.1%"
        code = f"#{bytes(colour).hex().upper()}  {share}"
        pen.text((x + 62, y + 33), code, (0, 0, 0), font, anchor="lm")
    return np.asarray(strip)


def contact_sheet(
    panels: Sequence[tuple[str, str, Picture]], columns: int = 2, gap: int = 24
) -> Picture:
    """Arrange pictures of one size on a sheet, each with a title and a line of text below it.

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
    columns, gap = as_whole(columns, "columns", 1), as_whole(gap, "gap", 0)
    panels = _as_panels(panels)
    height, width = panels[0][2].shape[:2]
    text_height = 72
    rows = -(-len(panels) // columns)
    size = (gap + columns * (width + gap), gap + rows * (height + text_height + gap))
    sheet = images.new("RGB", size, "#FCFCFA")
    pen = drawing.Draw(sheet)
    for i, (title, text, picture) in enumerate(panels):
        x = gap + i % columns * (width + gap)
        y = gap + i // columns * (height + text_height + gap)
        sheet.paste(images.fromarray(picture), (x, y))
        pen.text((x, y + height + 10), title, "#22252A", fonts.load_default(24))
        pen.text((x, y + height + 42), text, "#70757D", fonts.load_default(18))
    return np.asarray(sheet)


# -- internals ---------------------------------------------------------------------------------


def _table_rows(labels: NDArray[np.integer[Any]]) -> NDArray[np.intp]:
    """Return the row of each label in a table whose row 0 is for masked pixels."""
    # The type of the labels may be too small for the sum: 255 + 1 is 0 in bytes.
    rows: NDArray[np.intp] = np.add(labels, 1, dtype=np.intp)
    return np.maximum(rows, 0, out=rows)


def _hide_masked(picture: Picture, labels: NDArray[np.integer[Any]]) -> Picture:
    """Make masked pixels transparent; without any, return the picture unchanged."""
    visible = labels >= 0
    if visible.all():
        return picture
    return np.dstack([picture, visible.astype(np.uint8) * np.uint8(255)])


def _line_width(labels: NDArray[Any]) -> int:
    return max(1, round(math.sqrt(labels.size) / LINE_SCALE))


def _widen(line: NDArray[np.bool_], width: int) -> NDArray[np.bool_]:
    """Widen lines of one pixel, by one pixel on alternating sides."""
    wide = line
    for step in range(width - 1):
        narrow, wide = wide, wide.copy()
        source, target = (slice(1, None), slice(None, -1))[:: 1 if step % 2 else -1]
        wide[target] |= narrow[source]
        wide[:, target] |= narrow[:, source]
    return wide


def _as_limits(limits: ArrayLike, bands: NDArray[Any]) -> NDArray[np.float64]:
    """Check the values drawn as black and as white: two numbers, or two rows of one per band."""
    n = bands.shape[2]
    expected = f"two numbers, or two rows of {n}: the values drawn as black and as white"
    array = as_shaped(limits, "limits", expected, (2, ...)).astype(np.float64)
    if array.shape not in ((2,), (2, 1), (2, n)):
        raise InvalidInputError.for_parameter("limits", expected, array.shape)
    return array


def _as_panels(panels: Any) -> list[tuple[str, str, Picture]]:
    """Check the pictures of a contact sheet and their texts."""
    expected = "a title, a text and a picture of bytes, all pictures of one size, for each panel"
    try:
        checked = [(title, text, np.asarray(picture)) for title, text, picture in panels]
    except (TypeError, ValueError) as error:
        raise InvalidInputError.for_parameter("panels", expected, panels) from error
    if not checked:
        raise InvalidInputError.for_parameter("panels", expected, panels)
    for title, text, picture in checked:
        if not isinstance(title, str) or not isinstance(text, str):
            raise InvalidInputError.for_parameter("panels", expected, (title, text))
        if picture.dtype != np.uint8:
            raise InvalidInputError.for_parameter("panels", expected, picture.dtype)
        if picture.shape[2:] not in ((3,), (4,)) or picture.shape[:2] != checked[0][2].shape[:2]:
            raise InvalidInputError.for_parameter("panels", expected, picture.shape)
    return checked


def _drawn_bands(image: Any, channel_axis: int | None) -> tuple[NDArray[Any], bool]:
    """Return the bands to draw, channels last, and whether they are colours."""
    expected = "real numbers of shape (height, width), with or without channels"
    image = as_shaped(image, "image", expected, (None, None, ...))
    bands = image[..., None] if image.ndim == 2 else image
    if image.ndim != 2:
        bands, channel_axis = channels_last(image, channel_axis)
    if bands.ndim != 3 or (image.ndim == 3 and channel_axis is None):
        raise InvalidInputError(
            "an image must have two dimensions to be drawn, "
            f"got shape {image.shape}; write its labels instead"
        )
    if bands.dtype.kind == "b":
        bands = bands.view(np.uint8) * np.uint8(255)
    return bands[..., : 1 if bands.shape[2] < 3 else 3], bands.shape[2] in (1, 3, 4)


def _limits(
    bands: NDArray[Any], are_colours: bool, mask: NDArray[np.bool_] | None
) -> NDArray[np.float64]:
    if are_colours and bands.dtype == np.uint8:
        return np.repeat([[0.0], [255.0]], bands.shape[2], axis=1)
    values = bands[np.isfinite(bands).all(axis=2) & (True if mask is None else mask)]
    low, high = np.zeros(bands.shape[2]), np.ones(bands.shape[2])
    if not len(values):
        return np.stack([low, high])
    if bands.dtype.kind == "f" and values.min() >= 0 and values.max() <= 1:
        return np.stack([low, high])
    if are_colours and bands.dtype.kind in "iu":
        stated = type_limits(values)
        if stated is not None:
            return np.stack([low, high * stated[1]])
    return np.asarray(np.percentile(values.astype(np.float64), [1, 99], axis=0))
