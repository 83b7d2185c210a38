"""Exports of the image view: what is seen, label images, drawings and palettes."""

import io
import json

import numpy as np
import pytest
from PIL import Image
from tests.apps.studio.sample_files import png
from tests.apps.studio.studio_server import running
from tests.images.svg import read_svg

from meanshiftpp import draw, segment

SETTING = {"view": "image", "detail": 2.0}


@pytest.fixture(scope="module")
def truth(photo):
    return segment(photo, detail=2.0)


@pytest.fixture
def image_tab(tab, photo):
    tab.open("my.photo.png", png(photo))
    return tab


def export(tab, kind, **request):
    """Return the name and the content of an export."""
    status, headers, data = tab.export(kind=kind, **{**SETTING, **request})
    assert status == 200, data
    return headers["content-disposition"].rpartition("''")[2], data


def pixels(data):
    return np.asarray(Image.open(io.BytesIO(data)))


def means(photo, labels):
    return np.rint(draw.region_colors(photo, labels)).astype(np.uint8)


def test_the_picture_is_exported_as_shown(image_tab, photo, truth):
    name, data = export(image_tab, "picture", look="regions")
    assert name == "my.photo-regions.png"
    np.testing.assert_array_equal(pixels(data), means(photo, truth)[truth])
    name, data = export(image_tab, "picture", look="overlay")
    assert name == "my.photo-overlay.png"
    np.testing.assert_array_equal(pixels(data), draw.overlay(photo, truth))
    _, data = export(image_tab, "picture", look="outline")
    line = pixels(data).max(axis=2) < 128
    np.testing.assert_array_equal(line, draw.outlines(truth))
    name, data = export(image_tab, "picture", look="palette")
    assert name == "my.photo-palette.png"
    assert pixels(data).shape[1] == 1200


@pytest.mark.parametrize("look", ["overlay", "regions", "outline"])
def test_a_selection_is_exported_as_shown(image_tab, truth, look):
    _, plain = export(image_tab, "picture", look=look)
    _, data = export(image_tab, "picture", look=look, selected=[0])
    inside = (truth == 0) & ~draw.outlines(truth, 5)
    outside = (truth != 0) & ~draw.outlines(truth, 5)
    changed = (pixels(plain) != pixels(data)).any(axis=2)
    part = inside if look == "outline" else outside
    assert changed[part].mean() > 0.99
    assert not changed[~part & (inside | outside)].any()


def test_coloured_labels_differ_and_masked_pixels_are_transparent(tab, photo):
    alpha = np.full(photo.shape[:2], 255)
    alpha[:, :50] = 0
    tab.open("photo.png", png(np.dstack([photo, alpha])))
    labels = segment(np.dstack([photo, alpha]).astype(np.uint8), detail=2.0)
    _, data = export(tab, "colours")
    drawn = pixels(data)
    np.testing.assert_array_equal(drawn[..., 3] == 255, labels >= 0)
    np.testing.assert_array_equal(
        drawn[labels >= 0, :3], draw.label_colors(99)[labels[labels >= 0]]
    )


def test_regions_are_exported_as_paths(image_tab, photo, truth, tmp_path):
    name, data = export(image_tab, "svg")
    assert name == "my.photo-regions.svg"
    (tmp_path / "regions.svg").write_bytes(data)
    labels, colours = read_svg(tmp_path / "regions.svg", truth.shape)
    np.testing.assert_array_equal(labels, truth)
    assert colours[0] == f"#{means(photo, truth)[0].tobytes().hex()}"


def test_colours_merge_to_the_number_that_is_asked_for(image_tab, photo):
    tab = image_tab
    _, data = export(tab, "json", n_colors=5)
    palette = json.loads(data)
    assert len(palette) == 5
    assert sum(each["share"] for each in palette) == pytest.approx(1)
    _, data = export(tab, "picture", look="regions", n_colors=5)
    found, counts = np.unique(pixels(data).reshape(-1, 3), axis=0, return_counts=True)
    assert {tuple(each["rgb"]) for each in palette} == set(map(tuple, found.tolist()))
    assert sorted(each["share"] for each in palette) == sorted(counts / counts.sum())
    tab.send(action="show", id=1, final=True, n_colors=5, **SETTING)
    reply = tab.receive("labels")
    assert reply["palette"].tolist() == [each["rgb"] for each in palette]
    assert len(np.unique(reply["colours"][1:], axis=0)) == 5
    for kind, start in (("ase", b"ASEF"), ("gpl", b"GIMP Palette"), ("css", b":root {")):
        name, data = export(tab, kind, n_colors=5)
        assert name == f"my.photo-palette.{kind}"
        assert data.startswith(start)


def test_a_bad_number_of_colours_is_reported_under_its_label(image_tab):
    status, _, body = image_tab.export(kind="json", n_colors=0, **SETTING)
    assert status == 422
    message = json.loads(body)["message"]
    assert message == "Number of colours must be a whole number from 1 to 256, got 0"
    status, _, body = image_tab.export(kind="gif", **SETTING)
    assert "choose one of picture, svg, png" in json.loads(body)["message"]


def test_the_name_of_an_export_has_no_folders(photo, tmp_path):
    (tmp_path / "mine").mkdir()
    path = tmp_path / "mine" / "photo.png"
    path.write_bytes(png(photo))
    with running(tmp_path, str(path)) as studio, studio.tab() as tab:
        tab.send(action="open", startup=True, view="image")
        tab.receive("opened")
        assert export(tab, "png")[0] == "photo-labels.png"
