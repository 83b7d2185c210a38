"""A real studio in a separate process, and a client that speaks its protocol without a page."""

import http.client
import json
import os
import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote, urlsplit

import numpy as np
from websockets.sync.client import connect


class Studio:
    """A running studio: its address and a way to send requests."""

    def __init__(self, url: str, temporary: Path, process: subprocess.Popen) -> None:
        self.url, self.temporary, self.process = url, temporary, process
        parts = urlsplit(url)
        self.host, self.path = parts.netloc, parts.path

    def request(self, method, path, body=None, headers=None):
        """Send any HTTP request; return the status, the headers and the body."""
        link = http.client.HTTPConnection(self.host, timeout=60)
        link.request(method, path, body, headers or {})
        response = link.getresponse()
        result = response.status, dict(response.getheaders()), response.read()
        link.close()
        return result

    @contextmanager
    def tab(self):
        with connect(f"ws://{self.host}{self.path}socket", max_size=None) as socket:
            yield Tab(self, socket)


class Tab:
    """The page's side of the protocol."""

    def __init__(self, studio, socket) -> None:
        self.studio, self.socket = studio, socket
        self.hello = self.receive("hello")

    def send(self, **request):
        self.socket.send(json.dumps(request))

    def receive(self, *types):
        """Wait for a message of one of the types; report every binary message as painted."""
        while True:
            data = self.socket.recv(timeout=20)
            message = unpack(data) if isinstance(data, bytes) else json.loads(data)
            if isinstance(data, bytes):
                self.send(action="painted")
            if message["type"] in types:
                return message
            assert message["type"] != "error", message["message"]

    def upload(self, name, data):
        path = f"{self.studio.path}upload/{self.hello['session']}"
        status, _, body = self.studio.request("POST", path, data, {"x-file-name": quote(name)})
        return status, json.loads(body)

    def open(self, name, data):
        status, reply = self.upload(name, data)
        assert status == 200, reply
        self.send(action="open", view=reply["view"], upload=reply["upload"])
        return self.receive("opened", "error")

    def export(self, **request):
        path = f"{self.studio.path}export/{self.hello['session']}"
        return self.studio.request("POST", path, json.dumps(request))


def unpack(message: bytes) -> dict:
    """Decode a binary message, as the page does."""
    length = int.from_bytes(message[:4], "little")
    fields = json.loads(message[4 : 4 + length])
    for name, dtype, shape, offset in fields.pop("arrays"):
        count = int(np.prod(shape, dtype=int))
        values = np.frombuffer(message, f"<{dtype}", count, 4 + length + offset)
        fields[name] = values.reshape(shape)
    return fields


@contextmanager
def running(folder: Path, *options: str, ends: bool = False):
    """Run a studio with its temporary files in a folder; check that it removes all of them.

    `ends` allows the block to end the process.
    """
    temporary = folder / "temporary"
    temporary.mkdir(exist_ok=ends)
    command = [sys.executable, "-m", "meanshiftpp", "studio", "--no-open", *options]
    environment = {**os.environ, "TMPDIR": str(temporary)}
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=log, text=True, env=environment
        )
        try:
            url = process.stdout.readline().strip()
            assert url.startswith("http://127.0.0.1:"), (folder / "log").read_text()
            yield Studio(url, temporary, process)
            ended = process.poll() is not None and not ends
            assert not ended, (folder / "log").read_text()
        finally:
            process.terminate()
            process.wait(20)
            process.stdout.close()
    if process.returncode != -signal.SIGKILL:
        assert list(temporary.iterdir()) == []
