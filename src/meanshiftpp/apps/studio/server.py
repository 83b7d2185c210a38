"""The app: the page and its files, uploads, downloads, and one WebSocket a tab.

A tab is a session for as long as its WebSocket is open. Uploads and downloads are plain requests
that name the session; everything else goes through the WebSocket. A file's name is shown and never
used: files lie under numbers in the session's folder, which goes with the session.
"""

from __future__ import annotations

import asyncio
import ctypes
import json
import secrets
import socket
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from importlib import resources
from pathlib import Path, PurePath
from typing import Any
from urllib.parse import quote, unquote

import uvicorn
from fastapi import FastAPI, Request, Response, WebSocket, WebSocketDisconnect
from fastapi.responses import JSONResponse

from meanshiftpp import __version__
from meanshiftpp.apps.studio import samples
from meanshiftpp.apps.studio.guard import App, Guard, new_token
from meanshiftpp.apps.studio.image_view import ImageView
from meanshiftpp.apps.studio.session import (
    Answer,
    Job,
    Meet,
    Previewing,
    Session,
    Source,
    Stopped,
    View,
    Wish,
)
from meanshiftpp.apps.studio.table_view import FORMATS as TABLE_FORMATS
from meanshiftpp.apps.studio.table_view import TableView
from meanshiftpp.apps.studio.video_view import VideoView
from meanshiftpp.errors import InvalidInputError
from meanshiftpp.images.picture import PICTURE_FORMATS
from meanshiftpp.video.frames import VIDEO_FORMATS, is_video

__all__ = ["Studio", "make_app", "serve"]

VIEWS: dict[str, Callable[[], View]] = {"image": ImageView, "table": TableView, "video": VideoView}
MAX_UPLOAD = 2 * 2**30
THREADS = 8
_M_MMAP_THRESHOLD, _LARGE = -3, 2**20  # mallopt's name for it; bytes
_KINDS = {
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
        Bytes an uploaded file may have.
    """

    def __init__(self, startup: Path | None = None, max_upload: int = MAX_UPLOAD) -> None:
        self.startup, self.max_upload = startup, max_upload
        self.sessions: dict[str, Session] = {}
        self.pool = ThreadPoolExecutor(THREADS, "studio")

    # -- a tab ---------------------------------------------------------------------------------

    async def attend(self, socket: WebSocket) -> None:
        """Talk to a tab until it closes."""
        await socket.accept()

        async def say(words: dict[str, Any]) -> None:
            await socket.send_text(json.dumps(words))

        session = Session(secrets.token_urlsafe(12), say, socket.send_bytes, self.pool)
        session.views = {name: make() for name, make in VIEWS.items()}
        self.sessions[session.id] = session
        lanes = [asyncio.create_task(lane.run()) for lane in (session.quick, session.slow)]
        try:
            await say(self._hello(session))
            while True:
                await self._heed(session, await socket.receive_text())
        except (WebSocketDisconnect, RuntimeError):  # a tab may go at any moment
            pass
        finally:
            del self.sessions[session.id]
            session.close()
            for lane in lanes:
                lane.cancel()
            await asyncio.gather(*lanes, return_exceptions=True)

    def _hello(self, session: Session) -> dict[str, Any]:
        startup = None
        if self.startup is not None:
            startup = {"view": view_of(self.startup.name), "name": str(self.startup)}
        return {
            "type": "hello",
            "session": session.id,
            "version": __version__,
            "max_upload": self.max_upload,
            "samples": samples.offered(),
            "startup": startup,
            "formats": {
                "image": PICTURE_FORMATS,
                "table": TABLE_FORMATS,
                "video": VIDEO_FORMATS,
            },
        }

    async def _heed(self, session: Session, text: str) -> None:
        """Do what a message from the page asks for."""
        try:
            wish = json.loads(text)
            do, view = wish["do"], session.views.get(wish.get("view"))
            if do == "painted":
                session.painted()
            elif do == "stop":
                session.quick.stop()
                session.slow.stop()
            elif do == "open":
                session.slow.stop()
                session.quick.put(wish, self._opener(session))
            elif do == "show" and view is not None:
                session.quick.put(wish, view.show)
                if wish.get("final") and isinstance(view, Previewing):
                    session.slow.put(wish, view.finish)
            else:
                raise KeyError(do)
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            await session.say({"type": "error", "view": None, "words": f"not understood: {error}"})

    def _opener(self, session: Session) -> Meet:
        def opened(wish: Wish, job: Job) -> Iterator[Answer]:
            source = self._source(session, wish, job)
            name = view_of(source.name)
            try:
                yield from session.views[name].open(source, job)
            except BaseException:
                session.drop(source)
                raise
            session.keep(name, source)

        return opened

    def _source(self, session: Session, wish: Wish, job: Job) -> Source:
        if wish.get("startup") and self.startup is not None:
            source = Source(self.startup, str(self.startup), session.folder)
            session.call(source)
            return source
        if "upload" in wish:
            found = session.uploads.pop(str(wish["upload"]), None)
            if found is None:
                raise InvalidInputError("that file is not here any more: drop it again")
            return found
        view, name = str(wish.get("view")), str(wish.get("sample"))
        if name not in samples.offered().get(view, {}):
            raise InvalidInputError(f"there is no sample {name!r}")
        job.step(words="making the sample")
        return samples.write(view, name, session.folder)

    # -- files in and out ----------------------------------------------------------------------

    async def upload(self, request: Request, session_id: str) -> Response:
        """Take a file into the session's folder, as long as it is not too large."""
        session = self.sessions.get(session_id)
        if session is None:
            return _refused(404, "this tab is not connected any more: reload the page")
        name = PurePath(unquote(request.headers.get("x-file-name", "file"))).name[-200:] or "file"
        if int(request.headers.get("content-length") or 0) > self.max_upload:
            return _refused(413, too_large(name, self.max_upload))
        try:
            view = view_of(name)
        except InvalidInputError as error:
            return _refused(415, str(error))
        key = secrets.token_urlsafe(9)
        source, size = session.new_source(name), 0
        try:
            with source.path.open("wb") as file:
                async for chunk in request.stream():
                    size += len(chunk)
                    if size > self.max_upload:
                        session.drop(source)
                        return _refused(413, too_large(name, self.max_upload))
                    file.write(chunk)
        except OSError as error:
            session.drop(source)
            return _refused(507, f"{name!r} cannot be kept here: {error.strerror}")
        session.uploads[key] = source
        return JSONResponse({"upload": key, "view": view, "name": name})

    async def export(self, request: Request, session_id: str) -> Response:
        """Make a file in the slow lane, and send it."""
        session = self.sessions.get(session_id)
        if session is None:
            return _refused(404, "this tab is not connected any more: reload the page")
        try:
            wish = await request.json()
            view = session.views[wish["view"]]
        except (ValueError, KeyError, TypeError):
            return _refused(400, "not understood")
        made: asyncio.Future[tuple[str, bytes]] = asyncio.get_running_loop().create_future()
        session.exports.add(made)
        made.add_done_callback(session.exports.discard)
        session.slow.put({**wish, "do": "export"}, _exporting(view, made))
        try:
            name, data = await made
        except asyncio.CancelledError:
            return _refused(404, "the tab was closed")
        except Exception as error:
            return _refused(422, session.in_words(error))
        return Response(
            data,
            media_type="application/octet-stream",
            headers={"content-disposition": f"attachment; filename*=UTF-8''{quote(name, safe='')}"},
        )


def make_app(studio: Studio) -> FastAPI:
    """Tie the addresses of the page to what they do."""
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)

    @app.websocket("/socket")
    async def _(socket: WebSocket) -> None:
        await studio.attend(socket)

    @app.post("/upload/{session}")
    async def _(request: Request, session: str) -> Response:
        return await studio.upload(request, session)

    @app.post("/export/{session}")
    async def _(request: Request, session: str) -> Response:
        return await studio.export(request, session)

    pages = {file.name: file.read_bytes() for file in _page_files()}

    @app.get("/{name}")
    async def _(name: str) -> Response:
        if name not in pages:
            return _refused(404, "there is no such page")
        return Response(pages[name], media_type=_KINDS[PurePath(name).suffix])

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
    """Serve until interrupted; `ready` is told the address."""
    if startup is not None:
        view_of(startup.name)
    with socket.socket() as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind(("127.0.0.1", port))
        except OSError as error:
            raise InvalidInputError(
                f"cannot listen on port {port}: {error.strerror}; port 0 is any that is free"
            ) from error
        _return_freed_memory()
        port = listening.getsockname()[1]
        token, studio = new_token(), Studio(startup, max_upload)
        app: App = Guard(make_app(studio), token, port)
        config = uvicorn.Config(
            app,
            log_level="warning",
            ws_per_message_deflate=False,
            ws_max_size=2**20,
            server_header=False,
            timeout_graceful_shutdown=1,
            lifespan="off",
        )
        server = _Server(config, lambda: ready(f"http://127.0.0.1:{port}/{token}/"))
        with suppress(KeyboardInterrupt):
            server.run(sockets=[listening])
        studio.pool.shutdown(wait=False, cancel_futures=True)


