"""Chromium, and the steps of a user on the page: drop, drag, export, run the code."""

import base64
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from meanshiftpp import picture

NAMES = ("chromium", "chromium-browser", "google-chrome")
BROWSER = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
FLAGS = [
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
]
TIMEOUT = 60_000  # ms; generous, because the machine may be busy


@contextmanager
def launched_browser() -> Iterator:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as engine:
        browser = engine.chromium.launch(executable_path=BROWSER, args=FLAGS)
        yield browser
        browser.close()


@contextmanager
def watched_page(browser, address: str, may_send) -> Iterator:
    """Open a page that must not raise an error, nor send a request that `may_send` denies."""
    page = browser.new_page(viewport={"width": 1280, "height": 720})
    page.set_default_timeout(TIMEOUT)
    problems: list[str] = []
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("request", lambda r: may_send(r) or problems.append(f"{r.method} {r.url}"))
    page.goto(address)
    page.wait_for_selector("body[data-ready]")
    yield page
    page.close()
    assert problems == []


def drop(page, path: Path) -> None:
    """Drop a file on the page, as from a file manager, and wait until it is open or has failed."""
    data = base64.b64encode(path.read_bytes()).decode()
    transfer = page.evaluate_handle(
        """([name, data]) => {
            const bytes = Uint8Array.from(atob(data), (c) => c.charCodeAt(0));
            const transfer = new DataTransfer();
            transfer.items.add(new File([bytes], name));
            return transfer;
        }""",
        [path.name, data],
    )
    page.dispatch_event("body", "drop", {"dataTransfer": transfer})
    page.wait_for_selector("body:not([data-opening])")


def drag(page, selector: str, *fractions: float) -> None:
    """Press on a slider and move to each fraction of its length, without releasing it."""
    box = page.locator(selector).bounding_box()
    y = box["y"] + box["height"] / 2
    for number, fraction in enumerate(fractions):
        page.mouse.move(box["x"] + 8 + fraction * (box["width"] - 16), y, steps=4 if number else 1)
        if not number:
            page.mouse.down()


def download(page, selector: str) -> bytes:
    """Press an export button and return the downloaded file."""
    with page.expect_download(timeout=TIMEOUT) as started:
        page.click(selector)
    return Path(started.value.path()).read_bytes()


def read_labels(data: bytes, suffix: str, folder: Path) -> np.ndarray:
    path = folder / f"exported{suffix}"
    path.write_bytes(data)
    return picture.read(path).values


def run_python(page, view: str, folder: Path) -> dict:
    """Run the Python code of the page in the folder of the file; return its variables."""
    code = page.locator(f"#{view} .code pre").text_content()
    names: dict = {}
    before = Path.cwd()
    os.chdir(folder)
    try:
        exec(code, names)
    finally:
        os.chdir(before)
    return names


def run_command(page, view: str, folder: Path) -> None:
    """Run the command line of the page in the folder of the file."""
    page.click(f"#{view} .code [role=tab] >> nth=1")
    command = shlex.split(page.locator(f"#{view} .code pre").text_content())
    assert command[0] == "meanshiftpp"
    subprocess.run([sys.executable, "-m", *command], cwd=folder, check=True, capture_output=True)


def open_sample_clip(page, name: str, *window: int) -> None:
    """Open a sample clip in the video view and type the window x, y, w, h of its object."""
    page.click(f"[data-sample={name}]")
    page.wait_for_selector('#video[data-frame="0"]')
    for field, value in zip("xywh", window, strict=True):
        page.fill(f"#win-{field}", str(value))
    page.press("#win-h", "Tab")
    page.wait_for_selector("#video[data-colours]")


def expect(target):
    """Return playwright's assertions about a locator, which wait until they hold."""
    from playwright.sync_api import expect as playwright_expect

    playwright_expect.set_options(timeout=TIMEOUT)
    return playwright_expect(target)


def wait_for_answer(page, view: str) -> None:
    """Wait until the image or table view shows its newest request."""
    page.wait_for_function(
        """(view) => { const { requested, answered } = document.querySelector(`#${view}`).dataset;
                       return answered && requested === answered; }""",
        arg=view,
    )


def wait_for_result(page) -> None:
    """Wait until the image view shows its newest request at full size."""
    wait_for_answer(page, "image")
    page.wait_for_selector('#image[data-full="true"]')


def wait_for_tree(page) -> None:
    """Wait until the table view shows its newest request and the complete tree of its points."""
    wait_for_answer(page, "table")
    page.wait_for_selector("#table[data-tree=complete]")
    wait_for_drawing(page)


def wait_for_drawing(page) -> None:
    """Wait until a drawing that the last change of the layout has requested is done."""
    page.evaluate(
        "() => new Promise((done) => requestAnimationFrame(() => "
        "requestAnimationFrame(() => setTimeout(done))))"
    )


def wait_for_value(page, script: str, unlike) -> None:
    """Wait until a script returns another value."""
    page.wait_for_function(f"(unlike) => ({script})() !== unlike", arg=unlike)


def count(page, view="image") -> int:
    """Return the number of regions or clusters on the page."""
    return int(page.get_attribute(f"#{view}", "data-count"))
