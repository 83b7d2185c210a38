"""Uploads and requests: good files, damaged files, limits, and messages that make no sense."""

import re
import time

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.apps.studio.sample_files import decompression_bomb, png, write_clip
from tests.apps.studio.studio_server import running

from meanshiftpp.apps.studio.session import Job, Source
from meanshiftpp.apps.studio.table_view import TableView
from meanshiftpp.errors import InvalidInputError
from meanshiftpp.tracking.clips import leaving


def test_a_file_above_the_upload_limit_is_rejected_with_advice(tab):
    status, reply = tab.upload("large.png", bytes(8 * 2**20 + 1))
    assert status == 413
    assert "8 MB" in reply["message"]
    assert "--max-upload" in reply["message"]


def test_file_names_never_become_paths(studio, tab, photo):
    before = sorted(studio.temporary.parent.iterdir())
    opened = tab.open("../../../evil/../name.png", png(photo))
    assert (opened["type"], opened["name"]) == ("opened", "name.png")
    assert sorted(studio.temporary.parent.iterdir()) == before
    files = [path.name for path in studio.temporary.rglob("*") if path.is_file()]
    assert "0.png" in files
    assert not any("name" in name or "evil" in name for name in files)


def test_closing_a_tab_deletes_its_files(studio, photo):
    with studio.tab() as tab:
        tab.open("photo.png", png(photo))
        folders = len(list(studio.temporary.iterdir()))
        assert folders >= 1
    deadline = time.monotonic() + 20
    while len(list(studio.temporary.iterdir())) >= folders and time.monotonic() < deadline:
        time.sleep(0.05)
    assert len(list(studio.temporary.iterdir())) == folders - 1


def test_the_startup_file_is_opened_in_place(photo, tmp_path):
    """The file is neither copied nor changed, and nothing is written to its folder."""
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "photo.png").write_bytes(png(photo))
    with running(tmp_path, str(folder / "photo.png")) as studio, studio.tab() as tab:
        assert tab.hello["startup"] == {"view": "image", "name": str(folder / "photo.png")}
        tab.send(action="open", startup=True, view="image")
        assert tab.receive("opened")["name"] == str(folder / "photo.png")
        assert tab.export(view="image", kind="png")[0] == 200
        tab.open("other.png", png(photo[:40]))
    assert [path.name for path in folder.iterdir()] == ["photo.png"]
    assert (folder / "photo.png").read_bytes() == png(photo)


def test_a_bad_file_leaves_the_open_one_in_place(tab, photo, tmp_path):
    tab.open("clip.mp4", write_clip(tmp_path / "clip.mp4", leaving(), 10).read_bytes())
    tab.open("photo.png", png(photo))
    assert tab.open("junk.png", b"junk")["type"] == "error"
    assert tab.open("junk.mp4", b"junk")["type"] == "error"
    assert tab.export(view="image", kind="png")[0] == 200
    tab.send(action="show", view="video", id=1, mode="frame", frame=7)
    while tab.receive("frame")["frame"] != 7:
        pass


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("junk.png", b"not a picture at all", r"not? (a )?picture"),
        ("empty.jpg", b"", "empty"),
        ("junk.tif", bytes(300), "damaged"),
        ("bomb.png", decompression_bomb(12_000), "64 megapixels"),
        ("worse.png", decompression_bomb(60_000), "64 megapixels"),
        ("line.png", png(np.zeros((1, 65_501, 3))), "a side of 65,501 pixels"),
        ("junk.csv", b"\xff\xfe\x00,\n\x00", r"junk\.csv"),
        ("words.csv", b"a,b\nx,y\n", "no column of numbers"),
        ("one.csv", b"a,b\nx,1\ny,2\n", "two or three"),
        ("junk.parquet", b"PAR1 nothing", r"not? (a )?\.parquet table"),
        ("junk.npy", b"\x93NUMPY nothing", r"not? (an? )?\.npy array"),
        ("junk.mp4", b"nothing to see" * 50, r"not? (a )?video"),
    ],
)
def test_a_bad_file_is_reported_by_its_name_on_the_page(studio, tab, name, data, message):
    reply = tab.open(name, data)
    assert reply["type"] == "error"
    assert re.search(message, reply["message"])
    assert str(studio.temporary) not in reply["message"]
    assert tab.open("good.png", png(np.zeros((4, 4, 3))))["type"] == "opened"


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("junk.png", b"not a picture at all", "'junk.png' is not a picture"),
        ("empty.csv", b"a,b\n", "'empty.csv' has no rows"),
        ("it's; so.csv", b"a;b\n1;2\n", '"it\'s; so.csv" must separate its columns with commas'),
        ("junk.npy", b"\x93NUMPY nothing", "'junk.npy' is not a .npy array"),
    ],
)
def test_the_message_begins_with_the_name_of_the_file(tab, name, data, message):
    assert tab.open(name, data)["message"].startswith(message)


def test_a_value_that_cannot_be_read_is_reported_with_its_row_and_column(tmp_path):
    """The type of the column changes in the second block of 8 MiB, where 2^53 + 1 is not exact."""
    path = tmp_path / "0.csv"
    path.write_bytes(b"a,b\n%d,1\n" % (2**53 + 1) + b"1,1\n" * (3 << 20) + b"0.5,1\n")
    opening = TableView().open(Source(path, "late.csv", tmp_path), Job())
    with pytest.raises(InvalidInputError, match=r"^row 1, column 'a' "):
        list(opening)


