"""Palettes, several objects, and work that is saved and reopened."""

import json
from pathlib import Path

import pytest
from PIL import Image
from tests.apps.studio.browser_page import (
    BROWSER,
    TIMEOUT,
    count,
    download,
    drop,
    run_python,
    wait_for_answer,
    wait_for_result,
)
from tests.apps.studio.sample_files import png, write_clip
from tests.apps.studio.studio_server import running

from meanshiftpp import Tracker
from meanshiftpp.tracking.clips import lookalike
from meanshiftpp.video.frames import read_frames

pytestmark = pytest.mark.skipif(
    BROWSER is None,
    reason="no Chromium on this machine: the browser tests of the studio DID NOT RUN",
)


@pytest.fixture
def photo_file(photo, tmp_path):
    Image.fromarray(photo).save(tmp_path / "photo.png")
    return tmp_path / "photo.png"


def set_slider(page, slider, value):
    page.locator(slider).fill(str(value))
    page.locator(slider).dispatch_event("change")


def test_a_swatch_is_copied_by_a_click(page, photo_file):
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    drop(page, photo_file)
    page.wait_for_selector('#image[data-full="true"]')
    page.fill("#n-colours", "6")
    page.press("#n-colours", "Tab")
    page.check("input[name=look][value=palette]", force=True)
    page.wait_for_function("() => document.querySelectorAll('.palette-view li').length === 6")
    swatch = page.locator(".palette-view li button >> nth=2")
    colour = swatch.locator("b").inner_text()
    swatch.click()
    page.wait_for_selector(f'#status:has-text("Copied {colour}.")')
    assert page.evaluate("() => navigator.clipboard.readText()") == colour
    palette = json.loads(download(page, "#image [data-export=json]"))
    assert [each["color"] for each in palette][2] == colour
    assert len(palette) == 6


@pytest.fixture(scope="module")
def clip(tmp_path_factory):
    return write_clip(tmp_path_factory.mktemp("clip") / "two.mp4", lookalike(), 30, fps=60)


def add_window(page, window):
    """Draw a window of the clip with the mouse."""
    box = page.locator("#video .marks").bounding_box()
    x, y, w, h = window
    corners = [(x, y), (x + w / 2, y + h / 2), (x + w, y + h)]
    for number, (u, v) in enumerate(corners):
        page.mouse.move(box["x"] + u / 320 * box["width"], box["y"] + v / 240 * box["height"])
        if number == 0:
            page.mouse.down()
    page.mouse.up()


def test_several_objects_are_tracked_at_once(page, clip, tmp_path):
    drop(page, clip)
    page.wait_for_selector('#video[data-frame="0"]')
    windows = []
    for number, window in enumerate([(20, 60, 50, 50), (200, 100, 60, 60)], 1):
        if number > 1:
            page.click("#add-object")
        add_window(page, window)
        page.wait_for_selector(f'#video[data-objects="{number}"]')
        page.wait_for_selector("#video[data-colours]")
        windows.append([int(page.input_value(f"#win-{each}")) for each in "xywh"])
    assert page.locator("#video .objects button").count() == 2
    page.click("#play")
    page.wait_for_selector('#video[data-frame="29"]')
    page.wait_for_selector('#play:has-text("Track")')
    frames = list(read_frames(clip))
    truth = []
    for window in windows:
        tracker = Tracker()
        tracker.init(frames[0], window)
        truth.append([(True, tracker.window), *(tracker.update(frame) for frame in frames[1:])])
    header, *lines = download(page, "#video [data-export=csv]").decode().splitlines()
    assert header == "id,frame,x,y,w,h,ok,score"
    rows = [[int(cell) for cell in line.split(",")[:7]] for line in lines]
    for number, results in enumerate(truth):
        mine = [row[1:] for row in rows if row[0] == number]
        assert mine == [[frame, *box, int(ok)] for frame, (ok, box) in enumerate(results)]
    found = run_python(page, "video", clip.parent)["results"]
    assert found == [results[1:] for results in truth]
    film = tmp_path / "film.mp4"
    film.write_bytes(download(page, "#video [data-export=mp4]"))
    with read_frames(film) as written:
        assert len(list(written)) == 30
    # A click on a window selects its object, and Remove removes it.
    page.locator("#frame").fill("0")
    page.wait_for_selector('#video[data-frame="0"]')
    page.click("#video .objects button >> nth=0")
    assert page.input_value("#win-x") == str(windows[0][0])
    page.click("#remove-object")
    assert page.input_value("#win-x") == str(windows[1][0])
    assert page.get_attribute("#video", "data-objects") == "1"


def save(page):
    with page.expect_download(timeout=TIMEOUT) as started:
        page.click("#save")
    return started.value.suggested_filename, Path(started.value.path()).read_bytes()


