"""The studio in a browser: from a slider's event to the painted picture, and ten tabs at once.

    python -m benchmarks.studio --photo PHOTO.jpg [--tabs 10] [--seconds 60]

A real server and a real Chromium. The page itself takes the times: from the time stamp of the input
event to a task after the frame in which its effect was painted (an upper bound: a frame is up to
16 ms). A photograph is brought to 1 and to 12 megapixels. Without one, a picture is drawn.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from time import monotonic

import numpy as np
from PIL import Image
from playwright.sync_api import Page, sync_playwright

from meanshiftpp.apps.studio.samples import hills

FLAGS = [
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    *("--disable-background-timer-throttling", "--disable-renderer-backgrounding"),
    "--disable-backgrounding-occluded-windows",
]
MOVES = 60
PAUSE = 24  # ms between two events of a drag, about what a mouse gives
# Moves a slider as a hand does, by the events that the browser would send.
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


def photo_of(source: Path | None, megapixels: float, folder: Path) -> Path:
    """Bring a photograph to a size."""
    image = Image.open(source).convert("RGB") if source else Image.fromarray(hills())
    scale = (megapixels * 1e6 / (image.width * image.height)) ** 0.5
    image = image.resize((round(image.width * scale), round(image.height * scale)))
    path = folder / f"photo-{megapixels:g}.jpg"
    image.save(path, quality=92)
    return path


def serve() -> tuple[subprocess.Popen[str], str]:
    command = [sys.executable, "-m", "meanshiftpp", "studio", "--no-open"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    return process, process.stdout.readline().strip()


def loaded(page: Page, url: str, photo: Path) -> Page:
    page.set_default_timeout(120_000)
    page.goto(url)
    page.wait_for_selector("body[data-ready]")
    page.set_input_files("#file", photo)
    page.wait_for_selector('#image[data-full="true"]')
    page.wait_for_timeout(500)
    return page


def measured(page: Page, what: str, slider: str, look: str) -> list[float]:
    page.check(f"input[name=what][value={what}]", force=True)
    page.check(f"input[name=look][value={look}]", force=True)
    page.wait_for_timeout(1500)
    page.wait_for_selector('#image[data-full="true"]')
    times: list[float] = page.evaluate(DRAG, [slider, MOVES, PAUSE])
    return times


def latencies(
    browser: object, url: str, source: Path | None, folder: Path
) -> list[dict[str, object]]:
    rows = []
    for megapixels in (1, 12):
        photo = photo_of(source, megapixels, folder)
        page = browser.new_page(viewport={"width": 1280, "height": 720})  # type: ignore[attr-defined]
        loaded(page, url, photo)
        for what, slider in (
            ("regions", "#detail"),
            ("clusters", "#bandwidth"),
            ("regions", "#bandwidth"),
        ):
            for look in ("overlay", "regions"):
                times = measured(page, what, slider, look)
                row = {
                    "megapixels": megapixels,
                    "find": what,
                    "slider": slider[1:],
                    "show": look,
                    "painted": len(times),
                    "of": MOVES,
                    "median_ms": round(statistics.median(times), 1),
                    "p95_ms": round(float(np.percentile(times, 95)), 1),
                }
                print(json.dumps(row), flush=True)
                rows.append(row)
        page.close()
    return rows


def memory_of(pid: int) -> float:
    """Resident megabytes of a process."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def tabs_at_once(
    browser: object, url: str, photo: Path, tabs: int, seconds: float, pid: int
) -> dict[str, object]:
    """Drag in all tabs for a while; the memory of the server and the newest wish of each tab."""
    pages = [browser.new_page(viewport={"width": 1280, "height": 720}) for _ in range(tabs)]  # type: ignore[attr-defined]
    errors: list[str] = []
    for page in pages:
        page.on("pageerror", lambda error: errors.append(str(error)))
        loaded(page, url, photo)
    start = """([moves]) => { window.dragging = setInterval(() => {
        const slider = document.querySelector('#detail');
        window.moved = (window.moved ?? 0) + 1;
        slider.value = Math.round(100 + 80 * Math.sin(window.moved / 7));
        slider.dispatchEvent(new Event('input', { bubbles: true }));
    }, 30); }"""
    for page in pages:
        page.evaluate(start, [0])
    begin, memory = monotonic(), []
    while monotonic() - begin < seconds:
        pages[0].wait_for_timeout(500)
        memory.append(round(memory_of(pid), 1))
    stop = """async () => { clearInterval(window.dragging);
        document.querySelector('#detail').dispatchEvent(new Event('change', { bubbles: true }));
        await new Promise((done) => setTimeout(done, 3000));
        const { requested, answered } = document.querySelector('#image').dataset;
        const error = document.querySelector('#error').textContent;
        return [error, window.moved, requested === answered]; }"""
    ends = [page.evaluate(stop) for page in pages]
    for page in pages:
        page.close()
    first, last = memory[len(memory) // 4 : len(memory) // 2], memory[-len(memory) // 4 :]
    return {
        "tabs": tabs,
        "seconds": seconds,
        "errors": errors + [end[0] for end in ends if end[0]],
        "moves": sum(end[1] for end in ends),
        "tabs_that_show_the_newest": sum(end[2] for end in ends),
        "memory_mb_second_quarter": statistics.median(first),
        "memory_mb_last_quarter": statistics.median(last),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--photo", type=Path)
    parser.add_argument("--tabs", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--json", type=Path, help="where the results go")
    options = parser.parse_args()
    chromium = os.environ.get("CHROMIUM") or shutil.which("chromium")
    process, url = serve()
    try:
        with tempfile.TemporaryDirectory() as name, sync_playwright() as engine:
            browser = engine.chromium.launch(executable_path=chromium, args=FLAGS)
            rows = latencies(browser, url, options.photo, Path(name))
            photo = photo_of(options.photo, 1, Path(name))
            crowd = None
            if options.tabs:
                crowd = tabs_at_once(
                    browser, url, photo, options.tabs, options.seconds, process.pid
                )
                print(json.dumps(crowd))
            browser.close()
            if options.json:
                result = {"latency": rows, "tabs": crowd, "load": os.getloadavg()[0]}
                options.json.write_text(json.dumps(result, indent=2))
    finally:
        process.terminate()
        process.wait(20)


if __name__ == "__main__":
    main()
