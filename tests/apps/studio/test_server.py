"""The studio's server, asked by a plain client: who is let in, what is taken, what comes out."""

import contextlib
import io
import json
import socket
import time
import zlib

import numpy as np
import pytest
import tifffile
from PIL import Image
from tests.apps.studio.studio_server import running
from typer.testing import CliRunner
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from meanshiftpp import MeanShiftPP, picture, segment, sweep
from meanshiftpp.apps.cli.app import app
from meanshiftpp.apps.studio.server import serve
from meanshiftpp.errors import InvalidInputError
from meanshiftpp.tracking.clips import leaving
from meanshiftpp.tracking.tracker import Tracker
from meanshiftpp.video.frames import write_frames


@pytest.fixture(scope="module")
def studio(tmp_path_factory):
    with running(tmp_path_factory.mktemp("studio"), "--max-upload", "8") as studio:
        yield studio


@pytest.fixture
def tab(studio):
    with studio.tab() as tab:
        yield tab


def png(values) -> bytes:
    file = io.BytesIO()
    Image.fromarray(np.asarray(values, np.uint8)).save(file, "PNG")
    return file.getvalue()


@pytest.fixture(scope="module")
def photo():
    """Patches of colour with noise: regions and clusters that are not quite clean."""
    rng = np.random.default_rng(3)
    patches = rng.integers(0, 256, (6, 9, 3)).repeat(30, 0).repeat(30, 1)
    return (patches + rng.normal(0, 9, patches.shape)).clip(0, 255).astype(np.uint8)


# Who is let in


def test_only_the_right_token_opens_the_page(studio):
    assert studio.request("GET", studio.path)[0] == 200
    for path in ("/", "/wrong/", "/main.js", f"{studio.path[:-2]}/", f"/x{studio.path}"):
        status, _, body = studio.request("GET", path)
        assert status == 403
        assert b"token" in body


@pytest.mark.parametrize("name", ["", "index.html", "main.js", "image.js", "style.css", "icon.svg"])
def test_every_file_of_the_page_needs_the_token(studio, name):
    status, headers, body = studio.request("GET", studio.path + name)
    assert (status, bool(body)) == (200, True)
    assert headers["content-security-policy"].startswith("default-src 'self'")
    assert studio.request("GET", f"/{name}")[0] == 403


def test_another_host_name_is_refused(studio):
    port = studio.host.split(":")[1]
    for host in ("evil.example", f"evil.example:{port}", "127.0.0.1", f"127.0.0.1.evil:{port}"):
        assert studio.request("GET", studio.path, headers={"host": host})[0] == 403
    assert studio.request("GET", studio.path, headers={"host": f"localhost:{port}"})[0] == 200


def test_a_foreign_origin_is_refused(studio, tab):
    path = f"{studio.path}upload/{tab.hello['session']}"
    for origin in ("http://evil.example", "null", f"https://{studio.host}"):
        assert studio.request("POST", path, b"", {"origin": origin})[0] == 403
    with (
        pytest.raises(InvalidStatus, match="403"),
        connect(f"ws://{studio.host}{studio.path}socket", origin="http://evil.example"),
    ):
        pass
    with pytest.raises(InvalidStatus, match="403"), connect(f"ws://{studio.host}/wrong/socket"):
        pass
    with connect(f"ws://{studio.host}{studio.path}socket", origin=f"http://{studio.host}"):
        pass


def test_it_listens_on_one_address_of_this_machine(studio):
    """A server for all addresses would answer on another of the loopback's as well."""
    port = int(studio.host.split(":")[1])
    socket.create_connection(("127.0.0.1", port), 5).close()
    with pytest.raises(OSError, match=r"refused|unreachable|timed out"):
        socket.create_connection(("127.0.0.2", port), 5)


def test_a_port_in_use_is_named_with_what_to_do():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(InvalidInputError, match=f"cannot listen on port {port}: .*port 0"):
            serve(port=port)
        result = CliRunner().invoke(app, ["studio", "--no-open", "--port", str(port)])
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith(f"error: cannot listen on port {port}: ")
    assert len(result.stderr.splitlines()) == 1


# What is taken


def test_a_file_over_the_limit_is_answered_in_words(tab):
    status, words = tab.upload("large.png", bytes(8 * 2**20 + 1))
    assert status == 413
    assert "8 MB" in words["words"]
    assert "--max-upload" in words["words"]


