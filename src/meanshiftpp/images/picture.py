"""Read and write picture files.

Pillow reads photographs, which are turned upright. tifffile reads .tif files with all their bands,
bits and slices, and with a mask of the pixels that have data. Label images have 16 bits, or 32 if
there are more labels.
"""

from __future__ import annotations

import io
import math
import os
import re
import struct
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from meanshiftpp._support.extras import need
from meanshiftpp._support.files import atomic_path, check_readable, known_suffix, suffix_of
from meanshiftpp.errors import InvalidInputError, MeanShiftPPError
from meanshiftpp.images.draw import label_colors
from meanshiftpp.images.no_data import SAMPLE, undeclared_no_data
from meanshiftpp.images.spacing import Spacing, read_spacing

__all__ = ["LABEL_FORMATS", "PICTURE_FORMATS", "Picture", "read", "write", "write_labels"]

TIFF = (".tif", ".tiff")
PICTURE_FORMATS = (".png", ".jpg", ".jpeg", ".webp", ".bmp", *TIFF)
LABEL_FORMATS = (".png", *TIFF)
_PILLOW_FORMATS = ("PNG", "JPEG", "BMP", "GIF", "PPM", "WEBP", "TIFF", "TGA", "JPEG2000")
_NO_ALPHA = (".jpg", ".jpeg", ".bmp")
_MAX_LABELS_16_BIT = 2**16 - 1
_NODATA = 42113  # GDAL's tag
_PLACE = (33550, 33922, 34264, 34735, 34736, 34737)  # the tags of a GeoTIFF's position on Earth
_CHANNELS = "SC"  # the axes of samples and channels
_ALPHA = (1, 2)  # the kinds of extra samples in a .tif that are alpha: associated, unassociated

Place = tuple[tuple[int, int, int, Any, bool], ...]


class PictureWarning(UserWarning):
    """A warning about a picture file; its text starts with the name of the file."""


