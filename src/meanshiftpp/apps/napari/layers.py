"""Compute the labels of an image layer, and keep its hierarchy while only the cut changes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from meanshiftpp.errors import InvalidInputError
from meanshiftpp.images.levels import ValueRange
from meanshiftpp.images.segmentation import Hierarchy, hierarchy, piece_size, segment

CONTRAST_LIMITS = "contrast limits"
_PLACEMENT = ("scale", "translate", "rotate", "shear", "affine", "units")


@dataclass(frozen=True)
class Settings:
    """The controls of the widget; 0 stands for the default of `segment`."""

    regions: bool = True
    detail: float = 1.0
    bandwidth: float = 0.0
    spatial: float = 0.0
    min_size: int = 0
    space: str = "lab"
    value_range: str = "default"  # or "image", "dtype", "contrast limits"

    def options(self, layer: Any) -> dict[str, Any]:
        """Return the arguments of `segment` and `hierarchy` for a layer."""
        return {
            "bandwidth": self.bandwidth or None,
            "space": None if self.space == "none" else self.space,
            "spatial": self.spatial or None,
            "channel_axis": -1 if layer.rgb else None,
            "value_range": self._value_range(layer),
            "start_label": 1,
        }

    def _value_range(self, layer: Any) -> ValueRange:
        if self.value_range == CONTRAST_LIMITS and not layer.rgb:
            low, high = layer.contrast_limits
            return float(low), float(high)
        return self.value_range if self.value_range in ("image", "dtype") else None


class LayerSegmenter:
    """Segment layers, with the hierarchy of the last one kept for the next cut."""

    def __init__(self) -> None:
        self._data: Any = None
        self._key: tuple[Any, ...] = ()
        self._tree: Hierarchy | None = None

    def labels(self, layer: Any, settings: Settings) -> NDArray[np.int32]:
        """Return labels from 1 in the shape of the layer, without its colours."""
        image = _values(layer)
        options, size = settings.options(layer), settings.min_size or None
        if not settings.regions:
            return segment(image, regions=False, **options)
        shape = image.shape[:-1] if layer.rgb else image.shape
        key = *options.items(), piece_size(shape[-2] * shape[-1], size)
        if self._tree is None or self._data is not layer.data or self._key != key:
            self._tree = None  # free the old hierarchy first: they are large
            self._tree = hierarchy(image, min_size=size, **options)
            self._data, self._key = layer.data, key
        return self._tree.cut(settings.detail, min_size=size)


def placement(layer: Any) -> dict[str, Any]:
    """Return the arguments that place a labels layer upon an image layer of the same data."""
    found = {name: getattr(layer, name, None) for name in _PLACEMENT}
    return {name: value for name, value in found.items() if value is not None}


def _values(layer: Any) -> NDArray[Any]:
    if getattr(layer, "multiscale", False):
        raise InvalidInputError(
            "expected a layer of one resolution, got a multiscale one; add one level as a layer"
        )
    image = np.asarray(layer.data)
    dimensions = image.ndim - 1 if layer.rgb else image.ndim
    if dimensions not in (2, 3):
        raise InvalidInputError(
            f"expected a layer of two or three dimensions, got {dimensions}; "
            "split the layer into images or volumes"
        )
    return image
