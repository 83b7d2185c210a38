"""The web app: the page and its files, uploads, downloads, and one WebSocket per tab.

A tab is a session for as long as its WebSocket is open. Uploads and downloads are HTTP requests
with the session's id in their path; everything else goes through the WebSocket. The name of an
uploaded file is displayed but never used as a path: the session stores its files under numbers in
a folder that is deleted with the session.
"""

from __future__ import annotations

import asyncio
import ctypes
import json
import secrets
import signal
import socket
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from importlib import resources
from pathlib import Path, PurePath
from typing import Any
from urllib.parse import quote, unquote

import uvicorn
from fastapi import FastAPI, Response, WebSocket, WebSocketDisconnect
from fastapi import Request as HTTPRequest
from fastapi.responses import JSONResponse
from starlette.requests import ClientDisconnect

from meanshiftpp import __version__
from meanshiftpp._support import leftovers
from meanshiftpp.apps.studio import samples
from meanshiftpp.apps.studio.guard import App, Guard, new_token
from meanshiftpp.apps.studio.image_view import ImageView
from meanshiftpp.apps.studio.page_warnings import routed_warnings
from meanshiftpp.apps.studio.session import (
    Cancelled,
    Handler,
    Job,
    Previewing,
    Reply,
    Request,
    Session,
    Source,
    View,
)
from meanshiftpp.apps.studio.table_view import FORMATS as TABLE_FORMATS
from meanshiftpp.apps.studio.table_view import TableView
from meanshiftpp.apps.studio.video_view import VideoView
from meanshiftpp.errors import InvalidInputError
from meanshiftpp.images.picture import PICTURE_FORMATS
from meanshiftpp.video.frames import VIDEO_FORMATS, is_video

__all__ = ["Studio", "make_app", "serve"]

VIEWS: dict[str, Callable[[], View]] = {"image": ImageView, "table": TableView, "video": VideoView}
MAX_UPLOAD = 2 * 2**30  # bytes
MAX_REQUEST = 2**20  # bytes of a message or the description of an export
THREADS = 8
_M_MMAP_THRESHOLD, _MMAP_BYTES = -3, 2**20  # the number of glibc's mallopt option, and its value
_DISCONNECTED = "this tab is no longer connected: reload the page"
_MEDIA_TYPES = {
    ".html": "text/html",
    ".js": "text/javascript",
    ".css": "text/css",
    ".svg": "image/svg+xml",
}