@dataclass(frozen=True)
class Picture:
    """An image as read from a file.

    Attributes
    ----------
    values : ndarray
        The pixels, in the type of the file.
    channel_axis : int or None
        The axis of the channels, as in `meanshiftpp.segment`.
    mask : ndarray of bool, or None
        True for pixels with data, as in `meanshiftpp.segment`; None if all have data. A pixel has
        no data if one of its bands is the file's "no data" value, NaN or infinite, or if its alpha
        is 0 in a .tif, whose alpha is not among the values.
    bands : bool
        Whether the four channels are bands, not RGBA; pass ``space=None`` to `segment` if so.
    place : tuple
        The position on Earth: the tags of a GeoTIFF, for `write_labels`.
    spacing : Spacing or None
        The axes and the size of a pixel in a .tif, for `write_labels`.

    Examples
    --------
    >>> import numpy as np
    >>> from meanshiftpp.picture import Picture
    >>> Picture(np.zeros((2, 3, 3), np.uint8)).shape
    (2, 3)
    """

    values: NDArray[Any]
    channel_axis: int | None = -1
    mask: NDArray[np.bool_] | None = None
    bands: bool = False
    place: Place = ()
    spacing: Spacing | None = None

    @property
    def channels(self) -> int | None:
        """The axis of the channels, counted from the first axis; None without channels."""
        if self.values.ndim == 2 or self.channel_axis is None:
            return None
        return self.channel_axis % self.values.ndim

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape without the channels: (height, width), or (depth, height, width)."""
        return tuple(n for i, n in enumerate(self.values.shape) if i != self.channels)

    def without(self, gaps: NDArray[np.bool_]) -> Picture:
        """Return a copy that also masks the pixels with a gap in any of their channels."""
        if self.channels is not None and gaps.ndim == self.values.ndim:
            gaps = np.asarray(gaps.any(axis=self.channels))
        mask = ~gaps if self.mask is None else self.mask & ~gaps
        return self if mask.all() else replace(self, mask=mask)


def read(path: str | os.PathLike[str]) -> Picture:
    """Read a picture, or the slices of a .tif volume.

    NaN and infinite pixels are masked, with a warning unless NaN is the file's "no data" value.

    Examples
    --------
    >>> import numpy as np
    >>> from meanshiftpp import picture
    >>> picture.write("red.png", np.full((2, 3, 3), [200, 0, 0], np.uint8))
    >>> picture.read("red.png").values.shape
    (2, 3, 3)
    """
    path = Path(path)
    check_readable(path)
    if path.stat().st_size == 0:
        raise InvalidInputError.for_file(path, "is empty, not a picture")
    with _decoder_errors(path):
        is_tiff = path.suffix.lower() in TIFF
        photo = _read_tiff(path) if is_tiff else Picture(_read_with_pillow(path))
    if photo.values.size == 0:
        raise InvalidInputError.for_file(path, "is damaged: it has no pixels")
    if photo.values.dtype.kind == "f":
        photo = _mask_non_finite(photo, path)
    _warn_of_no_data(photo, path)
    if photo.mask is not None and not photo.mask.any():
        raise InvalidInputError.for_file(
            path, "has no pixel with data, so there is nothing to segment"
        )
    return photo


def write(path: str | os.PathLike[str], rgb: NDArray[np.uint8]) -> None:
    """Write RGB or RGBA bytes; transparent pixels become white in a format without alpha.

    Examples
    --------
    >>> import numpy as np
    >>> from meanshiftpp import picture
    >>> picture.write("blue.png", np.full((2, 3, 3), [0, 0, 200], np.uint8))
    """
    suffix = known_suffix(path, PICTURE_FORMATS)
    image = need("PIL.Image", "image").fromarray(np.ascontiguousarray(rgb))
    if image.mode == "RGBA" and suffix in _NO_ALPHA:
        white = need("PIL.Image", "image").new("RGB", image.size, "white")
        white.paste(image, mask=image)
        image = white
    options = {"quality": 95, "subsampling": 0} if suffix in (".jpg", ".jpeg") else {}
    _save(path, image, **options)


def write_labels(
    path: str | os.PathLike[str],
    labels: NDArray[np.integer[Any]],
    place: Place = (),
    spacing: Spacing | None = None,
) -> None:
    """Write a label image or volume: labels from 1, and 0 for pixels without a label.

    A .png holds 16 bits and two dimensions. A .tif holds any labels, and the `place` or the
    `spacing` of a picture: its axes, the size of a pixel and the unit. With a place and at most
    65,535 labels it has a colour table.

    Examples
    --------
    >>> import numpy as np
    >>> from meanshiftpp import picture
    >>> picture.write_labels("labels.png", np.array([[1, 1, 40_000]]))
    >>> picture.read("labels.png").values
    array([[    1,     1, 40000]], dtype=uint16)
    """
    suffix = known_suffix(path, LABEL_FORMATS)
    largest = int(labels.max(initial=0))
    wide = largest > _MAX_LABELS_16_BIT
    values = labels.astype(np.uint32 if wide else np.uint16)
    if suffix == ".png":
        if wide:
            raise InvalidInputError(
                f"a .png holds at most {_MAX_LABELS_16_BIT:,} labels, got {largest:,}; write a .tif"
            )
        if labels.ndim != 2:
            raise InvalidInputError(
                f"a .png has two dimensions, got labels with {labels.ndim}; write a .tif"
            )
        _save(path, need("PIL.Image", "image").fromarray(values))
        return
    tiff = need("tifffile", "image")
    tags = [*place, (_NODATA, "s", 0, "0", True)] if place else []
    layout: dict[str, Any] = {"photometric": "minisblack"}
    if place and labels.ndim == 2 and not wide:  # a map: GIS programs draw its colour table
        values = values.astype(np.uint8 if largest < 256 else np.uint16)
        layout = {"photometric": "palette", "colormap": _color_table(largest, values.dtype)}
    if spacing is not None and not place and len(spacing.axes) == labels.ndim:
        layout |= spacing.tags(wide)
    if "imagej" not in layout:  # ImageJ's own reader needs its files uncompressed
        layout |= {"compression": "zlib", "predictor": True}
    with atomic_path(path) as target:
        tiff.imwrite(target, values, extratags=tags, **layout)


def _color_table(n: int, dtype: np.dtype[Any]) -> NDArray[np.uint16]:
    """Return a colour for each of the labels from 1 to `n`, in the layout of TIFF."""
    table = np.zeros((3, 256**dtype.itemsize), np.uint16)
    table[:, 1 : n + 1] = label_colors(n).T * np.uint16(257)  # from 8 to 16 bits
    return table


def _save(path: str | os.PathLike[str], image: Any, **options: Any) -> None:
    """Write an image of Pillow in the format of the suffix."""
    # Pillow's own writing ignores that a full disk took only a part of the bytes.
    content = io.BytesIO()
    formats = need("PIL.Image", "image").registered_extensions()
    image.save(content, formats[suffix_of(path)], **options)
    with atomic_path(path) as target:
        target.write_bytes(content.getbuffer())


# -- errors ------------------------------------------------------------------------------------


@contextmanager
def _decoder_errors(path: Path) -> Iterator[None]:
    """Convert the errors of all decoders to InvalidInputError with the name of the file."""
    images = need("PIL.Image", "image")
    try:
        yield
    except (MeanShiftPPError, MemoryError):
        raise
    except images.UnidentifiedImageError as error:
        raise InvalidInputError.for_file(path, "is not a picture in a known format") from error
    except images.DecompressionBombError as error:
        # Pillow raises before it returns an image, and the count is only in its message.
        pixels = re.search(r"(\d+) pixels", str(error))
        raise _too_large(path, int(pixels[1]) if pixels else math.inf) from error
    except Exception as error:  # decoders raise errors of any type for damaged files
        problem = "it ends early" if isinstance(error, struct.error) else str(error)
        raise InvalidInputError.for_file(
            path, f"is damaged: {problem}; copy or export it again"
        ) from error


def _too_large(path: Path, pixels: float) -> InvalidInputError:
    return InvalidInputError.for_file(
        path,
        f"has {pixels:,} pixels, more than Pillow's limit of {_max_pixels():,}; "
        "if you trust the file, raise PIL.Image.MAX_IMAGE_PIXELS",
    )


def _max_pixels() -> float:
    """Return twice Pillow's limit: Pillow warns above the limit and raises above twice that."""
    limit = need("PIL.Image", "image").MAX_IMAGE_PIXELS
    return math.inf if limit is None else 2 * limit


