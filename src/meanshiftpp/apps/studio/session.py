"""One tab: its files, its views and the workers that handle its requests.

A dragged slider sends requests faster than they can be handled, so a worker keeps only the latest
waiting request and handles it in a thread. Each tab has two workers: a slow reply at full size does
not delay previews. At most two replies with arrays are unpainted at any time; the next one waits
until the page has painted, so a slow page slows its workers down instead of filling a queue.
"""

from __future__ import annotations

import asyncio
import shutil
import tempfile
import threading
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import Executor
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path, PurePath
from typing import Any, Protocol, runtime_checkable
from uuid import uuid4
from weakref import finalize

from meanshiftpp._support import leftovers
from meanshiftpp.apps.studio.page_errors import error_message
from meanshiftpp.apps.studio.page_warnings import collecting, warning_message
from meanshiftpp.errors import PlacedError

__all__ = [
    "Cancelled",
    "Handler",
    "Job",
    "Previewing",
    "Reply",
    "Request",
    "Session",
    "Source",
    "View",
    "Worker",
]

Request = dict[str, Any]
Reply = bytes | dict[str, Any]  # a packed message with arrays, or JSON fields only
PROGRESS_DELAY = 0.5  # seconds until the page shows the progress of a job
PROGRESS_INTERVAL = 0.2  # seconds between two progress messages
MAX_UNPAINTED = 2  # replies with arrays that the page has not painted yet
MAX_UNOPENED = 2  # uploads that a tab keeps until it opens them
_PRIORITY = ("open", "export", "show")


class Cancelled(Exception):  # noqa: N818 - not an error
    """The job was cancelled by the user or superseded by a newer request."""


class Job:
    """A running request, which reports its progress and can be cancelled.

    Examples
    --------
    >>> from meanshiftpp.apps.studio.session import Job
    >>> job = Job("Counting")
    >>> job.update(0.5)
    >>> job.description, job.fraction
    ('Counting', 0.5)
    """

    def __init__(
        self, description: str = "Working", superseded: Callable[[], bool] | None = None
    ) -> None:
        self.description = description
        self.fraction: float | None = None  # completed part, if known
        self.reported = False  # whether the page has received a progress message
        self.waits_for_page = False
        self.warnings: list[Warning] = []  # not sent to the page yet
        self._cancel, self._superseded = threading.Event(), superseded

    def cancel(self) -> None:
        """Request that the job stops at its next update."""
        self._cancel.set()

    @property
    def cancelled(self) -> bool:
        """Whether `cancel` was called."""
        return self._cancel.is_set()

    @property
    def should_stop(self) -> bool:
        """Whether the job was cancelled or superseded by a newer request."""
        return self.cancelled or (self._superseded is not None and self._superseded())

    def update(self, fraction: float | None = None, description: str | None = None) -> None:
        """Record the progress; raise `Cancelled` if the job should stop."""
        self.fraction = fraction
        self.description = description or self.description
        if self.should_stop:
            raise Cancelled


@dataclass(frozen=True)
class Source:
    """An open file: its path, its name on the page, and a folder for its exports."""

    path: Path
    name: str
    scratch: Path

    def export(self, name: str, write: Callable[[Path], object]) -> tuple[str, bytes]:
        """Return the name of a download and its content, which `write` writes to a file."""
        path = self.scratch / f"export-{uuid4().hex}{PurePath(name).suffix}"
        try:
            write(path)
            return name, path.read_bytes()
        except PlacedError as error:
            if error.place == repr(str(path)):
                raise error.at(repr(name)) from error
            raise
        finally:
            path.unlink(missing_ok=True)

    def stem(self, default: str) -> str:
        """Return the name without folders and suffix, or `default` if nothing is left."""
        return PurePath(self.name).name.rpartition(".")[0] or default


Handler = Callable[[Request, Job], Iterator[Reply]]


def _next_reply(replies: Iterator[Reply], job: Job) -> Reply | None:
    """Return the next reply of a job, None at its end; its warnings are collected."""
    with collecting(job.warnings):
        return next(replies, None)


