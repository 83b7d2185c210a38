"""Who may ask: only this machine's browser, on the page that was opened for it.

Another program or another site could send requests to a port of this machine. So every address
begins with a token that only the opened page knows; the Host must be a name of this machine, or a
site that points its own name here could read the answers; and a request that says it comes from
another origin is refused. All of it holds for pages, files and the WebSocket alike.
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
_ONLY_OURS = "default-src 'self'; img-src 'self' blob: data:"
_HEADERS = [
    (b"content-security-policy", f"{_ONLY_OURS}; frame-ancestors 'none'; base-uri 'none'".encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
]


def new_token() -> str:
    """Draw a token nobody can guess.

    Examples
    --------
    >>> from meanshiftpp.apps.studio.guard import new_token
    >>> len(new_token()) >= 32 and new_token() != new_token()
    True
    """
    return secrets.token_urlsafe(24)


class Guard:
    """An app in front of the app; what passes loses the token from its path.

    Parameters
    ----------
    app : ASGI application
        What is guarded.
    token : str
        The first part of every path.
    port : int
        The port served.
    """

    def __init__(self, app: App, token: str, port: int) -> None:
        self._app, self._token = app, token.encode()
        self._hosts = {f"{name}:{port}".encode() for name in NAMES}
        self._origins = {b"http://" + host for host in self._hosts}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        refusal = self._refusal(scope)
        if refusal:
            await _refuse(scope, receive, send, refusal)
            return
        rest = scope["path"].split("/", 2)[2:]
        inner = {**scope, "path": "/" + (rest[0] if rest else "")}
        inner["raw_path"] = inner["path"].encode()
        await self._app(inner, receive, _with_headers(send))

    def _refusal(self, scope: Scope) -> str:
        headers: dict[bytes, list[bytes]] = {}
        for name, value in scope["headers"]:
            headers.setdefault(name, []).append(value)
        host, origin = headers.get(b"host", []), headers.get(b"origin", [])
        if len(host) != 1 or host[0].lower() not in self._hosts:
            return "This page is for the machine it runs on; it does not answer to that name."
        if any(each.lower() not in self._origins for each in origin):
            return "Another site asked for this page; only the page itself may."
        given = scope["path"].split("/", 2)[1].encode("utf-8", "replace")
        if not secrets.compare_digest(given, self._token):
            return "The address needs its token: open the one that `meanshiftpp studio` printed."
        return ""


async def _refuse(scope: Scope, receive: Receive, send: Send, words: str) -> None:
    if scope["type"] == "websocket":
        await receive()
        await send({"type": "websocket.close", "code": 4403, "reason": words[:120]})
        return
    kind = [(b"content-type", b"text/plain; charset=utf-8")]
    await send({"type": "http.response.start", "status": 403, "headers": [*kind, *_HEADERS]})
    await send({"type": "http.response.body", "body": words.encode()})


def _with_headers(send: Send) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            message = {**message, "headers": [*message.get("headers", []), *_HEADERS]}
        await send(message)

    return sending
