"""The web page as a whole: its accessibility, missing files, and the parts that it leaves out."""

import pytest
from tests.apps.studio.test_accessibility import AXE, serious


@pytest.mark.skipif(AXE is None, reason="no axe-core: pip install axe-playwright-python")
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious(page, scheme):
    page.emulate_media(color_scheme=scheme)
    page.click("[data-sample='coffee.jpg']")
    page.wait_for_selector("#image[data-full=true]")
    assert serious(page) == []
    page.click("#tab-table")
    page.click("[data-sample='iris.csv']")
    page.wait_for_selector("#table[data-answered]")
    assert serious(page) == []


def test_parts_of_the_installed_studio_are_hidden(page):
    for part in ("#tab-video", "[data-export=svg]", "[for=n-colours]"):
        assert not page.locator(part).is_visible()
    page.click("#tab-image")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    assert page.locator("#tab-image").get_attribute("aria-selected") == "true"


@pytest.mark.parametrize(
    ("missing", "message"),
    [
        ("settings.json", "The kernel did not load (settings.json: 404); reload the page."),
        ("kernel_module.wasm", "The kernel did not load"),
        ("samples/coffee.jpg", "The sample 'coffee.jpg' must be on this server but was not found"),
    ],
)
def test_a_missing_file_is_reported(page, missing, message):
    page.context.route(f"**/{missing}", lambda route: route.fulfill(status=404))
    page.reload()
    page.wait_for_selector("body[data-ready]")
    page.click("[data-sample='coffee.jpg']")
    page.wait_for_function("document.querySelector('#error').textContent")
    assert message in page.locator("#error").inner_text()
    assert not page.locator("#busy").is_visible()
