"""Access control: tokens, host names, origins and ports."""

import socket

import pytest
from typer.testing import CliRunner
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from meanshiftpp.apps.cli.app import app
from meanshiftpp.apps.studio.server import serve
from meanshiftpp.errors import InvalidInputError


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


def test_other_host_names_are_rejected(studio):
    port = studio.host.split(":")[1]
    for host in ("evil.example", f"evil.example:{port}", "127.0.0.1", f"127.0.0.1.evil:{port}"):
        assert studio.request("GET", studio.path, headers={"host": host})[0] == 403
    assert studio.request("GET", studio.path, headers={"host": f"localhost:{port}"})[0] == 200


def test_foreign_origins_are_rejected(studio, tab):
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


def test_the_server_listens_on_127_0_0_1_only(studio):
    """A server on all interfaces would also accept connections on another loopback address."""
    port = int(studio.host.split(":")[1])
    socket.create_connection(("127.0.0.1", port), 5).close()
    with pytest.raises(OSError, match=r"refused|unreachable|timed out"):
        socket.create_connection(("127.0.0.2", port), 5)


def test_a_port_in_use_is_reported_with_advice():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(InvalidInputError, match=f"cannot listen on port {port}: .*--port 0"):
            serve(port=port)
        result = CliRunner().invoke(app, ["studio", "--no-open", "--port", str(port)])
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith(f"error: cannot listen on port {port}: ")
    assert len(result.stderr.splitlines()) == 1