class Studio:
    """All tabs of one server.

    Parameters
    ----------
    startup : path, optional
        A file that every new tab opens.
    max_upload : int
        Largest size of an uploaded file in bytes.
    """

    def __init__(self, startup: Path | None = None, max_upload: int = MAX_UPLOAD) -> None:
        self.startup, self.max_upload = startup, max_upload
        self.sessions: dict[str, Session] = {}
        self.pool = ThreadPoolExecutor(THREADS, "studio")

    # -- a tab ---------------------------------------------------------------------------------

    async def serve_tab(self, socket: WebSocket) -> None:
        """Handle the messages of a tab until it closes."""
        await socket.accept()

        async def send_json(fields: dict[str, Any]) -> None:
            await socket.send_text(json.dumps(fields))

        session = Session(secrets.token_urlsafe(12), send_json, socket.send_bytes, self.pool)
        session.views = {name: make() for name, make in VIEWS.items()}
        self.sessions[session.id] = session
        workers = (session.preview_worker, session.full_worker)
        tasks = [asyncio.create_task(worker.run()) for worker in workers]
        try:
            await send_json(self._hello(session))
            while (message := await socket.receive())["type"] == "websocket.receive":
                await self._handle_message(session, message.get("text"))
        except (WebSocketDisconnect, RuntimeError):  # a tab may close at any moment
            pass
        finally:
            del self.sessions[session.id]
            session.close()
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def _hello(self, session: Session) -> dict[str, Any]:
        startup = None
        if self.startup is not None:
            startup = {"view": view_of(self.startup.name), "name": str(self.startup)}
        return {
            "type": "hello",
            "session": session.id,
            "version": __version__,
            "max_upload": self.max_upload,
            "samples": samples.available(),
            "startup": startup,
            "formats": {
                "image": PICTURE_FORMATS,
                "table": TABLE_FORMATS,
                "video": VIDEO_FORMATS,
            },
        }

    async def _handle_message(self, session: Session, text: str | None) -> None:
        """Handle a message of the page; `text` is None for a binary one, which no page sends."""
        try:
            if text is None:
                raise ValueError("expected a JSON text, got a binary message")
            self._dispatch(session, json.loads(text))
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            message = f"Invalid request: {error}"
            await session.send_json({"type": "error", "view": None, "message": message})

    def _dispatch(self, session: Session, request: Request) -> None:
        """Pass a request from the page to the worker and the view that handle it."""
        action, view = request["action"], session.views.get(request.get("view", ""))
        if action == "painted":
            session.note_painted()
        elif action == "cancel":
            session.cancel_jobs()
        elif action == "open":
            session.full_worker.cancel()
            session.preview_worker.submit(request, self._open_handler(session))
        elif action == "show" and view is not None:
            session.preview_worker.submit(request, view.show)
            if request.get("final") and isinstance(view, Previewing):
                session.full_worker.submit(request, view.finish)
        else:
            raise ValueError(f"unknown action {action!r} or view {request.get('view')!r}")

    def _open_handler(self, session: Session) -> Handler:
        def handle(request: Request, job: Job) -> Iterator[Reply]:
            source = self._find_source(session, request, job)
            name = view_of(source.name)
            try:
                yield from session.views[name].open(source, job)
            except BaseException:
                session.remove(source)
                raise
            session.set_opened(name, source)

        return handle

    def _find_source(self, session: Session, request: Request, job: Job) -> Source:
        """Return the startup file, an uploaded file, or a sample that is written first."""
        if request.get("startup") and self.startup is not None:
            return Source(self.startup, str(self.startup), session.folder)
        if "upload" in request:
            uploaded = session.uploads.pop(str(request["upload"]), None)
            if uploaded is None:
                raise InvalidInputError("the uploaded file no longer exists: drop it again")
            return uploaded
        view, name = str(request.get("view")), str(request.get("sample"))
        if name not in samples.available().get(view, {}):
            raise InvalidInputError(f"there is no sample {name!r}: choose one on the page")
        job.update(description="Creating the sample")
        return samples.write(view, name, session.folder)

    # -- files in and out ----------------------------------------------------------------------

    async def upload(self, request: HTTPRequest, session_id: str) -> Response:
        """Store a file in the session's folder, unless it is too large."""
        session = self.sessions.get(session_id)
        if session is None:
            return _error_response(404, _DISCONNECTED)
        name = PurePath(unquote(request.headers.get("x-file-name", "file"))).name[-200:] or "file"
        if int(request.headers.get("content-length") or 0) > self.max_upload:
            return _error_response(413, too_large(name, self.max_upload))
        try:
            view = view_of(name)
        except InvalidInputError as error:
            return _error_response(415, str(error))
        source = session.new_upload(name)
        try:
            problem = await self._store(request, source)
        except BaseException:  # such as a page that cancels its upload
            session.remove(source)
            raise
        if problem is not None:
            session.remove(source)
            return problem
        key = secrets.token_urlsafe(9)
        session.add_upload(key, source)
        return JSONResponse({"upload": key, "view": view, "name": name})

    async def _store(self, request: HTTPRequest, source: Source) -> Response | None:
        """Write the body of an upload to its file; return the response to one that fails."""
        size = 0
        try:
            with source.path.open("wb") as file:
                async for chunk in request.stream():
                    size += len(chunk)
                    if size > self.max_upload:
                        return _error_response(413, too_large(source.name, self.max_upload))
                    file.write(chunk)
        except OSError as error:
            return _error_response(507, f"{source.name!r} cannot be stored: {error.strerror}")
        except (ClientDisconnect, asyncio.CancelledError):  # by the page, or the end of the studio
            return _error_response(400, f"the upload of {source.name!r} was cancelled")
        return None

    async def export(self, request: HTTPRequest, session_id: str) -> Response:
        """Create a file in a worker and return it as a download."""
        session = self.sessions.get(session_id)
        if session is None:
            return _error_response(404, _DISCONNECTED)
        body = b""
        try:
            async for chunk in request.stream():
                if len(body) + len(chunk) > MAX_REQUEST:
                    problem = f"a request must have at most {MAX_REQUEST:,} bytes"
                    return _error_response(413, problem)
                body += chunk
            fields = json.loads(body)
            view = session.views[fields["view"]]
        except (ValueError, KeyError, TypeError, RecursionError, ClientDisconnect):
            return _error_response(400, "invalid request")
        result: asyncio.Future[tuple[str, bytes]] = asyncio.get_running_loop().create_future()
        session.exports.add(result)
        result.add_done_callback(session.exports.discard)
        session.full_worker.submit({**fields, "action": "export"}, _export_handler(view, result))
        try:
            name, data = await result
        except asyncio.CancelledError:
            return _error_response(404, "the tab was closed")
        except Exception as error:
            return _error_response(422, session.error_message(error))
        return Response(
            data,
            media_type="application/octet-stream",
            headers={"content-disposition": f"attachment; filename*=UTF-8''{quote(name, safe='')}"},
        )


