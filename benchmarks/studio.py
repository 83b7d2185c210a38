"""Measure the studio in a browser: from the event of a drag to the painted picture, and ten tabs.

    python -m benchmarks.studio --photo PHOTO.jpg [--tabs 10] [--seconds 60]

It uses a real server and a real Chromium. The page takes the times itself: from the time stamp of
the input event to a task after the frame in which its effect was painted (an upper bound: a frame
is up to 16 ms). The photograph is resized to 1 and to 12 megapixels; without one, a synthetic
picture is used. The tables of 100,000 and a million points are synthetic.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from time import monotonic

import numpy as np
from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

from benchmarks.common.command_line import command_parser
from meanshiftpp.apps.samples import gaussians
from meanshiftpp.apps.studio.samples import hills

CHROMIUM_FLAGS = [
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    *("--disable-background-timer-throttling", "--disable-renderer-backgrounding"),
    "--disable-backgrounding-occluded-windows",
]
VIEWPORT = {"width": 1280, "height": 720}
MOVES = 60
PAUSE = 24  # ms between two events of a drag, similar to a mouse
MEMORY_INTERVAL = 500  # ms
# Moves a slider with the events that a browser sends during a drag by hand.
DRAG = """async ([id, moves, pause]) => {
    const slider = document.querySelector(id), times = window.studio.timings;
    times.length = 0;
    for (let k = 0; k < moves; k++) {
        slider.value = Math.round(100 + 80 * Math.sin(k / 7));
        slider.dispatchEvent(new Event('input', { bubbles: true }));
        await new Promise((done) => setTimeout(done, pause));
    }
    slider.dispatchEvent(new Event('change', { bubbles: true }));
    await new Promise((done) => setTimeout(done, 1000));
    return times.map((each) => each.ms);
}"""
START_DRAGGING = """() => { window.dragging = setInterval(() => {
    const slider = document.querySelector('#detail');
    window.moved = (window.moved ?? 0) + 1;
    slider.value = Math.round(100 + 80 * Math.sin(window.moved / 7));
    slider.dispatchEvent(new Event('input', { bubbles: true }));
}, 30); }"""
# Returns the error message, the number of moves, and whether the newest request is on the screen.
STOP_DRAGGING = """async () => { clearInterval(window.dragging);
    document.querySelector('#detail').dispatchEvent(new Event('change', { bubbles: true }));
    await new Promise((done) => setTimeout(done, 3000));
    const { requested, answered } = document.querySelector('#image').dataset;
    const error = document.querySelector('#error').textContent;
    const upToDate = requested !== undefined && requested === answered;
    return [error, window.moved, upToDate]; }"""
TREE = "#table .tree svg"
POINTS = (100_000, 1_000_000)
DRAGS = (("regions", "#detail"), ("clusters", "#bandwidth"), ("regions", "#bandwidth"))


def make_photo(source: Path | None, megapixels: float, folder: Path) -> Path:
    """Write a photograph, or the synthetic picture, at a given size."""
    image = Image.open(source).convert("RGB") if source else Image.fromarray(hills())
    scale = (megapixels * 1e6 / (image.width * image.height)) ** 0.5
    image = image.resize((round(image.width * scale), round(image.height * scale)))
    path = folder / f"photo-{megapixels:g}.jpg"
    image.save(path, quality=92)
    return path


def start_server() -> tuple[subprocess.Popen[str], str]:
    """Start the studio; return its process and its address."""
    command = [sys.executable, "-m", "meanshiftpp", "studio", "--no-open"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    return process, process.stdout.readline().strip()


def open_photo(page: Page, url: str, photo: Path) -> None:
    """Open the studio with a photograph and wait for its result at full size."""
    page.set_default_timeout(120_000)
    page.goto(url)
    page.wait_for_selector("body[data-ready]")
    page.set_input_files("#file", photo)
    page.wait_for_selector('#image[data-full="true"]')
    page.wait_for_timeout(500)


def drag(page: Page, kind: str, slider: str, look: str) -> list[float]:
    """Drag a slider and return the milliseconds from event to painted picture."""
    page.check(f"input[name=what][value={kind}]", force=True)
    page.check(f"input[name=look][value={look}]", force=True)
    page.wait_for_timeout(1500)
    page.wait_for_selector('#image[data-full="true"]')
    times: list[float] = page.evaluate(DRAG, [slider, MOVES, PAUSE])
    return times


def measure_latencies(
    browser: Browser, url: str, source: Path | None, folder: Path
) -> list[dict[str, object]]:
    rows = []
    for megapixels in (1, 12):
        page = browser.new_page(viewport=VIEWPORT)
        open_photo(page, url, make_photo(source, megapixels, folder))
        for kind, slider in DRAGS:
            for look in ("overlay", "regions"):
                times = drag(page, kind, slider, look)
                setting = {"find": kind, "slider": slider[1:], "show": look}
                rows.append(report({"megapixels": megapixels, **setting}, times))
        page.close()
    return rows


def report(setting: dict[str, object], times: Sequence[float]) -> dict[str, object]:
    """Print and return a row of the results."""
    row = {
        **setting,
        "painted": len(times),
        "of": MOVES,
        "median_ms": round(statistics.median(times), 1),
        "p95_ms": round(float(np.percentile(times, 95)), 1),
    }
    print(json.dumps(row), flush=True)
    return row


def measure_cuts(browser: Browser, url: str, folder: Path) -> list[dict[str, object]]:
    """Drag the line of a tree up and down."""
    rows = []
    for n in POINTS:
        np.save(folder / f"{n}.npy", gaussians(n)[0])
        page = browser.new_page(viewport=VIEWPORT)
        page.set_default_timeout(120_000)
        page.goto(url)
        page.wait_for_selector("body[data-ready]")
        page.set_input_files("#file", folder / f"{n}.npy")
        page.wait_for_selector("#table[data-tree=complete]")
        page.wait_for_timeout(1000)
        page.wait_for_selector("#busy:not(.on)", state="attached")
        rows.append(report({"points": n, "slider": "tree"}, drag_line(page)))
        page.close()
    return rows


def drag_line(page: Page) -> list[float]:
    """Drag the line of the tree and return the milliseconds from event to painted picture."""
    box = page.locator(TREE).bounding_box()
    assert box is not None
    x, middle = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.evaluate("() => { window.studio.timings.length = 0; }")
    page.mouse.move(x, middle)
    page.mouse.down()
    for k in range(MOVES):
        page.mouse.move(x, middle + 0.48 * box["height"] * np.sin(k / 7))
        page.wait_for_timeout(PAUSE)
    page.mouse.up()
    page.wait_for_timeout(1000)
    times: list[float] = page.evaluate("() => window.studio.timings.map((each) => each.ms)")
    return times


def resident_mib(pid: int) -> float:
    """Return the resident memory of a process in MiB."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def measure_tabs(
    browser: Browser, url: str, photo: Path, tabs: int, seconds: float, pid: int
) -> dict[str, object]:
    """Drag in all tabs for a while; return server memory, errors and tabs that are up to date."""
    pages = [browser.new_page(viewport=VIEWPORT) for _ in range(tabs)]
    errors: list[str] = []
    for page in pages:
        page.on("pageerror", lambda error: errors.append(str(error)))
        open_photo(page, url, photo)
    for page in pages:
        page.evaluate(START_DRAGGING)
    begin, memory = monotonic(), []
    while monotonic() - begin < seconds:
        pages[0].wait_for_timeout(MEMORY_INTERVAL)
        memory.append(round(resident_mib(pid), 1))
    ends = [page.evaluate(STOP_DRAGGING) for page in pages]
    for page in pages:
        page.close()
    quarter = len(memory) // 4
    return {
        "tabs": tabs,
        "seconds": seconds,
        "errors": errors + [error for error, _, _ in ends if error],
        "moves": sum(moves for _, moves, _ in ends),
        "tabs_that_show_the_newest": sum(newest for _, _, newest in ends),
        "memory_mb_second_quarter": statistics.median(memory[quarter : len(memory) // 2]),
        "memory_mb_last_quarter": statistics.median(memory[-len(memory) // 4 :]),
    }


def main(arguments: Sequence[str] | None = None) -> int:
    parser = command_parser("studio", __doc__)
    parser.add_argument("--photo", type=Path, help="a photograph")
    parser.add_argument("--tabs", type=int, default=10, help="tabs at once, 0 for none (10)")
    parser.add_argument("--seconds", type=float, default=60, help="how long tabs drag (60)")
    parser.add_argument("--json", type=Path, help="file for the results")
    options = parser.parse_args(arguments)
    chromium = os.environ.get("CHROMIUM") or shutil.which("chromium")
    process, url = start_server()
    try:
        with tempfile.TemporaryDirectory() as name, sync_playwright() as engine:
            browser = engine.chromium.launch(executable_path=chromium, args=CHROMIUM_FLAGS)
            rows = measure_latencies(browser, url, options.photo, Path(name))
            rows += measure_cuts(browser, url, Path(name))
            photo = make_photo(options.photo, 1, Path(name))
            tabs = None
            if options.tabs:
                load = (options.tabs, options.seconds)
                tabs = measure_tabs(browser, url, photo, *load, process.pid)
                print(json.dumps(tabs))
            browser.close()
            if options.json:
                result = {"latency": rows, "tabs": tabs, "load": os.getloadavg()[0]}
                options.json.write_text(json.dumps(result, indent=2))
    finally:
        process.terminate()
        process.wait(20)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
