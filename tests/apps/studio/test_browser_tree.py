"""The tree of the table view in a real Chromium: dragged, moved by keys, touched and exported."""

import io

import numpy as np
import pytest
from tests.apps.studio.browser_page import (
    BROWSER,
    TIMEOUT,
    count,
    download,
    drop,
    run_command,
    run_python,
    wait_for_answer,
    wait_for_tree,
)

from meanshiftpp import MeanShiftPP
from meanshiftpp.apps.studio.table_tree import READABLE

pytestmark = pytest.mark.skipif(
    BROWSER is None,
    reason="no Chromium on this machine: the browser tests of the studio DID NOT RUN",
)
TREE = "#table .tree svg"
PIXELS = "() => document.querySelector('#table .points').toDataURL()"


def open_table(page, path) -> None:
    """Drop a table and wait until its tree is complete."""
    drop(page, path)
    wait_for_tree(page)


def text(page) -> str:
    return page.inner_text("#table .cut")


def line(page) -> int:
    """Return the number of clusters at the line."""
    return int(page.get_attribute(TREE, "aria-valuenow"))


def ends(page) -> tuple[int, int]:
    """Return the fewest and the most clusters that the line can reach."""
    return tuple(int(page.get_attribute(TREE, f"aria-value{end}")) for end in ("min", "max"))


def wait_for_change(page, before: int) -> None:
    page.wait_for_selector(f'#table:not([data-count="{before}"])')


def assert_exports_equal(page, points) -> None:
    """Compare the exported labels with those of the estimator for the cut at the line."""
    wait_for_answer(page, "table")
    labels = np.load(io.BytesIO(download(page, "#table [data-export=npy]")))
    truth = MeanShiftPP().fit(points).cut(line(page)).labels_
    np.testing.assert_array_equal(labels, truth)
    assert count(page, "table") == truth.max() + 1


def test_dragging_the_line_cuts_the_tree(page, table):
    path, points = table
    open_table(page, path)
    assert text(page) == "3 clusters, all significant"
    assert page.is_disabled("#reset-cut")
    assert_exports_equal(page, points[:, :2])
    before = page.evaluate(PIXELS)

    box = page.locator(TREE).bounding_box()
    x, middle = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, middle)
    page.mouse.down()
    page.mouse.move(x, box["y"] + box["height"] - 2, steps=5)
    wait_for_change(page, 3)  # while the button is still pressed
    assert count(page, "table") > 3
    assert page.evaluate(PIXELS) != before
    page.mouse.up()
    wait_for_answer(page, "table")
    assert text(page) == f"{line(page)} clusters, 3 significant"
    assert_exports_equal(page, points[:, :2])
    truth = MeanShiftPP().fit(points[:, :2]).cut(line(page)).labels_
    np.testing.assert_array_equal(run_python(page, "table", path.parent)["labels"], truth)
    run_command(page, "table", path.parent)
    lines = (path.parent / "labels.csv").read_text().splitlines()
    assert [int(row.rpartition(",")[2]) for row in lines[1:]] == truth.tolist()

    page.mouse.move(x, middle)
    page.mouse.down()
    page.mouse.move(x, box["y"] + 2, steps=5)
    page.wait_for_selector('#table[data-count="1"]')
    page.mouse.up()
    assert line(page) == 1
    assert_exports_equal(page, points[:, :2])

    page.locator(TREE).dblclick()
    wait_for_answer(page, "table")
    assert page.evaluate(PIXELS) == before
    assert text(page) == "3 clusters, all significant"


def test_line_can_be_dragged_again_and_again(page, table):
    open_table(page, table[0])
    box = page.locator(TREE).bounding_box()
    x, middle = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    fewest, most = ends(page)
    page.evaluate("() => addEventListener('selectstart', () => { window.selected = true; })")
    for _ in range(3):
        page.mouse.move(x, middle)
        page.mouse.down()
        page.mouse.move(box["x"] + 40, box["y"] + 2, steps=9)
        assert line(page) == fewest
        page.mouse.move(x, box["y"] + box["height"] - 2, steps=9)
        assert line(page) == most
        page.mouse.up()
        page.mouse.move(x, middle, steps=3)
        assert line(page) == most
    assert not page.evaluate("() => window.selected")  # the next drag would move the selection


@pytest.mark.filterwarnings("ignore:expected 30 clusters")
def test_keys_move_the_line(page, table):
    path, points = table
    most = len(MeanShiftPP().fit(points[:, :2]).cut(READABLE).cluster_weights_)
    open_table(page, path)
    assert page.get_attribute(TREE, "role") == "slider"
    assert (ends(page), line(page)) == ((1, most), 3)
    page.focus(TREE)
    for key, n in (("ArrowDown", 4), ("ArrowRight", 5), ("PageDown", 7), ("ArrowUp", 6)):
        page.keyboard.press(key)
        wait_for_answer(page, "table")
        assert line(page) == n
    assert page.get_attribute(TREE, "aria-valuetext") == text(page)
    assert_exports_equal(page, points[:, :2])
    page.focus(TREE)
    page.keyboard.press("Home")
    page.wait_for_selector('#table[data-count="1"]')
    page.keyboard.press("End")
    page.wait_for_selector(f'#table[data-cut="{most}"]')
    page.click("#reset-cut")
    wait_for_answer(page, "table")
    assert (count(page, "table"), line(page), page.is_disabled("#reset-cut")) == (3, 3, True)


