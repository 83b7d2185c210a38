"""Labels of a picture at one size, with the results kept for the next request.

Regions come from a hierarchy that is computed once; a cut of it is a table from its finest regions
(pieces) to labels. The page already has the pieces, so the reply to the Detail slider is only that
small table. Clusters are computed again for each bandwidth.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray

from meanshiftpp.apps.studio.session import Request
from meanshiftpp.apps.studio.wire import narrow, sampling_step
from meanshiftpp.core.recipe import Recipe
from meanshiftpp.errors import InvalidInputError
from meanshiftpp.images import draw, picture
from meanshiftpp.images import pixels as _pixels
from meanshiftpp.images import segmentation as image

__all__ = ["EXACT_PIXELS", "PREVIEW_PIXELS", "Pieces", "Settings", "SizedImage"]

PREVIEW_PIXELS = 400_000  # size of the preview during a drag
EXACT_PIXELS = 2_000_000  # up to this size a drag cuts the hierarchy of the full picture
MAX_IDS = 16_000_000  # pixels of the label image on the page
_FINEST = 1e12  # a detail at which no pieces are merged
_PIECES_NUMBERS = count(1)


@dataclass(frozen=True)
class Settings:
    """The parameters of `segment` in a request; sizes refer to the full picture."""

    regions: bool = True
    bandwidth: float | None = None
    space: str | None = "lab"
    spatial: float | None = None
    detail: float = 1.0
    min_size: int | None = None
    value_range: str | None = None  # of the picture; the page has no control for it

    @classmethod
    def from_request(cls, request: Request) -> Settings:
        """Read and check the settings of a request."""
        regions = bool(request.get("regions", True))
        space = request.get("space", "lab")
        if space not in (*_pixels.SPACES, None):
            expected = f"one of {', '.join(_pixels.SPACES)}"
            raise InvalidInputError.for_parameter("space", expected, space)
        return cls(
            regions,
            _positive_number(request, "bandwidth"),
            space,
            _positive_number(request, "spatial"),
            (_positive_number(request, "detail") or 1.0) if regions else 1.0,
            (int(_positive_number(request, "min_size") or 0) or None) if regions else None,
        )

    def hierarchy_key(self, n_pixels: int) -> tuple[Any, ...]:
        """Return the settings that the hierarchy of a picture of so many pixels depends on."""
        return self.bandwidth, self.space, self.spatial, image.piece_size(n_pixels, self.min_size)

    def arguments(self) -> dict[str, Any]:
        """Return the arguments of `segment` that differ from its defaults."""
        defaults = vars(Settings())
        return {name: value for name, value in vars(self).items() if value != defaults[name]}

    def scaled(self, scale: float) -> Settings:
        """Return the settings for a picture of `scale` times the width and height."""
        spatial = None if self.spatial is None else max(self.spatial * scale, 1.0)
        size = None if self.min_size is None else max(1, round(self.min_size * scale * scale))
        return replace(self, spatial=spatial, min_size=size)


def _positive_number(request: Request, name: str) -> float | None:
    value = request.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < math.inf:
        raise InvalidInputError.for_parameter(name, "positive and finite", value)
    return float(value)


class Pieces:
    """The finest regions of a picture, or its clusters. A result is a table from them to labels.

    Pieces are numbered from 1; 0 stands for masked pixels.
    """

    def __init__(
        self, labels: NDArray[np.int32], channels: list[NDArray[np.uint8]], shape: tuple[int, ...]
    ) -> None:
        self.number, self.shape = next(_PIECES_NUMBERS), shape
        self.ids = (labels + 1).ravel().astype(np.intp)
        self.sizes = np.bincount(self.ids)
        self.sums = np.stack([np.bincount(self.ids, channel) for channel in channels])

    def __len__(self) -> int:
        return len(self.sizes)

    def label_stats(self, table: NDArray[np.intp]) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
        """Return the number of pixels and the mean colour of each label in a table."""
        n = int(table.max()) + 1
        counts = np.bincount(table, self.sizes, n)
        sums = np.stack([np.bincount(table, channel, n) for channel in self.sums], axis=1)
        colours = np.rint(sums / np.maximum(counts, 1)[:, None])
        return counts.astype(np.int64), colours.astype(np.uint8)

    def one_pixel_each(self) -> NDArray[np.intp]:
        """Return the index of one pixel of each piece."""
        index = np.zeros(len(self), np.intp)
        index[self.ids] = np.arange(len(self.ids))
        return index

    def page_ids(self) -> NDArray[Any]:
        """Return the ids as an image of at most about `MAX_IDS` pixels."""
        step = sampling_step(len(self.ids), MAX_IDS)
        return narrow(self.ids.reshape(self.shape)[::step, ::step], len(self) - 1)


class SizedImage:
    """A picture at one size, with the last hierarchy and features that were computed from it."""

    def __init__(self, photo: picture.Picture, scale: float) -> None:
        self.values, self.scale = photo.values, scale
        self._layout: dict[str, Any] = {"channel_axis": photo.channel_axis, "mask": photo.mask}
        limits = draw.limits(photo.values, photo.channel_axis, mask=photo.mask)
        self.rgb = draw.as_rgb(photo.values, photo.channel_axis, limits=limits)
        self.shape = self.rgb.shape[:2]
        self._channels = [np.ascontiguousarray(self.rgb[..., c]).ravel() for c in range(3)]
        # Waking other threads takes longer than a preview, especially on a busy machine.
        self._n_threads = 1 if self.n_pixels <= PREVIEW_PIXELS else None
        self._tree: tuple[Any, image.Hierarchy, Pieces, NDArray[np.intp]] | None = None
        self._pixels: tuple[str | None, _pixels.Pixels] | None = None

    @property
    def n_pixels(self) -> int:
        """The number of pixels."""
        return math.prod(self.shape)

    def has_hierarchy(self, settings: Settings) -> bool:
        """Return whether the result is a cut of the current hierarchy."""
        current = self._tree
        key = settings.scaled(self.scale).hierarchy_key(self.n_pixels)
        return settings.regions and current is not None and current[0] == key

    def result(self, settings: Settings) -> tuple[Pieces, NDArray[np.intp]]:
        """Return the pieces and the label of each: 0 for masked pixels, then from 1."""
        scaled = settings.scaled(self.scale)
        if not settings.regions:
            pieces = Pieces(self._clusters(scaled), self._channels, self.shape)
            return pieces, np.arange(len(pieces))
        key = scaled.hierarchy_key(self.n_pixels)
        current = self._tree  # a local reference, because another thread may replace the attribute
        if current is None or current[0] != key:
            current = self._tree = None  # free the old hierarchy first: they are large
            tree = image.hierarchy(
                self.values,
                scaled.bandwidth,
                space=scaled.space,
                spatial=scaled.spatial,
                min_size=scaled.min_size,
                value_range=scaled.value_range,
                n_threads=self._n_threads,
                **self._layout,
            )
            pieces = Pieces(tree.cut(_FINEST), self._channels, self.shape)
            current = key, tree, pieces, pieces.one_pixel_each()
            self._tree = current
        _, tree, pieces, pixel_of_piece = current
        labels = tree.cut(scaled.detail, min_size=scaled.min_size).ravel()[pixel_of_piece] + 1
        if pieces.sizes[0] == 0:
            labels[0] = 0
        return pieces, labels.astype(np.intp)

    def _clusters(self, scaled: Settings) -> NDArray[np.int32]:
        if (
            scaled.bandwidth is not None
            and scaled.spatial is None
            and self.n_pixels <= EXACT_PIXELS
        ):
            pixels = self._features(scaled.space, scaled.value_range)
            if pixels.mask is None:  # the same steps as `segment`, but the features are kept
                recipe = Recipe(scaled.bandwidth).checked(pixels.features.shape[1])
                return recipe.fit(pixels.features, n_threads=self._n_threads)[1]
        options = {**scaled.arguments(), **self._layout}
        return image.segment(self.values, n_threads=self._n_threads, **options)

    def _features(self, space: str | None, value_range: str | None) -> _pixels.Pixels:
        if self._pixels is None or self._pixels[0] != space:
            options = {**self._layout, "value_range": value_range}
            pixels = _pixels.read_pixels(self.values, space, n_threads=None, **options)
            self._pixels = space, pixels
        return self._pixels[1]
