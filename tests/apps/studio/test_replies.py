"""Replies and exports of the three views, compared with the functions of the package."""

import io
import json
import shlex
import time

import numpy as np
import pytest
import tifffile
from tests.apps.cli.command_line import run
from tests.apps.studio.sample_files import png, write_clip
from tests.apps.studio.studio_server import unpack

from meanshiftpp import MeanShiftPP, picture, segment, sweep
from meanshiftpp.tracking.clips import leaving
from meanshiftpp.tracking.tracker import Tracker
from meanshiftpp.video.frames import read_frames


def labels_of(reply):
    """Return the label image of a reply; labels start at 1."""
    return reply["table"][reply["ids"]]


@pytest.mark.filterwarnings("ignore:the search still moved")
@pytest.mark.parametrize(
    "setting",
    [
        {},
        {"detail": 4.0},
        {"detail": 0.3, "min_size": 300},
        {"bandwidth": 5.0, "space": "luv"},
        {"regions": False, "bandwidth": 12.0},
        {"regions": False, "bandwidth": 30.0, "space": "rgb"},
        {"regions": False, "bandwidth": 9.0, "spatial": 60.0},
    ],
)
def test_image_labels_equal_those_of_segment(tab, photo, tmp_path, setting):
    tab.open("photo.png", png(photo))
    tab.send(action="show", view="image", id=1, final=True, **setting)
    reply = tab.receive("labels")
    truth = segment(photo, **setting)
    assert reply["full"]
    np.testing.assert_array_equal(labels_of(reply), truth + 1)
    np.testing.assert_array_equal(reply["counts"][1:], np.bincount(truth.ravel()))
    for kind, suffix in (("png", ".png"), ("tiff", ".tif")):
        _, headers, data = tab.export(view="image", kind=kind, **setting)
        assert f"photo-labels{suffix}" in headers["content-disposition"]
        (tmp_path / f"labels{suffix}").write_bytes(data)
        exported = picture.read(tmp_path / f"labels{suffix}").values
        np.testing.assert_array_equal(exported, truth + 1)


def test_transparent_pixels_are_masked(tab, photo):
    alpha = np.full(photo.shape[:2], 255)
    alpha[:, :50] = 0
    tab.open("photo.png", png(np.dstack([photo, alpha])))
    for regions in (True, False):
        tab.send(action="show", view="image", id=1, final=True, regions=regions)
        reply = labels_of(tab.receive("labels"))
        truth = segment(np.dstack([photo, alpha]).astype(np.uint8), regions=regions)
        np.testing.assert_array_equal(reply, truth + 1)


@pytest.mark.parametrize("times", [1, 5])
def test_pixels_without_data_are_masked(tab, photo, tmp_path, monkeypatch, times):
    """The mask applies at full size, in the preview and in the code on the page."""
    values = np.tile(photo, (times, times, 1)).astype(np.float32) / 255
    values[:, :50] = -9999
    path, nodata = tmp_path / "raster.tif", (42113, "s", 0, "-9999", True)
    tifffile.imwrite(path, values, photometric="rgb", compression="zlib", extratags=[nodata])
    tab.open(path.name, path.read_bytes())
    tab.send(action="show", view="image", id=1, final=True)
    reply = tab.receive("labels")
    while not reply["full"]:
        assert (labels_of(reply)[:, 0] == 0).all()
        reply = tab.receive("labels")
    truth = segment(values, mask=values[..., 0] >= 0)
    np.testing.assert_array_equal(labels_of(reply), truth + 1)
    monkeypatch.chdir(tmp_path)
    names: dict = {}
    exec(reply["code"]["python"], names)
    np.testing.assert_array_equal(names["labels"], truth)