# -- decoding ----------------------------------------------------------------------------------


def open_with_pillow(path: Path) -> Any:
    """Open a picture in a format that Pillow decodes itself.

    Pillow chooses the format by the content; for PostScript, it would run another program.
    """
    return need("PIL.Image", "image").open(path, formats=_PILLOW_FORMATS)


def _read_with_pillow(path: Path) -> NDArray[Any]:
    images, ops = need("PIL.Image", "image"), need("PIL.ImageOps", "image")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", images.DecompressionBombWarning)
        with open_with_pillow(path) as file:
            file.load()
            image = ops.exif_transpose(file)
    if image.mode == "1":
        image = image.convert("L")
    elif image.mode in ("P", "LA", "PA", "La") or "transparency" in image.info:
        image = image.convert("RGBA" if image.has_transparency_data else "RGB")
    elif image.mode not in ("L", "RGB", "RGBA", "F") and not image.mode.startswith("I"):
        image = image.convert("RGB")  # CMYK, YCbCr and others
    values: NDArray[Any] = np.asarray(image)
    if values.dtype == np.int32 and values.min() >= 0 and values.max() < 2**16:
        values = values.astype(np.uint16)  # Pillow decodes some 16-bit files to 32 bits
    return values


def check_pages(file: Any, path: Path) -> None:
    """Raise if the pages of a TIFF file form a circle, which tifffile would follow for ever."""
    seen = set()
    for page in file.pages:
        if page.offset in seen:
            raise InvalidInputError.for_file(path, "is damaged: its pages form a circle")
        seen.add(page.offset)


def _read_tiff(path: Path) -> Picture:
    tiff = need("tifffile", "image")
    with tiff.TiffFile(path) as file:
        check_pages(file, path)
        series, page = file.series[0], file.pages[0]
        if math.prod(series.shape) > 4 * _max_pixels():  # more values than RGBA at the limit
            raise _too_large(path, math.prod(series.shape))
        names = (series.axes[i] for i in _used_axes(series))
        axes = "".join(axis for axis in names if axis not in _CHANNELS)
        if len(axes) > 3:
            raise InvalidInputError.for_file(
                path,
                f"must have two or three dimensions besides its channels, got {len(axes)} (axes "
                f"{axes}); save each image along {axes[0]} as a file",
            )
        has_colormap = page.colormap is not None and page.bitspersample <= 8  # not labels
        photo = (
            Picture(_read_with_pillow(path)) if has_colormap else _read_series(series, page, path)
        )
        stored = _colormap_indices(path) if has_colormap else photo.values
        photo = photo.without(_no_data(stored, page))
        for other in file.series[1:]:
            if other.keyframe.is_mask and other.shape == photo.shape:  # not that of an overview
                photo = photo.without(other.asarray() == 0)
        if "T" in axes:
            warnings.warn(
                PictureWarning(
                    f"{path}: a time series (axes {axes}) is segmented as a volume; save its "
                    "frames as files to segment each of them"
                ),
                stacklevel=3,
            )
        return replace(photo, place=_place(page), spacing=read_spacing(file, axes))


