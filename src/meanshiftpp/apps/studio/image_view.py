"""The image view: a picture, its regions or clusters, and their exports.

During a drag the reply has preview size and is computed from every k-th pixel: unlike averaging,
this keeps the picture's colours. When the slider is released the reply has full size.
"""

from __future__ import annotations

import math
import shlex
import warnings
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from meanshiftpp._support.extras import need
from meanshiftpp.apps.studio.image_exports import Exporter, LabelColours, number_of_colours
from meanshiftpp.apps.studio.image_labels import (
    EXACT_PIXELS,
    PREVIEW_PIXELS,
    Settings,
    SizedImage,
)
from meanshiftpp.apps.studio.session import Job, Reply, Request, Source
from meanshiftpp.apps.studio.wire import jpeg, narrow, pack, sampling_step
from meanshiftpp.errors import InvalidInputError
from meanshiftpp.images import picture
from meanshiftpp.images import segmentation as image
from meanshiftpp.images.colours import CLUSTER_BANDWIDTH
from meanshiftpp.images.levels import are_unit_floats

__all__ = ["ImageView"]

PHOTO_PIXELS = 4_000_000  # size of the photograph on the page
MAX_PIXELS = 64_000_000  # largest picture that is opened
MAX_SIDE = 65_500  # that of a JPEG file, as which pictures are sent to the page
_PHOTO_QUALITY = {"quality": 92, "subsampling": 0}


class ImageView:
    """One picture, at full size and at preview size."""

    def __init__(self) -> None:
        self._source: Source | None = None
        self._photo: picture.Picture
        self._value_range: str | None
        self._full: SizedImage
        self._preview: SizedImage
        self._answered: tuple[Any, Settings] | None = None  # the last request answered in full

    # -- requests ------------------------------------------------------------------------------

    def open(self, source: Source, job: Job) -> Iterator[Reply]:
        """Read a picture and show it."""
        job.update(description=f"Reading {source.name}")
        _check_size(source)
        photo = picture.read(source.path)
        if max(photo.shape) > MAX_SIDE:
            raise InvalidInputError(
                f"{source.name!r} has a side of {max(photo.shape):,} pixels, more than "
                f"{MAX_SIDE:,}, the studio's limit; use `meanshiftpp segment` for it"
            )
        full = SizedImage(photo, 1.0)
        step = sampling_step(full.n_pixels, PREVIEW_PIXELS)
        preview = full if step == 1 else SizedImage(_every_kth_pixel(photo, step), 1 / step)
        self._source, self._photo, self._answered = source, photo, None
        self._full, self._preview = full, preview
        self._value_range = _value_range(photo)
        height, width = full.shape
        fields = {
            "type": "opened",
            "view": "image",
            "name": source.name,
            "width": width,
            "height": height,
            "defaults": {"clusters": CLUSTER_BANDWIDTH, "regions": image.PIECE_BANDWIDTH},
        }
        reduce = sampling_step(full.n_pixels, PHOTO_PIXELS)
        yield pack(fields, {"photo": jpeg(full.rgb, reduce=reduce, **_PHOTO_QUALITY)})

    def show(self, request: Request, job: Job) -> Iterator[Reply]:
        """Reply at preview size, or at full size if that is as fast."""
        settings = self._settings(request)
        job.update(description="Segmenting")
        sized = self._fast_size(settings, bool(request.get("final")))
        if self._answered != (request.get("id"), settings):
            yield self._labels_reply(sized, settings, request)

    def finish(self, request: Request, job: Job) -> Iterator[Reply]:
        """Reply at full size, unless `show` already has."""
        settings = self._settings(request)
        if self._answered != (request.get("id"), settings) and self._full is not self._preview:
            job.update(description="Segmenting at full size")
            reply = self._labels_reply(self._full, settings, request)
            job.update()
            yield reply

    def export(self, request: Request, job: Job) -> tuple[str, bytes]:
        """Return the name and the content of a picture, a label image, a mask or a palette."""
        settings, source = self._settings(request), self._open_source()
        job.update(description="Exporting")
        pieces, table = self._full.result(settings)
        rgb, place = self._full.rgb, self._photo.place
        return Exporter(source, rgb, place, pieces, table, request).export()

    # -- internals -----------------------------------------------------------------------------

    def _open_source(self) -> Source:
        if self._source is None:
            raise InvalidInputError(
                "no picture is open: drop a file on the page or choose a sample"
            )
        return self._source

    def _settings(self, request: Request) -> Settings:
        """Read the settings of a request for the open picture."""
        self._open_source()
        settings = Settings.from_request(request)
        if self._photo.bands:
            return replace(settings, space=None)
        return replace(settings, value_range=self._value_range)

    def _fast_size(self, settings: Settings, final: bool) -> SizedImage:
        """Return the full picture if only a cut is needed, else the preview."""
        if self._full is self._preview:
            return self._full
        fits = final or self._full.n_pixels <= EXACT_PIXELS
        return self._full if fits and self._full.has_hierarchy(settings) else self._preview

    def _labels_reply(self, sized: SizedImage, settings: Settings, request: Request) -> bytes:
        pieces, table = sized.result(settings)
        if sized is self._full:
            self._answered = request.get("id"), settings
        merged = number_of_colours(request)
        labels = LabelColours(pieces, table, merged)
        arrays = {
            "table": narrow(table, len(labels.counts) - 1),
            "colours": labels.colours,
            "counts": labels.counts.astype(np.uint32),
        }
        if merged is not None:
            arrays["palette"] = labels.palette
            arrays["palette_counts"] = labels.palette_counts.astype(np.uint32)
        if pieces.number not in request.get("cached", []):
            arrays["ids"] = pieces.page_ids()
        fields = {
            "type": "labels",
            "view": "image",
            "request": request.get("id"),
            "full": sized is self._full,
            "pieces": pieces.number,
            "code": _code(self._open_source(), settings, self._photo),
        }
        return pack(fields, arrays)