@pytest.mark.filterwarnings("ignore:.* which are NaN or infinite")
@pytest.mark.parametrize("settings", [{}, {"regions": False, "bandwidth": 8.0}])
@pytest.mark.parametrize("masked", [False, True])
def test_floats_beyond_1_are_scaled(tab, photo, tmp_path, monkeypatch, settings, masked):
    """The page has no control for black and white, so the picture's own range is used."""
    grey = photo[..., 0].astype(np.float32) * 7 + 100
    if masked:
        grey[:, :50] = np.nan
    tifffile.imwrite(tmp_path / "cells.tif", grey)
    tab.open("cells.tif", (tmp_path / "cells.tif").read_bytes())
    tab.send(action="show", view="image", id=1, final=True, **settings)
    reply = tab.receive("labels")
    truth = segment(grey, value_range="image", mask=np.isfinite(grey), **settings)
    np.testing.assert_array_equal(labels_of(reply), truth + 1)
    monkeypatch.chdir(tmp_path)
    names: dict = {}
    exec(reply["code"]["python"], names)
    np.testing.assert_array_equal(names["labels"], truth)
    assert reply["code"]["cli"].endswith("--range image")


def test_the_command_for_a_map_computes_the_same_regions(tab, photo, tmp_path, monkeypatch):
    """Without --space, the command compares the bands of a map, and not colours."""
    keys = (1, 1, 0, 1, 3072, 0, 1, 32633)  # EPSG:32633
    tags = [(33550, "d", 3, (30.0, 30.0, 0.0), True), (34735, "H", 8, keys, True)]
    tags += [(33922, "d", 6, (0.0, 0.0, 0.0, 5e5, 5e6, 0.0), True)]
    tifffile.imwrite(tmp_path / "scene.tif", photo, photometric="rgb", extratags=tags)
    tab.open("scene.tif", (tmp_path / "scene.tif").read_bytes())
    tab.send(action="show", view="image", id=1, final=True)
    reply = tab.receive("labels")
    monkeypatch.chdir(tmp_path)
    assert run(*shlex.split(reply["code"]["cli"])[1:])[0] == 0
    np.testing.assert_array_equal(picture.read("labels.png").values, labels_of(reply))


