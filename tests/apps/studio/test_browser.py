"""The page in a real Chromium with a real server, operated by mouse and keyboard."""

import csv
import io
import re

import numpy as np
import pytest
from PIL import Image
from tests.apps.studio.browser_page import (
    BROWSER,
    TIMEOUT,
    count,
    download,
    drag,
    drop,
    open_sample_clip,
    read_labels,
    run_command,
    run_python,
    wait_for_answer,
    wait_for_result,
    wait_for_tree,
    wait_for_value,
)
from tests.apps.studio.sample_files import write_clip

from meanshiftpp import MeanShiftPP, Tracker, picture, segment
from meanshiftpp.tracking.clips import occlusion
from meanshiftpp.video.frames import read_frames

pytestmark = pytest.mark.skipif(
    BROWSER is None,
    reason="no Chromium on this machine: the browser tests of the studio DID NOT RUN",
)


@pytest.fixture(scope="module")
def photo_file(tmp_path_factory):
    """A picture of colour patches, large enough to have a preview."""
    rng = np.random.default_rng(3)
    patches = rng.integers(0, 256, (10, 14, 3)).repeat(75, 0).repeat(75, 1)
    noisy = (patches + rng.normal(0, 8, patches.shape)).clip(0, 255).astype(np.uint8)
    path = tmp_path_factory.mktemp("photo") / "my photo.png"
    Image.fromarray(noisy).save(path)
    return path


def test_an_image_from_drop_to_export(page, photo_file, tmp_path):
    values = picture.read(photo_file).values
    drop(page, photo_file)
    wait_for_result(page)
    assert page.inner_text("#file-name") == photo_file.name
    first = count(page)
    assert first == int(segment(values).max()) + 1

    # The picture changes during the drag, before the slider is released.
    pixels = "() => document.querySelector('#image .result').toDataURL()"
    before = page.evaluate(pixels)
    drag(page, "#detail", 0.45, 0.85)
    page.wait_for_selector(f'#image:not([data-count="{first}"])')
    assert page.evaluate(pixels) != before
    page.mouse.up()
    wait_for_result(page)

    box = page.locator("#image .result").bounding_box()
    page.mouse.click(box["x"] + box["width"] * 0.53, box["y"] + box["height"] * 0.53)
    assert page.locator("#image .swatches [aria-pressed=true]").count() <= 1
    assert "1 of" in page.inner_text("#image .count")
    page.keyboard.down("Shift")
    page.mouse.click(box["x"] + box["width"] * 0.12, box["y"] + box["height"] * 0.12)
    page.keyboard.up("Shift")
    assert "2 of" in page.inner_text("#image .count")

    exported = read_labels(download(page, "#image [data-export=png]"), ".png", tmp_path)
    truth = run_python(page, "image", photo_file.parent)["labels"]
    np.testing.assert_array_equal(exported, truth + 1)
    np.testing.assert_array_equal(
        read_labels(download(page, "#image [data-export=tiff]"), ".tif", tmp_path), truth + 1
    )
    mask = read_labels(download(page, "#image [data-export=mask]"), ".png", tmp_path) > 0
    height, width = truth.shape
    chosen = {truth[int(part * height), int(part * width)] for part in (0.53, 0.12)}
    np.testing.assert_array_equal(mask, np.isin(truth, list(chosen)))
    run_command(page, "image", photo_file.parent)
    np.testing.assert_array_equal(picture.read(photo_file.parent / "labels.png").values, truth + 1)


def test_clusters_with_the_keyboard_only(page, photo_file, tmp_path):
    page.set_input_files("#file", photo_file)
    page.wait_for_selector('#image[data-full="true"]')
    page.focus("input[name=what]:checked")
    page.keyboard.press("ArrowRight")
    page.focus("#bandwidth")
    for _ in range(4):
        page.keyboard.press("ArrowRight")
    wait_for_result(page)
    assert page.get_attribute("#detail", "disabled") is not None
    exported = read_labels(download(page, "#image [data-export=png]"), ".png", tmp_path)
    assert "regions=False" in page.locator("#image .code pre").text_content()
    truth = run_python(page, "image", photo_file.parent)["labels"]
    np.testing.assert_array_equal(exported, truth + 1)
    page.focus("#image .swatches button >> nth=0")
    page.keyboard.press("Space")
    assert "1 of" in page.inner_text("#image .count")
    page.focus("#image .divider")
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    assert page.get_attribute("#image .divider", "aria-valuenow") == "15"
    page.focus("#tab-image")
    page.keyboard.press("ArrowRight")
    assert page.is_visible("#table")