def test_names_never_become_paths(studio, tab, photo):
    before = sorted(studio.temporary.parent.iterdir())
    opened = tab.open("../../../evil/../name.png", png(photo))
    assert (opened["type"], opened["name"]) == ("opened", "name.png")
    assert sorted(studio.temporary.parent.iterdir()) == before
    files = [path.name for path in studio.temporary.rglob("*") if path.is_file()]
    assert "0.png" in files
    assert not any("name" in name or "evil" in name for name in files)


def test_files_go_with_the_tab(studio, photo):
    with studio.tab() as tab:
        tab.open("photo.png", png(photo))
        folders = len(list(studio.temporary.iterdir()))
        assert folders >= 1
    deadline = time.monotonic() + 20
    while len(list(studio.temporary.iterdir())) >= folders and time.monotonic() < deadline:
        time.sleep(0.05)
    assert len(list(studio.temporary.iterdir())) == folders - 1


def test_a_file_to_begin_with_is_left_alone(photo, tmp_path):
    """It is opened where it is; nothing is written beside it."""
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "photo.png").write_bytes(png(photo))
    with running(tmp_path, str(folder / "photo.png")) as studio, studio.tab() as tab:
        assert tab.hello["startup"] == {"view": "image", "name": str(folder / "photo.png")}
        tab.say(do="open", startup=True, view="image")
        assert tab.hear("opened")["name"] == str(folder / "photo.png")
        assert tab.export(view="image", kind="png")[0] == 200
        tab.open("other.png", png(photo[:40]))
    assert [path.name for path in folder.iterdir()] == ["photo.png"]


def test_a_bad_file_leaves_the_good_one_open(tab, photo, tmp_path):
    tab.open("clip.mp4", clip_bytes(tmp_path, 10).read_bytes())
    tab.open("photo.png", png(photo))
    assert tab.open("junk.png", b"junk")["type"] == "error"
    assert tab.open("junk.mp4", b"junk")["type"] == "error"
    assert tab.export(view="image", kind="png")[0] == 200
    tab.say(do="show", view="video", n=1, what="frame", frame=7)
    while tab.hear("frame")["frame"] != 7:
        pass


def bomb(side: int) -> bytes:
    """A PNG of a few kilobytes that claims so many pixels a side."""

    def chunk(kind, data):
        return (
            len(data).to_bytes(4, "big") + kind + data + zlib.crc32(kind + data).to_bytes(4, "big")
        )

    header = side.to_bytes(4, "big") * 2 + bytes([8, 2, 0, 0, 0])
    pixels = zlib.compress(bytes(1000))
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")
    )


@pytest.mark.parametrize(
    ("name", "data", "words"),
    [
        ("junk.png", b"not a picture at all", "not a picture"),
        ("empty.jpg", b"", "empty"),
        ("junk.tif", bytes(300), "damaged"),
        ("bomb.png", bomb(12_000), "64 megapixels"),
        ("worse.png", bomb(60_000), "64 megapixels"),
        ("junk.csv", b"\xff\xfe\x00,\n\x00", "junk.csv"),
        ("words.csv", b"a,b\nx,y\n", "no column of numbers"),
        ("one.csv", b"a,b\nx,1\ny,2\n", "two or three"),
        ("junk.parquet", b"PAR1 nothing", "no .parquet table"),
        ("junk.npy", b"\x93NUMPY nothing", "no .npy array"),
        ("junk.mp4", b"nothing to see" * 50, "not a video"),
    ],
)
def test_a_bad_file_is_answered_in_words(studio, tab, name, data, words):
    answer = tab.open(name, data)
    assert answer["type"] == "error"
    assert words in answer["words"]
    assert str(studio.temporary) not in answer["words"]
    assert tab.open("good.png", png(np.zeros((4, 4, 3))))["type"] == "opened"


def test_an_unknown_kind_of_file_is_refused(tab):
    status, words = tab.upload("notes.txt", b"hello")
    assert status == 415
    assert "notes.txt" in words["words"]


