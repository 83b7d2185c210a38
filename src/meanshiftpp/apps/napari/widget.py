"""The controls of the plugin for napari, which are those of the studio's image view.

The labels layer follows the sliders. It has the name of the image layer and "regions".
"""

from __future__ import annotations

from time import perf_counter
from typing import Any

from meanshiftpp._support.extras import need
from meanshiftpp._support.text import pluralize
from meanshiftpp.apps.napari.layers import CONTRAST_LIMITS, LayerSegmenter, Settings, placement
from meanshiftpp.errors import MeanShiftPPError, MissingExtraError
from meanshiftpp.images.pixels import SPACES

AUTOMATIC_PIXELS = 4_000_000  # larger layers are segmented when the button is pressed


def segment_widget(napari_viewer: Any) -> Any:
    """Return the container of the controls, for napari's menu of plugins."""
    try:
        return SegmentControls(napari_viewer).container
    except ImportError as error:
        if type(error).__name__ != "QtBindingsNotFoundError":
            raise
        message = 'this needs Qt: pip install "meanshiftpp[napari]" PyQt6'
        raise MissingExtraError(message) from error


class SegmentControls:
    """The controls, and the labels layer that they change."""

    def __init__(self, viewer: Any) -> None:
        widgets = need("magicgui.widgets", "napari")
        self._viewer, self._segmenter = viewer, LayerSegmenter()
        self.layer = widgets.ComboBox(label="Image", choices=self._image_layers, nullable=False)
        self.controls: dict[str, Any] = {
            "regions": widgets.CheckBox(value=True, text="Connected regions"),
            "detail": widgets.FloatSlider(label="Detail", min=0.1, max=30, value=1),
            "bandwidth": widgets.FloatSlider(label="Bandwidth (0: default)", max=40, value=0),
            "spatial": widgets.FloatSlider(label="Spatial cell size (0: none)", max=100, value=0),
            "min_size": widgets.SpinBox(label="Smallest region", max=10**7, value=0),
            "space": widgets.ComboBox(label="Colour space", choices=[*SPACES, "none"], value="lab"),
            "value_range": widgets.ComboBox(
                label="Black and white",
                choices=["default", "image", "dtype", CONTRAST_LIMITS],
                value="default",
            ),
        }
        self.button = widgets.PushButton(text="Segment")
        self.status = widgets.Label(label="Found", value="")
        parts = [self.layer, *self.controls.values(), self.button, self.status]
        self.container = widgets.Container(widgets=parts)
        self.container.segment_controls = self  # keeps the callbacks alive with the container
        self._connect()
        self._update_layers()

    @property
    def settings(self) -> Settings:
        """The values of the controls."""
        return Settings(**{name: control.value for name, control in self.controls.items()})

    def run(self) -> None:
        """Segment the chosen layer, and show the result or the error."""
        layer = self.layer.value
        if layer is None:
            self.status.value = "Expected an image layer, found none: open an image first"
            return
        start = perf_counter()
        try:
            labels = self._segmenter.labels(layer, self.settings)
        except (MeanShiftPPError, MemoryError) as error:
            self.status.value = str(error) or "out of memory"
            return
        self._show(layer, labels)
        noun = "region" if self.controls["regions"].value else "cluster"
        found = pluralize(int(labels.max()), noun)
        self.status.value = f"{found}, {(perf_counter() - start) * 1e3:.0f} ms"

    def _show(self, layer: Any, labels: Any) -> None:
        name = f"{layer.name} regions"
        if name in self._viewer.layers:
            self._viewer.layers[name].data = labels
        else:
            self._viewer.add_labels(labels, name=name, **placement(layer))

    def _connect(self) -> None:
        for control in self.controls.values():
            control.changed.connect(self._follow)
        self.button.changed.connect(self.run)
        for event in ("inserted", "removed"):
            getattr(self._viewer.layers.events, event).connect(self._update_layers)

    def _follow(self) -> None:
        """Update the result at once, unless the layer is large."""
        layer = self.layer.value
        if layer is not None and layer.data.size <= AUTOMATIC_PIXELS:
            self.run()

    def _update_layers(self, event: Any = None) -> None:
        self.layer.reset_choices()
        if self.layer.value is None and self.layer.choices:  # not every toolkit chooses the first
            self.layer.value = self.layer.choices[0]

    def _image_layers(self, _: Any = None) -> list[tuple[str, Any]]:
        layers = [each for each in self._viewer.layers if type(each).__name__ == "Image"]
        return [(each.name, each) for each in layers]