@pytest.mark.filterwarnings("ignore:the search still moved")
def test_four_bands_are_not_converted_to_a_colour_space(tab, photo, tmp_path, monkeypatch):
    four = np.dstack([photo, photo[::-1, :, 0] // 128 * 200])
    path = tmp_path / "raster.tif"
    tifffile.imwrite(path, four, photometric="rgb", extrasamples=["unspecified"])
    tab.open(path.name, path.read_bytes())
    tab.send(action="show", view="image", id=1, final=True)
    reply = tab.receive("labels")
    truth = segment(four, space=None)
    np.testing.assert_array_equal(labels_of(reply), truth + 1)
    monkeypatch.chdir(tmp_path)
    names: dict = {}
    exec(reply["code"]["python"], names)
    np.testing.assert_array_equal(names["labels"], truth)


def test_a_large_picture_gets_a_preview_and_then_the_full_result(tab, photo):
    large = np.tile(photo, (5, 4, 1))
    tab.open("large.png", png(large))
    tab.send(action="show", view="image", id=1, final=True)
    small, full = tab.receive("labels"), tab.receive("labels")
    assert (small["full"], full["full"]) == (False, True)
    assert small["ids"].size < full["ids"].size == large[..., 0].size
    np.testing.assert_array_equal(labels_of(full), segment(large) + 1)
    # The page already has the ids, so the next cut is only a table.
    cached = [small["pieces"], full["pieces"]]
    tab.send(action="show", view="image", id=2, final=False, detail=3.0, cached=cached)
    cut = tab.receive("labels")
    assert cut["full"]
    assert "ids" not in cut
    np.testing.assert_array_equal(cut["table"][full["ids"]], segment(large, detail=3.0) + 1)


def test_the_last_of_several_releases_gets_a_full_result(tab, photo):
    """This holds even if another request builds the hierarchy at the same time."""
    large = np.tile(photo, (5, 4, 1))
    tab.open("large.png", png(large))
    for n, detail in enumerate((1.0, 2.0, 3.0), 1):
        tab.send(action="show", view="image", id=n, final=True, detail=detail)
        time.sleep(0.05)
    reply = tab.receive("labels")
    while not (reply["full"] and reply["request"] == 3):
        reply = tab.receive("labels")
    np.testing.assert_array_equal(labels_of(reply), segment(large, detail=3.0) + 1)


def test_the_latest_of_many_requests_wins(tab, photo):
    tab.open("photo.png", png(np.tile(photo, (3, 2, 1))))
    for n in range(1, 201):
        tab.send(
            action="show", view="image", id=n, final=False, regions=False, bandwidth=4 + n / 10
        )
    replied = []
    while not replied or replied[-1] < 200:
        replied.append(tab.receive("labels")["request"])
    assert replied == sorted(replied)
    assert replied[-1] == 200
    assert len(replied) < 150


def test_at_most_two_replies_are_unpainted(tab, photo):
    """A page that stops painting gets two replies; of the others only the latest stays queued."""
    tab.open("photo.png", png(photo))

    def show(n):
        tab.send(action="show", view="image", id=n, final=False, detail=1 + n / 10)

    def next_reply(timeout):
        """Return the next message with arrays, without reporting it as painted."""
        while not isinstance(message := tab.socket.recv(timeout), bytes):
            pass
        return unpack(message)["request"]

    for n in (1, 2):
        show(n)
        assert next_reply(timeout=60) == n
    for n in range(3, 9):
        show(n)
    with pytest.raises(TimeoutError):
        next_reply(timeout=1)
    tab.send(action="painted")
    assert next_reply(timeout=60) == 8


def test_the_mask_and_the_palette_match_the_labels(tab, photo, tmp_path):
    tab.open("photo.png", png(photo))
    truth = segment(photo, detail=2.0)
    _, _, data = tab.export(view="image", kind="mask", detail=2.0, selected=[0, 3])
    (tmp_path / "mask.png").write_bytes(data)
    mask = picture.read(tmp_path / "mask.png").values
    np.testing.assert_array_equal(mask, np.isin(truth, [0, 3]) * 255)
    _, _, data = tab.export(view="image", kind="json", detail=2.0)
    palette = json.loads(data)
    assert [each["share"] for each in palette] == (np.bincount(truth.ravel()) / truth.size).tolist()
    assert palette[0]["rgb"] == np.rint(photo[truth == 0].mean(axis=0)).tolist()
    status, _, body = tab.export(view="image", kind="mask", detail=2.0, selected=[])
    assert status == 422
    assert "selected" in json.loads(body)["message"]


@pytest.fixture(scope="module")
def points():
    rng = np.random.default_rng(0)
    return rng.normal([[0, 0, 5]] * 400 + [[9, 90, 5]] * 300 + [[0, 90, 50]] * 200, [1, 10, 3])


def test_table_labels_equal_those_of_the_estimator(tab, points, tmp_path):
    text = "\n".join(["a,b,c,name", *(f"{a!r},{b!r},{c!r},x" for a, b, c in points.tolist())])
    opened = tab.open("points.csv", text.encode())
    assert opened["columns"] == ["a", "b", "c"]
    for columns, h in ((["a", "b"], [1.5, 15.0]), (["a", "b", "c"], [1.5, 15.0, 5.0])):
        tab.send(action="show", view="table", id=1, columns=columns, bandwidth=h)
        swept, clusters = tab.receive("points"), tab.receive("clusters")
        assert len(swept["clusters"]) == len(swept["multiples"]) > 5
        assert swept["large"] == sweep(points[:, : len(columns)]).n_large.tolist()
        truth = MeanShiftPP(h).fit_predict(points[:, : len(columns)])
        np.testing.assert_array_equal(clusters["labels"], truth)
        _, _, data = tab.export(view="table", kind="npy", columns=columns, bandwidth=h)
        np.testing.assert_array_equal(np.load(io.BytesIO(data)), truth)
        _, _, data = tab.export(view="table", kind="csv", columns=columns, bandwidth=h)
        lines = data.decode().splitlines()
        assert lines[0] == "a,b,c,name,label"
        assert [int(line.rpartition(",")[2]) for line in lines[1:]] == truth.tolist()


def npy(points):
    file = io.BytesIO()
    np.save(file, points)
    return file.getvalue()


def show(tab, points, **request):
    tab.open("points.npy", npy(points))
    tab.send(action="show", view="table", id=1, columns=["x0", "x1"], **request)
    return tab.receive("points"), tab.receive("clusters")


def test_table_without_a_bandwidth_shows_significant_clusters(tab, points):
    _, clusters = show(tab, points[:, :2])
    model = MeanShiftPP().fit(points[:, :2])
    assert (clusters["n"], clusters["significant"], clusters["bandwidth"]) == (3, 3, None)
    assert tab.receive("tree")["advice"] == ""
    np.testing.assert_array_equal(clusters["labels"], model.labels_)
    assert "MeanShiftPP().fit_predict" in clusters["code"]["python"]
    assert " -b " not in clusters["code"]["cli"]
    _, _, data = tab.export(view="table", kind="npy", columns=["x0", "x1"])
    np.testing.assert_array_equal(np.load(io.BytesIO(data)), model.labels_)
    tab.send(action="show", view="table", id=2, columns=["x0", "x1"], bandwidth=[1.5, 15.0])
    clusters = tab.receive("clusters")
    assert clusters["bandwidth"] == [1.5, 15.0]
    assert "significant" not in clusters
    assert "MeanShiftPP([1.5, 15.0]).fit_predict" in clusters["code"]["python"]


def test_many_points_are_sent_as_a_density(tab):
    rng = np.random.default_rng(1)
    points = rng.normal([[0, 0]] * 90_000 + [[9, 9]] * 60_000).astype(np.float32)
    file = io.BytesIO()
    np.save(file, points)
    tab.open("points.npy", file.getvalue())
    tab.send(action="show", view="table", id=1, columns=["x0", "x1"], bandwidth=[1.0, 1.0])
    swept, clusters = tab.receive("points"), tab.receive("clusters")
    assert swept["rows"] == 150_000
    assert len(swept["pixels"]) == len(swept["brightness"]) == len(clusters["labels"]) < 150_000
    assert clusters["labels"].max() < clusters["n"]


def test_windows_and_clusters_equal_those_of_the_tracker(tab, tmp_path):
    path = write_clip(tmp_path / "clip.mp4", leaving())
    opened = tab.open("clip.mp4", path.read_bytes())
    assert (opened["width"], opened["height"], opened["frames"]) == (320, 240, 120)
    window = [56, 53, 48, 54]
    tab.send(action="show", view="video", id=1, mode="clusters", frame=2, window=window)
    colours = tab.receive("colours")["clusters"]
    with read_frames(path) as clip:
        frames = list(clip)
    truth = Tracker().clusters(frames[2], window)
    assert [each["share"] for each in colours] == [each.share for each in truth]
    assert [tuple(each["color"]) for each in colours] == [each.color for each in truth]

    tracker, rows = Tracker(), []
    for number, frame in enumerate(frames[2:], 2):
        if number == 2:
            tracker.init(frame, window, [0])
            ok, box = True, tracker.window
        else:
            ok, box = tracker.update(frame)
        rows.append(f"0,{number},{','.join(map(str, box))},{ok:d},{tracker.score:.4f}")
    start = {"view": "video", "frame": 2, "window": window, "clusters": [0]}
    _, _, data = tab.export(kind="csv", **start)
    assert data.decode().splitlines() == ["id,frame,x,y,w,h,ok,score", *rows]


def test_a_truncated_clip_is_shown_up_to_its_last_frame(tab, tmp_path):
    data = write_clip(tmp_path / "clip.mp4", leaving()).read_bytes()
    opened = tab.open("short.mp4", data[: len(data) // 2])
    assert opened["type"] == "opened"
    tab.send(action="show", view="video", id=1, mode="frame", frame=3)
    assert tab.receive("frame")["frame"] in (0, 3)
    tab.send(action="show", view="video", id=2, mode="frame", frame=119)
    assert "short.mp4" in tab.receive("error")["message"]
    assert "tiny.mp4" in tab.open("tiny.mp4", data[:400])["message"]


def test_a_long_job_reports_progress_and_can_be_cancelled(tab, tmp_path):
    tab.open("clip.mp4", write_clip(tmp_path / "clip.mp4", leaving()).read_bytes())
    tab.send(action="show", view="video", id=1, mode="track", frame=0, window=[56, 53, 48, 54])
    progress = tab.receive("progress")
    assert 0 <= progress["fraction"] <= 1
    tab.send(action="cancel")
    tab.receive("idle")
    tab.send(action="show", view="video", id=2, mode="frame", frame=0)
    assert tab.receive("frame")["frame"] == 0