def _value_range(photo: picture.Picture) -> str | None:
    """Return "image" for floats beyond 0 to 1, which state no black and white; None for others."""
    values, axis = photo.values, photo.channels
    if values.dtype.kind != "f" or (axis is not None and values.shape[axis] not in (1, 3, 4)):
        return None
    values = values if axis is None else np.moveaxis(values, axis, -1)
    visible = values if photo.mask is None else values[photo.mask]
    return None if are_unit_floats(visible) else "image"


def _every_kth_pixel(photo: picture.Picture, step: int) -> picture.Picture:
    """Return every `step`-th pixel of every `step`-th line."""
    index = tuple(
        slice(None, None, None if axis == photo.channels else step)
        for axis in range(photo.values.ndim)
    )
    mask = None if photo.mask is None else np.ascontiguousarray(photo.mask[::step, ::step])
    return replace(photo, values=np.ascontiguousarray(photo.values[index]), mask=mask)


def _check_size(source: Source) -> None:
    """Check the size in the header, because a small file may unpack to a huge picture."""
    if _pixels_in_header(source) > MAX_PIXELS:
        raise InvalidInputError(
            f"{source.name!r} has more than {MAX_PIXELS // 10**6} megapixels, the studio's limit; "
            "use `meanshiftpp segment` for larger pictures"
        )


def _pixels_in_header(source: Source) -> float:
    """Return the number of pixels, infinity for an absurd one, or 0 if it cannot be read."""
    images = need("PIL.Image", "image")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", images.DecompressionBombWarning)
            if source.path.suffix.lower() in picture.TIFF:
                with need("tifffile", "image").TiffFile(source.path) as file:
                    picture.check_pages(file, source.path)
                    return float(math.prod(file.series[0].shape)) / 4  # assumes four channels
            with picture.open_with_pillow(source.path) as file:
                return float(math.prod(file.size))
    except images.DecompressionBombError:
        return math.inf
    except Exception:  # `picture.read` reports the problem, or can read the file after all
        return 0.0


def _code(source: Source, settings: Settings, photo: picture.Picture) -> dict[str, str]:
    """Return Python code and a command line that compute the same labels."""
    options = settings.arguments()
    keywords = dict(options)
    if photo.channel_axis != -1:
        keywords["channel_axis"] = photo.channel_axis
    arguments = "".join(f", {name}={value!r}" for name, value in keywords.items())
    arguments += "" if photo.mask is None else ", mask=photo.mask"
    python = (
        "from meanshiftpp import picture, segment\n\n"
        f"photo = picture.read({source.name!r})\n"
        f"labels = segment(photo.values{arguments})"
    )
    if photo.place and settings.regions:  # the command compares bands of a map by default
        options["space"] = settings.space
    flags = [] if options.pop("regions", True) else ["--clusters"]
    for name, value in options.items():
        option = "range" if name == "value_range" else name.replace("_", "-")
        flags += [f"--{option}", "none" if value is None else str(value)]
    file = shlex.quote(source.name)
    return {
        "python": python,
        "cli": " ".join(["meanshiftpp segment", file, "--labels -o labels.png", *flags]),
    }
