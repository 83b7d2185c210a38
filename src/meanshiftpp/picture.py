"""Picture files in and out.

Photographs come as Pillow reads them, turned upright; .tif files come through tifffile with
all their bands, bits and slices. Label images are 16-bit, or 32-bit where that is not enough.
"""

from __future__ import annotations

import math
import os
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from meanshiftpp.errors import InvalidInputError, MeanShiftPPError, need
from meanshiftpp.files import atomic_path, check_readable, known_suffix

__all__ = ["LABEL_FORMATS", "PICTURE_FORMATS", "Picture", "read", "write", "write_labels"]

TIFF = (".tif", ".tiff")
PICTURE_FORMATS = (".png", ".jpg", ".jpeg", ".webp", ".bmp", *TIFF)
LABEL_FORMATS = (".png", *TIFF)
_NO_ALPHA = (".jpg", ".jpeg", ".bmp")
_MOST_LABELS_16_BIT = 2**16 - 1


@dataclass(frozen=True)
class Picture:
    """An image as it was in its file.

    Attributes
    ----------
    values : ndarray
        Its pixels, in the type of the file.
    channel_axis : int or None
        Which axis holds the channels, as the functions on images want it.
    """

    values: NDArray[Any]
    channel_axis: int | None = -1

    @property
    def shape(self) -> tuple[int, ...]:
        """Height and width, and depth before them: the shape without the channels."""
        if self.values.ndim == 2 or self.channel_axis is None:
            return self.values.shape
        return np.moveaxis(self.values, self.channel_axis, -1).shape[:-1]


def read(path: str | os.PathLike[str]) -> Picture:
    """Read a picture, or the slices of a .tif volume.

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
        if path.suffix.lower() in TIFF:
            return _read_tiff(path)
        return Picture(_read_with_pillow(path))


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


def write_labels(path: str | os.PathLike[str], labels: NDArray[np.integer[Any]]) -> None:
    """Write a label image or volume: labels from 1, and 0 for pixels that have none.

    A .png holds 16 bits and two dimensions, a .tif anything.

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
    with atomic_path(path) as target:
        tiff.imwrite(target, values, photometric="minisblack", compression="zlib", predictor=True)


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
        series = file.series[0]
        if math.prod(series.shape) > 4 * _most_pixels():  # as much memory as RGBA bytes take
            raise _too_large(path, math.prod(series.shape))
        if file.pages[0].colormap is not None:
            return Picture(_read_with_pillow(path))
        try:
            values, axes = series.asarray(), series.axes
        except ValueError as error:
            if "imagecodecs" not in str(error):
                raise
            return Picture(_read_with_pillow(path))  # a packing that only Pillow knows
    keep = [i for i, size in enumerate(values.shape) if size > 1 or axes[i] in "YX"]
    axes = "".join(axes[i] for i in keep)
    values = values.reshape([values.shape[i] for i in keep])
    channels = [i for i, axis in enumerate(axes) if axis in "SC"]
    return Picture(values, channels[0] if channels else None)
