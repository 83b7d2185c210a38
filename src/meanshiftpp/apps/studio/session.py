"""One tab's work: the newest wish wins, and what takes long can be watched and stopped.

Wishes come faster than they can be met while a slider is dragged. A lane keeps only the newest one
and meets it in a thread; there are two, so that a slow answer at full size does not hold up quick
ones at preview size. Answers wait for the page: more than a few that it has not painted yet are
never under way, so a slow page makes a slow lane and not a growing queue.
"""

from __future__ import annotations

import asyncio
import logging
import tempfile
import threading
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import Executor
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import Any, Protocol, runtime_checkable
from uuid import uuid4

from meanshiftpp.errors import MeanShiftPPError

__all__ = ["Job", "Lane", "Previewing", "Session", "Source", "Stopped", "View"]

log = logging.getLogger(__name__)

Wish = dict[str, Any]
Answer = bytes | dict[str, Any]  # arrays with their words, or words alone
PATIENCE, BEAT = 0.5, 0.2  # seconds until progress is shown, and between two signs of it
_ORDER = ("open", "export", "show")
UNPAINTED = 2  # answers with arrays that may be on their way


class Stopped(Exception):  # noqa: N818 - not an error
    """The work was stopped, by the user or by a newer wish."""


class Job:
    """A piece of work: it says how far it is, and stops when it is told to.

    Examples
    --------
    >>> from meanshiftpp.apps.studio.session import Job
    >>> job = Job("counting")
    >>> job.step(0.5)
    >>> job.words, job.part
    ('counting', 0.5)
    """

    def __init__(self, words: str = "working", overtaken: Callable[[], bool] | None = None) -> None:
        self.words = words
        self.part: float | None = None  # how much is done, where that is known
        self.shown = False  # whether the page has heard of it
        self.waits = False
        self._stop, self._overtaken = threading.Event(), overtaken

    def stop(self) -> None:
        """Ask for the work to stop."""
        self._stop.set()

    @property
    def told(self) -> bool:
        """Whether it was told to stop."""
        return self._stop.is_set()

    @property
    def stopped(self) -> bool:
        """Whether it should stop: it was told to, or there is a newer wish."""
        return self.told or (self._overtaken is not None and self._overtaken())

    def step(self, part: float | None = None, words: str | None = None) -> None:
        """Say how far it is; ends the work if it should stop."""
        self.part = part
        self.words = words or self.words
        if self.stopped:
            raise Stopped


@dataclass(frozen=True)
class Source:
    """A file to open: where it is, its name on the page, and where its exports are made."""

    path: Path
    name: str
    scratch: Path

    def export(self, suffix: str) -> Path:
        """Name a new file for something that is to be sent."""
        return self.scratch / f"export-{uuid4().hex}{suffix}"


Meet = Callable[[Wish, Job], Iterator[Answer]]


class View(Protocol):
    """What a tab shows of a kind of file.

    It works in a thread and knows nothing of the network. Answers are sent as they come. An error
    of this package goes to the page in its own words, and `Job.step` ends what is not wanted any
    more. Of one view, `open` and `show` never run at the same time; `finish` and `export`, in the
    other lane, may run beside them.
    """

    def open(self, source: Source, job: Job) -> Iterator[Answer]:
        """Read a file, which takes the place of the one before."""

    def show(self, wish: Wish, job: Job) -> Iterator[Answer]:
        """Answer what the page asks for, soon."""

    def export(self, wish: Wish, job: Job) -> tuple[str, bytes]:
        """Make a file of what the page asks for: its name and its content."""


@runtime_checkable
class Previewing(View, Protocol):
    """A view that shows a preview while a slider is dragged, and more when it is at rest."""

    def finish(self, wish: Wish, job: Job) -> Iterator[Answer]:
        """Answer in full, where `show` has not."""


