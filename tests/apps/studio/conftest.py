"""A running studio, a tab or a page of it, a small picture and a small table."""

import numpy as np
import pytest
from tests.apps.studio.browser_page import launched_browser, watched_page
from tests.apps.studio.studio_server import running


@pytest.fixture(scope="module")
def studio(tmp_path_factory):
    with running(tmp_path_factory.mktemp("studio"), "--max-upload", "8") as studio:
        yield studio


@pytest.fixture
def tab(studio):
    with studio.tab() as tab:
        yield tab


@pytest.fixture(scope="module")
def photo():
    """Colour patches with noise, so that regions and clusters have imperfect borders."""
    rng = np.random.default_rng(3)
    patches = rng.integers(0, 256, (6, 9, 3)).repeat(30, 0).repeat(30, 1)
    return (patches + rng.normal(0, 9, patches.shape)).clip(0, 255).astype(np.uint8)


@pytest.fixture(scope="module")
def browser():
    with launched_browser() as browser:
        yield browser


@pytest.fixture
def page(studio, browser):
    """A page that must not raise an error and must not send a request to another host."""

    def may_send(request):
        return request.url.startswith((studio.url, "blob:"))

    with watched_page(browser, studio.url, may_send) as page:
        yield page


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    rng = np.random.default_rng(0)
    points = rng.normal([[0, 0, 5]] * 400 + [[9, 90, 5]] * 300 + [[0, 90, 50]] * 200, [1, 10, 3])
    path = tmp_path_factory.mktemp("table") / "points.csv"
    rows = (",".join([*map(repr, row), "x"]) for row in points.tolist())
    path.write_text("\n".join(["a,b,c,name", *rows]))
    return path, points