def make_app(studio: Studio) -> FastAPI:
    """Build the app: the WebSocket, uploads, exports and the files of the page."""
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)

    @app.websocket("/socket")
    async def _(socket: WebSocket) -> None:
        await studio.serve_tab(socket)

    @app.post("/upload/{session}")
    async def _(request: HTTPRequest, session: str) -> Response:
        return await studio.upload(request, session)

    @app.post("/export/{session}")
    async def _(request: HTTPRequest, session: str) -> Response:
        return await studio.export(request, session)

    pages = {file.name: file.read_bytes() for file in _page_files()}

    @app.get("/{name}")
    async def _(name: str) -> Response:
        if name not in pages:
            return _error_response(404, f"page not found: {name}")
        return Response(pages[name], media_type=_MEDIA_TYPES[PurePath(name).suffix])

    @app.get("/")
    async def _() -> Response:
        return Response(pages["index.html"], media_type="text/html")

    return app


def serve(
    startup: Path | None = None,
    *,
    port: int = 0,
    max_upload: int = MAX_UPLOAD,
    ready: Callable[[str], None] = print,
) -> None:
    """Serve until interrupted; `ready` is called with the address once it accepts connections."""
    if startup is not None:
        view_of(startup.name)
    with socket.socket() as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind(("127.0.0.1", port))
        except OSError as error:
            raise InvalidInputError(
                f"cannot listen on port {port}: {error.strerror}; --port 0 uses a free port"
            ) from error
        _return_freed_memory()
        leftovers.sweep(Path(tempfile.gettempdir()))
        port = listening.getsockname()[1]
        token, studio = new_token(), Studio(startup, max_upload)
        app: App = Guard(make_app(studio), token, port)
        config = uvicorn.Config(
            app,
            log_level="warning",
            ws_per_message_deflate=False,
            ws_max_size=MAX_REQUEST,
            server_header=False,
            timeout_graceful_shutdown=1,
            lifespan="off",
        )
        server = _Server(config, lambda: ready(f"http://127.0.0.1:{port}/{token}/"))
        with routed_warnings(), suppress(KeyboardInterrupt):
            server.run(sockets=[listening])
        studio.pool.shutdown(wait=False, cancel_futures=True)


def _return_freed_memory() -> None:
    """Make glibc return the memory of freed arrays to the system at once.

    By default glibc raises its threshold when the first large array is freed, and each thread then
    keeps such memory: with ten tabs the process held four times the memory in use.
    """
    with suppress(OSError, AttributeError, TypeError):  # systems without glibc
        ctypes.CDLL(None).mallopt(_M_MMAP_THRESHOLD, _MMAP_BYTES)


class _Server(uvicorn.Server):
    """A server that calls `ready` once it accepts connections, and closes them at SIGHUP too."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._ready()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Close connections before a signal ends the process; uvicorn omits SIGHUP."""
        with super().capture_signals():
            number = getattr(signal, "SIGHUP", None)  # Windows has none
            before = None if number is None else signal.getsignal(number)
            if number is None or not callable(before):  # `nohup` ignores it
                yield
                return
            signal.signal(number, self.handle_exit)
            try:
                yield
            finally:
                signal.signal(number, before)


# -- internals ---------------------------------------------------------------------------------


def view_of(name: str) -> str:
    """Return the view that opens a file, chosen by its suffix.

    Examples
    --------
    >>> from meanshiftpp.apps.studio.server import view_of
    >>> view_of("photo.JPG"), view_of("points.csv"), view_of("clip.mp4")
    ('image', 'table', 'video')
    """
    suffix = PurePath(name).suffix.lower()
    if suffix in PICTURE_FORMATS:
        return "image"
    if suffix in TABLE_FORMATS:
        return "table"
    if is_video(name):
        return "video"
    known = ", ".join((*PICTURE_FORMATS, *TABLE_FORMATS, *VIDEO_FORMATS))
    raise InvalidInputError(
        f"{name!r} is not a supported picture, table or video; supported are {known}"
    )


def too_large(name: str, limit: int) -> str:
    """Return the message for a file above the upload limit (in bytes)."""
    return (
        f"{name!r} is larger than {limit / 2**20:,.0f} MB; "
        "restart the studio with a larger --max-upload"
    )


def _error_response(status: int, message: str) -> Response:
    return JSONResponse({"message": message}, status)


def _page_files() -> Iterator[Any]:
    folder = resources.files("meanshiftpp.apps.studio").joinpath("page")
    return (file for file in folder.iterdir() if file.is_file())


def _export_handler(view: View, result: asyncio.Future[tuple[str, bytes]]) -> Handler:
    """Return a handler that passes its file or its error to the HTTP request that awaits it."""
    loop = asyncio.get_running_loop()

    def resolve(setter: Callable[..., None], value: Any) -> None:
        loop.call_soon_threadsafe(lambda: None if result.done() else setter(value))

    def handle(request: Request, job: Job) -> Iterator[Reply]:
        try:
            resolve(result.set_result, view.export(request, job))
        except Cancelled:
            resolve(result.set_exception, InvalidInputError("the export was cancelled"))
        except Exception as error:
            resolve(result.set_exception, error)
        yield from ()

    return handle
