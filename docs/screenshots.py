"""Take the screenshots of the studio for the pages: `python docs/screenshots.py`.

The script starts a real studio and a real Chromium, and opens each view with its sample. Use
`--photo PHOTO --table TABLE` for other files.
"""

import argparse
import io
import os
import shutil
import subprocess
import sys
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page, sync_playwright

OUT = Path(__file__).parent / "images"
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-sync"]
BALL = {"x": 24, "y": 98, "w": 48, "h": 54}  # in the first frame of the clip
POST = {"x": 146, "y": 30, "w": 44, "h": 60}


def slide(page: Page, slider: str, value: int) -> None:
    """Move a slider and release it."""
    page.locator(slider).fill(str(value))
    page.locator(slider).dispatch_event("change")
    page.wait_for_timeout(1500)


def image(page: Page, photo: Path | None) -> None:
    """Show regions in 24 colours next to the photograph."""
    if photo:
        page.set_input_files("#file", photo)
    else:
        page.click("[data-sample=coffee]")
    page.wait_for_selector('#image[data-full="true"]')
    slide(page, "#detail", 112)
    page.fill("#n-colours", "24")
    page.press("#n-colours", "Tab")
    page.wait_for_timeout(1500)
    page.check("input[name=look][value=regions]", force=True)
    page.focus("#image .divider")
    for _ in range(9):
        page.keyboard.press("ArrowRight")
    page.evaluate("() => document.activeElement.blur()")


def table(page: Page, file: Path | None) -> None:
    """Show clusters, modes, the grid and the tree."""
    page.click("#tab-table")
    if file:
        page.set_input_files("#file", file)
    else:
        page.click("[data-sample=million]")
    page.wait_for_selector("#table[data-tree=complete]")
    page.wait_for_timeout(1000)
    page.wait_for_selector("#busy:not(.on)", state="attached")
    page.check("#show-grid")


def palette(page: Page, photo: Path | None) -> None:
    """Show the palette of a picture in eight colours."""
    image(page, photo)
    page.check("input[name=look][value=palette]", force=True)
    page.fill("#n-colours", "8")
    page.press("#n-colours", "Tab")
    page.wait_for_timeout(1500)


def draw_window(page: Page, window: dict[str, int]) -> None:
    """Enter a window and wait for its colours."""
    for name, value in window.items():
        page.fill(f"#win-{name}", str(value))
    page.press("#win-h", "Tab")
    page.wait_for_selector("#video[data-colours]")


def video(page: Page) -> None:
    """Follow the ball past the post, with the post as a second object, and go back a few frames."""
    page.click("#tab-video")
    page.click("[data-sample=occlusion]")
    page.wait_for_selector('#video[data-frame="0"]')
    draw_window(page, BALL)
    page.check("#video .swatches input >> nth=0")
    page.click("#add-object")
    draw_window(page, POST)
    page.click("#video .objects button >> nth=0")
    page.click("#play")
    page.wait_for_selector('#video[data-frame="119"]')
    page.locator("#frame").fill("62")
    page.wait_for_selector('#video[data-frame="62"]')


def save_screenshot(page: Page, name: str) -> None:
    """Save a screenshot of the page to docs/images."""
    page.mouse.move(0, 0)
    page.wait_for_timeout(300)
    shot = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
    shot.save(OUT / f"studio-{name}.jpg", quality=82, subsampling=0, optimize=True)


def main() -> None:
    """Start a studio and take all screenshots."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--photo", type=Path)
    parser.add_argument("--table", type=Path)
    parser.add_argument("--size", default="1440x985")  # high enough to show all code
    options = parser.parse_args()
    width, height = map(int, options.size.split("x"))
    command = [sys.executable, "-m", "meanshiftpp", "studio", "--no-open"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        url = process.stdout.readline().strip()
        with sync_playwright() as engine:
            chromium = os.environ.get("CHROMIUM") or shutil.which("chromium")
            browser = engine.chromium.launch(executable_path=chromium, args=FLAGS)
            for name, scheme, show in (
                ("image", "light", lambda page: image(page, options.photo)),
                ("palette", "light", lambda page: palette(page, options.photo)),
                ("table", "light", lambda page: table(page, options.table)),
                ("video", "dark", video),
            ):
                size = {"width": width, "height": height}
                page = browser.new_page(viewport=size, color_scheme=scheme)
                page.set_default_timeout(120_000)
                page.goto(url)
                page.wait_for_selector("body[data-ready]")
                show(page)
                save_screenshot(page, name)
                page.close()
            browser.close()
    finally:
        process.terminate()
        process.wait(20)


if __name__ == "__main__":
    main()
