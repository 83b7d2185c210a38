"""Picture files in and out.

Photographs come as Pillow reads them, turned upright; .tif files come through tifffile with
all their bands, bits and slices, and a mask of the pixels that have data. Label images are 16-bit,
or 32-bit where that is not enough.
"""

from __future__ import annotations

import math
import os
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from meanshiftpp._support.extras import need
from meanshiftpp._support.files import atomic_path, check_readable, known_suffix
from meanshiftpp.errors import InvalidInputError, MeanShiftPPError

__all__ = ["LABEL_FORMATS", "PICTURE_FORMATS", "Picture", "read", "write", "write_labels"]

TIFF = (".tif", ".tiff")
PICTURE_FORMATS = (".png", ".jpg", ".jpeg", ".webp", ".bmp", *TIFF)
LABEL_FORMATS = (".png", *TIFF)
_NO_ALPHA = (".jpg", ".jpeg", ".bmp")
_MOST_LABELS_16_BIT = 2**16 - 1
_NODATA = 42113  # GDAL's tag
_PLACE = (33550, 33922, 34264, 34735, 34736, 34737)  # the tags of a GeoTIFF that say where it lies
_ALPHA = (1, 2)  # of a .tif's extra samples, those that are alpha: associated, and not

Place = tuple[tuple[int, int, int, Any, bool], ...]


@dataclass(frozen=True)
class Picture:
    """An image as it was in its file.

    Attributes
    ----------
    values : ndarray
        Its pixels, in the type of the file.
    channel_axis : int or None
        Which axis holds the channels, as the functions on images want it.
    mask : ndarray of bool, or None
        True where there is data, as the functions on images want it; None: everywhere. A pixel has
        none where one of its bands is the file's "no data", NaN or infinite, or where the alpha of
        a .tif, which is not among the values, is 0.
    bands : bool
        Whether these are four bands and no RGBA: `segment` is to be told so by ``space=None``.
    place : tuple
        Where on Earth it lies: the tags of a GeoTIFF, for `write_labels`.
    """

    values: NDArray[Any]
    channel_axis: int | None = -1
    mask: NDArray[np.bool_] | None = None
    bands: bool = False
    place: Place = ()

    @property
    def channels(self) -> int | None:
        """Which axis holds the channels, counted from the first; None where there are none."""
        if self.values.ndim == 2 or self.channel_axis is None:
            return None
        return self.channel_axis % self.values.ndim

    @property
    def shape(self) -> tuple[int, ...]:
        """Height and width, and depth before them: the shape without the channels."""
        return tuple(n for i, n in enumerate(self.values.shape) if i != self.channels)

    def without(self, gaps: NDArray[np.bool_]) -> Picture:
        """Mask more pixels: those with a gap, or with one in any of their channels."""
        if self.channels is not None and gaps.ndim == self.values.ndim:
            gaps = np.asarray(gaps.any(axis=self.channels))
        there = ~gaps if self.mask is None else self.mask & ~gaps
        return self if there.all() else replace(self, mask=there)


