"""axe-core finds nothing serious in any view, light or dark, with and without a file.

axe-core is a test dependency (`axe-playwright-python` carries it); AXE=path names another copy.
"""

import os
from importlib.util import find_spec
from pathlib import Path

import pytest
from tests.apps.studio.browser_page import BROWSER, TIMEOUT, open_sample_clip

PHONE = {"width": 390, "height": 844}
DESKTOP = {"width": 1280, "height": 720}


def axe_file():
    """Return the path of axe-core, None if it is not installed."""
    spec = find_spec("axe_playwright_python")
    packaged = Path(spec.submodule_search_locations[0]) / "axe.min.js" if spec else None
    return Path(os.environ["AXE"]) if "AXE" in os.environ else packaged


AXE = axe_file()
pytestmark = [
    pytest.mark.skipif(
        BROWSER is None, reason="no Chromium on this machine: the checks with axe-core DID NOT RUN"
    ),
    pytest.mark.skipif(
        AXE is None,
        reason="no axe-core: the checks DID NOT RUN; pip install axe-playwright-python",
    ),
]


def serious(page):
    """Return the serious and critical findings of axe-core, with the elements."""
    page.evaluate(AXE.read_text())
    result = page.evaluate("() => axe.run(document, { resultTypes: ['violations'] })")
    return [
        (each["id"], each["help"], [node["html"][:120] for node in each["nodes"]][:4])
        for each in result["violations"]
        if each["impact"] in ("serious", "critical")
    ]


def open_image(page):
    page.click("[data-sample]:visible >> nth=0")
    page.wait_for_selector('#image[data-full="true"]')
    page.check("input[name=look][value=palette]", force=True)
    yield
    page.check("input[name=look][value=overlay]", force=True)
    page.click("#image .zoom button >> nth=2")
    yield


def open_table(page):
    page.click("#tab-table")
    yield
    page.click("[data-sample=iris]")
    page.wait_for_selector("#table[data-tree=complete]")
    yield


def open_video(page):
    page.click("#tab-video")
    yield
    open_sample_clip(page, "occlusion", 24, 98, 48, 54)
    page.click("#add-object")
    yield


@pytest.mark.parametrize(
    ("size", "scheme"), [(DESKTOP, "light"), (DESKTOP, "dark"), (PHONE, "dark")]
)
def test_axe_finds_nothing_serious(studio, browser, scheme, size):
    page = browser.new_page(viewport=size, color_scheme=scheme)
    page.set_default_timeout(TIMEOUT)
    page.goto(studio.url)
    page.wait_for_selector("body[data-ready]")
    page.set_input_files("#file", {"name": "a.txt", "mimeType": "text/plain", "buffer": b"a"})
    page.wait_for_selector("#error:visible")
    findings = {"empty, with an error": serious(page)}
    for view in (open_image, open_table, open_video):
        for step, _ in enumerate(view(page)):
            findings[f"{view.__name__} {step}"] = serious(page)
            width = page.evaluate("() => document.documentElement.scrollWidth")
            assert width == size["width"]
    page.evaluate("() => document.body.append(document.createElement('img'))")
    assert [each[0] for each in serious(page)] == ["image-alt"]  # axe-core does report problems
    page.close()
    assert {name: found for name, found in findings.items() if found} == {}
