"""Access control: only the page that the studio opened on this machine may send requests.

Other programs and other sites can send requests to a local port, so three checks apply to pages,
files and the WebSocket:

- Every path begins with a token that only the opened page knows.
- The Host header must name this machine; otherwise a site that resolves its own name to 127.0.0.1
  (DNS rebinding) could read the responses.
- A request with the Origin header of another site is rejected.
"""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

__all__ = ["Guard", "new_token"]

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

NAMES = ("127.0.0.1", "localhost")
_CONTENT_POLICY = (
    "default-src 'self'; img-src 'self' blob: data:; frame-ancestors 'none'; base-uri 'none'"
)
_OPEN_PRINTED = "open the address that `meanshiftpp studio` printed."
_HEADERS = [
    (b"content-security-policy", _CONTENT_POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
]


def new_token() -> str:
    """Return a new random token of 192 bits.

    Examples
    --------
    >>> from meanshiftpp.apps.studio.guard import new_token
    >>> len(new_token()) >= 32 and new_token() != new_token()
    True
    """
    return secrets.token_urlsafe(24)


class Guard:
    """ASGI middleware that rejects foreign requests and removes the token from the path.

    Parameters
    ----------
    app : ASGI application
        The protected app.
    token : str
        The first part of every path.
    port : int
        The port of the server.
    """

    def __init__(self, app: App, token: str, port: int) -> None:
        self._app, self._token = app, token.encode()
        self._hosts = {f"{name}:{port}".encode() for name in NAMES}
        self._origins = {b"http://" + host for host in self._hosts}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on to the app, or reject it."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        problem = self._problem(scope)
        if problem:
            await _reject(scope, receive, send, problem)
            return
        rest = scope["path"].split("/", 2)[2:]
        inner = {**scope, "path": "/" + (rest[0] if rest else "")}
        inner["raw_path"] = inner["path"].encode()
        await self._app(inner, receive, _with_headers(send))

    def _problem(self, scope: Scope) -> str:
        headers: dict[bytes, list[bytes]] = {}
        for name, value in scope["headers"]:
            headers.setdefault(name, []).append(value)
        host, origin = headers.get(b"host", []), headers.get(b"origin", [])
        if len(host) != 1 or host[0].lower() not in self._hosts:
            return f"Requests must be addressed to 127.0.0.1 or localhost; {_OPEN_PRINTED}"
        if any(value.lower() not in self._origins for value in origin):
            return f"Requests from other sites are not allowed; {_OPEN_PRINTED}"
        token = scope["path"].split("/", 2)[1].encode("utf-8", "replace")
        if not secrets.compare_digest(token, self._token):
            return f"The token in the address is missing or wrong; {_OPEN_PRINTED}"
        return ""


async def _reject(scope: Scope, receive: Receive, send: Send, message: str) -> None:
    if scope["type"] == "websocket":
        await receive()
        await send({"type": "websocket.close", "code": 4403, "reason": message[:120]})
        return
    content_type = [(b"content-type", b"text/plain; charset=utf-8")]
    await send(
        {"type": "http.response.start", "status": 403, "headers": [*content_type, *_HEADERS]}
    )
    await send({"type": "http.response.body", "body": message.encode()})


def _with_headers(send: Send) -> Send:
    async def send_with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            message = {**message, "headers": [*message.get("headers", []), *_HEADERS]}
        await send(message)

    return send_with_headers
