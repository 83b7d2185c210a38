"""Signals, cancelled uploads and messages that no page sends: files go, the tab stays."""

from __future__ import annotations

import http.client
import json
import signal
import socket
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from itertools import count
from pathlib import Path

import pytest
from tests.apps.studio.sample_files import png
from tests.apps.studio.studio_server import running

from meanshiftpp._support import leftovers
from meanshiftpp.apps.studio.server import MAX_REQUEST
from meanshiftpp.apps.studio.session import MAX_UNOPENED, Session
from meanshiftpp.errors import FileAccessError, InvalidInputError


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert condition()


def files(studio) -> list[str]:
    return sorted(path.name for path in studio.temporary.rglob("*") if path.is_file())


def start_upload(studio, tab) -> http.client.HTTPConnection:
    """Send a quarter of a file."""
    link = http.client.HTTPConnection(studio.host, timeout=20)
    link.putrequest("POST", f"{studio.path}upload/{tab.hello['session']}")
    link.putheader("x-file-name", "half.png")
    link.putheader("content-length", str(4 << 20))
    link.endheaders()
    link.send(bytes(1 << 20))
    return link


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_studio_without_leaving_files(tmp_path, photo, number):
    if signal.getsignal(number) == signal.SIG_IGN:
        pytest.skip("the tests run under nohup, and the studio inherits that SIGHUP is ignored")
    with running(tmp_path, ends=True) as studio, studio.tab() as tab:
        tab.open("photo.png", png(photo))
        tab.upload("again.png", png(photo))
        before = files(studio)
        link = start_upload(studio, tab)
        wait_until(lambda: files(studio) != before)
        studio.process.send_signal(number)
        studio.process.wait(20)
        link.close()
        assert list(studio.temporary.iterdir()) == []
    assert "Traceback" not in (tmp_path / "log").read_text()


def test_the_next_studio_removes_the_files_of_a_killed_one(tmp_path, photo):
    with running(tmp_path, ends=True) as studio, studio.tab() as tab:
        tab.open("photo.png", png(photo))
        studio.process.kill()
        studio.process.wait(20)
        assert len(list(studio.temporary.iterdir())) == 1
    with running(tmp_path, ends=True) as studio:
        assert list(studio.temporary.iterdir()) == []
        with studio.tab():
            leftovers.sweep(studio.temporary)
            assert len(list(studio.temporary.iterdir())) == 1  # the studio still runs


def test_a_cancelled_upload_leaves_no_file(studio, tab):
    before = files(studio)
    for _ in range(3):
        link = start_upload(studio, tab)
        wait_until(lambda: files(studio) != before)
        link.close()
        wait_until(lambda: files(studio) == before)


def test_uploads_that_are_not_opened_are_limited(studio, tab, photo):
    before = len(files(studio))
    for number in range(MAX_UNOPENED + 3):
        assert tab.upload(f"{number}.png", png(photo))[0] == 200
    assert len(files(studio)) == before + MAX_UNOPENED


@pytest.mark.parametrize(
    ("message", "problem"),
    [
        (b"\x00\x01", "expected a JSON text, got a binary message"),
        ("[" * 100_000 + "]" * 100_000, "recursion"),
        ('{"action":' * 100_000, "recursion"),
        ("", "Invalid request"),
        ("1" * 9999, "Invalid request"),
        ('{"action": "\\ud800"}', "unknown action"),
        ('{"action": {"a": []}}', "unknown action"),
        ('{"action": "open", "view": [1]}', "Invalid request"),
        ("null", "Invalid request"),
    ],
    ids=[
        "binary",
        "deep list",
        "deep object",
        "empty",
        "long",
        "surrogate",
        "object",
        "list",
        "null",
    ],
)
def test_a_message_that_no_page_sends_is_answered_and_the_tab_stays(tab, photo, message, problem):
    tab.socket.send(message)
    assert problem in tab.receive("error")["message"]
    assert tab.open("photo.png", png(photo))["type"] == "opened"


@pytest.mark.parametrize("request_body", ["[" * 100_000, "1", "[]", '{"view": []}', b"\xff"])
def test_an_export_request_that_no_page_sends_is_an_error(studio, tab, request_body):
    path = f"{studio.path}export/{tab.hello['session']}"
    status, _, body = studio.request("POST", path, request_body)
    assert (status, json.loads(body)) == (400, {"message": "invalid request"})


def test_the_request_for_an_export_is_limited(studio, tab):
    """A body was held in memory whatever its size."""
    path = f"{studio.path}export/{tab.hello['session']}"
    link = socket.create_connection(studio.host.split(":"), timeout=60)
    head = f"POST {path} HTTP/1.1\r\nHost: {studio.host}\r\nTransfer-Encoding: chunked\r\n\r\n"
    with link:
        link.sendall(head.encode() + b"%x\r\n" % (MAX_REQUEST + 1) + b" " * (MAX_REQUEST + 1))
        reply = http.client.HTTPResponse(link)  # before the end of the body
        reply.begin()
        assert reply.status == 413
        assert json.loads(reply.read())["message"].endswith("at most 1,048,576 bytes")


def test_slow_clients_do_not_delay_others(studio, tab, photo):
    """Some send the head of a request byte by byte, some the body, and some nothing."""
    before = files(studio)
    with ExitStack() as stack:
        for _ in range(40):
            link = socket.create_connection(studio.host.split(":"))
            stack.enter_context(link).sendall(b"POST / HTT")
            stack.enter_context(socket.create_connection(studio.host.split(":")))
        stack.callback(start_upload(studio, tab).close)
        assert tab.open("photo.png", png(photo))["type"] == "opened"
        assert studio.request("GET", studio.path)[0] == 200
    wait_until(lambda: len(files(studio)) == len(before) + 1)  # the photograph


async def send(_: object) -> None:
    pass


@pytest.fixture
def session():
    session = Session("id", send, send, pool=None)  # type: ignore[arg-type]
    yield session
    session.close()


def test_a_tab_that_closes_during_an_export_leaves_no_folder(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    for _ in range(200):
        session = Session("id", send, send, pool=None)  # type: ignore[arg-type]
        begun = threading.Event()
        worker = threading.Thread(target=write_until_gone, args=(session.folder, begun))
        worker.start()
        begun.wait()
        session.close()
        worker.join()
        assert list(tmp_path.iterdir()) == []


def write_until_gone(folder: Path, begun: threading.Event) -> None:
    """Create files as a worker does, until their folder no longer exists."""
    for number in count():
        begun.set()
        try:
            (folder / str(number)).write_bytes(b"")
        except OSError:
            break


def test_errors_show_the_name_of_the_uploaded_file(session):
    path = session.new_upload("towns.csv").path
    for error, expected in (
        (FileAccessError.for_file(path, "read", "gone"), "cannot read 'towns.csv': gone"),
        (InvalidInputError.for_file(path, "is empty"), "'towns.csv' is empty"),
        (
            InvalidInputError("is 'x', not a number", place=f"{path}, row 3, column 'a'"),
            "towns.csv, row 3, column 'a' is 'x', not a number",
        ),
    ):
        assert session.error_message(error) == expected


def test_errors_show_the_name_of_the_exported_file(session):
    def fail(path):
        raise FileAccessError.for_file(path, "write", "No space left on device")

    with pytest.raises(FileAccessError, match=r"^cannot write 'labels\.csv': No space left"):
        session.new_upload("towns.csv").export("labels.csv", fail)