def test_every_look_is_different(page, photo_file):
    drop(page, photo_file)
    page.wait_for_selector('#image[data-full="true"]')
    pictures = set()
    for look in ("overlay", "regions", "outline", "palette"):
        page.check(f"input[name=look][value={look}]", force=True)
        pictures.add(page.locator("#image .stage").screenshot())
    assert len(pictures) == 4


def test_a_table_from_drop_to_export(page, table):
    path, points = table
    drop(page, path)
    page.wait_for_selector("#table[data-count]")
    first = page.get_attribute("#table", "data-count")
    assert page.inner_text("#table .count") == "3 significant clusters"
    labels = np.load(io.BytesIO(download(page, "#table [data-export=npy]")))
    np.testing.assert_array_equal(labels, MeanShiftPP().fit_predict(points[:, :2]))
    # The left end of the curve is the smallest bandwidth, which gives more clusters.
    curve = page.locator("#table .curve svg").bounding_box()
    page.mouse.click(curve["x"] + 0.12 * curve["width"], curve["y"] + 0.5 * curve["height"])
    wait_for_answer(page, "table")
    assert count(page, "table") > int(first)
    names = run_python(page, "table", path.parent)
    lines = download(page, "#table [data-export=csv]").decode().splitlines()
    assert lines[0] == "a,b,c,name,label"
    assert [int(line.rpartition(",")[2]) for line in lines[1:]] == names["labels"].tolist()
    np.testing.assert_array_equal(
        np.load(io.BytesIO(download(page, "#table [data-export=npy]"))), names["labels"]
    )
    run_command(page, "table", path.parent)
    assert (path.parent / "labels.csv").read_text().splitlines() == lines

    page.select_option("#column-2", "c")
    wait_for_tree(page)
    labels = np.load(io.BytesIO(download(page, "#table [data-export=npy]")))
    page.click("#table .code [role=tab] >> nth=0")
    names = run_python(page, "table", path.parent)
    np.testing.assert_array_equal(labels, names["labels"])
    assert names["points"].shape[1] == 3
    pixels = "() => document.querySelector('#table .points').toDataURL()"
    before = page.evaluate(pixels)
    page.focus("#table .points")
    page.keyboard.press("ArrowLeft")
    wait_for_value(page, pixels, unlike=before)


def test_one_cluster_of_a_table_shows_the_next_step(page, tmp_path):
    np.save(tmp_path / "blob.npy", np.random.default_rng(0).normal(size=(2000, 2)))
    drop(page, tmp_path / "blob.npy")
    page.wait_for_selector('#table[data-count="1"][data-tree=complete]')
    assert page.inner_text("#table .count") == "1 significant cluster"
    assert page.inner_text("#table .advice").startswith("no significant valley; the clearest of ")
    page.mouse.move(0, 0)
    curve = page.locator("#table .curve svg").bounding_box()
    page.mouse.click(curve["x"] + 0.12 * curve["width"], curve["y"] + 0.5 * curve["height"])
    page.wait_for_selector('#table:not([data-count="1"])')
    assert page.inner_text("#table .advice") == ""


def test_dragging_the_bandwidth_of_a_table(page, table):
    path, points = table
    drop(page, path)
    page.wait_for_selector("#table[data-count]")
    first = page.get_attribute("#table", "data-count")
    drag(page, "#table-bandwidth", 0.3, 0.02)
    page.wait_for_selector(f'#table:not([data-count="{first}"])')
    page.mouse.up()
    # Read both at once, because another reply may arrive in between.
    both = "table => [table.querySelector('.code pre').textContent, table.dataset.count]"
    code, n_clusters = page.eval_on_selector("#table", both)
    assert "MeanShiftPP([" in code
    truth = MeanShiftPP(eval(code.split("MeanShiftPP(")[1].split(")")[0])).fit(points[:, :2])
    assert len(truth.cluster_weights_) == int(n_clusters)


@pytest.fixture(scope="module")
def clip(tmp_path_factory):
    return write_clip(tmp_path_factory.mktemp("clip") / "ball.mp4", occlusion(), fps=60)


