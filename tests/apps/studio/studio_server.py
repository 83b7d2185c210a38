"""A real studio in a process of its own, and a plain client for it."""

import http.client
import json
import os
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote, urlsplit

from websockets.sync.client import connect


class Studio:
    """A running studio: where it is, and how to talk to it."""

    def __init__(self, url: str, temporary: Path) -> None:
        self.url, self.temporary = url, temporary
        parts = urlsplit(url)
        self.host, self.path = parts.netloc, parts.path

    def request(self, method, path, body=None, headers=None):
        """Send any request, right or wrong; give the status, the headers and the body."""
        link = http.client.HTTPConnection(self.host, timeout=60)
        link.request(method, path, body, headers or {})
        reply = link.getresponse()
        result = reply.status, dict(reply.getheaders()), reply.read()
        link.close()
        return result

    @contextmanager
    def tab(self):
        with connect(f"ws://{self.host}{self.path}socket", max_size=None) as socket:
            yield Tab(self, socket)


class Tab:
    """What a page does, without a page."""

    def __init__(self, studio, socket) -> None:
        self.studio, self.socket = studio, socket
        self.hello = self.hear("hello")

    def say(self, **wish):
        self.socket.send(json.dumps(wish))

    def hear(self, *types):
        """Wait for a message of some type; paint, so to speak, whatever comes before."""
        while True:
            message = self.socket.recv(timeout=20)
            words = unpacked(message) if isinstance(message, bytes) else json.loads(message)
            if isinstance(message, bytes):
                self.say(do="painted")
            if words["type"] in types:
                return words
            assert words["type"] != "error", words["words"]

    def upload(self, name, data):
        path = f"{self.studio.path}upload/{self.hello['session']}"
        status, _, body = self.studio.request("POST", path, data, {"x-file-name": quote(name)})
        return status, json.loads(body)

    def open(self, name, data):
        status, words = self.upload(name, data)
        assert status == 200, words
        self.say(do="open", view=words["view"], upload=words["upload"])
        return self.hear("opened", "error")

    def export(self, **wish):
        path = f"{self.studio.path}export/{self.hello['session']}"
        return self.studio.request("POST", path, json.dumps(wish))


def unpacked(message: bytes) -> dict:
    """Take a message apart, as the page does."""
    import numpy as np

    length = int.from_bytes(message[:4], "little")
    words = json.loads(message[4 : 4 + length])
    for name, kind, shape, at in words.pop("arrays"):
        count = int(np.prod(shape, dtype=int))
        words[name] = np.frombuffer(message, f"<{kind}", count, 4 + length + at).reshape(shape)
    return words


@contextmanager
def running(folder: Path, *options: str):
    """Start a studio whose temporary files are in a folder; end it in the end."""
    temporary = folder / "temporary"
    temporary.mkdir()
    command = [sys.executable, "-m", "meanshiftpp", "studio", "--no-open", *options]
    environment = {**os.environ, "TMPDIR": str(temporary)}
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=log, text=True, env=environment
        )
        try:
            url = process.stdout.readline().strip()
            assert url.startswith("http://127.0.0.1:"), (folder / "log").read_text()
            yield Studio(url, temporary)
            assert process.poll() is None, (folder / "log").read_text()
        finally:
            process.terminate()
            process.wait(20)
            process.stdout.close()
    assert list(temporary.iterdir()) == []