def _return_freed_memory() -> None:
    """Have glibc give freed arrays back at once.

    By itself it learns from the first large array that is freed to keep such memory, for each
    thread apart: with ten tabs that came to four times what was in use.
    """
    with suppress(OSError, AttributeError, TypeError):  # another system, another C library
        ctypes.CDLL(None).mallopt(_M_MMAP_THRESHOLD, _LARGE)


class _Server(uvicorn.Server):
    """Says when it can be reached."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._ready()


# -- words ----------------------------------------------------------------------------------------


def view_of(name: str) -> str:
    """Tell by its name which view a file is for.

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
    raise InvalidInputError(f"{name!r} is no picture, table or video known here: {known}")


def too_large(name: str, limit: int) -> str:
    """Say that a file is too large, and what to do."""
    megabytes = limit / 2**20
    return (
        f"{name!r} is larger than {megabytes:,.0f} MB; start the studio with a larger --max-upload"
    )


def _refused(status: int, words: str) -> Response:
    return JSONResponse({"words": words}, status)


def _page_files() -> Iterator[Any]:
    return (
        f
        for f in resources.files("meanshiftpp.apps.studio").joinpath("page").iterdir()
        if f.is_file()
    )


def _exporting(view: View, made: asyncio.Future[tuple[str, bytes]]) -> Meet:
    """Make a file in a thread; whatever comes of it goes to the request that waits for it."""
    loop = asyncio.get_running_loop()

    def tell(how: Callable[..., None], value: Any) -> None:
        loop.call_soon_threadsafe(lambda: None if made.done() else how(value))

    def export(wish: Wish, job: Job) -> Iterator[Answer]:
        try:
            tell(made.set_result, view.export(wish, job))
        except Stopped:
            tell(made.set_exception, InvalidInputError("stopped"))
        except Exception as error:
            tell(made.set_exception, error)
        yield from ()

    return export