@pytest.mark.parametrize(
    "wish",
    [
        {"do": "show", "view": "image"},
        {"do": "show", "view": "table"},
        {"do": "show", "view": "video"},
        {"do": "show", "view": "video", "what": "follow"},
        {"do": "open", "view": "image", "sample": "../../etc"},
        {"do": "open", "upload": "nothing"},
        {"do": "dance"},
        {"do": "show", "view": "nowhere"},
    ],
)
def test_a_wish_that_cannot_be_met_is_answered_in_words(tab, wish):
    tab.say(**wish)
    assert tab.hear("error")["words"]


@pytest.mark.parametrize("text", ["", "[]", "{}", "7", "{", '{"do": ["show"]}', '{"do": {}}'])
def test_nonsense_is_answered_in_words(tab, text):
    tab.socket.send(text)
    assert "not understood" in tab.hear("error")["words"]


@pytest.mark.parametrize(
    "setting",
    [{"bandwidth": -1}, {"bandwidth": "wide"}, {"detail": 0}, {"space": "cmyk"}, {"spatial": True}],
)
def test_bad_settings_are_answered_in_words(tab, photo, setting):
    tab.open("photo.png", png(photo))
    tab.say(do="show", view="image", final=True, **setting)
    assert tab.hear("error")["words"]


# What comes out


def labels_of(answer):
    """The label image of an answer, from 1."""
    return answer["table"][answer["ids"]]


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
def test_the_labels_are_those_of_segment(tab, photo, tmp_path, setting):
    tab.open("photo.png", png(photo))
    tab.say(do="show", view="image", n=1, final=True, **setting)
    answer = tab.hear("labels")
    truth = segment(photo, **setting)
    assert answer["full"]
    np.testing.assert_array_equal(labels_of(answer), truth + 1)
    np.testing.assert_array_equal(answer["counts"][1:], np.bincount(truth.ravel()))
    for kind, suffix in (("png", ".png"), ("tiff", ".tif")):
        _, headers, data = tab.export(view="image", kind=kind, **setting)
        assert f"photo-labels{suffix}" in headers["content-disposition"]
        (tmp_path / f"labels{suffix}").write_bytes(data)
        exported = picture.read(tmp_path / f"labels{suffix}").values
        np.testing.assert_array_equal(exported, truth + 1)


def test_a_masked_picture_keeps_its_mask(tab, photo):
    alpha = np.full(photo.shape[:2], 255)
    alpha[:, :50] = 0
    tab.open("photo.png", png(np.dstack([photo, alpha])))
    for regions in (True, False):
        tab.say(do="show", view="image", n=1, final=True, regions=regions)
        answer = labels_of(tab.hear("labels"))
        truth = segment(np.dstack([photo, alpha]).astype(np.uint8), regions=regions)
        np.testing.assert_array_equal(answer, truth + 1)


@pytest.mark.parametrize("times", [1, 5])
def test_pixels_without_data_are_masked(tab, photo, tmp_path, monkeypatch, times):
    """At full size and in a preview, and in the lines that give the same labels."""
    values = np.tile(photo, (times, times, 1)).astype(np.float32) / 255
    values[:, :50] = -9999
    path, nodata = tmp_path / "raster.tif", (42113, "s", 0, "-9999", True)
    tifffile.imwrite(path, values, photometric="rgb", compression="zlib", extratags=[nodata])
    tab.open(path.name, path.read_bytes())
    tab.say(do="show", view="image", n=1, final=True)
    answer = tab.hear("labels")
    while not answer["full"]:
        assert (labels_of(answer)[:, 0] == 0).all()
        answer = tab.hear("labels")
    truth = segment(values, mask=values[..., 0] >= 0)
    np.testing.assert_array_equal(labels_of(answer), truth + 1)
    monkeypatch.chdir(tmp_path)
    found: dict = {}
    exec(answer["lines"]["python"], found)
    np.testing.assert_array_equal(found["labels"], truth)


