"""Zoom and pan in the image and table views, by wheel, drag, pinch, keys and buttons."""

import io

import numpy as np
import pytest
from PIL import Image
from tests.apps.studio.browser_page import (
    BROWSER,
    drop,
    expect,
    wait_for_drawing,
    wait_for_tree,
    wait_for_value,
)

pytestmark = pytest.mark.skipif(
    BROWSER is None,
    reason="no Chromium on this machine: the browser tests of the studio DID NOT RUN",
)

PIXELS = "() => document.querySelector('#table .points').toDataURL()"

# Two fingers at the middle of an element that move apart by a factor.
PINCH = """([query, factor]) => {
    const target = document.querySelector(query), box = target.getBoundingClientRect();
    const [x, y] = [box.left + box.width / 2, box.top + box.height / 2];
    target.setPointerCapture = () => {};
    const send = (type, id, dx) => target.dispatchEvent(new PointerEvent(type,
        { pointerId: id, clientX: x + dx, clientY: y, bubbles: true, pointerType: 'touch' }));
    send('pointerdown', 11, -50); send('pointerdown', 12, 50);
    send('pointermove', 11, -51); send('pointermove', 12, 51);
    send('pointermove', 11, -51 * factor); send('pointermove', 12, 51 * factor);
    send('pointerup', 11, 0); send('pointerup', 12, 0);
    delete target.setPointerCapture;
}"""


@pytest.fixture
def image_page(page, photo, tmp_path):
    Image.fromarray(photo).save(tmp_path / "photo.png")
    drop(page, tmp_path / "photo.png")
    page.wait_for_selector('#image[data-full="true"]')
    return page


def scale(page, view):
    return int(page.inner_text(f"#{view} .zoom .reset").removesuffix(" %")) / 100


def content_box(page):
    """Return left, top, width and height of the picture, which may exceed its frame."""
    return page.eval_on_selector(
        "#image .result",
        "e => { const b = e.getBoundingClientRect(); return [b.x, b.y, b.width, b.height]; }",
    )


def test_the_wheel_zooms_at_the_pointer(image_page):
    page = image_page
    left, top, width, height = content_box(page)
    at = (left + 0.25 * width, top + 0.75 * height)
    page.mouse.move(*at)
    page.mouse.wheel(0, -600)
    expect(page.locator("#image .zoom .reset")).to_be_enabled()
    x, y, wide, high = content_box(page)
    assert scale(page, "image") == pytest.approx(wide / width, abs=0.01)
    assert wide > 2 * width
    assert (x + 0.25 * wide, y + 0.75 * high) == pytest.approx(at, abs=1)
    page.click("#image .zoom .reset")
    assert content_box(page) == pytest.approx([left, top, width, height], abs=0.5)


def test_a_drag_pans_and_a_click_still_selects(image_page):
    page = image_page
    for _ in range(4):
        page.click("#image .zoom button >> nth=2")
    before = content_box(page)
    box = page.locator("#image .frame").bounding_box()
    middle = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(*middle)
    page.mouse.down()
    page.mouse.move(middle[0] + 60, middle[1] - 40, steps=4)
    page.mouse.up()
    after = content_box(page)
    assert after[0] - before[0] == pytest.approx(60, abs=1)
    assert after[1] - before[1] == pytest.approx(-40, abs=1)
    assert "selected" not in page.inner_text("#image .count")
    page.mouse.click(*middle)
    assert "1 of" in page.inner_text("#image .count")


def test_a_click_in_a_zoomed_picture_selects_the_region_under_it(image_page):
    page = image_page
    page.check("input[name=look][value=regions]", force=True)
    box = page.locator("#image .frame").bounding_box()
    page.mouse.move(box["x"] + 0.8 * box["width"], box["y"] + 0.2 * box["height"])
    page.mouse.wheel(0, -900)
    expect(page.locator("#image .zoom .reset")).to_be_enabled()
    wait_for_drawing(page)
    at = box["x"] + 0.6 * box["width"], box["y"] + 0.4 * box["height"]
    shot = np.asarray(Image.open(io.BytesIO(page.screenshot())))
    seen = "#" + bytes(shot[round(at[1]), round(at[0]), :3]).hex()
    page.mouse.click(*at)
    pressed = page.locator("#image .swatches [aria-pressed=true] b")
    assert pressed.inner_text() == seen


def test_keys_and_a_pinch_zoom_a_picture(image_page):
    page = image_page
    page.focus("#image .result")
    for key in ("+", "+", "-"):
        page.keyboard.press(key)
    assert scale(page, "image") == 1.25
    before = content_box(page)
    page.keyboard.press("ArrowRight")
    assert content_box(page)[0] < before[0]
    page.keyboard.press("0")
    assert scale(page, "image") == 1
    page.evaluate(PINCH, ["#image .result", 2])
    assert scale(page, "image") == pytest.approx(2, abs=0.05)


def test_the_divider_keeps_its_place_in_a_zoomed_picture(image_page):
    page = image_page
    page.check("input[name=look][value=outline]", force=True)
    page.focus("#image .divider")
    for _ in range(10):
        page.keyboard.press("ArrowRight")
    for _ in range(3):
        page.click("#image .zoom button >> nth=2")
    page.mouse.move(0, 0)
    box = page.locator("#image .frame").bounding_box()
    shot = np.asarray(Image.open(io.BytesIO(page.screenshot())).convert("RGB"))
    top, bottom = int(box["y"]) + 5, int(box["y"] + box["height"]) - 5
    middle, quarter = box["x"] + box["width"] / 2, box["width"] / 4
    left = shot[top:bottom, int(middle - quarter) : int(middle - 20)]
    right = shot[top:bottom, int(middle + 20) : int(middle + quarter)]
    is_grey = [(np.ptp(part.astype(int), axis=2) < 12).mean() for part in (left, right)]
    assert is_grey[0] < 0.5 < 0.95 < is_grey[1]


def test_a_table_zooms_and_pans(page, table):
    drop(page, table[0])
    wait_for_tree(page)
    plot = page.locator("#table .plot")
    whole = page.evaluate(PIXELS)
    box = plot.bounding_box()
    at = box["x"] + 0.4 * box["width"], box["y"] + 0.6 * box["height"]
    page.mouse.move(*at)
    page.mouse.wheel(0, -500)
    wait_for_value(page, PIXELS, unlike=whole)
    assert scale(page, "table") > 1.5
    wait_for_drawing(page)
    near = page.evaluate(PIXELS)
    page.mouse.down()
    page.mouse.move(at[0] + 80, at[1] + 30, steps=3)
    page.mouse.up()
    wait_for_value(page, PIXELS, unlike=near)
    page.focus("#table .points")
    page.keyboard.press("0")
    assert scale(page, "table") == 1
    wait_for_drawing(page)
    assert page.evaluate(PIXELS) == whole
    page.evaluate(PINCH, ["#table .points", 3])
    assert scale(page, "table") == pytest.approx(3, abs=0.1)
    page.select_option("#column-0", "c")  # other columns are shown as a whole
    expect(page.locator("#table .zoom .reset")).to_be_disabled()