class Lane:
    """Wishes met one after the other; a newer one takes the place of one that waits."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._waiting: dict[str, tuple[Wish, Meet]] = {}
        self._new, self._count = asyncio.Event(), 0
        self.job: Job | None = None

    def put(self, wish: Wish, meet: Meet) -> None:
        """Take the place of a waiting wish of the same kind; every export is of its own kind."""
        self._count += 1
        kind = f"export {self._count}" if wish["do"] == "export" else str(wish["do"])
        self._waiting[kind] = wish, meet
        self._new.set()

    def stop(self) -> None:
        """Stop the work at hand."""
        if self.job:
            self.job.stop()

    async def run(self) -> None:
        """Meet wishes until cancelled; files are opened before they are shown."""
        while True:
            await self._new.wait()
            kind = min(self._waiting, key=lambda kind: _ORDER.index(kind.split()[0]))
            if kind == "show":  # chosen as late as can be: what waits here may still be replaced
                await self._session.room()
            wish, meet = self._waiting.pop(kind)
            if not self._waiting:
                self._new.clear()
            overtaken = (lambda: bool(self._waiting)) if kind == "show" else None
            self.job = Job(wish.get("words", "working"), overtaken)
            try:
                await self._session.meet(wish, self.job, meet)
            finally:
                self.job = None


@dataclass(eq=False)
class Session:
    """A tab: its files, its views, its lanes.

    Attributes
    ----------
    id : str
        What uploads and downloads name it by.
    say : coroutine function
        Sends words to the page.
    send : coroutine function
        Sends a packed message to the page.
    pool : Executor
        Where the work is done.
    """

    id: str
    say: Callable[[dict[str, Any]], Awaitable[None]]
    send: Callable[[bytes], Awaitable[None]]
    pool: Executor
    views: dict[str, View] = field(default_factory=dict)
    uploads: dict[str, Source] = field(default_factory=dict)
    opened: dict[str, Source] = field(default_factory=dict)  # by view
    exports: set[asyncio.Future[Any]] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(
            prefix="meanshiftpp-studio-", ignore_cleanup_errors=True
        )
        self.folder = Path(self._folder.name)
        self.quick, self.slow = Lane(self), Lane(self)
        self._names: dict[str, str] = {}  # what files are called on the page
        self._unpainted, self._room = 0, asyncio.Event()
        self._room.set()

    def painted(self) -> None:
        """Note that the page has painted one more answer."""
        self._unpainted = max(0, self._unpainted - 1)
        self._room.set()

    async def room(self) -> None:
        """Wait until the page has painted enough of what it was sent."""
        while self._unpainted >= UNPAINTED:
            self._room.clear()
            await self._room.wait()

    def new_source(self, name: str) -> Source:
        """Give a file a place in the folder: a number, and of its name only a known suffix."""
        path = self.folder / f"{len(self._names)}{PurePath(name).suffix.lower()}"
        source = Source(path, name, self.folder)
        self.call(source)
        return source

    def call(self, source: Source) -> None:
        """Remember what a file is called."""
        self._names[str(source.path)] = source.name

    def drop(self, source: Source | None) -> None:
        """Remove a file of this tab that is needed no more."""
        if source is not None and source.path.is_relative_to(self.folder):
            source.path.unlink(missing_ok=True)

    def keep(self, view: str, source: Source) -> None:
        """Note that a view has opened a file; the one it had before may go."""
        before = self.opened.get(view)
        self.opened[view] = source
        if before is not None and before.path != source.path:
            self.drop(before)

    def close(self) -> None:
        """Stop all work and remove all files."""
        self.quick.stop()
        self.slow.stop()
        for waiting in list(self.exports):
            waiting.cancel()
        self.views.clear()
        self._folder.cleanup()

    async def meet(self, wish: Wish, job: Job, meet: Meet) -> None:
        """Work on a wish in a thread; send what comes, or say what is wrong."""
        loop, answers = asyncio.get_running_loop(), meet(wish, job)
        watch = asyncio.create_task(self._watch(job))
        try:
            while (one := await loop.run_in_executor(self.pool, next, answers, None)) is not None:
                if isinstance(one, dict):
                    await self.say(one)
                else:
                    job.waits = True  # for the page, which need not hear that
                    await self.room()
                    self._unpainted += 1
                    job.waits = False
                    await self.send(one)
        except Stopped:
            if job.told:
                await self.say({"type": "stopped", "view": wish.get("view")})
        except Exception as error:
            words = self.in_words(error)
            await self.say({"type": "error", "view": wish.get("view"), "words": words})
        finally:
            watch.cancel()
        if job.shown:
            await self.say({"type": "idle"})

    def in_words(self, error: Exception) -> str:
        """Say what went wrong; files are called what they are called on the page."""
        words = in_words(error)
        for path, name in self._names.items():
            words = words.replace(repr(path), repr(name)).replace(path, name)
        return words

    async def _watch(self, job: Job) -> None:
        await asyncio.sleep(PATIENCE)
        while not job.told:  # what cannot stop at once goes on unseen
            if not job.waits:
                job.shown = True
                await self.say({"type": "busy", "words": job.words, "part": job.part})
            await asyncio.sleep(BEAT)
        await self.say({"type": "idle"})


def in_words(error: Exception) -> str:
    """Say what went wrong; what nobody foresaw is logged as well.

    Examples
    --------
    >>> from meanshiftpp.apps.studio.session import in_words
    >>> in_words(MemoryError())
    'This needs more memory than there is.'
    """
    if isinstance(error, MemoryError):
        return "This needs more memory than there is."
    if isinstance(error, MeanShiftPPError):
        return str(error)
    log.error("the studio failed", exc_info=error)
    return f"The studio failed here, which is a mistake of its own: {error or type(error).__name__}"