def read(path: str | os.PathLike[str]) -> Picture:
    """Read a picture, or the slices of a .tif volume.

    Pixels that are NaN or infinite are masked, with a warning unless the file calls NaN "no data".

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
        raise InvalidInputError(f"{str(path)!r} is empty: no picture")
    with _errors_named(path):
        is_tiff = path.suffix.lower() in TIFF
        photo = _read_tiff(path) if is_tiff else Picture(_read_with_pillow(path))
    if photo.values.dtype.kind == "f":
        photo = _finite(photo, path)
    if photo.mask is not None and not photo.mask.any():
        raise InvalidInputError(
            f"{str(path)!r} has no pixel with data: there is nothing to segment"
        )
    return photo


def write(path: str | os.PathLike[str], rgb: NDArray[np.uint8]) -> None:
    """Write RGB or RGBA bytes; alpha becomes white in a format that has none."""
    suffix = known_suffix(path, PICTURE_FORMATS)
    image = need("PIL.Image", "image").fromarray(np.ascontiguousarray(rgb))
    if image.mode == "RGBA" and suffix in _NO_ALPHA:
        white = need("PIL.Image", "image").new("RGB", image.size, "white")
        white.paste(image, mask=image)
        image = white
    options = {"quality": 95, "subsampling": 0} if suffix in (".jpg", ".jpeg") else {}
    with atomic_path(path) as target:
        image.save(target, **options)


def write_labels(
    path: str | os.PathLike[str], labels: NDArray[np.integer[Any]], place: Place = ()
) -> None:
    """Write a label image or volume: labels from 1, and 0 for pixels that have none.

    A .png holds 16 bits and two dimensions, a .tif anything, and the `place` of a picture.

    Examples
    --------
    >>> import numpy as np
    >>> from meanshiftpp import picture
    >>> picture.write_labels("labels.png", np.array([[1, 1, 40_000]]))
    >>> picture.read("labels.png").values
    array([[    1,     1, 40000]], dtype=uint16)
    """
    suffix = known_suffix(path, LABEL_FORMATS)
    most = int(labels.max(initial=0))
    wide = most > _MOST_LABELS_16_BIT
    values = labels.astype(np.uint32 if wide else np.uint16)
    if suffix == ".png":
        if wide:
            raise InvalidInputError(
                f"a .png holds {_MOST_LABELS_16_BIT:,} labels, these are {most:,}: write a .tif"
            )
        if labels.ndim != 2:
            raise InvalidInputError(f"a .png has two dimensions, not {labels.ndim}: write a .tif")
        with atomic_path(path) as target:
            need("PIL.Image", "image").fromarray(values).save(target)
        return
    tiff = need("tifffile", "image")
    tags = [*place, (_NODATA, "s", 0, "0", True)] if place else []
    layout = {"photometric": "minisblack", "compression": "zlib", "predictor": True}
    with atomic_path(path) as target:
        tiff.imwrite(target, values, extratags=tags, **layout)


# -- within -----------------------------------------------------------------------------------


@contextmanager
def _errors_named(path: Path) -> Iterator[None]:
    """Give the many ways in which a file can be broken one error, with the file's name."""
    images = need("PIL.Image", "image")
    try:
        yield
    except (MeanShiftPPError, MemoryError):
        raise
    except images.UnidentifiedImageError as error:
        raise InvalidInputError(f"{str(path)!r} is no picture in a format known here") from error
    except images.DecompressionBombError as error:
        pixels = re.search(r"(\d+) pixels", str(error))
        raise _too_large(path, int(pixels[1]) if pixels else math.inf) from error
    except Exception as error:  # decoders fail in any way their formats know
        raise InvalidInputError(f"{str(path)!r} is damaged: {error}") from error


def _too_large(path: Path, pixels: float) -> InvalidInputError:
    return InvalidInputError(
        f"{str(path)!r} is refused: {pixels:,} pixels would be unpacked, and Pillow's limit is "
        f"{_most_pixels():,}; if you trust the file, raise PIL.Image.MAX_IMAGE_PIXELS"
    )


def _most_pixels() -> float:
    """Pillow warns at its limit and refuses at twice that; here only the second counts."""
    limit = need("PIL.Image", "image").MAX_IMAGE_PIXELS
    return math.inf if limit is None else 2 * limit


def _read_with_pillow(path: Path) -> NDArray[Any]:
    images, ops = need("PIL.Image", "image"), need("PIL.ImageOps", "image")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", images.DecompressionBombWarning)
        with images.open(path) as file:
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
        values = values.astype(np.uint16)  # how some 16-bit pictures arrive
    return values


def _read_tiff(path: Path) -> Picture:
    tiff = need("tifffile", "image")
    with tiff.TiffFile(path) as file:
        series, page = file.series[0], file.pages[0]
        if math.prod(series.shape) > 4 * _most_pixels():  # as much memory as RGBA bytes take
            raise _too_large(path, math.prod(series.shape))
        coded = page.colormap is not None
        photo = Picture(_read_with_pillow(path)) if coded else _read_series(series, page, path)
        photo = photo.without(_gaps(_codes(path) if coded else photo.values, page))
        for other in file.series[1:]:
            if other.keyframe.is_mask and other.shape == photo.shape:  # else one of an overview
                photo = photo.without(other.asarray() == 0)
        return replace(photo, place=_place(page))