def test_four_bands_are_no_colours(tab, photo, tmp_path, monkeypatch):
    four = np.dstack([photo, photo[::-1, :, 0] // 128 * 200])
    path = tmp_path / "raster.tif"
    tifffile.imwrite(path, four, photometric="rgb", extrasamples=["unspecified"])
    tab.open(path.name, path.read_bytes())
    tab.say(do="show", view="image", n=1, final=True)
    answer = tab.hear("labels")
    truth = segment(four, space=None)
    np.testing.assert_array_equal(labels_of(answer), truth + 1)
    monkeypatch.chdir(tmp_path)
    found: dict = {}
    exec(answer["lines"]["python"], found)
    np.testing.assert_array_equal(found["labels"], truth)


def test_a_large_picture_is_answered_small_first_and_in_full_after(tab, photo):
    large = np.tile(photo, (5, 4, 1))
    tab.open("large.png", png(large))
    tab.say(do="show", view="image", n=1, final=True)
    small, full = tab.hear("labels"), tab.hear("labels")
    assert (small["full"], full["full"]) == (False, True)
    assert small["ids"].size < full["ids"].size == large[..., 0].size
    np.testing.assert_array_equal(labels_of(full), segment(large) + 1)
    # From now on a cut is a table: the ids are with the page already.
    has = [small["pieces"], full["pieces"]]
    tab.say(do="show", view="image", n=2, final=False, detail=3.0, has=has)
    cut = tab.hear("labels")
    assert cut["full"]
    assert "ids" not in cut
    np.testing.assert_array_equal(cut["table"][full["ids"]], segment(large, detail=3.0) + 1)


def test_the_last_of_several_releases_is_answered_in_full(tab, photo):
    """Also where the hierarchy it needs is made meanwhile for another."""
    large = np.tile(photo, (5, 4, 1))
    tab.open("large.png", png(large))
    for n, detail in enumerate((1.0, 2.0, 3.0), 1):
        tab.say(do="show", view="image", n=n, final=True, detail=detail)
        time.sleep(0.05)
    answer = tab.hear("labels")
    while not (answer["full"] and answer["wish"] == 3):
        answer = tab.hear("labels")
    np.testing.assert_array_equal(labels_of(answer), segment(large, detail=3.0) + 1)


def test_of_many_wishes_the_newest_wins(tab, photo):
    tab.open("photo.png", png(np.tile(photo, (3, 2, 1))))
    for n in range(1, 201):
        tab.say(do="show", view="image", n=n, final=False, regions=False, bandwidth=4 + n / 10)
    answered = []
    while not answered or answered[-1] < 200:
        answered.append(tab.hear("labels")["wish"])
    assert answered == sorted(answered)
    assert answered[-1] == 200
    assert len(answered) < 150


def test_nothing_is_sent_that_the_page_does_not_paint(tab, photo):
    """A page that stops painting gets two answers and no more; the rest waits, and is one."""
    tab.open("photo.png", png(photo))
    for n in range(1, 9):
        tab.say(do="show", view="image", n=n, final=False, detail=1 + n / 10)
        time.sleep(0.15)
    seen, deadline = [], time.monotonic() + 3
    while time.monotonic() < deadline:
        with contextlib.suppress(TimeoutError):
            seen.append(tab.socket.recv(timeout=0.5))
    assert [isinstance(message, bytes) for message in seen].count(True) == 2


def test_a_mask_and_a_palette(tab, photo, tmp_path):
    tab.open("photo.png", png(photo))
    truth = segment(photo, detail=2.0)
    _, _, data = tab.export(view="image", kind="mask", detail=2.0, selected=[0, 3])
    (tmp_path / "mask.png").write_bytes(data)
    mask = picture.read(tmp_path / "mask.png").values
    np.testing.assert_array_equal(mask, np.isin(truth, [0, 3]) * 255)
    _, _, data = tab.export(view="image", kind="palette", detail=2.0)
    palette = json.loads(data)
    assert [each["pixels"] for each in palette] == np.bincount(truth.ravel()).tolist()
    assert palette[0]["rgb"] == np.rint(photo[truth == 0].mean(axis=0)).tolist()
    status, _, body = tab.export(view="image", kind="mask", detail=2.0, selected=[])
    assert status == 422
    assert "selected" in json.loads(body)["words"]


@pytest.fixture(scope="module")
def points():
    rng = np.random.default_rng(0)
    return rng.normal([[0, 0, 5]] * 400 + [[9, 90, 5]] * 300 + [[0, 90, 50]] * 200, [1, 10, 3])


def test_the_table_s_labels_are_those_of_the_estimator(tab, points, tmp_path):
    text = "\n".join(["a,b,c,name", *(f"{a!r},{b!r},{c!r},x" for a, b, c in points.tolist())])
    opened = tab.open("points.csv", text.encode())
    assert opened["columns"] == ["a", "b", "c"]
    for columns, h in ((["a", "b"], [1.5, 15.0]), (["a", "b", "c"], [1.5, 15.0, 5.0])):
        tab.say(do="show", view="table", n=1, columns=columns, bandwidth=h)
        swept, found = tab.hear("points"), tab.hear("clusters")
        assert len(swept["clusters"]) == len(swept["multiples"]) > 5
        assert swept["large"] == sweep(points[:, : len(columns)]).n_large.tolist()
        truth = MeanShiftPP(h).fit_predict(points[:, : len(columns)])
        np.testing.assert_array_equal(found["labels"], truth)
        _, _, data = tab.export(view="table", kind="npy", columns=columns, bandwidth=h)
        np.testing.assert_array_equal(np.load(io.BytesIO(data)), truth)
        _, _, data = tab.export(view="table", kind="csv", columns=columns, bandwidth=h)
        lines = data.decode().splitlines()
        assert lines[0] == '"a","b","c","name","label"'
        assert [int(line.rpartition(",")[2]) for line in lines[1:]] == truth.tolist()


def test_many_points_come_as_a_density(tab):
    rng = np.random.default_rng(1)
    points = rng.normal([[0, 0]] * 90_000 + [[9, 9]] * 60_000).astype(np.float32)
    file = io.BytesIO()
    np.save(file, points)
    tab.open("points.npy", file.getvalue())
    tab.say(do="show", view="table", n=1, columns=["x0", "x1"], bandwidth=[1.0, 1.0])
    swept, found = tab.hear("points"), tab.hear("clusters")
    assert swept["rows"] == 150_000
    assert len(swept["pixels"]) == len(swept["bright"]) == len(found["labels"]) < 150_000
    assert found["labels"].max() < found["n"]


def test_a_bad_cell_is_named(tab):
    tab.open("points.csv", b"a,b\n1,2\n3,\n5,6\n")
    tab.say(do="show", view="table", n=1, columns=["a", "b"])
    words = tab.hear("error")["words"]
    assert "row 2, column 'b'" in words


def clip_bytes(tmp_path, frames=120):
    path = tmp_path / "clip.mp4"
    with write_frames(path, 25, (320, 240)) as put:
        for frame, _ in list(leaving())[:frames]:
            put(frame)
    return path


def test_a_clip_is_followed_as_the_tracker_does(tab, tmp_path):
    from meanshiftpp.video.frames import read_frames

    path = clip_bytes(tmp_path)
    opened = tab.open("clip.mp4", path.read_bytes())
    assert (opened["width"], opened["height"], opened["count"]) == (320, 240, 120)
    window = [56, 53, 48, 54]
    tab.say(do="show", view="video", n=1, what="clusters", frame=2, window=window)
    colours = tab.hear("colours")["clusters"]
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
        rows.append(f"{number},{','.join(map(str, box))},{ok:d},{tracker.score:.4f}")
    wish = {"view": "video", "frame": 2, "window": window, "clusters": [0]}
    _, _, data = tab.export(kind="csv", **wish)
    assert data.decode().splitlines() == ["frame,x,y,w,h,ok,score", *rows]


def test_a_clip_that_is_cut_off_is_shown_as_far_as_it_goes(tab, tmp_path):
    data = clip_bytes(tmp_path).read_bytes()
    opened = tab.open("short.mp4", data[: len(data) // 2])
    assert opened["type"] == "opened"
    tab.say(do="show", view="video", n=1, what="frame", frame=3)
    assert tab.hear("frame")["frame"] in (0, 3)
    tab.say(do="show", view="video", n=2, what="frame", frame=119)
    assert "short.mp4" in tab.hear("error")["words"]
    assert "tiny.mp4" in tab.open("tiny.mp4", data[:400])["words"]


def test_work_that_takes_long_shows_and_can_be_stopped(tab, tmp_path):
    tab.open("clip.mp4", clip_bytes(tmp_path).read_bytes())
    tab.say(do="show", view="video", n=1, what="follow", frame=0, window=[56, 53, 48, 54])
    busy = tab.hear("busy")
    assert 0 <= busy["part"] <= 1
    tab.say(do="stop")
    tab.hear("idle")
    tab.say(do="show", view="video", n=2, what="frame", frame=0)
    assert tab.hear("frame")["frame"] == 0