def test_work_is_saved_and_reopened(studio, browser, page, photo_file, table, clip, tmp_path):
    drop(page, clip)
    page.wait_for_selector('#video[data-frame="0"]')
    add_window(page, (20, 60, 50, 50))
    page.wait_for_selector("#video[data-colours]")
    page.check("#video .swatches input >> nth=0")
    drop(page, table[0])
    page.wait_for_selector("#table[data-tree=complete]")
    page.select_option("#column-0", "c")
    wait_for_answer(page, "table")
    assert "'c', 'b'" in page.locator("#table .code pre").text_content()
    set_slider(page, "#table-bandwidth", 12)
    wait_for_answer(page, "table")
    assert "MeanShiftPP([" in page.locator("#table .code pre").text_content()
    drop(page, photo_file)
    page.wait_for_selector('#image[data-full="true"]')
    set_slider(page, "#detail", 150)
    page.fill("#n-colours", "7")
    page.press("#n-colours", "Tab")
    page.check("input[name=look][value=regions]", force=True)
    wait_for_result(page)
    name, data = save(page)
    assert name == "photo.studio.json"
    work = json.loads(data)
    assert work["view"] == "image"
    assert {view: each["file"] for view, each in work["views"].items()} == {
        "image": "photo.png",
        "table": "points.csv",
        "video": "two.mp4",
    }
    (tmp_path / name).write_bytes(data)
    wanted = {
        view: page.locator(f"#{view} .code pre").text_content() for view in ("image", "table")
    }
    wanted["count"] = count(page)

    other = browser.new_page(viewport={"width": 1280, "height": 720})
    other.set_default_timeout(TIMEOUT)
    other.goto(studio.url)
    other.wait_for_selector("body[data-ready]")
    drop(other, tmp_path / name)
    other.wait_for_selector("#ask:has-text('points.csv')")
    assert other.locator("#ask p").count() == 3
    for path, ready in (
        (photo_file, '#image[data-full="true"]'),
        (table[0], "#table[data-count]"),
        (clip, "#video[data-colours]"),
    ):
        drop(other, path)
        other.wait_for_selector(ready)
    assert not other.is_visible("#ask")
    for view in ("image", "table"):
        other.click(f"#tab-{view}")
        other.wait_for_function(
            "([view, text]) => document.querySelector(`#${view} .code pre`).textContent === text",
            arg=[view, wanted[view]],
        )
    assert count(other) == wanted["count"]
    assert other.input_value("#n-colours") == "7"
    assert other.is_checked("input[name=look][value=regions]")
    assert other.is_checked("#video .swatches input >> nth=0")
    assert json.loads(save(other)[1])["views"] == work["views"]
    other.close()


def test_work_reopens_the_startup_file_and_samples_only(browser, photo, tmp_path):
    """Paths in saved work are never sent to the server."""
    (tmp_path / "photo.png").write_bytes(png(photo))
    work = {
        "format": "meanshiftpp-studio",
        "version": 1,
        "view": "image",
        "views": {
            "image": {
                "file": "/etc/../etc/photo.png",
                "settings": {"detail": 3, "look": "outline"},
            },
            "table": {"file": "iris.csv", "sample": "iris", "settings": {"columns": ["x", 7]}},
            "video": {"file": "/etc/passwd", "sample": "../../etc", "settings": []},
        },
    }
    (tmp_path / "work.json").write_text(json.dumps(work))
    with running(tmp_path, str(tmp_path / "photo.png")) as studio:
        page = browser.new_page()
        page.set_default_timeout(TIMEOUT)
        sent: list[str] = []
        page.on(
            "websocket", lambda socket: socket.on("framesent", lambda text: sent.append(str(text)))
        )
        page.goto(studio.url)
        page.wait_for_selector('#image[data-full="true"]')
        drop(page, tmp_path / "work.json")
        page.wait_for_selector("#table[data-count]", state="attached")
        page.wait_for_selector("#ask:has-text('passwd')")
        page.wait_for_function(
            "() => document.querySelector('#detail').previousElementSibling.value === '3'"
        )
        assert page.is_checked("input[name=look][value=outline]")
        assert sent
        assert not any("etc" in text for text in sent)
        page.click("#ask button >> nth=1")
        assert not page.is_visible("#ask")
        page.close()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "is not saved work of the studio"),
        ('{"format": "other"}', "is not saved work of the studio"),
        ('{"format": "meanshiftpp-studio", "version": 9, "views": {}}', "has version 9"),
    ],
)
def test_a_file_that_is_not_saved_work_is_reported(page, text, message, tmp_path):
    (tmp_path / "work.json").write_text(text)
    drop(page, tmp_path / "work.json")
    page.wait_for_selector(f'#error:has-text("{message}")')