def _gaps(values: NDArray[Any], page: Any) -> NDArray[np.bool_]:
    """Find the values that the file calls "no data"."""
    nodata = _number(page.tags[_NODATA].value) if _NODATA in page.tags else None
    if nodata is None:
        return np.zeros(values.shape, bool)
    if math.isnan(nodata):
        return np.asarray(np.isnan(values))
    with np.errstate(over="ignore"):
        return np.asarray(values == nodata)


def _codes(path: Path) -> NDArray[Any]:
    """Read the numbers of colours in a table of colours."""
    with need("PIL.Image", "image").open(path) as file:
        return np.asarray(file)


def _place(page: Any) -> Place:
    tags = [page.tags[code] for code in _PLACE if code in page.tags]
    return tuple((tag.code, int(tag.dtype), tag.count, tag.value, True) for tag in tags)


def _read_series(series: Any, page: Any, path: Path) -> Picture:
    try:
        values, axes = series.asarray(), series.axes
    except ValueError as error:
        if "imagecodecs" not in str(error):
            raise
        return _read_packed(page, path)
    if page.photometric == 0 and values.dtype.kind in "bu":  # a scan, in which 0 is white
        values ^= values.dtype.type(2**page.bitspersample - 1)
    keep = [i for i, size in enumerate(values.shape) if size > 1 or axes[i] in "YX"]
    axes = "".join(axes[i] for i in keep)
    values = values.reshape([values.shape[i] for i in keep])
    channels = [i for i, axis in enumerate(axes) if axis in "SC"]
    photo = _without_alpha(Picture(values, channels[0] if channels else None), page)
    return replace(photo, bands=bool(channels) and photo.values.shape[channels[0]] == 4)


def _read_packed(page: Any, path: Path) -> Picture:
    """Read what only Pillow can unpack, if it has all bands after that."""
    lost = InvalidInputError(
        f"{str(path)!r} has {page.samplesperpixel} bands packed with {page.compression.name}, "
        "which this needs imagecodecs for: pip install imagecodecs"
    )
    try:
        values = _read_with_pillow(path)
    except need("PIL.Image", "image").UnidentifiedImageError:
        raise lost from None
    if page.extrasamples and (values.shape[2] if values.ndim > 2 else 1) < page.samplesperpixel:
        raise lost
    return Picture(values)


def _without_alpha(photo: Picture, page: Any) -> Picture:
    """Make a mask of what the file calls alpha: other bands beyond the colours are bands."""
    axis, n = photo.channels, page.samplesperpixel
    if axis is None or photo.values.shape[axis] != n:
        return photo
    kinds = [kind in _ALPHA for kind in page.extrasamples]  # of the last bands
    alpha = [n - len(kinds) + i for i, is_alpha in enumerate(kinds) if is_alpha]
    if not alpha:
        return photo
    hidden = np.take(photo.values, alpha, axis) == 0
    return replace(photo.without(hidden), values=np.delete(photo.values, alpha, axis))


def _number(text: str) -> float | None:
    """Read the number of a tag, whole where it can be; None where there is none."""
    for kind in (int, float):
        with suppress(ValueError):
            return kind(text.strip("\0 "))
    return None


def _finite(photo: Picture, path: Path) -> Picture:
    """Mask what is NaN or infinite, and say so: nothing in the file told that it has no data."""
    there = photo.without(~np.isfinite(photo.values))
    left = [math.prod(p.shape) if p.mask is None else int(p.mask.sum()) for p in (photo, there)]
    if left[0] > left[1] > 0:
        words = f"{left[0] - left[1]:,} of {math.prod(photo.shape):,} pixels"
        warnings.warn(f"{path}: {words} are NaN or infinite, and masked", stacklevel=3)
    return there
