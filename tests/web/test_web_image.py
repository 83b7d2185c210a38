"""The image view of the web page: labels equal those of the native kernel."""

import numpy as np
import pytest
from tests.apps.studio.browser_page import download, drop, read_labels, wait_for_result
from tests.web.conftest import WEB

from meanshiftpp import picture, segment
from meanshiftpp.images.segmentation import piece_size


def exported_labels(page, folder):
    """Wait for the reply to the last request, at full size, and export its labels."""
    wait_for_result(page)
    return read_labels(download(page, "[data-export=png]"), ".png", folder).astype(np.int32) - 1


def set_slider(page, selector, step):
    page.locator(selector).fill(str(step))
    return page.locator(selector).evaluate(
        "input => input.parentElement.querySelector('output').value"
    )


def test_regions_of_every_colour_space(page, photo, tmp_path):
    path, pixels = photo
    drop(page, path)
    for space in ("lab", "rgb", "luv", "hsv"):
        page.select_option("#space", space)
        labels = exported_labels(page, tmp_path)
        assert np.array_equal(labels, segment(pixels, space=space))
    assert page.locator("#image .count").inner_text() == f"{labels.max() + 1} regions"


@pytest.mark.filterwarnings("ignore:the search still moved points")
def test_clusters_of_every_colour_space(page, photo, tmp_path):
    path, pixels = photo
    drop(page, path)
    page.check("input[value=clusters]")
    for space, bandwidth in (("lab", 8), ("rgb", 24), ("luv", 10), ("hsv", 8)):
        page.select_option("#space", space)
        labels = exported_labels(page, tmp_path)
        assert np.array_equal(labels, segment(pixels, bandwidth, space=space, regions=False))


def test_controls_are_parameters_of_segment(page, photo, tmp_path):
    path, pixels = photo
    drop(page, path)
    options = {}
    for selector, name, step in (
        ("#detail", "detail", 150),
        ("#spatial", "spatial", 90),
        ("#min-size", "min_size", 80),
    ):
        value = set_slider(page, selector, step).removesuffix(" px").replace(",", "")
        options[name] = int(value) if name == "min_size" else float(value)
        assert np.array_equal(exported_labels(page, tmp_path), segment(pixels, **options))


def test_transparent_pixels_are_masked(page, photo, tmp_path):
    _, pixels = photo
    alpha = np.full(pixels.shape[:2], 255, np.uint8)
    alpha[40:90, 50:120] = 0
    rgba = np.dstack([pixels, alpha])
    picture.write(tmp_path / "hole.png", rgba)
    drop(page, tmp_path / "hole.png")
    labels = exported_labels(page, tmp_path)
    assert (labels[40:90, 50:120] == -1).all()
    assert np.array_equal(labels, segment(rgba))


def test_a_photograph_has_a_preview_and_a_result_at_full_size(page, tmp_path):
    sample = picture.read(WEB / "samples/coffee.jpg").values
    large = sample.repeat(2, 0).repeat(2, 1)
    picture.write(tmp_path / "large.png", large)
    drop(page, tmp_path / "large.png")
    assert np.array_equal(exported_labels(page, tmp_path), segment(large))
    assert page.locator("#status").inner_text().endswith("800 pixels")
    min_size = int(set_slider(page, "#min-size", 60).removesuffix(" px"))
    assert min_size < piece_size(large[..., 0].size, None)  # it changes the hierarchy
    assert np.array_equal(exported_labels(page, tmp_path), segment(large, min_size=min_size))


def test_the_sample_is_read_as_by_the_package(page, tmp_path):
    page.click("[data-sample='coffee.jpg']")
    labels = exported_labels(page, tmp_path)
    assert np.array_equal(labels, segment(picture.read(WEB / "samples/coffee.jpg").values))


@pytest.mark.parametrize("name", ["notes.png", "clip.mp4"])
def test_an_unreadable_file_is_reported(page, tmp_path, name):
    (tmp_path / name).write_text("not a picture")
    drop(page, tmp_path / name)
    page.wait_for_function("document.querySelector('#error').textContent")
    assert name.split(".")[1] in page.locator("#error").inner_text()
