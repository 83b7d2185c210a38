"""The built web page on a plain file server, in Chromium."""

import os
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest
from tests.apps.studio.browser_page import BROWSER, launched_browser, watched_page

from meanshiftpp import picture

WEB = Path(__file__).parents[2] / "build/web"


class QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, *arguments):
        pass


@pytest.fixture(scope="session")
def address():
    """Serve the page; without `make web-test`, a page of an older build may lie there."""
    if not os.environ.get("WEB_TEST"):
        pytest.skip("`make web-test` builds and tests the web page: its tests DID NOT RUN")
    handler = partial(QuietHandler, directory=str(WEB))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


@pytest.fixture(scope="module")  # playwright runs once at a time, and the studio's tests use it too
def browser():
    if BROWSER is None:
        pytest.fail("the tests of the web page need Chromium, but it is not installed")
    with launched_browser() as browser:
        yield browser


@pytest.fixture
def page(address, browser):
    """A page that must not raise an error and must not send anything: it only reads its files."""

    def may_send(request):
        return request.url.startswith((address, "blob:")) and request.method == "GET"

    with watched_page(browser, address, may_send) as page:
        yield page


@pytest.fixture
def photo(tmp_path):
    """Write colour patches with noise as a PNG file, and return its path and pixels."""
    rng = np.random.default_rng(3)
    patches = rng.integers(0, 256, (6, 9, 3)).repeat(30, 0).repeat(30, 1)
    pixels = (patches + rng.normal(0, 9, patches.shape)).clip(0, 255).astype(np.uint8)
    picture.write(tmp_path / "photo.png", pixels)
    return tmp_path / "photo.png", pixels
