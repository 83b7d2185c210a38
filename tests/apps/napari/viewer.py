"""A viewer with the attributes of napari's that the plugin uses."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
from psygnal import Signal


class Image:
    """An image layer; the plugin recognises it by the name of its class."""

    def __init__(self, data: np.ndarray, name: str, rgb: bool = False, scale: Any = None) -> None:
        self.data, self.name, self.rgb = data, name, rgb
        self.scale = np.ones(2) if scale is None else scale
        self.contrast_limits = [float(data.min()), float(data.max())]


class Labels(SimpleNamespace):
    pass


class Events:
    inserted = Signal(object)
    removed = Signal(object)


class Layers(list):
    def __init__(self) -> None:
        super().__init__()
        self.events = Events()

    def __contains__(self, name: object) -> bool:
        return any(each.name == name for each in self)

    def __getitem__(self, name: Any) -> Any:
        return next(each for each in self if each.name == name)

    def add(self, layer: Any) -> None:
        self.append(layer)
        self.events.inserted.emit(layer)

    def drop(self, layer: Any) -> None:
        self.remove(layer)
        self.events.removed.emit(layer)


class Viewer:
    def __init__(self) -> None:
        self.layers = Layers()

    def add_labels(self, data: np.ndarray, **options: Any) -> None:
        self.layers.add(Labels(data=data, **options))
