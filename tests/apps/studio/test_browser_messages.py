"""Errors, warnings and the status on the page: shown in full, and gone when they are obsolete."""

import numpy as np
import pytest
import tifffile
from tests.apps.studio.browser_page import (
    BROWSER,
    TIMEOUT,
    count,
    drag,
    drop,
    expect,
    wait_for_answer,
)
from tests.apps.studio.sample_files import png

pytestmark = pytest.mark.skipif(
    BROWSER is None,
    reason="no Chromium on this machine: the browser tests of the studio DID NOT RUN",
)
PHONE = {"width": 390, "height": 844}


@pytest.fixture(scope="module")
def gaps(tmp_path_factory):
    """A table whose last column has a missing value in its third row."""
    rng = np.random.default_rng(0)
    points = rng.normal([[0, 0, 5]] * 400 + [[9, 90, 5]] * 300, [1, 10, 3])
    rows = [",".join(map(repr, row)) for row in points.tolist()]
    rows[2] = "1.5,2.5,"
    path = tmp_path_factory.mktemp("gaps") / "gaps.csv"
    path.write_text("\n".join(["a,b,c", *rows]))
    return path


def test_a_column_with_gaps_leaves_the_table_usable(page, gaps, table):
    drop(page, gaps)
    page.wait_for_selector("#table[data-tree=complete]")
    first = page.get_attribute("#table", "data-count")
    for column in ("#column-1", "#column-2"):
        page.select_option(column, "c")
        page.wait_for_selector("#error:has-text(\"row 3, column 'c'\")")
        expect(page.locator("#column-1")).to_have_value("b")
        expect(page.locator("#column-2")).to_have_value("")
        page.click("[aria-label='Dismiss the error']")  # the next column reports it again
    page.select_option("#column-2", "c")
    page.wait_for_selector("#error:visible")
    # Every control still works, and the error ends with the next result.
    drag(page, "#table-bandwidth", 0.3, 0.05)
    page.mouse.up()
    wait_for_answer(page, "table")
    assert page.get_attribute("#table", "data-count") != first
    assert not page.is_visible("#error")
    page.click("#auto")
    wait_for_answer(page, "table")
    assert page.get_attribute("#table", "data-count") == first
    page.select_option("#column-0", "b")
    wait_for_answer(page, "table")
    assert "['b', 'a']" in page.locator("#table .code pre").text_content()
    drop(page, table[0])
    wait_for_answer(page, "table")
    assert page.inner_text("#table .count") == "3 significant clusters"


def test_a_long_error_is_shown_in_full_and_can_be_dismissed(page):
    name = f"{'a rather long name ' * 12}.txt"
    page.set_input_files("#file", {"name": name, "mimeType": "text/plain", "buffer": b"a"})
    page.wait_for_selector("#error:visible")
    sizes = "e => [e.scrollWidth <= e.clientWidth, e.scrollHeight <= e.clientHeight]"
    assert page.eval_on_selector("#error", sizes) == [True, True]
    box = page.locator("#error").bounding_box()
    assert 0 <= box["x"] <= 1280 - box["width"]
    assert 0 <= box["y"] <= 720 - box["height"]
    assert ".parquet" in page.inner_text("#error")
    page.click("[aria-label='Dismiss the error']")
    assert not page.is_visible("#error")


def test_messages_belong_to_their_view(page, gaps):
    drop(page, gaps)
    page.wait_for_selector("#table[data-count]")
    page.select_option("#column-1", "c")
    page.wait_for_selector("#error:visible")
    status = page.inner_text("#status")
    page.click("#tab-image")
    assert not page.is_visible("#error")
    assert page.inner_text("#status") == ""
    page.click("#tab-table")
    assert page.is_visible("#error")
    assert page.inner_text("#status") == status