def test_an_export_that_fails_is_reported_by_the_name_of_the_download(studio, tab, tmp_path):
    table = pa.table({"a": [0.0, 1.0], "b": [0.0, 1.0], "tags": [[1], [2]]})
    pq.write_table(table, tmp_path / "t.parquet")
    tab.open("t.parquet", (tmp_path / "t.parquet").read_bytes())
    status, _, reply = tab.export(view="table", kind="csv", columns=["a", "b"])
    assert status == 422
    assert b"'t-labels.csv' cannot be written: column 'tags'" in reply
    assert str(studio.temporary).encode() not in reply


@pytest.mark.parametrize("action", ["upload", "export"])
def test_a_session_that_has_ended_is_not_found(studio, action):
    status, _, body = studio.request("POST", f"{studio.path}{action}/nobody", b"{}")
    assert status == 404
    assert b"connect" in body


def test_a_page_that_does_not_exist_is_not_found(studio):
    status, _, body = studio.request("GET", f"{studio.path}nothing.js")
    assert status == 404
    assert b"page not found: nothing.js" in body


@pytest.mark.parametrize(
    ("view", "name", "kinds"),
    [("table", "a.csv", "parquet, csv"), ("video", "c.mp4", "mp4 or csv")],
)
def test_an_unknown_kind_of_export_is_rejected(tab, tmp_path, view, name, kinds):
    data = b"a,b\n1,2\n3,4\n"
    if view == "video":
        data = write_clip(tmp_path / name, leaving(), 3).read_bytes()
    tab.open(name, data)
    status, _, reply = tab.export(view=view, kind="doc", columns=["a", "b"], objects=[])
    assert status == 422
    assert f"a {view} cannot be exported as 'doc': choose".encode() in reply
    assert kinds.encode() in reply


def test_an_unknown_file_format_is_rejected(tab):
    status, reply = tab.upload("notes.txt", b"hello")
    assert status == 415
    assert "notes.txt" in reply["message"]
    assert ".png" in reply["message"]


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        ({"action": "show", "view": "image"}, "no picture is open"),
        ({"action": "show", "view": "table"}, "no table is open"),
        ({"action": "show", "view": "video"}, "no video is open"),
        ({"action": "show", "view": "video", "mode": "track"}, "no window is set"),
        ({"action": "show", "view": "video", "mode": "track", "objects": [7]}, "no window is set"),
        ({"action": "show", "view": "video", "mode": "track", "objects": []}, "1 to 8 windows"),
        ({"action": "open", "view": "image", "sample": "../../etc"}, "no sample"),
        ({"action": "open", "upload": "nothing"}, "no longer exists"),
        ({"action": "dance"}, "unknown action 'dance'"),
        ({"action": "show", "view": "nowhere"}, "view 'nowhere'"),
    ],
)
def test_a_request_that_cannot_be_handled_is_reported(tab, request_, message):
    tab.send(**request_)
    assert message in tab.receive("error")["message"]


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", "7", "{", '{"action": ["show"]}', '{"action": {}}']
)
def test_an_invalid_message_is_reported(tab, text):
    tab.socket.send(text)
    assert tab.receive("error")["message"].startswith("Invalid request: ")


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"bandwidth": -1}, "Bandwidth must be positive and finite, got -1"),
        ({"bandwidth": "wide"}, "Bandwidth must be positive and finite, got 'wide'"),
        ({"detail": 0}, "Detail must be positive and finite, got 0"),
        ({"space": "cmyk"}, "Colour space must be one of rgb, lab, luv, hsv, got 'cmyk'"),
        ({"spatial": True}, "Spatial cell size must be positive and finite, got True"),
    ],
)
def test_a_bad_setting_is_reported_under_the_label_of_its_control(tab, photo, setting, message):
    tab.open("photo.png", png(photo))
    tab.send(action="show", view="image", final=True, **setting)
    assert tab.receive("error")["message"] == message


@pytest.mark.parametrize("frame", [-3, "first", 1.5])
def test_a_bad_frame_number_is_reported_under_the_label_of_its_control(tab, tmp_path, frame):
    tab.open("clip.mp4", write_clip(tmp_path / "clip.mp4", leaving(), 3).read_bytes())
    tab.send(action="show", view="video", id=1, frame=frame)
    message = tab.receive("error")["message"]
    assert message == f"Frame must be a whole number from 0, got {frame!r}"


def test_a_bad_value_in_a_table_is_reported_with_its_row_and_column(tab):
    tab.open("points.csv", b"a,b\n1,2\n3,\n5,6\n")
    tab.send(action="show", view="table", id=1, columns=["a", "b"])
    assert tab.receive("error")["message"].startswith("row 2, column 'b' ")


@pytest.mark.parametrize("columns", [0.5, None, "ab", {"a": 1}, [0.5, 1], [["a"], "b"], ["a"]])
def test_columns_that_are_not_names_are_reported(tab, columns):
    tab.open("points.csv", b"a,b\n1,2\n3,4\n5,6\n")
    tab.send(action="show", view="table", id=1, columns=columns)
    message = tab.receive("error")["message"]
    assert message == f"choose two or three different columns, got {columns!r}"