def test_a_clip_from_drop_to_export(page, clip, tmp_path):
    drop(page, clip)
    page.wait_for_selector('#video[data-frame="0"]')
    box = page.locator("#video .marks").bounding_box()

    def at(x, y):
        return box["x"] + x / 320 * box["width"], box["y"] + y / 240 * box["height"]

    page.mouse.move(*at(24, 98))
    page.mouse.down()
    page.mouse.move(*at(60, 130), steps=3)
    page.mouse.move(*at(72, 152), steps=3)
    page.mouse.up()
    page.wait_for_selector("#video[data-colours]")
    window = [int(page.input_value(f"#win-{each}")) for each in "xywh"]
    assert np.abs(np.array(window) - [24, 98, 48, 54]).max() <= 1
    frames = list(read_frames(clip))
    colours = Tracker().clusters(frames[0], window)
    assert page.locator("#video .swatches li").count() == len(colours)
    page.check("#video .swatches input >> nth=0")

    page.click("#play")
    page.wait_for_selector('#video[data-frame="119"]')
    assert int(page.get_attribute("#video", "data-lost")) > 0
    page.locator("#frame").fill("38")
    page.wait_for_selector('#video[data-frame="38"]')

    tracker, rows = Tracker(), []
    tracker.init(frames[0], window, [0])
    rows.append((True, tracker.window))
    rows += [tracker.update(frame) for frame in frames[1:]]
    exported = csv.DictReader(download(page, "#video [data-export=csv]").decode().splitlines())
    assert [[int(row[name]) for name in ("x", "y", "w", "h", "ok")] for row in exported] == [
        [*box, int(ok)] for ok, box in rows
    ]
    assert run_python(page, "video", clip.parent)["results"] == rows[1:]
    film = tmp_path / "film.mp4"
    film.write_bytes(download(page, "#video [data-export=mp4]"))
    with read_frames(film) as written:
        assert (written.size, len(list(written))) == ((320, 240), 120)


def test_progress_is_shown_and_can_be_cancelled(page):
    page.click("#tab-video")
    open_sample_clip(page, "leaving", 56, 53, 48, 54)
    page.click("#play")
    page.wait_for_selector("#busy.on")
    assert page.inner_text("#play") == "Stop"
    page.click("#cancel")
    page.wait_for_selector('#status:has-text("Cancelled.")')
    page.wait_for_selector("#busy:not(.on)", state="attached")
    page.wait_for_selector('#play:has-text("Track")')
    page.wait_for_selector('#status:has-text("120 frames")')  # the message lasts for a moment
    assert int(page.get_attribute("#video", "data-frame")) < 119


def test_a_bad_file_is_reported_on_the_page(page, tmp_path, clip):
    def assert_reported(name, data, message):
        (tmp_path / name).write_bytes(data)
        page.evaluate("() => { document.querySelector('#error').textContent = ''; }")
        drop(page, tmp_path / name)
        page.locator("#error", has_text=re.compile(message)).wait_for()

    assert_reported("junk.png", b"junk", r"not? (a )?picture")
    assert_reported("notes.txt", b"words", r"notes\.txt")
    assert_reported("huge.png", bytes(9 * 2**20), "8 MB")
    assert_reported("junk.mp4", b"junk" * 99, r"not? (a )?video")
    film = clip.read_bytes()
    assert_reported("tiny.mp4", film[:400], r"tiny\.mp4")
    Image.fromarray(np.full((1, 1, 3), 77, np.uint8)).save(tmp_path / "dot.png")
    drop(page, tmp_path / "dot.png")
    page.wait_for_selector('#image[data-count="1"]')
    assert page.inner_text("#error") == ""

    (tmp_path / "short.mp4").write_bytes(film[: len(film) // 2])
    drop(page, tmp_path / "short.mp4")
    page.wait_for_selector("#video[data-frame]")
    page.locator("#frame").fill("119")
    page.wait_for_selector('#error:has-text("short.mp4")')


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [(1280, 720), (2560, 1200)])
def test_no_element_moves_or_overflows(studio, browser, photo_file, scheme, size):
    width, height = size
    page = browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)
    page.set_default_timeout(TIMEOUT)
    page.goto(studio.url)
    page.wait_for_selector("body[data-ready]")

    def positions():
        return page.evaluate(
            """() => [...document.querySelectorAll(
                'header, footer, #image .panel, #image .panel > *, #image .sliders > *')]
                .map((e) => e.getBoundingClientRect()).map((r) => [r.x, r.y, r.width, r.height])"""
        )

    before = positions()
    drop(page, photo_file)
    page.wait_for_selector('#image[data-full="true"]')
    page.click("label:has(input[value=clusters])")
    wait_for_result(page)
    assert positions() == before
    scrolls = "() => [document.documentElement.scrollWidth, document.documentElement.scrollHeight]"
    assert page.evaluate(scrolls) == [width, height]
    dark = page.evaluate("() => getComputedStyle(document.body).color")
    assert ("233" in dark) == (scheme == "dark")
    page.close()


def test_a_wrong_token_shows_a_message(studio, browser):
    page = browser.new_page()
    reply = page.goto(f"http://{studio.host}/wrong/")
    assert reply.status == 403
    assert "token" in page.inner_text("body")
    page.close()
