"""The web page as a whole: its size, its accessibility, and the parts that it leaves out."""

import pytest
from tests.apps.studio.test_accessibility import AXE, serious
from tests.web.conftest import WEB

MAX_BYTES = 1_500_000


def test_the_page_is_small(address):
    assert sum(path.stat().st_size for path in WEB.rglob("*") if path.is_file()) <= MAX_BYTES


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
    for part in ("#tab-video", "#table .tree", "[data-export=svg]", "[for=n-colours]"):
        assert not page.locator(part).is_visible()
    page.click("#tab-image")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    assert page.locator("#tab-image").get_attribute("aria-selected") == "true"
