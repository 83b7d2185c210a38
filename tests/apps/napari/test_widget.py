"""The plugin for napari: its manifest, its controls, and the layers that it reads and writes."""

from __future__ import annotations

import tomllib
import warnings
from importlib import import_module, resources
from pathlib import Path

import numpy as np
import pytest
from tests.apps.napari.viewer import Image, Labels, Viewer
from tests.images.nuclei import nuclei
from tests.images.scenes import scene

from meanshiftpp import segment
from meanshiftpp.apps.napari.layers import LayerSegmenter, Settings, placement
from meanshiftpp.apps.napari.widget import SegmentControls, segment_widget
from meanshiftpp.errors import InvalidInputError, MissingExtraError

ROOT = Path(__file__).parents[3]


@pytest.fixture(autouse=True)
def toolkit():
    """Use the toolkit of notebooks, which needs no screen."""
    from magicgui.application import use_app

    return use_app("ipynb")


@pytest.fixture
def controls():
    viewer = Viewer()
    viewer.layers.add(Image(nuclei(12, 200)[0], "field", scale=np.array([0.25, 0.25])))
    return SegmentControls(viewer), viewer


def test_the_manifest_is_valid_and_its_command_makes_the_controls():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of pydantic, about npe2
        from npe2 import PluginManifest
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    module, _, file = project["entry-points"]["napari.manifest"]["meanshiftpp"].partition(":")
    manifest = PluginManifest.from_file(resources.files(module) / file)
    assert manifest.name == project["name"]
    (command,) = manifest.contributions.commands
    (widget,) = manifest.contributions.widgets
    assert widget.command == command.id
    assert not manifest.contributions.readers
    module, _, name = command.python_name.partition(":")
    container = getattr(import_module(module), name)(Viewer())
    assert len(container) == 10


def test_a_missing_qt_is_named_with_the_line_that_installs_it(monkeypatch):
    class QtBindingsNotFoundError(ImportError):  # qtpy cannot be imported without Qt
        pass

    def fail(self, viewer):
        raise QtBindingsNotFoundError

    monkeypatch.setattr(SegmentControls, "__init__", fail)
    with pytest.raises(MissingExtraError, match=r'pip install "meanshiftpp\[napari\]" PyQt6'):
        segment_widget(Viewer())


def test_another_failed_import_keeps_its_own_message(monkeypatch):
    def fail(self, viewer):
        raise ImportError("cannot import name 'x'")

    monkeypatch.setattr(SegmentControls, "__init__", fail)
    with pytest.raises(ImportError, match="cannot import name 'x'"):
        segment_widget(Viewer())


def test_the_button_adds_a_labels_layer_in_place(controls):
    widget, viewer = controls
    widget.button.changed.emit(True)
    labels = viewer.layers["field regions"]
    image = viewer.layers["field"]
    assert isinstance(labels, Labels)
    assert np.array_equal(labels.data, segment(image.data, start_label=1))
    assert labels.scale.tolist() == [0.25, 0.25]
    assert widget.status.value.startswith(f"{labels.data.max()} regions, ")


def test_the_labels_follow_the_controls(controls):
    widget, viewer = controls
    image = viewer.layers["field"].data
    options = {"start_label": 1}
    changes = {"detail": 10.0, "min_size": 400, "bandwidth": 5.0, "value_range": "dtype"}
    for name, value in changes.items():
        widget.controls[name].value = value
        options[name] = widget.controls[name].value  # a slider has steps
        assert np.array_equal(viewer.layers["field regions"].data, segment(image, **options))
    assert len(viewer.layers) == 2, "the layer of labels is changed, not added again"
    widget.controls["regions"].value = False
    expected = segment(image, 5.0, regions=False, value_range="dtype", start_label=1)
    assert np.array_equal(viewer.layers["field regions"].data, expected)
    assert widget.status.value.startswith("1 cluster, ")


def test_image_layers_come_and_go(controls):
    widget, viewer = controls
    viewer.layers.add(Image(scene(), "scene", rgb=True))
    assert [each.name for each in widget.layer.choices] == ["field", "scene"]
    widget.layer.value = viewer.layers["scene"]
    widget.run()
    assert np.array_equal(viewer.layers["scene regions"].data, segment(scene(), start_label=1))
    for layer in list(viewer.layers):
        viewer.layers.drop(layer)
    widget.run()
    assert "open an image" in widget.status.value


def test_errors_are_shown_and_leave_the_labels(controls):
    widget, viewer = controls
    widget.run()
    before = viewer.layers["field regions"].data
    viewer.layers["field"].data = np.zeros((2, 2, 2, 5, 5), np.uint16)
    widget.run()
    assert widget.status.value.startswith("expected a layer of two or three dimensions, got 5")
    assert viewer.layers["field regions"].data is before


def test_contrast_limits_are_a_range():
    layer = Image(nuclei(12, 200)[0], "field")
    layer.contrast_limits = [100, 900]
    labels = LayerSegmenter().labels(layer, Settings(value_range="contrast limits"))
    assert np.array_equal(labels, segment(layer.data, value_range=(100, 900), start_label=1))


def test_volumes_and_changed_data_are_segmented_again():
    volume = np.stack([nuclei(4, 100)[0] for _ in range(3)])
    layer, segmenter = Image(volume, "stack"), LayerSegmenter()
    found = segmenter.labels(layer, Settings())
    assert np.array_equal(found, segment(volume, channel_axis=None, start_label=1))
    layer.data = volume[0]
    assert np.array_equal(segmenter.labels(layer, Settings()), segment(volume[0], start_label=1))
    layer.multiscale = True
    with pytest.raises(InvalidInputError, match="multiscale"):
        segmenter.labels(layer, Settings())


def test_labels_lie_upon_their_image():
    layer = Image(np.zeros((4, 5), np.uint16), "a", scale=np.array([2.0, 3.0]))
    assert list(placement(layer)) == ["scale"]
    transform = {"translate": (4.0, 5.0), "rotate": np.eye(2), "shear": (0.5,), "affine": np.eye(3)}
    for name, value in (transform | {"units": ("um", "um")}).items():
        setattr(layer, name, value)
    assert placement(layer) == {"scale": layer.scale, **transform, "units": ("um", "um")}


def test_the_controls_work_with_the_layers_of_napari():
    reason = "DID NOT RUN: napari is not installed; the other tests use a stand-in for its viewer"
    components = pytest.importorskip("napari.components", reason=reason)
    viewer = components.ViewerModel()
    viewer.add_image(nuclei(12, 200)[0], name="field", scale=(0.25, 0.25))
    SegmentControls(viewer).run()
    regions = viewer.layers["field regions"]
    assert regions.data.max() >= 12
    assert tuple(regions.scale) == (0.25, 0.25)