class View(Protocol):
    """One of the three parts of the page: it opens files of one kind and replies to requests.

    A view runs in a worker thread and does not know about the network. Replies are sent as soon as
    they are yielded. Errors of this package are shown on the page, and `Job.update` ends a job
    whose result is no longer needed. `open` and `show` of one view never run at the same time;
    `finish` and `export` run on the other worker and may overlap with them.
    """

    def open(self, source: Source, job: Job) -> Iterator[Reply]:
        """Read a file, which replaces the open one."""

    def show(self, request: Request, job: Job) -> Iterator[Reply]:
        """Reply quickly to a change of the controls."""

    def export(self, request: Request, job: Job) -> tuple[str, bytes]:
        """Return the name and the content of a file for download."""


@runtime_checkable
class Previewing(View, Protocol):
    """A view that shows a preview during a drag and the full result when the slider is released."""

    def finish(self, request: Request, job: Job) -> Iterator[Reply]:
        """Reply in full, unless `show` already has."""


class Worker:
    """Handle requests one at a time; of each kind, the latest waiting request wins."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._waiting: dict[str, tuple[Request, Handler]] = {}
        self._wake, self._n_requests = asyncio.Event(), 0
        self.job: Job | None = None

    def submit(self, request: Request, handler: Handler) -> None:
        """Queue a request in place of a waiting one of the same kind; exports all stay queued."""
        self._n_requests += 1
        action = str(request["action"])
        kind = f"export {self._n_requests}" if action == "export" else action
        self._waiting[kind] = request, handler
        self._wake.set()

    def cancel(self) -> None:
        """Cancel the running job."""
        if self.job:
            self.job.cancel()

    async def run(self) -> None:
        """Handle requests until this task is cancelled; files are opened first, shown last."""
        while True:
            await self._wake.wait()
            kind = min(self._waiting, key=lambda kind: _PRIORITY.index(kind.split()[0]))
            if kind == "show":  # wait before taking the request: it may still be replaced
                await self._session.wait_for_page()
            request, handler = self._waiting.pop(kind)
            if not self._waiting:
                self._wake.clear()
            superseded = (lambda: bool(self._waiting)) if kind == "show" else None
            self.job = Job(request.get("description", "Working"), superseded)
            try:
                await self._session.run_job(request, self.job, handler)
            finally:
                self.job = None


@dataclass(eq=False)
class Session:
    """The state of one tab: its files, views and workers.

    Attributes
    ----------
    id : str
        Identifies the tab in uploads and downloads.
    send_json : coroutine function
        Sends JSON fields to the page.
    send_bytes : coroutine function
        Sends a packed message to the page.
    pool : Executor
        Runs the jobs.
    """

    id: str
    send_json: Callable[[dict[str, Any]], Awaitable[None]]
    send_bytes: Callable[[bytes], Awaitable[None]]
    pool: Executor
    views: dict[str, View] = field(default_factory=dict)
    uploads: dict[str, Source] = field(default_factory=dict)
    opened: dict[str, Source] = field(default_factory=dict)  # by view
    exports: set[asyncio.Future[Any]] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.folder = Path(tempfile.gettempdir()) / leftovers.new_name()
        lock = leftovers.create_folder(self.folder)
        self._remove_folder = finalize(self, _remove_folder, self.folder, lock)
        self.preview_worker, self.full_worker = Worker(self), Worker(self)
        self._display_names: dict[str, str] = {}  # of uploads, by their path
        self._n_unpainted, self._page_ready = 0, asyncio.Event()
        self._page_ready.set()

    def note_painted(self) -> None:
        """Record that the page has painted one more reply."""
        self._n_unpainted = max(0, self._n_unpainted - 1)
        self._page_ready.set()

    async def wait_for_page(self) -> None:
        """Wait until fewer than `MAX_UNPAINTED` replies are unpainted."""
        while self._n_unpainted >= MAX_UNPAINTED:
            self._page_ready.clear()
            await self._page_ready.wait()

    def new_upload(self, name: str) -> Source:
        """Return a source with a numbered path in the tab's folder; only the suffix is kept."""
        path = self.folder / f"{len(self._display_names)}{PurePath(name).suffix.lower()}"
        self._display_names[str(path)] = name
        return Source(path, name, self.folder)

    def add_upload(self, key: str, source: Source) -> None:
        """Record a complete upload; the oldest ones that the page did not open are deleted."""
        self.uploads[key] = source
        while len(self.uploads) > MAX_UNOPENED:
            self.remove(self.uploads.pop(next(iter(self.uploads))))

    def remove(self, source: Source | None) -> None:
        """Delete a file if it is in the tab's folder."""
        if source is not None and source.path.is_relative_to(self.folder):
            source.path.unlink(missing_ok=True)

    def set_opened(self, view: str, source: Source) -> None:
        """Record the file that a view has opened, and delete the previous one."""
        previous = self.opened.get(view)
        self.opened[view] = source
        if previous is not None and previous.path != source.path:
            self.remove(previous)

    def cancel_jobs(self) -> None:
        """Cancel the running job of each worker."""
        self.preview_worker.cancel()
        self.full_worker.cancel()

    def close(self) -> None:
        """Cancel all jobs and delete all files."""
        self.cancel_jobs()
        for export in list(self.exports):
            export.cancel()
        self.views.clear()
        self._remove_folder()

    async def run_job(self, request: Request, job: Job, handler: Handler) -> None:
        """Handle a request in a thread; send its replies, or the message of its error."""
        loop, replies = asyncio.get_running_loop(), handler(request, job)
        progress = asyncio.create_task(self._report_progress(job))
        try:
            step = partial(_next_reply, replies, job)
            while (reply := await loop.run_in_executor(self.pool, step)) is not None:
                await self._send(reply, job)
                await self._send_warnings(request, job)
            await self._send_warnings(request, job)
        except Cancelled:
            if job.cancelled:
                await self.send_json({"type": "cancelled", "view": request.get("view")})
        except Exception as error:
            message = self.error_message(error)
            await self.send_json({"type": "error", "view": request.get("view"), "message": message})
        finally:
            progress.cancel()
        if job.reported:
            await self.send_json({"type": "idle"})

    async def _send(self, reply: Reply, job: Job) -> None:
        if isinstance(reply, dict):
            await self.send_json(reply)
            return
        job.waits_for_page = True
        await self.wait_for_page()
        self._n_unpainted += 1
        job.waits_for_page = False
        await self.send_bytes(reply)

    async def _send_warnings(self, request: Request, job: Job) -> None:
        """Send the warnings since the last reply, each text once."""
        texts = dict.fromkeys(self._with_display_names(warning_message(w)) for w in job.warnings)
        job.warnings.clear()
        if texts:
            view = request.get("view")
            await self.send_json({"type": "warnings", "view": view, "messages": list(texts)})

    def _with_display_names(self, text: str) -> str:
        """Return a warning in which the path of an uploaded file is its display name."""
        for path, name in self._display_names.items():
            text = text.replace(path, name)
        return text

    def error_message(self, error: Exception) -> str:
        """Return the message for the page, where an uploaded file has its display name."""
        if isinstance(error, PlacedError) and error.place:
            for path, name in self._display_names.items():
                if path in error.place:
                    place = error.place.replace(repr(path), repr(name)).replace(path, name)
                    error = error.at(place)
                    break
        return error_message(error)

    async def _report_progress(self, job: Job) -> None:
        await asyncio.sleep(PROGRESS_DELAY)
        while not job.cancelled:  # a cancelled job may run on until its next update, unreported
            if not job.waits_for_page:
                job.reported = True
                fields = {"description": job.description, "fraction": job.fraction}
                await self.send_json({"type": "progress", **fields})
            await asyncio.sleep(PROGRESS_INTERVAL)
        await self.send_json({"type": "idle"})


def _remove_folder(folder: Path, lock: int | None) -> None:
    """Rename a folder, then delete it: a worker could create a file while it is emptied."""
    with suppress(OSError):  # Windows does not rename a folder with open files
        folder = folder.rename(folder.with_name(leftovers.new_name()))
    shutil.rmtree(folder, ignore_errors=True)
    leftovers.release(lock)