def test_warnings_of_the_package_appear_on_the_page(page, tmp_path, photo):
    values = photo.astype(np.float32) / 255
    values[3, 5] = np.nan
    tifffile.imwrite(tmp_path / "gap.tif", values, photometric="rgb")
    (tmp_path / "photo.png").write_bytes(png(photo))
    drop(page, tmp_path / "gap.tif")
    page.wait_for_selector('#warnings:has-text("masked 1 of")')
    drop(page, tmp_path / "photo.png")
    page.wait_for_selector("#warnings", state="hidden")


def test_controls_can_be_set_before_a_file_is_open(page, tmp_path, photo):
    page.click("#tab-image")
    page.evaluate("document.querySelector('#space').value = 'luv'")
    page.dispatch_event("#space", "change")
    (tmp_path / "photo.png").write_bytes(png(photo))
    drop(page, tmp_path / "photo.png")
    page.wait_for_selector("#image[data-count]")
    assert page.input_value("#space") == "luv"


def test_the_curve_is_a_slider_with_a_value(page, table):
    drop(page, table[0])
    page.wait_for_selector("#table[data-count]")
    svg = page.locator("#table .curve svg")

    def value(name):
        return float(svg.get_attribute(f"aria-value{name}"))

    assert value("min") < value("now") < value("max")
    before = value("now")
    svg.focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_function(f"() => document.querySelector('.curve svg').ariaValueNow > {before}")
    page.keyboard.press("End")
    assert value("now") == value("max")
    assert count(page, "table") >= 1


def test_a_picture_without_a_result_does_not_show_that_of_the_last_one(page, tmp_path, photo):
    (tmp_path / "photo.png").write_bytes(png(photo))
    (tmp_path / "transparent.png").write_bytes(png(np.zeros((60, 80, 4))))
    drop(page, tmp_path / "photo.png")
    wait_for_answer(page, "image")
    assert page.locator("#image .swatches li:visible").count()
    drop(page, tmp_path / "transparent.png")
    page.wait_for_selector("#error:has-text('visible pixel')")
    drawn = "() => document.querySelector('#image .result').getContext('2d')"
    size = "0, 0, 80, 60"
    assert page.evaluate(f"{drawn}.getImageData({size}).data.every((value) => value === 0)")
    assert not page.locator("#image .swatches li:visible").count()
    assert page.locator("#image .count").text_content() == ""
    assert page.locator("#image .code pre").text_content() == ""


def test_a_table_without_a_result_does_not_show_that_of_the_last_one(page, table, tmp_path):
    drop(page, table[0])
    wait_for_answer(page, "table")
    assert page.locator("#table .swatches li").count()
    rows = [f"{n / 8},{n % 5},{n % 7}" for n in range(40)]
    (tmp_path / "other.csv").write_text("\n".join(["x,y,z", "inf,1,2", *rows]))
    (tmp_path / "infinite.csv").write_text("\n".join(["x,y,z", "inf,inf,2", *rows]))
    drop(page, tmp_path / "infinite.csv")
    page.wait_for_selector("#error:has-text('row 1')")
    assert not page.locator("#table .swatches li").count()
    assert not page.locator("#table .curve svg *").count()
    for part in (".count", ".code pre"):
        assert page.locator(f"#table {part}").text_content() == ""
    drop(page, tmp_path / "other.csv")
    wait_for_answer(page, "table")
    assert page.locator("#table .swatches li").count()
    assert not page.is_visible("#error")


def test_every_control_is_in_reach_on_a_phone(studio, browser, gaps):
    page = browser.new_page(viewport=PHONE)
    page.set_default_timeout(TIMEOUT)
    page.goto(studio.url)
    page.wait_for_selector("body[data-ready]")
    drop(page, gaps)
    page.wait_for_selector("#table[data-tree=complete]")
    for view in ("image", "table", "video"):
        page.click(f"#tab-{view}")
        assert page.evaluate("() => document.documentElement.scrollWidth") == 390
        for control in page.locator(
            "header button, section:visible .panel :is(input, select, button)"
        ).all():
            if not control.is_visible():
                continue
            control.scroll_into_view_if_needed()
            box = control.bounding_box()
            assert 0 <= box["x"] <= 390 - box["width"]
            assert 0 <= box["y"] <= 844 - box["height"]
    page.close()