def test_number_of_clusters_is_typed(page, table):
    path, points = table
    open_table(page, path)
    assert page.input_value("#n-clusters") == "3"
    page.fill("#n-clusters", "2")
    page.press("#n-clusters", "Enter")
    page.wait_for_selector('#table[data-cut="2"]')
    assert text(page) == "2 of 3 significant"
    assert_exports_equal(page, points[:, :2])
    page.fill("#n-clusters", "1.5")
    page.press("#n-clusters", "Tab")  # not a number of clusters, so nothing changes
    assert page.input_value("#n-clusters") == "2"
    page.fill("#n-clusters", "9999")
    page.press("#n-clusters", "Enter")
    with pytest.warns(UserWarning, match=r"the data has only \d+ peaks"):
        peaks = MeanShiftPP().fit(points[:, :2]).cut(9999).tree_.n_clusters
    page.wait_for_selector(f'#table[data-cut="{peaks}"]')
    assert_exports_equal(page, points[:, :2])


def test_many_clusters_are_shown_coarse_first(page, tmp_path):
    rng = np.random.default_rng(0)
    centers = np.stack(np.meshgrid(np.arange(9), np.arange(9)), -1).reshape(-1, 2) * 10.0
    X = np.repeat(centers, 200, axis=0) + rng.normal(size=(16_200, 2))
    np.save(tmp_path / "many.npy", X)
    open_table(page, tmp_path / "many.npy")
    model = MeanShiftPP().fit(X)
    n = model.tree_.n_clusters
    assert n > READABLE
    assert text(page) == f"{READABLE} of {n} significant"
    assert page.inner_text("#table .count") == f"{READABLE} significant clusters"
    assert_exports_equal(page, X)
    page.click("#all-cut")
    page.wait_for_selector(f'#table[data-cut="{n}"]')
    assert text(page) == f"{n} clusters, all significant"
    assert page.is_hidden("#all-cut")
    assert_exports_equal(page, X)
    page.click("#reset-cut")
    page.wait_for_selector(f'#table[data-cut="{READABLE}"]')
    np.testing.assert_array_equal(
        run_python(page, "table", tmp_path)["labels"], model.cut(READABLE).labels_
    )


def test_bandwidth_and_tree_take_turns(page, table):
    path, points = table
    open_table(page, path)
    curve = page.locator("#table .curve svg").bounding_box()
    page.mouse.click(curve["x"] + 0.12 * curve["width"], curve["y"] + 0.5 * curve["height"])
    wait_for_change(page, 3)
    assert text(page) == "Drag here for significant clusters"
    assert page.locator(f"{TREE} .line").count() == 0
    box = page.locator(TREE).bounding_box()
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] - 2)
    page.wait_for_selector(f"{TREE} .line")
    assert page.inner_text("#table .slider output") == "none"
    assert_exports_equal(page, points[:, :2])
    page.click("#auto")
    wait_for_answer(page, "table")
    assert (line(page), count(page, "table")) == (3, 3)
    page.select_option("#column-2", "c")  # another tree
    wait_for_tree(page)
    assert text(page) == "3 clusters, all significant"
    assert_exports_equal(page, points)


def test_one_blob_has_no_significant_valley(page, tmp_path):
    X = np.random.default_rng(0).normal(size=(2000, 2))
    np.save(tmp_path / "blob.npy", X)
    open_table(page, tmp_path / "blob.npy")
    assert text(page) == "1 cluster: no significant valley"
    assert page.inner_text("#table .advice").endswith("drag the line of the tree to see it")
    page.focus(TREE)
    page.keyboard.press("End")
    wait_for_change(page, 1)
    assert page.inner_text("#table .advice") == ""
    assert_exports_equal(page, X)

    np.save(tmp_path / "pair.npy", X[:2])
    open_table(page, tmp_path / "pair.npy")
    assert text(page) == "1 cluster: no significant valley"
    assert page.get_attribute(TREE, "aria-disabled") == "true"
    assert page.locator(f"{TREE} *").count() == 0


def test_an_error_leaves_the_tree_usable(page, table, tmp_path):
    path, points = table
    open_table(page, path)
    (tmp_path / "bad.csv").write_text("a,b\n1,2\n3,nan\n")
    drop(page, tmp_path / "bad.csv")
    page.wait_for_selector("#error:not(:empty)")
    open_table(page, path)
    page.focus(TREE)
    page.keyboard.press("End")
    wait_for_change(page, 3)
    assert_exports_equal(page, points[:, :2])


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [(1280, 720), (390, 844)])
def test_tree_can_be_touched_on_every_screen(studio, browser, table, scheme, size):
    width, height = size
    viewport = {"width": width, "height": height}
    page = browser.new_page(viewport=viewport, color_scheme=scheme, has_touch=True)
    page.set_default_timeout(TIMEOUT)
    page.goto(studio.url)
    page.wait_for_selector("body[data-ready]")
    open_table(page, table[0])
    scrolls = "() => [document.documentElement.scrollWidth, document.documentElement.scrollHeight]"
    assert page.evaluate(scrolls) == [width, height]
    for selector in ("#table .points", TREE, "#reset-cut", "#table .panel", "#open"):
        box = page.locator(selector).bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= width
        assert box["y"] + box["height"] <= height
        assert min(box["width"], box["height"]) >= 18
    box = page.locator(TREE).bounding_box()
    page.touchscreen.tap(box["x"] + box["width"] / 2, box["y"] + box["height"] - 2)
    wait_for_change(page, 3)
    assert line(page) > 3
    page.close()