def _no_data(values: NDArray[Any], page: Any) -> NDArray[np.bool_]:
    """Return where the values equal the file's "no data" value."""
    nodata = _number(page.tags[_NODATA].value) if _NODATA in page.tags else None
    if nodata is None:
        return np.zeros(values.shape, bool)
    if math.isnan(nodata):
        return np.asarray(np.isnan(values))
    with np.errstate(over="ignore"):
        return np.asarray(values == nodata)


def _colormap_indices(path: Path) -> NDArray[Any]:
    """Read the indices into the colour map, before they are replaced by colours."""
    with open_with_pillow(path) as file:
        return np.asarray(file)


def _place(page: Any) -> Place:
    tags = [page.tags[code] for code in _PLACE if code in page.tags]
    return tuple((tag.code, int(tag.dtype), tag.count, tag.value, True) for tag in tags)


def _read_series(series: Any, page: Any, path: Path) -> Picture:
    try:
        values = series.asarray()
    except ValueError as error:
        if "imagecodecs" not in str(error):  # tifffile names the missing codec in the text only
            raise
        return _read_compressed(page, path)
    if page.photometric == 0 and values.dtype.kind in "bu":  # in such scans 0 is white
        values ^= values.dtype.type(2**page.bitspersample - 1)
    used = _used_axes(series)
    values = values.reshape([values.shape[i] for i in used])
    channels = [k for k, i in enumerate(used) if series.axes[i] in _CHANNELS]
    photo = _without_alpha(Picture(values, channels[0] if channels else None), page)
    return replace(photo, bands=bool(channels) and photo.values.shape[channels[0]] == 4)


def _used_axes(series: Any) -> list[int]:
    """Return the indices of the axes of more than one pixel, and of the two of a picture."""
    sizes = zip(series.axes, series.shape, strict=True)  # a letter can occur twice
    return [i for i, (axis, size) in enumerate(sizes) if size > 1 or axis in "YX"]


def _read_compressed(page: Any, path: Path) -> Picture:
    """Read with Pillow a compression that tifffile cannot decode, unless Pillow drops bands."""
    unreadable = InvalidInputError.for_file(
        path,
        f"has {page.samplesperpixel} bands compressed with {page.compression.name}, which only "
        "imagecodecs can read: pip install imagecodecs",
    )
    try:
        values = _read_with_pillow(path)
    except need("PIL.Image", "image").UnidentifiedImageError:
        raise unreadable from None
    if page.extrasamples and (values.shape[2] if values.ndim > 2 else 1) < page.samplesperpixel:
        raise unreadable
    return Picture(values)


def _without_alpha(photo: Picture, page: Any) -> Picture:
    """Convert the file's alpha bands to a mask; other extra bands stay among the values."""
    axis, n = photo.channels, page.samplesperpixel
    if axis is None or photo.values.shape[axis] != n:
        return photo
    first_extra = n - len(page.extrasamples)
    alpha = [first_extra + i for i, kind in enumerate(page.extrasamples) if kind in _ALPHA]
    if not alpha:
        return photo
    transparent = np.take(photo.values, alpha, axis) == 0
    return replace(photo.without(transparent), values=np.delete(photo.values, alpha, axis))


def _number(text: str) -> float | None:
    """Parse the number in a tag, as an integer if possible; None if it is not a number."""
    for kind in (int, float):
        with suppress(ValueError):
            return kind(text.strip("\0 "))
    return None


def _mask_non_finite(photo: Picture, path: Path) -> Picture:
    """Mask NaN and infinite pixels, with a warning if the file does not declare them."""
    masked = photo.without(~np.isfinite(photo.values))
    before, after = (
        math.prod(each.shape) if each.mask is None else int(each.mask.sum())
        for each in (photo, masked)
    )
    if before > after > 0:
        warnings.warn(
            PictureWarning(
                f"{path}: masked {before - after:,} of {math.prod(photo.shape):,} pixels, "
                "which are NaN or infinite"
            ),
            stacklevel=3,
        )
    return masked


def _warn_of_no_data(photo: Picture, path: Path) -> None:
    """Warn of a value of a map that may be "no data"; a picture without a place has none."""
    if not photo.place:
        return
    axis, mask = photo.channels, photo.mask
    values = photo.values[..., None] if axis is None else np.moveaxis(photo.values, axis, -1)
    every = max(
        min(math.prod(photo.shape) // SAMPLE, len(values) // 16), 1
    )  # so that few are copied
    pixels = values[::every].reshape(-1, values.shape[-1])
    text = undeclared_no_data(path, pixels, None if mask is None else mask[::every].ravel())
    if text:
        warnings.warn(PictureWarning(text), stacklevel=3)
